/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads PREFIX_vsan.N.log, the engine's time series, by streaming through libcsv; columns are found
 * by name, so logs with more or fewer of them can be read. See vsan_telemetry.h.
 */
#include "vsan_telemetry.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is taken from the log; the order is that of names[]. */
enum column {
	COL_ROW,
	COL_TIME,
	COL_IOPS_READ,
	COL_IOPS_WRITE,
	COL_BYTES_READ,
	COL_BYTES_WRITE,
	COL_LATENCY_READ,
	COL_LATENCY_WRITE,
	COL_WB_FREE,
	COL_DRAINED,
	COL_DRAIN_RATE,
	COL_SSD_CONGESTION,
	COL_LOG_CONGESTION,
	COL_MEM_CONGESTION,
	COL_NR,
};

static const char *const names[COL_NR] = {
	"row",
	"time",
	"iopsRead",
	"iopsWrite",
	"throughputRead",
	"throughputWrite",
	"latencyAvgRead",
	"latencyAvgWrite",
	"wbFreePct",
	"ssdBytesDrained",
	"currentDrainRate",
	"ssdCongestion",
	"logCongestion",
	"memCongestion",
};

#define FIELDS_MAX 256
#define LINE_TEXT  256 /* of a field that is kept; job names longer than that are cut */

struct reader {
	struct vsan_group *g;
	struct report *r;
	unsigned int line; /* of the row that is being read */
	int err;
	bool has_header;
	int column_of[FIELDS_MAX]; /* field number -> enum column, -1 none */
	bool known[COL_NR];
	unsigned int nr_columns; /* of the header */
	/* the row being read */
	unsigned int nr_fields;
	bool is_job, is_sample;
	double values[COL_NR];
	double job_time;
	unsigned int job_number;
	char job_name[LINE_TEXT];
	bool bad_number;
	char bad_text[32];
};

static void fail(struct reader *p, int err, const char *what)
{
	if (!p->err)
		p->err = report(p->r, err, "%s:%u: %s", p->g->log_path, p->line, what);
}

static double number(struct reader *p, const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end) {
		if (!p->bad_number)
			snprintf(p->bad_text, sizeof(p->bad_text), "%s", s);
		p->bad_number = true;
		return NAN;
	}
	return v;
}

static void header_field(struct reader *p, const char *s)
{
	p->column_of[p->nr_fields] = -1;
	for (int c = 0; c < COL_NR; c++) {
		if (!strcmp(s, names[c]) && !p->known[c]) {
			p->column_of[p->nr_fields] = c;
			p->known[c] = true;
		}
	}
}

static void job_field(struct reader *p, const char *s)
{
	double n;

	switch (p->nr_fields) {
	case 1:
		p->job_time = number(p, s);
		break;
	case 2:
		n = number(p, s);
		p->job_number = n >= 1 && n <= 1e6 ? (unsigned int)n : 0;
		break;
	case 3:
		snprintf(p->job_name, sizeof(p->job_name), "%s", s);
		break;
	default:
		break;
	}
}

static void on_field(void *field, size_t len, void *data)
{
	struct reader *p = data;
	const char *s = field ? field : "";

	(void)len;
	if (p->err)
		return;
	if (p->nr_fields >= FIELDS_MAX) {
		fail(p, -EINVAL, "more than 256 columns; not the engine's log");
		return;
	}
	if (!p->has_header) {
		header_field(p, s);
	} else if (p->nr_fields == 0) {
		p->is_job = !strcmp(s, "job");
		p->is_sample = !strcmp(s, "sample");
	} else if (p->is_job) {
		job_field(p, s);
	} else if (p->is_sample && p->nr_fields < p->nr_columns) {
		int c = p->column_of[p->nr_fields];

		if (c >= 0)
			p->values[c] = number(p, s);
	}
	p->nr_fields++;
}

static void end_header(struct reader *p)
{
	p->has_header = true;
	p->nr_columns = p->nr_fields;
	if (!p->known[COL_ROW] || p->column_of[0] != COL_ROW || !p->known[COL_TIME])
		fail(p, -EINVAL,
		     "no header with \"row\" first and \"time\"; not the engine's log, rename the "
		     "file");
}

static void end_sample(struct reader *p)
{
	struct vsan_group *g = p->g;
	const double *v = p->values;
	struct vsan_sample *s;

	if (p->nr_fields != p->nr_columns) {
		fail(p, -EINVAL, "not as many fields as the header has; the file is damaged");
		return;
	}
	if (!isfinite(v[COL_TIME]) ||
	    (g->nr_samples && v[COL_TIME] < g->samples[g->nr_samples - 1].time_msec)) {
		fail(p, -EINVAL, "time goes backwards; the file is damaged or two were joined");
		return;
	}
	if (array_grow(&g->samples, g->nr_samples, &g->cap_samples, sizeof(*g->samples))) {
		fail(p, -ENOMEM, "no memory");
		return;
	}
	s = &g->samples[g->nr_samples++];
	*s = (struct vsan_sample){
		.time_msec = v[COL_TIME],
		.iops = {v[COL_IOPS_READ], v[COL_IOPS_WRITE]},
		.bytes_per_sec = {v[COL_BYTES_READ], v[COL_BYTES_WRITE]},
		.latency_usec = {v[COL_LATENCY_READ], v[COL_LATENCY_WRITE]},
		.wb_free_pct = v[COL_WB_FREE],
		/* Counted bytes of the interval; the current rate may be a smoothed one. */
		.destage_bytes_per_sec = p->known[COL_DRAINED] ? v[COL_DRAINED] : v[COL_DRAIN_RATE],
		/* What slows writers is the highest; fmax() leaves out what is not given. */
		.congestion = fmax(fmax(v[COL_SSD_CONGESTION], v[COL_LOG_CONGESTION]),
				   v[COL_MEM_CONGESTION]),
	};
}

static void end_job(struct reader *p)
{
	if (p->nr_fields < 3 || !p->job_number || !isfinite(p->job_time))
		fail(p, -EINVAL, "a job row needs a time and a number; the file is damaged");
	else if (vsan_job_set(p->g, p->job_number, p->job_name, p->job_time))
		fail(p, -ENOMEM, "no memory");
}

static void on_row(int last, void *data)
{
	struct reader *p = data;

	(void)last;
	if (p->err)
		return;
	if (p->bad_number) {
		char what[96];

		snprintf(what, sizeof(what), "'%s' is no number; the file is damaged", p->bad_text);
		fail(p, -EINVAL, what);
	} else if (!p->has_header) {
		end_header(p);
	} else if (p->is_job) {
		end_job(p);
	} else if (p->is_sample) {
		end_sample(p);
	} /* rows of other kinds belong to a later version */
	p->nr_fields = 0;
	p->is_job = p->is_sample = false;
	p->job_name[0] = '\0';
	for (int c = 0; c < COL_NR; c++)
		p->values[c] = NAN;
}

/*
 * Feed one line. libcsv drops empty lines without a word, so lines are counted here; a quoted name
 * may go on over several.
 */
static void feed_line(struct reader *p, struct csv_parser *csv, const char *line, size_t len)
{
	p->line++;
	if (csv_parse(csv, line, len, on_field, on_row, p) != len && !p->err)
		fail(p, -EINVAL, "a quote is in the wrong place; the file is damaged");
}

int vsan_log_read(struct vsan_group *g, struct text_list *warnings, struct report *r)
{
	struct reader p = {.g = g, .r = r};
	struct csv_parser csv;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *f;
	int ret;

	f = fopen(g->log_path, "re");
	if (!f) {
		ret = -errno;
		return report(r, ret, "%s: %s", g->log_path, strerror(-ret));
	}
	if (csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL)) {
		fclose(f);
		return report(r, -ENOMEM, "%s: no memory", g->log_path);
	}
	for (int c = 0; c < COL_NR; c++)
		p.values[c] = NAN;
	while (!p.err && (len = getline(&line, &cap, f)) > 0) {
		if (line[len - 1] != '\n') {
			/* The engine ends every line: what has no end was being written. */
			text_list_add(warnings, "%s:%u: the last line is cut off; left out",
				      g->log_path, p.line + 1);
			break;
		}
		feed_line(&p, &csv, line, (size_t)len);
	}
	/* After an error csv_fini() would still hand over half a row. */
	if (!p.err && ferror(f))
		fail(&p, -EIO, "cannot read on");
	if (!p.err && csv_fini(&csv, on_field, on_row, &p))
		fail(&p, -EINVAL, "a quote does not end; the file is damaged");
	if (!p.err && !p.has_header) {
		p.line = 1;
		fail(&p, -EINVAL, "empty; remove the file or run fio again");
	}
	csv_free(&csv);
	free(line);
	fclose(f);
	return p.err;
}
