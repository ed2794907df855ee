/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints tables and CSV fields; see table.h. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2 /* blanks between columns */

static struct text *new_cell(struct table *t)
{
	if (t->failed || array_grow(&t->cells, t->nr, &t->cap, sizeof(*t->cells))) {
		t->failed = true;
		return NULL;
	}
	t->cells[t->nr] = (struct text){0};
	return &t->cells[t->nr++];
}

void table_cell(struct table *t, const char *fmt, ...)
{
	struct text *c = new_cell(t);
	va_list ap;
	char *s = NULL;
	int n;

	if (!c)
		return;
	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->failed = true;
		return;
	}
	text_add_bytes(c, s, (size_t)n);
	free(s);
}

void table_cell_take(struct table *t, struct text *text)
{
	struct text *c = new_cell(t);

	if (c)
		*c = *text;
	else
		text_free(text);
	*text = (struct text){0};
}

static const char *cell_text(const struct table *t, size_t i)
{
	return i < t->nr && t->cells[i].s ? t->cells[i].s : "";
}

static void print_blanks(FILE *f, unsigned int n)
{
	fprintf(f, "%*s", (int)n, "");
}

static void print_row(const struct table *t, FILE *f, size_t first, const unsigned int *widths,
		      unsigned int indent)
{
	unsigned int pending = indent; /* blanks are only written when something follows */

	for (unsigned int c = 0; c < t->nr_columns; c++) {
		const char *s = cell_text(t, first + c);
		unsigned int width = text_width(s), pad = widths[c] - width;

		if (!widths[c])
			continue;
		if (width) {
			print_blanks(f, pending + (t->right[c] ? pad : 0));
			fputs(s, f);
			pending = t->right[c] ? 0 : pad;
		} else {
			pending += widths[c];
		}
		pending += GAP;
	}
	fputc('\n', f);
}

void table_print(const struct table *t, FILE *f, bool head, unsigned int indent)
{
	unsigned int widths[TABLE_COLUMNS_MAX] = {0};
	unsigned int total = 0;

	for (size_t i = 0; i < t->nr; i++) {
		unsigned int w = text_width(cell_text(t, i));

		if (w > widths[i % t->nr_columns])
			widths[i % t->nr_columns] = w;
	}
	for (unsigned int c = 0; c < t->nr_columns; c++)
		total += widths[c] ? widths[c] + GAP : 0;
	for (size_t i = 0; i < t->nr; i += t->nr_columns) {
		print_row(t, f, i, widths, indent);
		if (head && i == 0 && total) {
			print_blanks(f, indent);
			for (unsigned int k = 0; k < total - GAP; k++)
				fputc('-', f);
			fputc('\n', f);
		}
	}
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->nr; i++)
		text_free(&t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->nr = t->cap = 0;
}

void csv_write_field(FILE *f, const char *s)
{
	if (!strpbrk(s, ",\"\r\n") && *s != ' ') {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

void csv_write_number(FILE *f, double value)
{
	if (isfinite(value))
		fprintf(f, "%.10g", value);
}
