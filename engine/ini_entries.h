/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names and values of an .ini file with their line numbers, so that whoever interprets them
 * can say where something is wrong. Knows nothing of what the values mean. An object belongs to
 * one thread.
 */
#ifndef VSAN_INI_ENTRIES_H
#define VSAN_INI_ENTRIES_H

#include "report.h"

#include <stdbool.h>
#include <stddef.h>

#define INI_KEY_MAX   50 /* inih cuts names of keys and sections there */
#define INI_VALUE_MAX 1088

struct ini_entry {
	char section[INI_KEY_MAX];
	char key[INI_KEY_MAX];
	char value[INI_VALUE_MAX]; /* continuation lines joined by one space */
	int line;                  /* first line, from 1 */
};

struct ini_entries {
	const char *path; /* the caller's, for messages */
	struct report *r; /* the caller's */
	struct ini_entry *entries;
	size_t nr;
	int lines; /* in the file */
};

/*
 * Read @path, which must be a regular file of text without a key given twice in a section.
 * @known says whether a word is the name of a key: an indented line that assigns to one is taken
 * for a mistake, not for the continuation of the value above.
 * @path and @r are kept in @out. Returns 0 and fills @out, which the caller frees with
 * ini_entries_free(); or a negative errno, described in @r (-EINVAL with "path:line: "), with
 * nothing to free.
 */
int ini_entries_read(struct ini_entries *out, const char *path, bool (*known)(const char *key),
		     struct report *r);

/* Free what ini_entries_read() filled. */
void ini_entries_free(struct ini_entries *ini);

/* The entry of that name, or NULL. */
struct ini_entry *ini_entries_find(const struct ini_entries *ini, const char *section,
				   const char *key);

/* Report that a line is wrong: "path:line: ..." into the report. Returns -EINVAL. */
int ini_complain(const struct ini_entries *ini, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
