/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histogram of how late modelled completions were delivered: fixed memory, mergeable, error at most
 * one eighth. No locks: a histogram belongs to one queue, readers merge after the run or accept a
 * torn view.
 */
#include "ioq.h"

#define STEP_BITS 3 /* 8 steps per power of two; below 8 ns every value has its own bucket */
#define STEPS     (1u << STEP_BITS)

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int e;

	if (ns < STEPS)
		return (unsigned int)ns;
	e = 63u - (unsigned int)__builtin_clzll(ns);
	return (e - STEP_BITS + 1) * STEPS + (unsigned int)((ns >> (e - STEP_BITS)) & (STEPS - 1));
}

/* The largest value that falls into bucket @b: percentiles err to the late side. */
static uint64_t bucket_end(unsigned int b)
{
	unsigned int shift;

	if (b < STEPS)
		return b;
	shift = b / STEPS - 1;
	return (((uint64_t)(STEPS + b % STEPS) + 1) << shift) - 1;
}

void lateness_add(struct lateness *l, uint64_t ns)
{
	l->count++;
	if (ns > l->max_ns)
		l->max_ns = ns;
	l->bucket[bucket_of(ns)]++;
}

void lateness_merge(struct lateness *into, const struct lateness *from)
{
	into->count += from->count;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	for (unsigned int b = 0; b < LATENESS_BUCKETS; b++)
		into->bucket[b] += from->bucket[b];
}

uint64_t lateness_percentile(const struct lateness *l, double p)
{
	uint64_t rank, sum = 0, end;
	double exact;

	if (!l->count)
		return 0;
	/* Nearest rank: the smallest value that at least p percent do not exceed. */
	exact = p / 100.0 * (double)l->count;
	rank = (uint64_t)exact;
	if ((double)rank < exact || !rank)
		rank++;
	for (unsigned int b = 0; b < LATENESS_BUCKETS; b++) {
		sum += l->bucket[b];
		if (sum >= rank) {
			end = bucket_end(b);
			return end < l->max_ns ? end : l->max_ns;
		}
	}
	return l->max_ns;
}
