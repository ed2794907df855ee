/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a group back: the block map from the logs of all live buckets, after a clean close as
 * after a crash.
 *
 * Buckets are taken in the order of their use. Per block the highest sequence that is not rejected
 * counts; that order is the order of buckets, so only one bucket's records are in memory at a time.
 * In a bucket that was not sealed a record counts only if its page has the CRC that it names: else
 * the block falls back to the next older record, or to capacity. What is read: the logs, and the
 * pages of buckets that were not sealed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "group.h"

#define CHUNK (4u << 20)

struct replay {
	struct disk_group *g;
	struct report *r;
	char *chunk;
	struct log_record *rec;
	size_t nrec, max;
	struct log_record *rej; /* REC_REJECT of this bucket */
	size_t nrej, maxrej;
	uint32_t *crc; /* of this bucket's pages; NULL: it needs no judging */
	uint64_t max_seq;
	/* totals */
	uint64_t records, rejected, failed_crc, pages, bytes_read;
};

static int add_record(struct log_record **a, size_t *n, size_t *max, const struct log_record *r)
{
	if (*n == *max) {
		size_t m = *max ? *max * 2 : 1024;
		struct log_record *p = realloc(*a, m * sizeof(*p));

		if (!p)
			return -ENOMEM;
		*a = p;
		*max = m;
	}
	(*a)[(*n)++] = *r;
	return 0;
}

static int damaged(struct replay *p, const struct bucket *b, const struct log_record *rec)
{
	return report(p->r, -EBADMSG,
		      "%s: a log record of bucket %u names volume %u block %llu page %u, which "
		      "cannot be; "
		      "format=always makes a new group (all data is lost)",
		      p->g->cache->name, b->index, rec->volume, (unsigned long long)rec->block,
		      rec->page);
}

/* A record can be believed as far as its own fields go. */
static bool plausible(const struct disk_group *g, const struct log_record *rec)
{
	const struct dg_volume *v;

	if (!rec->volume || rec->volume > g->geometry.catalog_slots ||
	    rec->page >= g->wb.bucket_pages)
		return false;
	v = atomic_load(&g->by_id[rec->volume]);
	return v && rec->block < v->nextents * EXTENT_BLOCKS;
}

static int parse_block(struct replay *p, const struct bucket *b, const char *block)
{
	struct log_info l;
	int err = 0;

	/* Whatever is not a whole log block of this use of this bucket is an older one, or torn. */
	if (log_decode(block, p->g->wb.log_block, &l) || l.gen != b->gen || l.bucket != b->index ||
	    memcmp(l.uuid, p->g->uuid, 16))
		return 0;
	for (uint32_t i = 0; !err && i < l.count; i++) {
		struct log_record rec;
		uint64_t last;

		log_get(block, i, &rec);
		last = rec.seq + (rec.flags & REC_REJECT ? rec.block - 1 : 0);
		if (last > p->max_seq)
			p->max_seq = last;
		if (rec.flags & REC_REJECT)
			err = add_record(&p->rej, &p->nrej, &p->maxrej, &rec);
		else if (!plausible(p->g, &rec))
			err = damaged(p, b, &rec);
		else
			err = add_record(&p->rec, &p->nrec, &p->max, &rec);
	}
	return err == -ENOMEM ? report(p->r, err, "no memory to replay the log") : err;
}

static int read_chunk(struct replay *p, uint64_t offset, uint64_t len)
{
	int err = device_read_sync(p->g->cache, p->chunk, len, offset);

	p->bytes_read += len;
	if (err)
		report(p->r, err, "%s: cannot read %llu bytes at offset %llu: %s",
		       p->g->cache->name, (unsigned long long)len, (unsigned long long)offset,
		       strerror(-err));
	return err;
}

static int read_log(struct replay *p, const struct bucket *b)
{
	uint64_t size = (uint64_t)p->g->geometry.log_blocks * p->g->wb.log_block;
	int err = 0;

	p->nrec = p->nrej = 0;
	for (uint64_t at = 0; !err && at < size; at += CHUNK) {
		uint64_t n = size - at < CHUNK ? size - at : CHUNK;

		err = read_chunk(p, b->log_offset + at, n);
		for (uint64_t i = 0; !err && i < n; i += p->g->wb.log_block)
			err = parse_block(p, b, p->chunk + i);
	}
	return err;
}

/* CRCs of all pages of a bucket that needs judging, in one sequential read. */
static int read_pages(struct replay *p, const struct bucket *b)
{
	uint64_t size = (uint64_t)p->g->wb.bucket_pages * DG_BLOCK;
	int err = 0;

	p->crc = malloc(p->g->wb.bucket_pages * sizeof(*p->crc));
	if (!p->crc)
		return report(p->r, -ENOMEM, "no memory to check the pages of a bucket");
	for (uint64_t at = 0; !err && at < size; at += CHUNK) {
		uint64_t n = size - at < CHUNK ? size - at : CHUNK;

		err = read_chunk(p, b->data_offset + at, n);
		for (uint64_t i = 0; !err && i < n; i += DG_BLOCK)
			p->crc[(at + i) / DG_BLOCK] = crc32c(p->chunk + i, DG_BLOCK);
	}
	p->pages += p->g->wb.bucket_pages;
	return err;
}

/* By block, newest first. */
static int by_block(const void *a, const void *b)
{
	const struct log_record *x = a, *y = b;

	if (x->volume != y->volume)
		return x->volume < y->volume ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->seq > y->seq ? -1 : x->seq < y->seq;
}

static bool is_rejected(struct replay *p, const struct log_record *rec)
{
	for (size_t i = 0; i < p->nrej; i++)
		if (rec->seq >= p->rej[i].seq && rec->seq - p->rej[i].seq < p->rej[i].block) {
			p->rejected++;
			return true;
		}
	if (p->crc && !(rec->flags & REC_TRIM) && p->crc[rec->page] != rec->crc) {
		p->failed_crc++;
		return true;
	}
	return false;
}

static int publish(struct replay *p, struct bucket *b, const struct log_record *rec)
{
	struct disk_group *g = p->g;
	struct dg_volume *v = atomic_load(&g->by_id[rec->volume]);
	uint32_t page = b->index * g->wb.bucket_pages + rec->page, old;
	int err = 0;

	if (!(rec->flags & REC_TRIM))
		err = extents_reserve(v, rec->block, 1);
	if (err)
		return report(p->r, err, "volume %s: no room on capacity for block %llu",
			      v->info.name, (unsigned long long)rec->block);
	old = map_publish(&g->map, vblock(rec->volume, rec->block), page,
			  rec->flags & REC_TRIM ? PAGE_TRIMMED : 0, rec->crc);
	atomic_fetch_add(&b->live, 1);
	if (old != PAGE_NONE)
		atomic_fetch_sub(&wb_bucket_of(&g->wb, old)->live, 1);
	p->records++;
	return 0;
}

/* The records of one bucket into the map. */
static int replay_records(struct replay *p, struct bucket *b)
{
	int err = 0;

	qsort(p->rec, p->nrec, sizeof(*p->rec), by_block);
	for (size_t i = 0; !err && i < p->nrec;) {
		const struct log_record *first = &p->rec[i];
		uint64_t judged = 0; /* the same record stands in both slots of a pair */
		bool found = false;

		for (; i < p->nrec && p->rec[i].volume == first->volume &&
		       p->rec[i].block == first->block;
		     i++) {
			if (found || p->rec[i].seq == judged)
				continue;
			judged = p->rec[i].seq;
			if (is_rejected(p, &p->rec[i]))
				continue;
			found = true;
			err = publish(p, b, &p->rec[i]);
		}
	}
	return err;
}

static void adopt_sealed(struct disk_group *g, struct bucket *b)
{
	struct write_buffer *wb = &g->wb;

	b->state = BUCKET_SEALED;
	b->next = wb->bucket_pages;
	b->fifo = NULL;
	*wb->sealed_tail = b;
	wb->sealed_tail = &b->fifo;
	atomic_fetch_add(&wb->used, wb->bucket_pages);
}

static int replay_bucket(struct replay *p, struct bucket *b, bool clean, bool *used)
{
	struct sb_bucket *s = &p->g->meta.sb.bucket[b->index];
	int err;

	*used = false;
	if (s->mark == BUCKET_MARK_OPEN && clean)
		return 0;
	err = read_log(p, b);
	if (err)
		return err;
	*used = s->mark != BUCKET_MARK_OPEN || p->nrec || p->nrej;
	if (s->mark != BUCKET_MARK_SEALED && p->nrec)
		err = read_pages(p, b);
	if (!err)
		err = replay_records(p, b);
	free(p->crc);
	p->crc = NULL;
	if (!err && *used)
		adopt_sealed(p->g, b);
	return err;
}

static int by_gen(const void *a, const void *b)
{
	const struct bucket *x = *(struct bucket *const *)a, *y = *(struct bucket *const *)b;

	return x->gen < y->gen ? -1 : x->gen > y->gen;
}

/*
 * After an unclean stop: what was found is sealed as judged, and every empty bucket gets a
 * generation above all used ones, flushed before anything is written: stale log blocks can never
 * look current.
 */
static int settle(struct disk_group *g, const bool *used)
{
	struct metadata *m = &g->meta;

	for (uint32_t i = 0; i < g->wb.nbuckets; i++) {
		if (used[i] && m->sb.bucket[i].mark == BUCKET_MARK_OPEN)
			m->sb.bucket[i].mark = BUCKET_MARK_JUDGED;
		if (m->sb.bucket[i].gen >= m->sb.next_gen)
			m->sb.next_gen = m->sb.bucket[i].gen + 1;
	}
	for (uint32_t i = 0; i < g->wb.nbuckets; i++)
		if (!used[i])
			m->sb.bucket[i].gen = g->wb.bucket[i].gen = m->sb.next_gen++;
	return metadata_write_sb(g, false);
}

/* Rebuild the map from the devices; set-up, before the worker runs. meta.sb and the catalog are
 * loaded. */
int recovery_run(struct disk_group *g, struct report *r)
{
	struct replay p = {.g = g, .r = r};
	struct bucket *order[DG_MAX_BUCKETS];
	bool used[DG_MAX_BUCKETS] = {false}, clean = g->meta.sb.clean;
	uint64_t t0 = vclock_now(g->clock);
	int err = 0;

	p.max_seq = g->meta.sb.next_seq ? g->meta.sb.next_seq - 1 : 0;
	p.chunk = aligned_alloc(4096, CHUNK);
	if (!p.chunk)
		return report(r, -ENOMEM, "no memory to read the log");
	if (!clean) {
		/* durability: judge what the devices will keep, not what they may still lose */
		err = device_flush_sync(g->cache);
		for (unsigned int i = 0; !err && i < g->ncap; i++)
			err = device_flush_sync(g->cap[i].dev);
		if (err)
			report(r, err, "cannot flush the devices of the disk group: %s",
			       strerror(-err));
	}
	for (uint32_t i = 0; i < g->wb.nbuckets; i++)
		order[i] = &g->wb.bucket[i];
	qsort(order, g->wb.nbuckets, sizeof(order[0]), by_gen);
	for (uint32_t i = 0; !err && i < g->wb.nbuckets; i++)
		err = replay_bucket(&p, order[i], clean, &used[order[i]->index]);
	atomic_store(&g->seq, p.max_seq + 1);
	if (!err && !clean) {
		err = settle(g, used);
		if (err)
			report(r, err, "%s: cannot write the superblock: %s", g->cache->name,
			       strerror(-err));
		qsort(order, g->wb.nbuckets, sizeof(order[0]), by_gen);
	}
	for (uint32_t i = 0; !err && i < g->wb.nbuckets; i++)
		if (!used[order[i]->index])
			wb_make_free(g, order[i]);
	if (!err && !clean)
		fprintf(stderr,
			"fio-vsan: %s: the disk group was not closed cleanly and has been "
			"recovered: %llu "
			"blocks in the write buffer, %llu records rejected (%llu by checksum), "
			"%llu MiB "
			"read, %.1f s\n",
			g->cache->name, (unsigned long long)p.records,
			(unsigned long long)(p.rejected + p.failed_crc),
			(unsigned long long)p.failed_crc, (unsigned long long)(p.bytes_read >> 20),
			(double)(vclock_now(g->clock) - t0) / 1e9);
	free(p.chunk);
	free(p.rec);
	free(p.rej);
	return err;
}
