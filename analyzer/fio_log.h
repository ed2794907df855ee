/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads fio's iops, bw, lat, clat and slat logs by streaming; memory does not grow with the file.
 *
 * The columns depend on fio's version and options and no header names them: the first is the time
 * in ms, the second the value, and the direction is the third, or the fourth when the log has mean
 * and maximum (log_window_value=both). Everything behind is of no interest here. Any thread.
 */
#ifndef ANALYZER_FIO_LOG_H
#define ANALYZER_FIO_LOG_H

#include "engine/report.h"
#include "text.h"

#include <stdbool.h>
#include <stdint.h>

#define FIO_LOG_COLUMNS_MAX 8

/* What the result beside the log says about it; {0} when there is none. */
struct fio_log_hint {
	bool window_both;   /* log_window_value=both */
	double window_msec; /* log_avg_msec; 0: not given */
};

struct fio_log_layout {
	unsigned int columns;
	unsigned int direction_column; /* 2 or 3, counted from 0 */
	bool per_io;                   /* a row per I/O and not per window */
	double window_msec;            /* usual length of a window; 0 when per_io */
	double first_msec;             /* time of the first row */
	bool empty;                    /* no rows at all: normal for very short runs */
};

struct fio_log_row {
	double time_msec;
	double value;
	unsigned int direction; /* 0 read, 1 write, 2 trim, 3 sync */
};

/*
 * Find the layout from the first rows of @path and @hint. Returns 0, or a negative errno with one
 * line in @r: -EINVAL for what is no such log or cannot be told apart.
 */
int fio_log_detect(const char *path, const struct fio_log_hint *hint, struct fio_log_layout *out,
		   struct report *r);

/*
 * Call @row for each row of the file. A last line that is cut off is left out with a line in
 * @warnings. Returns 0, the first value that @row returned when not 0, or a negative errno with one
 * line in @r.
 */
int fio_log_stream(const char *path, const struct fio_log_layout *layout,
		   int (*row)(const struct fio_log_row *, void *), void *data,
		   struct text_list *warnings, struct report *r);

#endif
