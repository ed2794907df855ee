/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * target=cache and target=capacity: the same job straight on one tier's devices, without the group:
 * the baseline that tells what the group costs. Volumes lie one after the other on the tier; the
 * capacity tier is striped over its devices in 1 MiB segments. Nothing is remembered after the run.
 */
#include <errno.h>
#include <string.h>

#include "group.h"

int raw_volume(struct disk_group *g, struct dg_volume *v, struct report *r)
{
	uint64_t room = g->cache->size;

	if (g->opt.target == DG_TARGET_CAPACITY) {
		uint64_t smallest = UINT64_MAX;

		for (unsigned int i = 0; i < g->ncap; i++)
			if (g->cap[i].dev->size / DG_EXTENT < smallest)
				smallest = g->cap[i].dev->size / DG_EXTENT;
		room = smallest * DG_EXTENT * g->ncap;
	}
	if (g->raw_used + v->nextents * DG_EXTENT > room / DG_EXTENT * DG_EXTENT)
		return report(r, -ENOSPC,
			      "volume %s of %llu MiB cannot fit: target=%s has %llu MiB left",
			      v->info.name, (unsigned long long)v->nextents,
			      g->opt.target == DG_TARGET_CACHE ? "cache" : "capacity",
			      (unsigned long long)((room - g->raw_used) / DG_EXTENT));
	v->raw_base = g->raw_used;
	g->raw_used += v->nextents * DG_EXTENT;
	return 0;
}

static void raw_done(struct dev_req *dev, int res)
{
	struct request *req = piece_of(dev)->req;

	if (req->piece[0].bounce) {
		if (!res && req->op == DG_READ)
			memcpy(req->buf, req->piece[0].bounce, req->len);
		queue_put_bounce(req->q, req->piece[0].bounce, true);
		req->piece[0].bounce = NULL;
	}
	request_release(req, res);
}

static void raw_send(struct request *req, struct device *dev, enum dev_op op, uint64_t offset)
{
	struct dev_req *d = &req->piece[0].dev;
	int ret;

	req->piece[0].req = req;
	req->piece[0].bounce = NULL;
	*d = (struct dev_req){.dev = dev,
			      .op = (uint8_t)op,
			      .offset = offset,
			      .buf = req->buf,
			      .len = req->len,
			      .done = raw_done};
	if (op == DEV_WRITE && req->q->g->opt.durability == DG_DURABLE_FUA)
		d->flags = DEV_FUA;
	if (op != DEV_FLUSH && dev->mem_align > 1 && (uintptr_t)req->buf % dev->mem_align) {
		d->buf = req->piece[0].bounce = queue_get_bounce(req->q, true);
		if (d->buf && op == DEV_WRITE)
			memcpy(d->buf, req->buf, req->len);
	}
	if (op != DEV_FLUSH && (offset | req->len) % dev->block_size)
		ret = -EINVAL; /* as the device itself would say */
	else
		ret = d->buf || op == DEV_FLUSH ? ioq_submit(req->q->ioq, d) : -ENOMEM;
	if (ret)
		raw_done(d, ret < 0 ? ret : 0);
}

static struct request *raw_request(struct dg_queue *q, struct dg_io *io, uint64_t at, uint32_t len)
{
	struct request *req = queue_get_request(q, 1);

	if (!req) {
		io->res = -ENOMEM;
		return NULL;
	}
	req->io = io;
	req->op = io->op;
	req->len = len;
	req->buf = io->buf ? (char *)io->buf + (at - io->offset) : NULL;
	io->pending++;
	return req;
}

static void raw_sync(struct dg_queue *q, struct dg_io *io)
{
	struct disk_group *g = q->g;
	struct request *req;

	if (g->opt.target == DG_TARGET_CACHE) {
		req = raw_request(q, io, io->offset, 0);
		if (req)
			raw_send(req, g->cache, DEV_FLUSH, 0);
		return;
	}
	for (unsigned int i = 0; i < g->ncap; i++) {
		req = raw_request(q, io, io->offset, 0);
		if (req)
			raw_send(req, g->cap[i].dev, DEV_FLUSH, 0);
	}
}

void raw_submit(struct dg_queue *q, struct dg_io *io)
{
	struct disk_group *g = q->g;
	uint64_t at = io->offset, end = at + io->len;

	if (io->op == DG_SYNC) {
		raw_sync(q, io);
		return;
	}
	if (io->op == DG_TRIM)
		return; /* a raw tier has no discard: advisory, and so done */
	while (at < end) {
		uint64_t place = io->vol->raw_base + at;
		uint64_t stop = at + DG_EXTENT - place % DG_EXTENT;
		struct device *dev = g->cache;
		struct request *req;

		if (stop > end)
			stop = end;
		if (g->opt.target == DG_TARGET_CAPACITY) {
			uint64_t seg = place / DG_EXTENT;

			dev = g->cap[seg % g->ncap].dev;
			place = seg / g->ncap * DG_EXTENT + place % DG_EXTENT;
		}
		req = raw_request(q, io, at, (uint32_t)(stop - at));
		if (!req)
			return;
		io->wb_hit &= dev == g->cache;
		raw_send(req, dev, io->op == DG_READ ? DEV_READ : DEV_WRITE, place);
		at = stop;
	}
}
