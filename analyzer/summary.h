/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints what is in runs, job by job, as a table, CSV or JSON. Any thread. */
#ifndef ANALYZER_SUMMARY_H
#define ANALYZER_SUMMARY_H

#include "comparison.h"

/* Print all of @set to @f. Returns 0 or -ENOMEM. */
int summary_print(const struct run_set *set, enum output_format format, FILE *f);

#endif
