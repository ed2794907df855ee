/* SPDX-License-Identifier: GPL-2.0-only */
/* What telemetry.c, telemetry_json.c and summary.c share. */
#ifndef VSAN_TELEMETRY_IMPL_H
#define VSAN_TELEMETRY_IMPL_H

#include <pthread.h>

#include "telemetry.h"

#define WARNINGS_MAX 16

struct telemetry_job {
	struct telemetry_job *next;
	unsigned int number;
	char *name;
	double start_msec, end_msec; /* end: negative while it runs */
};

struct telemetry {
	struct disk_group *group;
	unsigned int number, msec;
	char *prefix, *fio_version;
	struct telemetry_option *options;
	size_t noptions;

	pthread_mutex_t lock; /* log, jobs, last */
	pthread_cond_t wake;
	pthread_t thread;
	bool runs, stop;
	FILE *log;
	int log_error;
	struct telemetry_job *jobs, **jobs_tail;
	struct dg_stats last; /* of the last row */

	struct dg_stats final;
	char *warning[WARNINGS_MAX];
	unsigned int nwarnings;
	bool finished;
};

double stats_msec(const struct dg_stats *s, uint64_t ns); /* a clock value on the log's clock */
int telemetry_write_json(struct telemetry *t, struct report *r);
void telemetry_collect_warnings(struct telemetry *t);

#endif
