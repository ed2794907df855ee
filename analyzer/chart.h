/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture made by gnuplot. Beside PICTURE.svg the analyzer writes PICTURE.dat, the data (fields
 * separated by tabs), and PICTURE.gp, a complete script: plots/KIND.gp with a few variables on top,
 * so that `gnuplot PICTURE.gp` draws it again and a person can restyle it.
 *
 * Names from results are not to be trusted, and gnuplot runs commands that it finds in strings:
 * labels go into the data file only; what goes into the script are numbers and file names that
 * passed a whitelist. No shell is involved. Any thread; the working folder is not changed.
 */
#ifndef ANALYZER_CHART_H
#define ANALYZER_CHART_H

#include "file_text.h"
#include "run_load.h"
#include "text.h"

enum chart_kind {
	CHART_BARS,
	CHART_LATENCY,
	CHART_TIMELINE,
	CHART_NR_KINDS,
};

/* "bars", ...: the command's word and the script's name. Constant text. */
const char *chart_kind_name(enum chart_kind kind);

struct chart {
	enum chart_kind kind;
	const char *format; /* "svg" or "png" */
	char *folder;       /* where the picture lies; "." for the current one */
	char *picture;      /* name in the folder */
	char *stem;         /* the name without suffix */
	struct output_file data;
	struct text variables;     /* lines of the script's head */
	struct text_list captions; /* lines below the picture */
};

/*
 * Begin a chart at @output, whose suffix chooses the format. Opens the data file: write to
 * c->data.f. Returns 0, or a negative errno with one line in @r. Free @c either way.
 */
int chart_open(struct chart *c, enum chart_kind kind, const char *output, struct report *r);

/* Write untrusted text as one field that gnuplot takes as it is; cut at @width columns. */
void chart_write_string(struct chart *c, const char *s, unsigned int width);

/* Write a tab and a number as gnuplot reads it; "nan" when there is none. */
void chart_write_number(struct chart *c, double value);

/* End a block of data; blocks are what gnuplot calls index. */
void chart_end_block(struct chart *c);

/* Write block 0: the title and the captions, which must be complete. */
void chart_write_texts(struct chart *c, const char *title);

/* Set a number that the script uses. @name is a constant of ours. */
void chart_set(struct chart *c, const char *name, double value);

/* Add what all charts say below: workload, fio version, modelled drives with condition and
 * certainty, that a difference exists. Returns 0 or -ENOMEM. */
int chart_caption_runs(struct chart *c, const struct run_set *set);

/* Add a caption, wrapped to the picture's width. Returns 0 or -ENOMEM. */
int chart_caption(struct chart *c, const char *s);

/*
 * Complete data and script and let @gnuplot (a program's name or path) draw the picture. The
 * picture gets its name only when it is whole. Returns 0; -ENOEXEC with one line in @r when there
 * is no such gnuplot (data and script are there); another negative errno with one line in @r.
 */
int chart_draw(struct chart *c, const char *gnuplot, struct report *r);

void chart_free(struct chart *c);

/* Write the data of each kind of chart. Returns 0 or a negative errno with one line in @r. */
int chart_bars(struct chart *c, const struct run_set *set, struct report *r);
int chart_latency(struct chart *c, const struct run_set *set, struct report *r);
int chart_timeline(struct chart *c, struct run_set *set, struct report *r);

#endif
