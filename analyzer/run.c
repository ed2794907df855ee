/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds and frees the model of one run; see run.h. */
#include "run.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const char *run_direction_name(enum run_direction d)
{
	static const char *const names[] = {"read", "write", "trim", "mixed"};

	return names[d];
}

const char *fio_options_get(const struct fio_options *o, const char *name)
{
	for (size_t i = 0; i < o->nr; i++)
		if (!strcmp(o->items[i].name, name))
			return o->items[i].value;
	return NULL;
}

int fio_options_set(struct fio_options *o, const char *name, const char *value)
{
	struct fio_option new = {strdup(name), strdup(value)};

	if (!new.name || !new.value)
		goto fail;
	for (size_t i = 0; i < o->nr; i++) {
		if (!strcmp(o->items[i].name, name)) {
			free(o->items[i].name);
			free(o->items[i].value);
			o->items[i] = new;
			return 0;
		}
	}
	if (array_grow(&o->items, o->nr, &o->cap, sizeof(*o->items)))
		goto fail;
	o->items[o->nr++] = new;
	return 0;
fail:
	free(new.value);
	free(new.name);
	return -ENOMEM;
}

void fio_options_free(struct fio_options *o)
{
	for (size_t i = 0; i < o->nr; i++) {
		free(o->items[i].name);
		free(o->items[i].value);
	}
	free(o->items);
	*o = (struct fio_options){0};
}

const char *run_option(const struct run *r, const struct run_job *j, const char *name)
{
	const char *value = j ? fio_options_get(&j->options, name) : NULL;

	return value ? value : fio_options_get(&r->options, name);
}

/* Append a zeroed element to an array of the run. */
static void *add_zeroed(void *items, size_t *nr, size_t *cap, size_t size)
{
	void **array = items;
	char *p;

	if (array_grow(array, *nr, cap, size))
		return NULL;
	p = (char *)*array + *nr * size;
	memset(p, 0, size);
	(*nr)++;
	return p;
}

struct run_job *run_add_job(struct run *r)
{
	return add_zeroed(&r->jobs, &r->nr_jobs, &r->cap_jobs, sizeof(*r->jobs));
}

struct run_log *run_add_log(struct run *r)
{
	return add_zeroed(&r->logs, &r->nr_logs, &r->cap_logs, sizeof(*r->logs));
}

struct vsan_group *run_add_group(struct run *r)
{
	return add_zeroed(&r->groups, &r->nr_groups, &r->cap_groups, sizeof(*r->groups));
}

int latency_add_percentile(struct latency *l, double percent, double ns)
{
	size_t i = l->nr_percentiles;
	int ret;

	while (i && l->percentiles[i - 1].percent >= percent)
		i--;
	if (i < l->nr_percentiles && l->percentiles[i].percent == percent) {
		l->percentiles[i].ns = ns;
		return 0;
	}
	ret = array_grow(&l->percentiles, l->nr_percentiles, &l->cap_percentiles,
			 sizeof(*l->percentiles));
	if (ret)
		return ret;
	memmove(&l->percentiles[i + 1], &l->percentiles[i],
		(l->nr_percentiles - i) * sizeof(*l->percentiles));
	l->percentiles[i] = (struct latency_percentile){percent, ns};
	l->nr_percentiles++;
	return 0;
}

static void latency_free(struct latency *l)
{
	free(l->percentiles);
	latency_bins_free(&l->bins);
}

static void job_free(struct run_job *j)
{
	for (int d = 0; d < RUN_NR_DIRECTIONS; d++) {
		latency_free(&j->directions[d].clat);
		latency_free(&j->directions[d].lat);
	}
	fio_options_free(&j->options);
	free(j->host);
	free(j->name);
}

size_t run_select_jobs(struct run *r, const char *pattern)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->nr_jobs; i++) {
		if (fnmatch(pattern, r->jobs[i].name, 0))
			job_free(&r->jobs[i]);
		else
			r->jobs[kept++] = r->jobs[i];
	}
	r->nr_jobs = kept;
	return kept;
}

void run_free(struct run *r)
{
	for (size_t i = 0; i < r->nr_jobs; i++)
		job_free(&r->jobs[i]);
	for (size_t i = 0; i < r->nr_logs; i++)
		free(r->logs[i].path);
	for (size_t i = 0; i < r->nr_groups; i++)
		vsan_group_free(&r->groups[i]);
	text_list_free(&r->warnings);
	fio_options_free(&r->options);
	free(r->groups);
	free(r->logs);
	free(r->jobs);
	free(r->time);
	free(r->fio_version);
	free(r->json_path);
	free(r->path);
	free(r->label);
	*r = (struct run){0};
}
