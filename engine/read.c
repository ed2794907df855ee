/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way of a read: each block comes from the write buffer when its newest copy is there, else
 * from its extent on capacity, else it was never written and is zeros.
 *
 * A read from the buffer pins the bucket, so that its pages stay what they are. A read from
 * capacity can be passed by a destage of the same block (it entered the buffer and left it again
 * meanwhile): it looks again when it is done, and repeats if that may have happened.
 */
#include <errno.h>
#include <string.h>

#include "group.h"

enum source_kind { SOURCE_ZERO, SOURCE_NEVER, SOURCE_PAGE, SOURCE_CAPACITY };

struct source {
	enum source_kind kind;
	uint32_t page;
	struct place place;
	uint32_t destage;
};

static void run_done(struct dev_req *dev, int res);
static void read_run(struct request *req, uint32_t i, uint32_t n);

/* Where the newest acknowledged copy of a block is; a page comes back with its bucket pinned. */
static void resolve(struct disk_group *g, const struct dg_volume *vol, uint64_t block,
		    struct source *s)
{
	uint64_t vb = vblock(vol->info.id, block);
	struct map_shard *shard = map_shard(&g->map, vb);
	uint64_t key = 0;

	spin_lock(&shard->lock);
	s->page = map_lookup(&g->map, vb);
	if (s->page != PAGE_NONE) {
		key = atomic_load_explicit(&g->map.page[s->page].key, memory_order_relaxed);
		if (!(key & PAGE_TRIMMED))
			atomic_fetch_add_explicit(&wb_bucket_of(&g->wb, s->page)->pins, 1,
						  memory_order_relaxed);
	}
	spin_unlock(&shard->lock);
	if (s->page != PAGE_NONE) {
		s->kind = key & PAGE_TRIMMED ? SOURCE_ZERO : SOURCE_PAGE;
		return;
	}
	s->place = extent_place(vol, block);
	if (!s->place.cap) {
		s->kind = SOURCE_NEVER;
		return;
	}
	s->destage = atomic_load_explicit(&s->place.cap->extent[s->place.extent].destage,
					  memory_order_acquire);
	s->kind = extent_has_data(&s->place, block) ? SOURCE_CAPACITY : SOURCE_NEVER;
}

static void unpin(struct disk_group *g, uint32_t page, uint32_t n)
{
	struct bucket *b = wb_bucket_of(&g->wb, page);

	if (atomic_fetch_sub_explicit(&b->pins, n, memory_order_release) == n &&
	    atomic_load_explicit(&g->elev_bucket, memory_order_relaxed) == (int)b->index)
		worker_kick(g);
}

void read_unpin(struct piece *p)
{
	if (p->pinned != PAGE_NONE)
		unpin(p->req->q->g, p->pinned, 1);
	p->pinned = PAGE_NONE;
}

static uint64_t source_offset(const struct disk_group *g, const struct source *s)
{
	return s->kind == SOURCE_PAGE ? wb_page_offset(&g->wb, s->page) : s->place.offset;
}

/*
 * Read what block @i of the request holds now into its bounce buffer. 0: in flight, @done will be
 * called; 1: done; negative errno. The caller calls read_unpin() afterwards in every case.
 */
int read_old_block(struct request *req, uint32_t i, void (*done)(struct dev_req *, int))
{
	struct disk_group *g = req->q->g;
	struct piece *p = &req->piece[i];
	struct source s;

	resolve(g, req->vol, req->first + i, &s);
	p->pinned = s.kind == SOURCE_PAGE ? s.page : PAGE_NONE;
	if (s.kind == SOURCE_ZERO || s.kind == SOURCE_NEVER) {
		memset(p->bounce, 0, DG_BLOCK);
		return 1;
	}
	p->dev = (struct dev_req){.dev = s.kind == SOURCE_PAGE ? g->cache : s.place.cap->dev,
				  .op = DEV_READ,
				  .buf = p->bounce,
				  .len = DG_BLOCK,
				  .offset = source_offset(g, &s),
				  .done = done};
	return ioq_submit(req->q->ioq, &p->dev);
}

/* ---- reads of the user
 * ---------------------------------------------------------------------------- */

static void part_done(struct request *req, int res)
{
	if (res && !req->res)
		req->res = res;
	if (--req->pending == 0)
		request_release(req, req->res);
}

/* The user's bytes of blocks [i, i + n): from *skip bytes into the first block, *len bytes, at the
 * result. */
static char *user_range(const struct request *req, uint32_t i, uint32_t n, uint32_t *skip,
			uint32_t *len)
{
	uint64_t start = (req->first + i) * DG_BLOCK, end = start + (uint64_t)n * DG_BLOCK;
	uint64_t from = start > req->offset ? start : req->offset;
	uint64_t to = end < req->offset + req->len ? end : req->offset + req->len;

	*skip = (uint32_t)(from - start);
	*len = (uint32_t)(to - from);
	return req->buf + (from - req->offset);
}

/* Did a block of a run from capacity enter the buffer, or leave it again, since the read began? */
static bool run_passed(const struct piece *p, uint32_t i)
{
	struct request *req = p->req;
	struct disk_group *g = req->q->g;

	if (atomic_load_explicit(&p->place.cap->extent[p->place.extent].destage,
				 memory_order_acquire) != p->destage)
		return true;
	for (uint32_t k = 0; k < p->blocks; k++) {
		uint64_t vb = vblock(req->vol->info.id, req->first + i + k);
		struct map_shard *shard = map_shard(&g->map, vb);
		bool in_buffer;

		spin_lock(&shard->lock);
		in_buffer = map_lookup(&g->map, vb) != PAGE_NONE;
		spin_unlock(&shard->lock);
		if (in_buffer)
			return true;
	}
	return false;
}

static void run_done(struct dev_req *dev, int res)
{
	struct piece *p = piece_of(dev);
	struct request *req = p->req;
	uint32_t i = (uint32_t)(p - req->piece), n = p->blocks, skip, len;
	char *user;

	if (p->bounce) {
		user = user_range(req, i, n, &skip, &len);
		if (!res)
			memcpy(user, (char *)p->bounce + skip, len);
		queue_put_bounce(req->q, p->bounce, p->big);
		p->bounce = NULL;
	}
	if (p->pinned != PAGE_NONE) {
		unpin(req->q->g, p->pinned, n);
		p->pinned = PAGE_NONE;
	} else if (!res && run_passed(p, i)) {
		read_run(req, i, n);
	}
	part_done(req, res);
}

/* One run from one place: straight into the user's buffer where the device can, else through a
 * bounce. */
static void read_place(struct request *req, uint32_t i, uint32_t n, const struct source *s)
{
	struct disk_group *g = req->q->g;
	struct piece *p = &req->piece[i];
	struct dev_req *d = &p->dev;
	struct device *dev = s->kind == SOURCE_PAGE ? g->cache : s->place.cap->dev;
	uint32_t skip, len;
	char *user = user_range(req, i, n, &skip, &len);
	int ret;

	p->req = req;
	p->blocks = n;
	p->pinned = s->kind == SOURCE_PAGE ? s->page : PAGE_NONE;
	p->place = s->place;
	p->destage = s->destage;
	p->bounce = NULL;
	d->dev = dev;
	d->op = DEV_READ;
	d->flags = 0;
	d->done = run_done;
	d->offset = source_offset(g, s);
	d->len = n * DG_BLOCK;
	if ((dev->mem_align <= 1 || (uintptr_t)user % dev->mem_align == 0) &&
	    (skip | len) % dev->block_size == 0) {
		d->buf = user;
		d->offset += skip;
		d->len = len;
	} else {
		p->big = n > 1;
		p->bounce = queue_get_bounce(req->q, p->big);
		d->buf = p->bounce;
	}
	req->pending++;
	ret = d->buf ? ioq_submit(req->q->ioq, d) : -ENOMEM;
	if (ret)
		run_done(d, ret < 0 ? ret : 0);
}

static bool continues(const struct source *a, const struct source *b, uint32_t n)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SOURCE_PAGE)
		return b->page == a->page + n;
	if (a->kind == SOURCE_CAPACITY)
		return b->place.cap == a->place.cap && b->place.extent == a->place.extent &&
		       b->place.offset == a->place.offset + (uint64_t)n * DG_BLOCK;
	return true;
}

/* Find and read blocks [i, i + n) of the request, in runs as long as their places allow. */
static void read_run(struct request *req, uint32_t i, uint32_t n)
{
	struct disk_group *g = req->q->g;
	struct queue_stats *st = &req->q->stats;
	struct source s, next;
	uint32_t end = i + n;

	resolve(g, req->vol, req->first + i, &s);
	while (i < end) {
		uint32_t run = 1, skip, len;
		bool more = false;

		while (i + run < end) {
			resolve(g, req->vol, req->first + i + run, &next);
			if (!continues(&s, &next, run) ||
			    (s.kind == SOURCE_PAGE &&
			     wb_bucket_of(&g->wb, s.page) != wb_bucket_of(&g->wb, next.page))) {
				more = true;
				break;
			}
			run++;
		}
		if (s.kind != SOURCE_PAGE)
			req->io->wb_hit = false;
		if (s.kind == SOURCE_PAGE || s.kind == SOURCE_CAPACITY) {
			count_add(s.kind == SOURCE_PAGE ? &st->wb_blocks : &st->capacity_blocks,
				  run);
			read_place(req, i, run, &s);
		} else {
			char *user = user_range(req, i, run, &skip, &len);

			memset(user, 0, len);
			count_add(s.kind == SOURCE_NEVER ? &st->never_blocks : &st->wb_blocks, run);
		}
		i += run;
		if (more)
			s = next;
	}
}

void read_start(struct request *req)
{
	req->pending = 1;
	read_run(req, 0, req->nblocks);
	part_done(req, 0);
}
