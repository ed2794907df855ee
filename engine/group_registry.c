/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process's disk groups. The list is the one thing here that is global: it must be, since jobs
 * of one fio run find each other's group through nothing but the name of its cache device.
 */
#include "group_registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry.h"

struct group_entry {
	struct group_entry *next;
	char *key;
	unsigned int number;
	unsigned int expected, joined, gone; /* users */
	struct disk_group *group;
	struct telemetry *telemetry;
	struct option_text option[ENGINE_OPTIONS_MAX];
	unsigned int noptions;
	char *prefix;
	char *fio_version;
	unsigned int msec;
	bool dry_run;
	pthread_mutex_t start_lock;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct group_entry *entries;
static unsigned int appeared;
static bool given_up;

static const struct vclock real_clock;

/* Two names of one file are one cache device; profiles and @memory are told apart by their name
 * only. */
static char *make_key(const char *name)
{
	char *real = name[0] == '@' ? NULL : realpath(name, NULL);

	return real ? real : strdup(name);
}

static void entry_free(struct group_entry *g)
{
	telemetry_close(g->telemetry);
	pthread_mutex_destroy(&g->start_lock);
	free(g->key);
	free(g->prefix);
	free(g->fio_version);
	free(g);
}

static int open_entry(struct group_entry **out, char *key, const struct engine_options *e,
		      bool verifies, bool (*stop)(void *), void *stop_arg, const char *fio_version,
		      struct report *r)
{
	char *list[DG_MAX_CAPACITY] = {NULL};
	struct group_entry *g = calloc(1, sizeof(*g));
	struct dg_options o;
	int err;

	if (!g) {
		free(key);
		return report(r, -ENOMEM, "no memory for a disk group");
	}
	g->key = key;
	pthread_mutex_init(&g->start_lock, NULL);
	g->noptions = engine_options_text(e, verifies, g->option);
	g->msec = e->vsan_log_msec;
	g->dry_run = e->dry_run;
	g->fio_version = strdup(fio_version);
	g->prefix = e->write_vsan_log && e->write_vsan_log[0] ? strdup(e->write_vsan_log) : NULL;
	err = engine_options_to_group(e, verifies, &o, list, r);
	o.stop = stop;
	o.stop_arg = stop_arg;
	if (!err)
		err = disk_group_open(&g->group, &o, &real_clock, r);
	device_list_free(list, DG_MAX_CAPACITY);
	if (err) {
		entry_free(g);
		return err;
	}
	g->number = ++appeared;
	*out = g;
	return 0;
}

static int check_same(const struct group_entry *g, const struct engine_options *e, bool verifies,
		      struct report *r)
{
	struct option_text mine[ENGINE_OPTIONS_MAX];
	unsigned int n = engine_options_text(e, verifies, mine);
	const struct option_text *d;

	/* The first is the cache device: its name may be written in two ways. */
	d = engine_options_differ(mine + 1, g->option + 1, n - 1);
	if (!d)
		return 0;
	return report(r, -EINVAL,
		      "%s=%s: another job on the same disk group (cache_device=%s) has %s=%s; jobs "
		      "that share "
		      "a cache device share its options",
		      d->name, d->value, e->cache_device, d->name, g->option[d - mine].value);
}

int group_registry_join(struct group_entry **out, const struct engine_options *e,
			unsigned int users, bool verifies, bool (*stop)(void *), void *stop_arg,
			const char *fio_version, struct report *r)
{
	struct group_entry *g;
	char *key;
	int err = 0;

	if (!e->cache_device || !e->cache_device[0])
		return report(
			r, -EINVAL,
			"cache_device is missing: a block device, a file, @memory or @PROFILE "
			"(fio-vsan drives lists the profiles)");
	key = make_key(e->cache_device);
	if (!key)
		return report(r, -ENOMEM, "no memory for a disk group");
	pthread_mutex_lock(&lock);
	for (g = entries; g && strcmp(g->key, key); g = g->next)
		;
	if (g) {
		free(key);
		err = check_same(g, e, verifies, r);
	} else {
		err = open_entry(&g, key, e, verifies, stop, stop_arg, fio_version, r);
		if (!err) {
			g->expected = users;
			g->next = entries;
			entries = g;
		}
	}
	if (!err) {
		g->joined++;
		*out = g;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

struct disk_group *group_entry_group(const struct group_entry *g)
{
	return g->group;
}

int group_entry_start(struct group_entry *g, bool writing, struct report *r)
{
	struct telemetry_option *o = NULL;
	int err;

	pthread_mutex_lock(&g->start_lock);
	err = disk_group_start(g->group, writing, r);
	if (!err && !g->telemetry) {
		struct telemetry_setup s = {.group = g->group,
					    .number = g->number,
					    .prefix = g->prefix,
					    .msec = g->msec,
					    .fio_version = g->fio_version,
					    .noptions = g->noptions};

		o = calloc(g->noptions, sizeof(*o));
		for (unsigned int i = 0; o && i < g->noptions; i++) {
			o[i].name = g->option[i].name;
			_Static_assert(sizeof(o->value) == sizeof(g->option->value),
				       "a value is copied whole");
			memcpy(o[i].value, g->option[i].value, sizeof(o[i].value));
		}
		s.options = o;
		err = o ? telemetry_open(&g->telemetry, &s, r) : -ENOMEM;
		free(o);
	}
	pthread_mutex_unlock(&g->start_lock);
	return err;
}

void group_entry_job_start(struct group_entry *g, unsigned int number, const char *name)
{
	if (g->telemetry)
		telemetry_job_start(g->telemetry, number, name);
}

void group_entry_job_end(struct group_entry *g, unsigned int number)
{
	if (g->telemetry)
		telemetry_job_end(g->telemetry, number);
}

/* lock held */
static int close_entry(struct group_entry *g)
{
	struct report r = {0};
	int err = 0, ret;

	/* Only now are all volumes known. */
	if (g->dry_run && !given_up)
		disk_group_print_plan(g->group, stderr);
	if (g->telemetry) {
		err = telemetry_finish(g->telemetry, &r);
		telemetry_summary(g->telemetry, stderr);
	}
	ret = disk_group_close(g->group, &r);
	if (!err)
		err = ret;
	if (err)
		fprintf(stderr, "fio-vsan: %s\n", r.text);
	entry_free(g);
	return err;
}

int group_registry_leave(struct group_entry *g)
{
	struct group_entry **link;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (++g->gone == g->joined && g->gone >= g->expected) {
		for (link = &entries; *link != g; link = &(*link)->next)
			;
		*link = g->next;
		/* Under the lock: who opens the same devices next must find them closed. */
		err = close_entry(g);
	}
	pthread_mutex_unlock(&lock);
	return err;
}

bool group_registry_give_up(void)
{
	bool first;

	pthread_mutex_lock(&lock);
	first = !given_up;
	given_up = true;
	pthread_mutex_unlock(&lock);
	return first;
}

bool group_registry_gave_up(void)
{
	bool ret;

	pthread_mutex_lock(&lock);
	ret = given_up;
	pthread_mutex_unlock(&lock);
	return ret;
}

void group_registry_close_all(void)
{
	pthread_mutex_lock(&lock);
	while (entries) {
		struct group_entry *g = entries;

		entries = g->next;
		close_entry(g);
	}
	pthread_mutex_unlock(&lock);
}
