/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data of the chart "timeline": IOPS over time, and the write buffer's fill, destage rate and
 * congestion on the same clock, the disk group's: fio's logs are moved to it by the engine's job
 * rows.
 */
#include "chart.h"

#include "fio_log.h"
#include "fio_value.h"
#include "rate_series.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 28

/* More points than this on 800 pixels only make the line thick. */
#define POINTS_MAX 800

/* Read, write, trim. */
#define NR_LINES 3

/* The steps of the lines begin at @origin_msec, where the first job does, so that none is half. */
struct iops {
	struct rate_series lines[NR_LINES];
	double origin_msec, end_msec;
};

static void iops_free(struct iops *s)
{
	for (int d = 0; d < NR_LINES; d++)
		rate_series_free(&s->lines[d]);
}

/* When the job of a log began, on the clock of the run's chart. */
static double job_offset(const struct run *run, unsigned int number)
{
	double first = INFINITY;

	for (size_t i = 0; i < run->nr_groups; i++) {
		const struct vsan_job *j = vsan_job_find(&run->groups[i], number);

		if (j)
			return j->start_msec;
	}
	/* Without the engine the first job's start is the origin, if fio tells (3.36 and later). */
	for (size_t i = 0; i < run->nr_jobs; i++)
		if (run->jobs[i].start_msec > 0)
			first = fmin(first, run->jobs[i].start_msec);
	if (number && number <= run->nr_jobs && run->jobs[number - 1].start_msec > 0)
		return run->jobs[number - 1].start_msec - first;
	return 0;
}

struct log_sum {
	struct iops *iops;
	const struct fio_log_layout *layout;
	double offset;
	double last[4];
};

/* A row stands for the window that ends at its time, a row per I/O for that I/O. */
static int add_row(const struct fio_log_row *row, void *data)
{
	struct log_sum *sum = data;
	double time = row->time_msec, window = sum->layout->window_msec;
	double from, to = time + sum->offset - sum->iops->origin_msec;
	struct rate_series *line;

	if (row->direction >= NR_LINES)
		return 0;
	line = &sum->iops->lines[row->direction];
	sum->iops->end_msec = fmax(sum->iops->end_msec, to);
	if (sum->layout->per_io)
		return rate_series_add(line, to, to + 1, 1000);
	/* Windows jitter; one that is much longer than usual follows a gap without I/O. */
	from = time - window;
	if (sum->last[row->direction] < time && time - sum->last[row->direction] < 1.5 * window)
		from = sum->last[row->direction];
	sum->last[row->direction] = time;
	from = fmax(from, sum->layout->first_msec - window);
	return rate_series_add(line, from + sum->offset - sum->iops->origin_msec, to, row->value);
}

/* What to add to a log's times to have them on the chart's clock. */
static double log_offset(const struct run *run, const struct run_log *log,
			 const struct fio_log_layout *layout)
{
	double offset = job_offset(run, log->number);

	/* log_unix_epoch=1: absolute times; the first window begins when the job does. */
	if (layout->first_msec > 1e11)
		offset -= layout->first_msec - layout->window_msec;
	return offset;
}

static int add_log(struct run *run, const struct run_log *log, const struct fio_log_layout *layout,
		   struct iops *iops, struct report *r)
{
	struct log_sum sum = {.iops = iops, .layout = layout};
	int ret;

	sum.offset = log_offset(run, log, layout);
	for (int d = 0; d < 4; d++)
		sum.last[d] = -INFINITY;
	ret = fio_log_stream(log->path, layout, add_row, &sum, &run->warnings, r);
	if (ret == -E2BIG)
		return report(r, ret, "%s: its times span too long; not a log of one run",
			      log->path);
	return ret ? report(r, ret, "%s: %s", log->path, strerror(-ret)) : 0;
}

static void get_hint(const struct run *run, struct fio_log_hint *hint)
{
	*hint = (struct fio_log_hint){0};
	for (size_t i = 0; i < run->nr_jobs; i++) {
		const char *both = run_option(run, &run->jobs[i], "log_window_value");
		const char *avg = run_option(run, &run->jobs[i], "log_avg_msec");

		both = both ? both : run_option(run, &run->jobs[i], "log_max_value");
		if (both && !strcmp(both, "both"))
			hint->window_both = true;
		if (avg)
			hint->window_msec = fmax(hint->window_msec, strtod(avg, NULL));
	}
}

/* Sum fio's IOPS logs of all jobs. *@found says whether there are any with rows. */
static int sum_logs(struct run *run, struct iops *iops, double *step, bool *found, struct report *r)
{
	struct fio_log_layout *layouts = calloc(run->nr_logs + 1, sizeof(*layouts));
	double start = INFINITY;
	struct fio_log_hint hint;
	int ret = layouts ? 0 : report(r, -ENOMEM, "no memory for the chart");

	*found = false;
	*step = 0;
	get_hint(run, &hint);
	for (size_t i = 0; i < run->nr_logs && !ret; i++) {
		if (run->logs[i].kind != FIO_LOG_IOPS)
			continue;
		ret = fio_log_detect(run->logs[i].path, &hint, &layouts[i], r);
		if (ret || layouts[i].empty)
			continue;
		start = fmin(start, job_offset(run, run->logs[i].number));
		*found = true;
		*step = fmax(*step, layouts[i].window_msec);
	}
	*step = fmax(*step > 0 ? *step : 1000, 10);
	iops->origin_msec = isfinite(start) ? start : 0;
	for (int d = 0; d < NR_LINES; d++)
		iops->lines[d].step_msec = *step;
	for (size_t i = 0; i < run->nr_logs && !ret; i++)
		if (run->logs[i].kind == FIO_LOG_IOPS && !layouts[i].empty)
			ret = add_log(run, &run->logs[i], &layouts[i], iops, r);
	free(layouts);
	return ret;
}

/* The engine's own rates, where fio wrote no log. */
static int sum_samples(const struct run *run, struct iops *iops, double *step, struct report *r)
{
	int ret = 0;

	*step = 0;
	for (size_t i = 0; i < run->nr_groups; i++) {
		const struct vsan_group *g = &run->groups[i];

		if (g->nr_samples)
			*step = fmax(*step, g->samples[g->nr_samples - 1].time_msec /
						    (double)g->nr_samples);
	}
	*step = fmax(*step, 1);
	for (int d = 0; d < NR_LINES; d++)
		iops->lines[d].step_msec = *step;
	for (size_t i = 0; i < run->nr_groups && !ret; i++) {
		const struct vsan_group *g = &run->groups[i];
		double last = 0;

		for (size_t k = 0; k < g->nr_samples && !ret; k++) {
			const struct vsan_sample *s = &g->samples[k];

			for (int d = 0; d < 2 && !ret; d++)
				ret = rate_series_add(&iops->lines[d], last, s->time_msec,
						      s->iops[d]);
			iops->end_msec = fmax(iops->end_msec, s->time_msec);
			last = s->time_msec;
		}
	}
	return ret ? report(r, ret, "%s: the engine's log spans too long", run->path) : 0;
}

/* Mean rate over [@from, @to) ms of the series, both being ends of steps or the series' own end. */
static double mean_rate(const struct rate_series *s, double from, double to)
{
	double sum = 0;

	for (size_t i = (size_t)(from / s->step_msec + 0.5);
	     i < s->nr && (double)i * s->step_msec < to; i++)
		sum += rate_series_at(s, i) * s->step_msec;
	return sum / (to - from);
}

static void write_iops(struct chart *c, const char *label, const struct iops *iops, double step)
{
	double wide = step * fmax(1, ceil(iops->end_msec / step / POINTS_MAX));
	/* The last step is as long as there is something in it, and left out if that is not much.
	 */
	size_t steps = (size_t)(iops->end_msec / wide + 0.5);

	chart_write_string(c, label, LABEL_WIDTH);
	fputs("\ttotal\tread\twrite\n", c->data.f);
	for (size_t i = 0; i < steps; i++) {
		double from = (double)i * wide, to = fmin(from + wide, iops->end_msec);
		double read = mean_rate(&iops->lines[0], from, to);
		double write = mean_rate(&iops->lines[1], from, to);
		double trim = mean_rate(&iops->lines[2], from, to);

		fprintf(c->data.f, "%.8g", (iops->origin_msec + (from + to) / 2) / 1000);
		chart_write_number(c, read + write + trim);
		chart_write_number(c, read);
		chart_write_number(c, write);
		fputc('\n', c->data.f);
	}
	chart_end_block(c);
}

/* Fill, destage rate and congestion; the mean of each where there are more samples than points. */
static void write_samples(struct chart *c, const char *label, const struct vsan_group *g)
{
	size_t group = (g->nr_samples + POINTS_MAX - 1) / POINTS_MAX;

	chart_write_string(c, label, LABEL_WIDTH);
	fputs("\tfill\tdestage\tcongestion\n", c->data.f);
	for (size_t i = 0; i + group <= g->nr_samples && group; i += group) {
		double fill = 0, destage = 0, congestion = 0;

		for (size_t k = i; k < i + group; k++) {
			fill += 100 - g->samples[k].wb_free_pct;
			destage += g->samples[k].destage_bytes_per_sec / 1e6;
			congestion += g->samples[k].congestion;
		}
		fprintf(c->data.f, "%.8g", g->samples[i + group - 1].time_msec / 1000);
		chart_write_number(c, fill / (double)group);
		chart_write_number(c, destage / (double)group);
		chart_write_number(c, congestion / (double)group);
		fputc('\n', c->data.f);
	}
	chart_end_block(c);
}

/* What is written of the runs, and what the script has to know about it. */
struct timeline {
	struct iops *iops; /* by run */
	double *steps;
	bool from_fio, from_engine;
	double longest_step, end_msec;
};

static int read_runs(struct timeline *t, struct run_set *set, struct report *r)
{
	for (size_t i = 0; i < set->nr; i++) {
		struct run *run = &set->runs[i];
		bool found;
		int ret = sum_logs(run, &t->iops[i], &t->steps[i], &found, r);

		if (!ret && !found) {
			ret = sum_samples(run, &t->iops[i], &t->steps[i], r);
			if (!ret && t->iops[i].end_msec <= 0)
				ret = report(r, -ENOENT,
					     "%s: no time series belong to it; run fio with "
					     "write_iops_log=PREFIX and log_avg_msec=500",
					     run->path);
			t->from_engine = true;
		} else {
			t->from_fio = true;
		}
		if (ret)
			return ret;
		t->longest_step = fmax(t->longest_step, t->steps[i]);
		t->end_msec = fmax(t->end_msec, t->iops[i].origin_msec + t->iops[i].end_msec);
	}
	return 0;
}

static int add_captions(struct chart *c, const struct timeline *t, const struct run_set *set)
{
	struct text line = {0};
	int ret = chart_caption_runs(c, set);

	text_printf(&line, "IOPS from %s, mean over %.3g s.",
		    t->from_fio && t->from_engine ? "fio's logs, or else the engine's"
		    : t->from_fio                 ? "fio's logs, all jobs added up"
						  : "the engine's log",
		    t->longest_step / 1000);
	for (size_t i = 0; i < set->nr; i++) {
		for (size_t k = 0; k < set->runs[i].nr_groups; k++) {
			if (isfinite(set->runs[i].groups[k].first_full_msec)) {
				text_add(&line, " Dotted: the write buffer is full for the "
						"first time.");
				i = set->nr - 1;
				break;
			}
		}
	}
	if (!ret)
		ret = line.failed ? -ENOMEM : chart_caption(c, line.s);
	text_free(&line);
	return ret;
}

/* The blocks of all groups that have samples; returns how many. */
static unsigned int write_groups(struct chart *c, const struct run_set *set, struct text *owners,
				 struct text *full)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < set->nr; i++) {
		for (size_t k = 0; k < set->runs[i].nr_groups; k++) {
			const struct vsan_group *g = &set->runs[i].groups[k];
			struct text label = {0};

			if (!g->nr_samples)
				continue;
			text_add(&label, set->runs[i].label);
			if (set->runs[i].nr_groups > 1)
				text_printf(&label, ", group %u", g->number);
			write_samples(c, label.s ? label.s : "", g);
			text_free(&label);
			text_printf(owners, "%s%zu", nr ? " " : "", i + 1);
			if (isfinite(g->first_full_msec))
				text_printf(full, "%s%.6g", nr ? " " : "",
					    g->first_full_msec / 1000);
			else
				text_printf(full, "%s-1", nr ? " " : "");
			nr++;
		}
	}
	return nr;
}

static double last_sample_msec(const struct vsan_group *g)
{
	return g->nr_samples ? g->samples[g->nr_samples - 1].time_msec : 0;
}

static bool has_groups(const struct run_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		for (size_t k = 0; k < set->runs[i].nr_groups; k++)
			if (set->runs[i].groups[k].nr_samples)
				return true;
	return false;
}

static int write_all(struct chart *c, const struct timeline *t, const struct run_set *set,
		     struct report *r)
{
	struct text owners = {0}, full = {0}, title = {0};
	double end = t->end_msec;
	unsigned int nr_groups;

	if (add_captions(c, t, set))
		return report(r, -ENOMEM, "no memory for the chart");
	text_add(&title,
		 has_groups(set) ? "IOPS and the write buffer over time" : "IOPS over time");
	if (set->nr == 1) {
		text_add(&title, ": ");
		text_add_clean(&title, set->runs[0].label, 40);
	}
	chart_write_texts(c, title.s ? title.s : "");
	text_free(&title);
	/* One run alone is drawn with its reads and writes, so its own line needs a name. */
	for (size_t i = 0; i < set->nr; i++)
		write_iops(c, set->nr == 1 ? "total" : set->runs[i].label, &t->iops[i],
			   t->steps[i]);
	nr_groups = write_groups(c, set, &owners, &full);
	/* fio loses the last window or two of its logs: the engine's log may go on longer. */
	for (size_t i = 0; i < set->nr; i++)
		for (size_t k = 0; k < set->runs[i].nr_groups; k++)
			end = fmax(end, last_sample_msec(&set->runs[i].groups[k]));
	chart_set(c, "nr_runs", (double)set->nr);
	chart_set(c, "nr_groups", nr_groups);
	chart_set(c, "end_seconds", end / 1000);
	text_printf(&c->variables, "owners = '%s'\nfull = '%s'\n", owners.s ? owners.s : "",
		    full.s ? full.s : "");
	text_free(&owners);
	text_free(&full);
	return 0;
}

int chart_timeline(struct chart *c, struct run_set *set, struct report *r)
{
	struct timeline t = {0};
	int ret;

	t.iops = calloc(set->nr, sizeof(*t.iops));
	t.steps = calloc(set->nr, sizeof(*t.steps));
	if (!t.iops || !t.steps)
		ret = report(r, -ENOMEM, "no memory for the chart");
	else
		ret = read_runs(&t, set, r);
	if (!ret)
		ret = write_all(c, &t, set, r);
	for (size_t i = 0; i < set->nr && t.iops; i++)
		iops_free(&t.iops[i]);
	free(t.steps);
	free(t.iops);
	return ret;
}
