/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The summary at the end of a run, and the warnings that go with its result: what would make a
 * person believe a number that does not mean what it seems to.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_impl.h"

#define NEVER_WRITTEN_PCT 0.1
#define LATENESS_SHARE    0.10

static void warn(struct telemetry *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void warn(struct telemetry *t, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (t->nwarnings == WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	t->warning[t->nwarnings] = strdup(line);
	if (t->warning[t->nwarnings])
		t->nwarnings++;
}

static uint64_t blocks_read(const struct dg_stats *s)
{
	return s->blocks_wb_read + s->blocks_capacity_read + s->blocks_never_written;
}

static double pct(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void check_never_written(struct telemetry *t)
{
	const struct dg_stats *s = &t->final;
	double share = pct(s->blocks_never_written, blocks_read(s));

	if (share > NEVER_WRITTEN_PCT)
		warn(t,
		     "%.1f%% of the blocks read were never written and cost no device I/O: the "
		     "result is "
		     "too good; fill the volumes first (jobs/workloads/prefill.fio, or "
		     "prefilled=capacity on "
		     "modelled devices)",
		     share);
}

/* Mean time that the models asked for, over all modelled requests; us. */
static double modelled_mean(const struct telemetry *t)
{
	uint64_t ns = 0, n = 0;

	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		const struct device *d = disk_group_device(t->group, i);

		if (!d->has_timing)
			continue;
		for (int op = DEV_READ; op <= DEV_WRITE; op++) {
			ns += d->stats.nsec[op];
			n += d->stats.ios[op];
		}
	}
	return n ? (double)ns / (double)n / 1000.0 : 0;
}

static void check_lateness(struct telemetry *t)
{
	const struct lateness *l = &t->final.lateness;
	double p99 = (double)lateness_percentile(l, 99) / 1000.0, mean = modelled_mean(t);

	if (l->count && mean > 0 && p99 > LATENESS_SHARE * mean)
		warn(t,
		     "the host delivered modelled completions late: p99 %.0f us, more than 10%% of "
		     "the modelled "
		     "mean of %.0f us; the CPUs are the limit, not only the drives: use fewer jobs "
		     "with a "
		     "larger iodepth, or more or idle CPUs",
		     p99, mean);
}

void telemetry_collect_warnings(struct telemetry *t)
{
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++)
		if (disk_group_device_failed(t->group, i))
			warn(t, "%s failed during the run: the result counts for nothing",
			     disk_group_device(t->group, i)->name);
	if (t->final.errors)
		warn(t, "%llu I/Os failed", (unsigned long long)t->final.errors);
	check_never_written(t);
	check_lateness(t);
}

static double mean_us(uint64_t nsec, uint64_t n)
{
	return n ? (double)nsec / (double)n / 1000.0 : 0;
}

static void print_device(const struct telemetry *t, FILE *f, unsigned int i, double sec)
{
	const struct device *d = disk_group_device(t->group, i);
	uint64_t ios = d->stats.ios[DEV_READ] + d->stats.ios[DEV_WRITE];

	fprintf(f, "  %-8s %s", i ? "capacity" : "cache", d->name);
	if (d->profile)
		fprintf(f, " (model, %s, %s)", d->fresh ? "fresh" : "steady",
			figure_mark_name(drive_profile_certainty(d->profile)));
	fprintf(f,
		": read %.0f IOPS, %.1f MB/s, %.0f us; write %.0f IOPS, %.1f MB/s, %.0f us; %llu "
		"flushes%s\n",
		(double)d->stats.ios[DEV_READ] / sec, (double)d->stats.bytes[DEV_READ] / sec / 1e6,
		mean_us(d->stats.nsec[DEV_READ], d->stats.ios[DEV_READ]),
		(double)d->stats.ios[DEV_WRITE] / sec,
		(double)d->stats.bytes[DEV_WRITE] / sec / 1e6,
		mean_us(d->stats.nsec[DEV_WRITE], d->stats.ios[DEV_WRITE]),
		(unsigned long long)d->stats.ios[DEV_FLUSH],
		disk_group_device_failed(t->group, i) ? "; FAILED"
		: ios                                 ? ""
						      : "; idle");
}

static void print_stall(FILE *f, const char *what, const struct dg_stall *s, uint64_t writes)
{
	if (s->count)
		fprintf(f, "  %s: %llu writes (%.1f%%), mean %.2f ms\n", what,
			(unsigned long long)s->count, pct(s->count, writes),
			(double)s->nsec / (double)s->count / 1e6);
}

static void print_buffer(FILE *f, const struct dg_stats *s, double sec)
{
	if (!s->pages)
		return; /* a raw tier */
	fprintf(f,
		"  write buffer %.0f MiB: fill %.0f%% at the start, %.0f%% at most, %.0f%% at the "
		"end",
		(double)s->pages * DG_BLOCK / 1048576.0, s->fill_start_pct, s->fill_max_pct,
		s->fill_pct);
	if (s->first_full_ns)
		fprintf(f, "; first pushed back after %.1f s",
			stats_msec(s, s->first_full_ns) / 1000.0);
	fprintf(f,
		"\n  destaged %.0f MB (%.1f MB/s, %llu buckets), overwritten in the buffer %.0f MB",
		(double)s->bytes_destaged / 1e6, (double)s->bytes_destaged / sec / 1e6,
		(unsigned long long)s->buckets_destaged, (double)s->bytes_overwritten / 1e6);
	fprintf(f, "; congestion at the end: ssd %.0f, log %.0f of 255\n", s->ssd_congestion,
		s->log_congestion);
	print_stall(f, "delayed by congestion", &s->congestion, s->ios[DG_WRITE]);
	print_stall(f, "waited for a free page", &s->no_page, s->ios[DG_WRITE]);
	print_stall(f, "waited for an overlapping write", &s->overlap, s->ios[DG_WRITE]);
}

void telemetry_summary(const struct telemetry *t, FILE *f)
{
	const struct dg_stats *s = &t->final;
	double sec = (double)(s->now_ns - s->start_ns) / 1e9;
	uint64_t all = blocks_read(s);
	bool modelled = false;

	if (!t->finished || !(s->ios[DG_READ] + s->ios[DG_WRITE] + s->ios[DG_TRIM]) || sec <= 0)
		return;
	fprintf(f, "\nfio-vsan: disk group %u, %.1f s\n", t->number, sec);
	fprintf(f,
		"  group    read %.0f IOPS, %.1f MB/s, %.0f us; write %.0f IOPS, %.1f MB/s, %.0f "
		"us\n",
		(double)s->ios[DG_READ] / sec, (double)s->bytes[DG_READ] / sec / 1e6,
		mean_us(s->nsec[DG_READ], s->ios[DG_READ]), (double)s->ios[DG_WRITE] / sec,
		(double)s->bytes[DG_WRITE] / sec / 1e6,
		mean_us(s->nsec[DG_WRITE], s->ios[DG_WRITE]));
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		print_device(t, f, i, sec);
		modelled |= disk_group_device(t->group, i)->has_timing;
	}
	if (all)
		fprintf(f,
			"  blocks read: %.1f%% from the write buffer, %.1f%% from capacity, %.1f%% "
			"never written\n",
			pct(s->blocks_wb_read, all), pct(s->blocks_capacity_read, all),
			pct(s->blocks_never_written, all));
	print_buffer(f, s, sec);
	if (s->lateness.count)
		fprintf(f,
			"  lateness of modelled completions: p50 %.1f us, p99 %.1f us, max %.0f "
			"us\n",
			(double)lateness_percentile(&s->lateness, 50) / 1000.0,
			(double)lateness_percentile(&s->lateness, 99) / 1000.0,
			(double)s->lateness.max_ns / 1000.0);
	if (modelled)
		fprintf(f, "  results from modelled drives: what drives with such figures would "
			   "do, not a "
			   "measurement of these drives\n");
	for (unsigned int i = 0; i < t->nwarnings; i++)
		fprintf(f, "fio-vsan: warning: %s\n", t->warning[i]);
}
