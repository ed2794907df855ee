/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a job's figures from fio's JSON; see fio_job_json.h. */
#include "fio_job_json.h"

#include "fio_value.h"
#include "json_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts are never negative; a result that says so had an overflow in fio. */
static uint64_t count_of(const json_t *object, const char *key)
{
	double v = json_number(object, key, 0);
	const json_t *n = json_object_get(object, key);

	if (json_is_integer(n) && json_integer_value(n) >= 0)
		return (uint64_t)json_integer_value(n);
	return v > 0 && v < 18446744073709549568.0 ? (uint64_t)v : 0;
}

uint64_t fio_job_json_bytes(const json_t *direction, unsigned int version)
{
	uint64_t bytes = count_of(direction, "io_bytes");
	double runtime = json_number(direction, "runtime", 0);
	double bw = json_number(direction, "bw", 0);
	double expected = bw * 1024 * runtime / 1000;

	if (json_object_get(direction, "io_kbytes"))
		return bytes ? bytes : count_of(direction, "io_kbytes") * 1024;
	if (expected > 0 && bytes) {
		/* Which of the two units is nearer to what the bandwidth says, by ratio. */
		double as_bytes = fabs(log((double)bytes / expected));
		double as_kib = fabs(log((double)bytes * 1024 / expected));

		return as_bytes <= as_kib ? bytes : bytes * 1024;
	}
	return version && version < FIO_VERSION(2, 99) ? bytes * 1024 : bytes;
}

static int read_bins(const json_t *bins, double unit_ns, struct latency *l)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)bins, key, value)
	{
		char *end;
		double at = strtod(key, &end);
		int ret;

		if (end == key || *end || at < 0 || !json_is_integer(value) ||
		    json_integer_value(value) <= 0)
			continue;
		ret = latency_bins_add(&l->bins, at * unit_ns, (uint64_t)json_integer_value(value));
		if (ret)
			return ret;
	}
	return 0;
}

static int read_percentiles(const json_t *list, double unit_ns, struct latency *l)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)list, key, value)
	{
		char *end;
		double percent = strtod(key, &end);
		int ret;

		/* Old versions fill the list up with "0.00". */
		if (end == key || *end || !(percent > 0) || percent > 100 || !json_is_number(value))
			continue;
		ret = latency_add_percentile(l, percent, json_number_value(value) * unit_ns);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_latency(const json_t *direction, const char *name, uint64_t ios, struct latency *l)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"_ns", 1}, {"_us", 1e3}, {"_ms", 1e6}, {"", 1e3}};
	const json_t *o = NULL;
	double unit = 1;
	char key[32];
	int ret;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !o; i++) {
		snprintf(key, sizeof(key), "%s%s", name, units[i].suffix);
		o = json_object_get(direction, key);
		unit = units[i].ns;
	}
	if (!json_is_object(o))
		return 0;
	l->given = true;
	l->count = json_is_number(json_object_get(o, "N")) ? count_of(o, "N") : ios;
	l->min_ns = json_number(o, "min", NAN) * unit;
	l->max_ns = json_number(o, "max", NAN) * unit;
	l->mean_ns = json_number(o, "mean", NAN) * unit;
	l->stddev_ns = json_number(o, "stddev", NAN) * unit;
	ret = read_percentiles(json_object_get(o, "percentile"), unit, l);
	/* Before 3.0 the keys of bins are numbers of bins, not latencies. */
	if (!ret && !strcmp(key + strlen(name), "_ns"))
		ret = read_bins(json_object_get(o, "bins"), unit, l);
	return ret;
}

static int read_direction(const json_t *o, unsigned int version, struct direction *d)
{
	double bw_bytes;
	int ret;

	if (!json_is_object(o))
		return 0;
	d->given = true;
	d->ios = count_of(o, "total_ios");
	d->bytes = fio_job_json_bytes(o, version);
	d->iops = json_number(o, "iops", 0);
	d->runtime_msec = json_number(o, "runtime", 0);
	bw_bytes = json_number(o, "bw_bytes", -1);
	if (bw_bytes >= 0)
		d->bytes_per_sec = bw_bytes;
	else if (d->runtime_msec > 0 && d->bytes)
		d->bytes_per_sec = (double)d->bytes * 1000 / d->runtime_msec;
	else
		d->bytes_per_sec = json_number(o, "bw", 0) * 1024;
	/* fio 2.1 has no total_ios: the rate tells it well enough to weigh by. */
	if (!d->ios && d->iops > 0 && !json_object_get(o, "total_ios"))
		d->ios = (uint64_t)(d->iops * d->runtime_msec / 1000 + 0.5);
	ret = read_latency(o, "clat", d->ios, &d->clat);
	if (!ret)
		ret = read_latency(o, "lat", d->ios, &d->lat);
	return ret;
}

int fio_job_json_options(const json_t *object, struct fio_options *options)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		const char *s = json_string_value(value);
		int ret = fio_options_set(options, key, s ? s : "");

		if (ret)
			return ret;
	}
	return 0;
}

int fio_job_json_read(const json_t *job, struct run *run)
{
	unsigned int version = fio_version_number(run->fio_version);
	const char *name = json_text(job, "jobname");
	const char *host = json_text(job, "hostname");
	struct run_job *j = run_add_job(run);
	int ret;

	if (!j)
		return -ENOMEM;
	j->name = strdup(name ? name : "");
	if (!j->name || (host && !(j->host = strdup(host))))
		return -ENOMEM;
	j->group = (unsigned int)count_of(job, "groupid");
	j->error = (int)json_number(job, "error", 0);
	j->nr_errors = count_of(job, "total_err");
	j->start_msec = json_number(job, "job_start", 0);
	j->elapsed_msec = json_number(job, "elapsed", 0) * 1000;
	ret = fio_job_json_options(json_object_get(job, "job options"), &j->options);
	for (int d = 0; d < RUN_NR_DIRECTIONS && !ret; d++)
		ret = read_direction(json_object_get(job, run_direction_name(d)), version,
				     &j->directions[d]);
	return ret;
}
