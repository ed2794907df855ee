/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data of the chart "latency": completion latency by percentile, from merged bins only. The
 * axis is 1 / (1 - p) on a logarithmic scale, so each nine takes the same room.
 */
#include "chart.h"

#include "measure.h"

#include <errno.h>
#include <math.h>

#define LABEL_WIDTH 28
#define STEPS       32  /* of the curve per factor of ten */
#define FIRST_X     2.0 /* the median */
#define LAST_X      1e5 /* 99.999% */

/* A curve needs this many completions beyond its last point to mean anything. */
#define BEYOND_MIN 2.0

/* Write the curve's block: head with label and count, then x, us, percent. */
static void write_curve(struct chart *c, const char *label, const struct latency_bins *b)
{
	double last = fmin(LAST_X, (double)b->count / BEYOND_MIN);
	struct text head = {0};

	text_add_clean(&head, label, LABEL_WIDTH);
	text_add(&head, " (");
	text_add_number(&head, (double)b->count, 0);
	text_add(&head, ")");
	chart_write_string(c, head.s ? head.s : "", 0);
	fputs("\tus\tpercent\n", c->data.f);
	text_free(&head);
	for (int i = 0;; i++) {
		double x = FIRST_X * pow(10, (double)i / STEPS);
		double percent = 100 * (1 - 1 / x);

		if (x > last * 1.0001 && i)
			break;
		fprintf(c->data.f, "%.8g", x);
		chart_write_number(c, latency_bins_percentile(b, percent) / 1000);
		chart_write_number(c, percent);
		fputc('\n', c->data.f);
	}
	chart_end_block(c);
}

int chart_latency(struct chart *c, const struct run_set *set, struct report *r)
{
	static const int parts[] = {RUN_READ, RUN_WRITE};
	const char *why = NULL, *first_why = NULL;
	unsigned int curves[2] = {0};
	struct text list[2] = {{0}, {0}};
	int ret = chart_caption_runs(c, set);

	for (size_t i = 0; i < set->nr && !ret; i++) {
		for (int p = 0; p < 2 && !ret; p++) {
			struct latency_bins b;
			struct text line = {0};

			if (!measure_merge_bins(&set->runs[i], 0, set->runs[i].nr_jobs, parts[p],
						&b, &why) &&
			    why != why_no_io) {
				first_why = first_why ? first_why : why;
				text_add(&line, "Not drawn: ");
				text_add_clean(&line, set->runs[i].label, LABEL_WIDTH);
				text_printf(&line, " %ss, %s.", part_name(parts[p]), why);
				ret = line.failed ? -ENOMEM : chart_caption(c, line.s);
				text_free(&line);
			}
			latency_bins_free(&b);
		}
	}
	if (!ret)
		ret = chart_caption(c,
				    "In brackets: completions counted. Percentiles come from fio's "
				    "histograms, merged over all jobs.");
	if (ret)
		return report(r, ret, "no memory for the chart");
	chart_write_texts(c, "Completion latency by percentile");
	for (int p = 0; p < 2; p++) {
		for (size_t i = 0; i < set->nr; i++) {
			struct latency_bins b;

			if (measure_merge_bins(&set->runs[i], 0, set->runs[i].nr_jobs, parts[p], &b,
					       &why)) {
				write_curve(c, set->runs[i].label, &b);
				curves[p]++;
				text_printf(&list[p], "%s%zu", list[p].len ? " " : "", i + 1);
			}
			latency_bins_free(&b);
		}
	}
	chart_set(c, "nr_read", curves[0]);
	chart_set(c, "nr_write", curves[1]);
	/* Which run each curve belongs to: it has the same colour in both halves. */
	text_printf(&c->variables, "runs_read = '%s'\nruns_write = '%s'\n",
		    list[0].s ? list[0].s : "", list[1].s ? list[1].s : "");
	text_free(&list[0]);
	text_free(&list[1]);
	if (!curves[0] && !curves[1])
		return report(r, -EINVAL, "%s: no latency to draw: %s", set->runs[0].path,
			      first_why ? first_why : why_no_io);
	return 0;
}
