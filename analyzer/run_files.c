/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists the files of a run; see run_files.h. */
#include "run_files.h"

#include "fio_json.h"
#include "file_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Errors and progress may stand before the JSON; more than this is not looked through. */
#define PROBE_BYTES ((size_t)256 * 1024)

static bool has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

/* The last "@word" in @name that is followed by ".NUMBER" or by "."; NULL when there is none. */
static const char *find_tag(const char *name, const char *word, unsigned int *number,
			    const char **rest)
{
	const char *found = NULL, *p = name;
	size_t len = strlen(word);

	while ((p = strstr(p, word))) {
		const char *q = p + len;
		char *end;

		if (*q == '.') {
			unsigned long n =
				isdigit((unsigned char)q[1]) ? strtoul(q + 1, &end, 10) : 0;

			if (n > 0 && n <= 1000000 && *end == '.') {
				*number = (unsigned int)n;
				*rest = end;
			} else {
				*number = 0;
				*rest = q;
			}
			found = p;
		}
		p++;
	}
	return found;
}

bool run_file_parse_name(const char *name, struct run_file *out)
{
	static const char *const tags[] = {"_iops", "_bw", "_lat", "_clat", "_slat"};
	unsigned int number;
	const char *tag, *rest;

	tag = find_tag(name, "_vsan", &number, &rest);
	if (tag && number && (!strcmp(rest, ".json") || !strcmp(rest, ".log"))) {
		*out = (struct run_file){
			.kind = rest[1] == 'j' ? RUN_FILE_VSAN_JSON : RUN_FILE_VSAN_LOG,
			.number = number,
		};
		goto found;
	}
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		tag = find_tag(name, tags[i], &number, &rest);
		/* ".log", or ".log.HOST" in client/server runs; compressed ones are not read. */
		if (tag && !strncmp(rest, ".log", 4) && (!rest[4] || rest[4] == '.') &&
		    !has_suffix(rest, ".fz")) {
			*out = (struct run_file){
				.kind = RUN_FILE_LOG,
				.log_kind = (enum fio_log_kind)i,
				.number = number,
			};
			goto found;
		}
	}
	return false;
found:
	out->prefix = strndup(name, (size_t)(tag - name));
	return out->prefix != NULL;
}

char *run_result_prefix(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot;

	name = name ? name + 1 : path;
	dot = strrchr(name, '.');
	return dot && dot != name ? strndup(name, (size_t)(dot - name)) : strdup(name);
}

/* Files of ours and pictures may hold a result's words, but are none. */
static bool may_be_result(const char *name)
{
	static const char *const others[] = {".svg",  ".png", ".gp",  ".dat",
					     ".html", ".csv", ".fio", ".log"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (has_suffix(name, others[i]))
			return false;
	return true;
}

static int holds_result(const char *folder, const char *name, char *buf, bool *yes)
{
	char *path;
	long n;

	*yes = false;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	n = file_text_head(path, buf, PROBE_BYTES);
	free(path);
	*yes = n > 0 && fio_json_probe(buf, (size_t)n);
	return 0;
}

static int add_file(struct run_folder *f, const char *name, char *probe_buf)
{
	struct run_file file = {0};
	bool yes = true;
	int ret;

	if (!run_file_parse_name(name, &file)) {
		if (!probe_buf || !may_be_result(name))
			return 0;
		ret = holds_result(f->path, name, probe_buf, &yes);
		if (ret || !yes)
			return ret;
		file = (struct run_file){.kind = RUN_FILE_RESULT};
		file.prefix = run_result_prefix(name);
	}
	file.name = strdup(name);
	if (!file.name || !file.prefix ||
	    array_grow(&f->files, f->nr, &f->cap, sizeof(*f->files))) {
		free(file.prefix);
		free(file.name);
		return -ENOMEM;
	}
	f->files[f->nr++] = file;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct run_file *)a)->name, ((const struct run_file *)b)->name);
}

int run_folder_read(struct run_folder *f, const char *path, bool probe, struct report *r)
{
	char *buf = NULL;
	struct dirent *e;
	int ret = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir) {
		ret = -errno;
		return report(r, ret, "%s: %s", path, strerror(-ret));
	}
	f->path = strdup(path);
	if (probe)
		buf = malloc(PROBE_BYTES);
	if (!f->path || (probe && !buf))
		ret = -ENOMEM;
	while (!ret && (errno = 0, e = readdir(dir)))
		if (e->d_name[0] != '.')
			ret = add_file(f, e->d_name, buf);
	if (!ret && errno)
		ret = -errno;
	free(buf);
	closedir(dir);
	if (ret)
		return report(r, ret, "%s: %s", path, strerror(-ret));
	if (f->nr)
		qsort(f->files, f->nr, sizeof(*f->files), by_name);
	return 0;
}

void run_folder_free(struct run_folder *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		free(f->files[i].name);
		free(f->files[i].prefix);
	}
	free(f->files);
	free(f->path);
	*f = (struct run_folder){0};
}
