/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a group's telemetry, and when its jobs began and ended. The files are written by
 * telemetry_log.c and telemetry_json.c, the summary by summary.c.
 *
 * telemetry_open(), _finish(), _summary() and _close() are called by one thread after the other;
 * jobs come and go in their own threads.
 */
#include "telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_impl.h"

/* A device counts from its opening on; formatting and filling it are no part of the run. */
static void add_devices(struct telemetry *t, bool subtract)
{
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		const struct dev_stats *s = &disk_group_device(t->group, i)->stats;
		struct device_totals *d = &t->device[i];

		for (int op = DEV_READ; op <= DEV_FLUSH; op++) {
			d->ios[op] = s->ios[op] - (subtract ? d->ios[op] : 0);
			d->bytes[op] = s->bytes[op] - (subtract ? d->bytes[op] : 0);
			d->nsec[op] = s->nsec[op] - (subtract ? d->nsec[op] : 0);
		}
		d->errors = s->errors - (subtract ? d->errors : 0);
	}
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

int telemetry_open(struct telemetry **out, const struct telemetry_setup *s, struct report *r)
{
	struct telemetry *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return report(r, -ENOMEM, "no memory for the run's telemetry");
	t->group = s->group;
	t->number = s->number;
	t->msec = s->msec ? s->msec : 1;
	t->jobs_tail = &t->jobs;
	pthread_mutex_init(&t->lock, NULL);
	t->prefix = copy(s->prefix);
	t->fio_version = strdup(s->fio_version ? s->fio_version : "");
	t->options = calloc(s->noptions ? s->noptions : 1, sizeof(*t->options));
	if (!t->options || !t->fio_version || (s->prefix && !t->prefix)) {
		err = report(r, -ENOMEM, "no memory for the run's telemetry");
		goto fail;
	}
	if (s->noptions)
		memcpy(t->options, s->options, s->noptions * sizeof(*t->options));
	t->noptions = s->noptions;
	add_devices(t, false);
	if (t->prefix) {
		err = telemetry_log_open(t, r);
		if (err)
			goto fail;
	}
	*out = t;
	return 0;

fail:
	telemetry_close(t);
	return err;
}

void telemetry_job_start(struct telemetry *t, unsigned int number, const char *name)
{
	struct telemetry_job *j;
	struct dg_stats now;

	if (!t)
		return;
	if (!name)
		name = "";
	j = calloc(1, sizeof(*j));
	if (j)
		j->name = strdup(name);
	pthread_mutex_lock(&t->lock);
	/* Under the lock: rows of the log are in the order of time. */
	disk_group_stats(t->group, &now);
	if (j && j->name) {
		j->number = number;
		j->start_msec = stats_msec(&now, now.now_ns);
		j->end_msec = -1;
		*t->jobs_tail = j;
		t->jobs_tail = &j->next;
		j = NULL;
	}
	telemetry_log_job(t, &now, number, name);
	pthread_mutex_unlock(&t->lock);
	free(j);
}

void telemetry_job_end(struct telemetry *t, unsigned int number)
{
	struct dg_stats now;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	disk_group_stats(t->group, &now);
	for (struct telemetry_job *j = t->jobs; j; j = j->next)
		if (j->number == number && j->end_msec < 0)
			j->end_msec = stats_msec(&now, now.now_ns);
	pthread_mutex_unlock(&t->lock);
}

/* When there was I/O: from the first job's start to the last one's end, else the group's time. */
static void find_span(struct telemetry *t)
{
	double now = stats_msec(&t->final, t->final.now_ns);

	t->begin_msec = t->jobs ? now : 0;
	t->end_msec = t->jobs ? 0 : now;
	for (struct telemetry_job *j = t->jobs; j; j = j->next) {
		if (j->end_msec < 0)
			j->end_msec = now; /* it was given up */
		if (j->start_msec < t->begin_msec)
			t->begin_msec = j->start_msec;
		if (j->end_msec > t->end_msec)
			t->end_msec = j->end_msec;
	}
}

int telemetry_finish(struct telemetry *t, struct report *r)
{
	int err, ret;

	telemetry_log_stop(t);
	disk_group_stats(t->group, &t->final);
	add_devices(t, true);
	find_span(t);
	t->finished = true;
	err = telemetry_log_close(t, true, r);
	telemetry_collect_warnings(t);
	/* A log that is not whole is no reason to lose the rest. */
	ret = t->prefix ? telemetry_json_write(t, r) : 0;
	return err ? err : ret;
}

void telemetry_close(struct telemetry *t)
{
	if (!t)
		return;
	telemetry_log_stop(t);
	telemetry_log_close(t, false, NULL);
	for (struct telemetry_job *j = t->jobs, *next; j; j = next) {
		next = j->next;
		free(j->name);
		free(j);
	}
	for (unsigned int i = 0; i < t->nwarnings; i++)
		free(t->warning[i]);
	pthread_mutex_destroy(&t->lock);
	free(t->prefix);
	free(t->fio_version);
	free(t->options);
	free(t);
}
