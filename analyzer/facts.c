/* SPDX-License-Identifier: GPL-2.0-only */
/* Says what a run was; see facts.h. */
#include "facts.h"

#include "workload.h"

#include <errno.h>
#include <math.h>

static void add_seconds(struct text *t, double msec)
{
	text_printf(t, "%.4g s", msec / 1000);
}

static void add_workload(const struct workload *w, struct text *t)
{
	text_printf(t, "%s, %s, depth %s, working set %s, ran ", w->pattern.s, w->block_size.s,
		    w->depth.s, w->working_set.s);
	add_seconds(t, w->runtime_msec);
	if (w->ramp_msec > 0) {
		text_add(t, " after ");
		add_seconds(t, w->ramp_msec);
		text_add(t, " of ramp");
	}
}

static void add_buffer(const struct vsan_group *g, struct text *t)
{
	if (isfinite(g->fill_start_pct))
		text_printf(t, "%.3g%% full at start", g->fill_start_pct);
	if (isfinite(g->fill_max_pct))
		text_printf(t, "%s%.3g%% at most", t->len ? ", " : "", g->fill_max_pct);
	if (isfinite(g->first_full_msec)) {
		text_add(t, t->len ? ", first full at " : "first full at ");
		add_seconds(t, g->first_full_msec);
	}
}

static void line(FILE *f, unsigned int indent, const char *name, const struct text *t)
{
	fprintf(f, "%*s%-9s %s\n", (int)indent, "", name, t->s ? t->s : "");
}

/* @t is room to work in. */
static void print_group(const struct run *run, const struct vsan_group *g, FILE *f,
			unsigned int indent, struct text *t)
{
	static const char *const roles[] = {"cache", "capacity"};

	if (run->nr_groups > 1)
		fprintf(f, "%*sgroup %u\n", (int)indent, "", g->number);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		text_free(t);
		workload_add_drives(g, roles[i], t);
		if (t->len)
			line(f, indent, roles[i], t);
	}
	text_free(t);
	add_buffer(g, t);
	if (t->len)
		line(f, indent, "buffer", t);
}

int facts_print(const struct run *run, FILE *f, unsigned int indent)
{
	struct workload w;
	struct text t = {0};
	int ret = workload_derive(run, &w);

	if (ret)
		goto out;
	text_add_clean(&t, run->json_path ? run->json_path : run->path, 0);
	text_add(&t, ", ");
	text_add_clean(&t, run->fio_version ? run->fio_version : "no fio result", 40);
	if (run->time) {
		text_add(&t, ", ");
		text_add_clean(&t, run->time, 40);
	}
	line(f, indent, "result", &t);
	if (run->nr_jobs) {
		text_free(&t);
		add_workload(&w, &t);
		line(f, indent, "workload", &t);
		text_free(&t);
		text_add(&t, w.engine.s);
		line(f, indent, "engine", &t);
	}
	for (size_t i = 0; i < run->nr_groups; i++)
		print_group(run, &run->groups[i], f, indent, &t);
	ret = t.failed ? -ENOMEM : 0;
out:
	text_free(&t);
	workload_free(&w);
	return ret;
}

json_t *json_clean_string(const char *s)
{
	struct text t = {0};
	json_t *v;

	text_add_clean(&t, s, 0);
	v = t.failed ? NULL : json_string(t.s ? t.s : "");
	text_free(&t);
	return v;
}

json_t *json_string_list(const struct text_list *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->nr && a; i++)
		if (json_array_append_new(a, json_clean_string(l->items[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *device_json(const struct vsan_device *d)
{
	json_t *o = json_object();

	json_object_set_new(o, "role", json_clean_string(d->role ? d->role : ""));
	json_object_set_new(o, "name", json_clean_string(d->name ? d->name : ""));
	json_object_set_new(o, "kind", json_clean_string(d->kind ? d->kind : ""));
	json_object_set_new(o, "condition",
			    d->condition ? json_clean_string(d->condition) : json_null());
	json_object_set_new(o, "title", d->title ? json_clean_string(d->title) : json_null());
	json_object_set_new(o, "certainty",
			    d->certainty ? json_clean_string(d->certainty) : json_null());
	return o;
}

static json_t *group_json(const struct vsan_group *g)
{
	json_t *o = json_object(), *devices = json_array(), *options = json_object();

	for (size_t i = 0; i < g->nr_devices; i++)
		json_array_append_new(devices, device_json(&g->devices[i]));
	for (size_t i = 0; i < g->nr_options; i++)
		json_object_set_new(options, g->options[i].name,
				    json_clean_string(g->options[i].value));
	json_object_set_new(o, "group", json_integer(g->number));
	json_object_set_new(o, "modelled", json_boolean(g->modelled));
	json_object_set_new(o, "fill_start_pct", number_or_null(g->fill_start_pct));
	json_object_set_new(o, "fill_max_pct", number_or_null(g->fill_max_pct));
	json_object_set_new(o, "first_full_msec", number_or_null(g->first_full_msec));
	json_object_set_new(o, "devices", devices);
	json_object_set_new(o, "options", options);
	return o;
}

json_t *facts_json(const struct run *run)
{
	struct workload w;
	json_t *o = json_object(), *groups = json_array();

	if (workload_derive(run, &w) || !o || !groups) {
		workload_free(&w);
		json_decref(groups);
		json_decref(o);
		return NULL;
	}
	for (size_t i = 0; i < run->nr_groups; i++)
		json_array_append_new(groups, group_json(&run->groups[i]));
	json_object_set_new(o, "path", json_clean_string(run->path));
	json_object_set_new(o, "fio_version",
			    run->fio_version ? json_clean_string(run->fio_version) : json_null());
	json_object_set_new(o, "time", run->time ? json_clean_string(run->time) : json_null());
	if (run->nr_jobs) {
		json_object_set_new(o, "access_pattern", json_clean_string(w.pattern.s));
		json_object_set_new(o, "block_size", json_clean_string(w.block_size.s));
		json_object_set_new(o, "jobs", json_integer(w.nr_jobs));
		json_object_set_new(o, "queue_depth", json_integer(w.total_depth));
		json_object_set_new(o, "working_set_bytes", number_or_null(w.working_set_bytes));
		json_object_set_new(o, "runtime_s", json_real(w.runtime_msec / 1000));
		json_object_set_new(o, "ramp_s", json_real(w.ramp_msec / 1000));
		json_object_set_new(o, "ioengine", json_clean_string(w.engine.s));
	}
	json_object_set_new(o, "groups", groups);
	workload_free(&w);
	return o;
}
