/* SPDX-License-Identifier: GPL-2.0-only */
/* The data of the chart "bars": IOPS of each run, read, write and total beside each other. */
#include "chart.h"

#include "measure.h"

#include <errno.h>
#include <math.h>

#define LABEL_WIDTH 28

static double iops_of(const struct run *run, int part, uint64_t *ios)
{
	struct measure m[METRIC_NR];

	*ios = measure_run(run, part, m);
	return m[METRIC_IOPS].why ? NAN : m[METRIC_IOPS].value;
}

/* "n = 1.23M", so that nobody mistakes a second's measurement for an hour's. */
static void add_count(struct text *t, uint64_t n)
{
	static const char units[] = {'k', 'M', 'G'};
	double v = (double)n;
	int unit = -1;

	while (v >= 999.5 && unit < 2) {
		v /= 1000;
		unit++;
	}
	if (unit < 0)
		text_printf(t, "n = %.0f", v);
	else
		text_printf(t, "n = %.3g%c", v, units[unit]);
}

/* Columns of the longest label: the script turns labels that would not fit side by side. */
static unsigned int longest_label(const struct run_set *set)
{
	unsigned int longest = 10; /* of the count below it */

	for (size_t i = 0; i < set->nr; i++) {
		unsigned int width = text_width(set->runs[i].label);

		longest = width > longest ? width : longest;
	}
	return longest < LABEL_WIDTH ? longest : LABEL_WIDTH;
}

int chart_bars(struct chart *c, const struct run_set *set, struct report *r)
{
	static const int parts[] = {RUN_READ, RUN_WRITE, PART_TOTAL};
	bool any[3] = {false};
	int ret = chart_caption_runs(c, set);

	if (!ret)
		ret = chart_caption(c, "n: number of I/Os of the run.");
	if (ret)
		return report(r, ret, "no memory for the chart");
	chart_write_texts(c, "IOPS by run");
	for (size_t i = 0; i < set->nr; i++) {
		uint64_t ios = 0;
		struct text count = {0};

		chart_write_string(c, set->runs[i].label, LABEL_WIDTH);
		for (int p = 0; p < 3; p++) {
			double iops = iops_of(&set->runs[i], parts[p], &ios);

			any[p] |= isfinite(iops);
			chart_write_number(c, iops);
		}
		add_count(&count, ios);
		fputc('\t', c->data.f);
		chart_write_string(c, count.s ? count.s : "", 0);
		fputc('\n', c->data.f);
		text_free(&count);
	}
	chart_set(c, "nr_runs", (double)set->nr);
	chart_set(c, "label_width", longest_label(set));
	chart_set(c, "has_read", any[0]);
	chart_set(c, "has_write", any[1]);
	/* A total that only repeats the reads or the writes is left out. */
	chart_set(c, "has_total", any[2] && any[0] == any[1]);
	if (!any[2])
		return report(r, -EINVAL, "%s: no IOPS to draw, compare says why",
			      set->runs[0].path);
	return 0;
}
