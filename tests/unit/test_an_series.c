/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Logs and time: which column of fio's logs is the direction, sums over jobs with gaps as zero, and
 * windows of the engine's time series. Files in a temporary folder.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/fio_log.h"
#include "analyzer/rate_series.h"
#include "analyzer/window.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * (1 + fabs(b)))

static char folder[] = "/tmp/test_an_series.XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/log", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void write_log(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void columns(void **state)
{
	static const struct {
		const char *what, *text;
		bool both;
		int ret;
		unsigned int columns, direction;
	} cases[] = {
		{"up to 3.17", "1000, 24889, 0, 0\n2000, 23148, 1, 0\n", false, 0, 4, 2},
		{"priority", "1000, 24889, 0, 0, 1\n2000, 23148, 1, 0, 1\n", false, 0, 5, 2},
		{"log_prio", "100, 78, 0, 0, 0x0000\n200, 79, 1, 0, 0x2001\n", false, 0, 5, 2},
		{"offset", "100, 78, 0, 4096, 8192, 0\n200, 79, 1, 4096, 0, 0\n", false, 0, 6, 2},
		{"windows with offset", "100, 78, 0, 0, 0, 0\n200, 79, 1, 0, 0, 0\n", false, 0, 6,
		 2},
		{"mean and maximum", "100, 78, 90, 0, 0, 0\n200, 79, 79, 1, 0, 0\n", false, 0, 6,
		 3},
		{"small mean and maximum, known", "100, 1, 1, 0, 0, 0\n200, 1, 2, 0, 0, 0\n", true,
		 0, 6, 3},
		{"offset and issue time", "100, 78, 2, 4096, 0, 0, 999\n", false, 0, 7, 2},
		{"all", "100, 78, 80, 1, 4096, 0, 0, 999\n", false, 0, 8, 3},
		{"third below the value", "100, 78, 1, 2, 0, 0\n", false, 0, 6, 2},
		{"cannot be told", "100, 1, 1, 1, 0, 0\n", false, -EINVAL, 0, 0},
		{"no direction", "100, 1, 9, 9\n", false, -EINVAL, 0, 0},
		{"too few", "100, 1, 0\n", false, -EINVAL, 0, 0},
		{"histogram", "100, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1\n", false, -EINVAL, 0, 0},
		{"no numbers", "time, value\n", false, -EINVAL, 0, 0},
		{"changing", "100, 1, 0, 0\n200, 1, 0, 0, 0\n", false, -EINVAL, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fio_log_hint hint = {.window_both = cases[i].both};
		struct fio_log_layout l;
		struct report r = {0};

		write_log(cases[i].text);
		print_message("%s\n", cases[i].what);
		assert_int_equal(fio_log_detect(path, &hint, &l, &r), cases[i].ret);
		if (cases[i].ret) {
			assert_true(strlen(r.text) > 0);
			continue;
		}
		assert_int_equal(l.columns, cases[i].columns);
		assert_int_equal(l.direction_column, cases[i].direction);
	}
}

static void windows_and_single_ios(void **state)
{
	struct fio_log_hint none = {0}, known = {.window_msec = 250};
	struct fio_log_layout l;
	struct report r = {0};

	(void)state;
	/* Jitter: the usual distance, by direction, is the window. */
	write_log("502, 9, 0, 0\n502, 9, 1, 0\n1017, 9, 0, 0\n1017, 9, 1, 0\n1518, 9, 0, 0\n"
		  "3518, 9, 0, 0\n4018, 9, 0, 0\n");
	assert_int_equal(fio_log_detect(path, &none, &l, &r), 0);
	assert_false(l.per_io);
	assert_true(l.window_msec > 499 && l.window_msec < 516);
	assert_int_equal(fio_log_detect(path, &known, &l, &r), 0);
	assert_near(l.window_msec, 250.0);
	write_log("1, 1, 0, 4096\n1, 1, 1, 4096\n2, 1, 0, 4096\n");
	assert_int_equal(fio_log_detect(path, &none, &l, &r), 0);
	assert_true(l.per_io);
	/* Exactly one I/O per window is possible, and log_avg_msec says that these are windows. */
	assert_int_equal(fio_log_detect(path, &known, &l, &r), 0);
	assert_false(l.per_io);
	write_log("");
	assert_int_equal(fio_log_detect(path, &none, &l, &r), 0);
	assert_true(l.empty);
}

static int sum_row(const struct fio_log_row *row, void *data)
{
	double *sums = data;

	sums[row->direction] += row->value;
	return row->value == 666 ? -EINTR : 0;
}

static void streaming(void **state)
{
	struct fio_log_hint none = {0};
	struct text_list warnings = {0};
	struct fio_log_layout l;
	struct report r = {0};
	double sums[4] = {0};

	(void)state;
	write_log("1000, 10, 0, 0\r\n2000, 20, 1, 0\r\n3000, 30, 1, 0\n4000, 4");
	assert_int_equal(fio_log_detect(path, &none, &l, &r), 0);
	assert_int_equal(fio_log_stream(path, &l, sum_row, sums, &warnings, &r), 0);
	assert_near(sums[0], 10.0);
	assert_near(sums[1], 50.0);
	assert_int_equal(warnings.nr, 1);
	write_log("1000, 10, 0, 0\n2000, 666, 0, 0\n3000, 30, 1, 0\n");
	assert_int_equal(fio_log_stream(path, &l, sum_row, sums, &warnings, &r), -EINTR);
	assert_int_equal(r.err, 0);
	write_log("1000, 10, 0, 0\n2000, 20, 7, 0\n");
	assert_int_equal(fio_log_stream(path, &l, sum_row, sums, &warnings, &r), -EINVAL);
	assert_non_null(strstr(r.text, "log:2: "));
	text_list_free(&warnings);
}

static void rates_add_up_over_time(void **state)
{
	struct rate_series s = {.step_msec = 1000};

	(void)state;
	/* Two jobs of 100/s whose windows are 500 ms apart; one pauses from 2.5 to 4.5 s. */
	assert_int_equal(rate_series_add(&s, 0, 1000, 100), 0);
	assert_int_equal(rate_series_add(&s, 1000, 2000, 100), 0);
	assert_int_equal(rate_series_add(&s, 500, 1500, 100), 0);
	assert_int_equal(rate_series_add(&s, 1500, 2500, 100), 0);
	assert_int_equal(rate_series_add(&s, 4500, 5500, 100), 0);
	assert_int_equal(s.nr, 6);
	assert_near(rate_series_at(&s, 0), 150.0);
	assert_near(rate_series_at(&s, 1), 200.0);
	assert_near(rate_series_at(&s, 2), 50.0);
	assert_near(rate_series_at(&s, 3), 0.0);
	assert_near(rate_series_at(&s, 4), 50.0);
	assert_near(rate_series_at(&s, 5), 50.0);
	assert_near(rate_series_at(&s, 6), 0.0);
	/* Before the origin, backwards, and absurd times. */
	assert_int_equal(rate_series_add(&s, -500, 500, 10), 0);
	assert_near(rate_series_at(&s, 0), 155.0);
	assert_int_equal(rate_series_add(&s, 5, 5, 10), 0);
	assert_int_equal(rate_series_add(&s, 0, NAN, 10), 0);
	assert_near(rate_series_at(&s, 0), 155.0);
	assert_int_equal(rate_series_add(&s, 0, 1e300, 10), -E2BIG);
	assert_int_equal(rate_series_add(&s, 1e25, 1e25, 10), -E2BIG);
	assert_int_equal(rate_series_add(&s, 0, 1e25, 0), -E2BIG);
	rate_series_free(&s);
}

/* Four intervals of 1 s; the buffer is full at 2.5 s; the job runs from 0.5 to 3.8 s. */
static void make_group(struct vsan_group *g)
{
	static struct vsan_sample samples[] = {
		{.time_msec = 1000,
		 .iops = {100, 50},
		 .bytes_per_sec = {1e6, 5e5},
		 .latency_usec = {10, 20}},
		{.time_msec = 2000,
		 .iops = {200, 50},
		 .bytes_per_sec = {2e6, 5e5},
		 .latency_usec = {20, 20}},
		{.time_msec = 3000, .iops = {0, 0}, .latency_usec = {NAN, NAN}},
		{.time_msec = 4000,
		 .iops = {400, 0},
		 .bytes_per_sec = {4e6, 0},
		 .latency_usec = {40, NAN}},
	};
	static struct vsan_job jobs[] = {{.number = 1, .start_msec = 500, .end_msec = 3800}};

	*g = (struct vsan_group){.samples = samples,
				 .nr_samples = 4,
				 .jobs = jobs,
				 .nr_jobs = 1,
				 .first_full_msec = 2500};
}

static void window_sums(void **state)
{
	struct measure m[METRIC_NR];
	struct vsan_group g;

	(void)state;
	make_group(&g);
	window_measure(&g, 0, 2000, RUN_READ, m);
	assert_near(m[METRIC_IOPS].value, 150.0);
	assert_near(m[METRIC_MBPS].value, 1.5);
	assert_near(m[METRIC_MEAN].value,
		    (100 * 10 + 200 * 20) / 300.0); /* by I/O, not by second */
	assert_non_null(m[METRIC_P50].why);
	/* Half of the second interval and half of the third, in which nothing happened. */
	window_measure(&g, 1500, 2500, RUN_READ, m);
	assert_near(m[METRIC_IOPS].value, 100.0);
	assert_near(m[METRIC_MEAN].value, 20.0);
	window_measure(&g, 0, 2000, PART_TOTAL, m);
	assert_near(m[METRIC_IOPS].value, 200.0);
	assert_near(m[METRIC_MEAN].value, (100 * 10 + 200 * 20 + 100 * 20) / 400.0);
	window_measure(&g, 3000, 4000, RUN_WRITE, m);
	assert_ptr_equal(m[METRIC_IOPS].why, why_no_io);
	window_measure(&g, 5000, 6000, RUN_READ, m);
	assert_ptr_equal(m[METRIC_IOPS].why, why_no_io);
}

static void window_places(void **state)
{
	struct window w;
	struct report r = {0};
	struct vsan_group g;
	double from, to;

	(void)state;
	make_group(&g);
	assert_int_equal(window_parse("1:2.5", &w, &r), 0);
	assert_null(window_resolve(&w, &g, &from, &to));
	assert_near(from, 1000.0);
	assert_near(to, 2500.0);
	assert_int_equal(window_parse(":", &w, &r), 0);
	assert_null(window_resolve(&w, &g, &from, &to));
	assert_near(from, 500.0);
	assert_near(to, 3800.0);
	assert_int_equal(window_parse("before-full", &w, &r), 0);
	assert_null(window_resolve(&w, &g, &from, &to));
	assert_near(from, 500.0);
	assert_near(to, 2500.0);
	assert_int_equal(window_parse("after-full", &w, &r), 0);
	assert_null(window_resolve(&w, &g, &from, &to));
	assert_near(from, 2500.0);
	assert_near(to, 3800.0);
	g.first_full_msec = NAN;
	assert_non_null(window_resolve(&w, &g, &from, &to));
	assert_int_equal(window_parse("before-full", &w, &r), 0);
	assert_null(window_resolve(&w, &g, &from, &to));
	assert_near(to, 3800.0);
	assert_int_equal(window_parse("9:", &w, &r), 0);
	assert_non_null(window_resolve(&w, &g, &from, &to));
	assert_int_equal(window_parse("2:1", &w, &r), -EINVAL);
	g.nr_samples = 0;
	assert_non_null(window_resolve(&w, &g, &from, &to));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),     cmocka_unit_test(windows_and_single_ios),
		cmocka_unit_test(streaming),   cmocka_unit_test(rates_add_up_over_time),
		cmocka_unit_test(window_sums), cmocka_unit_test(window_places),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
