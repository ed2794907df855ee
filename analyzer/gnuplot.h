/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs gnuplot on a script file, without a shell. Any thread. */
#ifndef ANALYZER_GNUPLOT_H
#define ANALYZER_GNUPLOT_H

#include "engine/report.h"

/*
 * Run @program (looked for in PATH unless it holds a '/') in @folder on @script there, with the
 * variable picture set to @picture. Both names must be safe inside single quotes of gnuplot.
 * Returns 0; -ENOEXEC when the program is not there; -EIO with what gnuplot said in @r.
 */
int gnuplot_run(const char *program, const char *folder, const char *script, const char *picture,
		struct report *r);

#endif
