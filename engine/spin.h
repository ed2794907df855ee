/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock for critical sections of some tens of nanoseconds that never sleep, call out or do I/O: 4 bytes,
 * so that the block map can have one per shard. Yields when the holder seems to have lost its CPU.
 */
#ifndef VSAN_SPIN_H
#define VSAN_SPIN_H

#include <sched.h>
#include <stdatomic.h>

struct spin {
	atomic_uint held;
};

static inline void spin_lock(struct spin *s)
{
	unsigned int tries = 0;

	while (atomic_exchange_explicit(&s->held, 1, memory_order_acquire)) {
		while (atomic_load_explicit(&s->held, memory_order_relaxed)) {
			if (++tries % 128 == 0)
				sched_yield();
#if defined(__x86_64__) || defined(__i386__)
			__builtin_ia32_pause();
#endif
		}
	}
}

static inline void spin_unlock(struct spin *s)
{
	atomic_store_explicit(&s->held, 0, memory_order_release);
}

#endif
