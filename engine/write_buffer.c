/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write buffer's buckets: handing out pages and log room, closing a bucket, finishing a write.
 *
 * A bucket is used as a whole: pages and log room are only ever handed out, never given back, until
 * the bucket is drained and free again. So no record can point at a page that somebody else owns.
 * A request takes its pages and enters the in-flight table in one step (under wb.lock): that makes
 * the order of sequences of a block the order of the buckets, which recovery relies on.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xBF58476D1CE4E5B9ull;
	x ^= x >> 27;
	x *= 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/*
 * Choose the order in which this use of the bucket hands out its pages. Scattered: k -> start + k *
 * stride mod n, with a stride near the golden section of n, so that consecutive pages lie far apart
 * and every part of the bucket is hit evenly; seeded by the group's seed and the generation.
 */
void wb_seed_bucket(struct disk_group *g, struct bucket *b)
{
	uint32_t n = g->wb.bucket_pages, stride;

	if (g->opt.page_allocation == DG_PAGES_CONTIGUOUS || n < 8) {
		b->stride = 1;
		b->place = 0;
		return;
	}
	stride = (uint32_t)(n * 0.6180339887) +
		 (uint32_t)(mix64(g->geometry.seed ^ b->gen * 0x9E3779B97F4A7C15ull) % (n / 8 + 1));
	while (gcd(stride % n, n) != 1)
		stride++;
	b->stride = stride % n;
	b->place = (uint32_t)(mix64(g->geometry.seed + b->gen) % n);
}

static void push(struct bucket ***tail, struct bucket *b)
{
	b->fifo = NULL;
	**tail = b;
	*tail = &b->fifo;
}

/* Geometry to buckets; all are free. The lists are filled by format or recovery through
 * wb_make_free(). */
int wb_init(struct disk_group *g)
{
	struct write_buffer *wb = &g->wb;
	const struct sb_info *s = &g->geometry;

	wb->nbuckets = s->buckets;
	wb->bucket_pages = s->bucket_pages;
	wb->npages = (uint64_t)s->buckets * s->bucket_pages;
	wb->log_block = s->log_block;
	wb->log_records = log_capacity(s->log_block);
	wb->log_pairs = (s->log_blocks - s->reject_blocks) / 2;
	wb->free_tail = &wb->free;
	wb->closed_tail = &wb->closed;
	wb->sealed_tail = &wb->sealed;
	for (uint32_t i = 0; i < wb->nbuckets; i++) {
		struct bucket *b = &wb->bucket[i];

		b->index = i;
		b->data_offset = s->data_offset + i * s->bucket_bytes;
		b->log_offset = b->data_offset + (uint64_t)s->bucket_pages * DG_BLOCK;
	}
	return block_map_init(&g->map, (uint32_t)wb->npages);
}

double wb_fill(const struct disk_group *g)
{
	return (double)atomic_load_explicit(&g->wb.used, memory_order_relaxed) /
	       (double)g->wb.npages;
}

/* wb.lock held */
static void close_locked(struct write_buffer *wb)
{
	struct bucket *b = wb->current;

	/* Pages that nobody will take count as used until the bucket is free. */
	atomic_store_explicit(&wb->used,
			      atomic_load_explicit(&wb->used, memory_order_relaxed) +
				      wb->bucket_pages - b->next,
			      memory_order_relaxed);
	b->state = BUCKET_CLOSED;
	push(&wb->closed_tail, b);
	wb->current = NULL;
}

/* Close the current bucket early. False when there is none or nothing is in it. Worker, or set-up.
 */
bool wb_close_current(struct disk_group *g)
{
	struct write_buffer *wb = &g->wb;
	bool closed = false;

	spin_lock(&wb->lock);
	if (wb->current && wb->current->next) {
		close_locked(wb);
		closed = true;
	}
	spin_unlock(&wb->lock);
	return closed;
}

static void note_full(struct disk_group *g)
{
	uint64_t never = 0;

	if (!atomic_load_explicit(&g->first_full_ns, memory_order_relaxed))
		atomic_compare_exchange_strong(&g->first_full_ns, &never, vclock_now(g->clock));
}

/* wb.lock held: the current bucket with room for @n pages and @pairs log pairs, or NULL. */
static struct bucket *bucket_for(struct disk_group *g, uint32_t n, uint32_t pairs, bool *closed)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b = wb->current;

	if (b &&
	    (b->next + n > wb->bucket_pages ||
	     b->log_used + (uint32_t)atomic_load_explicit(&b->open, memory_order_acquire) + pairs >
		     wb->log_pairs)) {
		close_locked(wb);
		*closed = true;
		b = NULL;
	}
	if (b)
		return b;
	b = wb->free;
	if (!b) {
		atomic_store_explicit(&wb->starving, true, memory_order_relaxed);
		note_full(g);
		return NULL;
	}
	wb->free = b->fifo;
	if (!wb->free)
		wb->free_tail = &wb->free;
	b->fifo = NULL;
	b->state = BUCKET_CURRENT;
	wb->current = b;
	return b;
}

/* wb_admit() for @n blocks: inlined for 1, without loops, and for any number. */
static __always_inline int admit(struct disk_group *g, struct request *req, uint32_t n)
{
	struct write_buffer *wb = &g->wb;
	uint32_t first = 0;
	uint32_t pairs = n == 1 ? 1 : (n + wb->log_records - 1) / wb->log_records;
	uint64_t vb = vblock(req->vol->info.id, req->first);
	bool closed = false;
	struct bucket *b;
	uint64_t now_used;

	/* One more than there are blocks, so that nobody starts it before all have been entered. */
	atomic_store_explicit(&req->blocked, n + 1, memory_order_relaxed);
	spin_lock(&wb->lock);
	b = bucket_for(g, n, pairs, &closed);
	if (!b) {
		spin_unlock(&wb->lock);
		if (closed)
			worker_kick(g);
		return -EAGAIN;
	}
	req->bucket = b;
	req->place = b->place;
	for (uint32_t i = 0; i < n; i++)
		b->place = wb_next_place(wb, b, b->place);
	req->credit = pairs;
	b->next += n;
	atomic_fetch_add_explicit(&b->open, OPEN_REQUEST + pairs, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++) {
		struct inflight *f = &req->piece[i].in;
		struct map_shard *s = map_shard(&g->map, vb + i);

		f->vb = vb + i;
		f->req = req;
		spin_lock(&s->lock);
		first += inflight_enter(s, f);
		spin_unlock(&s->lock);
	}
	now_used = atomic_load_explicit(&wb->used, memory_order_relaxed) + n;
	atomic_store_explicit(&wb->used, now_used, memory_order_relaxed);
	if (now_used > atomic_load_explicit(&g->fill_max, memory_order_relaxed))
		atomic_store_explicit(&g->fill_max, now_used, memory_order_relaxed);
	spin_unlock(&wb->lock);

	if (closed)
		worker_kick(g);
	/* Nothing in the way: nobody else knows of the request. */
	if (first == n)
		return 0;
	req->overlapped = true;
	req->wait_ns = queue_now(req->q);
	return atomic_fetch_sub_explicit(&req->blocked, first + 1, memory_order_acq_rel) !=
	       first + 1;
}

/*
 * Give a request its pages and log credit and enter its blocks into the in-flight table, all or
 * nothing. Returns 0: start it; 1: earlier writes are in the way, the last of them hands it to its
 * queue; -EAGAIN: no room now.
 */
int wb_admit(struct disk_group *g, struct request *req)
{
	return req->nblocks == 1 ? admit(g, req, 1) : admit(g, req, req->nblocks);
}

/*
 * Take @n fresh pairs of log blocks of @b, for records whose requests hold the credit. *first: the
 * first log block; slot A of pair i is first + i, slot B first + n + i, so that one write covers
 * all As.
 */
int wb_log_pairs(struct disk_group *g, struct bucket *b, uint32_t n, uint32_t *first)
{
	struct write_buffer *wb = &g->wb;
	int err = 0;

	spin_lock(&wb->lock);
	if (b->log_used + n > wb->log_pairs) {
		err = -ENOSPC; /* cannot happen: every request holds credit for its own pairs */
	} else {
		*first = 2 * b->log_used;
		b->log_used += n;
	}
	spin_unlock(&wb->lock);
	return err;
}

/* Publish @n blocks, unless the request failed, and let them leave the in-flight table. */
static __always_inline void publish(struct disk_group *g, struct request *req, uint32_t n)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b = req->bucket;
	uint32_t flags = req->op == DG_TRIM ? PAGE_TRIMMED : 0;
	uint64_t stale = 0;

	if (req->res == 0)
		atomic_fetch_add_explicit(&b->live, n, memory_order_relaxed);
	for (uint32_t i = 0; i < n; i++) {
		struct piece *p = &req->piece[i];
		uint64_t vb = p->in.vb;
		struct map_shard *s = map_shard(&g->map, vb);
		struct request *next;
		uint32_t old = PAGE_NONE;

		spin_lock(&s->lock);
		if (req->res == 0)
			old = map_publish(&g->map, vb, p->page, flags, p->crc);
		next = inflight_leave(s, &p->in);
		spin_unlock(&s->lock);
		if (old != PAGE_NONE) {
			atomic_fetch_sub_explicit(&wb_bucket_of(wb, old)->live, 1,
						  memory_order_relaxed);
			stale += DG_BLOCK;
		}
		if (next && atomic_fetch_sub_explicit(&next->blocked, 1, memory_order_acq_rel) == 1)
			queue_hand(next);
	}
	if (stale)
		count_add(&req->q->stats.overwritten, stale);
}

/*
 * A request is over: publish it (res 0), or have it rejected when its bucket is sealed. Its blocks
 * leave the in-flight table, and who waited for them may go on.
 */
void wb_finish(struct disk_group *g, struct request *req)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b = req->bucket;

	if (req->nblocks == 1)
		publish(g, req, 1);
	else
		publish(g, req, req->nblocks);
	if (req->res && req->seq) {
		/* A record of it may be on the device: it must never be believed. */
		struct reject *r = malloc(sizeof(*r));

		if (!r) {
			atomic_store(&g->cache_error, -ENOMEM);
		} else {
			*r = (struct reject){.seq = req->seq, .count = req->nblocks};
			spin_lock(&wb->lock);
			r->next = b->rejects;
			b->rejects = r;
			spin_unlock(&wb->lock);
		}
	}
	if (atomic_fetch_sub_explicit(&b->open, OPEN_REQUEST + req->credit, memory_order_acq_rel) <
		    2 * OPEN_REQUEST &&
	    b->state == BUCKET_CLOSED)
		worker_kick(g);
}

/* The bucket holds nothing any more and its new generation is on the device: writers may have it.
 */
void wb_make_free(struct disk_group *g, struct bucket *b)
{
	struct write_buffer *wb = &g->wb;

	wb_seed_bucket(g, b);
	spin_lock(&wb->lock);
	/* All of a bucket that is not free or current counts as used. */
	if (b->state == BUCKET_SEALED)
		atomic_fetch_sub_explicit(&wb->used, wb->bucket_pages, memory_order_relaxed);
	b->next = b->log_used = 0;
	atomic_store(&b->live, 0);
	b->state = BUCKET_FREE;
	push(&wb->free_tail, b);
	spin_unlock(&wb->lock);
}
