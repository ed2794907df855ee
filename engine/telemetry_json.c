/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PREFIX_vsan.N.json: everything about a run that is one value and not a series. The analyzer reads it;
 * keys may be added, their meaning does not change. Times are ms on the clock of the log, us where
 * the key says so; rates are left to the reader, who has the bytes and the times.
 *
 * Runs after the run, in one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "telemetry_impl.h"

#ifndef VSAN_VERSION
#define VSAN_VERSION "unknown"
#endif

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* Job names are the user's bytes: what is no UTF-8 is replaced, a string is never lost. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);
	char *copy;

	if (j || !(copy = strdup(s)))
		return j;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = json_string(copy);
	free(copy);
	return j;
}

static json_t *mean_usec(uint64_t nsec, uint64_t count)
{
	return json_real(count ? (double)nsec / (double)count / 1000.0 : 0.0);
}

static const char *kind_name(enum dev_kind k)
{
	static const char *const name[] = {"block", "file", "memory", "modelled", "other"};

	return name[k];
}

static json_t *profile_json(const struct drive_profile *p)
{
	if (!p)
		return json_null();
	return json_pack("{s:o, s:s, s:b, s:o, s:o}", "title", text(p->title), "certainty",
			 figure_mark_name(drive_profile_certainty(p)), "mix_calibrated",
			 (int)p->mix_calibrated, "note", text(p->note), "band", text(p->band));
}

static json_t *device_json(const struct telemetry *t, unsigned int i)
{
	const struct device *d = disk_group_device(t->group, i);
	const struct device_totals *s = &t->device[i];
	json_t *o = json_object();

	json_object_set_new(o, "role", json_string(i ? "capacity" : "cache"));
	json_object_set_new(o, "index", number(i ? i - 1 : 0));
	json_object_set_new(o, "name", text(d->name));
	json_object_set_new(o, "kind", json_string(kind_name(d->kind)));
	json_object_set_new(o, "size", number(d->size));
	json_object_set_new(o, "condition",
			    d->has_timing ? json_string(d->fresh ? "fresh" : "steady")
					  : json_null());
	json_object_set_new(o, "profile", profile_json(d->profile));
	json_object_set_new(o, "read_ios", number(s->ios[DEV_READ]));
	json_object_set_new(o, "read_bytes", number(s->bytes[DEV_READ]));
	json_object_set_new(o, "read_usec_mean", mean_usec(s->nsec[DEV_READ], s->ios[DEV_READ]));
	json_object_set_new(o, "write_ios", number(s->ios[DEV_WRITE]));
	json_object_set_new(o, "write_bytes", number(s->bytes[DEV_WRITE]));
	json_object_set_new(o, "write_usec_mean", mean_usec(s->nsec[DEV_WRITE], s->ios[DEV_WRITE]));
	json_object_set_new(o, "flushes", number(s->ios[DEV_FLUSH]));
	json_object_set_new(o, "errors", number(s->errors));
	json_object_set_new(o, "failed", json_boolean(disk_group_device_failed(t->group, i)));
	return o;
}

static json_t *buffer_json(const struct telemetry *t)
{
	const struct dg_stats *s = &t->final;
	json_t *o = json_object();

	json_object_set_new(o, "bytes", number(s->pages * DG_BLOCK));
	json_object_set_new(o, "buckets", number(s->buckets));
	json_object_set_new(
		o, "page_allocation",
		json_string(disk_group_options(t->group)->page_allocation == DG_PAGES_SCATTERED
				    ? "scattered"
				    : "contiguous"));
	json_object_set_new(o, "fill_start_pct", json_real(s->fill_start_pct));
	json_object_set_new(o, "fill_end_pct", json_real(s->fill_pct));
	json_object_set_new(o, "fill_max_pct", json_real(s->fill_max_pct));
	json_object_set_new(o, "bytes_written", number(s->bytes[DG_WRITE]));
	json_object_set_new(o, "bytes_overwritten", number(s->bytes_overwritten));
	json_object_set_new(o, "bytes_destaged", number(s->bytes_destaged));
	json_object_set_new(o, "zero_bytes_destaged", number(s->zero_bytes_destaged));
	json_object_set_new(o, "buckets_destaged", number(s->buckets_destaged));
	json_object_set_new(o, "first_full_msec",
			    s->first_full_ns ? json_real(stats_msec(s, s->first_full_ns))
					     : json_null());
	return o;
}

static json_t *stall_json(const struct dg_stall *s)
{
	return json_pack("{s:I, s:f}", "count", (json_int_t)s->count, "msec",
			 (double)s->nsec / 1e6);
}

static json_t *jobs_json(const struct telemetry *t)
{
	json_t *a = json_array();

	for (const struct telemetry_job *j = t->jobs; j; j = j->next)
		json_array_append_new(a, json_pack("{s:i, s:o, s:f, s:f}", "number", (int)j->number,
						   "name", text(j->name), "start_msec",
						   j->start_msec, "end_msec", j->end_msec));
	return a;
}

static json_t *lateness_json(const struct lateness *l)
{
	if (!l->count)
		return json_null();
	return json_pack("{s:I, s:f, s:f, s:f}", "count", (json_int_t)l->count, "p50",
			 (double)lateness_percentile(l, 50) / 1000.0, "p99",
			 (double)lateness_percentile(l, 99) / 1000.0, "max",
			 (double)l->max_ns / 1000.0);
}

static json_t *build(const struct telemetry *t)
{
	const struct dg_stats *s = &t->final;
	json_t *root = json_object(), *options = json_object(), *devices = json_array();
	json_t *warnings = json_array(), *volumes = json_array();
	bool modelled = false;

	for (size_t i = 0; i < t->noptions; i++)
		json_object_set_new(options, t->options[i].name, text(t->options[i].value));
	for (unsigned int i = 0; i < disk_group_devices(t->group); i++) {
		json_array_append_new(devices, device_json(t, i));
		modelled |= disk_group_device(t->group, i)->has_timing;
	}
	for (unsigned int i = 0; i < t->nwarnings; i++)
		json_array_append_new(warnings, text(t->warning[i]));
	for (const struct dg_volume *v = disk_group_next_volume(t->group, NULL); v;
	     v = disk_group_next_volume(t->group, v))
		json_array_append_new(volumes,
				      json_pack("{s:o, s:I}", "name", text(dg_volume_name(v)),
						"bytes", (json_int_t)dg_volume_size(v)));
	json_object_set_new(root, "fio-vsan", json_string(VSAN_VERSION));
	json_object_set_new(root, "fio", json_string(t->fio_version));
	json_object_set_new(root, "group", number(t->number));
	json_object_set_new(root, "timestamp", json_integer((json_int_t)time(NULL)));
	json_object_set_new(root, "options", options);
	json_object_set_new(root, "modelled", json_boolean(modelled));
	json_object_set_new(root, "devices", devices);
	json_object_set_new(root, "write_buffer", buffer_json(t));
	json_object_set_new(root, "volumes", volumes);
	json_object_set_new(root, "jobs", jobs_json(t));
	json_object_set_new(root, "stalls",
			    json_pack("{s:o, s:o, s:o}", "no_page", stall_json(&s->no_page),
				      "congestion", stall_json(&s->congestion), "overlap",
				      stall_json(&s->overlap)));
	json_object_set_new(root, "reads",
			    json_pack("{s:I, s:I, s:I}", "wb", (json_int_t)s->blocks_wb_read,
				      "capacity", (json_int_t)s->blocks_capacity_read,
				      "never_written", (json_int_t)s->blocks_never_written));
	json_object_set_new(root, "lateness_us", lateness_json(&s->lateness));
	json_object_set_new(root, "memory_bytes", number(s->memory_bytes));
	json_object_set_new(root, "warnings", warnings);
	return root;
}

int telemetry_json_remove(const struct telemetry *t, struct report *r)
{
	char *path;
	int err = 0;

	if (asprintf(&path, "%s_vsan.%u.json", t->prefix, t->number) < 0)
		return report(r, -ENOMEM, "write_vsan_log: no memory for the vSAN log");
	if (unlink(path) && errno != ENOENT)
		err = report(r, -errno, "write_vsan_log: cannot replace %s: %s", path,
			     strerror(errno));
	free(path);
	return err;
}

/* To a temporary name, then renamed: a reader never sees half of it. */
int telemetry_json_write(const struct telemetry *t, struct report *r)
{
	char *path = NULL, *tmp = NULL;
	json_t *root = build(t);
	int err = 0;

	if (asprintf(&path, "%s_vsan.%u.json", t->prefix, t->number) < 0) {
		path = NULL;
		err = -ENOMEM;
	} else if (asprintf(&tmp, "%s.tmp.%d", path, (int)getpid()) < 0) {
		tmp = NULL;
		err = -ENOMEM;
	}
	if (err) {
		report(r, err, "write_vsan_log: no memory for the JSON of the run");
		goto out;
	}
	errno = 0;
	/* 12 digits: microseconds in a run of eleven days. */
	if (json_dump_file(root, tmp, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) ||
	    rename(tmp, path)) {
		err = errno ? -errno : -EIO;
		unlink(tmp);
		report(r, err, "write_vsan_log: cannot write %s: %s", path, strerror(-err));
	}
out:
	json_decref(root);
	free(tmp);
	free(path);
	return err;
}
