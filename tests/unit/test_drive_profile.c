/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drive profiles: what is accepted and what is refused with which words (tests/profiles/), and
 * whether the shipped ones say the truth about themselves.
 *
 * tests/profiles/valid/NAME.ini must load and have the figures in NAME.expected; of invalid/
 * NAME.ini the message must be the file's path, ':' and the text of NAME.expected. A new case is
 * two new files.
 */
#include "engine/drive_profile.h"
#include "tests/support/closed_loop.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define CASES    TEST_SOURCE_DIR "/tests/profiles"
#define PROFILES TEST_SOURCE_DIR "/engine/profiles"
#define MINIMAL  CASES "/valid/minimal.ini"

enum {
	MIN_VALID = 5,
	MIN_INVALID = 55,
	SHIPPED = 8,
};

static struct drive_profile profile; /* large; one test uses it at a time */

static const char *dir_path(const char *dir, const char *name, const char *suffix)
{
	static char path[PATH_MAX];
	const char *dot = strrchr(name, '.');

	snprintf(path, sizeof(path), "%s/%.*s%s", dir, (int)(dot - name), name, suffix);
	return path;
}

static void read_line(const char *path, char *buf, int len)
{
	FILE *f = fopen(path, "r");

	if (!f)
		fail_msg("%s is missing", path);
	assert_non_null(fgets(buf, len, f));
	buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* Call @check for each .ini in @dir; returns how many there are. */
static unsigned int each_ini(const char *dir, void (*check)(const char *dir, const char *name))
{
	const struct dirent *e;
	unsigned int n = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (!dot || strcmp(dot, ".ini") != 0)
			continue;
		check(dir, e->d_name);
		n++;
	}
	closedir(d);
	return n;
}

static void check_invalid(const char *dir, const char *name)
{
	char expected[1024], message[PATH_MAX + 1024 + 2];
	struct report r = {0};
	const char *path;
	int err;

	read_line(dir_path(dir, name, ".expected"), expected, sizeof(expected));
	path = dir_path(dir, name, ".ini");
	snprintf(message, sizeof(message), "%s:%s", path, expected);
	err = drive_profile_load(path, &profile, &r);
	if (err != -EINVAL)
		fail_msg("%s: returns %d", name, err);
	assert_int_equal(r.err, -EINVAL);
	assert_string_equal(r.text, message);
}

static void test_invalid_files_are_refused_with_a_reason(void **state)
{
	(void)state;
	assert_true(each_ini(CASES "/invalid", check_invalid) >= MIN_INVALID);
}

static void check_valid(const char *dir, const char *name)
{
	struct report r = {0};
	char line[256], figure[32];
	unsigned int compared = 0;
	double value;
	FILE *f;

	if (drive_profile_load(dir_path(dir, name, ".ini"), &profile, &r))
		fail_msg("%s", r.text);
	assert_int_equal(strlen(profile.name), strlen(name) - 4);
	assert_memory_equal(profile.name, name, strlen(profile.name));
	f = fopen(dir_path(dir, name, ".expected"), "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		bool found = false;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%31s = %lf", figure, &value), 2);
		for (int i = 0; i < FIG_NR; i++) {
			if (strcmp(figure_rule(i)->name, figure) != 0)
				continue;
			found = true;
			compared++;
			if (fabs(profile.figures[i].value - value) > 1e-9 * value)
				fail_msg("%s: %s is %.10g", name, figure, profile.figures[i].value);
		}
		assert_true(found);
	}
	fclose(f);
	assert_true(compared >= 5);
}

static void test_valid_files_are_understood(void **state)
{
	(void)state;
	assert_true(each_ini(CASES "/valid", check_valid) >= MIN_VALID);
}

static void test_text_marks_and_sources(void **state)
{
	struct report r = {0};

	(void)state;
	assert_int_equal(drive_profile_load(CASES "/valid/all-of-it.ini", &profile, &r), 0);
	assert_string_equal(profile.title, "Everything that can be said");
	assert_string_equal(profile.band, "between this and that");
	assert_string_equal(profile.note, "line one line two");
	assert_true(profile.mix_calibrated);
	assert_false(profile.volatile_cache);
	assert_int_equal(profile.figures[FIG_WRITE_STEADY].mark, MARK_MEASURED);
	assert_int_equal(profile.figures[FIG_WRITE_QD1].mark, MARK_RECALLED);
	assert_int_equal(profile.figures[FIG_SEQ_READ].mark, MARK_DATASHEET);
	assert_string_equal(profile.figures[FIG_WRITE_STEADY].source,
			    "a lab [LAB], and a sheet [S-1]");
	assert_string_equal(profile.figures[FIG_SEQ_WRITE].source, "[S-1]");
	assert_int_equal(profile.nr_sources, 2);
	assert_string_equal(profile.sources[0].text, "A lab, a test, a page");
	assert_int_equal(drive_profile_certainty(&profile), MARK_ESTIMATED);
	/* the parameters of the model are the figures */
	assert_int_equal(profile.params.K, 30);
	assert_true(profile.params.half_duplex);
	assert_true(profile.params.slc_bytes == 1e10 && profile.params.slc_bw == 2000);
	assert_int_equal(profile.params.capacity, 100000000000u);
}

static void test_without_slc_its_rate_is_the_native_one(void **state)
{
	struct report r = {0};

	(void)state;
	assert_int_equal(drive_profile_load(MINIMAL, &profile, &r), 0);
	assert_false(profile.figures[FIG_SLC_BW].given);
	assert_true(profile.params.slc_bw == profile.params.nat);
}

static void test_decimal_point_in_any_locale(void **state)
{
	static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
	struct report r = {0};
	bool set = false;

	(void)state;
	for (size_t i = 0; !set && i < sizeof(locales) / sizeof(*locales); i++)
		set = setlocale(LC_NUMERIC, locales[i]) != NULL;
	if (!set) {
		print_message("no locale with a decimal comma is installed: skipped\n");
		skip();
	}
	assert_int_equal(drive_profile_load(MINIMAL, &profile, &r), 0);
	setlocale(LC_NUMERIC, "C");
	assert_true(profile.params.ctl_r == 2.5);
}

/* ---- shipped profiles ------------------------------------------------------------------------ */

/* Within @percent, but for figures that the profile does not give. */
static void expect(enum figure_id id, double modelled, double percent)
{
	double v = profile.figures[id].value;

	if (profile.figures[id].given && fabs(modelled / v - 1) > percent / 100)
		fail_msg("%s: %s = %g, but the model gives %g", profile.name, figure_rule(id)->name,
			 v, modelled);
}

static struct loop_result load_with(enum drive_condition cond, double reads, uint32_t qd)
{
	const struct workload w = {
		.qd = qd, .size = 4096, .read_share = reads, .ios = 120000, .warm = 0.5};

	return closed_loop_run(&profile.params, cond, 1, &w);
}

static struct loop_result stream_with(double reads)
{
	const struct workload w = {.qd = 32,
				   .size = 131072,
				   .read_share = reads,
				   .sequential = true,
				   .ios = 20000,
				   .warm = 0.5};

	return closed_loop_run(&profile.params, DRIVE_STEADY, 1, &w);
}

static void check_shipped(const char *dir, const char *name)
{
	struct report r = {0};

	if (drive_profile_load(dir_path(dir, name, ".ini"), &profile, &r))
		fail_msg("%s", r.text);
	/* a profile's own key figures, which its parameters were computed from */
	expect(FIG_READ_QD1, load_with(DRIVE_STEADY, 1, 1).read_mean_us, 1);
	expect(FIG_READ_MAX, load_with(DRIVE_STEADY, 1, 256).iops, 1);
	expect(FIG_WRITE_QD1, load_with(DRIVE_FRESH, 0, 1).write_mean_us, 1);
	expect(FIG_WRITE_STEADY, load_with(DRIVE_STEADY, 0, 128).iops, 1);
	expect(FIG_WRITE_FRESH, load_with(DRIVE_FRESH, 0, 32).iops, 1);
	/* the P4800X's sequential rates carry 2% for the overhead of the test that measured them */
	expect(FIG_SEQ_READ, stream_with(1).mbs, 3);
	expect(FIG_SEQ_WRITE, stream_with(0).mbs, 3);
	for (int i = 0; i < FIG_NR; i++)
		if (profile.figures[i].given)
			assert_true(strlen(profile.figures[i].source) >= 4);
	/* nothing is called measured, or read in a data sheet, without saying where */
	for (int i = FIG_READ_QD1; i <= FIG_SEQ_WRITE; i++)
		if (profile.figures[i].given && profile.figures[i].mark <= MARK_DATASHEET &&
		    !strchr(profile.figures[i].source, '['))
			fail_msg("%s: %s names no source", profile.name, figure_rule(i)->name);
}

static void test_shipped_profiles_reproduce_their_figures(void **state)
{
	(void)state;
	assert_int_equal(each_ini(PROFILES, check_shipped), SHIPPED);
}

/* ---- robustness ------------------------------------------------------------------------------ */

static char work_dir[] = "/tmp/test_drive_profile.XXXXXX";
static char damaged_path[sizeof(work_dir) + 16];

static int make_work_dir(void **state)
{
	(void)state;
	if (!mkdtemp(work_dir))
		return -1;
	snprintf(damaged_path, sizeof(damaged_path), "%s/damaged.ini", work_dir);
	return 0;
}

static int remove_work_dir(void **state)
{
	(void)state;
	unlink(damaged_path);
	return rmdir(work_dir);
}

static void write_damaged(const char *data, size_t len)
{
	FILE *f = fopen(damaged_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

/* Whatever is in the file: it loads, or it is refused with one line; it never breaks. */
static void test_damaged_files(void **state)
{
	static const char alphabet[] = "0123456789.=|[]#;\n\t -euinfMBGTKabc\r\xff\x01";
	char text[8192], damaged[8192];
	size_t n;
	FILE *f = fopen(CASES "/valid/all-of-it.ini", "r");
	uint64_t s = 88172645463325252u;
	unsigned int refused = 0;

	(void)state;
	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	for (int round = 0; round < 3000; round++) {
		struct report r = {0};
		size_t len = n;
		int err;

		memcpy(damaged, text, n);
		for (int hit = 0; hit < 1 + round % 4; hit++) {
			s ^= s << 13;
			s ^= s >> 7;
			s ^= s << 17;
			if (s % 8 == 0)
				len = (size_t)(s >> 8) % n;
			else
				damaged[(s >> 8) % n] =
					alphabet[(s >> 40) % (sizeof(alphabet) - 1)];
		}
		write_damaged(damaged, len);
		err = drive_profile_load(damaged_path, &profile, &r);
		if (!err) {
			assert_int_equal(r.err, 0);
			assert_true(profile.params.K >= 1 && profile.params.K <= FLASH_MAX_UNITS);
			continue;
		}
		refused++;
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(r.text, "damaged.ini:"));
	}
	assert_true(refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invalid_files_are_refused_with_a_reason),
		cmocka_unit_test(test_valid_files_are_understood),
		cmocka_unit_test(test_text_marks_and_sources),
		cmocka_unit_test(test_without_slc_its_rate_is_the_native_one),
		cmocka_unit_test(test_decimal_point_in_any_locale),
		cmocka_unit_test(test_shipped_profiles_reproduce_their_figures),
		cmocka_unit_test(test_damaged_files),
	};

	return cmocka_run_group_tests(tests, make_work_dir, remove_work_dir);
}
