/* SPDX-License-Identifier: GPL-2.0-only */
/* Edit distance between short names; see near_name.h. */
#include "near_name.h"

#include <ctype.h>
#include <string.h>

enum {
	LONGEST = 63, /* names longer than this are never suggested */
};

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			unsigned int best =
				min3(row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1));

			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[lb];
}

bool near_name(const char *word, const char *known, unsigned int *distance)
{
	size_t len = strlen(word);

	if (!len || len > LONGEST || strlen(known) > LONGEST)
		return false;
	*distance = edit_distance(word, known);
	if (*distance <= 1 + len / 5)
		return true;
	/* "p4600" is far from "intel-p4600-1.6tb" in letters, but surely meant */
	if (len >= 3 && strcasestr(known, word)) {
		*distance = 0;
		return true;
	}
	return false;
}
