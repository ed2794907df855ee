/* SPDX-License-Identifier: GPL-2.0-only */
/* The block map and the in-flight table; see block_map.h. */
#include "block_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned int head_bits(uint32_t npages)
{
	unsigned int bits = 10; /* at least one chain per shard */

	/* The largest power of two that is not above the number of pages: 4 bytes a page at most.
	 */
	while (bits < 31 && (2ull << bits) <= npages)
		bits++;
	return bits;
}

static void *map_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Random access to a large table: huge pages save most of the TLB misses. */
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

uint64_t block_map_bytes(uint32_t npages)
{
	return (uint64_t)npages * sizeof(struct page) + (4ull << head_bits(npages)) +
	       MAP_SHARDS * sizeof(struct map_shard);
}

int block_map_init(struct block_map *m, uint32_t npages)
{
	unsigned int bits = head_bits(npages);

	memset(m, 0, sizeof(*m));
	m->npages = npages;
	m->head_shift = 64 - bits;
	m->page = map_memory((size_t)npages * sizeof(struct page));
	m->head = map_memory(sizeof(uint32_t) << bits);
	m->shard = calloc(MAP_SHARDS, sizeof(struct map_shard));
	if (!m->page || !m->head || !m->shard) {
		block_map_free(m);
		return -ENOMEM;
	}
	memset((void *)m->head, 0xff, sizeof(uint32_t) << bits);
	for (unsigned int i = 0; i < MAP_SHARDS; i++)
		m->shard[i].tail = &m->shard[i].oldest;
	return 0;
}

void block_map_free(struct block_map *m)
{
	if (m->page)
		munmap(m->page, (size_t)m->npages * sizeof(struct page));
	if (m->head)
		munmap((void *)m->head, sizeof(uint32_t) << (64 - m->head_shift));
	free(m->shard);
	memset(m, 0, sizeof(*m));
}

static inline uint64_t page_vb(const struct page *p)
{
	return atomic_load_explicit(&p->key, memory_order_relaxed) >> 8;
}

/* Chains are only changed under the shard's lock; atomic so that map_prefetch_first() may peek. */
static inline uint32_t get(const _Atomic uint32_t *link)
{
	return atomic_load_explicit(link, memory_order_relaxed);
}

static inline void set(_Atomic uint32_t *link, uint32_t page)
{
	atomic_store_explicit(link, page, memory_order_relaxed);
}

static inline _Atomic uint32_t *chain(const struct block_map *m, uint64_t vb)
{
	return &m->head[map_hash(vb) >> m->head_shift];
}

uint32_t map_lookup(const struct block_map *m, uint64_t vb)
{
	uint32_t i = get(chain(m, vb));

	while (i != PAGE_NONE && page_vb(&m->page[i]) != vb)
		i = get(&m->page[i].next);
	return i;
}

uint32_t map_publish(struct block_map *m, uint64_t vb, uint32_t page, uint32_t flags, uint32_t crc)
{
	_Atomic uint32_t *first = chain(m, vb), *link = first;
	struct page *p = &m->page[page];
	uint32_t old;

	while ((old = get(link)) != PAGE_NONE && page_vb(&m->page[old]) != vb)
		link = &m->page[old].next;
	p->crc = crc;
	if (old != PAGE_NONE) {
		struct page *o = &m->page[old];

		set(&p->next, get(&o->next));
		atomic_store_explicit(&o->key, 0, memory_order_relaxed);
		set(link, page);
	} else {
		set(&p->next, get(first));
		set(first, page);
	}
	atomic_store_explicit(&p->key, vb << 8 | flags, memory_order_relaxed);
	return old;
}

bool map_clear(struct block_map *m, uint64_t vb, uint32_t page)
{
	_Atomic uint32_t *link = chain(m, vb);
	uint32_t i;

	while ((i = get(link)) != PAGE_NONE && i != page)
		link = &m->page[i].next;
	/* The page may have been overwritten (gone from the chain). Its bucket is not free, so it
	 * is nobody else's. */
	if (i == PAGE_NONE)
		return false;
	set(link, get(&m->page[page].next));
	atomic_store_explicit(&m->page[page].key, 0, memory_order_relaxed);
	return true;
}

bool inflight_enter(struct map_shard *s, struct inflight *f)
{
	bool first = true;

	for (const struct inflight *i = s->oldest; i; i = i->next)
		if (i->vb == f->vb) {
			first = false;
			break;
		}
	f->next = NULL;
	*s->tail = f;
	s->tail = &f->next;
	return first;
}

struct request *inflight_leave(struct map_shard *s, struct inflight *f)
{
	struct inflight **link = &s->oldest;

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	if (!f->next)
		s->tail = link;
	for (struct inflight *i = f->next; i; i = i->next)
		if (i->vb == f->vb)
			return i->req;
	return NULL;
}
