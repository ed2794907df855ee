/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a run did, in the terms people compare by: access pattern, mix, block size, depth, jobs,
 * working set, time; and on what: the engine's drives. Derived from options and telemetry; pure.
 */
#ifndef ANALYZER_WORKLOAD_H
#define ANALYZER_WORKLOAD_H

#include "run.h"

/* Texts are for people and for comparing; "?" where the result does not say. */
struct workload {
	struct text pattern;     /* "randrw 70% read", several distinct ones joined by " + " */
	struct text block_size;  /* "4K", "512-256K" */
	struct text depth;       /* "32 (8 jobs x 4)" */
	struct text working_set; /* "6G" */
	struct text engine;      /* "libfio-vsan.so" */
	unsigned int nr_jobs;
	unsigned int total_depth;
	double working_set_bytes; /* NAN: not known */
	double runtime_msec;      /* longest direction of any job */
	double ramp_msec;         /* longest */
};

/* Fill @w from @run. Returns 0 or -ENOMEM; free it either way. */
int workload_derive(const struct run *run, struct workload *w);
void workload_free(struct workload *w);

/* Append the drives of a group that have that role: "3 x NAME (steady, recalled; modelled)". */
void workload_add_drives(const struct vsan_group *g, const char *role, struct text *t);

/*
 * Append "NAME (condition, certainty)" of each modelled drive of the run that is not in @seen yet,
 * which may be NULL; then it is.
 */
void workload_add_models(const struct run *run, struct text *t, struct text_list *seen);

#endif
