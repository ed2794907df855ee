/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time, as the disk group sees it: the machine's monotonic clock, or a virtual one that a bare driver
 * moves, so that a run on modelled drives can be repeated byte for byte.
 */
#ifndef VSAN_CLOCK_H
#define VSAN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_SEC  1000000000ull
#define TIME_NEVER    UINT64_MAX /* a deadline that never comes */

struct vclock {
	bool is_virtual;
	uint64_t virtual_ns; /* moved by the driver; read by everybody, one thread only */
};

/* Nanoseconds since an arbitrary origin. Any thread; a virtual clock has one thread only. */
static inline uint64_t vclock_now(const struct vclock *c)
{
	struct timespec ts;

	if (c->is_virtual)
		return c->virtual_ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
