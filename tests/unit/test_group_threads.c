/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several I/O threads on one volume, each with sectors of its own that share 4 KiB blocks with the
 * others': overlap, hand-over between queues, destage and read-back must not mix them up. Made to
 * be run under ThreadSanitizer as well.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/disk_group.h"

#define THREADS 3u
#define DEPTH   8u
#define PIECE   3u /* sectors: 1.5 KiB, so that pieces of different threads share blocks */
#define SECTOR  512u
#define VOLUME  (24u << 20)
#define PIECES  (VOLUME / SECTOR / PIECE)
#define ROUNDS  12000

static const struct vclock real_clock;

struct thread {
	pthread_t id;
	struct disk_group *g;
	struct dg_volume *vol;
	unsigned int number;
	uint32_t *stamp; /* of each piece; only those of this thread are touched */
	uint64_t rng;
	const char *error;
};

struct slot {
	struct dg_io io;
	uint32_t piece;
	bool busy;
	uint64_t buf[PIECE * SECTOR / 8];
};

static uint64_t rnd(struct thread *t)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return t->rng >> 11;
}

static uint64_t word(uint32_t piece, uint32_t stamp, unsigned int i)
{
	return stamp ? ((uint64_t)stamp << 32 | piece) * 0x9E3779B97F4A7C15ull + i : 0;
}

static void reap(struct thread *t, struct dg_queue *q)
{
	struct dg_io *done[DEPTH];
	unsigned int n = dg_poll(q, 1, DEPTH, TIME_NEVER, done);

	for (unsigned int i = 0; i < n; i++) {
		struct slot *s = done[i]->user;

		s->busy = false;
		if (s->io.res)
			t->error = "an I/O failed";
		if (s->io.op != DG_READ)
			continue;
		for (unsigned int k = 0; k < PIECE * SECTOR / 8; k++)
			if (s->buf[k] != word(s->piece, t->stamp[s->piece], k))
				t->error = "a read returned something else than was written last";
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct slot slot[DEPTH] = {0};
	struct dg_queue *q;
	struct report r = {0};
	uint32_t stamp = 0;

	if (dg_queue_create(&q, t->g, DEPTH, false, &r)) {
		t->error = "no queue";
		return NULL;
	}
	for (int i = 0; i < ROUNDS && !t->error; i++) {
		struct slot *s = &slot[i % DEPTH];
		uint32_t piece;
		bool busy = false;

		while (s->busy)
			reap(t, q);
		piece = (uint32_t)(rnd(t) % (PIECES / THREADS)) * THREADS + t->number;
		for (unsigned int k = 0; k < DEPTH; k++)
			busy |= slot[k].busy && slot[k].piece == piece;
		if (busy)
			continue;
		s->piece = piece;
		s->busy = true;
		s->io.vol = t->vol;
		s->io.user = s;
		s->io.buf = s->buf;
		s->io.offset = (uint64_t)piece * PIECE * SECTOR;
		s->io.len = PIECE * SECTOR;
		s->io.op = rnd(t) % 2 ? DG_WRITE : DG_READ;
		if (s->io.op == DG_WRITE) {
			t->stamp[piece] = ++stamp;
			for (unsigned int k = 0; k < PIECE * SECTOR / 8; k++)
				s->buf[k] = word(piece, stamp, k);
		}
		dg_submit(q, &s->io);
	}
	for (unsigned int k = 0; k < DEPTH; k++)
		while (slot[k].busy)
			reap(t, q);
	dg_queue_destroy(q);
	return NULL;
}

static void shared_blocks(void **state)
{
	struct thread t[THREADS];
	struct report r = {0};
	struct dg_options o;
	struct dg_stats st;
	struct disk_group *g;
	struct dg_volume *v;

	(void)state;
	disk_group_options_default(&o);
	o.cache = o.capacity[0] = o.capacity[1] = "@memory";
	o.ncapacity = 2;
	o.cache_size = 16u << 20;
	o.capacity_size = 64u << 20;
	o.buckets = 4;
	o.congestion_delay_us = 1;
	o.congestion_tau = 255;
	if (disk_group_open(&g, &o, &real_clock, &r) || disk_group_volume(g, "v", VOLUME, &v, &r) ||
	    disk_group_start(g, true, &r))
		fail_msg("%s", r.text);
	for (unsigned int i = 0; i < THREADS; i++) {
		t[i] = (struct thread){.g = g, .vol = v, .number = i, .rng = 7919 * (i + 1)};
		t[i].stamp = calloc(PIECES, sizeof(uint32_t));
		assert_non_null(t[i].stamp);
		assert_int_equal(pthread_create(&t[i].id, NULL, run, &t[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		free(t[i].stamp);
		if (t[i].error)
			fail_msg("thread %u: %s", i, t[i].error);
	}
	disk_group_stats(g, &st);
	assert_true(st.buckets_destaged > 3);
	if (disk_group_close(g, &r))
		fail_msg("%s", r.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
