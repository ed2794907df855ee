/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From what a person names on the command line to the model: [LABEL=]PATH, where PATH is a fio
 * result or the folder of one run's files. docs/analyzer.md has the rules in words. Any thread.
 */
#ifndef ANALYZER_RUN_LOAD_H
#define ANALYZER_RUN_LOAD_H

#include "run.h"

struct run_set {
	struct run *runs;
	size_t nr, cap;
};

/* How much of a run is needed. */
enum run_need {
	RUN_NEED_RESULT = 1,  /* there must be a fio result */
	RUN_NEED_SAMPLES = 2, /* read the engine's time series; it must be there */
	RUN_WANT_SAMPLES = 4, /* read the engine's time series if it is there */
};

/*
 * Load one argument and append it to @set; @job is a shell pattern of job names, or NULL. Returns
 * 0, or a negative errno with one line in @r. A label that is taken gives -EEXIST.
 */
int run_set_add(struct run_set *set, const char *argument, const char *job, unsigned int needs,
		struct report *r);

/* Index of the run with that label, or -1. */
long run_set_find(const struct run_set *set, const char *label);

void run_set_free(struct run_set *set);

#endif
