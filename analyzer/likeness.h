/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether runs may be compared at all: what is not alike between them. Pure functions of the model.
 */
#ifndef ANALYZER_LIKENESS_H
#define ANALYZER_LIKENESS_H

#include "run_load.h"

struct likeness {
	struct text_list differs;  /* what was compared: the drives, their condition, the engine */
	struct text_list warnings; /* what should have been alike and is not; one line each */
};

/*
 * Compare all runs of @set. Drives and conditions that differ are what a comparison is for, so they
 * are facts; as soon as more than one of them differs, one warning says that the ratio is not the
 * effect of any one alone. Returns 0 or -ENOMEM; free @l either way.
 */
int likeness_check(const struct run_set *set, struct likeness *l);
void likeness_free(struct likeness *l);

#endif
