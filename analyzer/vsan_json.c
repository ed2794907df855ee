/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads PREFIX_vsan.N.json, the engine's summary of one disk group; see vsan_telemetry.h. */
#include "vsan_telemetry.h"

#include "file_text.h"
#include "json_text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int copy_text(char **to, const char *from)
{
	if (!from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int read_options(const json_t *o, struct vsan_group *g)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)o, key, value)
	{
		const char *s = json_string_value(value);
		struct vsan_option *option;
		char *dumped = NULL;
		int ret;

		if (array_grow(&g->options, g->nr_options, &g->cap_options, sizeof(*g->options)))
			return -ENOMEM;
		option = &g->options[g->nr_options];
		*option = (struct vsan_option){0};
		if (!s)
			s = dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		g->nr_options++; /* from here on freed with the group */
		ret = copy_text(&option->name, key);
		if (!ret)
			ret = copy_text(&option->value, s ? s : "");
		free(dumped);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_device(const json_t *o, struct vsan_group *g)
{
	const json_t *profile = json_object_get(o, "profile");
	struct vsan_device *d;
	int ret;

	if (array_grow(&g->devices, g->nr_devices, &g->cap_devices, sizeof(*g->devices)))
		return -ENOMEM;
	d = &g->devices[g->nr_devices++];
	*d = (struct vsan_device){0};
	ret = copy_text(&d->role, json_text(o, "role"));
	ret = ret ? ret : copy_text(&d->name, json_text(o, "name"));
	ret = ret ? ret : copy_text(&d->kind, json_text(o, "kind"));
	ret = ret ? ret : copy_text(&d->condition, json_text(o, "condition"));
	ret = ret ? ret : copy_text(&d->title, json_text(profile, "title"));
	ret = ret ? ret : copy_text(&d->certainty, json_text(profile, "certainty"));
	d->ios[0] = json_number(o, "read_ios", 0);
	d->ios[1] = json_number(o, "write_ios", 0);
	d->usec_mean[0] = json_number(o, "read_usec_mean", NAN);
	d->usec_mean[1] = json_number(o, "write_usec_mean", NAN);
	d->errors = (uint64_t)fmax(json_number(o, "errors", 0), 0);
	d->failed = json_is_true(json_object_get(o, "failed"));
	return ret;
}

/* Job numbers are small; what is not in the range is no job number. */
static unsigned int job_number(const json_t *o)
{
	double n = json_number(o, "number", 0);

	return n >= 1 && n <= 1e6 ? (unsigned int)n : 0;
}

static int read_job(const json_t *o, struct vsan_group *g)
{
	unsigned int number = job_number(o);
	const char *name = json_text(o, "name");
	double start = json_number(o, "start_msec", NAN);
	int ret;

	if (!number || !isfinite(start))
		return 0;
	ret = vsan_job_set(g, number, name ? name : "", start);
	if (!ret)
		((struct vsan_job *)vsan_job_find(g, number))->end_msec =
			json_number(o, "end_msec", NAN);
	return ret;
}

static double sum_volumes(const json_t *volumes)
{
	const json_t *v;
	double sum = 0;
	size_t i;

	json_array_foreach((json_t *)volumes, i, v) sum += json_number(v, "bytes", 0);
	return sum > 0 ? sum : NAN;
}

static int read_group(const json_t *root, struct vsan_group *g)
{
	const json_t *buffer = json_object_get(root, "write_buffer");
	const json_t *reads = json_object_get(root, "reads");
	const json_t *late = json_object_get(root, "lateness_us");
	const json_t *item;
	size_t i;
	int ret;

	g->modelled = json_is_true(json_object_get(root, "modelled"));
	g->fill_start_pct = json_number(buffer, "fill_start_pct", NAN);
	g->fill_max_pct = json_number(buffer, "fill_max_pct", NAN);
	g->first_full_msec = json_number(buffer, "first_full_msec", NAN);
	g->volume_bytes = sum_volumes(json_object_get(root, "volumes"));
	g->reads[0] = json_number(reads, "wb", 0);
	g->reads[1] = json_number(reads, "capacity", 0);
	g->reads[2] = json_number(reads, "never_written", 0);
	g->has_lateness = json_is_object(late) && json_number(late, "count", 0) > 0;
	g->lateness_p50_usec = json_number(late, "p50", NAN);
	g->lateness_p99_usec = json_number(late, "p99", NAN);
	g->lateness_max_usec = json_number(late, "max", NAN);
	ret = read_options(json_object_get(root, "options"), g);
	if (ret)
		return ret;
	json_array_foreach(json_object_get(root, "devices"), i, item)
	{
		ret = read_device(item, g);
		if (ret)
			return ret;
	}
	json_array_foreach(json_object_get(root, "jobs"), i, item)
	{
		ret = read_job(item, g);
		if (ret)
			return ret;
	}
	json_array_foreach(json_object_get(root, "warnings"), i, item)
	{
		if (json_is_string(item) &&
		    text_list_add(&g->warnings, "%s", json_string_value(item)))
			return -ENOMEM;
	}
	return 0;
}

int vsan_json_read(struct vsan_group *g, struct report *r)
{
	struct json_extent e;
	json_t *root = NULL;
	char *text = NULL;
	size_t len;
	int ret;

	ret = file_text_read(g->json_path, &text, &len, r);
	if (ret)
		return ret;
	if (!json_extent_next(text, len, 0, false, &e))
		ret = report(r, -EINVAL, "%s:1: no JSON in it; remove the file or run fio again",
			     g->json_path);
	else if (!e.whole)
		ret = report(r, -EINVAL, "%s:%u: cut off; remove the file or run fio again",
			     g->json_path, json_line(text, len - 1));
	else
		ret = json_extent_parse(g->json_path, text, &e, &root, r);
	if (!ret && !json_object_get(root, "fio-vsan"))
		ret = report(
			r, -EINVAL,
			"%s:1: not the engine's summary (no \"fio-vsan\" key); rename the file",
			g->json_path);
	if (!ret) {
		ret = read_group(root, g);
		if (ret)
			report(r, ret, "%s: no memory", g->json_path);
	}
	json_decref(root);
	free(text);
	return ret;
}
