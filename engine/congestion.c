/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Congestion: how the buffer pushes back on writers, 0..255 by kind, and the delay that follows.
 *
 * reference: "Understanding Congestion in vSAN" (VMware KB 2150260): one number for each resource,
 * a randomised exponential backoff at the writers; KB 326870: the reaction is slow on purpose,
 * short spikes are ignored; log limits 16 and 24 GiB for a buffer of 600 GB. The thresholds of the
 * data space, the delay law's constants and the filter are inferred: no number for them was
 * published.
 */
#include <math.h>

#include "group.h"

#define UPDATE_NS    (5 * NSEC_PER_MSEC)
#define FILTER_MAX_S 5.0
#define LOG_RECORD_BYTES \
	96.0 /* vSAN's log bytes for a live 4 KiB block, an upper bound inferred from its limits \
	      */
#define LOG_LOW  (16.0 * 1073741824 / 600e9) /* of the buffer's bytes */
#define LOG_HIGH (24.0 * 1073741824 / 600e9)

/* 0 at @lo, 255 at @hi. */
double congestion_ramp(double x, double lo, double hi)
{
	double c = 255.0 * (x - lo) / (hi - lo);

	return c < 0 ? 0 : c > 255 ? 255 : c;
}

/* Mean delay in us at a congestion of @level (0..255). */
double congestion_delay_us(const struct dg_options *o, double level)
{
	return level <= 0 ? 0 : o->congestion_delay_us * (exp2(level / o->congestion_tau) - 1.0);
}

/* How long the next write must wait, ns: the mean times 0.5..1.5. 0 without congestion. Any thread.
 */
uint64_t congestion_delay(const struct disk_group *g, uint64_t *rng)
{
	uint32_t level = atomic_load_explicit(&g->cong.level, memory_order_relaxed);
	double us;

	/* Below 1 of 255 it is noise of the filter. */
	if (level < 256)
		return 0;
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	us = congestion_delay_us(&g->opt, level / 256.0);
	return (uint64_t)(us * 1000.0 * (0.5 + (double)(*rng >> 11) * 0x1p-53));
}

static uint64_t live_pages(const struct disk_group *g)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->wb.nbuckets; i++)
		n += atomic_load_explicit(&g->wb.bucket[i].live, memory_order_relaxed);
	return n;
}

static void low_pass(double *c, double target, double alpha)
{
	*c += (target - *c) * alpha;
	if (*c < 0.01 && target == 0)
		*c = 0;
}

/* Bring the congestion up to date. The worker, at its leisure; does nothing when called too soon.
 */
void congestion_update(struct disk_group *g, uint64_t now)
{
	struct congestion *c = &g->cong;
	const struct dg_options *o = &g->opt;
	double dt, tau, bytes = (double)g->wb.npages * DG_BLOCK, fill = wb_fill(g), alpha, max;
	uint64_t drained = atomic_load(&g->destage.bytes);

	if (!c->last_ns) {
		c->last_ns = now;
		return;
	}
	if (now - c->last_ns < UPDATE_NS)
		return;
	dt = (double)(now - c->last_ns) / 1e9;
	c->last_ns = now;
	alpha = 1.0 - exp(-dt); /* one second for the drain rate */
	c->drain_rate += ((double)(drained - c->last_drained) / dt - c->drain_rate) * alpha;
	c->last_drained = drained;

	/* A small buffer turns over faster: the filter must not be slower than a quarter of it. */
	tau = FILTER_MAX_S;
	if (c->drain_rate > 1 && bytes / 4 / c->drain_rate < tau)
		tau = bytes / 4 / c->drain_rate;
	alpha = 1.0 - exp(-dt / tau);
	low_pass(&c->ssd,
		 congestion_ramp(fill * 100.0, o->congestion_ssd_low, o->congestion_ssd_high),
		 alpha);
	low_pass(&c->log,
		 congestion_ramp((double)live_pages(g) * LOG_RECORD_BYTES, LOG_LOW * bytes,
				 LOG_HIGH * bytes),
		 alpha);
	max = c->ssd > c->log ? c->ssd : c->log;
	if (c->mem > max)
		max = c->mem;
	atomic_store_explicit(&c->ssd_now, (uint32_t)(c->ssd * 256), memory_order_relaxed);
	atomic_store_explicit(&c->log_now, (uint32_t)(c->log * 256), memory_order_relaxed);
	atomic_store_explicit(&c->mem_now, (uint32_t)(c->mem * 256), memory_order_relaxed);
	atomic_store_explicit(&c->level, (uint32_t)(max * 256), memory_order_relaxed);
	if (c->ssd >= 1 && !atomic_load_explicit(&g->first_full_ns, memory_order_relaxed)) {
		uint64_t never = 0;

		atomic_compare_exchange_strong(&g->first_full_ns, &never, now);
	}
}
