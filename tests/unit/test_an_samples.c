/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads results that other people published, from the folder in FIO_VSAN_SAMPLES; skipped without
 * it. What must come out was read off the files by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/fio_json.h"
#include "analyzer/fio_log.h"
#include "analyzer/measure.h"

struct sample {
	const char *file;
	const char *version;
	size_t nr_jobs;
	size_t job;
	int direction;
	double iops, mbps, mean_us, p99_us;
};

static const struct sample samples[] = {
	{"pkb-fio-2.1.4.json", "fio-2.1.4", 5, 0, RUN_WRITE, 133, 69.756, 477734.84, 823296},
	{"fioplotdata-fio-3.1-dup-keys.json", "fio-3.1", 1, 0, RUN_READ, 7539.1076, 30.880,
	 116.4138, 162.816},
	{"vc-fio-3.13.txt", "fio-3.13", 1, 0, RUN_READ, 35516.055, 145.474, 7842.8, 67633.152},
	{"gcsfuse-fio-3.30-bad-format.json", "fio-3.30", 1, 0, RUN_READ, 95.254563, 99.883,
	 417753.9, 893386.752},
};

static void published_results(void **state)
{
	const char *folder = getenv("FIO_VSAN_SAMPLES");

	(void)state;
	if (!folder)
		skip();
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct measure m[METRIC_NR];
		struct run run = {0};
		struct report r = {0};
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, s->file);
		print_message("%s\n", s->file);
		assert_int_equal(fio_json_read(path, &run, &r), 0);
		assert_string_equal(run.fio_version, s->version);
		assert_int_equal(run.nr_jobs, s->nr_jobs);
		measure_jobs(&run, s->job, 1, s->direction, m);
		assert_true(fabs(m[METRIC_IOPS].value / s->iops - 1) < 0.001);
		assert_true(fabs(m[METRIC_MBPS].value / s->mbps - 1) < 0.001);
		assert_true(fabs(m[METRIC_MEAN].value / s->mean_us - 1) < 0.001);
		assert_true(fabs(m[METRIC_P99].value / s->p99_us - 1) < 0.001);
		run_free(&run);
	}
}

static void published_logs(void **state)
{
	static const struct {
		const char *file;
		unsigned int columns;
		double window_low, window_high;
	} logs[] = {
		{"ceph-fio-2.2.10_bw.log", 4, 400, 600},
		{"pbench-fio-3.7_iops.1.log", 4, 900, 1100},
		{"selfmade-fio-3.33_clat-prio-offset.log", 6, 90, 110},
	};
	const char *folder = getenv("FIO_VSAN_SAMPLES");

	(void)state;
	if (!folder)
		skip();
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		struct fio_log_hint none = {0};
		struct fio_log_layout l;
		struct report r = {0};
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, logs[i].file);
		print_message("%s\n", logs[i].file);
		assert_int_equal(fio_log_detect(path, &none, &l, &r), 0);
		assert_int_equal(l.columns, logs[i].columns);
		assert_int_equal(l.direction_column, 2);
		assert_true(l.window_msec >= logs[i].window_low &&
			    l.window_msec <= logs[i].window_high);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_results),
		cmocka_unit_test(published_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
