/* SPDX-License-Identifier: GPL-2.0-only */
/* Measures a part of a run's time; see window.h. */
#include "window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char why_series[] = "the time series holds rates and means only";

static bool parse_second(const char *s, const char *end, double fallback, double *msec)
{
	char *stop;
	double v;

	if (s == end) {
		*msec = fallback;
		return true;
	}
	v = strtod(s, &stop);
	*msec = v * 1000;
	return stop == end && isfinite(v) && v >= 0;
}

int window_parse(const char *s, struct window *w, struct report *r)
{
	const char *colon = strchr(s, ':');

	*w = (struct window){0};
	if (!strcmp(s, "before-full")) {
		w->kind = WINDOW_BEFORE_FULL;
		return 0;
	}
	if (!strcmp(s, "after-full")) {
		w->kind = WINDOW_AFTER_FULL;
		return 0;
	}
	if (!colon || !parse_second(s, colon, 0, &w->from_msec) ||
	    !parse_second(colon + 1, s + strlen(s), INFINITY, &w->to_msec) ||
	    w->from_msec >= w->to_msec)
		return report(
			r, -EINVAL,
			"--window=%s: give FROM:TO in seconds (10:30, 10:, :30), before-full or "
			"after-full",
			s);
	return 0;
}

const char *window_resolve(const struct window *w, const struct vsan_group *g, double *from_msec,
			   double *to_msec)
{
	double start = INFINITY, end = 0;

	if (!g->nr_samples)
		return "the engine wrote no time series (write_vsan_log=PREFIX)";
	for (size_t i = 0; i < g->nr_jobs; i++) {
		start = fmin(start, g->jobs[i].start_msec);
		end = isfinite(g->jobs[i].end_msec) ? fmax(end, g->jobs[i].end_msec) : INFINITY;
	}
	if (!g->nr_jobs)
		start = 0;
	end = g->nr_jobs ? end : INFINITY;
	end = fmin(end, g->samples[g->nr_samples - 1].time_msec);
	switch (w->kind) {
	case WINDOW_RANGE:
		start = fmax(start, w->from_msec);
		end = fmin(end, w->to_msec);
		break;
	case WINDOW_BEFORE_FULL:
		end = fmin(end, isnan(g->first_full_msec) ? INFINITY : g->first_full_msec);
		break;
	case WINDOW_AFTER_FULL:
		if (isnan(g->first_full_msec))
			return "the write buffer never filled in this run";
		start = fmax(start, g->first_full_msec);
		break;
	}
	*from_msec = start;
	*to_msec = end;
	return start < end ? NULL : "the window lies outside the run";
}

void window_measure(const struct vsan_group *g, double from_msec, double to_msec, int part,
		    struct measure *out)
{
	double time = 0, ios = 0, bytes = 0, latency = 0, last = 0;

	for (int m = 0; m < METRIC_NR; m++)
		out[m] = (struct measure){NAN, why_series};
	if (part == RUN_TRIM || part == RUN_MIXED) {
		for (int m = 0; m < METRIC_NR; m++)
			out[m].why = why_no_io;
		return;
	}
	for (size_t i = 0; i < g->nr_samples; i++) {
		const struct vsan_sample *s = &g->samples[i];
		double covered = fmin(s->time_msec, to_msec) - fmax(last, from_msec);

		last = s->time_msec;
		if (covered <= 0)
			continue;
		time += covered;
		for (int d = 0; d < 2; d++) {
			if (part != PART_TOTAL && part != d)
				continue;
			if (!(s->iops[d] > 0))
				continue;
			ios += s->iops[d] * covered;
			bytes += s->bytes_per_sec[d] * covered;
			latency += s->latency_usec[d] * s->iops[d] * covered;
		}
	}
	if (time <= 0 || ios <= 0) {
		for (int m = 0; m < METRIC_NR; m++)
			out[m].why = why_no_io;
		return;
	}
	out[METRIC_IOPS] = (struct measure){.value = ios / time};
	out[METRIC_MBPS] = (struct measure){.value = bytes / time / 1e6};
	out[METRIC_MEAN] = (struct measure){.value = latency / ios};
}
