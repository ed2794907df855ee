/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which page of the write buffer holds the newest acknowledged copy of a block, and which blocks have a
 * write in flight.
 *
 * The map is a hash chained through the page table, so its memory is bounded by the buffer: 16 bytes a
 * page and at most 4 for the chain heads. It is cut into shards; a shard's lock covers its chains, its
 * pages' entries and its part of the in-flight table. Every function that says "locked" is called with
 * the shard of the block locked by the caller.
 */
#ifndef VSAN_BLOCK_MAP_H
#define VSAN_BLOCK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "spin.h"

#define PAGE_NONE    UINT32_MAX
#define MAP_SHARDS   1024u
#define PAGE_TRIMMED 1u /* flag in the key: the block reads as zeros, the page holds nothing */

/* Block of a volume as one number: volume id (16 bits), 4 KiB block (40 bits). Never 0. */
static inline uint64_t vblock(uint32_t volume, uint64_t block)
{
	return (uint64_t)volume << 40 | block;
}
static inline uint32_t vblock_volume(uint64_t vb)
{
	return (uint32_t)(vb >> 40);
}
static inline uint64_t vblock_block(uint64_t vb)
{
	return vb & ((1ull << 40) - 1);
}

/* One page of the buffer. key 0: holds no current version of anything (free, in flight, or stale). */
struct page {
	_Atomic uint64_t key;  /* vblock << 8 | flags; the elevator peeks without the lock */
	uint32_t crc;          /* CRC32C of the page's bytes */
	_Atomic uint32_t next; /* chain: page index, PAGE_NONE at the end */
};

struct request;

/* A block of a request that is on its way: from the reservation of its page to its publication. */
struct inflight {
	uint64_t vb;
	struct request *req;
	struct inflight *next; /* of the same shard, oldest first */
};

struct map_shard {
	struct spin lock;
	struct inflight *oldest, **tail;
	uint64_t pad; /* half a cache line each: two threads rarely share one */
};

struct block_map {
	struct page *page;
	_Atomic uint32_t *head; /* first page of each chain; a prefetch peeks without the lock */
	uint32_t npages;
	unsigned int head_shift; /* hash >> head_shift = chain */
	struct map_shard *shard;
};

int block_map_init(struct block_map *m, uint32_t npages);
void block_map_free(struct block_map *m);
uint64_t block_map_bytes(uint32_t npages); /* memory that a map of @npages takes */

static inline uint64_t map_hash(uint64_t vb)
{
	return vb * 0x9E3779B97F4A7C15ull;
}
static inline struct map_shard *map_shard(const struct block_map *m, uint64_t vb)
{
	return &m->shard[map_hash(vb) >> 54];
}

/*
 * @vb will be looked up or published soon: bring its chain's head into the cache. The tables are far
 * larger than any cache, and waiting for memory is most of what a small write costs. No lock.
 */
static inline void map_prefetch(const struct block_map *m, uint64_t vb)
{
	__builtin_prefetch(&m->head[map_hash(vb) >> m->head_shift], 1);
}

/* Likewise, a little later, the first page of its chain. No lock. */
static inline void map_prefetch_first(const struct block_map *m, uint64_t vb)
{
	uint32_t page =
		atomic_load_explicit(&m->head[map_hash(vb) >> m->head_shift], memory_order_relaxed);

	if (page != PAGE_NONE)
		__builtin_prefetch(&m->page[page], 1);
}

/* Likewise the entry of a page. */
static inline void map_prefetch_page(const struct block_map *m, uint32_t page)
{
	__builtin_prefetch(&m->page[page], 1);
}

/* locked: the page of @vb, PAGE_NONE if it is not in the buffer. */
uint32_t map_lookup(const struct block_map *m, uint64_t vb);

/*
 * locked: make @page the newest version of @vb. Returns the page that held it before (its key is 0 now),
 * or PAGE_NONE.
 */
uint32_t map_publish(struct block_map *m, uint64_t vb, uint32_t page, uint32_t flags, uint32_t crc);

/* locked: forget @vb if @page still is its newest version. Returns whether it was. */
bool map_clear(struct block_map *m, uint64_t vb, uint32_t page);

/* locked: enter @f (vb and req filled). Returns true when no earlier one on that block is in flight. */
bool inflight_enter(struct map_shard *s, struct inflight *f);

/* locked: leave. Returns the request that is next in line for the block, or NULL. */
struct request *inflight_leave(struct map_shard *s, struct inflight *f);

#endif
