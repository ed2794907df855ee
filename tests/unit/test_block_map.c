/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The block map and the in-flight table against references so simple that they are right: arrays
 * that are searched from end to end. Random operations with fixed seeds, one thread; what threads
 * do to it is test_group_threads.c's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/block_map.h"

#define PAGES  300u /* few, so that chains are long */
#define BLOCKS 200u
#define STEPS  200000u

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Blocks of several volumes, near each other and far apart. */
static uint64_t block_name(uint32_t i)
{
	return i % 3 ? vblock(1 + i % 5, i) : vblock(65535, (1ull << 40) - 1 - i);
}

struct reference {
	uint32_t page[BLOCKS];  /* PAGE_NONE: not in the buffer */
	uint32_t flags[BLOCKS]; /* of its page */
	uint32_t crc[BLOCKS];
	bool used[PAGES]; /* the page is some block's */
};

static void check_block(const struct block_map *m, const struct reference *r, uint32_t i)
{
	uint32_t page = map_lookup(m, block_name(i));

	assert_int_equal(page, r->page[i]);
	if (page != PAGE_NONE) {
		assert_true(m->page[page].key == (block_name(i) << 8 | r->flags[i]));
		assert_int_equal(m->page[page].crc, r->crc[i]);
	}
}

static void check_all(const struct block_map *m, const struct reference *r)
{
	for (uint32_t i = 0; i < BLOCKS; i++)
		check_block(m, r, i);
	for (uint32_t p = 0; p < PAGES; p++)
		assert_int_equal(m->page[p].key != 0, r->used[p]);
}

static void publish(struct block_map *m, struct reference *r, uint32_t i, uint64_t random)
{
	uint32_t page = (uint32_t)(random % PAGES), old = r->page[i];

	while (r->used[page])
		page = (page + 1) % PAGES;
	r->flags[i] = random >> 40 & 1 ? PAGE_TRIMMED : 0;
	r->crc[i] = (uint32_t)(random >> 20);
	assert_int_equal(map_publish(m, block_name(i), page, r->flags[i], r->crc[i]), old);
	if (old != PAGE_NONE)
		r->used[old] = false;
	r->used[page] = true;
	r->page[i] = page;
}

static void clear(struct block_map *m, struct reference *r, uint32_t i, uint64_t random)
{
	/* The page it has, or, as an elevator that comes too late would, any other. */
	uint32_t page = random & 1 && r->page[i] != PAGE_NONE ? r->page[i]
							      : (uint32_t)(random >> 8) % PAGES;
	bool was = page == r->page[i];

	if (r->used[page] && !was)
		return; /* somebody else's page: nobody does that */
	assert_int_equal(map_clear(m, block_name(i), page), was);
	if (was) {
		r->used[page] = false;
		r->page[i] = PAGE_NONE;
	}
}

static void map_is_an_array(void **state)
{
	struct reference *r = calloc(1, sizeof(*r));
	struct block_map m;
	uint64_t x = 88172645463325252ull;

	(void)state;
	assert_non_null(r);
	memset(r->page, 0xff, sizeof(r->page));
	assert_int_equal(block_map_init(&m, PAGES), 0);
	/* All blocks in one chain: the order of a chain must not matter. */
	for (int shape = 0; shape < 2; shape++) {
		if (shape) {
			for (uint32_t i = 0; i < BLOCKS; i++)
				if (r->page[i] != PAGE_NONE)
					assert_true(map_clear(&m, block_name(i), r->page[i]));
			memset(r->used, 0, sizeof(r->used));
			memset(r->page, 0xff, sizeof(r->page));
			check_all(&m, r);
			m.head_shift = 63; /* two chains */
		}
		for (uint32_t step = 0; step < STEPS; step++) {
			uint64_t random = next_random(&x);
			uint32_t i = (uint32_t)(random >> 32) % BLOCKS;

			if (random % 5 < 3)
				publish(&m, r, i, next_random(&x));
			else
				clear(&m, r, i, next_random(&x));
			check_block(&m, r, i);
			if (step % 1000 == 0)
				check_all(&m, r);
		}
		check_all(&m, r);
	}
	m.head_shift = 64 - 10;
	block_map_free(&m);
	free(r);
}

/* The names of blocks go through the packing unharmed, and none is 0, which means "no block". */
static void names_are_packed(void **state)
{
	(void)state;
	assert_true(vblock(1, 0) != 0);
	for (uint32_t v = 1; v <= 65535; v += 9362)
		for (uint64_t b = 0; b < 1ull << 40; b = b * 2 + 1) {
			uint64_t vb = vblock(v, b);

			assert_int_equal(vblock_volume(vb), v);
			assert_true(vblock_block(vb) == b);
			assert_true(vb << 8 >> 8 == vb); /* the flags have room beside it */
		}
}

/* 16 bytes a page and at most 4 for the heads; 20 with the small change of any size. */
static void memory_is_bounded(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 1u << 30; n = n * 3 + 7) {
		uint64_t fixed = MAP_SHARDS * sizeof(struct map_shard) + 4096;

		assert_true(block_map_bytes(n) <= 20ull * n + fixed);
		assert_true(block_map_bytes(n) >= 16ull * n);
	}
	assert_int_equal(sizeof(struct page), 16);
}

/* A chain belongs to one shard, or a shard's lock would not cover it. */
static void chains_do_not_cross_shards(void **state)
{
	struct block_map m;
	uint64_t x = 1;

	(void)state;
	for (uint32_t n = 1; n <= 1u << 16; n *= 16) {
		assert_int_equal(block_map_init(&m, n), 0);
		for (int i = 0; i < 10000; i++) {
			uint64_t vb = vblock(1 + (uint32_t)(next_random(&x) % 65535),
					     next_random(&x) >> 24);
			uint64_t chain = map_hash(vb) >> m.head_shift;
			unsigned int bits = 64 - m.head_shift;

			assert_ptr_equal(map_shard(&m, vb), &m.shard[chain >> (bits - 10)]);
		}
		block_map_free(&m);
	}
}

/* ---- in flight ---- */

#define FLIGHTS 40u

static void in_flight_is_a_queue_per_block(void **state)
{
	struct map_shard s = {.oldest = NULL};
	struct inflight f[FLIGHTS] = {0};
	uint32_t line[FLIGHTS] = {0}, n = 0; /* who is in flight, oldest first */
	bool in[FLIGHTS] = {false};
	uint64_t x = 42;

	(void)state;
	s.tail = &s.oldest;
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t i = (uint32_t)(next_random(&x) >> 32) % FLIGHTS, at, k;
		struct request *want = NULL;

		if (!in[i]) {
			bool first = true;

			f[i].vb = vblock(1, next_random(&x) % 6);
			f[i].req = (struct request *)&f[i]; /* a name, never looked into */
			for (k = 0; k < n; k++)
				first &= f[line[k]].vb != f[i].vb;
			assert_int_equal(inflight_enter(&s, &f[i]), first);
			line[n++] = i;
			in[i] = true;
			continue;
		}
		/* Only the oldest of a block is ever finished. */
		for (at = 0; f[line[at]].vb != f[i].vb; at++)
			;
		i = line[at];
		for (k = n - 1; k > at; k--)
			if (f[line[k]].vb == f[i].vb)
				want = f[line[k]].req;
		assert_ptr_equal(inflight_leave(&s, &f[i]), want);
		memmove(&line[at], &line[at + 1], (n - at - 1) * sizeof(line[0]));
		n--;
		in[i] = false;
	}
	for (uint32_t k = 0; k < n; k++)
		inflight_leave(&s, &f[line[k]]);
	assert_null(s.oldest);
	assert_ptr_equal(s.tail, &s.oldest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_is_an_array),
		cmocka_unit_test(names_are_packed),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(chains_do_not_cross_shards),
		cmocka_unit_test(in_flight_is_a_queue_per_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
