/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a job's options, as fio's parser leaves them, to a disk group's: lists of devices, sizes in
 * percent, what a verifying job needs, and which option is named when two jobs disagree. No device is
 * opened.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/engine_options.h"

/* fio stores N% so. */
#define PERCENT(n) (-1ull - (n))

struct list {
	char *name[DG_MAX_CAPACITY];
	int n;
};

static struct list split(const char *text)
{
	struct list l = {{NULL}, 0};

	l.n = device_list_split(text, l.name, DG_MAX_CAPACITY);
	return l;
}

static void expect_list(const char *text, int n, const char *const *want)
{
	struct list l = split(text);

	assert_int_equal(l.n, n);
	for (int i = 0; i < n && i < (int)DG_MAX_CAPACITY; i++)
		assert_string_equal(l.name[i], want[i]);
	device_list_free(l.name, DG_MAX_CAPACITY);
	for (unsigned int i = 0; i < DG_MAX_CAPACITY; i++)
		assert_null(l.name[i]);
}

static void a_list_is_split_at_colons(void **state)
{
	static const char *const one[] = {"/dev/sdb"};
	static const char *const three[] = {"a", "@memory", "/dev/disk/by-id/x"};

	(void)state;
	expect_list("/dev/sdb", 1, one);
	expect_list("a:@memory:/dev/disk/by-id/x", 3, three);
}

static void an_escaped_colon_is_part_of_the_name(void **state)
{
	static const char *const pci[] = {"/dev/disk/by-path/pci-0000:01:00.0", "b"};
	static const char *const slash[] = {"a\\b", "c\\"};

	(void)state;
	expect_list("/dev/disk/by-path/pci-0000\\:01\\:00.0:b", 2, pci);
	/* Only before a colon is a backslash special. */
	expect_list("a\\b:c\\", 2, slash);
}

static void empty_names_are_kept_to_be_complained_about(void **state)
{
	static const char *const between[] = {"a", "", "b"};
	static const char *const last[] = {"a", ""};

	(void)state;
	expect_list("a::b", 3, between);
	expect_list("a:", 2, last);
}

static void names_above_the_maximum_are_counted(void **state)
{
	static const char *const seven[] = {"1", "2", "3", "4", "5", "6", "7"};

	(void)state;
	expect_list("1:2:3:4:5:6:7", 7, seven);
	expect_list("1:2:3:4:5:6:7:8:9", 9, seven);
}

/* ---- to a group's options ----------------------------------------------------------------------- */

/* What fio's parser leaves when nothing but the devices is given; the defaults of the option table. */
static struct engine_options plain(char *cache, char *capacity)
{
	return (struct engine_options){
		.cache_device = cache,
		.capacity_devices = capacity,
		.drive_seed = 1,
		.stripe_width = 1,
		.destage_start = 30,
		.destage_unthrottle = 70,
		.destage_sleep = 10000,
		.destage_batch = 1 << 20,
		.destage_depth = 8,
		.congestion_ssd_low = 80,
		.congestion_ssd_high = 98,
		.congestion_delay = 50,
		.congestion_tau = 16,
		.vsan_log_msec = 500,
	};
}

struct converted {
	struct dg_options o;
	char *list[DG_MAX_CAPACITY];
	struct report r;
	int err;
};

static void convert(struct converted *c, const struct engine_options *e, bool verifies)
{
	memset(c, 0, sizeof(*c));
	c->err = engine_options_to_group(e, verifies, &c->o, c->list, &c->r);
}

static void drop(struct converted *c)
{
	device_list_free(c->list, DG_MAX_CAPACITY);
}

static void expect_refused(const struct engine_options *e, bool verifies, const char *text)
{
	struct converted c;

	convert(&c, e, verifies);
	assert_int_equal(c.err, -EINVAL);
	if (!strstr(c.r.text, text))
		fail_msg("'%s' does not say '%s'", c.r.text, text);
	assert_null(strchr(c.r.text, '\n'));
	drop(&c);
}

static void defaults_are_those_of_the_core(void **state)
{
	struct engine_options e = plain("c", "x:y");
	struct dg_options d;
	struct converted c;

	(void)state;
	convert(&c, &e, false);
	disk_group_options_default(&d);
	assert_int_equal(c.err, 0);
	assert_string_equal(c.o.cache, "c");
	assert_int_equal(c.o.ncapacity, 2);
	assert_string_equal(c.o.capacity[1], "y");
	/* Said twice, in fio's option table (for the help) and in the core: they must agree. */
	assert_true(c.o.destage_start == d.destage_start);
	assert_true(c.o.destage_unthrottle == d.destage_unthrottle);
	assert_int_equal(c.o.destage_sleep_ns, d.destage_sleep_ns);
	assert_int_equal(c.o.destage_batch, d.destage_batch);
	assert_int_equal(c.o.destage_depth, d.destage_depth);
	assert_true(c.o.congestion_ssd_low == d.congestion_ssd_low);
	assert_true(c.o.congestion_ssd_high == d.congestion_ssd_high);
	assert_true(c.o.congestion_delay_us == d.congestion_delay_us);
	assert_true(c.o.congestion_tau == d.congestion_tau);
	assert_int_equal(c.o.stripe_width, d.stripe_width);
	assert_int_equal(c.o.drive_seed, d.drive_seed);
	assert_int_equal(c.o.page_allocation, d.page_allocation);
	assert_int_equal(c.o.durability, d.durability);
	assert_int_equal(c.o.format, d.format);
	assert_int_equal(c.o.drain, d.drain);
	assert_int_equal(c.o.target, d.target);
	drop(&c);
}

static void every_option_arrives(void **state)
{
	struct engine_options e = plain("@a", "@b");
	struct converted c;

	(void)state;
	e.cache_size = 1 << 26;
	e.capacity_size = 1 << 27;
	e.file_prepare = FILE_PREPARE_SPARSE;
	e.cache_fresh = 1;
	e.capacity_fresh = 1;
	e.drive_data = DRIVE_DATA_MEMORY;
	e.drive_seed = 77;
	e.prefilled = DG_PREFILLED_BUFFER;
	e.write_buffer_size = 1 << 25;
	e.buckets = 5;
	e.page_allocation = DG_PAGES_CONTIGUOUS;
	e.stripe_width = 3;
	e.destage_start = 11;
	e.destage_unthrottle = 22;
	e.destage_sleep = 33;
	e.destage_batch = 4096;
	e.destage_depth = 44;
	e.drain = DG_DRAIN_BOTH;
	e.durability = DG_DURABLE_FUA;
	e.format = DG_FORMAT_NEVER;
	e.allow_overwrite = 1;
	e.target = DG_TARGET_CAPACITY;
	e.congestion_ssd_low = 55;
	e.congestion_ssd_high = 66;
	e.congestion_delay = 88;
	e.congestion_tau = 99;
	convert(&c, &e, false);
	assert_int_equal(c.err, 0);
	assert_int_equal(c.o.cache_size, 1 << 26);
	assert_int_equal(c.o.capacity_size, 1 << 27);
	assert_int_equal(c.o.file_prepare, FILE_PREPARE_SPARSE);
	assert_true(c.o.cache_fresh);
	assert_true(c.o.capacity_fresh);
	assert_true(c.o.drive_data);
	assert_int_equal(c.o.drive_seed, 77);
	assert_int_equal(c.o.prefilled, DG_PREFILLED_BUFFER);
	assert_int_equal(c.o.write_buffer_size, 1 << 25);
	assert_true(c.o.write_buffer_pct == 0);
	assert_int_equal(c.o.buckets, 5);
	assert_int_equal(c.o.page_allocation, DG_PAGES_CONTIGUOUS);
	assert_int_equal(c.o.stripe_width, 3);
	assert_true(c.o.destage_start == 11);
	assert_true(c.o.destage_unthrottle == 22);
	assert_int_equal(c.o.destage_sleep_ns, 33000);
	assert_int_equal(c.o.destage_batch, 4096);
	assert_int_equal(c.o.destage_depth, 44);
	assert_int_equal(c.o.drain, DG_DRAIN_BOTH);
	assert_int_equal(c.o.durability, DG_DURABLE_FUA);
	assert_int_equal(c.o.format, DG_FORMAT_NEVER);
	assert_true(c.o.allow_overwrite);
	assert_int_equal(c.o.target, DG_TARGET_CAPACITY);
	assert_true(c.o.congestion_ssd_low == 55);
	assert_true(c.o.congestion_ssd_high == 66);
	assert_true(c.o.congestion_delay_us == 88);
	assert_true(c.o.congestion_tau == 99);
	drop(&c);
}

static void the_write_buffer_may_be_a_percentage(void **state)
{
	struct engine_options e = plain("c", "x");
	struct converted c;

	(void)state;
	for (unsigned int n = 1; n <= 100; n += 33) {
		e.write_buffer_size = PERCENT(n);
		convert(&c, &e, false);
		assert_int_equal(c.err, 0);
		assert_true(c.o.write_buffer_pct == n);
		assert_int_equal(c.o.write_buffer_size, 0);
		drop(&c);
	}
	e.write_buffer_size = PERCENT(0);
	expect_refused(&e, false, "write_buffer_size=0%");
}

static void a_device_size_may_not(void **state)
{
	struct engine_options e = plain("c", "x");

	(void)state;
	e.cache_size = PERCENT(50);
	expect_refused(&e, false, "cache_size: ");
	e.cache_size = 0;
	e.capacity_size = PERCENT(50);
	expect_refused(&e, false, "capacity_size: ");
}

static void missing_and_too_many_devices_are_named(void **state)
{
	struct engine_options e = plain(NULL, "x");

	(void)state;
	expect_refused(&e, false, "cache_device is missing");
	e = plain("", "x");
	expect_refused(&e, false, "cache_device is missing");
	e = plain("c", NULL);
	expect_refused(&e, false, "capacity_devices is missing");
	e = plain("c", "");
	expect_refused(&e, false, "capacity_devices is missing");
	e = plain("c", "a::b");
	expect_refused(&e, false, "device 2 of the list is empty");
	e = plain("c", "1:2:3:4:5:6:7:8");
	expect_refused(&e, false, "8 devices are given");
}

/* ---- data and verify ---------------------------------------------------------------------------- */

static void drives_keep_data_only_when_a_job_verifies(void **state)
{
	struct engine_options e = plain("@a", "@b");
	struct converted c;

	(void)state;
	for (int verifies = 0; verifies < 2; verifies++) {
		convert(&c, &e, verifies);
		assert_int_equal(c.err, 0);
		assert_int_equal(c.o.drive_data, verifies);
		drop(&c);
	}
	e.drive_data = DRIVE_DATA_MEMORY;
	convert(&c, &e, false);
	assert_true(c.o.drive_data);
	drop(&c);
}

static void verify_needs_data(void **state)
{
	struct engine_options e = plain("@a", "@memory");
	struct converted c;

	(void)state;
	e.drive_data = DRIVE_DATA_NONE;
	expect_refused(&e, true, "drive_data=none");
	e.cache_device = "@memory";
	e.capacity_devices = "@memory:@b";
	expect_refused(&e, true, "drive_data=none");
	/* What is no model always has its data. */
	e.capacity_devices = "@memory:file";
	convert(&c, &e, true);
	assert_int_equal(c.err, 0);
	drop(&c);
}

static void prefilled_is_for_what_has_no_data(void **state)
{
	struct engine_options e = plain("@memory", "@b:@memory");
	struct converted c;

	(void)state;
	e.prefilled = DG_PREFILLED_CAPACITY;
	convert(&c, &e, false);
	assert_int_equal(c.err, 0);
	drop(&c);
	expect_refused(&e, true, "prefilled: ");
	e.capacity_devices = "@b:file";
	expect_refused(&e, false, "prefilled: only for modelled and memory devices, not file");
	e.cache_device = "/dev/x";
	expect_refused(&e, false, "prefilled: only for modelled and memory devices, not /dev/x");
}

/* ---- as text ------------------------------------------------------------------------------------ */

static const char *value_of(const struct option_text *t, unsigned int n, const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(t[i].name, name))
			return t[i].value;
	fail_msg("no option %s in the text", name);
	return NULL;
}

static void effective_options_read_as_in_a_job_file(void **state)
{
	struct engine_options e = plain("@a", "@b:@c");
	struct option_text t[ENGINE_OPTIONS_MAX];
	unsigned int n;

	(void)state;
	e.write_buffer_size = PERCENT(40);
	e.page_allocation = DG_PAGES_CONTIGUOUS;
	e.drain = DG_DRAIN_END;
	e.write_vsan_log = "run";
	n = engine_options_text(&e, false, t);
	assert_in_range(n, 1, ENGINE_OPTIONS_MAX);
	assert_string_equal(value_of(t, n, "cache_device"), "@a");
	assert_string_equal(value_of(t, n, "capacity_devices"), "@b:@c");
	assert_string_equal(value_of(t, n, "write_buffer_size"), "40%");
	assert_string_equal(value_of(t, n, "page_allocation"), "contiguous");
	assert_string_equal(value_of(t, n, "drain"), "end");
	assert_string_equal(value_of(t, n, "destage_sleep"), "10000us");
	assert_string_equal(value_of(t, n, "destage_start"), "30%");
	assert_string_equal(value_of(t, n, "durability"), "write");
	assert_string_equal(value_of(t, n, "cache_condition"), "steady");
	assert_string_equal(value_of(t, n, "write_vsan_log"), "run");
	/* What a default came to, not the word for it. */
	assert_string_equal(value_of(t, n, "drive_data"), "none");
	n = engine_options_text(&e, true, t);
	assert_string_equal(value_of(t, n, "drive_data"), "memory");
}

/* The name of the one option that differs from the plain ones after a change. */
static void expect_difference(const struct engine_options *changed, const char *name)
{
	struct engine_options e = plain("@a", "@b");
	struct option_text a[ENGINE_OPTIONS_MAX], b[ENGINE_OPTIONS_MAX];
	unsigned int n = engine_options_text(&e, false, a);
	const struct option_text *d;

	assert_int_equal(engine_options_text(changed, false, b), n);
	d = engine_options_differ(a, b, n);
	if (!name) {
		assert_null(d);
		return;
	}
	assert_non_null(d);
	assert_string_equal(d->name, name);
	/* Nothing else differs: the rest of both lists is alike. */
	assert_null(engine_options_differ(d + 1, b + (d - a) + 1, n - (unsigned int)(d - a) - 1));
}

static void a_difference_is_named(void **state)
{
#define DIFFERENCE(member, v, option)                        \
	do {                                                 \
		struct engine_options e = plain("@a", "@b"); \
		e.member = (v);                              \
		expect_difference(&e, option);               \
	} while (0)
	(void)state;
	DIFFERENCE(buckets, 0, NULL);
	DIFFERENCE(cache_device, "@c", "cache_device");
	DIFFERENCE(capacity_devices, "@b:@b", "capacity_devices");
	DIFFERENCE(cache_size, 4096, "cache_size");
	DIFFERENCE(capacity_size, 4096, "capacity_size");
	DIFFERENCE(file_prepare, FILE_PREPARE_FULL, "file_prepare");
	DIFFERENCE(cache_fresh, 1, "cache_condition");
	DIFFERENCE(capacity_fresh, 1, "capacity_condition");
	DIFFERENCE(drive_data, DRIVE_DATA_MEMORY, "drive_data");
	DIFFERENCE(drive_seed, 2, "drive_seed");
	DIFFERENCE(prefilled, DG_PREFILLED_BUFFER, "prefilled");
	DIFFERENCE(write_buffer_size, PERCENT(50), "write_buffer_size");
	DIFFERENCE(buckets, 9, "buckets");
	DIFFERENCE(page_allocation, DG_PAGES_CONTIGUOUS, "page_allocation");
	DIFFERENCE(stripe_width, 2, "stripe_width");
	DIFFERENCE(destage_start, 31, "destage_start");
	DIFFERENCE(destage_unthrottle, 71, "destage_unthrottle");
	DIFFERENCE(destage_sleep, 1, "destage_sleep");
	DIFFERENCE(destage_batch, 4096, "destage_batch");
	DIFFERENCE(destage_depth, 9, "destage_depth");
	DIFFERENCE(drain, DG_DRAIN_BOTH, "drain");
	DIFFERENCE(durability, DG_DURABLE_FUA, "durability");
	DIFFERENCE(format, DG_FORMAT_NEVER, "format");
	DIFFERENCE(allow_overwrite, 1, "allow_overwrite");
	DIFFERENCE(target, DG_TARGET_CAPACITY, "target");
	DIFFERENCE(congestion_ssd_low, 1, "congestion_ssd_low");
	DIFFERENCE(congestion_ssd_high, 1, "congestion_ssd_high");
	DIFFERENCE(congestion_delay, 1, "congestion_delay");
	DIFFERENCE(congestion_tau, 1, "congestion_tau");
	DIFFERENCE(write_vsan_log, "x", "write_vsan_log");
	DIFFERENCE(vsan_log_msec, 1, "vsan_log_msec");
	DIFFERENCE(dry_run, 1, "dry_run");
#undef DIFFERENCE
}

/* Seven long paths are more than a short buffer holds: a difference at the end must not get lost. */
static void long_lists_are_compared_to_their_end(void **state)
{
	struct engine_options a, b;
	struct option_text ta[ENGINE_OPTIONS_MAX], tb[ENGINE_OPTIONS_MAX];
	const struct option_text *d;
	char one[1200], two[1200];
	unsigned int n;

	(void)state;
	memset(one, 'x', sizeof(one));
	for (size_t i = 150; i < sizeof(one); i += 170)
		one[i] = ':';
	one[sizeof(one) - 1] = '\0';
	memcpy(two, one, sizeof(two));
	two[sizeof(two) - 2] = 'y';
	a = plain("c", one);
	b = plain("c", two);
	n = engine_options_text(&a, false, ta);
	engine_options_text(&b, false, tb);
	d = engine_options_differ(ta, tb, n);
	assert_non_null(d);
	assert_string_equal(d->name, "capacity_devices");
}

static void what_cannot_be_compared_whole_is_refused(void **state)
{
	static char name[OPTION_VALUE_MAX + 1];
	struct engine_options e = plain("c", name);
	struct converted c;

	(void)state;
	memset(name, 'x', OPTION_VALUE_MAX);
	convert(&c, &e, false);
	assert_int_equal(c.err, -ENAMETOOLONG);
	assert_non_null(strstr(c.r.text, "capacity_devices: longer than"));
	drop(&c);
	name[OPTION_VALUE_MAX - 1] = '\0';
	convert(&c, &e, false);
	assert_int_equal(c.err, 0);
	drop(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_split_at_colons),
		cmocka_unit_test(an_escaped_colon_is_part_of_the_name),
		cmocka_unit_test(empty_names_are_kept_to_be_complained_about),
		cmocka_unit_test(names_above_the_maximum_are_counted),
		cmocka_unit_test(defaults_are_those_of_the_core),
		cmocka_unit_test(every_option_arrives),
		cmocka_unit_test(the_write_buffer_may_be_a_percentage),
		cmocka_unit_test(a_device_size_may_not),
		cmocka_unit_test(missing_and_too_many_devices_are_named),
		cmocka_unit_test(drives_keep_data_only_when_a_job_verifies),
		cmocka_unit_test(verify_needs_data),
		cmocka_unit_test(prefilled_is_for_what_has_no_data),
		cmocka_unit_test(effective_options_read_as_in_a_job_file),
		cmocka_unit_test(a_difference_is_named),
		cmocka_unit_test(long_lists_are_compared_to_their_end),
		cmocka_unit_test(what_cannot_be_compared_whole_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
