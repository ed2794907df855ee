/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Congestion: ramp, delay law and filter against values worked out by hand from their definitions.
 * A group of zeros with the few fields that congestion.c reads; no device, no thread, the time is
 * an argument.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/group.h"

#define NEAR(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

#define PAGES 1000000u

static int make_group(void **state)
{
	struct disk_group *g = calloc(1, sizeof(*g));

	if (!g)
		return -1;
	disk_group_options_default(&g->opt);
	g->wb.npages = PAGES;
	g->wb.nbuckets = 8;
	*state = g;
	return 0;
}

static int free_group(void **state)
{
	free(*state);
	return 0;
}

static void ramp(void **state)
{
	(void)state;
	NEAR(congestion_ramp(79, 80, 98), 0, 0);
	NEAR(congestion_ramp(80, 80, 98), 0, 0);
	NEAR(congestion_ramp(89, 80, 98), 127.5, 1e-9);
	NEAR(congestion_ramp(86, 80, 98), 85, 1e-9);
	NEAR(congestion_ramp(98, 80, 98), 255, 1e-9);
	NEAR(congestion_ramp(100, 80, 98), 255, 0);
}

static void law(void **state)
{
	struct disk_group *g = *state;

	/* 50 us x (2^(c/16) - 1) */
	NEAR(congestion_delay_us(&g->opt, 0), 0, 0);
	NEAR(congestion_delay_us(&g->opt, 8), 20.71, 0.01);
	NEAR(congestion_delay_us(&g->opt, 16), 50, 1e-9);
	NEAR(congestion_delay_us(&g->opt, 48), 350, 1e-9);
	NEAR(congestion_delay_us(&g->opt, 160), 51150, 1e-6);
	NEAR(congestion_delay_us(&g->opt, 255), 3137824.4, 1);
	g->opt.congestion_delay_us = 10;
	g->opt.congestion_tau = 4;
	NEAR(congestion_delay_us(&g->opt, 8), 30, 1e-9);
}

/* Around the law's value by 0.5 to 1.5, all of that range, and the mean is the law's. */
static void delays_are_random(void **state)
{
	struct disk_group *g = *state;
	double sum = 0, least = 1e9, most = 0;
	uint64_t rng = 1;
	const int n = 100000;

	assert_int_equal(congestion_delay(g, &rng), 0);
	atomic_store(&g->cong.level, 255); /* below 1: noise of the filter */
	assert_int_equal(congestion_delay(g, &rng), 0);
	assert_int_equal(rng, 1);
	atomic_store(&g->cong.level, 48 * 256);
	for (int i = 0; i < n; i++) {
		double us = (double)congestion_delay(g, &rng) / 1000.0;

		sum += us;
		least = us < least ? us : least;
		most = us > most ? us : most;
	}
	NEAR(sum / n, 350, 2);
	NEAR(least, 175, 1);
	NEAR(most, 525, 1);
	assert_true(least >= 174.9 && most <= 525);
	/* Parts of a step count: 8.5 of 255. */
	atomic_store(&g->cong.level, 8 * 256 + 128);
	NEAR(congestion_delay_us(&g->opt, 8.5), 22.26, 0.01);
	for (int i = sum = 0; i < n; i++)
		sum += (double)congestion_delay(g, &rng) / 1000.0;
	NEAR(sum / n, 22.26, 0.2);
}

static void set_fill(struct disk_group *g, double percent)
{
	atomic_store(&g->wb.used, (uint64_t)(percent * PAGES / 100));
}

/* Without a drain the time constant is 5 s: 255 x (1 - e^(-t/5)) after t seconds of a full buffer. */
static void filter_is_slow(void **state)
{
	struct disk_group *g = *state;
	uint64_t t = NSEC_PER_SEC;

	set_fill(g, 100);
	congestion_update(g, t); /* the first one only looks at the clock */
	NEAR(g->cong.ssd, 0, 0);
	congestion_update(g, t + NSEC_PER_SEC);
	NEAR(g->cong.ssd, 255 * 0.181269, 0.01);
	NEAR(atomic_load(&g->cong.ssd_now) / 256.0, g->cong.ssd, 1.0 / 256);
	NEAR(atomic_load(&g->cong.level) / 256.0, g->cong.ssd, 1.0 / 256);
	congestion_update(g, t + 5 * NSEC_PER_SEC);
	NEAR(g->cong.ssd, 255 * 0.632121, 0.01);
	/* Down again, by the same law, and 0 in the end. */
	set_fill(g, 10);
	congestion_update(g, t + 10 * NSEC_PER_SEC);
	NEAR(g->cong.ssd, 255 * 0.632121 * 0.367879, 0.01);
	congestion_update(g, t + 100 * NSEC_PER_SEC);
	NEAR(g->cong.ssd, 0, 0);
	assert_int_equal(atomic_load(&g->cong.level), 0);
}

/* How often it is called changes nothing, and too often does nothing. */
static void filter_does_not_count_calls(void **state)
{
	struct disk_group *g = *state;
	uint64_t t = NSEC_PER_SEC;

	set_fill(g, 89);
	congestion_update(g, t);
	for (int i = 0; i < 5000; i++) {
		t += NSEC_PER_MSEC;
		congestion_update(g, t);
	}
	NEAR(g->cong.ssd, 127.5 * 0.632121, 0.01);
	set_fill(g, 100);
	congestion_update(g, t + 4 * NSEC_PER_MSEC);
	NEAR(g->cong.ssd, 127.5 * 0.632121, 0.01);
}

/* A quarter of the buffer drained in half a second: the filter is ten times as fast. */
static void filter_follows_the_drain(void **state)
{
	struct disk_group *g = *state;
	double rate = (double)PAGES * DG_BLOCK / 4 / 0.5;
	uint64_t t = NSEC_PER_SEC;

	congestion_update(g, t);
	for (int s = 1; s <= 60; s++) {
		atomic_store(&g->destage.bytes, (uint64_t)(rate * s));
		congestion_update(g, t + (uint64_t)s * NSEC_PER_SEC);
	}
	NEAR(g->cong.drain_rate, rate, rate / 1e6);
	set_fill(g, 100);
	atomic_store(&g->destage.bytes, (uint64_t)(rate * 60.5));
	congestion_update(g, t + 60 * NSEC_PER_SEC + NSEC_PER_SEC / 2);
	NEAR(g->cong.ssd, 255 * 0.632121, 0.01);
}

/* The average of the drain rate: 1 - e^-1 of it after a second. */
static void drain_rate_is_an_average(void **state)
{
	struct disk_group *g = *state;

	congestion_update(g, NSEC_PER_SEC);
	atomic_store(&g->destage.bytes, 1000000);
	congestion_update(g, 2 * NSEC_PER_SEC);
	NEAR(g->cong.drain_rate, 632121, 1);
	congestion_update(g, 3 * NSEC_PER_SEC);
	NEAR(g->cong.drain_rate, 632121 * 0.367879, 1);
}

/*
 * 96 bytes for each live page; 0 at 16 GiB, 255 at 24 GiB for 600 GB of buffer. A buffer full of live
 * pages is below the lower limit: 96 / 4096 = 2.34%, 16 GiB / 600 GB = 2.86%. So it only counts where
 * the records are larger in proportion, and never alone.
 */
static void log_congestion(void **state)
{
	struct disk_group *g = *state;

	atomic_store(&g->wb.bucket[0].live, PAGES / 2);
	atomic_store(&g->wb.bucket[7].live, PAGES / 2);
	congestion_update(g, NSEC_PER_SEC);
	congestion_update(g, 100 * NSEC_PER_SEC);
	NEAR(g->cong.log, 0, 0);
	/* As many as make (16 + 4) / 600 GiB / GB: half way. */
	atomic_store(&g->wb.bucket[3].live,
		     (unsigned int)(20 * 1073741824.0 / 600e9 * PAGES * 4096.0 / 96) - PAGES);
	congestion_update(g, 200 * NSEC_PER_SEC);
	NEAR(g->cong.log, 127.5, 0.01);
	/* The highest kind is what writers feel. */
	NEAR(atomic_load(&g->cong.level) / 256.0, 127.5, 0.01);
	set_fill(g, 98);
	congestion_update(g, 300 * NSEC_PER_SEC);
	NEAR(atomic_load(&g->cong.level) / 256.0, 255, 0.01);
	NEAR(atomic_load(&g->cong.log_now) / 256.0, 127.5, 0.01);
}

/* The moment that splits a run into before and after: once, when ssd congestion is first felt. */
static void first_full_is_noted_once(void **state)
{
	struct disk_group *g = *state;

	set_fill(g, 82);
	congestion_update(g, NSEC_PER_SEC);
	congestion_update(g, NSEC_PER_SEC + 10 * NSEC_PER_MSEC); /* 28 x 0.002: not felt */
	assert_int_equal(atomic_load(&g->first_full_ns), 0);
	congestion_update(g, 3 * NSEC_PER_SEC);
	assert_int_equal(atomic_load(&g->first_full_ns), 3 * NSEC_PER_SEC);
	congestion_update(g, 4 * NSEC_PER_SEC);
	assert_int_equal(atomic_load(&g->first_full_ns), 3 * NSEC_PER_SEC);
}

#define GROUP_TEST(f) cmocka_unit_test_setup_teardown(f, make_group, free_group)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ramp),
		GROUP_TEST(law),
		GROUP_TEST(delays_are_random),
		GROUP_TEST(filter_is_slow),
		GROUP_TEST(filter_does_not_count_calls),
		GROUP_TEST(filter_follows_the_drain),
		GROUP_TEST(drain_rate_is_an_average),
		GROUP_TEST(log_congestion),
		GROUP_TEST(first_full_is_noted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
