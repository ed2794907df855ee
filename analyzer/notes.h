/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbered footnotes of a table: each reason is said once. Not shared between threads. */
#ifndef ANALYZER_NOTES_H
#define ANALYZER_NOTES_H

#include <stdio.h>

#define NOTES_MAX 16

/* Start with {0}. Texts are constant and not owned. */
struct notes {
	const char *texts[NOTES_MAX];
	unsigned int nr;
};

/* Number of a footnote, 1-based; the same text has the same number. */
unsigned int notes_number(struct notes *n, const char *text);
void notes_print(const struct notes *n, FILE *f);

#endif
