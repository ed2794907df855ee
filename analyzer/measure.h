/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The figures that runs are compared by, from the model: pure statistics, no reading, no printing.
 *
 * A figure that cannot be had soundly has no value but a reason. Rates of several jobs are I/Os (or
 * bytes) over the longest run time, which counts a job's idle time as zero; means are weighted by
 * completions; percentiles of several jobs, or of reads and writes together, come only from merged
 * json+ bins, because percentiles cannot be added or averaged.
 */
#ifndef ANALYZER_MEASURE_H
#define ANALYZER_MEASURE_H

#include "run.h"

enum metric {
	METRIC_IOPS,
	METRIC_MBPS, /* 10^6 bytes/s */
	METRIC_MEAN, /* completion latency, us, as all below */
	METRIC_P50,
	METRIC_P95,
	METRIC_P99,
	METRIC_P999,
	METRIC_MAX,
	METRIC_NR,
};

/* Metrics that compare prints: all but the maximum, which one outlier makes. */
#define METRIC_NR_COMPARED METRIC_MAX

/* Parts of a run: its directions (enum run_direction) and all of them together. */
#define PART_TOTAL ((int)RUN_NR_DIRECTIONS)
#define PART_NR    ((int)RUN_NR_DIRECTIONS + 1)

struct measure {
	double value;
	const char *why; /* NULL: the value is good; else why there is none, constant text */
};

/* Reasons that mean: this part has no I/O of its own. */
extern const char why_no_io[], why_mixed_io[];

/* "read", "write", "trim", "mixed", "total". Constant text. */
const char *part_name(int part);

/* Key for files ("iops", "p99_9_us"), name for people ("p99.9"), and unit ("us", ""). */
const char *metric_key(enum metric m);
const char *metric_name(enum metric m);
const char *metric_unit(enum metric m);
double metric_percent(enum metric m); /* 50, 95, ...; NAN when it is no percentile */

/*
 * Measure jobs [first, first + nr) of @run, @part being a direction or PART_TOTAL, into
 * @out[METRIC_NR]. Returns the number of I/Os, 0 when that part has none.
 */
uint64_t measure_jobs(const struct run *run, size_t first, size_t nr, int part,
		      struct measure *out);

/* The same for all jobs of the run. */
uint64_t measure_run(const struct run *run, int part, struct measure *out);

/*
 * Merge the completion bins of all jobs that did I/O in @part. False, and *@why says so, when there
 * are none, or a job has none. The caller frees *@out either way.
 */
bool measure_merge_bins(const struct run *run, size_t first, size_t nr, int part,
			struct latency_bins *out, const char **why);

#endif
