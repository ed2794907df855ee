/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log of one queue: records of its writes, in pairs of log blocks in the bucket that holds the
 * pages.
 *
 * A stream has one log write in flight, which carries all records that came meanwhile. The block
 * that is being filled is written alternately to the two slots of its pair, so a torn write
 * destroys only a copy whose predecessor is intact. What does not fit takes fresh pairs, all
 * written at once. Streams know nothing of each other. Everything here runs in the queue's thread.
 *
 * A queue has two streams. With one, its writes move in lockstep: all are acknowledged by one log
 * write, all are submitted again, and the device runs dry in between. With two, one half is being
 * written while the other is being submitted. More cost more log writes than they save time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

#define LOG_ALIGN 4096u
#define GROUP_MIN 8u /* records: fewer are not worth a log write while others are being submitted */

static void log_write_done(struct dev_req *dev, int res);

static int stream_init(struct log_stream *s, struct dg_queue *q, uint32_t number)
{
	uint32_t lb = q->g->wb.log_block;

	s->q = q;
	s->number = number;
	s->block = aligned_alloc(LOG_ALIGN, (size_t)LOG_BATCH * lb);
	s->grow = aligned_alloc(LOG_ALIGN, LOG_ALIGN);
	if (!s->block || !s->grow)
		return -ENOMEM;
	/* Tails of blocks that are not full go to the device too: let them be defined. */
	memset(s->block, 0, (size_t)LOG_BATCH * lb);
	memset(s->grow, 0, LOG_ALIGN);
	s->dev.dev = q->g->cache;
	s->dev.op = DEV_WRITE;
	s->dev.done = log_write_done;
	return 0;
}

/* @number: of the first of its LOG_STREAMS streams in the group. */
int queue_log_init(struct queue_log *l, struct dg_queue *q, uint32_t number)
{
	int err = 0;

	memset(l, 0, sizeof(*l));
	l->pending_tail = &l->pending;
	l->group = q->depth / LOG_STREAMS;
	if (l->group < GROUP_MIN)
		l->group = GROUP_MIN;
	for (uint32_t i = 0; i < LOG_STREAMS && !err; i++)
		err = stream_init(&l->stream[i], q, number + i);
	if (err)
		queue_log_free(l);
	return err;
}

void queue_log_free(struct queue_log *l)
{
	for (uint32_t i = 0; i < LOG_STREAMS; i++) {
		free(l->stream[i].block);
		free(l->stream[i].grow);
		l->stream[i].block = l->stream[i].grow = NULL;
	}
}

/* The request has its sequences; its records go out with the next log write. */
void queue_log_add(struct queue_log *l, struct request *req)
{
	req->next = NULL;
	*l->pending_tail = req;
	l->pending_tail = &req->next;
	l->nrecords += req->nblocks;
}

/* Inlined, for the usual record alone too. */
static __always_inline void put_records(struct request *req, uint32_t from, uint32_t n, char *block,
					uint32_t at, uint32_t bucket_base)
{
	struct log_record r = {.volume = req->vol->info.id,
			       .flags = req->op == DG_TRIM ? REC_TRIM : 0};

	for (uint32_t i = 0; i < n; i++) {
		const struct piece *p = &req->piece[from + i];

		r.block = req->first + from + i;
		r.seq = req->seq + from + i;
		r.page = p->page - bucket_base;
		r.crc = p->crc;
		/* When the log write is done the block will be published. */
		map_prefetch_first(&req->q->g->map, p->in.vb);
		log_put(block, at + i, &r);
	}
}

static void seal_block(struct log_stream *s, char *block, uint32_t pair, uint32_t count)
{
	struct log_info l = {.gen = s->gen,
			     .bucket = s->bucket->index,
			     .stream = s->number,
			     .number = pair,
			     .count = count};

	memcpy(l.uuid, s->q->g->uuid, sizeof(l.uuid));
	log_seal(block, &l);
}

/*
 * May slot @slot of the growing pair be overwritten? durability: a copy that a flush has made safe
 * is only given up when the other one is safe as well; else a power cut could take both.
 */
static bool slot_usable(const struct log_stream *s, int slot)
{
	struct disk_group *g = s->q->g;
	uint64_t flushed = atomic_load_explicit(&g->flush_done, memory_order_acquire);

	if (g->opt.durability == DG_DURABLE_FUA || !s->has[slot] || s->flush_no[slot] >= flushed)
		return true;
	return s->has[1 - slot] && s->flush_no[1 - slot] < flushed;
}

static void start_write(struct log_stream *s, void *buf, uint32_t block, uint32_t nblocks)
{
	struct disk_group *g = s->q->g;
	int ret;

	s->dev.buf = buf;
	s->dev.offset = s->bucket->log_offset + (uint64_t)block * g->wb.log_block;
	s->dev.len = nblocks * g->wb.log_block;
	s->dev.flags = g->opt.durability == DG_DURABLE_FUA ? DEV_FUA : 0;
	s->busy = true;
	ret = ioq_submit(s->q->ioq, &s->dev);
	if (ret)
		log_write_done(&s->dev, ret < 0 ? ret : 0);
}

/* Requests of one bucket from the head of the queue, as many as one write takes. Returns their
 * records. */
static uint32_t take_requests(struct queue_log *l, struct log_stream *s)
{
	uint32_t max = LOG_BATCH * s->q->g->wb.log_records, n = 0;
	struct request **link = &l->pending, *r;
	struct bucket *b = l->pending->bucket;

	s->writing = l->pending;
	while ((r = *link) && r->bucket == b && n + r->nblocks <= max) {
		n += r->nblocks;
		link = &r->next;
	}
	l->pending = r;
	*link = NULL;
	if (!r)
		l->pending_tail = &l->pending;
	l->nrecords -= n;
	return n;
}

/* All records into fresh pairs; the last block becomes the growing one. */
static int write_fresh(struct log_stream *s, uint32_t n)
{
	struct write_buffer *wb = &s->q->g->wb;
	uint32_t per = wb->log_records, m = (n + per - 1) / per, first, at = 0, i = 0;
	uint32_t base = s->bucket->index * wb->bucket_pages;
	char *block = s->block;
	int err = wb_log_pairs(s->q->g, s->bucket, m, &first);

	if (err)
		return err;
	for (struct request *r = s->writing; r; r = r->next) {
		uint32_t from = 0;

		while (from < r->nblocks) {
			uint32_t take = r->nblocks - from < per - at ? r->nblocks - from : per - at;

			if (take == 1)
				put_records(r, from, 1, block, at, base);
			else
				put_records(r, from, take, block, at, base);
			from += take;
			at += take;
			if (at == per) {
				seal_block(s, block, s->next_pair + i++, per);
				block += wb->log_block;
				at = 0;
			}
		}
	}
	if (at)
		seal_block(s, block, s->next_pair + i++, at);
	else
		block -= wb->log_block;
	s->count = at ? at : per;
	memcpy(s->grow, block, wb->log_block);
	s->next_pair += m;
	s->pair = s->next_pair - 1;
	s->place[0] = first + m - 1;
	s->place[1] = first + 2 * m - 1;
	s->has[0] = s->has[1] = false;
	s->ok = -1;
	s->slot = 0;
	start_write(s, s->block, first, m);
	return 0;
}

static void write_grown(struct log_stream *s, int slot)
{
	uint32_t base = s->bucket->index * s->q->g->wb.bucket_pages;

	for (struct request *r = s->writing; r; r = r->next) {
		put_records(r, 0, r->nblocks, s->grow, s->count, base);
		s->count += r->nblocks;
	}
	seal_block(s, s->grow, s->pair, s->count);
	s->slot = slot;
	s->has[slot] = false;
	start_write(s, s->grow, s->place[slot], 1);
}

static void fail_requests(struct log_stream *s, int res)
{
	struct request *r = s->writing, *next;

	s->writing = NULL;
	for (; r; r = next) {
		next = r->next;
		request_log_done(r, res);
	}
}

static void stream_write(struct queue_log *l, struct log_stream *s)
{
	uint32_t n = take_requests(l, s);
	struct bucket *b = s->writing->bucket;
	int err = 0, slot;

	if (s->bucket != b || s->gen != b->gen) {
		s->bucket = b;
		s->gen = b->gen;
		s->next_pair = 0;
		s->ok = -1;
	}
	/* The slot that does not hold the last good copy. After an error there is no growing pair. */
	slot = 1 - s->ok;
	if (s->ok >= 0 && s->count + n <= s->q->g->wb.log_records && slot_usable(s, slot))
		write_grown(s, slot);
	else
		err = write_fresh(s, n);
	if (err)
		fail_requests(s, err);
}

/* Start log writes while there are records and a stream without one in flight. */
void queue_log_kick(struct queue_log *l)
{
	for (uint32_t i = 0; i < LOG_STREAMS; i++)
		while (l->pending && !l->stream[i].busy)
			stream_write(l, &l->stream[i]);
}

static void log_write_done(struct dev_req *dev, int res)
{
	struct log_stream *s =
		(struct log_stream *)((char *)dev - offsetof(struct log_stream, dev));
	struct disk_group *g = s->q->g;

	s->busy = false;
	if (res) {
		/* The slot may be anything now; the last good copy stays, nothing is written over
		 * it. */
		s->ok = -1;
	} else {
		s->ok = s->slot;
		s->has[s->slot] = true;
		/* A flush protects what was complete when it was issued. */
		s->flush_no[s->slot] = atomic_load_explicit(&g->flush_issued, memory_order_acquire);
	}
	fail_requests(s, res);
}
