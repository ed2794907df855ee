/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a run leaves behind: the vSAN log (a time series of the group in vSAN's metric names), its
 * JSON (options, devices, totals, warnings), and the summary for the person at the terminal.
 *
 * reference: vSAN's performance service, entities disk-group, cache-disk and capacity-disk, for the
 * names.
 */
#ifndef VSAN_TELEMETRY_H
#define VSAN_TELEMETRY_H

#include <stdio.h>

#include "disk_group.h"
#include "report.h"

struct telemetry;

struct telemetry_option {
	const char *name; /* constant text */
	char value[4096];
};

struct telemetry_setup {
	struct disk_group *group;
	unsigned int number; /* N of the file names, from 1 */
	const char *prefix;  /* PREFIX_vsan.N.log and .json; NULL: no files */
	unsigned int msec;   /* between rows */
	const char *fio_version;
	const struct telemetry_option *options; /* copied */
	size_t noptions;
};

/*
 * Begin: after disk_group_start(). With a prefix the log is created and a sampling thread started.
 * -errno, described, when the log cannot be created.
 */
int telemetry_open(struct telemetry **out, const struct telemetry_setup *s, struct report *r);

/* fio job @number (from 1) starts its I/O now / is over. @t may be NULL. Any thread. */
void telemetry_job_start(struct telemetry *t, unsigned int number, const char *name);
void telemetry_job_end(struct telemetry *t, unsigned int number);

/*
 * End of the run: the queues are gone, the group is still open. Stops the sampling, writes the last
 * row and the JSON (to a temporary name, then renamed). -errno, described, when a file could not be
 * written.
 */
int telemetry_finish(struct telemetry *t, struct report *r);

/* After telemetry_finish(): the block for a person. Prints nothing when no I/O was done. */
void telemetry_summary(const struct telemetry *t, FILE *f);

void telemetry_close(struct telemetry *t); /* NULL is fine */

#endif
