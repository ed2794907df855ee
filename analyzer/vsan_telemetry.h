/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engine wrote about one disk group: PREFIX_vsan.N.json and PREFIX_vsan.N.log, as a part
 * of the model. vsan_json.c and vsan_log.c fill it. Filled by one thread and then only read.
 */
#ifndef ANALYZER_VSAN_TELEMETRY_H
#define ANALYZER_VSAN_TELEMETRY_H

#include "engine/report.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row of the log: the interval that ends at @time_msec on the group's clock. */
struct vsan_sample {
	double time_msec;
	double iops[2];               /* read, write */
	double bytes_per_sec[2];      /* read, write */
	double latency_usec[2];       /* read, write */
	double wb_free_pct;           /* NAN when the log does not have it */
	double destage_bytes_per_sec; /* NAN when the log does not have it */
	double congestion;            /* the highest of the kinds, 0..255; NAN when not given */
};

struct vsan_device {
	char *role; /* "cache", "capacity" */
	char *name;
	char *kind;                  /* "modelled", "memory", "file", "block" */
	char *condition;             /* "steady", "fresh" or NULL */
	char *title;                 /* of the profile, or NULL */
	char *certainty;             /* of the profile, or NULL */
	double ios[2], usec_mean[2]; /* read, write */
	uint64_t errors;
	bool failed;
};

/* A job's time on the group's clock. end_msec NAN when not known. */
struct vsan_job {
	unsigned int number; /* fio's, 1-based */
	char *name;
	double start_msec;
	double end_msec;
};

struct vsan_option {
	char *name;
	char *value;
};

struct vsan_group {
	unsigned int number;
	char *json_path; /* NULL: there is none */
	char *log_path;  /* NULL: there is none */
	bool modelled;
	struct vsan_option *options;
	size_t nr_options, cap_options;
	struct vsan_device *devices;
	size_t nr_devices, cap_devices;
	struct vsan_job *jobs;
	size_t nr_jobs, cap_jobs;
	struct vsan_sample *samples;
	size_t nr_samples, cap_samples;
	struct text_list warnings;           /* the engine's own */
	double fill_start_pct, fill_max_pct; /* NAN when not known */
	double first_full_msec;              /* NAN: never, or not known */
	double volume_bytes;                 /* sum; NAN when not known */
	double reads[3];                     /* blocks: buffer, capacity, never written */
	bool has_lateness;
	double lateness_p50_usec, lateness_p99_usec, lateness_max_usec;
};

/* Value of an effective engine option, or NULL. */
const char *vsan_option_get(const struct vsan_group *g, const char *name);

/* The job with that number, or NULL. */
const struct vsan_job *vsan_job_find(const struct vsan_group *g, unsigned int number);

/*
 * Set or add a job's start. @name is copied. Returns 0 or -ENOMEM.
 */
int vsan_job_set(struct vsan_group *g, unsigned int number, const char *name, double start_msec);

/*
 * Read the JSON at g->json_path into @g, whose number must be set. Returns 0, or a negative errno
 * with one line in @r.
 */
int vsan_json_read(struct vsan_group *g, struct report *r);

/*
 * Read the log at g->log_path into @g: samples in order of time, and job rows. A last line that is
 * cut off is left out with a line in @warnings. Returns 0, or a negative errno with one line in @r.
 */
int vsan_log_read(struct vsan_group *g, struct text_list *warnings, struct report *r);

void vsan_group_free(struct vsan_group *g);

#endif
