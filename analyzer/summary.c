/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints the jobs of runs; see summary.h. */
#include "summary.h"

#include "doubts.h"
#include "facts.h"
#include "notes.h"
#include "table.h"
#include "workload.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define NAME_WIDTH 24

/* The rows of a run: each direction of each job, then all jobs together. */
struct row {
	const struct run *run;
	const struct run_job *job; /* NULL: all jobs */
	int part;
	uint64_t ios;
	struct measure measures[METRIC_NR];
};

typedef int (*row_fn)(const struct row *, void *);

static bool part_exists(const struct row *row)
{
	const char *why = row->measures[METRIC_IOPS].why;

	return why != why_no_io && why != why_mixed_io;
}

/* The parts of one job, or of all jobs if @job is the number of jobs. */
static int each_part(const struct run *run, size_t job, row_fn fn, void *data)
{
	bool all = job == run->nr_jobs;
	unsigned int directions = 0;

	for (int part = 0; part < PART_NR; part++) {
		struct row row = {.run = run, .job = all ? NULL : &run->jobs[job], .part = part};
		int ret;

		row.ios = all ? measure_run(run, part, row.measures)
			      : measure_jobs(run, job, 1, part, row.measures);
		if (!part_exists(&row))
			continue;
		directions += part != PART_TOTAL;
		/* Totals stand at the end only, and not when they would repeat a row. */
		if (part == PART_TOTAL ? !all || directions < 2 : all && run->nr_jobs == 1)
			continue;
		ret = fn(&row, data);
		if (ret)
			return ret;
	}
	return 0;
}

static int each_row(const struct run *run, row_fn fn, void *data)
{
	int ret = 0;

	for (size_t i = 0; i <= run->nr_jobs && !ret; i++)
		ret = each_part(run, i, fn, data);
	return ret;
}

struct table_rows {
	struct table table;
	struct notes *notes;
	const struct run_job *last;
};

static void add_measure(struct table *t, const struct row *row, enum metric m, struct notes *notes)
{
	const struct measure *v = &row->measures[m];
	struct text cell = {0};

	if (v->why == why_no_io)
		text_add(&cell, "-");
	else if (v->why)
		text_printf(&cell, "n/a [%u]", notes_number(notes, v->why));
	else if (m == METRIC_IOPS)
		text_add_number(&cell, v->value, v->value < 100 ? 1 : 0);
	else
		text_add_rounded(&cell, v->value);
	table_cell_take(t, &cell);
}

static int table_row(const struct row *row, void *data)
{
	struct table_rows *rows = data;
	struct text cell = {0};

	if (!row->job) {
		text_add(&cell,
			 row->part == PART_TOTAL && row->run->nr_jobs == 1 ? "" : "all jobs");
	} else if (row->job != rows->last) {
		text_add_clean(&cell, row->job->name, NAME_WIDTH);
		if (row->job->host) {
			text_add(&cell, "@");
			text_add_clean(&cell, row->job->host, NAME_WIDTH);
		}
	}
	rows->last = row->job;
	table_cell_take(&rows->table, &cell);
	table_cell(&rows->table, "%s", part_name(row->part));
	text_add_number(&cell, (double)row->ios, 0);
	table_cell_take(&rows->table, &cell);
	for (int m = 0; m < METRIC_NR; m++)
		add_measure(&rows->table, row, (enum metric)m, rows->notes);
	return rows->table.failed ? -ENOMEM : 0;
}

static int print_run_table(const struct run *run, struct notes *notes, FILE *f)
{
	struct table_rows rows = {.table = {.nr_columns = 3 + METRIC_NR}, .notes = notes};
	struct text_list doubts = {0};
	struct text line = {0};
	int ret;

	text_add_clean(&line, run->label, 80);
	fprintf(f, "%s\n", line.s ? line.s : "");
	ret = facts_print(run, f, 2);
	table_cell(&rows.table, "job");
	table_cell(&rows.table, "%s", "");
	table_cell(&rows.table, "I/Os");
	for (int m = 0; m < METRIC_NR; m++) {
		enum metric metric = (enum metric)m;

		table_cell(&rows.table, "%s%s%s", metric_name(metric),
			   *metric_unit(metric) ? " " : "", metric_unit(metric));
	}
	for (unsigned int c = 2; c < rows.table.nr_columns; c++)
		rows.table.right[c] = true;
	if (!ret)
		ret = each_row(run, table_row, &rows);
	if (!ret) {
		fputc('\n', f);
		table_print(&rows.table, f, true, 2);
		ret = run_doubts(run, &doubts);
	}
	for (size_t i = 0; i < doubts.nr; i++)
		fprintf(f, "  warning: %s\n", doubts.items[i]);
	text_free(&line);
	workload_add_models(run, &line, NULL);
	if (line.len)
		fprintf(f, "  note: modelled drives: %s\n", line.s);
	text_free(&line);
	text_list_free(&doubts);
	table_free(&rows.table);
	return ret;
}

static int print_table(const struct run_set *set, FILE *f)
{
	struct notes notes = {0};
	int ret = 0;

	for (size_t i = 0; i < set->nr && !ret; i++) {
		if (i)
			fputc('\n', f);
		ret = print_run_table(&set->runs[i], &notes, f);
	}
	if (!ret) {
		fputs("\nMB/s are 10^6 bytes/s; latencies are completion latencies\n", f);
		notes_print(&notes, f);
	}
	return ret;
}

static int csv_row(const struct row *row, void *data)
{
	FILE *f = data;
	const char *why = "";

	csv_write_field(f, row->run->label);
	fputc(',', f);
	csv_write_field(f, row->job ? row->job->name : "(all)");
	fputc(',', f);
	csv_write_field(f, row->job && row->job->host ? row->job->host : "");
	fprintf(f, ",%s,%llu", part_name(row->part), (unsigned long long)row->ios);
	for (int m = 0; m < METRIC_NR; m++) {
		fputc(',', f);
		csv_write_number(f, row->measures[m].why ? NAN : row->measures[m].value);
		if (row->measures[m].why && !*why)
			why = row->measures[m].why;
	}
	fputc(',', f);
	csv_write_field(f, why);
	fputs("\r\n", f);
	return 0;
}

static void print_csv(const struct run_set *set, FILE *f)
{
	fputs("label,job,host,part,ios", f);
	for (int m = 0; m < METRIC_NR; m++)
		fprintf(f, ",%s", metric_key((enum metric)m));
	fputs(",why_not\r\n", f);
	for (size_t i = 0; i < set->nr; i++)
		each_row(&set->runs[i], csv_row, f);
}

static int json_row(const struct row *row, void *data)
{
	json_t *rows = data, *o = json_object(), *why = json_object();

	json_object_set_new(o, "job", row->job ? json_clean_string(row->job->name) : json_null());
	if (row->job) {
		json_object_set_new(o, "host",
				    row->job->host ? json_clean_string(row->job->host)
						   : json_null());
		json_object_set_new(o, "group", json_integer(row->job->group));
		json_object_set_new(o, "error", json_integer(row->job->error));
	}
	json_object_set_new(o, "part", json_string(part_name(row->part)));
	json_object_set_new(o, "ios", json_integer((json_int_t)row->ios));
	for (int m = 0; m < METRIC_NR; m++) {
		const struct measure *v = &row->measures[m];
		const char *key = metric_key((enum metric)m);

		json_object_set_new(o, key, v->why ? json_null() : json_real(v->value));
		if (v->why)
			json_object_set_new(why, key, json_string(v->why));
	}
	json_object_set_new(o, "why_not", why);
	return json_array_append_new(rows, o) ? -ENOMEM : 0;
}

static int print_json(const struct run_set *set, FILE *f)
{
	json_t *runs = json_array();
	int ret = runs ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->nr && !ret; i++) {
		const struct run *run = &set->runs[i];
		json_t *o = json_object(), *rows = json_array();
		struct text_list doubts = {0};

		ret = each_row(run, json_row, rows);
		if (!ret)
			ret = run_doubts(run, &doubts);
		json_object_set_new(o, "label", json_clean_string(run->label));
		json_object_set_new(o, "facts", facts_json(run));
		json_object_set_new(o, "rows", rows);
		json_object_set_new(o, "warnings", json_string_list(&doubts));
		text_list_free(&doubts);
		if (json_array_append_new(runs, o))
			ret = -ENOMEM;
	}
	if (!ret && json_dumpf(runs, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10)))
		ret = -ENOMEM;
	json_decref(runs);
	fputc('\n', f);
	return ret;
}

int summary_print(const struct run_set *set, enum output_format format, FILE *f)
{
	switch (format) {
	case OUTPUT_CSV:
		print_csv(set, f);
		return 0;
	case OUTPUT_JSON:
		return print_json(set, f);
	case OUTPUT_TABLE:
		break;
	}
	return print_table(set, f);
}
