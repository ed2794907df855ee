/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON as fio writes it, which is not always JSON: text before, between and after documents,
 * control characters in names, nan and inf, numbers beyond 64 bits, files cut in the middle. Finds
 * where documents begin and end, and cleans one so that a strict parser takes it. Pure functions.
 */
#ifndef ANALYZER_JSON_TEXT_H
#define ANALYZER_JSON_TEXT_H

#include "engine/report.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Where one object lies in a text. */
struct json_extent {
	size_t start, end; /* of the bytes from '{' to behind the matching '}' */
	bool whole;        /* false: the text ended first, end is its length */
};

/*
 * Find the next '{' at or after @from, only at the beginning of a line if @at_line_start, and the
 * end of its object. False when there is none.
 */
bool json_extent_next(const char *text, size_t len, size_t from, bool at_line_start,
		      struct json_extent *e);

/* Number of the line on which byte @pos of @text lies, 1-based. */
unsigned int json_line(const char *text, size_t pos);

/*
 * Parse the object at @e of @text after cleaning it. @path is for messages, which count lines from
 * the text's beginning. The caller owns *@root. Returns 0, -EINVAL with one line in @r, or -ENOMEM.
 */
int json_extent_parse(const char *path, const char *text, const struct json_extent *e,
		      json_t **root, struct report *r);

/* Number of a key, whole or not; @fallback when it is missing, null or no number. */
double json_number(const json_t *object, const char *key, double fallback);

/* String of a key, or NULL. Belongs to the object. */
const char *json_text(const json_t *object, const char *key);

#endif
