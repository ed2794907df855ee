/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive profile: the figures of one drive, each with a mark that says how sure it is and the
 * public source it comes from. Profiles are .ini files, data and not code; docs/model.md says how
 * to write one. Files that ship are found by name, others by path.
 *
 * A profile is plain data, filled once and then only read: threads may share it.
 */
#ifndef VSAN_DRIVE_PROFILE_H
#define VSAN_DRIVE_PROFILE_H

#include "flash_model.h"
#include "report.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define DRIVE_NAME_MAX    64
#define DRIVE_TITLE_MAX   128
#define DRIVE_TEXT_MAX    1024
#define DRIVE_SOURCE_MAX  512
#define DRIVE_TAG_MAX     16
#define DRIVE_NR_SOURCES  16
#define DRIVE_SUFFIX      ".ini"
#define DRIVE_PROFILE_ENV "FIO_VSAN_PROFILE_DIR"

/* How sure a figure is, in order of rising doubt. */
enum figure_mark {
	MARK_MEASURED,  /* a named source measured it */
	MARK_DATASHEET, /* the maker's figure, read in a named source */
	MARK_RECALLED,  /* the maker's figure from memory, no source at hand */
	MARK_ESTIMATED, /* our estimate, or computed by a rule of thumb */
};

/* Everything with a number in a profile; the names in the file are those of figure_name(). */
enum figure_id {
	/* section [figures]: what a person compares drives by */
	FIG_CAPACITY,     /* bytes */
	FIG_READ_QD1,     /* 4K random read, mean latency at queue depth 1, us */
	FIG_READ_MAX,     /* 4K random read, saturated, IOPS */
	FIG_WRITE_QD1,    /* 4K random write, mean latency at queue depth 1, us */
	FIG_WRITE_FRESH,  /* 4K random write, burst on a fresh drive, IOPS */
	FIG_WRITE_STEADY, /* 4K random write, steady state, IOPS */
	FIG_MIX_STEADY,   /* 4K 70% read 30% write, steady state, IOPS */
	FIG_SEQ_READ,     /* MB/s */
	FIG_SEQ_WRITE,    /* MB/s, after the SLC area if there is one */
	/* section [model]: what the timing is computed from, see struct flash_params */
	FIG_K,
	FIG_T_R,
	FIG_T_FIX,
	FIG_CTL_R,
	FIG_CTL_W,
	FIG_T_W,
	FIG_BW,
	FIG_HALF_DUPLEX,
	FIG_NAT,
	FIG_WA,
	FIG_BUF,
	FIG_T_SUSP,
	FIG_SLC,
	FIG_SLC_BW,
	FIG_T_FLUSH,
	FIG_NR,
};

struct figure {
	bool given;
	double value; /* in the unit of figure_unit() */
	enum figure_mark mark;
	char source[DRIVE_SOURCE_MAX]; /* where it comes from; [TAG] refers to a source below */
};

struct profile_source {
	char tag[DRIVE_TAG_MAX];
	char text[DRIVE_SOURCE_MAX];
};

struct drive_profile {
	char name[DRIVE_NAME_MAX]; /* the file's name without .ini */
	char title[DRIVE_TITLE_MAX];
	char note[DRIVE_TEXT_MAX]; /* what a user of the results must know; may be empty */
	char band[DRIVE_TEXT_MAX]; /* range of the least sure figure; may be empty */
	bool volatile_cache;       /* acknowledged writes need a flush to survive a power cut */
	bool mix_calibrated;       /* t_susp was set from a measured mix of reads and writes */
	struct figure figures[FIG_NR];
	struct profile_source sources[DRIVE_NR_SOURCES];
	unsigned int nr_sources;
	struct flash_params params; /* the figures of [model], as the model takes them */
};

/* What a figure may be, and how it is written. */
enum figure_kind {
	KIND_COUNT, /* whole number */
	KIND_RATIO,
	KIND_TIME, /* us */
	KIND_RATE, /* MB/s */
	KIND_IOPS,
	KIND_BYTES,
	KIND_MIB,
	KIND_FLAG, /* yes or no: 1 or 0 */
};

struct figure_rule {
	const char *section;
	const char *name;
	enum figure_kind kind;
	bool required;
	double min, max;
	const char *meaning; /* a few words for people */
};

/* The rule of a figure; @id below FIG_NR. Points to constant data. */
const struct figure_rule *figure_rule(enum figure_id id);

/* "measured", "datasheet", "recalled", "estimated". Constant text. */
const char *figure_mark_name(enum figure_mark mark);

/* Write a figure's value with its unit, rounded for people, e.g. "85 us" or "330K IOPS"; "-" when
 * the profile does not give it. Returns @buf. */
const char *figure_text(const struct drive_profile *p, enum figure_id id, char *buf, size_t len);

/* The worst mark among the given figures of [figures]: how sure the profile is as a whole. */
enum figure_mark drive_profile_certainty(const struct drive_profile *p);

/* Whether a fresh drive of this kind behaves differently from a steady one. */
bool drive_profile_has_fresh(const struct drive_profile *p);

/*
 * Load a profile. @name_or_path is a path when it holds a '/' or ends in .ini, else the name of a
 * profile that ships (a leading '@' is dropped), looked for in $FIO_VSAN_PROFILE_DIR, then beside
 * the source the program was built from, then where it was installed.
 * Returns 0 and fills @out; on failure a negative errno, with one line in @r that names file and
 * line and says what to do: -EINVAL for what the file says, -ENOENT for no such file or name,
 * other errnos from reading it. Any thread.
 */
int drive_profile_load(const char *name_or_path, struct drive_profile *out, struct report *r);

/* Print all of a profile for a person: every figure with mark and source, notes, source list. */
void drive_profile_print(FILE *f, const struct drive_profile *p);

#endif
