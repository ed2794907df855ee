/* SPDX-License-Identifier: GPL-2.0-only */
/* Detects the columns of fio's logs and streams their rows; see fio_log.h. */
#include "fio_log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are looked at to find the layout. */
#define SAMPLE_ROWS 2000

/*
 * Numbers of one line, at most @max of them. Returns how many there are, 0 when the line is not
 * made of numbers and commas. A line has few columns, but a histogram log has thousands: count on.
 */
static unsigned int parse_line(const char *s, double *v, unsigned int max)
{
	unsigned int n = 0;

	for (;;) {
		char *end;
		double value = strtod(s, &end); /* "0x0001" of log_prio as well */

		if (end == s)
			return 0;
		if (n < max)
			v[n] = value;
		n++;
		s = end;
		while (*s == ' ' || *s == '\t')
			s++;
		if (*s == '\0' || *s == '\n' || *s == '\r')
			return n;
		if (*s++ != ',')
			return 0;
	}
}

static bool is_direction(double v)
{
	return v == 0 || v == 1 || v == 2 || v == 3;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What the first rows have in common. */
struct sample {
	unsigned int rows, columns;
	bool third_is_direction, fourth_is_direction;
	bool fourth_is_zero;
	bool third_below_value; /* once: so the third is not the maximum of a window */
	bool all_ones;
	double first, last[4];
	bool seen[4];
	double gaps[SAMPLE_ROWS];
	unsigned int nr_gaps;
};

static void sample_row(struct sample *s, const double *v)
{
	unsigned int d;

	if (!s->rows)
		s->first = v[0];
	s->rows++;
	s->third_is_direction &= is_direction(v[2]);
	s->fourth_is_direction &= is_direction(v[3]);
	s->fourth_is_zero &= v[3] == 0;
	s->third_below_value |= v[2] < v[1];
	s->all_ones &= v[1] == 1;
	/* Which column is the direction is not known yet: either separates the rows well enough. */
	d = is_direction(v[2]) ? (unsigned int)v[2] : is_direction(v[3]) ? (unsigned int)v[3] : 0;
	if (s->seen[d] && s->nr_gaps < SAMPLE_ROWS)
		s->gaps[s->nr_gaps++] = v[0] - s->last[d];
	s->seen[d] = true;
	s->last[d] = v[0];
}

static int choose_direction(const char *path, const struct fio_log_hint *hint,
			    const struct sample *s, struct fio_log_layout *out, struct report *r)
{
	bool third = s->third_is_direction;
	bool fourth = s->fourth_is_direction && s->columns >= 6;

	if (hint->window_both && fourth) {
		out->direction_column = 3;
		return 0;
	}
	/* The fourth is the block size: 0 in logs of windows, else hardly ever below 4. */
	if (third && fourth && (s->fourth_is_zero || s->third_below_value))
		fourth = false;
	if (third && fourth)
		return report(r, -EINVAL,
			      "%s:1: cannot tell which column is the direction; put the fio "
			      "result, which "
			      "names log_window_value, beside it",
			      path);
	if (!third && !fourth)
		return report(r, -EINVAL,
			      "%s:1: no column holds a direction (0, 1 or 2); not a log of fio",
			      path);
	out->direction_column = third ? 2 : 3;
	return 0;
}

static int settle_layout(const char *path, const struct fio_log_hint *hint, struct sample *s,
			 struct fio_log_layout *out, struct report *r)
{
	double window = hint->window_msec;

	out->columns = s->columns;
	out->first_msec = s->first;
	/* Without log_avg_msec fio writes a row per I/O, whose IOPS it gives as 1. */
	out->per_io = window <= 0 && s->all_ones;
	if (window <= 0 && s->nr_gaps) {
		qsort(s->gaps, s->nr_gaps, sizeof(*s->gaps), compare_doubles);
		window = s->gaps[(s->nr_gaps - 1) / 2];
	}
	if (window <= 0)
		window = s->first > 0 && s->first < 1e9 ? s->first : 1000;
	out->window_msec = out->per_io ? 0 : window;
	return choose_direction(path, hint, s, out, r);
}

int fio_log_detect(const char *path, const struct fio_log_hint *hint, struct fio_log_layout *out,
		   struct report *r)
{
	struct sample *s;
	unsigned int line_nr = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *f;
	int ret = 0;

	*out = (struct fio_log_layout){0};
	f = fopen(path, "re");
	if (!f) {
		ret = -errno;
		return report(r, ret, "%s: %s", path, strerror(-ret));
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		fclose(f);
		return report(r, -ENOMEM, "%s: no memory", path);
	}
	s->third_is_direction = s->fourth_is_direction = s->fourth_is_zero = s->all_ones = true;
	while (s->rows < SAMPLE_ROWS && (len = getline(&line, &cap, f)) > 0) {
		double v[FIO_LOG_COLUMNS_MAX] = {0};
		unsigned int n;

		line_nr++;
		if (line[len - 1] != '\n')
			break;
		n = parse_line(line, v, FIO_LOG_COLUMNS_MAX);
		if (n < 4 || n > FIO_LOG_COLUMNS_MAX || (s->rows && n != s->columns)) {
			ret = report(
				r, -EINVAL,
				"%s:%u: not a row of a fio log (4 to 8 numbers, as many in each)",
				path, line_nr);
			goto out;
		}
		s->columns = n;
		sample_row(s, v);
	}
	if (!s->rows)
		out->empty = true;
	else
		ret = settle_layout(path, hint, s, out, r);
out:
	free(s);
	free(line);
	fclose(f);
	return ret;
}

int fio_log_stream(const char *path, const struct fio_log_layout *layout,
		   int (*row)(const struct fio_log_row *, void *), void *data,
		   struct text_list *warnings, struct report *r)
{
	unsigned long long line_nr = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *f;
	int ret = 0;

	if (layout->empty)
		return 0;
	f = fopen(path, "re");
	if (!f) {
		ret = -errno;
		return report(r, ret, "%s: %s", path, strerror(-ret));
	}
	while (!ret && (len = getline(&line, &cap, f)) > 0) {
		double v[FIO_LOG_COLUMNS_MAX];

		line_nr++;
		if (line[len - 1] != '\n') {
			text_list_add(warnings, "%s:%llu: the last line is cut off; left out", path,
				      line_nr);
			break;
		}
		if (parse_line(line, v, FIO_LOG_COLUMNS_MAX) != layout->columns ||
		    !is_direction(v[layout->direction_column])) {
			ret = report(r, -EINVAL,
				     "%s:%llu: not a row like those before; the file is damaged",
				     path, line_nr);
			break;
		}
		ret = row(&(struct fio_log_row){v[0], v[1],
						(unsigned int)v[layout->direction_column]},
			  data);
	}
	if (!ret && ferror(f))
		ret = report(r, -EIO, "%s:%llu: cannot read on", path, line_nr);
	free(line);
	fclose(f);
	return ret;
}
