/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums rates over time; see rate_series.h. */
#include "rate_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct rate_series *s, size_t nr)
{
	size_t cap = s->cap ? s->cap : 256;
	double *p;

	while (cap < nr)
		cap *= 2;
	if (cap > s->cap) {
		p = reallocarray(s->amounts, cap, sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->amounts = p;
		s->cap = cap;
	}
	if (nr > s->nr) {
		memset(s->amounts + s->nr, 0, (nr - s->nr) * sizeof(*s->amounts));
		s->nr = nr;
	}
	return 0;
}

int rate_series_add(struct rate_series *s, double from, double to, double rate)
{
	double steps = ceil(to / s->step_msec);
	int ret;

	/* First of all: an absurd time is one whatever its rate, and may be too large to tell its ends. */
	if (steps > (double)RATE_SERIES_MAX)
		return -E2BIG;
	from = fmax(from, 0);
	if (!(to > from) || rate == 0)
		return 0;
	ret = make_room(s, (size_t)steps);
	if (ret)
		return ret;
	for (size_t i = (size_t)(from / s->step_msec); i < (size_t)steps; i++) {
		double begin = fmax(from, (double)i * s->step_msec);
		double end = fmin(to, (double)(i + 1) * s->step_msec);

		if (end > begin)
			s->amounts[i] += rate * (end - begin);
	}
	return 0;
}

double rate_series_at(const struct rate_series *s, size_t i)
{
	return i < s->nr ? s->amounts[i] / s->step_msec : 0;
}

void rate_series_free(struct rate_series *s)
{
	free(s->amounts);
	*s = (struct rate_series){0};
}
