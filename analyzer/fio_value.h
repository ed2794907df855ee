/* SPDX-License-Identifier: GPL-2.0-only */
/* The values fio writes as text: sizes, times, its version. Pure functions. */
#ifndef ANALYZER_FIO_VALUE_H
#define ANALYZER_FIO_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A size option as fio reads it with kb_base=1024: "4k", "4096B", "1M", "1MiB", "0x1000". All
 * prefixes are binary, as fio's default has it. False when it is none (a percentage, say).
 */
bool fio_size(const char *s, uint64_t *bytes);

/* A time option in ms, as fio reads it: "60", "60s", "1m", "1h", "500ms", "100us". */
bool fio_time_msec(const char *s, double *msec);

/* "fio-3.33", "fio-2.1.4", "fio-3.33-12-gabcdef" as FIO_VERSION(3, 33) etc.; 0 if unknown. */
unsigned int fio_version_number(const char *version);

#define FIO_VERSION(major, minor) ((major)*1000u + (minor))

#endif
