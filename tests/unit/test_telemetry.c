/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files and the summary that a run leaves behind, on small groups of memory devices and models: the
 * log's columns and arithmetic, the JSON's totals, names that need quoting, warnings, and what happens
 * when a file cannot be written. No test looks at how long something took.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <jansson.h>

#include "engine/telemetry.h"

#define VOLUME_BYTES (4u << 20)
#define BLOCKS       (VOLUME_BYTES / DG_BLOCK)

/* What the analyzer reads: renaming or moving one breaks it. */
static const char contract[] =
	"row,time,iopsRead,iopsWrite,throughputRead,throughputWrite,latencyAvgRead,latencyAvgWrite,"
	"oio,"
	"iopsWbRead,iopsCapacityRead,iopsNeverWrittenRead,wbFreePct,wbDirtyBytes,bytesOverwritten,"
	"ssdBytesDrained,zeroBytesDrained,currentIncomingRate,currentDrainRate,ssdCongestion,"
	"logCongestion,"
	"memCongestion,iopsDelayPctSched,latencyDelaySched,elevSSDReadLatency,elevMDWriteLatency,"
	"avgElevIoSize,timeToSleepMs,curWBBucket,elevCurBucket,capacityUsed";
enum { TIME = 1, IOPS_READ, IOPS_WRITE, MB_READ, MB_WRITE, WB_FREE = 12, COLUMNS = 31 };

static const struct vclock real_clock;

struct run {
	char dir[64], prefix[80], log[96], json[96];
	struct disk_group *g;
	struct dg_volume *vol;
	struct dg_queue *q;
	struct telemetry *t;
	char *buf;
};

static void memory_options(struct dg_options *o)
{
	disk_group_options_default(o);
	o->cache = "@memory";
	o->capacity[0] = "@memory";
	o->ncapacity = 1;
	o->cache_size = 16u << 20;
	o->capacity_size = 64u << 20;
}

static void run_group(struct run *u, const struct dg_options *o)
{
	struct report r = {0};

	memset(u, 0, sizeof(*u));
	snprintf(u->dir, sizeof(u->dir), "/tmp/vsan-telemetry-XXXXXX");
	assert_non_null(mkdtemp(u->dir));
	snprintf(u->prefix, sizeof(u->prefix), "%s/run", u->dir);
	snprintf(u->log, sizeof(u->log), "%s_vsan.3.log", u->prefix);
	snprintf(u->json, sizeof(u->json), "%s_vsan.3.json", u->prefix);
	u->buf = aligned_alloc(4096, DG_BLOCK);
	assert_non_null(u->buf);
	memset(u->buf, 0x5a, DG_BLOCK);
	if (disk_group_open(&u->g, o, &real_clock, &r) ||
	    disk_group_volume(u->g, "vol", VOLUME_BYTES, &u->vol, &r) ||
	    disk_group_start(u->g, true, &r) || dg_queue_create(&u->q, u->g, 1, false, &r))
		fail_msg("%s", r.text);
}

static int try_open(struct run *u, const char *prefix, unsigned int msec, struct report *r)
{
	static const struct telemetry_option options[] = {{"cache_device", "@memory"},
							  {"buckets", "8"}};
	struct telemetry_setup s = {.group = u->g,
				    .number = 3,
				    .prefix = prefix,
				    .msec = msec,
				    .fio_version = "fio-9.99",
				    .options = options,
				    .noptions = 2};

	memset(r, 0, sizeof(*r));
	return telemetry_open(&u->t, &s, r);
}

static void run_open(struct run *u, bool files, unsigned int msec)
{
	struct report r;

	if (try_open(u, files ? u->prefix : NULL, msec, &r))
		fail_msg("%s", r.text);
}

static void run_setup(struct run *u, bool files, unsigned int msec)
{
	struct dg_options o;

	memory_options(&o);
	run_group(u, &o);
	run_open(u, files, msec);
}

static void do_io(struct run *u, enum dg_op op, unsigned int count)
{
	struct dg_io io = {0}, *done;

	for (unsigned int i = 0; i < count; i++) {
		io.vol = u->vol;
		io.buf = u->buf;
		io.op = (uint8_t)op;
		io.offset = (uint64_t)(i % BLOCKS) * DG_BLOCK;
		io.len = DG_BLOCK;
		dg_submit(u->q, &io);
		assert_int_equal(dg_poll(u->q, 1, 1, TIME_NEVER, &done), 1);
		assert_int_equal(io.res, 0);
	}
}

static void run_finish(struct run *u)
{
	struct report r = {0};

	dg_queue_destroy(u->q);
	u->q = NULL;
	if (telemetry_finish(u->t, &r))
		fail_msg("%s", r.text);
}

static void run_end(struct run *u)
{
	struct report r = {0};

	dg_queue_destroy(u->q);
	telemetry_close(u->t);
	assert_int_equal(disk_group_close(u->g, &r), 0);
	unlink(u->log);
	unlink(u->json);
	/* Fails when something else was left there, a temporary file say. */
	assert_int_equal(rmdir(u->dir), 0);
	free(u->buf);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	if (!f)
		return NULL;
	len = getdelim(&text, &size, '\0', f);
	fclose(f);
	if (len < 0) {
		free(text);
		return strdup("");
	}
	return text;
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

/* Until the log has @n more samples than it had; the test's time limit is the only other way out. */
static void wait_for_samples(const struct run *u, unsigned int n)
{
	const struct timespec pause = {0, 1000000};
	unsigned int had = 0, have;
	bool first = true;

	do {
		char *text = read_file(u->log);

		assert_non_null(text);
		have = count(text, "\nsample,");
		free(text);
		if (first)
			had = have;
		first = false;
		nanosleep(&pause, NULL);
	} while (have < had + n);
}

/* A sample row's numbers; how many there were. */
static unsigned int parse_sample(const char *line, double v[COLUMNS])
{
	unsigned int n = 1;

	assert_memory_equal(line, "sample,", 7);
	for (const char *p = line + 6; *p == ',';) {
		char *end;

		assert_in_range(n, 1, COLUMNS - 1);
		v[n] = strtod(p + 1, &end);
		assert_ptr_not_equal(end, p + 1);
		n++;
		p = end;
		assert_true(*p == ',' || *p == '\n');
	}
	return n;
}

static char *summary(const struct run *u)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	telemetry_summary(u->t, f);
	fclose(f);
	return text;
}

static json_t *load_json(const struct run *u)
{
	json_error_t err;
	json_t *j = json_load_file(u->json, JSON_REJECT_DUPLICATES, &err);

	if (!j)
		fail_msg("%s:%d: %s", u->json, err.line, err.text);
	return j;
}

/* "write_buffer.bytes_written" or "devices.0.name" */
static json_t *at(json_t *j, const char *path)
{
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save)) {
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(key))
				     : json_object_get(j, key);
		if (!j)
			fail_msg("the JSON has no %s", path);
	}
	return j;
}

static double number_at(json_t *j, const char *path)
{
	assert_true(json_is_number(at(j, path)));
	return json_number_value(at(j, path));
}

static const char *text_at(json_t *j, const char *path)
{
	assert_true(json_is_string(at(j, path)));
	return json_string_value(at(j, path));
}

/* ---- the log ------------------------------------------------------------------------------------ */

static void the_log_has_the_agreed_columns(void **state)
{
	struct run u;
	double v[COLUMNS];
	char *text;

	(void)state;
	run_setup(&u, true, 1);
	do_io(&u, DG_WRITE, 100);
	wait_for_samples(&u, 3);
	run_finish(&u);
	text = read_file(u.log);
	assert_memory_equal(text, contract, strlen(contract));
	assert_int_equal(text[strlen(contract)], '\n');
	for (const char *p = strchr(text, '\n') + 1; *p; p = strchr(p, '\n') + 1)
		assert_int_equal(parse_sample(p, v), COLUMNS);
	free(text);
	run_end(&u);
}

/* What the rows say per second, times their intervals, is what was done: nothing is lost or counted twice. */
static void rows_add_up_to_what_was_done(void **state)
{
	double reads = 0, writes = 0, bytes = 0, before = -1, free_at_end = 0, error = 0;
	const unsigned int nwrites = 1500, nreads = 700;
	struct run u;
	json_t *j;
	char *text;

	(void)state;
	run_setup(&u, true, 2);
	/* The first row's interval has no row before it that tells where it began. */
	wait_for_samples(&u, 1);
	do_io(&u, DG_WRITE, nwrites);
	wait_for_samples(&u, 2);
	do_io(&u, DG_READ, nreads);
	run_finish(&u);
	text = read_file(u.log);
	for (const char *p = strchr(text, '\n') + 1; *p; p = strchr(p, '\n') + 1) {
		double v[COLUMNS], s;

		parse_sample(p, v);
		if (before >= 0) {
			assert_true(v[TIME] > before);
			s = (v[TIME] - before) / 1000;
			reads += v[IOPS_READ] * s;
			writes += v[IOPS_WRITE] * s;
			bytes += v[MB_WRITE] * s;
			/* Both ends of an interval are rounded to a microsecond. */
			error += 0.05 * s + (v[IOPS_READ] + v[IOPS_WRITE]) * 1e-6;
		}
		before = v[TIME];
		free_at_end = v[WB_FREE];
	}
	free(text);
	assert_true(error < 100); /* or the test would say nothing */
	assert_true(writes > nwrites - error && writes < nwrites + error);
	assert_true(reads > nreads - error && reads < nreads + error);
	assert_true(bytes > (nwrites - error) * DG_BLOCK && bytes < (nwrites + error) * DG_BLOCK);
	j = load_json(&u);
	assert_true(number_at(j, "write_buffer.fill_end_pct") > 0);
	assert_true(free_at_end > 99.9 - number_at(j, "write_buffer.fill_end_pct") &&
		    free_at_end < 100.1 - number_at(j, "write_buffer.fill_end_pct"));
	json_decref(j);
	run_end(&u);
}

static void jobs_have_rows_on_the_same_clock(void **state)
{
	char *text, *a, *b;
	double last = -1;
	struct run u;

	(void)state;
	run_setup(&u, true, 1);
	telemetry_job_start(u.t, 1, "plain");
	wait_for_samples(&u, 2);
	telemetry_job_start(u.t, 12, "a,\"b\"");
	do_io(&u, DG_WRITE, 10);
	telemetry_job_end(u.t, 1);
	telemetry_job_end(u.t, 12);
	run_finish(&u);
	text = read_file(u.log);
	a = strstr(text, ",1,plain\n");
	b = strstr(text, ",12,\"a,\"\"b\"\"\"\n");
	assert_non_null(a);
	assert_non_null(b);
	assert_true(a < b);
	assert_int_equal(count(text, "\njob,"), 2);
	/* All rows, of both kinds, in the order of time. */
	for (const char *p = strchr(text, '\n') + 1; *p; p = strchr(p, '\n') + 1) {
		double t = strtod(strchr(p, ',') + 1, NULL);

		assert_true(t >= last);
		last = t;
	}
	free(text);
	run_end(&u);
}

/* ---- the JSON ----------------------------------------------------------------------------------- */

static void the_json_tells_the_run(void **state)
{
	struct run u;
	json_t *j;

	(void)state;
	run_setup(&u, true, 1000);
	telemetry_job_start(u.t, 1, "one");
	do_io(&u, DG_WRITE, BLOCKS);
	do_io(&u, DG_WRITE, 100);
	do_io(&u, DG_READ, 300);
	telemetry_job_end(u.t, 1);
	telemetry_job_start(u.t, 2, "two");
	assert_int_not_equal(access(u.json, F_OK), 0); /* not before it is whole */
	run_finish(&u);
	j = load_json(&u);
	assert_string_equal(text_at(j, "fio"), "fio-9.99");
	assert_int_equal(number_at(j, "group"), 3);
	assert_true(number_at(j, "timestamp") > 1e9);
	assert_string_equal(text_at(j, "options.cache_device"), "@memory");
	assert_string_equal(text_at(j, "options.buckets"), "8");
	assert_true(json_is_false(at(j, "modelled")));
	assert_int_equal(json_array_size(at(j, "devices")), 2);
	assert_string_equal(text_at(j, "devices.0.role"), "cache");
	assert_string_equal(text_at(j, "devices.0.kind"), "memory");
	assert_int_equal(number_at(j, "devices.0.size"), 16 << 20);
	assert_true(json_is_null(at(j, "devices.0.profile")));
	assert_true(json_is_null(at(j, "devices.0.condition")));
	assert_string_equal(text_at(j, "devices.1.role"), "capacity");
	assert_int_equal(number_at(j, "devices.1.index"), 0);
	assert_true(number_at(j, "devices.0.write_bytes") >= VOLUME_BYTES + 100.0 * DG_BLOCK);
	assert_int_equal(number_at(j, "write_buffer.bytes_written"), (BLOCKS + 100) * DG_BLOCK);
	assert_int_equal(number_at(j, "write_buffer.bytes_overwritten"), 100 * DG_BLOCK);
	assert_true(number_at(j, "write_buffer.fill_start_pct") == 0);
	assert_true(number_at(j, "write_buffer.fill_max_pct") >=
		    number_at(j, "write_buffer.fill_end_pct"));
	assert_int_equal(number_at(j, "reads.wb") + number_at(j, "reads.capacity"), 300);
	assert_int_equal(number_at(j, "reads.never_written"), 0);
	assert_string_equal(text_at(j, "volumes.0.name"), "vol");
	assert_int_equal(number_at(j, "volumes.0.bytes"), VOLUME_BYTES);
	assert_int_equal(json_array_size(at(j, "jobs")), 2);
	assert_string_equal(text_at(j, "jobs.1.name"), "two");
	assert_int_equal(number_at(j, "jobs.1.number"), 2);
	for (int i = 0; i < 2; i++) {
		json_t *job = json_array_get(at(j, "jobs"), (size_t)i);

		/* Also the one that was still running. */
		assert_true(number_at(job, "end_msec") >= number_at(job, "start_msec"));
	}
	assert_true(number_at(j, "jobs.0.end_msec") > number_at(j, "jobs.0.start_msec"));
	assert_int_equal(number_at(j, "stalls.no_page.count"), 0);
	assert_true(json_is_null(at(j, "lateness_us")));
	assert_true(number_at(j, "memory_bytes") > 0);
	assert_int_equal(json_array_size(at(j, "warnings")), 0);
	json_decref(j);
	run_end(&u);
}

/* A job's name is whatever bytes the user wrote. */
static void names_that_are_no_utf8_leave_valid_json(void **state)
{
	struct run u;
	json_t *j;

	(void)state;
	run_setup(&u, true, 1000);
	telemetry_job_start(u.t, 1, "caf\xe9 \"x\"\t\x01");
	telemetry_job_start(u.t, 2, "caf\xc3\xa9");
	run_finish(&u);
	j = load_json(&u);
	assert_string_equal(text_at(j, "jobs.0.name"), "caf? \"x\"\t\x01");
	assert_string_equal(text_at(j, "jobs.1.name"), "caf\xc3\xa9");
	json_decref(j);
	run_end(&u);
}

/* A run that is killed must not seem to have the last one's result. */
static void an_earlier_json_goes_when_the_log_begins(void **state)
{
	struct dg_options o;
	struct run u;
	FILE *f;

	(void)state;
	memory_options(&o);
	run_group(&u, &o);
	f = fopen(u.json, "we");
	assert_non_null(f);
	fputs("{}", f);
	fclose(f);
	run_open(&u, true, 1000);
	assert_int_not_equal(access(u.json, F_OK), 0);
	run_end(&u);
}

/* ---- the summary -------------------------------------------------------------------------------- */

static void nothing_is_said_when_nothing_ran(void **state)
{
	struct run u;
	char *text;

	(void)state;
	run_setup(&u, false, 1000);
	run_finish(&u);
	text = summary(&u);
	assert_string_equal(text, "");
	free(text);
	run_end(&u); /* and no file was made */
}

static void the_summary_names_devices_and_buffer(void **state)
{
	struct run u;
	char *text;

	(void)state;
	run_setup(&u, false, 1000);
	telemetry_job_start(u.t, 1, "one");
	do_io(&u, DG_WRITE, BLOCKS);
	do_io(&u, DG_READ, 300);
	telemetry_job_end(u.t, 1);
	run_finish(&u);
	text = summary(&u);
	assert_non_null(strstr(text, "disk group 3"));
	assert_non_null(strstr(text, "cache @memory"));
	assert_non_null(strstr(text, "capacity 1 @memory"));
	assert_non_null(strstr(text, "0.0% never written"));
	assert_non_null(strstr(text, "writers were never held back"));
	assert_null(strstr(text, "modelled"));
	assert_null(strstr(text, "warning"));
	free(text);
	run_end(&u);
}

static void never_written_reads_are_warned_of(void **state)
{
	struct run u;
	json_t *j;
	char *text;

	(void)state;
	run_setup(&u, true, 1000);
	telemetry_job_start(u.t, 1, "one");
	do_io(&u, DG_WRITE, 100);
	do_io(&u, DG_READ, 400);
	run_finish(&u);
	j = load_json(&u);
	assert_int_equal(number_at(j, "reads.never_written"), 300);
	assert_int_equal(number_at(j, "reads.wb"), 100);
	assert_int_equal(json_array_size(at(j, "warnings")), 1);
	assert_non_null(strstr(text_at(j, "warnings.0"), "75.0% of the blocks read were never"));
	assert_non_null(strstr(text_at(j, "warnings.0"), "prefill"));
	text = summary(&u);
	assert_non_null(strstr(text, text_at(j, "warnings.0")));
	free(text);
	json_decref(j);
	run_end(&u);
}

/* One block in 2000 is below the share that matters, one in 500 above. */
static void a_few_never_written_reads_are_not(void **state)
{
	struct run u;

	(void)state;
	for (unsigned int per = 500; per <= 2000; per += 1500) {
		json_t *j;

		run_setup(&u, true, 1000);
		do_io(&u, DG_WRITE, 100);
		do_io(&u, DG_READ, 101); /* the last one was never written */
		for (unsigned int n = 101; n < per; n += 100)
			do_io(&u, DG_READ, per - n < 100 ? per - n : 100);
		run_finish(&u);
		j = load_json(&u);
		assert_int_equal(number_at(j, "reads.never_written"), 1);
		assert_int_equal(number_at(j, "reads.wb"), per - 1);
		assert_int_equal(json_array_size(at(j, "warnings")), per < 1000);
		json_decref(j);
		run_end(&u);
	}
}

static void models_are_said_to_be_models(void **state)
{
	struct dg_options o;
	struct run u;
	json_t *j;
	char *text;

	(void)state;
	memory_options(&o);
	o.cache = "@intel-p4800x-375gb";
	o.cache_fresh = true;
	run_group(&u, &o);
	run_open(&u, true, 1000);
	telemetry_job_start(u.t, 1, "one");
	do_io(&u, DG_WRITE, 200);
	telemetry_job_end(u.t, 1);
	run_finish(&u);
	j = load_json(&u);
	assert_true(json_is_true(at(j, "modelled")));
	assert_string_equal(text_at(j, "devices.0.kind"), "modelled");
	assert_string_equal(text_at(j, "devices.0.condition"), "fresh");
	assert_true(strlen(text_at(j, "devices.0.profile.title")) > 0);
	assert_true(strlen(text_at(j, "devices.0.profile.certainty")) > 0);
	assert_true(json_is_boolean(at(j, "devices.0.profile.mix_calibrated")));
	assert_true(json_is_null(at(j, "devices.1.profile")));
	/* The write and its log, each. */
	assert_true(number_at(j, "lateness_us.count") >= 400);
	assert_true(number_at(j, "lateness_us.p50") <= number_at(j, "lateness_us.p99"));
	assert_true(number_at(j, "lateness_us.p99") <= number_at(j, "lateness_us.max"));
	text = summary(&u);
	assert_non_null(strstr(text, "model, fresh, "));
	assert_non_null(strstr(text, "results from modelled drives"));
	assert_non_null(strstr(text, "modelled completions were late by: p50 "));
	free(text);
	json_decref(j);
	run_end(&u);
}

/* Formatting and filling are no part of the run. */
static void devices_count_from_the_start_of_the_run(void **state)
{
	struct dg_options o;
	struct run u;
	json_t *j;

	(void)state;
	memory_options(&o);
	run_group(&u, &o);
	do_io(&u, DG_WRITE, 500);
	/* A queue's own counters reach its device in batches, the last when it goes. */
	dg_queue_destroy(u.q);
	u.q = NULL;
	assert_true(disk_group_device(u.g, 0)->stats.bytes[DEV_WRITE] >= 500 * DG_BLOCK);
	run_open(&u, true, 1000);
	run_finish(&u);
	j = load_json(&u);
	/* But for a superblock or two that the worker may write meanwhile. */
	assert_true(number_at(j, "devices.0.write_bytes") < 100 * DG_BLOCK);
	json_decref(j);
	run_end(&u);
}

/* ---- files that cannot be written ---------------------------------------------------------------- */

static void a_missing_folder_is_named(void **state)
{
	struct dg_options o;
	struct report r;
	char prefix[128];
	struct run u;

	(void)state;
	memory_options(&o);
	run_group(&u, &o);
	snprintf(prefix, sizeof(prefix), "%s/no/run", u.dir);
	assert_int_equal(try_open(&u, prefix, 1000, &r), -ENOENT);
	assert_non_null(strstr(r.text, "write_vsan_log: "));
	assert_non_null(strstr(r.text, "no/run_vsan.3.log"));
	u.t = NULL;
	run_end(&u);
}

static void a_full_device_is_found_at_the_start(void **state)
{
	struct dg_options o;
	struct report r;
	struct stat st;
	struct run u;

	(void)state;
	memory_options(&o);
	run_group(&u, &o);
	assert_int_equal(symlink("/dev/full", u.log), 0);
	assert_int_equal(try_open(&u, u.prefix, 1000, &r), -ENOSPC);
	assert_non_null(strstr(r.text, u.log));
	assert_int_not_equal(lstat(u.log, &st), 0); /* nothing useless is left */
	u.t = NULL;
	run_end(&u);
}

/* A limit of the file's size stands for a disk that fills up during the run. */
static void a_log_that_breaks_off_ends_with_a_whole_row(void **state)
{
	struct rlimit old, low;
	struct report r = {0};
	struct stat st;
	struct run u;
	char *text;
	json_t *j;
	int i;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_IGN);
	run_setup(&u, true, 1);
	wait_for_samples(&u, 2);
	assert_int_equal(stat(u.log, &st), 0);
	low = old;
	low.rlim_cur = (rlim_t)st.st_size + 250; /* one and a half rows */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	telemetry_job_start(u.t, 1, "one");
	for (i = 0; i < 20; i++)
		telemetry_job_start(u.t, 2, "a job with a name that takes its part of the space");
	do_io(&u, DG_WRITE, 50);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	dg_queue_destroy(u.q);
	u.q = NULL;
	assert_int_equal(telemetry_finish(u.t, &r), -EFBIG);
	assert_non_null(strstr(r.text, u.log));
	text = read_file(u.log);
	assert_true(strlen(text) > (size_t)st.st_size);
	assert_int_equal(stat(u.log, &st), 0);
	assert_int_equal(strlen(text), st.st_size); /* no hole behind the last row */
	assert_int_equal(text[strlen(text) - 1], '\n');
	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		assert_true(!strncmp(p, "row,", 4) || !strncmp(p, "sample,", 7) ||
			    !strncmp(p, "job,", 4));
	free(text);
	/* The rest of the result is there all the same, and says so. */
	j = load_json(&u);
	assert_int_equal(number_at(j, "write_buffer.bytes_written"), 50 * DG_BLOCK);
	assert_int_equal(json_array_size(at(j, "warnings")), 1);
	assert_non_null(strstr(text_at(j, "warnings.0"), "log could not be written"));
	json_decref(j);
	run_end(&u);
}

static void a_json_that_cannot_be_written_leaves_no_part(void **state)
{
	struct report r = {0};
	struct run u;

	(void)state;
	run_setup(&u, true, 1000);
	do_io(&u, DG_WRITE, 10);
	/* What cannot be replaced by a file. */
	assert_int_equal(mkdir(u.json, 0755), 0);
	dg_queue_destroy(u.q);
	u.q = NULL;
	assert_int_equal(telemetry_finish(u.t, &r), -EISDIR);
	assert_non_null(strstr(r.text, u.json));
	assert_int_equal(rmdir(u.json), 0);
	run_end(&u);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void *come_and_go(void *arg)
{
	struct run *u = arg;

	for (unsigned int i = 0; i < 200; i++) {
		telemetry_job_start(u->t, i, "job");
		telemetry_job_end(u->t, i);
	}
	return NULL;
}

/* Jobs and the sampling thread write the same file. */
static void jobs_may_come_in_any_thread(void **state)
{
	pthread_t thread[3];
	double v[COLUMNS];
	struct run u;
	char *text;

	(void)state;
	run_setup(&u, true, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &u), 0);
	do_io(&u, DG_WRITE, 500);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	run_finish(&u);
	text = read_file(u.log);
	assert_int_equal(count(text, "\njob,"), 600);
	for (const char *p = strchr(text, '\n') + 1; *p; p = strchr(p, '\n') + 1)
		if (strncmp(p, "job,", 4))
			assert_int_equal(parse_sample(p, v), COLUMNS);
	free(text);
	run_end(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_has_the_agreed_columns),
		cmocka_unit_test(rows_add_up_to_what_was_done),
		cmocka_unit_test(jobs_have_rows_on_the_same_clock),
		cmocka_unit_test(the_json_tells_the_run),
		cmocka_unit_test(names_that_are_no_utf8_leave_valid_json),
		cmocka_unit_test(an_earlier_json_goes_when_the_log_begins),
		cmocka_unit_test(nothing_is_said_when_nothing_ran),
		cmocka_unit_test(the_summary_names_devices_and_buffer),
		cmocka_unit_test(never_written_reads_are_warned_of),
		cmocka_unit_test(a_few_never_written_reads_are_not),
		cmocka_unit_test(models_are_said_to_be_models),
		cmocka_unit_test(devices_count_from_the_start_of_the_run),
		cmocka_unit_test(a_missing_folder_is_named),
		cmocka_unit_test(a_full_device_is_found_at_the_start),
		cmocka_unit_test(a_log_that_breaks_off_ends_with_a_whole_row),
		cmocka_unit_test(a_json_that_cannot_be_written_leaves_no_part),
		cmocka_unit_test(jobs_may_come_in_any_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
