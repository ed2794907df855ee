/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of an I/O queue, shared by the device implementations and by the files that make up
 * the queue: ioq.c (heap, statistics, polling), ioq_sleep.c (sleeping, spinning, waking), ring.c
 * (io_uring). Everything here runs in the thread that owns the queue, except what is marked.
 */
#ifndef VSAN_IOQ_IMPL_H
#define VSAN_IOQ_IMPL_H

#include <stdatomic.h>

#include "ioq.h"

struct ring;

/* What the queue knows about one device. */
struct ioq_slot {
	struct device *dev;
	int fd;   /* set by ring_attach(); -1: not attached to the ring */
	int file; /* its index among the ring's registered files, -1: not registered */
	/* Completed since the last fold into dev->stats. */
	uint64_t ios[3], bytes[3], nsec[3];
};

/*
 * A modelled completion. Ordered by due time, then by submission, so that equal due times complete
 * in one order on every run.
 */
struct ioq_due {
	uint64_t due_ns;
	uint64_t seq;
	struct dev_req *req;
};

/* Bits of ioq.wake_state. */
#define WAKE_WOKEN    1u
#define WAKE_SLEEPING 2u

struct ioq {
	/* Hot: used by every request. */
	struct ioq_slot
		*last; /* slot of the last request's device: nearly always the next one's too */
	struct ioq_slot *slots;
	unsigned int nr_slots;
	unsigned int unfolded; /* requests counted in slots but not yet in dev->stats */
	struct ioq_due *heap;
	unsigned int nr_due, max_due;
	uint64_t seq;
	struct ring *ring; /* NULL until a device needs one */
	const struct vclock *clock;
	unsigned int depth;
	bool may_spin;
	bool all_due;      /* synchronous helpers: deliver modelled completions without waiting */
	bool thread_ready; /* the owner's timer slack is set, cpus is known */
	unsigned int cpus;
	int eventfd;
	uint64_t margin_ns; /* how much before a due time a sleep that ends in spinning is to end */
	struct ioq_slot none; /* what last points to at first: no device's slot */
	struct lateness late;

	/* Written by other threads: a cache line of its own. */
	_Alignas(64) _Atomic unsigned int wake_state;
};

/* The queue's slot of @dev, made if there is none; NULL when out of memory. */
struct ioq_slot *ioq_slot(struct ioq *q, struct device *dev);

/* Add what the slots counted to the devices' statistics. */
void ioq_fold_stats(struct ioq *q);

/*
 * Statistics are counted in the queue and folded into the device's atomics now and then: two atomic
 * adds per request on a line that all threads share would cost more than a 4 KiB copy's
 * bookkeeping.
 */
#define IOQ_FOLD_EVERY 64

/* Count a request that completed without error after @nsec. */
static inline void ioq_count(struct ioq *q, const struct dev_req *req, uint64_t nsec)
{
	struct ioq_slot *s = q->last;

	if (__builtin_expect(s->dev != req->dev, 0)) {
		s = ioq_slot(q, req->dev);
		if (!s)
			return; /* out of memory: a statistic is all that is lost */
	}
	s->ios[req->op]++;
	s->bytes[req->op] += req->len;
	s->nsec[req->op] += nsec;
	if (__builtin_expect(++q->unfolded >= IOQ_FOLD_EVERY, 0))
		ioq_fold_stats(q);
}

static inline void ioq_count_error(const struct dev_req *req)
{
	atomic_fetch_add_explicit(&req->dev->stats.errors, 1, memory_order_relaxed);
}

/* Complete @req at req->due_ns (issued_ns is set too). 0 or -ENOMEM. */
int ioq_add_due(struct ioq *q, struct dev_req *req);

/* A queue that delivers modelled completions at once: for the synchronous helpers. */
int ioq_create_sync(struct ioq **out);

/*
 * ring.c: the io_uring of a queue, for devices with a file descriptor. The thread that first
 * submits owns it from then on.
 */

/* Can this kernel and process have a ring? 0, or a negative errno: described with what to do. */
int ring_probe(const char *what, struct report *r);

/* Make @dev, open as @fd, usable on @q; makes the ring if there is none. 0 or a negative errno. */
int ring_attach(struct ioq *q, struct device *dev, int fd);

/* Start @req, or queue it while the ring is full. 0, or -EBADF if its device is not attached. */
int ring_submit(struct ioq *q, struct dev_req *req);

/* Hand prepared SQEs to the kernel. */
void ring_kick(struct ring *ring);

/* Call done() of what is complete; how many. */
unsigned int ring_reap(struct ioq *q);

/* Is there something for ring_reap()? */
bool ring_has_events(const struct ring *ring);

/* Sleep until there is, the eventfd is written, or the time comes (true). Kicks. */
bool ring_sleep(struct ioq *q, uint64_t until_ns);

unsigned int ring_in_flight(const struct ring *ring);
void ring_destroy(struct ring *ring);

#endif
