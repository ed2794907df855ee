/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds and lists drive profiles by name; see drive_catalog.h. */
#include "drive_catalog.h"

#include "near_name.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VSAN_PROFILE_DIR_BUILD
#define VSAN_PROFILE_DIR_BUILD "engine/profiles"
#endif
#ifndef VSAN_PROFILE_DIR_INSTALL
#define VSAN_PROFILE_DIR_INSTALL "/usr/local/share/fio-vsan/profiles"
#endif

enum {
	MAX_DIRS = 3,
	MAX_NAMES = 1024,
	MAX_HINTS = 3,
};

struct name_list {
	char (*names)[DRIVE_NAME_MAX];
	size_t n;
};

static unsigned int profile_dirs(const char *dirs[MAX_DIRS])
{
	const char *env = getenv(DRIVE_PROFILE_ENV);
	unsigned int n = 0;

	if (env && *env)
		dirs[n++] = env;
	dirs[n++] = VSAN_PROFILE_DIR_BUILD;
	dirs[n++] = VSAN_PROFILE_DIR_INSTALL;
	return n;
}

/* A folder that the user named must be there; the others exist only in one way of using us. */
static int check_env_dir(struct report *r)
{
	const char *env = getenv(DRIVE_PROFILE_ENV);
	DIR *d;

	if (!env || !*env)
		return 0;
	d = opendir(env);
	if (!d) {
		int err = -errno;

		return report(r, err, "%s=%s: %s; let it name a folder of .ini files, or unset it",
			      DRIVE_PROFILE_ENV, env, strerror(-err));
	}
	closedir(d);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool has_name(const struct name_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->names[i], name) == 0)
			return true;
	return false;
}

static void add_dir(struct name_list *l, const char *dir)
{
	const struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return;
	while (l->n < MAX_NAMES && (e = readdir(d))) {
		size_t len = strlen(e->d_name), suffix = strlen(DRIVE_SUFFIX);
		char name[DRIVE_NAME_MAX];

		if (e->d_name[0] == '.' || len <= suffix || len - suffix >= DRIVE_NAME_MAX ||
		    strcmp(e->d_name + len - suffix, DRIVE_SUFFIX) != 0)
			continue;
		memcpy(name, e->d_name, len - suffix);
		name[len - suffix] = '\0';
		if (!has_name(l, name))
			memcpy(l->names[l->n++], name, sizeof(name));
	}
	closedir(d);
}

/* The names of all profiles, sorted; the caller frees l->names. */
static int collect_names(struct name_list *l)
{
	const char *dirs[MAX_DIRS];
	unsigned int n = profile_dirs(dirs);

	l->n = 0;
	l->names = calloc(MAX_NAMES, sizeof(*l->names));
	if (!l->names)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++)
		add_dir(l, dirs[i]);
	qsort(l->names, l->n, sizeof(*l->names), compare_names);
	return 0;
}

/* Up to MAX_HINTS names near to @name as ", ", separated text; empty when none is. */
static void near_names(const char *name, char *buf, size_t len)
{
	struct name_list l;
	bool used[MAX_NAMES] = {false};
	size_t pos = 0;

	buf[0] = '\0';
	if (collect_names(&l))
		return;
	for (int hint = 0; hint < MAX_HINTS; hint++) {
		unsigned int best = UINT_MAX;
		size_t which = 0;

		for (size_t i = 0; i < l.n; i++) {
			unsigned int distance;

			if (!used[i] && near_name(name, l.names[i], &distance) && distance < best) {
				best = distance;
				which = i;
			}
		}
		if (best == UINT_MAX || pos >= len)
			break;
		used[which] = true;
		pos += (size_t)snprintf(buf + pos, len - pos, "%s%s", hint ? ", " : "",
					l.names[which]);
	}
	free(l.names);
}

int drive_catalog_find(const char *name, char *path, size_t len, struct report *r)
{
	const char *dirs[MAX_DIRS];
	unsigned int n = profile_dirs(dirs);
	char hints[3 * DRIVE_NAME_MAX];
	int err;

	err = check_env_dir(r);
	if (err)
		return err;
	if (strlen(name) >= DRIVE_NAME_MAX)
		return report(r, -ENAMETOOLONG,
			      "a drive profile's name has at most %d letters; "
			      "'fio-vsan drives' lists them",
			      DRIVE_NAME_MAX - 1);
	for (unsigned int i = 0; i < n; i++) {
		int need = snprintf(path, len, "%s/%s%s", dirs[i], name, DRIVE_SUFFIX);

		if (need > 0 && (size_t)need < len && access(path, F_OK) == 0)
			return 0;
	}
	near_names(name, hints, sizeof(hints));
	if (hints[0])
		return report(
			r, -ENOENT,
			"no drive profile is called '%s'; did you mean %s? "
			"'fio-vsan drives' lists all, a file of your own is given by its path",
			name, hints);
	return report(r, -ENOENT,
		      "no drive profile is called '%s'; 'fio-vsan drives' lists them, "
		      "a file of your own is given by its path",
		      name);
}

int drive_catalog_list(struct drive_profile **out, size_t *n, struct report *r)
{
	struct drive_profile *list = NULL;
	struct name_list l = {NULL, 0};
	size_t good = 0;
	int err;

	err = check_env_dir(r);
	if (err)
		return err;
	err = collect_names(&l);
	if (!err && l.n) {
		list = calloc(l.n, sizeof(*list));
		if (!list)
			err = -ENOMEM;
	}
	if (err) {
		report(r, err, "no memory for the list of drive profiles");
		goto out;
	}
	for (size_t i = 0; i < l.n; i++)
		if (!drive_profile_load(l.names[i], &list[good], r))
			good++;
	if (!l.n) {
		err = report(r, -ENOENT,
			     "no drive profiles in %s or %s; install fio-vsan, or let %s name "
			     "their folder",
			     VSAN_PROFILE_DIR_BUILD, VSAN_PROFILE_DIR_INSTALL, DRIVE_PROFILE_ENV);
		goto out;
	}
	*out = list;
	*n = good;
	list = NULL;
out:
	free(list);
	free(l.names);
	return err;
}

static void print_row(FILE *f, const struct drive_profile *p, int width)
{
	char t[6][32];

	fprintf(f, "%-*s  %-7s  %-8s  %-11s  %-12s  %-9s  %-6s  %-13s  %-9s  %s\n", width, p->name,
		figure_text(p, FIG_CAPACITY, t[0], sizeof(t[0])),
		figure_text(p, FIG_READ_QD1, t[1], sizeof(t[1])),
		figure_text(p, FIG_READ_MAX, t[2], sizeof(t[2])),
		figure_text(p, FIG_WRITE_STEADY, t[3], sizeof(t[3])),
		figure_text(p, FIG_MIX_STEADY, t[4], sizeof(t[4])),
		figure_text(p, FIG_T_FLUSH, t[5], sizeof(t[5])),
		drive_profile_has_fresh(p) ? "steady, fresh" : "steady",
		figure_mark_name(drive_profile_certainty(p)), p->mix_calibrated ? "yes" : "no");
}

static void print_legend(FILE *f)
{
	static const char *const lines[] = {
		"",
		"READ QD1        mean latency of 4K random reads, one at a time",
		"READ MOST       4K random reads, deep queue",
		"WRITE STEADY    4K random writes, worn-in drive",
		"70/30           4K random mix in steady state, where a figure is known",
		"FLUSH           one flush; flushes of a drive queue behind each other",
		"CONDITION       what cache_condition and capacity_condition can choose",
		"HOW SURE        the least sure of the key figures: measured, datasheet, recalled",
		"                (the maker's figure from memory) or estimated",
		"MIX CALIBRATED  no: a mix of reads and writes below saturation is a guess",
		"",
		"A profile tells what a drive with these figures would do, not what yours will do.",
		"'fio-vsan drives NAME' shows every figure with its source.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		fprintf(f, "%s\n", lines[i]);
}

int drive_catalog_print(FILE *f, bool verbose)
{
	struct report r = {0};
	struct drive_profile *list;
	int width = 4;
	size_t n;
	int err;

	err = drive_catalog_list(&list, &n, &r);
	if (err) {
		fprintf(f, "%s\n", r.text);
		return err;
	}
	for (size_t i = 0; i < n; i++)
		if ((int)strlen(list[i].name) > width)
			width = (int)strlen(list[i].name);
	fprintf(f, "%-*s  %-7s  %-8s  %-11s  %-12s  %-9s  %-6s  %-13s  %-9s  %s\n", width, "NAME",
		"SIZE", "READ QD1", "READ MOST", "WRITE STEADY", "70/30", "FLUSH", "CONDITION",
		"HOW SURE", "MIX CALIBRATED");
	for (size_t i = 0; i < n; i++)
		print_row(f, &list[i], width);
	for (size_t i = 0; verbose && i < n; i++) {
		fprintf(f, "\n%s: %s\n", list[i].name, list[i].title);
		if (list[i].band[0])
			fprintf(f, "  band: %s\n", list[i].band);
		if (list[i].note[0])
			fprintf(f, "  note: %s\n", list[i].note);
	}
	print_legend(f);
	if (r.err)
		fprintf(f, "left out: %s\n", r.text);
	free(list);
	return r.err;
}
