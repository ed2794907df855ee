/* SPDX-License-Identifier: GPL-2.0-only */
/* How drive profiles are found by name or path, suggested, listed and printed. */
#include "engine/drive_catalog.h"
#include "engine/drive_profile.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define CASES   TEST_SOURCE_DIR "/tests/profiles"
#define MINIMAL CASES "/valid/minimal.ini"

enum {
	SHIPPED = 8,
};

static struct drive_profile profile; /* large; one test uses it at a time */

static char work_dir[] = "/tmp/test_drive_catalog.XXXXXX";

static int make_work_dir(void **state)
{
	(void)state;
	unsetenv(DRIVE_PROFILE_ENV);
	return mkdtemp(work_dir) ? 0 : -1;
}

static void remove_files(const char *dir)
{
	const struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static int remove_work_dir(void **state)
{
	(void)state;
	remove_files(work_dir);
	return rmdir(work_dir);
}

static int reset(void **state)
{
	(void)state;
	remove_files(work_dir);
	return unsetenv(DRIVE_PROFILE_ENV);
}

static const char *in_work_dir(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", work_dir, name);
	return path;
}

static void write_file(const char *name, const char *data, size_t len)
{
	FILE *f = fopen(in_work_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static size_t read_file(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, len, f);
	fclose(f);
	return n;
}

static void copy_minimal(const char *name, const char *title)
{
	char text[8192], out[8192 + 128];
	size_t n = read_file(MINIMAL, text, sizeof(text) - 1);
	char *at;

	text[n] = '\0';
	at = strstr(text, "Minimal drive");
	assert_non_null(at);
	snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, title,
		 at + strlen("Minimal drive"));
	write_file(name, out, strlen(out));
}

static void test_a_name_is_found(void **state)
{
	struct report r = {0};

	(void)state;
	assert_int_equal(drive_profile_load("intel-p4600-1.6tb", &profile, &r), 0);
	assert_string_equal(profile.name, "intel-p4600-1.6tb");
	assert_int_equal(drive_profile_load("@intel-p4600-1.6tb", &profile, &r), 0);
}

static void test_the_environment_comes_first(void **state)
{
	struct report r = {0};

	(void)state;
	copy_minimal("intel-p4600-1.6tb.ini", "Mine");
	setenv(DRIVE_PROFILE_ENV, work_dir, 1);
	assert_int_equal(drive_profile_load("intel-p4600-1.6tb", &profile, &r), 0);
	assert_string_equal(profile.title, "Mine");
	/* what it lacks is still found where it ships */
	assert_int_equal(drive_profile_load("intel-p4610-1.6tb", &profile, &r), 0);
}

static void test_a_wrong_environment_is_named(void **state)
{
	struct report r = {0};

	(void)state;
	setenv(DRIVE_PROFILE_ENV, in_work_dir("absent"), 1);
	assert_int_equal(drive_profile_load("intel-p4600-1.6tb", &profile, &r), -ENOENT);
	assert_non_null(strstr(r.text, DRIVE_PROFILE_ENV));
	assert_non_null(strstr(r.text, "absent"));
}

static void expect_message(const char *name, int err, const char *part)
{
	struct report r = {0};

	assert_int_equal(drive_profile_load(name, &profile, &r), err);
	assert_int_equal(r.err, err);
	if (!strstr(r.text, part))
		fail_msg("'%s' lacks '%s'", r.text, part);
	assert_null(strchr(r.text, '\n'));
}

static void test_unknown_names_get_suggestions(void **state)
{
	char long_name[200];

	(void)state;
	expect_message("intel-p4600-1.6TB", -ENOENT, "did you mean intel-p4600-1.6tb");
	expect_message("p4610", -ENOENT, "did you mean intel-p4610-1.6tb?");
	expect_message("sm961", -ENOENT,
		       "samsung-sm961-512gb, samsung-sm961-512gb-light, samsung-sm961-512gb-worn");
	expect_message("intel-p4660-1.6tb", -ENOENT, "intel-p4600-1.6tb");
	expect_message("quantum-fireball", -ENOENT, "'fio-vsan drives' lists them");
	expect_message("", -EINVAL, "'fio-vsan drives' lists them");
	expect_message("@", -EINVAL, "'fio-vsan drives' lists them");
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	expect_message(long_name, -ENAMETOOLONG, "at most 63");
}

static void test_paths_that_are_no_profile(void **state)
{
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s", in_work_dir("absent.ini"));
	expect_message(path, -ENOENT, "absent.ini: No such file or directory");
	expect_message("absent.ini", -ENOENT, "absent.ini: No such file or directory");
	expect_message(work_dir, -EINVAL, "not a file of text");
	expect_message("/dev/zero", -EINVAL, "not a file of text");
	snprintf(path, sizeof(path), "%s", in_work_dir("pipe.ini"));
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_message(path, -EINVAL, "not a file of text");
	snprintf(path, sizeof(path), "%s", in_work_dir(".ini"));
	write_file(".ini", "", 0);
	expect_message(path, -ENAMETOOLONG, "rename it");
}

static void test_a_report_may_be_omitted(void **state)
{
	(void)state;
	assert_int_equal(drive_profile_load("none-such", &profile, NULL), -ENOENT);
	assert_int_equal(drive_profile_load(CASES "/invalid/wa-below-one.ini", &profile, NULL),
			 -EINVAL);
}

/* ---- list ------------------------------------------------------------------------------------ */

static void test_list_is_sorted_and_complete(void **state)
{
	struct report r = {0};
	struct drive_profile *list;
	size_t n;

	(void)state;
	assert_int_equal(drive_catalog_list(&list, &n, &r), 0);
	assert_int_equal(r.err, 0);
	assert_true(n >= SHIPPED);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(list[i - 1].name, list[i].name) < 0);
	free(list);
}

static void test_list_leaves_out_what_is_broken(void **state)
{
	struct report r = {0};
	struct drive_profile *list;
	size_t n, all;
	bool mine = false;

	(void)state;
	assert_int_equal(drive_catalog_list(&list, &all, &r), 0);
	free(list);
	copy_minimal("my-drive.ini", "Mine");
	write_file("my-broken.ini", "[drive]\ntitle = x\n", 18);
	write_file("notes.txt", "x", 1);
	setenv(DRIVE_PROFILE_ENV, work_dir, 1);
	assert_int_equal(drive_catalog_list(&list, &n, &r), 0);
	assert_non_null(strstr(r.text, "my-broken.ini:2: "));
	assert_int_equal(n, all + 1);
	for (size_t i = 0; i < n; i++)
		mine |= strcmp(list[i].name, "my-drive") == 0;
	assert_true(mine);
	free(list);
}

static char *printed(int (*print)(FILE *), int *ret)
{
	static char *text; /* static only because gcc takes an automatic one for dangling */
	static size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	*ret = print(f);
	fclose(f);
	return text;
}

static int print_list(FILE *f)
{
	return drive_catalog_print(f, true);
}

static int print_profile(FILE *f)
{
	drive_profile_print(f, &profile);
	return 0;
}

static void expect_line_with(const char *text, const char *a, const char *b)
{
	const char *line = strstr(text, a);

	if (!line || !memmem(line, strcspn(line, "\n"), b, strlen(b)))
		fail_msg("no line with '%s' and '%s' in:\n%s", a, b, text);
}

static void test_printed_list(void **state)
{
	char *text;
	int ret;

	(void)state;
	text = printed(print_list, &ret);
	assert_int_equal(ret, 0);
	expect_line_with(text, "intel-p4600-1.6tb", "176.5K IOPS");
	expect_line_with(text, "intel-p4600-1.6tb", "recalled");
	expect_line_with(text, "samsung-sm961-512gb ", "estimated");
	expect_line_with(text, "samsung-sm961-512gb ", "2.2 ms");
	expect_line_with(text, "intel-p4800x-375gb", "500K IOPS");
	assert_non_null(strstr(text, "  band: steady 4K random writes lie between 10K and 60K"));
	free(text);

	write_file("my-broken.ini", "x", 1);
	setenv(DRIVE_PROFILE_ENV, work_dir, 1);
	text = printed(print_list, &ret);
	assert_int_equal(ret, -EINVAL);
	expect_line_with(text, "left out: ", "my-broken.ini:1: ");
	free(text);
}

static void test_printed_profile(void **state)
{
	struct report r = {0};
	char *text;
	int ret;

	(void)state;
	assert_int_equal(drive_profile_load("samsung-870-qvo-1tb", &profile, &r), 0);
	text = printed(print_profile, &ret);
	for (int i = 0; i < FIG_NR; i++)
		if (profile.figures[i].given)
			assert_non_null(strstr(text, profile.figures[i].source));
	expect_line_with(text, "  slc ", "42 GB");
	expect_line_with(text, "  slc ", "measured");
	expect_line_with(text, "  [ATQVO] ", "anandtech.com");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_name_is_found, reset),
		cmocka_unit_test_setup(test_the_environment_comes_first, reset),
		cmocka_unit_test_setup(test_a_wrong_environment_is_named, reset),
		cmocka_unit_test_setup(test_unknown_names_get_suggestions, reset),
		cmocka_unit_test_setup(test_paths_that_are_no_profile, reset),
		cmocka_unit_test_setup(test_a_report_may_be_omitted, reset),
		cmocka_unit_test_setup(test_list_is_sorted_and_complete, reset),
		cmocka_unit_test_setup(test_list_leaves_out_what_is_broken, reset),
		cmocka_unit_test_setup(test_printed_list, reset),
		cmocka_unit_test_setup(test_printed_profile, reset),
	};

	return cmocka_run_group_tests(tests, make_work_dir, remove_work_dir);
}
