/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes a bucket final, and free again: sealing, extent tables, the superblock.
 *
 * One step machine in the worker; one superblock write at a time, each followed by a flush. The
 *order of the steps is what the group's promises rest on:
 *
 *	seal:  REJECT records - flush of the cache device - superblock (sealed) - flush
 *	free:  flush of capacity - extent tables - flush - flush of the cache device - no reader -
 *superblock (new generation) - flush
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

#define REJECT_STREAM UINT32_MAX

int metadata_init(struct disk_group *g)
{
	struct metadata *m = &g->meta;

	m->buf = aligned_alloc(4096,
			       8192 + (size_t)g->geometry.reject_blocks * g->geometry.log_block);
	m->table_buf = aligned_alloc(4096, (size_t)META_TABLES * FMT_META_BLOCK);
	return m->buf && m->table_buf ? 0 : -ENOMEM;
}

static void free_rejects(struct reject **list)
{
	for (struct reject *r = *list, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	*list = NULL;
}

void metadata_exit(struct disk_group *g)
{
	free(g->meta.buf);
	free(g->meta.table_buf);
	for (uint32_t i = 0; i < g->wb.nbuckets; i++)
		free_rejects(&g->wb.bucket[i].rejects);
	free_rejects(&g->meta.rejects);
}

/* A completed flush protects every write that was complete when it was issued. */
void flush_end(struct disk_group *g, uint64_t no)
{
	uint64_t done = atomic_load(&g->flush_done);

	while (done < no && !atomic_compare_exchange_weak(&g->flush_done, &done, no))
		;
}

/* The cache device does not keep its promises any more: no write is acknowledged from now on. */
void cache_failed(struct disk_group *g, const char *what, uint64_t offset, int err)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&g->cache_error, &none, err)) {
		fprintf(stderr,
			"fio-vsan: %s: %s failed at offset %llu: %s; writes get EIO from now on, "
			"the group "
			"closes dirty and keeps what it has\n",
			g->cache->name, what, (unsigned long long)offset, strerror(-err));
		queue_wake_waiting(g);
	}
}

/* A capacity device failed: what is to go there stays in the buffer. */
void capacity_failed(struct disk_group *g, struct capacity *c, const char *what, uint64_t offset,
		     int err)
{
	if (atomic_exchange(&c->failed, true))
		return;
	fprintf(stderr,
		"fio-vsan: %s: %s failed at offset %llu: %s; its blocks stay in the write buffer, "
		"the group "
		"closes dirty and keeps everything\n",
		c->dev->name, what, (unsigned long long)offset, strerror(-err));
	queue_wake_waiting(g);
}

static struct capacity *capacity_of(struct disk_group *g, const struct device *dev)
{
	for (unsigned int i = 0; i < g->ncap; i++)
		if (g->cap[i].dev == dev)
			return &g->cap[i];
	return NULL;
}

static void step_done(struct dev_req *req, int res)
{
	struct disk_group *g = req->owner;
	struct capacity *c = capacity_of(g, req->dev);

	g->meta.pending--;
	if (!res)
		return;
	if (c)
		capacity_failed(g, c, req->op == DEV_FLUSH ? "flush" : "extent table write",
				req->offset, res);
	else if (!g->meta.err)
		g->meta.err = res;
}

static void submit(struct disk_group *g, unsigned int i, struct device *dev, enum dev_op op,
		   void *buf, uint32_t len, uint64_t offset)
{
	struct dev_req *req = &g->meta.req[i];
	int ret;

	*req = (struct dev_req){.dev = dev,
				.buf = buf,
				.offset = offset,
				.len = len,
				.op = (uint8_t)op,
				.done = step_done,
				.owner = g};
	g->meta.pending++;
	ret = ioq_submit(g->work_ioq, req);
	if (ret)
		step_done(req, ret < 0 ? ret : 0);
}

static void cache_flush(struct disk_group *g)
{
	g->meta.flush_no = flush_begin(g);
	submit(g, 0, g->cache, DEV_FLUSH, NULL, 0, 0);
}

static void sb_submit(struct disk_group *g)
{
	struct metadata *m = &g->meta;

	m->sb.generation++;
	m->sb.clean = false;
	sb_encode(m->buf, &m->sb);
	submit(g, 0, g->cache, DEV_WRITE, m->buf, FMT_META_BLOCK,
	       FMT_SB_OFFSET + (uint64_t)m->sb_slot * FMT_META_BLOCK);
	m->sb_slot ^= 1;
}

/* Superblock and flush, waiting for both. Set-up and close, while the worker does not run. */
int metadata_write_sb(struct disk_group *g, bool clean)
{
	struct metadata *m = &g->meta;
	int err;

	m->sb.generation++;
	m->sb.clean = clean;
	m->sb.in_use = true;
	m->sb.next_seq = atomic_load(&g->seq);
	sb_encode(m->buf, &m->sb);
	err = device_write_sync(g->cache, m->buf, FMT_META_BLOCK,
				FMT_SB_OFFSET + (uint64_t)m->sb_slot * FMT_META_BLOCK);
	m->sb_slot ^= 1;
	return err ? err : device_flush_sync(g->cache);
}

/* ---- sealing
 * --------------------------------------------------------------------------------------- */

/* The oldest closed bucket, if all its writes are over. */
static struct bucket *take_closed(struct disk_group *g)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b;

	spin_lock(&wb->lock);
	b = wb->closed;
	if (b && atomic_load(&b->open))
		b = NULL;
	if (b) {
		wb->closed = b->fifo;
		if (!wb->closed)
			wb->closed_tail = &wb->closed;
		g->meta.rejects = b->rejects;
		b->rejects = NULL;
	}
	spin_unlock(&wb->lock);
	return b;
}

/*
 * Records of failed writes may be in the log: say that they never happened, before the seal makes
 * every record of the bucket final.
 */
static int write_rejects(struct disk_group *g)
{
	struct metadata *m = &g->meta;
	const struct sb_info *s = &g->geometry;
	struct log_info l = {
		.gen = m->bucket->gen, .bucket = m->bucket->index, .stream = REJECT_STREAM};
	char *block = m->buf;
	uint32_t at = 0;

	memcpy(l.uuid, g->uuid, 16);
	for (struct reject *r = m->rejects; r; r = r->next) {
		struct log_record rec = {.block = r->count, .seq = r->seq, .flags = REC_REJECT};

		if (l.number == s->reject_blocks)
			return -ENOSPC;
		log_put(block, at++, &rec);
		if (at == g->wb.log_records || !r->next) {
			l.count = at;
			log_seal(block, &l);
			l.number++;
			block += s->log_block;
			at = 0;
		}
	}
	submit(g, 0, g->cache, DEV_WRITE, m->buf, l.number * s->log_block,
	       m->bucket->log_offset + (uint64_t)(s->log_blocks - s->reject_blocks) * s->log_block);
	return 0;
}

static void sealed(struct disk_group *g, struct bucket *b)
{
	struct write_buffer *wb = &g->wb;

	spin_lock(&wb->lock);
	b->state = BUCKET_SEALED;
	b->fifo = NULL;
	*wb->sealed_tail = b;
	wb->sealed_tail = &b->fifo;
	spin_unlock(&wb->lock);
}

static bool seal_run(struct disk_group *g)
{
	struct metadata *m = &g->meta;

	switch (m->step) {
	case META_IDLE:
		m->bucket = take_closed(g);
		if (!m->bucket)
			return false;
		m->step = SEAL_REJECT;
		if (m->rejects && write_rejects(g))
			m->err = -ENOSPC;
		return true;
	case SEAL_REJECT:
		free_rejects(&m->rejects);
		/* durability: records and REJECTs before the mark that makes them final */
		m->step = SEAL_FLUSH;
		cache_flush(g);
		return true;
	case SEAL_FLUSH:
		flush_end(g, m->flush_no);
		m->sb.bucket[m->bucket->index].mark = BUCKET_MARK_SEALED;
		m->step = SEAL_SB;
		sb_submit(g);
		return true;
	case SEAL_SB:
		m->step = SEAL_SB_FLUSH;
		cache_flush(g);
		return true;
	default: /* SEAL_SB_FLUSH */
		flush_end(g, m->flush_no);
		m->step = META_IDLE;
		sealed(g, m->bucket);
		return true;
	}
}

/* ---- freeing
 * --------------------------------------------------------------------------------------- */

static void flush_written(struct disk_group *g)
{
	for (unsigned int i = 0; i < g->ncap; i++)
		if (g->cap[i].written) {
			g->cap[i].written = false;
			submit(g, i, g->cap[i].dev, DEV_FLUSH, NULL, 0, 0);
		}
}

static bool any_capacity_failed(const struct disk_group *g)
{
	for (unsigned int i = 0; i < g->ncap; i++)
		if (atomic_load(&g->cap[i].failed))
			return true;
	return false;
}

/* Start up to META_TABLES writes of dirty extent table blocks, each into its older copy. False:
 * none left. */
static bool write_tables(struct disk_group *g)
{
	struct metadata *m = &g->meta;
	unsigned int n = 0;

	for (; m->sweep_cap < g->ncap; m->sweep_cap++, m->sweep_at = 0) {
		struct capacity *c = &g->cap[m->sweep_cap];

		for (; m->sweep_at < c->ntable; m->sweep_at++) {
			uint32_t t = m->sweep_at;
			char *block = m->table_buf + (size_t)n * FMT_META_BLOCK;

			if (!atomic_load_explicit(&c->table_dirty[t], memory_order_relaxed))
				continue;
			if (n == META_TABLES)
				return true;
			/* Cleared first: what changes from here on is written next time. */
			atomic_store(&c->table_dirty[t], 0);
			extents_encode_table(g, c, t, block);
			c->table_slot[t] ^= 1;
			c->written = true;
			submit(g, n++, c->dev, DEV_WRITE, block, FMT_META_BLOCK,
			       c->table_offset + (2ull * t + c->table_slot[t]) * FMT_META_BLOCK);
		}
	}
	return n > 0;
}

static bool free_run(struct disk_group *g)
{
	struct metadata *m = &g->meta;
	struct bucket *b = m->bucket;

	switch (m->step) {
	case FREE_CAP_FLUSH:
		m->sweep_cap = m->sweep_at = 0;
		m->step = FREE_TABLES;
		return true;
	case FREE_TABLES:
		/* durability: data is flushed before the tables say that it is there */
		if (write_tables(g))
			return true;
		m->step = FREE_TABLE_FLUSH;
		flush_written(g);
		return true;
	case FREE_TABLE_FLUSH:
		/*
		 * durability: a block was not destaged because a newer version is in the buffer.
		 * That version must be safe before the old one's bucket goes.
		 */
		m->step = FREE_CACHE_FLUSH;
		cache_flush(g);
		return true;
	case FREE_CACHE_FLUSH:
		flush_end(g, m->flush_no);
		m->step = FREE_PINS;
		return true;
	case FREE_PINS:
		/* No map entry points into it, so the readers that are left will only become fewer.
		 */
		if (atomic_load_explicit(&b->pins, memory_order_acquire))
			return false;
		m->sb.bucket[b->index].mark = BUCKET_MARK_OPEN;
		m->sb.bucket[b->index].gen = m->sb.next_gen++;
		m->step = FREE_SB;
		sb_submit(g);
		return true;
	case FREE_SB:
		m->step = FREE_SB_FLUSH;
		cache_flush(g);
		return true;
	default: /* FREE_SB_FLUSH */
		flush_end(g, m->flush_no);
		m->step = META_IDLE;
		b->gen = m->sb.bucket[b->index].gen;
		atomic_store(&g->elev_bucket, -1);
		g->draining = NULL;
		g->drained = false;
		count_add(&g->destage.buckets, 1);
		wb_make_free(g, b);
		queue_wake_waiting(g);
		return true;
	}
}

/* A run that began with readers has its first writer: say so on the device before it writes. */
static bool mark_run(struct disk_group *g)
{
	if (g->meta.step == MARK_SB) {
		g->meta.step = MARK_SB_FLUSH;
		cache_flush(g);
		return true;
	}
	flush_end(g, g->meta.flush_no);
	g->meta.step = META_IDLE;
	atomic_store(&g->want_mark, false);
	return true;
}

/* One step, if the last one is complete. True: made progress. The worker. */
bool metadata_run(struct disk_group *g)
{
	struct metadata *m = &g->meta;

	if (m->pending || atomic_load_explicit(&g->cache_error, memory_order_relaxed))
		return false;
	if (m->err) {
		cache_failed(g, m->req[0].op == DEV_FLUSH ? "flush" : "metadata write",
			     m->req[0].offset, m->err);
		return false;
	}
	if (m->step >= FREE_CAP_FLUSH) {
		if (!any_capacity_failed(g))
			return free_run(g);
		/* Its blocks are not all safe on capacity: the bucket stays as it is, sealed. */
		m->step = META_IDLE;
		return true;
	}
	if (m->step == META_IDLE && atomic_load(&g->want_mark)) {
		m->step = MARK_SB;
		m->sb.in_use = true;
		sb_submit(g);
		return true;
	}
	if (m->step == MARK_SB || m->step == MARK_SB_FLUSH)
		return mark_run(g);
	if (m->step == META_IDLE && g->drained && !any_capacity_failed(g)) {
		m->bucket = g->draining;
		m->step = FREE_CAP_FLUSH;
		flush_written(g);
		return true;
	}
	return seal_run(g);
}

bool metadata_idle(struct disk_group *g)
{
	bool closed;

	spin_lock(&g->wb.lock);
	closed = g->wb.closed != NULL;
	spin_unlock(&g->wb.lock);
	return g->meta.step == META_IDLE && !g->meta.pending && !closed;
}
