/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of text for the terminal, columns aligned by display width; and CSV fields. Any thread.
 */
#ifndef ANALYZER_TABLE_H
#define ANALYZER_TABLE_H

#include "text.h"

#include <stdio.h>

#define TABLE_COLUMNS_MAX 64

/* Start with {.nr_columns = n, ...}; cells are added row by row. */
struct table {
	unsigned int nr_columns;
	bool right[TABLE_COLUMNS_MAX]; /* columns of numbers */
	struct text *cells;
	size_t nr, cap;
	bool failed;
};

/* Append a cell. Untrusted text must be clean (text_add_clean). */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append a cell with the content of @text, which is then empty. */
void table_cell_take(struct table *t, struct text *text);

/* Print it, the first row being the head when @head, each line after @indent blanks. */
void table_print(const struct table *t, FILE *f, bool head, unsigned int indent);
void table_free(struct table *t);

/* Write one CSV field (RFC 4180), quoted if it must be. */
void csv_write_field(FILE *f, const char *s);

/* Write a number that reads back as the same one; nothing when it is none. */
void csv_write_number(FILE *f, double value);

#endif
