/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole files as text, and files that appear whole or not at all. Any thread. */
#ifndef ANALYZER_FILE_TEXT_H
#define ANALYZER_FILE_TEXT_H

#include "engine/report.h"

#include <stddef.h>
#include <stdio.h>

/* No result is larger than this; a file that is was not meant. */
#define FILE_TEXT_MAX ((size_t)1 << 30)

/*
 * Read a regular file whole. *@text (the caller frees it) is NUL-terminated at @len. Returns 0 or a
 * negative errno with one line in @r; a folder gives -EISDIR, more than FILE_TEXT_MAX -EFBIG.
 */
int file_text_read(const char *path, char **text, size_t *len, struct report *r);

/* Read at most @len bytes of a file's beginning into @buf. Returns how many or a negative errno. */
long file_text_head(const char *path, char *buf, size_t len);

/* A file that gets its name when it is complete. Start with {0}. */
struct output_file {
	FILE *f;
	char *path;
	char *temporary;
};

/* Open a temporary file beside @path. Returns 0 or a negative errno with one line in @r. */
int output_file_open(struct output_file *o, const char *path, struct report *r);

/*
 * Close it and give it its name. On an error nothing of it is left; one line in @r. Returns 0 or a
 * negative errno; either way @o is empty again.
 */
int output_file_commit(struct output_file *o, struct report *r);

/* Close it and leave nothing. For error paths; harmless on an empty one. */
void output_file_abandon(struct output_file *o);

#endif
