/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text for people: a growing buffer, the width of UTF-8 on a terminal, and numbers as people read
 * them. Names come from fio results and are not to be trusted: what goes to a terminal passes
 * text_add_clean() first. No state; a buffer belongs to one thread at a time.
 */
#ifndef ANALYZER_TEXT_H
#define ANALYZER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string that grows. Start with {0}; @s is NULL while empty, else NUL-terminated. */
struct text {
	char *s;
	size_t len;
	size_t cap;
	bool failed; /* out of memory once: the content is not complete */
};

void text_free(struct text *t);
void text_add_bytes(struct text *t, const char *bytes, size_t len);
void text_add(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Append at most @max_width terminal columns of @s (0: all), safe to print on one line: control
 * characters become spaces, bytes that are not UTF-8 become U+FFFD, and what is cut ends in "...".
 */
void text_add_clean(struct text *t, const char *s, unsigned int max_width);

/* Columns that @s takes on a terminal; it must be clean. */
unsigned int text_width(const char *s);

/*
 * Decode one UTF-8 sequence of at most @len bytes into *@code. Returns its length, or 0 when the
 * bytes are not valid UTF-8 (overlong, surrogate, cut).
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *code);

/* Append a number with @decimals digits and a comma between thousands: 1,234,567.8 */
void text_add_number(struct text *t, double value, unsigned int decimals);

/* Append a number with three significant digits or all of its whole part: 0.123, 12.3, 1,235. */
void text_add_rounded(struct text *t, double value);

/* Append bytes with a binary unit when it comes out even or large: "4K", "6.5G", "512". */
void text_add_size(struct text *t, uint64_t bytes);

/* A list of strings; start with {0}. Owns its strings. */
struct text_list {
	char **items;
	size_t nr;
	size_t cap;
};

/* Append a formatted string. Returns 0 or -ENOMEM. */
int text_list_add(struct text_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool text_list_has(const struct text_list *l, const char *s);
void text_list_free(struct text_list *l);

/*
 * Make room for one more element of @size bytes in the array at *@items, which has @nr elements
 * and room for *@cap. Returns 0 or -ENOMEM (the array stays as it was).
 */
int array_grow(void *items, size_t nr, size_t *cap, size_t size);

#endif
