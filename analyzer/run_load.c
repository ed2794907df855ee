/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads runs; see run_load.h. Which of the engine's files and of fio's logs belong to a result:
 *  1. those whose prefix the result names (write_vsan_log=, write_iops_log= ...), else
 *  2. those whose prefix is the result's name without suffix, else
 *  3. all of them, if the folder holds one result only and (of the engine's) one prefix only.
 */
#include "run_load.h"

#include "fio_json.h"
#include "run_files.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_vsan(const struct run_file *f)
{
	return f->kind == RUN_FILE_VSAN_JSON || f->kind == RUN_FILE_VSAN_LOG;
}

/* Whether any job of the run, or its globals, gave option @name a path that ends in @prefix. */
static bool option_names(const struct run *run, const char *name, const char *prefix)
{
	const char *value = fio_options_get(&run->options, name);

	if (value && !strcmp(base_name(value), prefix))
		return true;
	for (size_t i = 0; i < run->nr_jobs; i++) {
		value = fio_options_get(&run->jobs[i].options, name);
		if (value && !strcmp(base_name(value), prefix))
			return true;
	}
	return false;
}

/* The folder's files, as seen from one result. */
struct choice {
	const struct run_folder *folder;
	const struct run *run;
	const char *result_prefix; /* NULL: there is no result */
	unsigned int nr_results;
};

static size_t count_vsan_prefixes(const struct choice *c)
{
	const char *first = NULL;

	for (size_t i = 0; i < c->folder->nr; i++) {
		const struct run_file *f = &c->folder->files[i];

		if (!is_vsan(f))
			continue;
		if (first && strcmp(first, f->prefix))
			return 2;
		first = f->prefix;
	}
	return first ? 1 : 0;
}

/* The prefix of the engine's files that belong to the run, or NULL. */
static const char *choose_vsan_prefix(const struct choice *c)
{
	const char *same = NULL, *any = NULL;

	for (size_t i = 0; i < c->folder->nr; i++) {
		const struct run_file *f = &c->folder->files[i];

		if (!is_vsan(f))
			continue;
		if (option_names(c->run, "write_vsan_log", f->prefix))
			return f->prefix;
		if (c->result_prefix && !strcmp(c->result_prefix, f->prefix))
			same = f->prefix;
		any = f->prefix;
	}
	if (same)
		return same;
	return c->nr_results <= 1 && count_vsan_prefixes(c) == 1 ? any : NULL;
}

static bool owns_log(const struct choice *c, const struct run_file *f)
{
	static const char *const options[][3] = {
		[FIO_LOG_IOPS] = {"write_iops_log"},
		[FIO_LOG_BW] = {"write_bw_log"},
		[FIO_LOG_LAT] = {"write_lat_log"},
		[FIO_LOG_CLAT] = {"write_lat_log", "write_clat_log"},
		[FIO_LOG_SLAT] = {"write_lat_log", "write_slat_log"},
	};

	if (c->nr_results <= 1)
		return true;
	for (size_t i = 0; i < 3 && options[f->log_kind][i]; i++)
		if (option_names(c->run, options[f->log_kind][i], f->prefix))
			return true;
	return c->result_prefix && !strcmp(c->result_prefix, f->prefix);
}

static struct vsan_group *group_of(struct run *run, unsigned int number)
{
	struct vsan_group *g;

	for (size_t i = 0; i < run->nr_groups; i++)
		if (run->groups[i].number == number)
			return &run->groups[i];
	g = run_add_group(run);
	if (g)
		g->number = number;
	return g;
}

static int attach_file(struct run *run, const struct choice *c, const struct run_file *f)
{
	struct vsan_group *g;
	struct run_log *l;
	char *path;

	if (asprintf(&path, "%s/%s", c->folder->path, f->name) < 0)
		return -ENOMEM;
	if (f->kind == RUN_FILE_LOG) {
		l = run_add_log(run);
		if (!l)
			goto fail;
		*l = (struct run_log){.path = path, .kind = f->log_kind, .number = f->number};
		return 0;
	}
	g = group_of(run, f->number);
	if (!g)
		goto fail;
	if (f->kind == RUN_FILE_VSAN_JSON)
		g->json_path = path;
	else
		g->log_path = path;
	return 0;
fail:
	free(path);
	return -ENOMEM;
}

static int attach_files(struct run *run, const struct choice *c, struct report *r)
{
	const char *prefix = choose_vsan_prefix(c);

	if (!prefix && !c->result_prefix && count_vsan_prefixes(c) > 1)
		return report(
			r, -EINVAL,
			"%s: the engine's files of several runs and no fio result; give each run "
			"its own folder",
			c->folder->path);
	if (!prefix && count_vsan_prefixes(c))
		text_list_add(
			&run->warnings,
			"%s: engine files lie beside it, but it is not clear which are its own; "
			"none is used",
			run->json_path);
	for (size_t i = 0; i < c->folder->nr; i++) {
		const struct run_file *f = &c->folder->files[i];
		bool mine = is_vsan(f) ? prefix && !strcmp(f->prefix, prefix)
				       : f->kind == RUN_FILE_LOG && owns_log(c, f);

		if (mine && attach_file(run, c, f))
			return report(r, -ENOMEM, "%s: no memory", run->path);
	}
	return 0;
}

static int read_groups(struct run *run, unsigned int needs, struct report *r)
{
	bool samples = false;
	int ret;

	for (size_t i = 0; i < run->nr_groups; i++) {
		struct vsan_group *g = &run->groups[i];

		g->fill_start_pct = g->fill_max_pct = g->first_full_msec = g->volume_bytes = NAN;
		if (g->json_path) {
			ret = vsan_json_read(g, r);
			if (ret)
				return ret;
		}
		if (g->log_path && (needs & (RUN_NEED_SAMPLES | RUN_WANT_SAMPLES))) {
			ret = vsan_log_read(g, &run->warnings, r);
			if (ret)
				return ret;
			samples |= g->nr_samples > 0;
		}
	}
	if ((needs & RUN_NEED_SAMPLES) && !samples)
		return report(
			r, -ENOENT,
			"%s: no samples of the engine's log (PREFIX_vsan.N.log) belong to it; run "
			"fio with write_vsan_log=PREFIX",
			run->path);
	return 0;
}

/* The only result of a folder; more than one is not one run. */
static int find_result(struct run *run, const struct run_folder *folder, unsigned int needs,
		       unsigned int *nr, struct report *r)
{
	const struct run_file *found = NULL, *second = NULL;

	*nr = 0;
	for (size_t i = 0; i < folder->nr; i++) {
		if (folder->files[i].kind != RUN_FILE_RESULT)
			continue;
		second = *nr == 1 ? &folder->files[i] : second;
		found = *nr ? found : &folder->files[i];
		(*nr)++;
	}
	if (*nr > 1)
		return report(r, -EINVAL, "%s: holds %u fio results (%s, %s%s); name one of them",
			      folder->path, *nr, found->name, second->name, *nr > 2 ? ", ..." : "");
	if (found && asprintf(&run->json_path, "%s/%s", folder->path, found->name) < 0) {
		run->json_path = NULL;
		return report(r, -ENOMEM, "%s: no memory", folder->path);
	}
	if (!found && (needs & RUN_NEED_RESULT))
		return report(r, -ENOENT,
			      "%s: no fio result (JSON) in this folder; run fio with "
			      "--output-format=json+ --output=FILE",
			      folder->path);
	if (!folder->nr)
		return report(r, -ENOENT, "%s: nothing of a run in this folder", folder->path);
	return 0;
}

/* Results in the folder, the one called @name included even if its looks do not tell. */
static unsigned int count_results(const struct run_folder *folder, const char *name)
{
	unsigned int n = 1;

	for (size_t i = 0; i < folder->nr; i++)
		n += folder->files[i].kind == RUN_FILE_RESULT &&
		     strcmp(folder->files[i].name, name);
	return n;
}

static int load_folder(struct run *run, unsigned int needs, struct report *r)
{
	struct run_folder folder = {0};
	struct choice c = {.folder = &folder, .run = run};
	char *prefix = NULL;
	int ret;

	ret = run_folder_read(&folder, run->path, true, r);
	if (!ret)
		ret = find_result(run, &folder, needs, &c.nr_results, r);
	if (!ret && run->json_path) {
		ret = fio_json_read(run->json_path, run, r);
		c.result_prefix = prefix = run_result_prefix(run->json_path);
	}
	if (!ret)
		ret = attach_files(run, &c, r);
	free(prefix);
	run_folder_free(&folder);
	return ret;
}

static int load_file(struct run *run, struct report *r)
{
	struct run_folder folder = {0};
	struct choice c = {.folder = &folder, .run = run};
	char *prefix = NULL, *copy = strdup(run->path);
	int ret;

	run->json_path = strdup(run->path);
	if (!copy || !run->json_path) {
		free(copy);
		return report(r, -ENOMEM, "%s: no memory", run->path);
	}
	ret = fio_json_read(run->path, run, r);
	if (!ret)
		ret = run_folder_read(&folder, dirname(copy), true, r);
	if (!ret) {
		c.result_prefix = prefix = run_result_prefix(run->path);
		c.nr_results = count_results(&folder, base_name(run->path));
		ret = attach_files(run, &c, r);
	}
	free(prefix);
	free(copy);
	run_folder_free(&folder);
	return ret;
}

/* Split LABEL=PATH. What exists under the whole name is a path, whatever its name holds. */
static int split_argument(struct run *run, const char *argument, struct report *r)
{
	const char *equal = strchr(argument, '=');
	const char *path = argument;
	struct stat st;
	size_t len;

	if (equal && stat(argument, &st)) {
		if (equal == argument)
			return report(r, -EINVAL, "%s: the label before '=' is empty", argument);
		run->label = strndup(argument, (size_t)(equal - argument));
		path = equal + 1;
	}
	if (!*path)
		return report(r, -EINVAL, "'%s': no path; name a fio result or a folder", argument);
	run->path = strdup(path);
	if (!run->path)
		return report(r, -ENOMEM, "%s: no memory", argument);
	len = strlen(run->path);
	while (len > 1 && run->path[len - 1] == '/')
		run->path[--len] = '\0';
	return 0;
}

/* Unless it was given, the name of the file or folder; of "." its real name. */
static int default_label(struct run *run, bool is_folder, struct report *r)
{
	char *real = NULL;

	if (run->label)
		return 0;
	if (is_folder) {
		real = realpath(run->path, NULL);
		run->label = strdup(base_name(real ? real : run->path));
		free(real);
	} else {
		run->label = run_result_prefix(run->path);
	}
	return run->label ? 0 : report(r, -ENOMEM, "%s: no memory", run->path);
}

static int load(struct run *run, const char *argument, const char *job, unsigned int needs,
		struct report *r)
{
	struct stat st;
	int ret;

	ret = split_argument(run, argument, r);
	if (ret)
		return ret;
	if (stat(run->path, &st)) {
		ret = -errno;
		return report(r, ret, "%s: %s; name a fio result or a folder", run->path,
			      strerror(-ret));
	}
	ret = default_label(run, S_ISDIR(st.st_mode), r);
	if (!ret)
		ret = S_ISDIR(st.st_mode) ? load_folder(run, needs, r) : load_file(run, r);
	if (!ret)
		ret = read_groups(run, needs, r);
	if (!ret && job && run->json_path && !run_select_jobs(run, job))
		ret = report(r, -ENOENT, "%s: no job is named '%s'; summary lists them",
			     run->json_path, job);
	return ret;
}

long run_set_find(const struct run_set *set, const char *label)
{
	for (size_t i = 0; i < set->nr; i++)
		if (!strcmp(set->runs[i].label, label))
			return (long)i;
	return -1;
}

int run_set_add(struct run_set *set, const char *argument, const char *job, unsigned int needs,
		struct report *r)
{
	struct run run = {0};
	int ret;

	ret = load(&run, argument, job, needs, r);
	if (!ret && run_set_find(set, run.label) >= 0)
		ret = report(
			r, -EEXIST,
			"%s: a run is already labelled '%s'; give another label, as in %s-2=%s",
			run.path, run.label, run.label, run.path);
	if (!ret && array_grow(&set->runs, set->nr, &set->cap, sizeof(*set->runs)))
		ret = report(r, -ENOMEM, "%s: no memory", argument);
	if (ret) {
		run_free(&run);
		return ret;
	}
	set->runs[set->nr++] = run;
	return 0;
}

void run_set_free(struct run_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		run_free(&set->runs[i]);
	free(set->runs);
	*set = (struct run_set){0};
}
