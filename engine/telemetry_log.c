/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time series PREFIX_vsan.N.log: CSV (RFC 4180), a row for every interval of vsan_log_msec with
 * vSAN's metric names, and a row for every job that starts. Readers find columns by
 * name, so new ones may be added at the end.
 *
 * One thread takes a snapshot of the group's counters and writes what changed; who does I/O never
 * waits for it. A row is written when the next snapshot was taken, not at its own: so the short rest
 * at the end of a run can become part of the last whole interval, instead of a row whose rates over
 * a millisecond say nothing.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "telemetry_impl.h"

static const char header[] =
	"row,time,iopsRead,iopsWrite,throughputRead,throughputWrite,latencyAvgRead,latencyAvgWrite,"
	"oio,iopsWbRead,iopsCapacityRead,iopsNeverWrittenRead,wbFreePct,wbDirtyBytes,"
	"bytesOverwritten,ssdBytesDrained,zeroBytesDrained,currentIncomingRate,currentDrainRate,"
	"ssdCongestion,logCongestion,memCongestion,iopsDelayPctSched,latencyDelaySched,"
	"elevSSDReadLatency,elevMDWriteLatency,avgElevIoSize,timeToSleepMs,curWBBucket,"
	"elevCurBucket,capacityUsed\n";

double stats_msec(const struct dg_stats *s, uint64_t ns)
{
	return ns > s->start_ns ? (double)(ns - s->start_ns) / 1e6 : 0;
}

/* What was printed becomes a whole row of the file, or the file ends with the row before it. */
static void end_row(struct telemetry_log *log)
{
	long at;

	if (!fflush(log->file)) {
		at = ftell(log->file);
		log->length = at >= 0 ? at : log->length;
		return;
	}
	log->err = errno ? -errno : -EIO;
	__fpurge(log->file);
	/* Fails on what has no length, a pipe say: then there is nothing to mend. */
	if (ftruncate(fileno(log->file), log->length))
		return;
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* One row: what happened between log->last and @n. */
static void write_sample(struct telemetry_log *log, const struct dg_stats *n)
{
	const struct dg_stats *o = &log->last;
	double s = (double)(n->now_ns - o->now_ns) / 1e9;
	uint64_t delayed = n->congestion.count - o->congestion.count;
	FILE *f = log->file;

	if (log->err || n->now_ns <= o->now_ns)
		return;
#define DELTA(field)    (n->field - o->field)
#define RATE(field)     ((double)DELTA(field) / s)
#define USEC(ns, count) (ratio(DELTA(ns), DELTA(count)) / 1000.0)
	fprintf(f, "sample,%.3f,%.1f,%.1f,%.0f,%.0f,%.3f,%.3f,%llu,", stats_msec(n, n->now_ns),
		RATE(ios[DG_READ]), RATE(ios[DG_WRITE]), RATE(bytes[DG_READ]),
		RATE(bytes[DG_WRITE]), USEC(nsec[DG_READ], ios[DG_READ]),
		USEC(nsec[DG_WRITE], ios[DG_WRITE]), (unsigned long long)n->in_flight);
	fprintf(f, "%.1f,%.1f,%.1f,%.3f,%llu,%.0f,%.0f,%.0f,%.0f,%.0f,", RATE(blocks_wb_read),
		RATE(blocks_capacity_read), RATE(blocks_never_written), 100.0 - n->fill_pct,
		(unsigned long long)(n->pages_used - n->pages_overwritten) * DG_BLOCK,
		RATE(bytes_overwritten), RATE(bytes_destaged), RATE(zero_bytes_destaged),
		RATE(bytes[DG_WRITE]), RATE(bytes_destaged));
	/* A write that is delayed now may be counted as done only in the next interval. */
	fprintf(f, "%.2f,%.2f,%.2f,%.3f,%.3f,", n->ssd_congestion, n->log_congestion,
		n->mem_congestion, fmin(100.0, 100.0 * ratio(delayed, DELTA(ios[DG_WRITE]))),
		USEC(congestion.nsec, congestion.count));
	fprintf(f, "%.3f,%.3f,%.0f,%.3f,%d,%d,%llu\n", USEC(destage_read_nsec, destage_reads),
		USEC(destage_write_nsec, destage_writes),
		ratio(DELTA(destage_write_bytes), DELTA(destage_writes)), n->sleep_ms,
		n->cur_bucket, n->elev_bucket, (unsigned long long)n->capacity_used);
#undef DELTA
#undef RATE
#undef USEC
	end_row(log);
	log->last = *n;
}

static void write_pending(struct telemetry_log *log)
{
	if (log->has_pending)
		write_sample(log, &log->pending);
	log->has_pending = false;
}

/*
 * RFC 4180: quotes around what has quotes, commas or line breaks, quotes doubled; and around what has
 * spaces at an end, since many readers drop those.
 */
static void put_quoted(FILE *f, const char *s)
{
	size_t len = strlen(s);
	bool spaces = len && (strchr(" \t", s[0]) || strchr(" \t", s[len - 1]));

	if (!spaces && !strpbrk(s, "\",\r\n")) {
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

void telemetry_log_job(struct telemetry *t, const struct dg_stats *now, unsigned int number,
		       const char *name)
{
	struct telemetry_log *log = &t->log;

	if (!log->file)
		return;
	write_pending(log); /* rows are in the order of time */
	if (log->err)
		return;
	fprintf(log->file, "job,%.3f,%u,", stats_msec(now, now->now_ns), number);
	put_quoted(log->file, name);
	fputc('\n', log->file);
	end_row(log);
}

/*
 * When the next row ends. Evenly spaced; but after a late one not before half an interval has passed,
 * and what was missed, on a machine that stood still, is not made up for.
 */
static uint64_t next_time(uint64_t last_ns, unsigned int msec)
{
	static const struct vclock monotonic;
	uint64_t step = msec * NSEC_PER_MSEC, now = vclock_now(&monotonic);

	return last_ns + step < now + step / 2 ? now + step : last_ns + step;
}

static void *log_main(void *arg)
{
	struct telemetry *t = arg;
	struct telemetry_log *log = &t->log;
	uint64_t next = next_time(0, 0);

	pthread_setname_np(pthread_self(), "vsan-log");
	pthread_mutex_lock(&t->lock);
	while (!log->stop) {
		struct timespec until;
		int ret = 0;

		next = next_time(next, t->msec);
		until.tv_sec = (time_t)(next / NSEC_PER_SEC);
		until.tv_nsec = (long)(next % NSEC_PER_SEC);
		while (!log->stop && !ret)
			ret = pthread_cond_timedwait(&log->wake, &t->lock, &until);
		if (log->stop)
			break;
		write_pending(log);
		disk_group_stats(t->group, &log->pending);
		log->has_pending = true;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int start_thread(struct telemetry *t)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->log.wake, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are the program's: its threads get them, not this one. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&t->log.thread, NULL, log_main, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		pthread_cond_destroy(&t->log.wake);
	else
		t->log.runs = true;
	return -err;
}

int telemetry_log_open(struct telemetry *t, struct report *r)
{
	struct telemetry_log *log = &t->log;
	int err;

	if (asprintf(&log->path, "%s_vsan.%u.log", t->prefix, t->number) < 0) {
		log->path = NULL;
		return report(r, -ENOMEM, "write_vsan_log: no memory for the vSAN log");
	}
	log->file = fopen(log->path, "we");
	if (!log->file) {
		err = report(r, -errno,
			     "write_vsan_log: cannot create %s: %s; give a prefix in a folder that "
			     "is there and that you may write to",
			     log->path, strerror(errno));
		goto free_path;
	}
	fputs(header, log->file);
	end_row(log);
	if (log->err) {
		err = report(r, log->err, "write_vsan_log: cannot write %s: %s", log->path,
			     strerror(-log->err));
		goto close_file;
	}
	err = telemetry_json_remove(t, r);
	if (err)
		goto close_file;
	disk_group_stats(t->group, &log->last);
	err = start_thread(t);
	if (err) {
		report(r, err, "write_vsan_log: cannot start the thread that writes %s: %s",
		       log->path, strerror(-err));
		goto close_file;
	}
	return 0;

close_file:
	fclose(log->file);
	log->file = NULL;
	unlink(log->path);
free_path:
	free(log->path);
	log->path = NULL;
	return err;
}

void telemetry_log_stop(struct telemetry *t)
{
	if (!t->log.runs)
		return;
	pthread_mutex_lock(&t->lock);
	t->log.stop = true;
	pthread_cond_signal(&t->log.wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->log.thread, NULL);
	pthread_cond_destroy(&t->log.wake);
	t->log.runs = false;
}

int telemetry_log_close(struct telemetry *t, bool finish, struct report *r)
{
	struct telemetry_log *log = &t->log;
	int err;

	if (!log->file)
		return 0;
	pthread_mutex_lock(&t->lock);
	if (finish && log->has_pending &&
	    t->final.now_ns - log->pending.now_ns >= t->msec * NSEC_PER_MSEC / 2)
		write_pending(log);
	if (finish)
		write_sample(log, &t->final);
	if (fclose(log->file) && !log->err)
		log->err = -errno;
	log->file = NULL;
	err = log->err;
	pthread_mutex_unlock(&t->lock);
	if (err)
		report(r, err, "write_vsan_log: cannot write %s: %s; what is in it is whole",
		       log->path, strerror(-err));
	free(log->path);
	log->path = NULL;
	return err;
}
