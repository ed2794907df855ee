/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the telemetry share: telemetry.c (its life and the jobs), telemetry_log.c (the
 * time series), telemetry_json.c, summary.c (for the person, and the warnings).
 */
#ifndef VSAN_TELEMETRY_IMPL_H
#define VSAN_TELEMETRY_IMPL_H

#include <pthread.h>

#include "telemetry.h"

/* Every device can fail, and there are a few other reasons. */
#define TELEMETRY_WARNINGS_MAX (1 + DG_MAX_CAPACITY + 8)

struct telemetry_job {
	struct telemetry_job *next;
	unsigned int number;
	char *name;
	double start_msec, end_msec; /* end: negative while it runs */
};

/* What a device did: at first its counters at telemetry_open(), after the end what came on top. */
struct device_totals {
	uint64_t ios[3], bytes[3], nsec[3]; /* by enum dev_op */
	uint64_t errors;
};

/* The time series. Everything but the thread's handle is under telemetry.lock. */
struct telemetry_log {
	char *path;
	FILE *file;  /* NULL: none, or closed */
	int err;     /* the first error while writing; nothing is written after it */
	long length; /* of what was written in whole rows, bytes */
	pthread_t thread;
	pthread_cond_t wake;
	bool runs, stop;
	struct dg_stats last;    /* where the next row begins */
	struct dg_stats pending; /* where it ends, if has_pending */
	bool has_pending;
};

struct telemetry {
	struct disk_group *group;
	unsigned int number, msec;
	char *prefix, *fio_version;
	struct telemetry_option *options;
	size_t noptions;

	pthread_mutex_t lock; /* log, jobs */
	struct telemetry_log log;
	struct telemetry_job *jobs, **jobs_tail;

	/* From telemetry_finish() on, for reading. */
	struct dg_stats final;
	struct device_totals device[1 + DG_MAX_CAPACITY];
	double begin_msec, end_msec; /* from the first job's start to the last one's end */
	char *warning[TELEMETRY_WARNINGS_MAX];
	unsigned int nwarnings;
	bool finished;
};

/* ms from the group's start to @ns on its clock: the time of the log, the JSON and the jobs. */
double stats_msec(const struct dg_stats *s, uint64_t ns);

/*
 * telemetry_log.c: create the log and start the thread that writes it; t->prefix is set. 0 or
 * -errno, described; then there is nothing to close.
 */
int telemetry_log_open(struct telemetry *t, struct report *r);

/* A job row; @now is a snapshot taken under t->lock, which is held. Without a log: nothing. */
void telemetry_log_job(struct telemetry *t, const struct dg_stats *now, unsigned int number,
		       const char *name);

/*
 * Stop the thread. After it t->final may be taken. Without a log, or twice: nothing.
 */
void telemetry_log_stop(struct telemetry *t);

/*
 * Write what is left up to t->final, when @finish, and close. Returns 0 or the -errno of the first
 * row that could not be written, described. Without a log: 0.
 */
int telemetry_log_close(struct telemetry *t, bool finish, struct report *r);

/* telemetry_json.c: remove the JSON of an earlier run, so that it never lies beside a newer log. */
int telemetry_json_remove(const struct telemetry *t, struct report *r);
int telemetry_json_write(const struct telemetry *t, struct report *r);

/* summary.c: fill t->warning from what t->final and t->device say. */
void telemetry_collect_warnings(struct telemetry *t);

#endif
