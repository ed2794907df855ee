/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Percentiles from fio's bins: vectors computed by hand, merging, and fio's own results, whose
 * percentile lists must come out of their bins again.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/fio_json.h"
#include "analyzer/latency_bins.h"
#include "analyzer/measure.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * fabs(b))

static void fill(struct latency_bins *b, const struct latency_bin *from, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(latency_bins_add(b, from[i].ns, from[i].count), 0);
}

/* 1000 completions: 500 at 10, 450 at 20, 40 at 30, 9 at 40, 1 at 50 ns. */
static void percentiles_by_hand(void **state)
{
	static const struct latency_bin bins[] = {{10, 500}, {20, 450}, {30, 40}, {40, 9}, {50, 1}};
	struct latency_bins b = {0};

	(void)state;
	fill(&b, bins, 5);
	assert_int_equal(b.count, 1000);
	assert_near(latency_bins_percentile(&b, 1), 10.0);
	assert_near(latency_bins_percentile(&b, 50), 10.0); /* the 500th is still the first bin's */
	assert_near(latency_bins_percentile(&b, 50.1), 20.0);
	assert_near(latency_bins_percentile(&b, 95), 20.0);
	assert_near(latency_bins_percentile(&b, 95.1), 30.0);
	assert_near(latency_bins_percentile(&b, 99), 30.0);
	/* 99.9 in binary is a little more than that: 999 are not enough, in fio neither. */
	assert_near(latency_bins_percentile(&b, 99.8), 40.0);
	assert_near(latency_bins_percentile(&b, 99.9), 50.0);
	assert_near(latency_bins_percentile(&b, 99.99), 50.0);
	assert_near(latency_bins_percentile(&b, 100), 50.0);
	/* (5000 + 9000 + 1200 + 360 + 50) / 1000 */
	assert_near(latency_bins_mean(&b), 15.61);
	latency_bins_free(&b);
}

static void nothing_has_no_percentile(void **state)
{
	struct latency_bins b = {0};

	(void)state;
	assert_true(isnan(latency_bins_percentile(&b, 50)));
	assert_true(isnan(latency_bins_mean(&b)));
	assert_int_equal(latency_bins_add(&b, 10, 0), 0);
	assert_int_equal(b.nr, 0);
	latency_bins_free(&b);
}

/* 10 fast completions beside 90 slow ones: the median is slow, the mean of the medians is neither. */
static void merging_adds_counts(void **state)
{
	static const struct latency_bin fast[] = {{100, 10}}, slow[] = {{1000, 80}, {2000, 10}};
	struct latency_bins sum = {0}, other = {0};

	(void)state;
	fill(&sum, slow, 2);
	fill(&other, fast, 1);
	assert_int_equal(latency_bins_merge(&sum, &other), 0);
	assert_int_equal(latency_bins_merge(&sum, &other), 0);
	assert_int_equal(sum.nr, 3);
	assert_int_equal(sum.count, 110);
	assert_near(sum.bins[0].ns, 100.0);
	assert_int_equal(sum.bins[0].count, 20);
	assert_near(latency_bins_percentile(&sum, 50), 1000.0);
	assert_near(latency_bins_percentile(&sum, 18), 100.0);    /* 19.8 of 20 */
	assert_near(latency_bins_percentile(&sum, 18.5), 1000.0); /* 20.35 */
	latency_bins_free(&other);
	latency_bins_free(&sum);
}

static void bins_come_in_any_order(void **state)
{
	static const struct latency_bin bins[] = {{30, 1}, {10, 1}, {20, 1},
						  {30, 1}, {5, 1},  {20, 2}};
	static const double expected[] = {5, 10, 20, 30};
	struct latency_bins b = {0};

	(void)state;
	fill(&b, bins, 6);
	assert_int_equal(b.nr, 4);
	for (size_t i = 0; i < 4; i++)
		assert_near(b.bins[i].ns, expected[i]);
	assert_int_equal(b.bins[2].count, 3);
	latency_bins_free(&b);
}

/* fio printed percentiles and bins of the same histogram. */
static void agrees_with_fio(void **state)
{
	struct run run = {0};
	struct report r = {0};
	unsigned int checked = 0;

	(void)state;
	assert_int_equal(fio_json_read(TEST_SOURCE_DIR
				       "/tests/analyzer/data/fio-3.33-jsonplus.json",
				       &run, &r),
			 0);
	for (int d = RUN_READ; d <= RUN_WRITE; d++) {
		const struct latency *l = &run.jobs[0].directions[d].clat;

		assert_int_equal(l->bins.count, l->count);
		/* A bin is at most 0.8% beside the latencies in it, and exact below 128 ns. */
		assert_true(fabs(latency_bins_mean(&l->bins) / l->mean_ns - 1) < 0.008);
		for (size_t i = 0; i < l->nr_percentiles; i++, checked++)
			assert_near(latency_bins_percentile(&l->bins, l->percentiles[i].percent),
				    l->percentiles[i].ns);
	}
	assert_int_equal(checked, 34);
	run_free(&run);
}

/* Two jobs with 3 : 1 completions, and without bins in one of them. */
static void run_percentiles_need_all_bins(void **state)
{
	struct measure m[METRIC_NR];
	struct run run = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct run_job *j = run_add_job(&run);
		struct direction *d = &j->directions[RUN_READ];

		assert_non_null(j);
		*d = (struct direction){.given = true,
					.ios = 100,
					.iops = i ? 10 : 30,
					.runtime_msec = i ? 10000 : 20000,
					.bytes_per_sec = 4096};
		d->clat = (struct latency){.given = true,
					   .count = i ? 25 : 75,
					   .mean_ns = i ? 8000 : 4000,
					   .max_ns = 9000};
		assert_int_equal(latency_bins_add(&d->clat.bins, i ? 8000 : 4000, d->clat.count),
				 0);
	}
	measure_run(&run, PART_TOTAL, m);
	assert_near(m[METRIC_IOPS].value, 30 + 10 / 2.0); /* half the time idle */
	assert_near(m[METRIC_MEAN].value, 5.0);
	assert_near(m[METRIC_P50].value, 4.0);
	assert_near(m[METRIC_P95].value, 8.0);
	assert_null(m[METRIC_P50].why);
	latency_bins_free(&run.jobs[1].directions[RUN_READ].clat.bins);
	measure_run(&run, PART_TOTAL, m);
	assert_non_null(m[METRIC_P50].why);
	assert_null(m[METRIC_MEAN].why);
	/* The other job alone is not affected. */
	measure_jobs(&run, 0, 1, RUN_READ, m);
	assert_null(m[METRIC_P50].why);
	/* Groups that may have run one after another have no common rate. */
	run.jobs[1].group = 1;
	measure_run(&run, RUN_READ, m);
	assert_non_null(m[METRIC_IOPS].why);
	for (int i = 0; i < 2; i++)
		run.jobs[i].name = NULL;
	run_free(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_by_hand),
		cmocka_unit_test(nothing_has_no_percentile),
		cmocka_unit_test(merging_adds_counts),
		cmocka_unit_test(bins_come_in_any_order),
		cmocka_unit_test(agrees_with_fio),
		cmocka_unit_test(run_percentiles_need_all_bins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
