/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds, cleans and parses the JSON in what fio wrote; see json_text.h. */
#include "json_text.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Behind the brace that closes the one at @start, or @len with *@whole false. */
static size_t object_end(const char *text, size_t len, size_t start, bool *whole)
{
	unsigned long depth = 0;
	bool in_string = false;

	for (size_t i = start; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{') {
			depth++;
		} else if (c == '}' && --depth == 0) {
			*whole = true;
			return i + 1;
		}
	}
	*whole = false;
	return len;
}

/* A byte order mark or a carriage return before it still makes it the beginning of the line. */
static bool starts_line(const char *text, size_t pos)
{
	if (pos >= 3 && !memcmp(text + pos - 3, "\xef\xbb\xbf", 3))
		pos -= 3;
	return pos == 0 || text[pos - 1] == '\n' || text[pos - 1] == '\r';
}

bool json_extent_next(const char *text, size_t len, size_t from, bool at_line_start,
		      struct json_extent *e)
{
	while (from < len) {
		const char *brace = memchr(text + from, '{', len - from);

		if (!brace)
			return false;
		e->start = (size_t)(brace - text);
		if (!at_line_start || starts_line(text, e->start)) {
			e->end = object_end(text, len, e->start, &e->whole);
			return true;
		}
		from = e->start + 1;
	}
	return false;
}

unsigned int json_line(const char *text, size_t pos)
{
	unsigned int line = 1;

	for (size_t i = 0; i < pos; i++)
		line += text[i] == '\n';
	return line;
}

/* What may follow a backslash; fio escapes only quote and backslash, names hold anything. */
static bool escape_is_valid(const char *s, size_t len)
{
	if (len < 2)
		return false;
	if (s[1] != 'u')
		return strchr("\"\\/bfnrt", s[1]) && s[1];
	if (len < 6)
		return false;
	for (int i = 2; i < 6; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	/* NUL and surrogates are refused by the parser: keep them as the text that they were. */
	return strncmp(s + 2, "0000", 4) && (tolower((unsigned char)s[2]) != 'd' || s[3] < '8');
}

/* Copy the string whose opening quote is at @s; returns the bytes taken. */
static size_t clean_string(struct text *out, const char *s, size_t len)
{
	size_t i = 1;

	text_add(out, "\"");
	while (i < len && s[i] != '"') {
		uint32_t code;
		size_t n;

		if (s[i] == '\\') {
			if (escape_is_valid(s + i, len - i)) {
				text_add_bytes(out, s + i, 2);
				i += 2;
			} else {
				text_add(out, "\\\\");
				i++;
			}
			continue;
		}
		if ((unsigned char)s[i] < 0x20) {
			text_printf(out, "\\u%04x", (unsigned int)s[i]);
			i++;
			continue;
		}
		n = utf8_decode(s + i, len - i, &code);
		if (n)
			text_add_bytes(out, s + i, n);
		else
			text_add(out, REPLACEMENT);
		i += n ? n : 1;
	}
	text_add(out, "\"");
	return i < len ? i + 1 : len;
}

/* Copy a bare word or number; returns the bytes taken. */
static size_t clean_token(struct text *out, const char *s, size_t len)
{
	static const char *const not_numbers[] = {"nan",  "-nan",     "inf",
						  "-inf", "infinity", "-infinity"};
	size_t n = 0, digits;

	while (n < len && (isalnum((unsigned char)s[n]) || strchr("+-._", s[n])) && s[n])
		n++;
	for (size_t i = 0; i < sizeof(not_numbers) / sizeof(not_numbers[0]); i++) {
		if (strlen(not_numbers[i]) == n && !strncasecmp(s, not_numbers[i], n)) {
			text_add(out, "null");
			return n;
		}
	}
	text_add_bytes(out, s, n);
	digits = strspn(s + (*s == '-'), "0123456789");
	if (digits + (*s == '-') == n && digits > 18)
		text_add(out, ".0"); /* may not fit 64 bits: let it be a floating-point number */
	return n;
}

static void clean_object(struct text *out, const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		if (s[i] == '"') {
			i += clean_string(out, s + i, len - i);
		} else if (isalnum((unsigned char)s[i]) || s[i] == '-' || s[i] == '+') {
			i += clean_token(out, s + i, len - i);
		} else {
			bool control = (unsigned char)s[i] < 0x20 && s[i] != '\n' && s[i] != '\r';

			text_add_bytes(out, control ? " " : s + i, 1);
			i++;
		}
	}
}

int json_extent_parse(const char *path, const char *text, const struct json_extent *e,
		      json_t **root, struct report *r)
{
	struct text clean = {0};
	json_error_t error;

	clean_object(&clean, text + e->start, e->end - e->start);
	if (clean.failed) {
		text_free(&clean);
		return report(r, -ENOMEM, "%s: no memory", path);
	}
	*root = json_loadb(clean.s, clean.len, 0, &error);
	text_free(&clean);
	if (!*root)
		return report(r, -EINVAL,
			      "%s:%u: not valid JSON here (%s); the file is damaged, run fio again",
			      path, json_line(text, e->start) + (unsigned int)error.line - 1,
			      error.text);
	return 0;
}

double json_number(const json_t *object, const char *key, double fallback)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : fallback;
}

const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
