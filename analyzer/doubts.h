/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes a single run's figures doubtful: pure functions of the model. */
#ifndef ANALYZER_DOUBTS_H
#define ANALYZER_DOUBTS_H

#include "run.h"

/*
 * Append one line per doubt, without the run's label: what the readers forgave, I/O errors, too
 * short a run, reads of what was never written, a host too slow for the modelled drive, failed
 * devices, and the engine's own warnings. Returns 0 or -ENOMEM.
 */
int run_doubts(const struct run *run, struct text_list *out);

#endif
