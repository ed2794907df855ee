/* SPDX-License-Identifier: GPL-2.0-only */
/* Adds, merges and asks fio's latency histograms; see latency_bins.h. */
#include "latency_bins.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void latency_bins_free(struct latency_bins *b)
{
	free(b->bins);
	*b = (struct latency_bins){0};
}

/* Index of the first bin that is not below @ns. */
static size_t bin_position(const struct latency_bins *b, double ns)
{
	size_t lo = 0, hi = b->nr;

	/* fio writes bins in rising order: nearly always the answer is the end. */
	if (b->nr && b->bins[b->nr - 1].ns < ns)
		return b->nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->bins[mid].ns < ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int latency_bins_add(struct latency_bins *b, double ns, uint64_t count)
{
	size_t i;
	int ret;

	if (!count)
		return 0;
	i = bin_position(b, ns);
	if (i == b->nr || b->bins[i].ns != ns) {
		ret = array_grow(&b->bins, b->nr, &b->cap, sizeof(*b->bins));
		if (ret)
			return ret;
		memmove(&b->bins[i + 1], &b->bins[i], (b->nr - i) * sizeof(*b->bins));
		b->bins[i] = (struct latency_bin){.ns = ns};
		b->nr++;
	}
	b->bins[i].count += count;
	b->count += count;
	return 0;
}

int latency_bins_merge(struct latency_bins *to, const struct latency_bins *from)
{
	for (size_t i = 0; i < from->nr; i++) {
		int ret = latency_bins_add(to, from->bins[i].ns, from->bins[i].count);

		if (ret)
			return ret;
	}
	return 0;
}

double latency_bins_percentile(const struct latency_bins *b, double percent)
{
	/* Computed as in fio, so that both agree where the share falls on the end of a bin. */
	long double want = (long double)percent / 100.0L * (long double)b->count;
	uint64_t sum = 0;

	if (!b->count)
		return NAN;
	for (size_t i = 0; i < b->nr; i++) {
		sum += b->bins[i].count;
		if ((long double)sum >= want)
			return b->bins[i].ns;
	}
	return b->bins[b->nr - 1].ns;
}

double latency_bins_mean(const struct latency_bins *b)
{
	double sum = 0;

	if (!b->count)
		return NAN;
	for (size_t i = 0; i < b->nr; i++)
		sum += b->bins[i].ns * (double)b->bins[i].count;
	return sum / (double)b->count;
}
