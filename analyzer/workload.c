/* SPDX-License-Identifier: GPL-2.0-only */
/* Derives what a run did from options and telemetry; see workload.h. */
#include "workload.h"

#include "fio_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Appends @item unless the list has it; "a + b". */
static void join_distinct(struct text *list, struct text_list *seen, const char *item)
{
	if (text_list_has(seen, item))
		return;
	if (text_list_add(seen, "%s", item)) {
		list->failed = true;
		return;
	}
	if (list->len)
		text_add(list, " + ");
	text_add_clean(list, item, 60);
}

/* Old versions, and client/server runs, leave the options out: then defaults are not known to hold. */
static bool says_options(const struct run *run, const struct run_job *j)
{
	return run->options.nr || j->options.nr;
}

static void pattern_of(const struct run *run, const struct run_job *j, struct text *t)
{
	const char *rw = run_option(run, j, "rw");
	const char *mix = run_option(run, j, "rwmixread");
	const char *mix_write = run_option(run, j, "rwmixwrite");

	rw = rw ? rw : run_option(run, j, "readwrite");
	text_add(t, rw && *rw ? rw : says_options(run, j) ? "read" : "?");
	if (!rw ||
	    (strncmp(rw, "rw", 2) && strncmp(rw, "randrw", 6) && strncmp(rw, "readwrite", 9)))
		return;
	text_printf(t, " %ld%% read",
		    mix         ? strtol(mix, NULL, 10)
		    : mix_write ? 100 - strtol(mix_write, NULL, 10)
				: 50); /* fio's default */
}

/* "4k" and "4096B" are the same; a comma separates read, write, trim, a dash or colon other things.
 */
static void block_size_of(const struct run *run, const struct run_job *j, struct text *t)
{
	const char *split = run_option(run, j, "bssplit");
	const char *range = run_option(run, j, "bsrange");
	const char *bs = run_option(run, j, "bs");

	bs = bs ? bs : run_option(run, j, "blocksize");
	if (!bs && !split && !range && !says_options(run, j)) {
		text_add(t, "?");
		return;
	}
	if (split || range)
		bs = split ? split : range;
	if (!bs)
		bs = "4k"; /* fio's default */
	while (*bs) {
		size_t n = strcspn(bs, ",-:/");
		uint64_t bytes;
		char part[32];

		if (n && n < sizeof(part)) {
			memcpy(part, bs, n);
			part[n] = '\0';
			/* The numbers behind a slash of bssplit are percentages: no unit, small. */
			if (fio_size(part, &bytes) && bytes >= 512)
				text_add_size(t, bytes);
			else
				text_add(t, part);
		} else {
			text_add_bytes(t, bs, n);
		}
		bs += n;
		if (*bs) {
			text_add_bytes(t, bs, 1);
			bs++;
		}
	}
}

/* How many processes an entry of the result stands for: with group_reporting, one for all. */
static unsigned int processes_of(const struct run *run, const struct run_job *j)
{
	const char *grouped = run_option(run, j, "group_reporting");
	const char *number = run_option(run, j, "numjobs");
	long n = number ? strtol(number, NULL, 10) : 1;

	return grouped && strcmp(grouped, "0") && n > 1 && n <= 100000 ? (unsigned int)n : 1;
}

static unsigned int depth_of(const struct run *run, const struct run_job *j)
{
	const char *depth = run_option(run, j, "iodepth");
	long n = depth ? strtol(depth, NULL, 10) : 1;

	return n > 0 && n <= 1000000 ? (unsigned int)n : 1;
}

static void derive_depth(const struct run *run, struct workload *w)
{
	unsigned int each = 0;
	bool same = true, known = false;

	for (size_t i = 0; i < run->nr_jobs; i++) {
		unsigned int n = processes_of(run, &run->jobs[i]);
		unsigned int depth = depth_of(run, &run->jobs[i]);

		known |= says_options(run, &run->jobs[i]);
		same &= !i || depth == each;
		each = depth;
		w->nr_jobs += n;
		w->total_depth += n * depth;
	}
	/* Sections joined by group_reporting are not all in the result; the engine saw each job. */
	if (run->nr_groups == 1 && run->groups[0].nr_jobs > w->nr_jobs && same) {
		w->nr_jobs = (unsigned int)run->groups[0].nr_jobs;
		w->total_depth = w->nr_jobs * each;
	}
	if (!known)
		text_printf(&w->depth, "? (%u %s)", w->nr_jobs, w->nr_jobs == 1 ? "job" : "jobs");
	else if (w->nr_jobs == 1)
		text_printf(&w->depth, "%u (1 job)", w->total_depth);
	else if (same)
		text_printf(&w->depth, "%u (%u jobs x %u)", w->total_depth, w->nr_jobs, each);
	else
		text_printf(&w->depth, "%u (%u jobs)", w->total_depth, w->nr_jobs);
}

/* Bytes a job works on, if its size is given in bytes. */
static bool job_size(const struct run *run, const struct run_job *j, double *bytes)
{
	const char *size = run_option(run, j, "size");
	uint64_t n;

	size = size ? size : run_option(run, j, "filesize");
	if (!size || !fio_size(size, &n))
		return false;
	*bytes = (double)n;
	return true;
}

/*
 * Jobs on a file of the same name work on the same bytes, unless they are moved apart by
 * offset_increment; jobs without a name each have a file of their own.
 */
static void derive_working_set(const struct run *run, struct workload *w)
{
	struct text_list names = {0};
	double sum = 0, shared = 0, size;
	bool known = run->nr_jobs > 0;

	for (size_t i = 0; i < run->nr_jobs && known; i++) {
		const struct run_job *j = &run->jobs[i];
		const char *name = run_option(run, j, "filename");
		bool apart = !name || run_option(run, j, "offset_increment") ||
			     run_option(run, j, "offset");

		known = job_size(run, j, &size);
		if (!known)
			break;
		if (apart)
			sum += size * processes_of(run, j);
		else if (!text_list_has(&names, name))
			known = !text_list_add(&names, "%s", name), sum += size;
		else
			shared = fmax(shared, size);
	}
	text_list_free(&names);
	w->working_set_bytes = known ? fmax(sum, shared) : NAN;
	/* The volumes of the groups, where the options do not tell. */
	if (!known) {
		sum = 0;
		for (size_t i = 0; i < run->nr_groups; i++)
			sum += run->groups[i].volume_bytes;
		w->working_set_bytes = sum > 0 ? sum : NAN;
	}
	if (isfinite(w->working_set_bytes))
		text_add_size(&w->working_set, (uint64_t)w->working_set_bytes);
	else
		text_add(&w->working_set, "?");
}

static void derive_times(const struct run *run, struct workload *w)
{
	for (size_t i = 0; i < run->nr_jobs; i++) {
		const char *ramp = run_option(run, &run->jobs[i], "ramp_time");
		double msec;

		for (int d = 0; d < RUN_NR_DIRECTIONS; d++)
			w->runtime_msec =
				fmax(w->runtime_msec, run->jobs[i].directions[d].runtime_msec);
		if (ramp && fio_time_msec(ramp, &msec))
			w->ramp_msec = fmax(w->ramp_msec, msec);
	}
}

int workload_derive(const struct run *run, struct workload *w)
{
	struct text_list patterns = {0}, sizes = {0}, engines = {0};
	int ret = 0;

	*w = (struct workload){0};
	for (size_t i = 0; i < run->nr_jobs; i++) {
		const struct run_job *j = &run->jobs[i];
		const char *engine = run_option(run, j, "ioengine");
		struct text t = {0};

		pattern_of(run, j, &t);
		join_distinct(&w->pattern, &patterns, t.s ? t.s : "?");
		text_free(&t);
		block_size_of(run, j, &t);
		join_distinct(&w->block_size, &sizes, t.s ? t.s : "?");
		text_free(&t);
		if (!engine)
			engine = says_options(run, j) ? "fio's default" : "?";
		join_distinct(&w->engine, &engines, engine);
	}
	derive_depth(run, w);
	derive_working_set(run, w);
	derive_times(run, w);
	if (w->pattern.failed || w->block_size.failed || w->depth.failed || w->working_set.failed ||
	    w->engine.failed)
		ret = -ENOMEM;
	text_list_free(&engines);
	text_list_free(&sizes);
	text_list_free(&patterns);
	return ret;
}

void workload_free(struct workload *w)
{
	text_free(&w->pattern);
	text_free(&w->block_size);
	text_free(&w->depth);
	text_free(&w->working_set);
	text_free(&w->engine);
}

static const char *text_or(const char *s, const char *other)
{
	return s ? s : other;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(text_or(a, ""), text_or(b, ""));
}

static bool same_drive(const struct vsan_device *a, const struct vsan_device *b)
{
	return same_text(a->role, b->role) && same_text(a->name, b->name) &&
	       same_text(a->condition, b->condition);
}

/* "NAME (condition, certainty)" of a model, "NAME (kind)" of anything else. */
static void add_drive(const struct vsan_device *d, struct text *t)
{
	text_add_clean(t, text_or(d->name, "?"), 60);
	if (d->kind && !strcmp(d->kind, "modelled")) {
		text_add(t, " (");
		text_add_clean(t, text_or(d->condition, "condition unknown"), 24);
		text_add(t, ", ");
		text_add_clean(t, text_or(d->certainty, "certainty unknown"), 24);
		text_add(t, "; modelled)");
	} else if (d->kind) {
		text_add(t, " (");
		text_add_clean(t, d->kind, 24);
		text_add(t, ")");
	}
}

void workload_add_drives(const struct vsan_group *g, const char *role, struct text *t)
{
	bool any = false;

	for (size_t i = 0; i < g->nr_devices;) {
		const struct vsan_device *d = &g->devices[i];
		size_t n = 1;

		while (i + n < g->nr_devices && same_drive(d, &g->devices[i + n]))
			n++;
		i += n;
		if (strcmp(text_or(d->role, ""), role))
			continue;
		text_add(t, any ? ", " : "");
		if (n > 1)
			text_printf(t, "%zu x ", n);
		add_drive(d, t);
		any = true;
	}
}

/* "TITLE (condition, certainty)". */
static void add_model(const struct vsan_device *d, struct text *t)
{
	text_add_clean(t, text_or(d->title, text_or(d->name, "?")), 60);
	text_add(t, " (");
	text_add_clean(t, text_or(d->condition, "condition unknown"), 24);
	text_add(t, ", ");
	text_add_clean(t, text_or(d->certainty, "certainty unknown"), 24);
	text_add(t, ")");
}

void workload_add_models(const struct run *run, struct text *t, struct text_list *seen)
{
	struct text_list own = {0};
	struct text one = {0};

	seen = seen ? seen : &own;
	for (size_t i = 0; i < run->nr_groups; i++) {
		for (size_t k = 0; k < run->groups[i].nr_devices; k++) {
			const struct vsan_device *d = &run->groups[i].devices[k];

			if (!d->kind || strcmp(d->kind, "modelled"))
				continue;
			text_free(&one);
			add_model(d, &one);
			if (!one.s || text_list_has(seen, one.s))
				continue;
			text_printf(t, "%s%s", t->len ? ", " : "", one.s);
			if (text_list_add(seen, "%s", one.s))
				t->failed = true;
		}
	}
	text_free(&one);
	text_list_free(&own);
}
