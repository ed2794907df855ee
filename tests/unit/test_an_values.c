/* SPDX-License-Identifier: GPL-2.0-only */
/* Units and texts: sizes, times and versions of fio, bytes of old results, numbers for people. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/fio_job_json.h"
#include "analyzer/fio_value.h"
#include "analyzer/json_text.h"
#include "analyzer/run_files.h"
#include "analyzer/text.h"

static void sizes(void **state)
{
	static const struct {
		const char *s;
		bool ok;
		uint64_t bytes;
	} cases[] = {
		{"4k", true, 4096},      {"4K", true, 4096},
		{"4096B", true, 4096},   {"4096", true, 4096},
		{"1M", true, 1048576},   {"1MiB", true, 1048576},
		{"1mb", true, 1048576},  {"2g", true, 2147483648},
		{"0x1000", true, 4096},  {"3T", true, 3298534883328},
		{"", false, 0},          {"k", false, 0},
		{"10%", false, 0},       {"4kx", false, 0},
		{"-4k", false, 0},       {"99999999999999999999", false, 0},
		{"20000000p", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 0;

		assert_int_equal(fio_size(cases[i].s, &bytes), cases[i].ok);
		if (cases[i].ok)
			assert_int_equal(bytes, cases[i].bytes);
	}
}

static void times(void **state)
{
	double msec;

	(void)state;
	assert_true(fio_time_msec("60", &msec) && msec == 60000);
	assert_true(fio_time_msec("60s", &msec) && msec == 60000);
	assert_true(fio_time_msec("1m", &msec) && msec == 60000);
	assert_true(fio_time_msec("2h", &msec) && msec == 7200000);
	assert_true(fio_time_msec("500ms", &msec) && msec == 500);
	assert_true(fio_time_msec("100us", &msec) && msec > 0.0999 && msec < 0.1001);
	assert_false(fio_time_msec("", &msec));
	assert_false(fio_time_msec("x", &msec));
	assert_false(fio_time_msec("5 parsecs", &msec));
}

static void versions(void **state)
{
	(void)state;
	assert_int_equal(fio_version_number("fio-3.33"), FIO_VERSION(3, 33));
	assert_int_equal(fio_version_number("fio-2.1.4"), FIO_VERSION(2, 1));
	assert_int_equal(fio_version_number("fio-3.42-17-gabcdef"), FIO_VERSION(3, 42));
	assert_int_equal(fio_version_number("3.5"), FIO_VERSION(3, 5));
	assert_int_equal(fio_version_number("unknown"), 0);
	assert_int_equal(fio_version_number(NULL), 0);
	assert_true(FIO_VERSION(3, 2) < FIO_VERSION(3, 16));
}

static uint64_t bytes_of(const char *json, unsigned int version)
{
	json_t *o = json_loads(json, 0, NULL);
	uint64_t bytes;

	assert_non_null(o);
	bytes = fio_job_json_bytes(o, version);
	json_decref(o);
	return bytes;
}

/* 1 MiB in every dialect. */
static void bytes_of_old_results(void **state)
{
	(void)state;
	assert_int_equal(bytes_of("{\"io_bytes\":1048576,\"io_kbytes\":1024}", FIO_VERSION(3, 33)),
			 1048576);
	/* Bandwidth times time tells what io_bytes is, whatever the version says. */
	assert_int_equal(bytes_of("{\"io_bytes\":1024,\"bw\":102,\"runtime\":10000}", 0), 1048576);
	assert_int_equal(
		bytes_of("{\"io_bytes\":1048576,\"bw\":102,\"runtime\":10000}", FIO_VERSION(2, 1)),
		1048576);
	/* Without either, the version. */
	assert_int_equal(bytes_of("{\"io_bytes\":1024}", FIO_VERSION(2, 17)), 1048576);
	assert_int_equal(bytes_of("{\"io_bytes\":1048576}", FIO_VERSION(3, 0)), 1048576);
	assert_int_equal(bytes_of("{\"io_bytes\":-5}", FIO_VERSION(3, 0)), 0);
	assert_int_equal(bytes_of("{}", FIO_VERSION(3, 0)), 0);
}

static void assert_text(struct text *t, const char *expected)
{
	assert_string_equal(t->s, expected);
	text_free(t);
}

static void numbers_for_people(void **state)
{
	struct text t = {0};

	(void)state;
	text_add_number(&t, 1234567.89, 1);
	assert_text(&t, "1,234,567.9");
	text_add_number(&t, 999, 0);
	assert_text(&t, "999");
	text_add_number(&t, -1000, 0);
	assert_text(&t, "-1,000");
	text_add_number(&t, NAN, 0);
	assert_text(&t, "n/a");
	text_add_rounded(&t, 0.1234);
	assert_text(&t, "0.123");
	text_add_rounded(&t, 9.996);
	assert_text(&t, "10.0");
	text_add_rounded(&t, 99.96);
	assert_text(&t, "100");
	text_add_rounded(&t, 12345.6);
	assert_text(&t, "12,346");
	text_add_size(&t, 4096);
	assert_text(&t, "4K");
	text_add_size(&t, 512);
	assert_text(&t, "512");
	text_add_size(&t, 6ull << 30);
	assert_text(&t, "6G");
	text_add_size(&t, 1610612736);
	assert_text(&t, "1.50G");
}

static void clean_text(void **state)
{
	struct text t = {0};

	(void)state;
	text_add_clean(&t, "a\nb\tc\x1b[31m\x7f", 0);
	assert_text(&t, "a b c [31m ");
	text_add_clean(&t, "caf\xe9", 0);
	assert_text(&t, "caf\xef\xbf\xbd");
	/* Overlong, surrogate, cut: none is UTF-8. */
	text_add_clean(&t, "\xc0\xaf|\xed\xa0\x80|\xe6\x97", 0);
	assert_int_equal(text_width(t.s), 9);
	assert_null(strstr(t.s, "\xc0"));
	text_free(&t);
	text_add_clean(&t, "0123456789", 8);
	assert_text(&t, "01234...");
	text_add_clean(&t, "0123456789", 10);
	assert_text(&t, "0123456789");
	/* Characters of two columns are not cut in half; blanks keep the width. */
	text_add_clean(&t, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 5);
	assert_string_equal(t.s, "\xe6\x97\xa5...");
	assert_int_equal(text_width(t.s), 5);
	text_free(&t);
	text_add_clean(&t, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 6);
	assert_int_equal(text_width(t.s), 6);
	text_free(&t);
	/* The mark that turns text around is no character to print. */
	text_add_clean(&t,
		       "a\xe2\x80\xae"
		       "b",
		       0);
	assert_text(&t, "a b");
}

static void names_of_files(void **state)
{
	static const struct {
		const char *name;
		bool ok;
		enum run_file_kind kind;
		const char *prefix;
		unsigned int number;
	} cases[] = {
		{"run_vsan.1.json", true, RUN_FILE_VSAN_JSON, "run", 1},
		{"a_vsan.2_vsan.12.log", true, RUN_FILE_VSAN_LOG, "a_vsan.2", 12},
		{"x_iops.3.log", true, RUN_FILE_LOG, "x", 3},
		{"x_clat.3.log", true, RUN_FILE_LOG, "x", 3},
		{"x_bw.log", true, RUN_FILE_LOG, "x", 0},
		{"x_iops.1.log.host", true, RUN_FILE_LOG, "x", 1},
		{"my_iops_lat.1.log", true, RUN_FILE_LOG, "my_iops", 1},
		{"x_vsan.json", false, RUN_FILE_RESULT, NULL, 0},
		{"x_vsan.0.json", false, RUN_FILE_RESULT, NULL, 0},
		{"x_clat_hist.1.log", false, RUN_FILE_RESULT, NULL, 0},
		{"x_iops.1.log.fz", false, RUN_FILE_RESULT, NULL, 0},
		{"iops.1.log", false, RUN_FILE_RESULT, NULL, 0},
		{"result.json", false, RUN_FILE_RESULT, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_file f = {0};

		assert_int_equal(run_file_parse_name(cases[i].name, &f), cases[i].ok);
		if (!cases[i].ok)
			continue;
		assert_int_equal(f.kind, cases[i].kind);
		assert_string_equal(f.prefix, cases[i].prefix);
		assert_int_equal(f.number, cases[i].number);
		free(f.prefix);
	}
}

static void json_extents(void **state)
{
	static const char text[] = "x { \n\xef\xbb\xbf{ \"a}\\\"\" : { } }\n {\r{\"b\":";
	struct json_extent e;

	(void)state;
	assert_true(json_extent_next(text, sizeof(text) - 1, 0, true, &e));
	assert_int_equal(e.start, 8);
	assert_true(e.whole);
	assert_memory_equal(text + e.end - 3, "} }", 3);
	assert_true(json_extent_next(text, sizeof(text) - 1, e.end, true, &e));
	assert_memory_equal(text + e.start, "{\"b\"", 4);
	assert_false(e.whole);
	assert_false(json_extent_next(text, sizeof(text) - 1, e.end, true, &e));
	assert_true(json_extent_next(text, sizeof(text) - 1, 0, false, &e));
	assert_int_equal(e.start, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(times),
		cmocka_unit_test(versions),
		cmocka_unit_test(bytes_of_old_results),
		cmocka_unit_test(numbers_for_people),
		cmocka_unit_test(clean_text),
		cmocka_unit_test(names_of_files),
		cmocka_unit_test(json_extents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
