/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads fio's JSON; see fio_json.h. Here only documents and jobs: which document of a file counts,
 * and what is said of files that hold none. A job's figures are read by fio_job_json.c.
 */
#include "fio_json.h"

#include "file_text.h"
#include "fio_job_json.h"
#include "json_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Candidates that never end, after which a text is no longer searched: each costs a pass over it.
 */
#define UNENDED_MAX 32

static bool contains(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

bool fio_json_probe(const char *head, size_t len)
{
	return contains(head, len, "\"fio version\"");
}

static bool is_result(const json_t *root)
{
	/* The engine's summary has jobs too. */
	return !json_object_get(root, "fio-vsan") &&
	       (json_is_array(json_object_get(root, "jobs")) ||
		json_is_array(json_object_get(root, "client_stats")));
}

/* What a file without any fio JSON probably is, and what to do about it. */
static int report_foreign(const char *path, const char *text, size_t len, struct report *r)
{
	if (!len)
		return report(r, -EINVAL, "%s: empty; did fio run to its end?", path);
	if (contains(text, len, "\"fio-vsan\""))
		return report(
			r, -EINVAL,
			"%s: the engine's own file; name fio's result (--output) or the folder",
			path);
	if (contains(text, len, "(groupid=") || contains(text, len, "Run status group"))
		return report(r, -EINVAL,
			      "%s: fio's text for people; run fio with --output-format=json+",
			      path);
	if (contains(text, len < 4096 ? len : 4096, ";fio-"))
		return report(r, -EINVAL,
			      "%s: fio's terse format; run fio with --output-format=json+", path);
	if (contains(text, len, "vdbench") || contains(text, len, "Vdbench"))
		return report(r, -EINVAL, "%s: vdbench's output; only fio results can be read",
			      path);
	return report(r, -EINVAL, "%s:1: no fio result in it; run fio with --output-format=json+",
		      path);
}

/* The documents of one file. */
struct search {
	const char *path, *text;
	size_t len;
	json_t *last;          /* the last whole result */
	unsigned int nr;       /* whole results */
	size_t cut_at;         /* beginning of a result that is not whole, else SIZE_MAX */
	struct report damaged; /* the first result that could not be parsed */
};

static void search_documents(struct search *s, bool at_line_start)
{
	struct json_extent e;
	unsigned int unended = 0;
	size_t pos = 0;

	while (unended < UNENDED_MAX && json_extent_next(s->text, s->len, pos, at_line_start, &e)) {
		size_t size = e.end - e.start;
		bool likely = contains(s->text + e.start, size, "\"fio version\"") ||
			      contains(s->text + e.start, size, "\"jobs\"");
		json_t *root = NULL;

		pos = e.start + 1;
		if (!e.whole) {
			unended++;
			if (likely && s->cut_at == SIZE_MAX)
				s->cut_at = e.start;
			continue;
		}
		if (!likely)
			continue;
		if (json_extent_parse(s->path, s->text, &e, &root, &s->damaged)) {
			/* A brace in a line before the result may have swallowed it. */
			continue;
		}
		if (is_result(root)) {
			json_decref(s->last);
			s->last = root;
			s->nr++;
			s->cut_at = SIZE_MAX;
			pos = e.end;
		} else {
			json_decref(root);
		}
	}
}

static int read_document(const json_t *root, struct run *run)
{
	const json_t *jobs = json_object_get(root, "jobs");
	const json_t *globals = json_object_get(root, "global options");
	const char *version = json_text(root, "fio version");
	const char *time = json_text(root, "time");
	const json_t *job;
	size_t i;
	int ret;

	run->fio_version = strdup(version ? version : "unknown");
	if (!run->fio_version || (time && !(run->time = strdup(time))))
		return -ENOMEM;
	/* One object, or with several clients an array of one each. */
	if (json_is_array(globals)) {
		for (i = json_array_size(globals); i-- > 0;) {
			ret = fio_job_json_options(json_array_get(globals, i), &run->options);
			if (ret)
				return ret;
		}
	} else {
		ret = fio_job_json_options(globals, &run->options);
		if (ret)
			return ret;
	}
	if (!json_is_array(jobs))
		jobs = json_object_get(root, "client_stats");
	json_array_foreach((json_t *)jobs, i, job)
	{
		const char *name = json_text(job, "jobname");

		/* The sum that a server of jobs adds is no job of its own. */
		if (name && !strcmp(name, "All clients") && json_array_size(jobs) > 1)
			continue;
		ret = fio_job_json_read(job, run);
		if (ret)
			return ret;
	}
	return 0;
}

int fio_json_read(const char *path, struct run *run, struct report *r)
{
	struct search s = {.path = path, .cut_at = SIZE_MAX};
	char *text = NULL;
	int ret;

	ret = file_text_read(path, &text, &s.len, r);
	if (ret)
		return ret;
	s.text = text;
	search_documents(&s, true);
	if (!s.last && s.cut_at == SIZE_MAX && !s.damaged.err)
		search_documents(&s, false);
	if (!s.last && s.cut_at != SIZE_MAX) {
		ret = report(r, -EINVAL,
			     "%s:%u: cut off, the JSON does not end; run fio again or find the "
			     "whole file",
			     path, json_line(text, s.len ? s.len - 1 : 0));
		goto out;
	}
	if (!s.last && s.damaged.err) {
		ret = report(r, s.damaged.err, "%s", s.damaged.text);
		goto out;
	}
	if (!s.last) {
		ret = report_foreign(path, text, s.len, r);
		goto out;
	}
	if (s.cut_at != SIZE_MAX)
		text_list_add(
			&run->warnings,
			"%s:%u: the last document is cut off; the whole one before it is used",
			path, json_line(text, s.cut_at));
	else if (s.damaged.err)
		text_list_add(&run->warnings, "%s; another document of the file is used",
			      s.damaged.text);
	ret = read_document(s.last, run);
	if (ret)
		report(r, ret, "%s: no memory", path);
	else if (!run->nr_jobs)
		ret = report(r, -EINVAL, "%s: the result has no jobs; did fio start any?", path);
out:
	json_decref(s.last);
	free(text);
	return ret;
}
