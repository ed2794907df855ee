/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way of a write or a trim: cut, delayed by congestion, admitted (pages, in-flight table),
 * started (sequence, merge of partial blocks, data and log in flight together), finished (published
 * or failed).
 *
 * Nothing here waits: a request that cannot go on is in a list, and somebody moves it on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "group.h"

/*
 * Functions with an argument @n, the number of blocks, are inlined twice: for 1, the write that
 * there are most of and that then has no loops, and for any number.
 */

static void data_done(struct dev_req *dev, int res);
static void write_blocks(struct request *req);

/* The request's part of the I/O is over; the last one finishes the I/O. */
void request_release(struct request *req, int res)
{
	struct dg_queue *q = req->q;
	struct dg_io *io = req->io;

	if (res && !io->res)
		io->res = res;
	queue_put_request(q, req);
	if (--io->pending == 0)
		queue_io_done(q, io);
}

static __always_inline void put_bounces(struct request *req, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (req->piece[i].bounce) {
			queue_put_bounce(req->q, req->piece[i].bounce, req->piece[i].big);
			req->piece[i].bounce = NULL;
		}
}

static void write_finish(struct request *req)
{
	if (req->nblocks == 1)
		put_bounces(req, 1);
	else
		put_bounces(req, req->nblocks);
	wb_finish(req->q->g, req);
	request_release(req, req->res);
}

static void request_part_done(struct request *req, int res)
{
	if (res && !req->res)
		req->res = res;
	if (--req->pending == 0)
		write_finish(req);
}

/* The log write that carries the request's records is over. */
void request_log_done(struct request *req, int res)
{
	request_part_done(req, res);
}

static void data_done(struct dev_req *dev, int res)
{
	request_part_done(piece_of(dev)->req, res);
}

/* ---- starting
 * ------------------------------------------------------------------------------------ */

static bool block_is_partial(const struct request *req, uint32_t i)
{
	uint64_t start = (req->first + i) * DG_BLOCK;

	return req->op == DG_WRITE &&
	       (start < req->offset || start + DG_BLOCK > req->offset + req->len);
}

/* The user's bytes over the old ones of a partial block. */
static void merge(struct request *req, uint32_t i)
{
	uint64_t start = (req->first + i) * DG_BLOCK, end = start + DG_BLOCK;
	uint64_t from = start > req->offset ? start : req->offset;
	uint64_t to = end < req->offset + req->len ? end : req->offset + req->len;

	memcpy((char *)req->piece[i].bounce + (from - start), req->buf + (from - req->offset),
	       to - from);
}

static void old_block_done(struct dev_req *dev, int res)
{
	struct piece *p = piece_of(dev);
	struct request *req = p->req;
	uint32_t i = (uint32_t)(p - req->piece);

	/*
	 * From capacity, no destage can have passed the read: the block is ours, so no newer
	 * version of it can have entered the buffer meanwhile.
	 */
	read_unpin(p);
	if (res && !req->res)
		req->res = res;
	merge(req, i);
	if (--req->pending == 0)
		write_blocks(req);
}

/* Read what partial blocks (the first, the last) hold now. True: in flight, or failed and finished.
 */
static bool merge_partial(struct request *req)
{
	uint32_t edge[2] = {0, req->nblocks - 1};

	req->pending = 1;
	for (int e = 0; e < (req->nblocks > 1 ? 2 : 1); e++) {
		struct piece *p = &req->piece[edge[e]];
		int ret;

		if (!block_is_partial(req, edge[e]))
			continue;
		p->big = false;
		p->bounce = queue_get_bounce(req->q, false);
		if (!p->bounce) {
			req->res = -ENOMEM;
			break;
		}
		ret = read_old_block(req, edge[e], old_block_done);
		if (ret == 0) {
			req->pending++;
			continue;
		}
		/* Done at once: the same check as for one that took time. */
		req->pending++;
		old_block_done(&p->dev, ret < 0 ? ret : 0);
	}
	return --req->pending > 0;
}

static char *block_bytes(const struct request *req, uint32_t i)
{
	const struct piece *p = &req->piece[i];

	return p->bounce ? p->bounce : req->buf + ((req->first + i) * DG_BLOCK - req->offset);
}

/* The block's bytes where the device can take them: in a bounce if need be. NULL without memory. */
static char *aligned_bytes(struct request *req, uint32_t i)
{
	struct piece *p = &req->piece[i];
	char *b = block_bytes(req, i);

	/* A power of two, 1 where any address will do. */
	if (!((uintptr_t)b & (req->q->g->cache->mem_align - 1)))
		return b;
	p->big = false;
	p->bounce = queue_get_bounce(req->q, false);
	if (p->bounce)
		memcpy(p->bounce, b, DG_BLOCK);
	return p->bounce;
}

/* Data of a run of blocks whose pages and bytes are both adjacent: one device write. */
static void write_run(struct request *req, uint32_t i, uint32_t n, char *bytes)
{
	struct disk_group *g = req->q->g;
	struct dev_req *d = &req->piece[i].dev;
	int ret;

	d->dev = g->cache;
	d->op = DEV_WRITE;
	d->flags = g->opt.durability == DG_DURABLE_FUA ? DEV_FUA : 0;
	d->buf = bytes;
	d->offset =
		req->bucket->data_offset +
		(uint64_t)(req->piece[i].page - req->bucket->index * g->wb.bucket_pages) * DG_BLOCK;
	d->len = n * DG_BLOCK;
	d->done = data_done;
	req->pending++;
	ret = ioq_submit(req->q->ioq, d);
	if (ret)
		request_part_done(req, ret < 0 ? ret : 0);
}

static __always_inline void write_data(struct request *req, uint32_t n)
{
	struct disk_group *g = req->q->g;
	bool crc = g->cache->stores_data && !g->opt.skip_crc;
	uint32_t start = 0;

	for (uint32_t i = 0; i < n; i++) {
		char *bytes = aligned_bytes(req, i);

		if (!bytes) {
			req->res = -ENOMEM;
			return;
		}
		if (crc)
			req->piece[i].crc = crc32c(bytes, DG_BLOCK);
		if (n == 1) {
			write_run(req, 0, 1, bytes);
			return;
		}
	}
	for (uint32_t i = 1; i <= n; i++) {
		if (i < n && req->piece[i].page == req->piece[i - 1].page + 1 &&
		    block_bytes(req, i) == block_bytes(req, i - 1) + DG_BLOCK)
			continue;
		write_run(req, start, i - start, block_bytes(req, start));
		start = i;
	}
}

static __always_inline void write_blocks_n(struct request *req, uint32_t n)
{
	req->pending = 1;
	if (!req->res) {
		if (req->op == DG_WRITE)
			write_data(req, n);
		/* Data and log are in flight together; the write is acknowledged when both are
		 * done. */
		if (!req->res) {
			req->pending++;
			queue_log_add(&req->q->log, req);
		}
	}
	if (--req->pending == 0)
		write_finish(req);
}

static void write_blocks(struct request *req)
{
	write_blocks_n(req, req->nblocks);
}

static __always_inline void start(struct request *req, uint32_t n)
{
	struct disk_group *g = req->q->g;
	uint32_t base = req->bucket->index * g->wb.bucket_pages;

	if (req->overlapped) {
		uint64_t now = queue_now(req->q);

		count_add(&req->q->stats.overlap, 1);
		count_add(&req->q->stats.overlap_ns, now > req->wait_ns ? now - req->wait_ns : 0);
	}
	req->seq = atomic_fetch_add_explicit(&g->seq, n, memory_order_relaxed);
	for (uint32_t i = 0, place = req->place; i < n; i++) {
		struct piece *p = &req->piece[i];

		p->req = req;
		p->page = base + place;
		map_prefetch_page(&g->map, p->page);
		p->bounce = NULL;
		p->crc = 0;
		place = wb_next_place(&g->wb, req->bucket, place);
	}
	if (req->op == DG_WRITE && (req->offset | req->len) % DG_BLOCK && merge_partial(req))
		return;
	write_blocks_n(req, n);
}

/* The blocks are the request's: give it its sequences and start data and log. In its queue's
 * thread. */
void request_start(struct request *req)
{
	if (req->nblocks == 1)
		start(req, 1);
	else
		start(req, req->nblocks);
}

/* ---- admission
 * ------------------------------------------------------------------------------------ */

/* Why no write can be admitted any more, or 0. */
static int group_error(const struct disk_group *g, bool no_page)
{
	int err = atomic_load_explicit(&g->cache_error, memory_order_relaxed);

	if (err)
		return -EIO;
	if (no_page)
		for (unsigned int i = 0; i < g->ncap; i++)
			if (atomic_load_explicit(&g->cap[i].failed, memory_order_relaxed))
				return -EIO;
	return 0;
}

/* 0: admitted (and started, if nothing is in the way) or failed; -EAGAIN: no page. */
static int try_admit(struct request *req)
{
	struct dg_queue *q = req->q;
	int ret = group_error(q->g, false);

	if (!ret)
		ret = wb_admit(q->g, req);
	if (ret == -EAGAIN) {
		if (!group_error(q->g, true))
			return -EAGAIN;
		ret = -EIO;
	}
	if (ret < 0) {
		request_release(req, ret);
		return 0;
	}
	if (ret == 1) {
		/* Whoever finishes the write before it may hand it over at any moment: hands off.
		 */
		return 0;
	}
	request_start(req);
	return 0;
}

static void wait_append(struct dg_queue *q, struct request *req)
{
	req->next = NULL;
	*q->waiting.tail = req;
	q->waiting.tail = &req->next;
}

/* Writes of a queue are admitted in the order of their submission: overlapping ones must not pass.
 */
bool request_admit_waiting(struct dg_queue *q)
{
	bool progress = false;
	struct request *req;

	while ((req = q->waiting.first)) {
		struct request *next = req->next;
		uint64_t waited = req->wait_ns;

		if (req->due_ns && req->due_ns > queue_now(q))
			break;
		q->waiting.first = next;
		if (!next)
			q->waiting.tail = &q->waiting.first;
		if (try_admit(req) == -EAGAIN) {
			req->next = next;
			q->waiting.first = req;
			if (!next)
				q->waiting.tail = &req->next;
			if (atomic_load_explicit(&q->stuck, memory_order_relaxed))
				break;
			/* Say so, then look once more: a bucket freed from now on finds us asking.
			 */
			atomic_store(&q->stuck, true);
			if (!waited) {
				req->wait_ns = queue_now(q);
				count_add(&q->stats.no_page, 1);
			}
			continue;
		}
		if (waited) {
			atomic_store(&q->stuck, false);
			count_add(&q->stats.no_page_ns, queue_now(q) - waited);
		}
		progress = true;
	}
	return progress;
}

static void submit_write(struct request *req)
{
	struct dg_queue *q = req->q;
	uint64_t delay = congestion_delay(q->g, &q->rng);
	int err = req->op == DG_WRITE ? extents_reserve(req->vol, req->first, req->nblocks) : 0;

	map_prefetch(&q->g->map, vblock(req->vol->info.id, req->first));
	if (err) {
		request_release(req, err);
		return;
	}
	req->due_ns = 0;
	req->wait_ns = 0;
	if (delay) {
		req->due_ns = queue_now(q) + delay;
		count_add(&q->stats.congestion, 1);
		count_add(&q->stats.congestion_ns, delay);
	}
	/* Straight in, unless it must wait or others do: writes of a queue keep their order. */
	if (!delay && !q->waiting.first && try_admit(req) != -EAGAIN)
		return;
	wait_append(q, req);
	if (!delay && q->waiting.first == req)
		request_admit_waiting(q);
}

static void sync_done(struct dev_req *dev, int res)
{
	struct piece *p = piece_of(dev);
	struct disk_group *g = p->req->q->g;

	if (!res) {
		flush_end(g, p->req->seq);
		res = group_error(g, true);
	}
	request_release(p->req, res);
}

/*
 * durability: everything acknowledged so far is in completed writes of the cache device, or
 * destaged and its bucket freed, which happens behind flushes of its own. So one flush of the cache
 * device is enough.
 */
static void submit_sync(struct request *req)
{
	struct dev_req *d = &req->piece[0].dev;
	int ret;

	req->piece[0].req = req;
	req->seq = flush_begin(req->q->g);
	*d = (struct dev_req){.dev = req->q->g->cache, .op = DEV_FLUSH, .done = sync_done};
	ret = ioq_submit(req->q->ioq, d);
	if (ret)
		sync_done(d, ret < 0 ? ret : 0);
}

/* Cut an I/O at 1 MiB (block boundaries) and send the pieces on their way. */
void request_submit(struct dg_queue *q, struct dg_io *io)
{
	uint64_t at = io->offset, end = io->offset + io->len;

	if (io->op == DG_SYNC)
		end = at + 1;
	if (io->op == DG_TRIM) {
		/* Only whole blocks, as a device trims whole units; a part of a block stays as it
		 * is. */
		at = (at + DG_BLOCK - 1) / DG_BLOCK * DG_BLOCK;
		end = end / DG_BLOCK * DG_BLOCK;
	}
	while (at < end) {
		uint64_t stop = end;
		uint64_t first = at / DG_BLOCK;
		uint32_t n;
		struct request *req;

		if (end - at > REQ_MAX_BYTES)
			stop = (at + REQ_MAX_BYTES) / DG_BLOCK * DG_BLOCK;
		n = (uint32_t)((stop + DG_BLOCK - 1) / DG_BLOCK - first);
		req = queue_get_request(q, n);
		if (!req) {
			io->res = -ENOMEM;
			return;
		}
		req->io = io;
		req->vol = io->vol;
		req->op = io->op;
		req->offset = at;
		req->len = (uint32_t)(stop - at);
		req->buf = io->buf ? (char *)io->buf + (at - io->offset) : NULL;
		req->first = first;
		req->nblocks = n;
		req->seq = 0;
		req->res = 0;
		req->overlapped = false;
		io->pending++;
		if (io->op == DG_READ)
			read_start(req);
		else if (io->op == DG_SYNC)
			submit_sync(req);
		else
			submit_write(req);
		at = stop;
	}
}
