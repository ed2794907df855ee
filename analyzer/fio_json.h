/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a fio result, JSON or json+, of fio 2.1 and later, into the model. A file may hold several
 * documents (--status-interval): they are cumulative, the last whole one is the result. Any thread.
 */
#ifndef ANALYZER_FIO_JSON_H
#define ANALYZER_FIO_JSON_H

#include "run.h"

#include <stdbool.h>

/* Whether the beginning of a file (@len bytes) looks like a fio JSON result. */
bool fio_json_probe(const char *head, size_t len);

/*
 * Read @path into @run: version, time, options, jobs. What had to be forgiven goes to
 * run->warnings. Returns 0, or a negative errno with one line in @r.
 */
int fio_json_read(const char *path, struct run *run, struct report *r);

#endif
