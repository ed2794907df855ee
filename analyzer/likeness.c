/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds what is not alike between runs; see likeness.h. */
#include "likeness.h"

#include "workload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Run times within this of each other are alike. */
#define RUNTIME_SLACK 0.02

/* Percent of the write buffer. */
#define FILL_SLACK 1.0

#define VALUE_WIDTH 60

/* One fact of every run; NULL where a run does not have it. */
struct fact {
	const struct run_set *set;
	const char *name;
	char **values;
};

static bool fact_init(struct fact *f, const struct run_set *set, const char *name)
{
	*f = (struct fact){.set = set, .name = name};
	f->values = calloc(set->nr, sizeof(*f->values));
	return f->values != NULL;
}

static void fact_free(struct fact *f)
{
	for (size_t i = 0; i < f->set->nr; i++)
		free(f->values[i]);
	free(f->values);
}

/* A run that lacks the fact is as good as any. */
static bool fact_alike(const struct fact *f)
{
	const char *first = NULL;

	for (size_t i = 0; i < f->set->nr; i++) {
		if (!f->values[i])
			continue;
		if (first && strcmp(first, f->values[i]))
			return false;
		first = f->values[i];
	}
	return true;
}

/* "NAME: LABEL value, LABEL value". */
static int fact_add_line(const struct fact *f, struct text_list *out)
{
	struct text t = {0};
	bool any = false;
	int ret;

	text_printf(&t, "%s: ", f->name);
	for (size_t i = 0; i < f->set->nr; i++) {
		if (!f->values[i])
			continue;
		text_add(&t, any ? ", " : "");
		text_add_clean(&t, f->set->runs[i].label, 24);
		text_add(&t, " ");
		text_add_clean(&t, *f->values[i] ? f->values[i] : "(none)", VALUE_WIDTH);
		any = true;
	}
	ret = t.failed ? -ENOMEM : text_list_add(out, "%s", t.s);
	text_free(&t);
	return ret;
}

/* Warn about a fact that is text. @get may return NULL: not known. */
static int check_text(const struct run_set *set, const struct workload *w, const char *name,
		      const char *(*get)(const struct run *, const struct workload *),
		      struct text_list *out)
{
	struct fact f;
	int ret = 0;

	if (!fact_init(&f, set, name))
		return -ENOMEM;
	for (size_t i = 0; i < set->nr && !ret; i++) {
		const char *s = get(&set->runs[i], &w[i]);

		if (s && strcmp(s, "?")) {
			f.values[i] = strdup(s);
			ret = f.values[i] ? 0 : -ENOMEM;
		}
	}
	if (!ret && !fact_alike(&f))
		ret = fact_add_line(&f, out);
	fact_free(&f);
	return ret;
}

/* Warn about a number whose spread is more than @slack (a share if @relative). */
static int check_number(const struct run_set *set, const struct workload *w, const char *name,
			double (*get)(const struct run *, const struct workload *), double slack,
			bool relative, const char *unit, struct text_list *out)
{
	double low = INFINITY, high = -INFINITY;
	struct fact f;
	int ret = 0;

	if (!fact_init(&f, set, name))
		return -ENOMEM;
	for (size_t i = 0; i < set->nr && !ret; i++) {
		double v = get(&set->runs[i], &w[i]);
		struct text t = {0};

		if (!isfinite(v))
			continue;
		low = fmin(low, v);
		high = fmax(high, v);
		text_printf(&t, "%.4g%s", v, unit);
		f.values[i] = t.s;
		ret = t.failed ? -ENOMEM : 0;
	}
	if (!ret && high - low > slack * (relative ? high : 1))
		ret = fact_add_line(&f, out);
	fact_free(&f);
	return ret;
}

static const char *get_version(const struct run *r, const struct workload *w)
{
	(void)w;
	return r->fio_version && strcmp(r->fio_version, "unknown") ? r->fio_version : NULL;
}

static const char *get_pattern(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->pattern.s;
}

static const char *get_block_size(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->block_size.s;
}

static const char *get_depth(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->depth.s;
}

static const char *get_working_set(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->working_set.s;
}

static const char *get_engine(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->engine.s;
}

static double get_runtime(const struct run *r, const struct workload *w)
{
	(void)r;
	return w->runtime_msec > 0 ? w->runtime_msec / 1000 : NAN;
}

static double get_ramp(const struct run *r, const struct workload *w)
{
	return r->nr_jobs ? w->ramp_msec / 1000 : NAN;
}

static double get_fill(const struct run *r, const struct workload *w)
{
	(void)w;
	return r->nr_groups ? r->groups[0].fill_start_pct : NAN;
}

/* What a comparison is made for: a difference here is the subject, not a mistake. */
static bool is_subject(const char *option)
{
	static const char *const subjects[] = {"cache_device", "cache_condition",
					       "capacity_devices", "capacity_condition", "target"};

	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (!strcmp(option, subjects[i]))
			return true;
	return false;
}

/* Options that say where to write, or that only seed what is random anyway. */
static bool is_harmless(const char *option)
{
	return !strcmp(option, "write_vsan_log") || !strcmp(option, "drive_seed");
}

static const struct vsan_group *find_group(const struct run *r, unsigned int number)
{
	for (size_t i = 0; i < r->nr_groups; i++)
		if (r->groups[i].number == number && r->groups[i].nr_options)
			return &r->groups[i];
	return NULL;
}

static int check_option(const struct run_set *set, unsigned int group, const char *name,
			struct likeness *l, struct text_list *subjects)
{
	struct fact f;
	int ret = 0;

	if (!fact_init(&f, set, name))
		return -ENOMEM;
	for (size_t i = 0; i < set->nr && !ret; i++) {
		const struct vsan_group *g = find_group(&set->runs[i], group);
		const char *v = g ? vsan_option_get(g, name) : NULL;

		if (!g)
			continue;
		f.values[i] = strdup(v ? v : "");
		ret = f.values[i] ? 0 : -ENOMEM;
	}
	if (!ret && !fact_alike(&f)) {
		if (is_subject(name)) {
			ret = fact_add_line(&f, &l->differs);
			if (!ret && !text_list_has(subjects, name))
				ret = text_list_add(subjects, "%s", name);
		} else if (is_harmless(name)) {
			ret = fact_add_line(&f, &l->differs);
		} else {
			ret = fact_add_line(&f, &l->warnings);
		}
	}
	fact_free(&f);
	return ret;
}

static int warn_of_several(const struct text_list *subjects, struct likeness *l)
{
	struct text t = {0};
	int ret;

	if (subjects->nr < 2)
		return 0;
	for (size_t i = 0; i < subjects->nr; i++)
		text_printf(&t, "%s%s", i ? ", " : "", subjects->items[i]);
	ret = t.failed ? -ENOMEM
		       : text_list_add(
				 &l->warnings,
				 "more than one thing differs (%s): no ratio is the effect of one "
				 "of them alone",
				 t.s);
	text_free(&t);
	return ret;
}

static int check_options(const struct run_set *set, struct likeness *l)
{
	struct text_list seen = {0}, subjects = {0};
	int ret = 0;

	for (size_t i = 0; i < set->nr && !ret; i++) {
		for (size_t k = 0; k < set->runs[i].nr_groups && !ret; k++) {
			const struct vsan_group *g = &set->runs[i].groups[k];

			for (size_t o = 0; o < g->nr_options && !ret; o++) {
				const char *name = g->options[o].name;
				char key[160];

				snprintf(key, sizeof(key), "%u %s", g->number, name);
				if (text_list_has(&seen, key) || !strcmp(name, "write_vsan_log"))
					continue;
				ret = text_list_add(&seen, "%s", key);
				if (!ret)
					ret = check_option(set, g->number, name, l, &subjects);
			}
		}
	}
	if (!ret)
		ret = warn_of_several(&subjects, l);
	text_list_free(&subjects);
	text_list_free(&seen);
	return ret;
}

static int check_facts(const struct run_set *set, const struct workload *w, struct likeness *l)
{
	static const struct {
		const char *name;
		const char *(*get)(const struct run *, const struct workload *);
	} facts[] = {
		{"fio version", get_version},     {"access pattern", get_pattern},
		{"block size", get_block_size},   {"queue depth", get_depth},
		{"working set", get_working_set},
	};
	int ret = check_text(set, w, "ioengine", get_engine, &l->differs);

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !ret; i++)
		ret = check_text(set, w, facts[i].name, facts[i].get, &l->warnings);
	if (!ret)
		ret = check_number(set, w, "run time", get_runtime, RUNTIME_SLACK, true, " s",
				   &l->warnings);
	if (!ret)
		ret = check_number(set, w, "ramp time", get_ramp, RUNTIME_SLACK, true, " s",
				   &l->warnings);
	if (!ret)
		ret = check_number(set, w, "write buffer fill at start", get_fill, FILL_SLACK,
				   false, "%", &l->warnings);
	return ret;
}

int likeness_check(const struct run_set *set, struct likeness *l)
{
	struct workload *w = calloc(set->nr ? set->nr : 1, sizeof(*w));
	int ret = w ? 0 : -ENOMEM;

	*l = (struct likeness){0};
	for (size_t i = 0; i < set->nr && !ret; i++)
		ret = workload_derive(&set->runs[i], &w[i]);
	if (!ret)
		ret = check_facts(set, w, l);
	if (!ret)
		ret = check_options(set, l);
	for (size_t i = 0; i < set->nr && w; i++)
		workload_free(&w[i]);
	free(w);
	return ret;
}

void likeness_free(struct likeness *l)
{
	text_list_free(&l->differs);
	text_list_free(&l->warnings);
}
