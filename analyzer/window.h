/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of a run's time, measured from the engine's time series: before and after the write buffer
 * filled, or from second A to second B on the group's clock. Pure functions of the model.
 */
#ifndef ANALYZER_WINDOW_H
#define ANALYZER_WINDOW_H

#include "engine/report.h"
#include "measure.h"

enum window_kind {
	WINDOW_RANGE,
	WINDOW_BEFORE_FULL,
	WINDOW_AFTER_FULL,
};

struct window {
	enum window_kind kind;
	double from_msec, to_msec; /* of WINDOW_RANGE; to INFINITY: to the end */
};

/*
 * Read "FROM:TO" in seconds, either of which may be left out, "before-full" or "after-full".
 * Returns 0, or -EINVAL with one line in @r.
 */
int window_parse(const char *s, struct window *w, struct report *r);

/*
 * The window's place on the clock of @g. It begins with the first job's I/O and ends with the
 * last's at most. Returns NULL, or why there is no such time in that run (constant text).
 */
const char *window_resolve(const struct window *w, const struct vsan_group *g, double *from_msec,
			   double *to_msec);

/*
 * Measure @g over [@from_msec, @to_msec): METRIC_IOPS, METRIC_MBPS and METRIC_MEAN of @out, the
 * others have no value. An interval that lies partly inside counts with that part.
 */
void window_measure(const struct vsan_group *g, double from_msec, double to_msec, int part,
		    struct measure *out);

#endif
