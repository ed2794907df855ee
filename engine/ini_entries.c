/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects the entries of an .ini file; see ini_entries.h.
 *
 * inih does the parsing. Whether it tells line numbers is a choice of its build, so the line
 * reader given to it counts them; it also keeps out what is no text and what inih would cut.
 */
#include "ini_entries.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_ENTRIES = 80, /* twice what a drive profile has */
	MAX_FILE = 1 << 20,
};

/* What inih's two callbacks share. */
struct reading {
	struct ini_entries *ini;
	bool (*known)(const char *key);
	FILE *f;
	bool indented; /* the line inih was given last starts with white space */
	int err;       /* set: no more lines */
};

int ini_complain(const struct ini_entries *ini, int line, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return report(ini->r, -EINVAL, "%s:%d: %s", ini->path, line, what);
}

/* Like the fgets() that inih would use, but a line that does not fit or is no text ends it. */
static char *next_line(char *buf, int size, void *stream)
{
	struct reading *rd = stream;
	struct ini_entries *ini = rd->ini;
	size_t len = 0;
	int c = EOF;

	if (rd->err || size < 2)
		return NULL;
	while (len + 1 < (size_t)size && (c = getc(rd->f)) != EOF) {
		buf[len++] = (char)c;
		if (c == '\n')
			break;
		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f) {
			rd->err = ini_complain(ini, ini->lines + 1,
					       "has a control character (byte 0x%02x); "
					       "write plain text",
					       (unsigned int)c);
			return NULL;
		}
	}
	if (!len)
		return NULL;
	buf[len] = '\0';
	ini->lines++;
	rd->indented = isspace((unsigned char)buf[0]);
	if (c != '\n' && c != EOF && getc(rd->f) != EOF) {
		rd->err = ini_complain(ini, ini->lines,
				       "is longer than %d characters; break the line and indent "
				       "the rest",
				       size - 2);
		return NULL;
	}
	return buf;
}

/* "t_r = 5 us" indented: meant as a new entry, but to INI it is more of the value above. */
static bool looks_like_assignment(const struct reading *rd, const char *value)
{
	char key[INI_KEY_MAX];
	size_t len = strcspn(value, " \t=:");
	size_t end = len + strspn(value + len, " \t");

	if (!len || len >= sizeof(key) || value[end] != '=')
		return false;
	memcpy(key, value, len);
	key[len] = '\0';
	return rd->known(key);
}

static int append(const struct reading *rd, struct ini_entry *e, const char *more)
{
	size_t have = strlen(e->value), len = strlen(more);

	if (have + 1 + len >= sizeof(e->value))
		return ini_complain(rd->ini, rd->ini->lines,
				    "the value of '%s' is longer than %zu characters; shorten it",
				    e->key, sizeof(e->value) - 2);
	if (have)
		e->value[have++] = ' ';
	memcpy(e->value + have, more, len + 1);
	return 0;
}

static int add_entry(const struct reading *rd, const char *section, const char *key,
		     const char *value)
{
	struct ini_entries *ini = rd->ini;
	struct ini_entry *e = ini_entries_find(ini, section, key);
	int err;

	if (e)
		return ini_complain(ini, ini->lines,
				    "'%s' is given again, first in line %d; remove one of them",
				    key, e->line);
	if (ini->nr == MAX_ENTRIES)
		return ini_complain(ini, ini->lines, "more than %d values; remove some",
				    MAX_ENTRIES);
	e = &ini->entries[ini->nr];
	snprintf(e->section, sizeof(e->section), "%s", section);
	snprintf(e->key, sizeof(e->key), "%s", key);
	e->line = ini->lines;
	err = append(rd, e, value);
	if (!err)
		ini->nr++;
	return err;
}

/* inih's callback for "key = value" and for each line that continues one: 1 is fine, 0 is not. */
static int take_entry(void *user, const char *section, const char *key, const char *value)
{
	struct reading *rd = user;
	struct ini_entries *ini = rd->ini;
	struct ini_entry *last = ini->nr ? &ini->entries[ini->nr - 1] : NULL;

	if (rd->err)
		return 0;
	if (!*section)
		rd->err = ini_complain(ini, ini->lines,
				       "'%s' stands before the first [section]; move it below one",
				       key);
	else if (!rd->indented || !last || strcmp(last->key, key) != 0 ||
		 strcmp(last->section, section) != 0)
		rd->err = add_entry(rd, section, key, value);
	else if (looks_like_assignment(rd, value))
		rd->err = ini_complain(ini, ini->lines,
				       "is indented, so it continues '%s' above; remove the spaces "
				       "in front",
				       key);
	else
		rd->err = append(rd, last, value);
	return !rd->err;
}

/* Open a regular file of sane size; a FIFO or a terminal would make us wait for ever. */
static int open_text(const struct ini_entries *ini, FILE **f)
{
	struct stat st;
	int fd = open(ini->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err = -errno;

	if (fd < 0)
		return report(ini->r, err, "%s: %s; name an .ini file that you can read", ini->path,
			      strerror(-err));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_FILE) {
		close(fd);
		return report(ini->r, -EINVAL, "%s: not a file of text; name an .ini file",
			      ini->path);
	}
	*f = fdopen(fd, "r");
	if (!*f) {
		close(fd);
		return report(ini->r, -ENOMEM, "%s: no memory to read it", ini->path);
	}
	return 0;
}

int ini_entries_read(struct ini_entries *out, const char *path, bool (*known)(const char *key),
		     struct report *r)
{
	struct reading rd = {.ini = out, .known = known};
	int bad_line, err;

	*out = (struct ini_entries){.path = path, .r = r};
	err = open_text(out, &rd.f);
	if (err)
		return err;
	out->entries = calloc(MAX_ENTRIES, sizeof(*out->entries));
	if (!out->entries) {
		err = report(r, -ENOMEM, "%s: no memory to read it", path);
		goto out;
	}
	bad_line = ini_parse_stream(next_line, &rd, take_entry, &rd);
	if (rd.err)
		err = rd.err;
	else if (bad_line > 0)
		err = ini_complain(out, bad_line,
				   "is neither '[section]' nor 'name = value'; a comment starts "
				   "with '#'");
	else if (bad_line < 0)
		err = report(r, -ENOMEM, "%s: no memory to read it", path);
	else if (ferror(rd.f))
		err = report(r, -EIO, "%s: cannot be read to its end", path);
	if (!out->lines)
		out->lines = 1; /* what an empty file lacks is to be put into its first line */
out:
	fclose(rd.f);
	if (err)
		ini_entries_free(out);
	return err;
}

void ini_entries_free(struct ini_entries *ini)
{
	free(ini->entries);
	ini->entries = NULL;
	ini->nr = 0;
}

struct ini_entry *ini_entries_find(const struct ini_entries *ini, const char *section,
				   const char *key)
{
	for (size_t i = 0; i < ini->nr; i++)
		if (strcmp(ini->entries[i].key, key) == 0 &&
		    strcmp(ini->entries[i].section, section) == 0)
			return &ini->entries[i];
	return NULL;
}
