/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes the figures of jobs and runs; see measure.h. */
#include "measure.h"

#include <math.h>
#include <string.h>

const char why_no_io[] = "no I/O in this direction";

const char why_mixed_io[] = "unified_rw_reporting=mixed: fio did not keep reads and writes apart";
static const char why_no_bins[] =
	"percentiles of several jobs, or of reads and writes together, cannot be computed from "
	"percentiles; run fio with --output-format=json+";
static const char why_bins[] = "no bins; run fio with --output-format=json+";
static const char why_no_clat[] = "the result has no completion latency";
static const char why_no_list[] =
	"not in fio's percentile_list, and no bins; run fio with --output-format=json+";
static const char why_only_lat[] =
	"fio kept percentiles of total latency only (lat_percentiles=1, clat_percentiles=0)";
static const char why_groups[] =
	"jobs of several groups (stonewall, new_group) may have run one after another; choose with "
	"--job=NAME";
static const char why_rate[] = "fio gave no run time for it";
static const char why_cap[] = "fio counts all completions of 17.1 s and longer alike";
static const char why_memory[] = "out of memory";

const char *part_name(int part)
{
	return part == PART_TOTAL ? "total" : run_direction_name((enum run_direction)part);
}

static const struct {
	const char *key, *name, *unit;
	double percent;
} metrics[METRIC_NR] = {
	[METRIC_IOPS] = {"iops", "IOPS", "", NAN},
	[METRIC_MBPS] = {"mb_per_s", "MB/s", "", NAN},
	[METRIC_MEAN] = {"mean_us", "mean", "us", NAN},
	[METRIC_P50] = {"p50_us", "p50", "us", 50},
	[METRIC_P95] = {"p95_us", "p95", "us", 95},
	[METRIC_P99] = {"p99_us", "p99", "us", 99},
	[METRIC_P999] = {"p99_9_us", "p99.9", "us", 99.9},
	[METRIC_MAX] = {"max_us", "max", "us", NAN},
};

const char *metric_key(enum metric m)
{
	return metrics[m].key;
}

const char *metric_name(enum metric m)
{
	return metrics[m].name;
}

const char *metric_unit(enum metric m)
{
	return metrics[m].unit;
}

double metric_percent(enum metric m)
{
	return metrics[m].percent;
}

static struct measure good(double value)
{
	return (struct measure){.value = value};
}

static struct measure none(const char *why)
{
	return (struct measure){.value = NAN, .why = why};
}

static bool has_io(const struct direction *d)
{
	return d->given && (d->ios || d->iops > 0 || d->bytes);
}

/* Whether direction @d of a job belongs to @part; "mixed" repeats the others when all are given. */
static bool in_part(const struct run_job *j, int d, int part)
{
	if (part != PART_TOTAL)
		return d == part;
	return d != RUN_MIXED || !(j->directions[RUN_READ].given ||
				   j->directions[RUN_WRITE].given || j->directions[RUN_TRIM].given);
}

/* A part's contributions: visit the directions with I/O of jobs [first, first + nr). */
struct visit {
	const struct run *run;
	size_t job, end;
	int part, d;
};

static struct visit visit_start(const struct run *run, size_t first, size_t nr, int part)
{
	return (struct visit){.run = run, .job = first, .end = first + nr, .part = part, .d = -1};
}

static const struct direction *visit_next(struct visit *v)
{
	for (; v->job < v->end; v->job++, v->d = -1) {
		const struct run_job *j = &v->run->jobs[v->job];

		while (++v->d < RUN_NR_DIRECTIONS)
			if (in_part(j, v->d, v->part) && has_io(&j->directions[v->d]))
				return &j->directions[v->d];
	}
	return NULL;
}

/*
 * Whether jobs of different groups are known to have run at the same time: all their intervals have
 * a moment in common.
 */
static bool ran_together(const struct run *run, size_t first, size_t nr)
{
	double last_start = 0, first_end = INFINITY;
	bool same = true;

	for (size_t i = first; i < first + nr; i++) {
		const struct run_job *j = &run->jobs[i];

		same &= j->group == run->jobs[first].group;
		if (j->start_msec <= 0 || j->elapsed_msec <= 0) {
			first_end = 0;
			continue;
		}
		last_start = fmax(last_start, j->start_msec);
		first_end = fmin(first_end, j->start_msec + j->elapsed_msec);
	}
	return same || last_start < first_end;
}

/* I/Os and bytes of one direction of all jobs over the longest run time. */
static bool add_rates(const struct run *run, size_t first, size_t nr, int d, int part, double *iops,
		      double *bytes)
{
	double ios_msec = 0, bytes_msec = 0, longest = 0;

	for (size_t i = first; i < first + nr; i++) {
		const struct run_job *j = &run->jobs[i];
		const struct direction *dir = &j->directions[d];

		if (!in_part(j, d, part) || !has_io(dir))
			continue;
		if (dir->runtime_msec <= 0)
			return false;
		ios_msec += dir->iops * dir->runtime_msec;
		bytes_msec += dir->bytes_per_sec * dir->runtime_msec;
		longest = fmax(longest, dir->runtime_msec);
	}
	if (longest > 0) {
		*iops += ios_msec / longest;
		*bytes += bytes_msec / longest;
	}
	return true;
}

static void measure_rates(const struct run *run, size_t first, size_t nr, int part,
			  struct measure *out)
{
	double iops = 0, bytes = 0;

	out[METRIC_IOPS] = out[METRIC_MBPS] = none(why_groups);
	if (!ran_together(run, first, nr))
		return;
	/* Reads and writes each over their own time, so that the total is the sum of the rows. */
	for (int d = 0; d < RUN_NR_DIRECTIONS; d++) {
		if (!add_rates(run, first, nr, d, part, &iops, &bytes)) {
			out[METRIC_IOPS] = out[METRIC_MBPS] = none(why_rate);
			return;
		}
	}
	out[METRIC_IOPS] = good(iops);
	out[METRIC_MBPS] = good(bytes / 1e6);
}

static void measure_mean(const struct run *run, size_t first, size_t nr, int part,
			 struct measure *out)
{
	struct visit v = visit_start(run, first, nr, part);
	const struct direction *d;
	double sum = 0, count = 0, max = 0;

	out[METRIC_MEAN] = out[METRIC_MAX] = none(why_no_clat);
	while ((d = visit_next(&v))) {
		if (!d->clat.given || !isfinite(d->clat.mean_ns))
			return;
		sum += d->clat.mean_ns * (double)d->clat.count;
		count += (double)d->clat.count;
		max = fmax(max, d->clat.max_ns);
	}
	if (count > 0) {
		out[METRIC_MEAN] = good(sum / count / 1000);
		out[METRIC_MAX] = good(max / 1000);
	}
}

bool measure_merge_bins(const struct run *run, size_t first, size_t nr, int part,
			struct latency_bins *out, const char **why)
{
	struct visit v = visit_start(run, first, nr, part);
	const struct direction *d;

	*out = (struct latency_bins){0};
	*why = why_no_io;
	while ((d = visit_next(&v))) {
		if (!d->clat.count)
			continue; /* all of its I/Os failed */
		if (!d->clat.bins.nr) {
			if (!d->clat.given)
				*why = why_no_clat;
			else if (d->lat.nr_percentiles && !d->clat.nr_percentiles)
				*why = why_only_lat;
			else
				*why = why_bins;
			return false;
		}
		if (latency_bins_merge(out, &d->clat.bins)) {
			*why = why_memory;
			return false;
		}
	}
	return out->count > 0;
}

/* The last bin holds whatever is longer. */
static struct measure percentile_us(double ns)
{
	return ns >= LATENCY_BINS_LAST_NS ? none(why_cap) : good(ns / 1000);
}

static struct measure listed_percentile(const struct latency *l, double percent)
{
	for (size_t i = 0; i < l->nr_percentiles; i++)
		if (fabs(l->percentiles[i].percent - percent) < 1e-6)
			return percentile_us(l->percentiles[i].ns);
	return none(why_no_list);
}

static void measure_percentiles(const struct run *run, size_t first, size_t nr, int part,
				struct measure *out)
{
	struct visit v = visit_start(run, first, nr, part);
	const struct direction *d, *only = NULL;
	struct latency_bins bins;
	unsigned int parts = 0;
	const char *why;
	bool merged;

	while ((d = visit_next(&v))) {
		only = d;
		parts++;
	}
	merged = measure_merge_bins(run, first, nr, part, &bins, &why);
	for (int m = 0; m < METRIC_NR; m++) {
		double percent = metric_percent((enum metric)m);

		if (isnan(percent))
			continue;
		if (merged)
			out[m] = percentile_us(latency_bins_percentile(&bins, percent));
		else if (parts == 1 && only->clat.nr_percentiles)
			out[m] = listed_percentile(&only->clat, percent); /* fio's own list */
		else if (why == why_bins)
			out[m] = none(parts == 1 ? why_no_list : why_no_bins);
		else
			out[m] = none(why);
	}
	latency_bins_free(&bins);
}

uint64_t measure_jobs(const struct run *run, size_t first, size_t nr, int part, struct measure *out)
{
	struct visit v = visit_start(run, first, nr, part);
	const struct direction *d;
	uint64_t ios = 0;
	bool any = false, mixed = false;

	while ((d = visit_next(&v))) {
		ios += d->ios;
		any = true;
	}
	if (any) {
		measure_rates(run, first, nr, part, out);
		measure_mean(run, first, nr, part, out);
		measure_percentiles(run, first, nr, part, out);
		return ios;
	}
	for (size_t i = first; i < first + nr; i++)
		mixed |= run->jobs[i].directions[RUN_MIXED].given &&
			 !run->jobs[i].directions[RUN_READ].given;
	for (int m = 0; m < METRIC_NR; m++)
		out[m] = none(mixed ? why_mixed_io : why_no_io);
	return 0;
}

uint64_t measure_run(const struct run *run, int part, struct measure *out)
{
	return measure_jobs(run, 0, run->nr_jobs, part, out);
}
