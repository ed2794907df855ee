/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs beside each other, with their ratios to a baseline: built from the model, printed as a
 * table, CSV or JSON. Any thread.
 */
#ifndef ANALYZER_COMPARISON_H
#define ANALYZER_COMPARISON_H

#include "likeness.h"
#include "measure.h"
#include "run_load.h"
#include "window.h"

#include <stdio.h>

enum output_format {
	OUTPUT_TABLE,
	OUTPUT_CSV,
	OUTPUT_JSON,
};

/* A run, or in a window one disk group of a run. */
struct comparison_column {
	char *label;
	const struct run *run;
	struct measure measures[PART_NR][METRIC_NR];
	bool has_window;
	double from_msec, to_msec;
	const char *no_window; /* why there is none; constant text */
};

struct comparison {
	const struct run_set *set;
	const struct window *window; /* NULL: whole runs, from fio's result */
	struct comparison_column *columns;
	size_t nr, cap;
	size_t baseline; /* column */
	struct likeness likeness;
	struct text_list warnings; /* of single runs, with their labels */
};

/*
 * Compare the runs of @set with run @baseline, over @window if that is not NULL. @set and @window
 * must outlive @c. Returns 0 or a negative errno with one line in @r; free @c either way.
 */
int comparison_build(struct comparison *c, const struct run_set *set, size_t baseline,
		     const struct window *window, struct report *r);

/* Ratio of a column's figure to the baseline's; NAN when either has no value or that is 0. */
double comparison_ratio(const struct comparison *c, size_t column, int part, enum metric m);

/* Whether any column has I/O in that part. A total of one part only is left out. */
bool comparison_has_part(const struct comparison *c, int part);

/* The metrics that are shown: with a window only rates and means. */
int comparison_nr_metrics(const struct comparison *c);

/* Print. Returns 0 or -ENOMEM. */
int comparison_print(const struct comparison *c, enum output_format format, FILE *f);

void comparison_free(struct comparison *c);

#endif
