/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fio's latency histogram: counts of completions per latency, from the "bins" of json+.
 *
 * fio sorts each latency into one of 29 x 64 bins and prints a bin as the latency in its middle
 * (exact below 128 ns, at most 0.8% off above), so adding counts merges histograms exactly; that
 * is the only sound way to a percentile of several jobs. No state; not shared between threads.
 */
#ifndef ANALYZER_LATENCY_BINS_H
#define ANALYZER_LATENCY_BINS_H

#include <stddef.h>
#include <stdint.h>

/* Middle of fio's last bin, which also counts all completions that are longer. */
#define LATENCY_BINS_LAST_NS 17112760320.0

struct latency_bin {
	double ns;
	uint64_t count;
};

/* Bins in ascending order, each latency once. Start with {0}. */
struct latency_bins {
	struct latency_bin *bins;
	size_t nr;
	size_t cap;
	uint64_t count; /* of all bins */
};

/* Count @count completions more at @ns. Returns 0 or -ENOMEM. */
int latency_bins_add(struct latency_bins *b, double ns, uint64_t count);

/* Add all of @from to @to. Returns 0 or -ENOMEM (then @to holds a part of them). */
int latency_bins_merge(struct latency_bins *to, const struct latency_bins *from);

/*
 * The latency in ns that @percent percent of the completions did not exceed: the first bin at
 * which the running count reaches that share, as fio computes it. NAN without completions.
 */
double latency_bins_percentile(const struct latency_bins *b, double percent);

/* Mean of the bins' middles, ns; NAN without completions. */
double latency_bins_mean(const struct latency_bins *b);

void latency_bins_free(struct latency_bins *b);

#endif
