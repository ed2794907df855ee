/* SPDX-License-Identifier: GPL-2.0-only */
/* Growing strings, UTF-8 widths, numbers for people; see text.h. */
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

void text_free(struct text *t)
{
	free(t->s);
	*t = (struct text){0};
}

static bool text_room(struct text *t, size_t more)
{
	size_t need = t->len + more + 1;
	size_t cap = t->cap ? t->cap : 64;
	char *s;

	if (t->failed)
		return false;
	if (need <= t->cap)
		return true;
	while (cap < need)
		cap *= 2;
	s = realloc(t->s, cap);
	if (!s) {
		t->failed = true;
		return false;
	}
	t->s = s;
	t->cap = cap;
	return true;
}

void text_add_bytes(struct text *t, const char *bytes, size_t len)
{
	if (!text_room(t, len))
		return;
	if (len)
		memcpy(t->s + t->len, bytes, len);
	t->len += len;
	t->s[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !text_room(t, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->s + t->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

size_t utf8_decode(const char *s, size_t len, uint32_t *code)
{
	const unsigned char *u = (const unsigned char *)s;
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n, i;

	if (!len)
		return 0;
	if (u[0] < 0x80) {
		*code = u[0];
		return 1;
	}
	n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4 || n > len)
		return 0;
	*code = u[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (u[i] & 0x3f);
	}
	if (*code < smallest[n] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

/* Terminals agree on these ranges; wcwidth() would depend on the user's locale. */
static unsigned int code_width(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned int width;
	} ranges[] = {
		{0x0300, 0x036f, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},
		{0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0x1100, 0x115f, 2},
		{0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
		{0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
		{0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].width;
	return 1;
}

/* C0, DEL and C1, and the characters that turn the direction of text: none belongs in a table. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

unsigned int text_width(const char *s)
{
	size_t len = strlen(s);
	unsigned int width = 0;

	while (len) {
		uint32_t code = 0;
		size_t n = utf8_decode(s, len, &code);

		width += n ? code_width(code) : 1;
		n = n ? n : 1;
		s += n;
		len -= n;
	}
	return width;
}

void text_add_clean(struct text *t, const char *s, unsigned int max_width)
{
	static const char cut_mark[] = "...";
	const unsigned int mark_width = sizeof(cut_mark) - 1;
	size_t len = strlen(s), keep = t->len;
	unsigned int width = 0, keep_width = 0;

	while (len) {
		uint32_t code = 0;
		size_t n = utf8_decode(s, len, &code);
		unsigned int w = n ? code_width(code) : 1;

		if (n && is_control(code))
			w = 1;
		if (max_width && width + w > max_width) {
			t->len = keep; /* back to where the mark still fits */
			for (; keep_width + mark_width < max_width; keep_width++)
				text_add(t, " ");
			text_add_bytes(t, cut_mark,
				       mark_width < max_width ? mark_width : max_width);
			return;
		}
		if (!n)
			text_add(t, REPLACEMENT);
		else if (is_control(code))
			text_add(t, " ");
		else
			text_add_bytes(t, s, n);
		width += w;
		if (!max_width || width + mark_width <= max_width) {
			keep = t->len;
			keep_width = width;
		}
		n = n ? n : 1;
		s += n;
		len -= n;
	}
	text_add(t, "");
}

void text_add_number(struct text *t, double value, unsigned int decimals)
{
	char digits[512];
	int len = snprintf(digits, sizeof(digits), "%.*f", (int)decimals, value);
	char *p = digits;
	size_t whole;

	if (!isfinite(value) || len < 0 || (size_t)len >= sizeof(digits)) {
		text_add(t, "n/a");
		return;
	}
	if (*p == '-') {
		text_add(t, "-");
		p++;
	}
	whole = strcspn(p, ".");
	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			text_add(t, ",");
		text_add_bytes(t, p + i, 1);
	}
	text_add(t, p + whole);
}

void text_add_rounded(struct text *t, double value)
{
	double size = fabs(value);

	/* The thresholds are where rounding would give one digit more. */
	if (size >= 99.95 || size == 0)
		text_add_number(t, value, 0);
	else if (size >= 9.995)
		text_add_number(t, value, 1);
	else if (size >= 0.9995)
		text_add_number(t, value, 2);
	else
		text_add_number(t, value, 3);
}

void text_add_size(struct text *t, uint64_t bytes)
{
	static const char units[] = {'K', 'M', 'G', 'T', 'P', 'E'};
	double value = (double)bytes;
	int unit = -1;

	if (bytes < 1024 || (bytes % 1024 && bytes < 16384)) {
		text_printf(t, "%llu", (unsigned long long)bytes);
		return;
	}
	while (value >= 1024 && unit < (int)sizeof(units) - 1) {
		value /= 1024;
		unit++;
	}
	if (value == floor(value))
		text_printf(t, "%.0f%c", value, units[unit]);
	else
		text_printf(t, "%.*f%c", value < 100 ? 2 : 1, value, units[unit]);
}

int array_grow(void *items, size_t nr, size_t *cap, size_t size)
{
	void **array = items;
	size_t more = *cap ? *cap * 2 : 16;
	void *p;

	if (nr < *cap)
		return 0;
	p = reallocarray(*array, more, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = more;
	return 0;
}

int text_list_add(struct text_list *l, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	if (array_grow(&l->items, l->nr, &l->cap, sizeof(*l->items))) {
		free(s);
		return -ENOMEM;
	}
	l->items[l->nr++] = s;
	return 0;
}

bool text_list_has(const struct text_list *l, const char *s)
{
	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->items[i], s))
			return true;
	return false;
}

void text_list_free(struct text_list *l)
{
	for (size_t i = 0; i < l->nr; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct text_list){0};
}
