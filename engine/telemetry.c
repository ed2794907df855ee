/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vSAN log: one thread takes a snapshot of the group every vsan_log_msec and writes what
 * changed as one CSV row. Nobody who does I/O waits for it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_impl.h"

static const char header[] =
	"row,time,iopsRead,iopsWrite,throughputRead,throughputWrite,latencyAvgRead,latencyAvgWrite,"
	"oio,"
	"iopsWbRead,iopsCapacityRead,iopsNeverWrittenRead,wbFreePct,wbDirtyBytes,bytesOverwritten,"
	"ssdBytesDrained,zeroBytesDrained,currentIncomingRate,currentDrainRate,ssdCongestion,"
	"logCongestion,"
	"memCongestion,iopsDelayPctSched,latencyDelaySched,elevSSDReadLatency,elevMDWriteLatency,"
	"avgElevIoSize,timeToSleepMs,curWBBucket,elevCurBucket,capacityUsed\n";

/* ms on the clock of the group, which begins with its start. */
double stats_msec(const struct dg_stats *s, uint64_t ns)
{
	return ns > s->start_ns ? (double)(ns - s->start_ns) / 1e6 : 0;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* One row: what happened between two snapshots. lock held. */
static void write_row(struct telemetry *t, const struct dg_stats *n)
{
	const struct dg_stats *o = &t->last;
	double s = (double)(n->now_ns - o->now_ns) / 1e9;
	uint64_t writes = n->ios[DG_WRITE] - o->ios[DG_WRITE],
		 delayed = n->congestion.count - o->congestion.count;
	uint64_t mdw = n->destage_writes - o->destage_writes;

	if (!t->log || s <= 0)
		return;
#define RATE(field)     ((double)(n->field - o->field) / s)
#define USEC(ns, count) (ratio(n->ns - o->ns, n->count - o->count) / 1000.0)
	fprintf(t->log, "sample,%.3f,%.1f,%.1f,%.0f,%.0f,%.3f,%.3f,%llu,", stats_msec(n, n->now_ns),
		RATE(ios[DG_READ]), RATE(ios[DG_WRITE]), RATE(bytes[DG_READ]),
		RATE(bytes[DG_WRITE]), USEC(nsec[DG_READ], ios[DG_READ]),
		USEC(nsec[DG_WRITE], ios[DG_WRITE]), (unsigned long long)n->in_flight);
	fprintf(t->log, "%.1f,%.1f,%.1f,%.3f,%llu,%.0f,%.0f,%.0f,%.0f,%.0f,", RATE(blocks_wb_read),
		RATE(blocks_capacity_read), RATE(blocks_never_written), 100.0 - n->fill_pct,
		(unsigned long long)(n->pages_used - n->pages_overwritten) * DG_BLOCK,
		RATE(bytes_overwritten), RATE(bytes_destaged), RATE(zero_bytes_destaged),
		RATE(bytes[DG_WRITE]), RATE(bytes_destaged));
	fprintf(t->log, "%.2f,%.2f,%.2f,%.3f,%.3f,%.3f,%.3f,%.0f,%.3f,%d,%d,%llu\n",
		n->ssd_congestion, n->log_congestion, n->mem_congestion,
		writes ? fmin(100.0, 100.0 * (double)delayed / (double)writes) : 0.0,
		USEC(congestion.nsec, congestion.count), USEC(destage_read_nsec, destage_reads),
		USEC(destage_write_nsec, destage_writes),
		ratio(n->destage_write_bytes - o->destage_write_bytes, mdw), n->sleep_ms,
		n->cur_bucket, n->elev_bucket, (unsigned long long)n->capacity_used);
#undef RATE
#undef USEC
	if (fflush(t->log) && !t->log_error)
		t->log_error = -errno;
	t->last = *n;
}

static void sample(struct telemetry *t)
{
	struct dg_stats now;

	disk_group_stats(t->group, &now);
	write_row(t, &now);
}

static void *sampler(void *arg)
{
	struct telemetry *t = arg;
	struct timespec next;

	pthread_setname_np(pthread_self(), "vsan-log");
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		next.tv_nsec += (long)(t->msec % 1000) * 1000000;
		next.tv_sec += t->msec / 1000 + next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (!t->stop && pthread_cond_timedwait(&t->wake, &t->lock, &next) != ETIMEDOUT)
			;
		if (!t->stop)
			sample(t);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int open_log(struct telemetry *t, struct report *r)
{
	char path[4096];
	pthread_condattr_t attr;
	int err;

	snprintf(path, sizeof(path), "%s_vsan.%u.log", t->prefix, t->number);
	t->log = fopen(path, "we");
	if (!t->log) {
		err = -errno;
		return report(r, err, "write_vsan_log: cannot create %s: %s", path, strerror(-err));
	}
	fputs(header, t->log);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&t->thread, NULL, sampler, t);
	if (err)
		return report(r, -err, "write_vsan_log: cannot start its thread: %s",
			      strerror(err));
	t->runs = true;
	return 0;
}

int telemetry_open(struct telemetry **out, const struct telemetry_setup *s, struct report *r)
{
	struct telemetry *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return report(r, -ENOMEM, "no memory for the vSAN log");
	t->group = s->group;
	t->number = s->number;
	t->msec = s->msec ? s->msec : 500;
	t->jobs_tail = &t->jobs;
	pthread_mutex_init(&t->lock, NULL);
	t->prefix = s->prefix ? strdup(s->prefix) : NULL;
	t->fio_version = strdup(s->fio_version);
	t->options = calloc(s->noptions ? s->noptions : 1, sizeof(*t->options));
	if (!t->options || !t->fio_version || (s->prefix && !t->prefix)) {
		telemetry_close(t);
		return report(r, -ENOMEM, "no memory for the vSAN log");
	}
	memcpy(t->options, s->options, s->noptions * sizeof(*t->options));
	t->noptions = s->noptions;
	disk_group_stats(t->group, &t->last);
	if (t->prefix)
		err = open_log(t, r);
	if (err) {
		telemetry_close(t);
		return err;
	}
	*out = t;
	return 0;
}

/* RFC 4180: quotes around what has quotes, commas or line breaks; quotes doubled. */
static void put_quoted(FILE *f, const char *s)
{
	if (!strpbrk(s, "\",\r\n")) {
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

void telemetry_job_start(struct telemetry *t, unsigned int number, const char *name)
{
	struct telemetry_job *j;
	struct dg_stats now;

	if (!t)
		return;
	j = calloc(1, sizeof(*j));
	disk_group_stats(t->group, &now);
	pthread_mutex_lock(&t->lock);
	if (j) {
		j->number = number;
		j->name = strdup(name ? name : "");
		j->start_msec = stats_msec(&now, now.now_ns);
		j->end_msec = -1;
		*t->jobs_tail = j;
		t->jobs_tail = &j->next;
	}
	if (t->log) {
		fprintf(t->log, "job,%.3f,%u,", stats_msec(&now, now.now_ns), number);
		put_quoted(t->log, name ? name : "");
		fputc('\n', t->log);
		fflush(t->log);
	}
	pthread_mutex_unlock(&t->lock);
}

void telemetry_job_end(struct telemetry *t, unsigned int number)
{
	struct dg_stats now;

	if (!t)
		return;
	disk_group_stats(t->group, &now);
	pthread_mutex_lock(&t->lock);
	for (struct telemetry_job *j = t->jobs; j; j = j->next)
		if (j->number == number && j->end_msec < 0)
			j->end_msec = stats_msec(&now, now.now_ns);
	pthread_mutex_unlock(&t->lock);
}

static void stop_sampler(struct telemetry *t)
{
	if (!t->runs)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->wake);
	t->runs = false;
}

int telemetry_finish(struct telemetry *t, struct report *r)
{
	int err = 0;

	stop_sampler(t);
	disk_group_stats(t->group, &t->final);
	write_row(t, &t->final);
	t->finished = true;
	telemetry_collect_warnings(t);
	if (t->log) {
		if (ferror(t->log) && !t->log_error)
			t->log_error = -EIO;
		if (fclose(t->log) && !t->log_error)
			t->log_error = -errno;
		t->log = NULL;
		if (t->log_error)
			report(r, t->log_error, "write_vsan_log: cannot write %s_vsan.%u.log: %s",
			       t->prefix, t->number, strerror(-t->log_error));
		err = t->log_error;
	}
	if (!err && t->prefix)
		err = telemetry_write_json(t, r);
	return err;
}

void telemetry_close(struct telemetry *t)
{
	if (!t)
		return;
	stop_sampler(t);
	if (t->log)
		fclose(t->log);
	for (struct telemetry_job *j = t->jobs, *next; j; j = next) {
		next = j->next;
		free(j->name);
		free(j);
	}
	for (unsigned int i = 0; i < t->nwarnings; i++)
		free(t->warning[i]);
	pthread_mutex_destroy(&t->lock);
	free(t->prefix);
	free(t->fio_version);
	free(t->options);
	free(t);
}
