/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk group through its public face, on memory devices and files that the test makes: whatever
 * was acknowledged last is what a read returns, while the buffer turns over, blocks overlap, are
 * trimmed, written in parts, and the group is closed and opened again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/disk_group.h"

#define SECTOR 512u
#define DEPTH  32u

static const struct vclock real_clock;

/* What the test expects a volume to hold: a stamp for each 512-byte sector, 0: zeros. */
struct model {
	struct dg_volume *vol;
	uint32_t *stamp;
	uint32_t sectors;
};

struct slot {
	struct dg_io io;
	struct model *m;
	uint32_t stamp;
	bool busy;
};

struct bench {
	struct disk_group *g;
	struct dg_queue *q;
	struct model m[2];
	struct slot slot[DEPTH];
	char *buf;
	uint64_t rng;
	uint32_t next_stamp;
};

static uint64_t rnd(struct bench *b)
{
	b->rng ^= b->rng << 13;
	b->rng ^= b->rng >> 7;
	b->rng ^= b->rng << 17;
	return b->rng >> 11;
}

static void fill(char *buf, const struct model *m, uint64_t sector, uint32_t n, uint32_t stamp)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t w[SECTOR / 8];

		for (unsigned int k = 0; k < SECTOR / 8; k++)
			w[k] = ((uint64_t)stamp << 32 ^ (sector + i)) + k * 0x9E3779B97F4A7C15ull +
			       (uintptr_t)(m->sectors & 1);
		memcpy(buf + (size_t)i * SECTOR, w, SECTOR);
	}
}

static void check(const struct slot *s)
{
	char want[SECTOR], zero[SECTOR] = {0};
	uint64_t sector = s->io.offset / SECTOR;

	assert_int_equal(s->io.res, 0);
	for (uint32_t i = 0; i < s->io.len / SECTOR; i++) {
		uint32_t stamp = s->m->stamp[sector + i];
		const char *got = (const char *)s->io.buf + (size_t)i * SECTOR;

		fill(want, s->m, sector + i, 1, stamp);
		if (memcmp(got, stamp ? want : zero, SECTOR))
			fail_msg("sector %llu does not hold stamp %u",
				 (unsigned long long)(sector + i), stamp);
	}
}

static void finish(struct dg_io **done, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct slot *s = done[i]->user;

		assert_int_equal(s->io.res, 0);
		if (s->io.op == DG_READ)
			check(s);
		s->busy = false;
	}
}

static bool overlaps(const struct bench *b, const struct model *m, uint64_t offset, uint32_t len)
{
	for (unsigned int i = 0; i < DEPTH; i++) {
		const struct slot *s = &b->slot[i];

		if (s->busy && s->m == m && offset < s->io.offset + s->io.len &&
		    s->io.offset < offset + len)
			return true;
	}
	return false;
}

static struct slot *free_slot(struct bench *b)
{
	struct dg_io *done[DEPTH];

	for (;;) {
		for (unsigned int i = 0; i < DEPTH; i++)
			if (!b->slot[i].busy)
				return &b->slot[i];
		finish(done, dg_poll(b->q, 1, DEPTH, TIME_NEVER, done));
	}
}

static void drain_queue(struct bench *b)
{
	struct dg_io *done[DEPTH];

	for (unsigned int i = 0; i < DEPTH; i++)
		while (b->slot[i].busy)
			finish(done, dg_poll(b->q, 1, DEPTH, TIME_NEVER, done));
}

/* One random I/O. Bytes in flight are not touched twice, so that the model knows what must come
 * back; neighbours inside one 4 KiB block are fair game. */
static void random_io(struct bench *b, unsigned int max_sectors, bool trims)
{
	struct slot *s = free_slot(b);
	struct model *m = &b->m[rnd(b) % 2];
	uint32_t n = rnd(b) % 3 ? 8 : 1 + (uint32_t)(rnd(b) % max_sectors);
	uint64_t at = rnd(b) % (m->sectors - n);
	unsigned int what = (unsigned int)(rnd(b) % 100);

	if (n == 8)
		at &= ~7ull;
	if (overlaps(b, m, at * SECTOR, n * SECTOR))
		return;
	s->m = m;
	s->io.vol = m->vol;
	s->io.offset = at * SECTOR;
	s->io.len = n * SECTOR;
	s->io.buf = b->buf + (size_t)(s - b->slot) * (1u << 20);
	s->io.user = s;
	s->io.op = what < 50             ? DG_WRITE
		   : what < 95 || !trims ? DG_READ
		   : what < 98           ? DG_TRIM
					 : DG_SYNC;
	if (s->io.op == DG_WRITE) {
		s->stamp = ++b->next_stamp;
		fill(s->io.buf, m, at, n, s->stamp);
		for (uint32_t i = 0; i < n; i++)
			m->stamp[at + i] = s->stamp;
	} else if (s->io.op == DG_TRIM) {
		for (uint64_t i = (at + 7) / 8 * 8; i + 8 <= (at + n) / 8 * 8; i++)
			m->stamp[i] = 0;
		for (uint64_t i = (at + 7) / 8 * 8; i < (at + n) / 8 * 8; i++)
			m->stamp[i] = 0;
	} else if (s->io.op == DG_READ) {
		memset(s->io.buf, 0xa5, s->io.len);
	}
	s->busy = true;
	dg_submit(b->q, &s->io);
	if (rnd(b) % 4 == 0)
		dg_commit(b->q);
}

static void read_all(struct bench *b)
{
	for (int v = 0; v < 2; v++)
		for (uint64_t at = 0; at < b->m[v].sectors; at += 128) {
			struct slot *s = free_slot(b);
			uint32_t n =
				b->m[v].sectors - at < 128 ? (uint32_t)(b->m[v].sectors - at) : 128;

			s->m = &b->m[v];
			s->io.vol = b->m[v].vol;
			s->io.op = DG_READ;
			s->io.offset = at * SECTOR;
			s->io.len = n * SECTOR;
			s->io.buf = b->buf + (size_t)(s - b->slot) * (1u << 20);
			s->io.user = s;
			s->busy = true;
			dg_submit(b->q, &s->io);
		}
	drain_queue(b);
}

static void bench_open(struct bench *b, const struct dg_options *o, uint64_t size0, uint64_t size1)
{
	struct report r = {0};

	if (disk_group_open(&b->g, o, &real_clock, &r) ||
	    disk_group_volume(b->g, "one", size0, &b->m[0].vol, &r) ||
	    disk_group_volume(b->g, "two", size1, &b->m[1].vol, &r) ||
	    disk_group_start(b->g, true, &r) || dg_queue_create(&b->q, b->g, DEPTH, false, &r))
		fail_msg("%s", r.text);
	memset(b->slot, 0, sizeof(b->slot));
}

static void bench_close(struct bench *b)
{
	struct report r = {0};

	dg_queue_destroy(b->q);
	if (disk_group_close(b->g, &r))
		fail_msg("%s", r.text);
}

static void bench_init(struct bench *b, uint64_t size0, uint64_t size1, uint64_t seed)
{
	memset(b, 0, sizeof(*b));
	b->rng = seed * 0x9E3779B97F4A7C15ull;
	b->buf = aligned_alloc(4096, (size_t)DEPTH << 20);
	b->m[0].sectors = (uint32_t)(size0 / SECTOR);
	b->m[1].sectors = (uint32_t)(size1 / SECTOR);
	for (int v = 0; v < 2; v++)
		b->m[v].stamp = calloc(b->m[v].sectors, sizeof(uint32_t));
	assert_non_null(b->buf);
}

static void bench_exit(struct bench *b)
{
	free(b->buf);
	free(b->m[0].stamp);
	free(b->m[1].stamp);
}

static void memory_options(struct dg_options *o, enum dg_page_allocation pages)
{
	disk_group_options_default(o);
	o->cache = "@memory";
	o->capacity[0] = "@memory";
	o->capacity[1] = "@memory";
	o->ncapacity = 2;
	o->cache_size = 16u << 20;
	o->capacity_size = 64u << 20;
	o->buckets = 4;
	o->page_allocation = pages;
	/* the test is about data, not about delays */
	o->congestion_delay_us = 1;
	o->congestion_tau = 255;
}

static void run_memory(enum dg_page_allocation pages, uint64_t seed)
{
	struct dg_options o;
	struct dg_stats st;
	struct bench b;

	print_message("seed %llu\n", (unsigned long long)seed);
	memory_options(&o, pages);
	bench_init(&b, 40u << 20, 24u << 20, seed);
	bench_open(&b, &o, 40u << 20, 24u << 20);
	for (int i = 0; i < 60000; i++)
		random_io(&b, 300, true);
	drain_queue(&b);
	read_all(&b);
	disk_group_stats(b.g, &st);
	/* The buffer must have turned over, or this tested nothing. */
	assert_true(st.buckets_destaged > 10);
	assert_true(st.blocks_wb_read > 0 && st.blocks_capacity_read > 0);
	bench_close(&b);
	bench_exit(&b);
}

static void memory_scattered(void **state)
{
	(void)state;
	run_memory(DG_PAGES_SCATTERED, 1);
}

static void memory_contiguous(void **state)
{
	(void)state;
	run_memory(DG_PAGES_CONTIGUOUS, 2);
}

/*
 * Two writes of one block: the second starts when the first is done, and its record when there is
 * already something to hand out. A caller that wants both must not sleep on that record. Memory
 * answers at once, so no time need pass.
 */
static void poll_of_everything(void **state)
{
	struct dg_io *done[2];
	struct dg_options o;
	struct bench b;

	(void)state;
	memory_options(&o, DG_PAGES_SCATTERED);
	bench_init(&b, 8u << 20, 4u << 20, 7);
	bench_open(&b, &o, 8u << 20, 4u << 20);
	for (int i = 0; i < 2; i++) {
		b.slot[i].io = (struct dg_io){
			.vol = b.m[0].vol, .buf = b.buf, .len = DG_BLOCK, .op = DG_WRITE};
		dg_submit(b.q, &b.slot[i].io);
	}
	dg_commit(b.q);
	assert_int_equal(dg_poll(b.q, 2, 2, 1, done), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(done[i]->res, 0);
	bench_close(&b);
	bench_exit(&b);
}

/* prefilled=buffer: what was never really written is zeros, and leaves the buffer like anything else. */
static void prefilled_buffer_destages(void **state)
{
	struct dg_options o;
	struct dg_stats st;
	struct bench b;

	(void)state;
	memory_options(&o, DG_PAGES_SCATTERED);
	o.prefilled = DG_PREFILLED_BUFFER;
	bench_init(&b, 8u << 20, 4u << 20, 5);
	bench_open(&b, &o, 8u << 20, 4u << 20);
	read_all(&b);
	for (int i = 0; i < 5000; i++)
		random_io(&b, 64, false); /* a trimmed block counts as never written later */
	drain_queue(&b);
	read_all(&b);
	disk_group_stats(b.g, &st);
	assert_true(st.fill_start_pct > 50);
	assert_true(st.buckets_destaged > 0);
	assert_int_equal(st.blocks_never_written, 0);
	bench_close(&b);
	bench_exit(&b);
}

/* Files: close cleanly, open again, everything is there; several times, and drained at the end. */
static void files_reopen(void **state)
{
	char dir[] = "/tmp/vsan-test-XXXXXX", cache[64], cap[2][64];
	struct dg_options o;
	struct bench b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	snprintf(cap[0], sizeof(cap[0]), "%s/cap0", dir);
	snprintf(cap[1], sizeof(cap[1]), "%s/cap1", dir);
	memory_options(&o, DG_PAGES_SCATTERED);
	o.cache = cache;
	o.capacity[0] = cap[0];
	o.capacity[1] = cap[1];
	bench_init(&b, 20u << 20, 10u << 20, 3);
	for (int round = 0; round < 5; round++) {
		bench_open(&b, &o, 20u << 20, 10u << 20);
		read_all(&b);
		for (int i = 0; i < 3000; i++)
			random_io(&b, 300, true);
		drain_queue(&b);
		o.drain = round == 3 ? DG_DRAIN_END : DG_DRAIN_NEVER;
		bench_close(&b);
	}
	bench_exit(&b);
	unlink(cache);
	unlink(cap[0]);
	unlink(cap[1]);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_scattered),   cmocka_unit_test(memory_contiguous),
		cmocka_unit_test(poll_of_everything), cmocka_unit_test(prefilled_buffer_destages),
		cmocka_unit_test(files_reopen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
