/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's files as others read them: the log by a strict CSV parser and by the analyzer, the JSON
 * by the analyzer, with job names that need care; and what a run has to warn of when its host was late
 * or a device failed. test_telemetry.c is about the figures themselves.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <csv.h>

#include "analyzer/vsan_telemetry.h"
#include "engine/device/memory.h"
#include "engine/telemetry.h"

#define BLOCK       4096u
#define DEPTH       16u
#define VOLUME      (24u << 20)
#define FIELDS_MAX  40
#define PATIENCE_MS 60000 /* something is broken when it takes longer */

static const struct vclock real_clock;

/* ---- a group, its telemetry and a folder -------------------------------------------------------- */

struct lab {
	char dir[64], prefix[96], log[128], json[128];
	struct dg_options o;
	struct disk_group *g;
	struct dg_volume *vol;
	struct dg_queue *q;
	struct telemetry *t;
	struct dg_io io[DEPTH];
	char *buf;
};

static void lab_init(struct lab *l)
{
	memset(l, 0, sizeof(*l));
	snprintf(l->dir, sizeof(l->dir), "/tmp/vsan-run-files-XXXXXX");
	assert_non_null(mkdtemp(l->dir));
	snprintf(l->prefix, sizeof(l->prefix), "%s/run", l->dir);
	snprintf(l->log, sizeof(l->log), "%s_vsan.1.log", l->prefix);
	snprintf(l->json, sizeof(l->json), "%s_vsan.1.json", l->prefix);
	l->buf = aligned_alloc(BLOCK, (size_t)BLOCK * DEPTH);
	assert_non_null(l->buf);
	memset(l->buf, 0x5a, (size_t)BLOCK * DEPTH);
	disk_group_options_default(&l->o);
	l->o.cache = "@memory";
	l->o.capacity[0] = "@memory";
	l->o.ncapacity = 1;
	l->o.cache_size = 16u << 20;
	l->o.capacity_size = 64u << 20;
}

/* The group, and its telemetry with a row every @msec. */
static void lab_start(struct lab *l, unsigned int msec)
{
	struct telemetry_setup s = {
		.number = 1, .prefix = l->prefix, .msec = msec, .fio_version = "fio-9.99"};
	struct report r = {0};

	if (disk_group_open(&l->g, &l->o, &real_clock, &r) ||
	    disk_group_volume(l->g, "disk", VOLUME, &l->vol, &r) ||
	    disk_group_start(l->g, true, &r) || dg_queue_create(&l->q, l->g, DEPTH, false, &r))
		fail_msg("%s", r.text);
	s.group = l->g;
	if (telemetry_open(&l->t, &s, &r))
		fail_msg("%s", r.text);
}

static void lab_finish(struct lab *l)
{
	struct report r = {0};

	dg_queue_destroy(l->q);
	l->q = NULL;
	if (telemetry_finish(l->t, &r))
		fail_msg("%s", r.text);
}

static void lab_exit(struct lab *l)
{
	telemetry_close(l->t);
	disk_group_close(l->g, NULL);
	free(l->buf);
	unlink(l->log);
	unlink(l->json);
	assert_int_equal(rmdir(l->dir), 0);
}

static void pause_ms(unsigned int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

/* @n I/Os of one block from block @first on, DEPTH at a time; nobody looks at what is complete for
 * @late_ms. */
static void do_io(struct lab *l, enum dg_op op, uint64_t first, unsigned int n,
		  unsigned int late_ms)
{
	struct dg_io *done[DEPTH];

	for (; n; n -= DEPTH, first += DEPTH) {
		unsigned int got = 0;

		assert_true(n >= DEPTH);
		for (unsigned int i = 0; i < DEPTH; i++) {
			l->io[i].vol = l->vol;
			l->io[i].op = (uint8_t)op;
			l->io[i].buf = l->buf + (size_t)i * BLOCK;
			l->io[i].len = BLOCK;
			l->io[i].offset = (first + i) * BLOCK;
			dg_submit(l->q, &l->io[i]);
		}
		dg_commit(l->q);
		pause_ms(late_ms);
		while (got < DEPTH)
			got += dg_poll(l->q, 1, DEPTH, TIME_NEVER, done);
	}
}

static char *summary_of(const struct lab *l)
{
	char *s = NULL;
	size_t len;
	FILE *f = open_memstream(&s, &len);

	assert_non_null(f);
	telemetry_summary(l->t, f);
	fclose(f);
	return s;
}

/* ---- the log by RFC 4180 ------------------------------------------------------------------------ */

struct row {
	char *field[FIELDS_MAX];
	unsigned int n;
};

struct sheet {
	struct row *row;
	size_t n;
	struct row now;
};

static void on_field(void *s, size_t len, void *data)
{
	struct sheet *sh = data;

	assert_true(sh->now.n < FIELDS_MAX);
	sh->now.field[sh->now.n] = strndup(s, len);
	assert_non_null(sh->now.field[sh->now.n]);
	sh->now.n++;
}

static void on_row(int c, void *data)
{
	struct sheet *sh = data;

	assert_int_equal(c, '\n'); /* the last row has an end too */
	sh->row = realloc(sh->row, (sh->n + 1) * sizeof(*sh->row));
	assert_non_null(sh->row);
	sh->row[sh->n++] = sh->now;
	sh->now.n = 0;
}

static void sheet_read(struct sheet *sh, const char *path)
{
	FILE *f = fopen(path, "re");
	struct csv_parser p;
	size_t size = 0;
	char *s = NULL;
	ssize_t len;

	memset(sh, 0, sizeof(*sh));
	assert_non_null(f);
	len = getdelim(&s, &size, '\0', f);
	fclose(f);
	assert_true(len > 0);
	assert_int_equal(csv_init(&p, CSV_STRICT | CSV_STRICT_FINI), 0);
	assert_int_equal(csv_parse(&p, s, (size_t)len, on_field, on_row, sh), (size_t)len);
	assert_int_equal(sh->now.n, 0);
	csv_free(&p);
	free(s);
}

static void sheet_free(struct sheet *sh)
{
	for (size_t i = 0; i < sh->n; i++)
		for (unsigned int k = 0; k < sh->row[i].n; k++)
			free(sh->row[i].field[k]);
	free(sh->row);
}

static double time_of(const struct sheet *sh, size_t row)
{
	return strtod(sh->row[row].field[1], NULL);
}

static unsigned int samples_so_far(const struct lab *l)
{
	struct sheet sh;
	unsigned int n = 0;

	sheet_read(&sh, l->log);
	for (size_t i = 1; i < sh.n; i++)
		n += !strcmp(sh.row[i].field[0], "sample");
	sheet_free(&sh);
	return n;
}

/* Rows are written whole: the file can be read at any moment. */
static void wait_for_samples(const struct lab *l, unsigned int n)
{
	for (int i = 0; samples_so_far(l) < n; i++) {
		assert_true(i < PATIENCE_MS);
		pause_ms(1);
	}
}

/* ---- both files by the analyzer ----------------------------------------------------------------- */

static void analyzer_reads(const struct lab *l, struct vsan_group *v)
{
	struct text_list warnings = {0};
	struct report r = {0};

	memset(v, 0, sizeof(*v));
	v->number = 1;
	v->json_path = strdup(l->json);
	v->log_path = strdup(l->log);
	if (vsan_json_read(v, &r) || vsan_log_read(v, &warnings, &r))
		fail_msg("%s", r.text);
	assert_int_equal(warnings.nr, 0);
}

static bool warned(const struct vsan_group *v, const char *words)
{
	for (size_t i = 0; i < v->warnings.nr; i++) {
		assert_null(strchr(v->warnings.items[i], '\n'));
		if (strstr(v->warnings.items[i], words))
			return true;
	}
	return false;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void jobs_keep_their_names(void **state)
{
	static const char *const name[] = {
		"plain", "a,b", "say \"hi\"",  "two\nlines", "\r",       "",
		"\"",    ",",   "caf\xc3\xa9", "caf\xe9,x",  " spaces ", "\"quoted\"",
	};
	static const unsigned int n = sizeof(name) / sizeof(name[0]);
	unsigned int jobs = 0, samples = 0;
	struct vsan_group v;
	struct sheet sh;
	struct lab l;

	(void)state;
	lab_init(&l);
	lab_start(&l, 1);
	for (unsigned int i = 0; i < n; i++) {
		telemetry_job_start(l.t, i + 1, name[i]);
		do_io(&l, DG_WRITE, i * DEPTH, DEPTH, 3);
	}
	for (unsigned int i = 0; i + 1 < n; i++)
		telemetry_job_end(l.t, i + 1);
	lab_finish(&l);
	sheet_read(&sh, l.log);
	for (size_t i = 1; i < sh.n; i++) {
		const struct row *r = &sh.row[i];

		assert_true(i == 1 || time_of(&sh, i) >= time_of(&sh, i - 1));
		if (!strcmp(r->field[0], "sample")) {
			assert_int_equal(r->n, sh.row[0].n);
			samples++;
			continue;
		}
		assert_string_equal(r->field[0], "job");
		assert_int_equal(r->n, 4);
		assert_int_equal(strtoul(r->field[2], NULL, 10), jobs + 1);
		assert_string_equal(r->field[3], name[jobs]);
		jobs++;
	}
	assert_int_equal(jobs, n);
	analyzer_reads(&l, &v);
	assert_int_equal(v.nr_samples, samples);
	assert_int_equal(v.nr_jobs, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct vsan_job *job = vsan_job_find(&v, i + 1);

		assert_non_null(job);
		assert_true(job->start_msec > 0);
		/* The last one never told its end. */
		assert_true(job->end_msec > job->start_msec);
	}
	vsan_group_free(&v);
	sheet_free(&sh);
	lab_exit(&l);
}

/* Rates over a moment say nothing: what is left at the end belongs to the row before. */
static void short_rest_is_no_row(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct sheet sh;
		struct lab l;

		lab_init(&l);
		lab_start(&l, 100);
		wait_for_samples(&l, 2); /* seen when the third interval has just ended */
		lab_finish(&l);
		sheet_read(&sh, l.log);
		assert_true(sh.n >= 4);
		assert_true(time_of(&sh, sh.n - 1) - time_of(&sh, sh.n - 2) >= 50);
		sheet_free(&sh);
		lab_exit(&l);
	}
}

/* Reads that nobody fetches for 30 ms are late by far more than a drive takes. */
static void late_host_is_told(void **state)
{
	struct vsan_group v;
	struct lab l;
	char *s;

	(void)state;
	lab_init(&l);
	l.o.cache = "@intel-p4600-1.6tb";
	l.o.capacity[0] = "@samsung-870-qvo-1tb";
	l.o.cache_size = l.o.capacity_size = 0;
	l.o.write_buffer_size = 64u << 20;
	l.o.prefilled = DG_PREFILLED_CAPACITY;
	l.o.capacity_fresh = true;
	lab_start(&l, 1000);
	telemetry_job_start(l.t, 1, "late");
	do_io(&l, DG_READ, 0, 3 * DEPTH, 30);
	telemetry_job_end(l.t, 1);
	lab_finish(&l);
	analyzer_reads(&l, &v);
	assert_true(v.modelled && v.has_lateness);
	assert_true(v.lateness_p99_usec > 10000 && v.lateness_max_usec > 10000);
	assert_string_equal(v.devices[1].condition, "fresh");
	assert_true(v.devices[1].ios[0] == 3 * DEPTH && v.reads[1] == 3 * DEPTH);
	assert_true(warned(&v, "the host was late with modelled completions"));
	s = summary_of(&l);
	assert_non_null(strstr(s, "fio-vsan: warning: the host was late"));
	free(s);
	vsan_group_free(&v);
	lab_exit(&l);
}

static atomic_bool broken;
static const struct dev_ops *whole_ops;

static int breaking_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	if (!atomic_load(&broken) || req->op != DEV_WRITE)
		return whole_ops->submit(dev, q, req);
	atomic_fetch_add(&dev->stats.errors, 1);
	return -EIO;
}

static void failed_device_is_told(void **state)
{
	struct device *cache, *capacity;
	struct vsan_group v;
	struct dev_ops ops;
	struct lab l;
	char *s;

	(void)state;
	lab_init(&l);
	assert_int_equal(memory_device_create(&cache, 16u << 20, true), 0);
	assert_int_equal(memory_device_create(&capacity, 64u << 20, true), 0);
	whole_ops = capacity->ops;
	ops = *whole_ops;
	ops.submit = breaking_submit;
	capacity->ops = &ops;
	l.o.given[0] = cache;
	l.o.given[1] = capacity;
	atomic_store(&broken, false);
	lab_start(&l, 1000);
	atomic_store(&broken, true);
	/* Past the fill where destaging starts, with buckets that are sealed. */
	do_io(&l, DG_WRITE, 0, 2048, 0);
	for (int i = 0; !disk_group_device_failed(l.g, 1); i++) {
		assert_true(i < PATIENCE_MS);
		pause_ms(1);
	}
	lab_finish(&l);
	analyzer_reads(&l, &v);
	assert_false(v.devices[0].failed);
	assert_true(v.devices[1].failed && v.devices[1].errors >= 1);
	assert_true(warned(&v, "capacity device @memory failed during the run"));
	s = summary_of(&l);
	assert_non_null(strstr(s, "FAILED"));
	assert_non_null(strstr(s, "fio-vsan: warning: capacity device @memory failed"));
	free(s);
	vsan_group_free(&v);
	lab_exit(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_keep_their_names),
		cmocka_unit_test(short_rest_is_no_row),
		cmocka_unit_test(late_host_is_told),
		cmocka_unit_test(failed_device_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
