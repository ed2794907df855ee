/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a drive profile of the entries of its .ini file; see profile_parser.h, and docs/model.md
 * for the format. Stops at the first thing that is wrong. No state, any thread.
 */
#include "profile_parser.h"

#include "ini_entries.h"
#include "near_name.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};
static const struct unit time_units[] = {
	{"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {"s", 1e6}, {NULL, 0}};
static const struct unit rate_units[] = {{"MB/s", 1}, {"GB/s", 1e3}, {NULL, 0}};
static const struct unit iops_units[] = {{"IOPS", 1}, {NULL, 0}};
static const struct unit byte_units[] = {{"GB", 1e9},        {"MB", 1e6},     {"TB", 1e12},
					 {"MiB", 1048576.0}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
					 {NULL, 0}};
static const struct unit mib_units[] = {{"MiB", 1}, {"KiB", 1.0 / 1024}, {"GiB", 1024}, {NULL, 0}};

static const struct unit *units_of(enum figure_kind kind)
{
	switch (kind) {
	case KIND_TIME:
		return time_units;
	case KIND_RATE:
		return rate_units;
	case KIND_IOPS:
		return iops_units;
	case KIND_BYTES:
		return byte_units;
	case KIND_MIB:
		return mib_units;
	case KIND_COUNT:
	case KIND_RATIO:
	case KIND_FLAG:
		break;
	}
	return no_units;
}

static char *trim(char *s)
{
	size_t len;

	while (isspace((unsigned char)*s))
		s++;
	len = strlen(s);
	while (len && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	return s;
}

/*
 * Digits with at most one dot. No sign, exponent, hexadecimal, "nan" or "inf", and always a dot,
 * whatever the locale of the program says.
 */
static bool decimal(const char *s, size_t len, double *out)
{
	char buf[32];
	char *end;
	locale_t c_locale;
	size_t digits = 0;

	if (!len || len >= sizeof(buf))
		return false;
	for (size_t i = 0; i < len; i++)
		digits += s[i] != '.';
	if (!digits || len - digits > 1)
		return false;
	memcpy(buf, s, len);
	buf[len] = '\0';
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return false;
	*out = strtod_l(buf, &end, c_locale);
	freelocale(c_locale);
	return !*end && isfinite(*out);
}

static int parse_number(struct ini_entries *ini, const struct ini_entry *e,
			const struct figure_rule *rule, char *text, double *out)
{
	const struct unit *u = units_of(rule->kind);
	size_t len = strspn(text, "0123456789.");
	const char *unit_text = text + len;
	const struct unit *first = u;
	double v;

	if (!decimal(text, len, &v))
		return ini_complain(ini, e->line,
				    "%s = '%s' is no plain positive number; write digits%s%s, "
				    "e.g. '%s = 53.5%s%s'",
				    e->key, text, *u->name ? " and " : "", u->name, e->key,
				    *u->name ? " " : "", u->name);
	unit_text += strspn(unit_text, " \t");
	while (u->name && strcmp(u->name, unit_text) != 0)
		u++;
	if (!u->name && !*first->name)
		return ini_complain(ini, e->line,
				    "%s has no unit, but '%s' follows the number; remove it",
				    e->key, unit_text);
	if (!u->name)
		return ini_complain(
			ini, e->line, "%s needs a unit such as '%s' after the number%s%s%s", e->key,
			first->name, *unit_text ? ", not '" : "", unit_text, *unit_text ? "'" : "");
	v *= u->factor;
	if (v < rule->min || v > rule->max) {
		/* limits are kept in the unit of the model; bytes are shown in the first unit */
		double scale = rule->kind == KIND_BYTES ? first->factor : 1;

		return ini_complain(ini, e->line,
				    "%s = %s is impossible; it lies between %.10g and %.10g%s%s",
				    e->key, text, rule->min / scale, rule->max / scale,
				    *first->name ? " " : "", first->name);
	}
	if (rule->kind == KIND_COUNT && v != floor(v))
		return ini_complain(ini, e->line, "%s = %s must be a whole number", e->key, text);
	*out = v;
	return 0;
}

static int parse_yes_no(struct ini_entries *ini, const struct ini_entry *e, const char *text,
			bool *out)
{
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return ini_complain(ini, e->line, "%s = '%s' must be yes or no", e->key, text);
	*out = text[0] == 'y';
	return 0;
}

static int parse_mark(struct ini_entries *ini, const struct ini_entry *e, const char *text,
		      enum figure_mark *out)
{
	for (int i = MARK_MEASURED; i <= MARK_ESTIMATED; i++) {
		if (strcmp(figure_mark_name(i), text) == 0) {
			*out = i;
			return 0;
		}
	}
	return ini_complain(ini, e->line,
			    "%s is marked '%s'; a mark is measured, datasheet, recalled or "
			    "estimated",
			    e->key, text);
}

/* Cut "a | rest" at the bar: ends @s there and returns the trimmed rest, NULL without a bar. */
static char *cut(char *s)
{
	char *bar = strchr(s, '|');

	if (!bar)
		return NULL;
	*bar = '\0';
	return trim(bar + 1);
}

/* VALUE | MARK | SOURCE */
static int parse_figure(struct ini_entries *ini, struct ini_entry *e, enum figure_id id,
			struct drive_profile *out)
{
	const struct figure_rule *rule = figure_rule(id);
	struct figure *fig = &out->figures[id];
	char *mark = cut(e->value);
	char *source = mark ? cut(mark) : NULL;
	char *value = trim(e->value);
	bool flag = false;
	int err;

	if (rule->kind == KIND_FLAG) {
		err = parse_yes_no(ini, e, value, &flag);
		fig->value = flag;
	} else {
		err = parse_number(ini, e, rule, value, &fig->value);
	}
	if (err)
		return err;
	if (!mark || !*mark)
		return ini_complain(
			ini, e->line,
			"%s does not say how sure it is; write '%s = %s | estimated | why'", e->key,
			e->key, value);
	err = parse_mark(ini, e, trim(mark), &fig->mark);
	if (err)
		return err;
	if (!source || !*source)
		return ini_complain(ini, e->line, "%s names no source; add '| where it comes from'",
				    e->key);
	if (strlen(source) >= sizeof(fig->source))
		return ini_complain(
			ini, e->line,
			"the source of %s is longer than %zu characters; use a [TAG] of "
			"[sources]",
			e->key, sizeof(fig->source) - 1);
	memcpy(fig->source, source, strlen(source) + 1);
	fig->given = true;
	return 0;
}

static int copy_text(struct ini_entries *ini, struct ini_entry *e, char *to, size_t len)
{
	const char *text = trim(e->value);

	if (!*text)
		return ini_complain(ini, e->line, "%s is empty; fill it or remove the line",
				    e->key);
	if (strlen(text) >= len)
		return ini_complain(ini, e->line, "%s is longer than %zu characters; shorten it",
				    e->key, len - 1);
	memcpy(to, text, strlen(text) + 1);
	return 0;
}

static int parse_drive(struct ini_entries *ini, struct ini_entry *e, struct drive_profile *out)
{
	if (strcmp(e->key, "title") == 0)
		return copy_text(ini, e, out->title, sizeof(out->title));
	if (strcmp(e->key, "note") == 0)
		return copy_text(ini, e, out->note, sizeof(out->note));
	if (strcmp(e->key, "band") == 0)
		return copy_text(ini, e, out->band, sizeof(out->band));
	if (strcmp(e->key, "volatile_cache") == 0)
		return parse_yes_no(ini, e, trim(e->value), &out->volatile_cache);
	if (strcmp(e->key, "mix_calibrated") == 0)
		return parse_yes_no(ini, e, trim(e->value), &out->mix_calibrated);
	return ini_complain(ini, e->line,
			    "[drive] knows no '%s'; it has title, volatile_cache, "
			    "mix_calibrated, band and note",
			    e->key);
}

static int parse_source(struct ini_entries *ini, struct ini_entry *e, struct drive_profile *out)
{
	struct profile_source *s;

	if (out->nr_sources == DRIVE_NR_SOURCES)
		return ini_complain(ini, e->line, "more than %d sources; join some",
				    DRIVE_NR_SOURCES);
	s = &out->sources[out->nr_sources];
	if (strlen(e->key) >= sizeof(s->tag) || strpbrk(e->key, "[] "))
		return ini_complain(ini, e->line,
				    "'%s' is no good tag for a source; use up to %d letters or "
				    "digits without spaces",
				    e->key, DRIVE_TAG_MAX - 1);
	memcpy(s->tag, e->key, strlen(e->key) + 1);
	out->nr_sources++;
	return copy_text(ini, e, s->text, sizeof(s->text));
}

static int unknown_figure(struct ini_entries *ini, const struct ini_entry *e)
{
	const struct figure_rule *best = NULL;
	unsigned int distance, nearest = UINT_MAX;

	for (int i = 0; i < FIG_NR; i++) {
		const struct figure_rule *rule = figure_rule(i);

		if (strcmp(rule->name, e->key) == 0)
			return ini_complain(ini, e->line,
					    "'%s' belongs into [%s], not [%s]; move it", e->key,
					    rule->section, e->section);
		if (strcmp(rule->section, e->section) == 0 &&
		    near_name(e->key, rule->name, &distance) && distance < nearest) {
			nearest = distance;
			best = rule;
		}
	}
	if (best)
		return ini_complain(ini, e->line, "[%s] knows no '%s'; did you mean '%s'?",
				    e->section, e->key, best->name);
	return ini_complain(ini, e->line,
			    "[%s] knows no '%s'; remove it or make it a comment with '#'",
			    e->section, e->key);
}

static int parse_entry(struct ini_entries *ini, struct ini_entry *e, struct drive_profile *out)
{
	if (strcmp(e->section, "drive") == 0)
		return parse_drive(ini, e, out);
	if (strcmp(e->section, "sources") == 0)
		return parse_source(ini, e, out);
	if (strcmp(e->section, "figures") != 0 && strcmp(e->section, "model") != 0)
		return ini_complain(ini, e->line,
				    "no section is called [%s]; there are [drive], [figures], "
				    "[model] and [sources]",
				    e->section);
	for (int i = 0; i < FIG_NR; i++)
		if (strcmp(figure_rule(i)->section, e->section) == 0 &&
		    strcmp(figure_rule(i)->name, e->key) == 0)
			return parse_figure(ini, e, i, out);
	return unknown_figure(ini, e);
}

static int line_of(const struct ini_entries *ini, const char *section, const char *key)
{
	const struct ini_entry *e = ini_entries_find(ini, section, key);

	return e ? e->line : ini->lines;
}

static int check_present(struct ini_entries *ini, const struct drive_profile *p)
{
	static const char *const drive_keys[][2] = {{"title", "TEXT"},
						    {"volatile_cache", "yes or no"},
						    {"mix_calibrated", "yes or no"}};

	for (size_t i = 0; i < sizeof(drive_keys) / sizeof(*drive_keys); i++)
		if (!ini_entries_find(ini, "drive", drive_keys[i][0]))
			return ini_complain(ini, ini->lines,
					    "the file ends without '%s'; add '%s = %s' to [drive]",
					    drive_keys[i][0], drive_keys[i][0], drive_keys[i][1]);
	for (int i = 0; i < FIG_NR; i++) {
		const struct figure_rule *rule = figure_rule(i);
		const char *unit = units_of(rule->kind)->name;

		if (rule->required && !p->figures[i].given)
			return ini_complain(ini, ini->lines,
					    "the file ends without '%s' (%s); add '%s = %s%s%s | "
					    "MARK | SOURCE' to [%s]",
					    rule->name, rule->meaning, rule->name,
					    rule->kind == KIND_FLAG ? "yes or no" : "NUMBER",
					    *unit ? " " : "", unit, rule->section);
	}
	return 0;
}

/* Whether each [TAG] in a figure's source is in [sources]. */
static int check_tags(struct ini_entries *ini, const struct drive_profile *p, enum figure_id id)
{
	const struct figure_rule *rule = figure_rule(id);
	const char *s = p->figures[id].source;

	while ((s = strchr(s, '['))) {
		size_t len = strcspn(++s, "]");
		unsigned int i = 0;

		while (i < p->nr_sources && (strlen(p->sources[i].tag) != len ||
					     strncmp(p->sources[i].tag, s, len) != 0))
			i++;
		if (i == p->nr_sources)
			return ini_complain(
				ini, line_of(ini, rule->section, rule->name),
				"%s refers to [%.*s], which [sources] lacks; add it there",
				rule->name, (int)len, s);
		s += len;
	}
	return 0;
}

static int check_together(struct ini_entries *ini, struct drive_profile *p)
{
	const struct figure *f = p->figures;
	int err = 0;

	if (f[FIG_SLC].value > f[FIG_CAPACITY].value)
		return ini_complain(ini, line_of(ini, "model", "slc"),
				    "slc is larger than capacity; make it a part of it");
	if (f[FIG_SLC].value > 0 && !f[FIG_SLC_BW].given)
		return ini_complain(ini, line_of(ini, "model", "slc"),
				    "slc needs its write rate; add 'slc_bw = NUMBER MB/s | MARK | "
				    "SOURCE' to [model]");
	if (p->mix_calibrated && !f[FIG_MIX_STEADY].given)
		return ini_complain(ini, line_of(ini, "drive", "mix_calibrated"),
				    "mix_calibrated = yes needs the figure; add 'mix_steady = "
				    "NUMBER IOPS | MARK | SOURCE' to [figures]");
	for (int i = 0; !err && i < FIG_NR; i++)
		err = check_tags(ini, p, i);
	return err;
}

static void fill_params(struct drive_profile *p)
{
	const struct figure *f = p->figures;

	p->params = (struct flash_params){
		.K = (uint32_t)f[FIG_K].value,
		.t_r = f[FIG_T_R].value,
		.t_fix = f[FIG_T_FIX].value,
		.ctl_r = f[FIG_CTL_R].value,
		.ctl_w = f[FIG_CTL_W].value,
		.t_w = f[FIG_T_W].value,
		.bw = f[FIG_BW].value,
		.half_duplex = f[FIG_HALF_DUPLEX].value != 0,
		.nat = f[FIG_NAT].value,
		.wa = f[FIG_WA].value,
		.buf_mib = f[FIG_BUF].value,
		.t_susp = f[FIG_T_SUSP].value,
		.slc_bytes = f[FIG_SLC].value,
		.slc_bw = f[FIG_SLC_BW].given ? f[FIG_SLC_BW].value : f[FIG_NAT].value,
		.t_flush = f[FIG_T_FLUSH].value,
		.capacity = (uint64_t)f[FIG_CAPACITY].value,
	};
}

static int set_name(const char *path, struct drive_profile *p, struct report *r)
{
	const char *base = strrchr(path, '/');
	size_t len, suffix = strlen(DRIVE_SUFFIX);

	base = base ? base + 1 : path;
	len = strlen(base);
	if (len >= suffix && strcmp(base + len - suffix, DRIVE_SUFFIX) == 0)
		len -= suffix;
	if (!len || len >= sizeof(p->name))
		return report(r, -ENAMETOOLONG,
			      "%s: the file's name must have 1 to %zu letters before .ini; "
			      "rename it",
			      path, sizeof(p->name) - 1);
	memcpy(p->name, base, len);
	p->name[len] = '\0';
	return 0;
}

/* Words that stand in front of '=' in a profile. */
static bool known_key(const char *key)
{
	static const char *const drive_keys[] = {"title", "note", "band", "volatile_cache",
						 "mix_calibrated"};

	for (size_t i = 0; i < sizeof(drive_keys) / sizeof(*drive_keys); i++)
		if (strcmp(drive_keys[i], key) == 0)
			return true;
	for (int i = 0; i < FIG_NR; i++)
		if (strcmp(figure_rule(i)->name, key) == 0)
			return true;
	return false;
}

int profile_parse_file(const char *path, struct drive_profile *out, struct report *r)
{
	struct ini_entries ini;
	int err;

	memset(out, 0, sizeof(*out));
	err = set_name(path, out, r);
	if (err)
		return err;
	err = ini_entries_read(&ini, path, known_key, r);
	if (err)
		return err;
	for (size_t i = 0; !err && i < ini.nr; i++)
		err = parse_entry(&ini, &ini.entries[i], out);
	if (!err)
		err = check_present(&ini, out);
	if (!err)
		err = check_together(&ini, out);
	if (!err)
		fill_params(out);
	ini_entries_free(&ini);
	return err;
}
