/* SPDX-License-Identifier: GPL-2.0-only */
/* From the text and numbers of a job's options to a disk group's options; see engine_options.h. */
#include "engine_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* fio stores N% in a size option as -1 - N. */
static bool is_percent(unsigned long long v)
{
	return v >= -101ull;
}

static unsigned int percent_of(unsigned long long v)
{
	return (unsigned int)(-1ull - v);
}

int device_list_split(const char *list, char **out, unsigned int max)
{
	unsigned int n = 0;
	const char *p = list;

	for (;;) {
		char *name = malloc(strlen(p) + 1), *w = name;

		if (!name) {
			device_list_free(out, n < max ? n : max);
			return -ENOMEM;
		}
		while (*p && *p != ':') {
			if (p[0] == '\\' && p[1] == ':')
				p++;
			*w++ = *p++;
		}
		*w = '\0';
		if (n < max)
			out[n] = name;
		else
			free(name);
		n++;
		if (!*p)
			return (int)n;
		p++;
	}
}

void device_list_free(char **list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(list[i]);
		list[i] = NULL;
	}
}

static bool resolve_drive_data(const struct engine_options *e, bool verifies)
{
	return e->drive_data == DRIVE_DATA_MEMORY || (e->drive_data == DRIVE_DATA_AUTO && verifies);
}

static bool is_profile(const char *name)
{
	return name[0] == '@' && strcmp(name, "@memory");
}

static int check_verify(const struct engine_options *e, const struct dg_options *o,
			struct report *r)
{
	bool modelled = is_profile(o->cache);

	for (unsigned int i = 0; i < o->ncapacity; i++)
		modelled |= is_profile(o->capacity[i]);
	if (e->prefilled)
		return report(r, -EINVAL,
			      "prefilled: a prefilled group holds no data to verify; leave out "
			      "prefilled or "
			      "verify");
	if (modelled && !o->drive_data)
		return report(r, -EINVAL,
			      "drive_data=none: the job verifies, but modelled drives keep no data "
			      "then; use "
			      "drive_data=memory");
	return 0;
}

static int check_devices(const struct dg_options *o, int n, struct report *r)
{
	if (n > (int)DG_MAX_CAPACITY)
		return report(r, -EINVAL,
			      "capacity_devices: %d devices are given, a disk group has at most %u",
			      n, DG_MAX_CAPACITY);
	for (unsigned int i = 0; i < o->ncapacity; i++)
		if (!o->capacity[i][0])
			return report(r, -EINVAL,
				      "capacity_devices: device %u of the list is empty; separate "
				      "devices "
				      "by one ':'",
				      i + 1);
	if (o->prefilled)
		for (unsigned int i = 0; i <= o->ncapacity; i++) {
			const char *name = i ? o->capacity[i - 1] : o->cache;

			if (name[0] != '@')
				return report(r, -EINVAL,
					      "prefilled: only for modelled and memory devices, "
					      "not %s; fill "
					      "it with a write job first",
					      name);
		}
	return 0;
}

int engine_options_to_group(const struct engine_options *e, bool verifies, struct dg_options *o,
			    char **list, struct report *r)
{
	int n;

	if (!e->cache_device || !e->cache_device[0])
		return report(
			r, -EINVAL,
			"cache_device is missing: a block device, a file, @memory or @PROFILE "
			"(fio-vsan drives lists the profiles)");
	if (!e->capacity_devices || !e->capacity_devices[0])
		return report(r, -EINVAL,
			      "capacity_devices is missing: 1 to %u devices, ':' between them",
			      DG_MAX_CAPACITY);
	if (strlen(e->cache_device) >= OPTION_VALUE_MAX ||
	    strlen(e->capacity_devices) >= OPTION_VALUE_MAX)
		return report(r, -ENAMETOOLONG, "%s: longer than %u bytes; use shorter paths",
			      strlen(e->cache_device) >= OPTION_VALUE_MAX ? "cache_device"
									  : "capacity_devices",
			      OPTION_VALUE_MAX - 1);
	n = device_list_split(e->capacity_devices, list, DG_MAX_CAPACITY);
	if (n < 0)
		return report(r, n, "no memory for the list of capacity_devices");
	disk_group_options_default(o);
	o->cache = e->cache_device;
	o->ncapacity = n > (int)DG_MAX_CAPACITY ? DG_MAX_CAPACITY : (unsigned int)n;
	for (unsigned int i = 0; i < o->ncapacity; i++)
		o->capacity[i] = list[i];
	if (is_percent(e->cache_size) || is_percent(e->capacity_size))
		return report(r, -EINVAL, "%s: must be a size in bytes, not a percentage",
			      is_percent(e->cache_size) ? "cache_size" : "capacity_size");
	o->cache_size = e->cache_size;
	o->capacity_size = e->capacity_size;
	o->file_prepare = (enum file_prepare)e->file_prepare;
	o->cache_fresh = e->cache_fresh;
	o->capacity_fresh = e->capacity_fresh;
	o->drive_data = resolve_drive_data(e, verifies);
	o->drive_seed = e->drive_seed;
	o->prefilled = (enum dg_prefilled)e->prefilled;
	if (is_percent(e->write_buffer_size)) {
		o->write_buffer_pct = percent_of(e->write_buffer_size);
		if (o->write_buffer_pct < 1)
			return report(r, -EINVAL, "write_buffer_size=0%%: must be 1%% to 100%%");
	} else {
		o->write_buffer_size = e->write_buffer_size;
	}
	o->buckets = e->buckets;
	o->page_allocation = (enum dg_page_allocation)e->page_allocation;
	o->stripe_width = e->stripe_width;
	o->destage_start = e->destage_start;
	o->destage_unthrottle = e->destage_unthrottle;
	o->destage_sleep_ns = e->destage_sleep * NSEC_PER_USEC;
	o->destage_batch = e->destage_batch;
	o->destage_depth = e->destage_depth;
	o->drain = (enum dg_drain)e->drain;
	o->durability = (enum dg_durability)e->durability;
	o->format = (enum dg_format)e->format;
	o->allow_overwrite = e->allow_overwrite;
	o->target = (enum dg_target)e->target;
	o->congestion_ssd_low = e->congestion_ssd_low;
	o->congestion_ssd_high = e->congestion_ssd_high;
	o->congestion_delay_us = e->congestion_delay;
	o->congestion_tau = e->congestion_tau;
	n = check_devices(o, n, r);
	return !n && verifies ? check_verify(e, o, r) : n;
}

/* ---- as text
 * --------------------------------------------------------------------------------------- */

static const char *const prepare_names[] = {"default", "full", "allocate", "sparse"};
static const char *const condition_names[] = {"steady", "fresh"};
static const char *const prefilled_names[] = {"none", "capacity", "buffer"};
static const char *const page_names[] = {"scattered", "contiguous"};
static const char *const drain_names[] = {"never", "start", "end", "both"};
static const char *const durability_names[] = {"write", "fua"};
static const char *const format_names[] = {"auto", "always", "never"};
static const char *const target_names[] = {"group", "cache", "capacity"};

struct text_list {
	struct option_text *out;
	unsigned int n;
};

static void put_text(struct text_list *l, const char *name, const char *value)
{
	l->out[l->n].name = name;
	snprintf(l->out[l->n].value, sizeof(l->out[l->n].value), "%s", value ? value : "");
	l->n++;
}

static void put_number(struct text_list *l, const char *name, unsigned long long v,
		       const char *unit)
{
	char text[32];

	if (is_percent(v))
		snprintf(text, sizeof(text), "%u%%", percent_of(v));
	else
		snprintf(text, sizeof(text), "%llu%s", v, unit);
	put_text(l, name, text);
}

unsigned int engine_options_text(const struct engine_options *e, bool verifies,
				 struct option_text out[ENGINE_OPTIONS_MAX])
{
	struct text_list l = {.out = out};

	put_text(&l, "cache_device", e->cache_device);
	put_text(&l, "capacity_devices", e->capacity_devices);
	put_number(&l, "cache_size", e->cache_size, "");
	put_number(&l, "capacity_size", e->capacity_size, "");
	put_text(&l, "file_prepare", prepare_names[e->file_prepare & 3]);
	put_text(&l, "cache_condition", condition_names[e->cache_fresh & 1]);
	put_text(&l, "capacity_condition", condition_names[e->capacity_fresh & 1]);
	put_text(&l, "drive_data", resolve_drive_data(e, verifies) ? "memory" : "none");
	put_number(&l, "drive_seed", e->drive_seed, "");
	put_text(&l, "prefilled", prefilled_names[e->prefilled % 3]);
	put_number(&l, "write_buffer_size", e->write_buffer_size, "");
	put_number(&l, "buckets", e->buckets, "");
	put_text(&l, "page_allocation", page_names[e->page_allocation & 1]);
	put_number(&l, "stripe_width", e->stripe_width, "");
	put_number(&l, "destage_start", e->destage_start, "%");
	put_number(&l, "destage_unthrottle", e->destage_unthrottle, "%");
	put_number(&l, "destage_sleep", e->destage_sleep, "us");
	put_number(&l, "destage_batch", e->destage_batch, "");
	put_number(&l, "destage_depth", e->destage_depth, "");
	put_text(&l, "drain", drain_names[e->drain & 3]);
	put_text(&l, "durability", durability_names[e->durability & 1]);
	put_text(&l, "format", format_names[e->format % 3]);
	put_number(&l, "allow_overwrite", e->allow_overwrite, "");
	put_text(&l, "target", target_names[e->target % 3]);
	put_number(&l, "congestion_ssd_low", e->congestion_ssd_low, "%");
	put_number(&l, "congestion_ssd_high", e->congestion_ssd_high, "%");
	put_number(&l, "congestion_delay", e->congestion_delay, "us");
	put_number(&l, "congestion_tau", e->congestion_tau, "");
	put_text(&l, "write_vsan_log", e->write_vsan_log);
	put_number(&l, "vsan_log_msec", e->vsan_log_msec, "ms");
	put_number(&l, "dry_run", e->dry_run, "");
	return l.n;
}

const struct option_text *engine_options_differ(const struct option_text *a,
						const struct option_text *b, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(a[i].value, b[i].value))
			return &a[i];
	return NULL;
}
