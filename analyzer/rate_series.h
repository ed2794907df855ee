/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rate over time, summed from intervals of different lengths: each puts rate x time into the
 * steps that it covers, so jobs add up correctly although their logs tick at different moments, and
 * time without any interval counts as zero. Not shared between threads.
 */
#ifndef ANALYZER_RATE_SERIES_H
#define ANALYZER_RATE_SERIES_H

#include <stddef.h>

/* Step i covers [i, i + 1) x step_msec. Start with {.step_msec = ...}. */
struct rate_series {
	double step_msec;
	double *amounts; /* rate x ms */
	size_t nr, cap;
};

/* A series of more steps is refused: its times are wrong, or the step is too short for it. */
#define RATE_SERIES_MAX ((size_t)1 << 20)

/*
 * Add @rate over [@from, @to) ms; what lies before 0 is left out. Returns 0, -ENOMEM, or -E2BIG
 * when it would need more than RATE_SERIES_MAX steps.
 */
int rate_series_add(struct rate_series *s, double from, double to, double rate);

/* Mean rate of step @i; 0 behind the end. */
double rate_series_at(const struct rate_series *s, size_t i);

void rate_series_free(struct rate_series *s);

#endif
