/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a profile may hold, and how it is shown and found; see drive_profile.h. Reading the file is
 * profile_parser.c, the list of what ships is drive_catalog.c.
 */
#include "drive_profile.h"

#include "drive_catalog.h"
#include "profile_parser.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define MS 1e3
#define GB 1e9
#define TB 1e12

/*
 * The limits are wide: they only keep out what no drive does and what the arithmetic of the model
 * could not follow.
 */
static const struct figure_rule rules[FIG_NR] = {
	[FIG_CAPACITY] = {"figures", "capacity", KIND_BYTES, true, 1e6, 1000 * TB, "capacity"},
	[FIG_READ_QD1] = {"figures", "read_qd1", KIND_TIME, true, 0.1, 1000 * MS,
			  "4K random read, QD1, mean"},
	[FIG_READ_MAX] = {"figures", "read_max", KIND_IOPS, true, 1, 1e9, "4K random read, most"},
	[FIG_WRITE_QD1] = {"figures", "write_qd1", KIND_TIME, false, 0.1, 1000 * MS,
			   "4K random write, QD1, mean"},
	[FIG_WRITE_FRESH] = {"figures", "write_fresh", KIND_IOPS, false, 1, 1e9,
			     "4K random write, fresh drive"},
	[FIG_WRITE_STEADY] = {"figures", "write_steady", KIND_IOPS, true, 1, 1e9,
			      "4K random write, steady state"},
	[FIG_MIX_STEADY] = {"figures", "mix_steady", KIND_IOPS, false, 1, 1e9,
			    "4K 70/30 mix, steady state"},
	[FIG_SEQ_READ] = {"figures", "seq_read", KIND_RATE, false, 0.1, 1e6, "sequential read"},
	[FIG_SEQ_WRITE] = {"figures", "seq_write", KIND_RATE, false, 0.1, 1e6, "sequential write"},

	[FIG_K] = {"model", "K", KIND_COUNT, true, 1, FLASH_MAX_UNITS, "parallel media units"},
	[FIG_T_R] = {"model", "t_r", KIND_TIME, true, 0.01, 1000 * MS,
		     "one unit reads up to 16 KiB"},
	[FIG_T_FIX] = {"model", "t_fix", KIND_TIME, true, 0, 1000 * MS, "constant part of a read"},
	[FIG_CTL_R] = {"model", "ctl_r", KIND_TIME, true, 0.001, 1000 * MS, "controller, per read"},
	[FIG_CTL_W] = {"model", "ctl_w", KIND_TIME, true, 0.001, 1000 * MS,
		       "controller, per write"},
	[FIG_T_W] = {"model", "t_w", KIND_TIME, true, 0, 1000 * MS, "constant part of a write"},
	[FIG_BW] = {"model", "bw", KIND_RATE, true, 1, 1e6, "host link"},
	[FIG_HALF_DUPLEX] = {"model", "half_duplex", KIND_FLAG, true, 0, 1,
			     "reads and writes share the link"},
	[FIG_NAT] = {"model", "nat", KIND_RATE, true, 0.1, 1e6, "native program rate, all units"},
	[FIG_WA] = {"model", "wa", KIND_RATIO, true, 1, 10000,
		    "media time of steady random writes"},
	[FIG_BUF] = {"model", "buf", KIND_MIB, true, 0.125, FLASH_MAX_BUFFER_MIB,
		     "the drive's own write buffer"},
	[FIG_T_SUSP] = {"model", "t_susp", KIND_TIME, true, 0, 1000 * MS,
			"longest wait of a read behind a program"},
	[FIG_SLC] = {"model", "slc", KIND_BYTES, true, 0, 1000 * TB, "SLC area"},
	[FIG_SLC_BW] = {"model", "slc_bw", KIND_RATE, false, 0.1, 1e6, "write rate in it"},
	[FIG_T_FLUSH] = {"model", "t_flush", KIND_TIME, true, 0, 10000 * MS, "one flush"},
};

const struct figure_rule *figure_rule(enum figure_id id)
{
	return &rules[id];
}

const char *figure_mark_name(enum figure_mark mark)
{
	static const char *const names[] = {"measured", "datasheet", "recalled", "estimated"};

	return names[mark];
}

static void bytes_text(double v, char *buf, size_t len)
{
	if (v <= 0)
		snprintf(buf, len, "none");
	else if (v >= TB)
		snprintf(buf, len, "%.4g TB", v / TB);
	else if (v >= GB)
		snprintf(buf, len, "%.4g GB", v / GB);
	else
		snprintf(buf, len, "%.4g MB", v / 1e6);
}

const char *figure_text(const struct drive_profile *p, enum figure_id id, char *buf, size_t len)
{
	double v = p->figures[id].value;

	if (!p->figures[id].given) {
		snprintf(buf, len, "-");
		return buf;
	}
	switch (rules[id].kind) {
	case KIND_COUNT:
	case KIND_RATIO:
		snprintf(buf, len, "%.6g", v);
		break;
	case KIND_TIME:
		if (v >= 1000)
			snprintf(buf, len, "%.4g ms", v / 1000);
		else
			snprintf(buf, len, "%.4g us", v);
		break;
	case KIND_RATE:
		snprintf(buf, len, "%.4g MB/s", v);
		break;
	case KIND_IOPS:
		if (v >= 1e6)
			snprintf(buf, len, "%.3gM IOPS", v / 1e6);
		else if (v >= 1e3)
			snprintf(buf, len, "%.4gK IOPS", v / 1e3);
		else
			snprintf(buf, len, "%.4g IOPS", v);
		break;
	case KIND_BYTES:
		bytes_text(v, buf, len);
		break;
	case KIND_MIB:
		snprintf(buf, len, "%.6g MiB", v);
		break;
	case KIND_FLAG:
		snprintf(buf, len, v != 0 ? "yes" : "no");
		break;
	}
	return buf;
}

enum figure_mark drive_profile_certainty(const struct drive_profile *p)
{
	enum figure_mark worst = MARK_MEASURED;

	for (int i = FIG_CAPACITY; i <= FIG_SEQ_WRITE; i++)
		if (p->figures[i].given && p->figures[i].mark > worst)
			worst = p->figures[i].mark;
	return worst;
}

bool drive_profile_has_fresh(const struct drive_profile *p)
{
	return p->params.wa > 1 || p->params.slc_bytes > 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t ls = strlen(s), le = strlen(end);

	return ls >= le && strcmp(s + ls - le, end) == 0;
}

int drive_profile_load(const char *name_or_path, struct drive_profile *out, struct report *r)
{
	char path[PATH_MAX];
	int err;

	if (*name_or_path == '@')
		name_or_path++;
	if (!*name_or_path)
		return report(r, -EINVAL,
			      "a drive profile is needed after '@'; 'fio-vsan drives' lists them");
	if (strchr(name_or_path, '/') || ends_with(name_or_path, DRIVE_SUFFIX))
		return profile_parse_file(name_or_path, out, r);
	err = drive_catalog_find(name_or_path, path, sizeof(path), r);
	if (err)
		return err;
	return profile_parse_file(path, out, r);
}

static void print_section(FILE *f, const struct drive_profile *p, const char *section)
{
	char text[32];

	for (int i = 0; i < FIG_NR; i++) {
		const struct figure *fig = &p->figures[i];

		if (strcmp(rules[i].section, section) != 0 || !fig->given)
			continue;
		fprintf(f, "  %-12s  %-11s  %-9s  %s\n", rules[i].name,
			figure_text(p, i, text, sizeof(text)), figure_mark_name(fig->mark),
			rules[i].meaning);
		fprintf(f, "  %-12s  %s\n", "", fig->source);
	}
}

void drive_profile_print(FILE *f, const struct drive_profile *p)
{
	fprintf(f, "%s: %s\n", p->name, p->title);
	fprintf(f, "How sure: %s at worst. Mixed reads and writes calibrated: %s.\n",
		figure_mark_name(drive_profile_certainty(p)), p->mix_calibrated ? "yes" : "no");
	fprintf(f, "Write cache: %s. Conditions: %s.\n",
		p->volatile_cache ? "volatile, a power cut loses what was not flushed"
				  : "protected against power loss",
		drive_profile_has_fresh(p) ? "steady, fresh" : "steady (fresh is the same)");
	if (p->band[0])
		fprintf(f, "Band: %s\n", p->band);
	if (p->note[0])
		fprintf(f, "Note: %s\n", p->note);
	fprintf(f, "\nFigures\n");
	print_section(f, p, "figures");
	fprintf(f, "\nModel\n");
	print_section(f, p, "model");
	if (p->nr_sources)
		fprintf(f, "\nSources\n");
	for (unsigned int i = 0; i < p->nr_sources; i++)
		fprintf(f, "  [%s] %s\n", p->sources[i].tag, p->sources[i].text);
}
