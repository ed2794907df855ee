/* SPDX-License-Identifier: GPL-2.0-only */
/* Footnotes; see notes.h. */
#include "notes.h"

#include <string.h>

unsigned int notes_number(struct notes *n, const char *text)
{
	for (unsigned int i = 0; i < n->nr; i++)
		if (!strcmp(n->texts[i], text))
			return i + 1;
	/* There are fewer reasons than room; if that ever changes, the last stands for the rest. */
	if (n->nr < NOTES_MAX)
		n->texts[n->nr++] = text;
	return n->nr;
}

void notes_print(const struct notes *n, FILE *f)
{
	for (unsigned int i = 0; i < n->nr; i++)
		fprintf(f, "[%u] %s\n", i + 1, n->texts[i]);
}
