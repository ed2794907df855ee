/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The summary at the end of a run, and the warnings that go with its result: what would make a
 * person believe a number that does not mean what it seems to. The warnings are in the JSON too.
 *
 * Runs after the run, in one thread; reads what telemetry_finish() left.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry_impl.h"

/* Blocks read that were never written cost no device I/O: more than this is no steady result. */
#define NEVER_WRITTEN_PCT 0.1

/* Late by more than this share of the modelled mean is seen in the result. */
#define LATENESS_PCT 10.0

#define NAME_WIDTH_MAX 44 /* longer names push their row's numbers to the right */

static void warn(struct telemetry *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void warn(struct telemetry *t, const char *fmt, ...)
{
	va_list ap;
	int len;

	if (t->nwarnings == TELEMETRY_WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	len = vasprintf(&t->warning[t->nwarnings], fmt, ap);
	va_end(ap);
	if (len >= 0)
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

static double mean_us(uint64_t nsec, uint64_t n)
{
	return n ? (double)nsec / (double)n / 1000.0 : 0;
}

static double late_us(const struct lateness *l, double percentile)
{
	return (double)lateness_percentile(l, percentile) / 1000.0;
}

static void check_failures(struct telemetry *t)
{
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++)
		if (disk_group_device_failed(t->group, i))
			warn(t,
			     "%s %s failed during the run: the result counts for nothing; see the "
			     "message of its first error, replace it and repeat",
			     i ? "capacity device" : "cache device",
			     disk_group_device(t->group, i)->name);
	if (t->final.errors)
		warn(t, "%llu I/Os failed: the result counts for nothing",
		     (unsigned long long)t->final.errors);
	if (t->log.err)
		warn(t, "the vSAN log could not be written to its end: %s", strerror(-t->log.err));
}

static void check_never_written(struct telemetry *t)
{
	const struct dg_stats *s = &t->final;
	double share = pct(s->blocks_never_written, blocks_read(s));

	if (share > NEVER_WRITTEN_PCT)
		warn(t,
		     "%.1f%% of the blocks read were never written and cost no device I/O, so the "
		     "result is too good: fill the volumes first, by jobs/workloads/prefill.fio "
		     "or, "
		     "on modelled and memory devices, prefilled=capacity",
		     share);
}

/* Mean time that the models asked for, over all their reads and writes; us. */
static double modelled_mean(const struct telemetry *t)
{
	uint64_t ns = 0, n = 0;

	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		const struct device_totals *d = &t->device[i];

		if (!disk_group_device(t->group, i)->has_timing)
			continue;
		for (int op = DEV_READ; op <= DEV_WRITE; op++) {
			ns += d->nsec[op];
			n += d->ios[op];
		}
	}
	return mean_us(ns, n);
}

/* CPUs that this process may use. */
static unsigned int usable_cpus(void)
{
	cpu_set_t set;
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = CPU_COUNT(&set);
	return n > 0 ? (unsigned int)n : 1;
}

/* The most jobs that ran at the same time. */
static unsigned int concurrent_jobs(const struct telemetry *t)
{
	unsigned int most = 0;

	for (const struct telemetry_job *a = t->jobs; a; a = a->next) {
		unsigned int n = 0;

		for (const struct telemetry_job *b = t->jobs; b; b = b->next)
			n += b->start_msec <= a->start_msec && b->end_msec > a->start_msec;
		most = n > most ? n : most;
	}
	return most;
}

static void check_lateness(struct telemetry *t)
{
	const struct lateness *l = &t->final.lateness;
	double p99 = late_us(l, 99), mean = modelled_mean(t);
	unsigned int jobs = concurrent_jobs(t), cpus = usable_cpus();

	if (!l->count || mean <= 0 || p99 <= LATENESS_PCT / 100 * mean)
		return;
	/* Jobs and the worker, which destages, want a CPU each. */
	if (jobs >= cpus)
		warn(t,
		     "the host was late with modelled completions, p99 %.0f us against a modelled "
		     "mean of %.0f us: too few CPUs, %u jobs and the destaging on %u; what is "
		     "measured is this host too. Use fewer jobs with a larger iodepth, or more "
		     "CPUs",
		     p99, mean, jobs, cpus);
	else
		warn(t,
		     "the host was late with modelled completions, p99 %.0f us against a modelled "
		     "mean of %.0f us: slow timers (a virtual machine, power saving) or other "
		     "programs on its %u CPUs; what is measured is this host too. Stop other "
		     "programs, keep the CPUs awake, or take latencies as upper bounds",
		     p99, mean, cpus);
}

void telemetry_collect_warnings(struct telemetry *t)
{
	check_failures(t);
	check_never_written(t);
	check_lateness(t);
}

static void print_cells(FILE *f, uint64_t ios, uint64_t bytes, uint64_t nsec, double sec)
{
	fprintf(f, " %10.0f %8.1f ", (double)ios / sec, (double)bytes / sec / 1e6);
	if (nsec)
		fprintf(f, "%9.1f", mean_us(nsec, ios));
	else
		fprintf(f, "%9s", "-");
}

/* @ios, @bytes, @nsec: read, write. No newline. */
static void print_row(FILE *f, const char *name, int width, const uint64_t *ios,
		      const uint64_t *bytes, const uint64_t *nsec, double sec)
{
	fprintf(f, "  %-*s", width, name);
	print_cells(f, ios[0], bytes[0], nsec[0], sec);
	print_cells(f, ios[1], bytes[1], nsec[1], sec);
	/* Little's law: what is in flight on average shows which device the others wait for. */
	if (nsec[0] + nsec[1])
		fprintf(f, " %9.2f", (double)(nsec[0] + nsec[1]) / 1e9 / sec);
	else
		fprintf(f, " %9s", "-");
}

static void device_label(const struct telemetry *t, unsigned int i, char *buf, size_t len)
{
	const char *name = disk_group_device(t->group, i)->name;

	if (i)
		snprintf(buf, len, "capacity %u %s", i, name);
	else
		snprintf(buf, len, "cache %s", name);
}

static void print_device(const struct telemetry *t, FILE *f, unsigned int i, int width, double sec)
{
	const struct device *d = disk_group_device(t->group, i);
	const struct device_totals *n = &t->device[i];
	char label[320];

	device_label(t, i, label, sizeof(label));
	print_row(f, label, width, n->ios, n->bytes, n->nsec, sec);
	if (d->profile)
		fprintf(f, "  model, %s, %s", d->fresh ? "fresh" : "steady",
			figure_mark_name(drive_profile_certainty(d->profile)));
	if (n->errors)
		fprintf(f, "  %llu errors", (unsigned long long)n->errors);
	if (disk_group_device_failed(t->group, i))
		fputs("  FAILED", f);
	fputc('\n', f);
}

static void print_table(const struct telemetry *t, FILE *f, double sec)
{
	const struct dg_stats *s = &t->final;
	int width = 0;

	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		char label[320];

		device_label(t, i, label, sizeof(label));
		if ((int)strlen(label) > width)
			width = (int)strlen(label);
	}
	width = width < NAME_WIDTH_MAX ? width : NAME_WIDTH_MAX;
	fprintf(f, "  %-*s %10s %8s %9s %10s %8s %9s %9s\n", width, "", "read IOPS", "MB/s",
		"mean us", "write IOPS", "MB/s", "mean us", "in flight");
	print_row(f, "what the jobs saw", width, s->ios, s->bytes, s->nsec, sec);
	fputc('\n', f);
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++)
		print_device(t, f, i, width, sec);
}

static void print_stall(FILE *f, const char *what, const struct dg_stall *s, uint64_t writes)
{
	if (s->count)
		fprintf(f, "  %s: %llu times (%.1f%% of the writes), %.2f ms on average\n", what,
			(unsigned long long)s->count, pct(s->count, writes),
			(double)s->nsec / (double)s->count / 1e6);
}

static void print_buffer(const struct telemetry *t, FILE *f, double sec)
{
	const struct dg_stats *s = &t->final;
	double full = stats_msec(s, s->first_full_ns);

	if (!s->pages)
		return; /* a tier alone, target= */
	fprintf(f,
		"  write buffer of %.1f MiB: %.1f%% full at the start, %.1f%% at most, %.1f%% at "
		"the end; ",
		(double)s->pages * DG_BLOCK / 1048576.0, s->fill_start_pct, s->fill_max_pct,
		s->fill_pct);
	if (s->first_full_ns)
		fprintf(f, "writers were held back from %.1f s on\n",
			full > t->begin_msec ? (full - t->begin_msec) / 1000.0 : 0.0);
	else
		fputs("writers were never held back\n", f);
	fprintf(f,
		"  destaged %.1f MB (%.1f MB/s) in %llu buckets; %.1f%% of %.1f MB written were "
		"overwritten in the buffer\n",
		(double)s->bytes_destaged / 1e6, (double)s->bytes_destaged / sec / 1e6,
		(unsigned long long)s->buckets_destaged,
		pct(s->bytes_overwritten, s->bytes[DG_WRITE]), (double)s->bytes[DG_WRITE] / 1e6);
	print_stall(f, "writes delayed by congestion", &s->congestion, s->ios[DG_WRITE]);
	print_stall(f, "writes that waited for a free page", &s->no_page, s->ios[DG_WRITE]);
	print_stall(f, "I/Os that waited for another one to the same block", &s->overlap,
		    s->ios[DG_WRITE]);
	fprintf(f, "  congestion at the end, of 255: ssd %.0f, log %.0f, mem %.0f\n",
		s->ssd_congestion, s->log_congestion, s->mem_congestion);
}

static void print_models(const struct telemetry *t, FILE *f)
{
	bool modelled = false, mixed = false;

	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		const struct drive_profile *p = disk_group_device(t->group, i)->profile;

		if (!p)
			continue;
		modelled = true;
		mixed |= !p->mix_calibrated && t->device[i].ios[DEV_READ] &&
			 t->device[i].ios[DEV_WRITE];
	}
	if (modelled)
		fprintf(f,
			"  results from modelled drives: what drives with such figures would do, "
			"not a measurement of these drives%s\n",
			mixed ? "; how they mix reads and writes is not calibrated" : "");
}

void telemetry_summary(const struct telemetry *t, FILE *f)
{
	const struct dg_stats *s = &t->final;
	double sec = (t->end_msec - t->begin_msec) / 1000.0;
	uint64_t all = blocks_read(s);

	if (!t->finished || !(s->ios[DG_READ] + s->ios[DG_WRITE] + s->ios[DG_TRIM]) || sec <= 0)
		return;
	fprintf(f, "\nfio-vsan: disk group %u, %.1f s of I/O\n", t->number, sec);
	print_table(t, f, sec);
	if (all)
		fprintf(f,
			"  blocks read: %.1f%% from the write buffer, %.1f%% from capacity, %.1f%% "
			"never written\n",
			pct(s->blocks_wb_read, all), pct(s->blocks_capacity_read, all),
			pct(s->blocks_never_written, all));
	print_buffer(t, f, sec);
	if (s->lateness.count)
		fprintf(f,
			"  modelled completions were late by: p50 %.1f us, p99 %.1f us, max %.1f "
			"us\n",
			late_us(&s->lateness, 50), late_us(&s->lateness, 99),
			(double)s->lateness.max_ns / 1000.0);
	print_models(t, f);
	for (unsigned int i = 0; i < t->nwarnings; i++)
		fprintf(f, "fio-vsan: warning: %s\n", t->warning[i]);
}
