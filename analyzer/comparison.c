/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts runs beside each other; see comparison.h. Printing is in comparison_print.c. */
#include "comparison.h"

#include "doubts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct comparison_column *add_column(struct comparison *c, const struct run *run)
{
	struct comparison_column *col;

	if (array_grow(&c->columns, c->nr, &c->cap, sizeof(*c->columns)))
		return NULL;
	col = &c->columns[c->nr];
	memset(col, 0, sizeof(*col));
	col->run = run;
	c->nr++;
	return col;
}

static int add_run(struct comparison *c, const struct run *run)
{
	struct comparison_column *col = add_column(c, run);

	if (!col || !(col->label = strdup(run->label)))
		return -ENOMEM;
	for (int part = 0; part < PART_NR; part++)
		measure_run(run, part, col->measures[part]);
	return 0;
}

/* Groups have clocks of their own: each is a column. */
static int add_windows(struct comparison *c, const struct run *run)
{
	for (size_t i = 0; i < run->nr_groups; i++) {
		const struct vsan_group *g = &run->groups[i];
		struct comparison_column *col = add_column(c, run);
		struct text label = {0};

		if (!col)
			return -ENOMEM;
		text_add(&label, run->label);
		if (run->nr_groups > 1)
			text_printf(&label, "/group%u", g->number);
		col->label = label.s;
		if (label.failed || !label.s)
			return -ENOMEM;
		col->no_window = window_resolve(c->window, g, &col->from_msec, &col->to_msec);
		col->has_window = !col->no_window;
		for (int part = 0; part < PART_NR; part++) {
			if (col->has_window) {
				window_measure(g, col->from_msec, col->to_msec, part,
					       col->measures[part]);
				continue;
			}
			for (int m = 0; m < METRIC_NR; m++)
				col->measures[part][m] = (struct measure){NAN, col->no_window};
		}
	}
	return 0;
}

static int add_doubts(struct comparison *c, const struct run *run)
{
	struct text_list doubts = {0};
	struct text label = {0};
	int ret = run_doubts(run, &doubts);

	text_add_clean(&label, run->label, 40);
	if (label.failed)
		ret = -ENOMEM;
	for (size_t i = 0; i < doubts.nr && !ret; i++)
		ret = text_list_add(&c->warnings, "%s: %s", label.s, doubts.items[i]);
	text_free(&label);
	text_list_free(&doubts);
	return ret;
}

int comparison_build(struct comparison *c, const struct run_set *set, size_t baseline,
		     const struct window *window, struct report *r)
{
	int ret = 0;

	*c = (struct comparison){.set = set, .window = window};
	for (size_t i = 0; i < set->nr && !ret; i++) {
		if (i == baseline)
			c->baseline = c->nr;
		ret = window ? add_windows(c, &set->runs[i]) : add_run(c, &set->runs[i]);
		if (!ret)
			ret = add_doubts(c, &set->runs[i]);
	}
	if (!ret)
		ret = likeness_check(set, &c->likeness);
	return ret ? report(r, ret, "no memory for the comparison") : 0;
}

double comparison_ratio(const struct comparison *c, size_t column, int part, enum metric m)
{
	const struct measure *base = &c->columns[c->baseline].measures[part][m];
	const struct measure *mine = &c->columns[column].measures[part][m];

	if (base->why || mine->why || base->value == 0)
		return NAN;
	return mine->value / base->value;
}

bool comparison_has_part(const struct comparison *c, int part)
{
	unsigned int parts = 0;

	if (part == PART_TOTAL) {
		for (int p = 0; p < PART_TOTAL; p++)
			parts += comparison_has_part(c, p);
		return parts > 1;
	}
	for (size_t i = 0; i < c->nr; i++) {
		const char *why = c->columns[i].measures[part][METRIC_IOPS].why;

		if (!c->columns[i].no_window && why != why_no_io && why != why_mixed_io)
			return true;
	}
	return false;
}

int comparison_nr_metrics(const struct comparison *c)
{
	return c->window ? METRIC_MEAN + 1 : METRIC_NR_COMPARED;
}

void comparison_free(struct comparison *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->columns[i].label);
	free(c->columns);
	likeness_free(&c->likeness);
	text_list_free(&c->warnings);
	*c = (struct comparison){0};
}
