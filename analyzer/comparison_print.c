/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a comparison as a table, CSV or JSON; see comparison.h. */
#include "comparison.h"

#include "facts.h"
#include "notes.h"
#include "table.h"
#include "workload.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A table wider than this is printed in blocks of columns. */
#define TABLE_WIDTH  100
#define LABEL_WIDTH  20
#define FIGURE_WIDTH 9  /* what nearly all figures need */
#define RATIO_WIDTH  10 /* with the gaps on both sides */
#define HEAD_WIDTH   16 /* of the columns before the first run's */

static void add_value(struct text *t, const struct measure *v, enum metric m, struct notes *notes)
{
	if (v->why == why_no_io)
		text_add(t, "-");
	else if (v->why)
		text_printf(t, "n/a [%u]", notes_number(notes, v->why));
	else if (m == METRIC_IOPS)
		text_add_number(t, v->value, v->value < 100 ? 1 : 0);
	else
		text_add_rounded(t, v->value);
}

static void add_rows(const struct comparison *c, struct table *t, int part, size_t first,
		     size_t last, struct notes *notes)
{
	for (int m = 0; m < comparison_nr_metrics(c); m++) {
		table_cell(t, "%s", m ? "" : part_name(part));
		table_cell(t, "%s", metric_name((enum metric)m));
		table_cell(t, "%s", metric_unit((enum metric)m));
		for (size_t i = first; i < last; i++) {
			double ratio = comparison_ratio(c, i, part, (enum metric)m);
			struct text cell = {0};

			add_value(&cell, &c->columns[i].measures[part][m], (enum metric)m, notes);
			table_cell_take(t, &cell);
			if (i == c->baseline || isnan(ratio))
				table_cell(t, "%s", "");
			else
				table_cell(t, "%.*fx",
					   ratio < 0.095 ? 4
					   : ratio < 10  ? 2
							 : 1,
					   ratio);
		}
	}
}

/* Where a block that begins with column @first ends, to keep within the width. */
static size_t block_end(const struct comparison *c, size_t first)
{
	unsigned int width = HEAD_WIDTH;
	size_t i = first;

	for (; i < c->nr; i++) {
		unsigned int label = text_width(c->columns[i].label);

		label = label > LABEL_WIDTH ? LABEL_WIDTH : label;
		width += (label > FIGURE_WIDTH ? label : FIGURE_WIDTH) + RATIO_WIDTH;
		if (width > TABLE_WIDTH && i > first)
			break;
	}
	return i;
}

/* One block: the columns [first, last). */
static int print_block(const struct comparison *c, FILE *f, size_t first, size_t last,
		       struct notes *notes)
{
	struct table t = {.nr_columns = 3 + 2 * (unsigned int)(last - first)};
	int ret;

	for (unsigned int k = 3; k < t.nr_columns; k++)
		t.right[k] = true;
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", "");
	table_cell(&t, "%s", "");
	for (size_t i = first; i < last; i++) {
		struct text label = {0};

		text_add_clean(&label, c->columns[i].label, LABEL_WIDTH);
		table_cell_take(&t, &label);
		table_cell(&t, "%s", i == c->baseline ? "" : "ratio");
	}
	for (int part = 0; part < PART_NR; part++)
		if (comparison_has_part(c, part))
			add_rows(c, &t, part, first, last, notes);
	if (!t.failed)
		table_print(&t, f, true, 0);
	ret = t.failed ? -ENOMEM : 0;
	table_free(&t);
	return ret;
}

static void print_window(const struct comparison_column *col, const struct window *w, FILE *f)
{
	static const char *const names[] = {
		[WINDOW_RANGE] = "",
		[WINDOW_BEFORE_FULL] = ", before the write buffer was full for the first time",
		[WINDOW_AFTER_FULL] = ", after the write buffer was full for the first time",
	};

	if (col->has_window)
		fprintf(f, "  window    %.4g s to %.4g s on the group's clock%s\n",
			col->from_msec / 1000, col->to_msec / 1000, names[w->kind]);
	else
		fprintf(f, "  window    none: %s\n", col->no_window);
}

static int print_facts(const struct comparison *c, FILE *f)
{
	fputs("Compared\n", f);
	for (size_t i = 0; i < c->nr; i++) {
		struct text label = {0};
		int ret;

		text_add_clean(&label, c->columns[i].label, 60);
		fprintf(f, " %s%s\n", label.s ? label.s : "",
			i == c->baseline ? " (baseline)" : "");
		text_free(&label);
		ret = facts_print(c->columns[i].run, f, 2);
		if (ret)
			return ret;
		if (c->window)
			print_window(&c->columns[i], c->window, f);
	}
	return 0;
}

/* "LABEL: modelled drives: ..." for each run that has any: never a result of a model unsaid. */
static int print_models(const struct comparison *c, FILE *f)
{
	for (size_t i = 0; i < c->set->nr; i++) {
		struct text label = {0}, models = {0};
		bool failed;

		workload_add_models(&c->set->runs[i], &models, NULL);
		text_add_clean(&label, c->set->runs[i].label, 40);
		failed = models.failed || label.failed;
		if (models.len && !failed)
			fprintf(f, "note: %s: modelled drives: %s\n", label.s, models.s);
		text_free(&models);
		text_free(&label);
		if (failed)
			return -ENOMEM;
	}
	return 0;
}

static int print_table(const struct comparison *c, FILE *f)
{
	struct notes notes = {0};
	int ret = print_facts(c, f);
	size_t first = 0;

	while (first < c->nr && !ret) {
		size_t last = block_end(c, first);

		fputc('\n', f);
		ret = print_block(c, f, first, last, &notes);
		first = last;
	}
	if (ret)
		return ret;
	fputs("\nMB/s are 10^6 bytes/s; latencies are completion latencies", f);
	fputs(c->window ? ", as the engine logged them" : "", f);
	fputs("; a ratio is the run's figure over the baseline's\n", f);
	notes_print(&notes, f);
	for (size_t i = 0; i < c->likeness.differs.nr; i++)
		fprintf(f, "differs: %s\n", c->likeness.differs.items[i]);
	for (size_t i = 0; i < c->likeness.warnings.nr; i++)
		fprintf(f, "warning: not alike: %s\n", c->likeness.warnings.items[i]);
	for (size_t i = 0; i < c->warnings.nr; i++)
		fprintf(f, "warning: %s\n", c->warnings.items[i]);
	return print_models(c, f);
}

static void print_csv(const struct comparison *c, FILE *f)
{
	fputs("label,baseline,part,metric,value,ratio,why_not\r\n", f);
	for (size_t i = 0; i < c->nr; i++) {
		for (int part = 0; part < PART_NR; part++) {
			if (!comparison_has_part(c, part))
				continue;
			for (int m = 0; m < comparison_nr_metrics(c); m++) {
				const struct measure *v = &c->columns[i].measures[part][m];

				csv_write_field(f, c->columns[i].label);
				fputc(',', f);
				csv_write_field(f, c->columns[c->baseline].label);
				fprintf(f, ",%s,%s,", part_name(part), metric_key((enum metric)m));
				csv_write_number(f, v->why ? NAN : v->value);
				fputc(',', f);
				csv_write_number(f, comparison_ratio(c, i, part, (enum metric)m));
				fputc(',', f);
				csv_write_field(f, v->why ? v->why : "");
				fputs("\r\n", f);
			}
		}
	}
}

static json_t *part_json(const struct comparison *c, size_t column, int part)
{
	json_t *o = json_object(), *ratios = json_object(), *why = json_object();

	for (int m = 0; m < comparison_nr_metrics(c); m++) {
		const struct measure *v = &c->columns[column].measures[part][m];
		double ratio = comparison_ratio(c, column, part, (enum metric)m);
		const char *key = metric_key((enum metric)m);

		json_object_set_new(o, key, v->why ? json_null() : json_real(v->value));
		json_object_set_new(ratios, key, isnan(ratio) ? json_null() : json_real(ratio));
		if (v->why)
			json_object_set_new(why, key, json_string(v->why));
	}
	json_object_set_new(o, "ratio", ratios);
	json_object_set_new(o, "why_not", why);
	return o;
}

static json_t *column_json(const struct comparison *c, size_t column)
{
	const struct comparison_column *col = &c->columns[column];
	json_t *o = json_object(), *figures = json_object();

	json_object_set_new(o, "label", json_clean_string(col->label));
	json_object_set_new(o, "facts", facts_json(col->run));
	if (c->window) {
		json_object_set_new(o, "window_s",
				    col->has_window ? json_pack("[f,f]", col->from_msec / 1000,
								col->to_msec / 1000)
						    : json_null());
	}
	for (int part = 0; part < PART_NR; part++)
		if (comparison_has_part(c, part))
			json_object_set_new(figures, part_name(part), part_json(c, column, part));
	json_object_set_new(o, "figures", figures);
	return o;
}

static int print_json(const struct comparison *c, FILE *f)
{
	json_t *o = json_object(), *runs = json_array();
	int ret;

	json_object_set_new(o, "baseline", json_clean_string(c->columns[c->baseline].label));
	for (size_t i = 0; i < c->nr; i++)
		json_array_append_new(runs, column_json(c, i));
	json_object_set_new(o, "runs", runs);
	json_object_set_new(o, "differs", json_string_list(&c->likeness.differs));
	json_object_set_new(o, "not_alike", json_string_list(&c->likeness.warnings));
	json_object_set_new(o, "warnings", json_string_list(&c->warnings));
	ret = o ? json_dumpf(o, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : -1;
	json_decref(o);
	fputc('\n', f);
	return ret ? -ENOMEM : 0;
}

int comparison_print(const struct comparison *c, enum output_format format, FILE *f)
{
	switch (format) {
	case OUTPUT_CSV:
		print_csv(c, f);
		return 0;
	case OUTPUT_JSON:
		return print_json(c, f);
	case OUTPUT_TABLE:
		break;
	}
	return print_table(c, f);
}
