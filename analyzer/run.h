/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of one run: what readers fill and statistics and renderers read. A run has jobs, a job
 * has directions (read, write, trim), a direction has rates and latencies; beside them lie fio's
 * logs and what the engine wrote about each disk group.
 *
 * Units are fixed here, whatever a file used: bytes, bytes/s, IOPS, ns, ms. A run is filled by one
 * thread and then only read.
 */
#ifndef ANALYZER_RUN_H
#define ANALYZER_RUN_H

#include "latency_bins.h"
#include "text.h"
#include "vsan_telemetry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_direction {
	RUN_READ,
	RUN_WRITE,
	RUN_TRIM,
	RUN_MIXED, /* unified_rw_reporting: all of them in one */
	RUN_NR_DIRECTIONS,
};

/* "read", "write", "trim", "mixed": as fio names them. Constant text. */
const char *run_direction_name(enum run_direction d);

struct latency_percentile {
	double percent;
	double ns;
};

struct latency {
	bool given;     /* the result has this latency at all */
	uint64_t count; /* completions counted; where fio gives none, the direction's I/Os */
	double min_ns, max_ns, mean_ns, stddev_ns;
	struct latency_percentile *percentiles; /* fio's own list, ascending */
	size_t nr_percentiles, cap_percentiles;
	struct latency_bins bins; /* empty unless json+ */
};

struct direction {
	bool given;
	uint64_t ios;
	uint64_t bytes;
	double iops;
	double bytes_per_sec;
	double runtime_msec;
	struct latency clat, lat;
};

struct fio_option {
	char *name;
	char *value;
};

struct fio_options {
	struct fio_option *items;
	size_t nr, cap;
};

struct run_job {
	char *name;
	char *host; /* client/server runs, else NULL */
	unsigned int group;
	int error; /* errno of the first error, 0 if none */
	uint64_t nr_errors;
	double start_msec;   /* wall clock, ms since the epoch; 0 where fio does not say */
	double elapsed_msec; /* ramp included */
	struct fio_options options;
	struct direction directions[RUN_NR_DIRECTIONS];
};

enum fio_log_kind {
	FIO_LOG_IOPS,
	FIO_LOG_BW,
	FIO_LOG_LAT,
	FIO_LOG_CLAT,
	FIO_LOG_SLAT,
	FIO_LOG_NR_KINDS,
};

struct run_log {
	char *path;
	enum fio_log_kind kind;
	unsigned int number; /* fio's number of the job, 1-based; 0: all jobs in one file */
};

struct run {
	char *label;
	char *path;                 /* as given */
	char *json_path;            /* NULL when the folder holds no fio result */
	char *fio_version;          /* "fio-3.33"; NULL without a result */
	char *time;                 /* as fio wrote it; may be NULL */
	struct fio_options options; /* global options */
	struct run_job *jobs;
	size_t nr_jobs, cap_jobs;
	struct run_log *logs;
	size_t nr_logs, cap_logs;
	struct vsan_group *groups; /* by group number */
	size_t nr_groups, cap_groups;
	struct text_list warnings; /* what the readers had to forgive, one line each */
};

/* Value of a job's option: its own, else the global one, else NULL. */
const char *run_option(const struct run *r, const struct run_job *j, const char *name);

/* Set or replace an option. Returns 0 or -ENOMEM. */
int fio_options_set(struct fio_options *o, const char *name, const char *value);
const char *fio_options_get(const struct fio_options *o, const char *name);
void fio_options_free(struct fio_options *o);

/* Append an empty job, log or group; NULL when out of memory. The run owns it. */
struct run_job *run_add_job(struct run *r);
struct run_log *run_add_log(struct run *r);
struct vsan_group *run_add_group(struct run *r);

/* Add one completion percentile, kept ascending; a repeated one replaces. Returns 0 or -ENOMEM. */
int latency_add_percentile(struct latency *l, double percent, double ns);

/*
 * Keep only the jobs whose name matches the shell pattern @pattern. Returns how many are left.
 * fio's logs are numbered by job and carry no name, so they are left as they are.
 */
size_t run_select_jobs(struct run *r, const char *pattern);

/* Free all that a run holds, not the run itself. */
void run_free(struct run *r);

#endif
