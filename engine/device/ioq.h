/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An I/O queue: what one thread has in flight on all devices of its group, and the one place where
 * it sleeps. Holds an io_uring for real devices (made at the first attach that needs one) and a
 * heap of due times for modelled ones. Owned by one thread; only ioq_wake() may be called by
 * others.
 */
#ifndef VSAN_IOQ_H
#define VSAN_IOQ_H

#include "device.h"

/* How late modelled completions were delivered, in ns: log2 buckets with 8 steps each. */
#define LATENESS_BUCKETS 512
struct lateness {
	uint64_t count, max_ns;
	uint64_t bucket[LATENESS_BUCKETS];
};

void lateness_add(struct lateness *l, uint64_t ns);
void lateness_merge(struct lateness *into, const struct lateness *from);
uint64_t lateness_percentile(const struct lateness *l, double p); /* p in 0..100; ns; 0 if empty */

/*
 * @depth: requests in flight at most (ring size); more are queued inside, submit never fails for
 * that.
 * @may_spin: the thread may busy-wait for the last microseconds before a due time, as far as CPUs
 * allow (at most CPUs-1 spinning threads in the process); elevators pass false.
 */
int ioq_create(struct ioq **out, const struct vclock *clock, unsigned int depth, bool may_spin);
void ioq_destroy(struct ioq *q); /* nothing in flight; NULL is fine */

/*
 * Make @dev usable on @q. 0 or -errno. A device with a file descriptor is attached before the
 * queue's first request, by any thread, or later by the owner: the thread that starts the first
 * request.
 */
int ioq_attach(struct ioq *q, struct device *dev);

/* See dev_ops.submit for the three kinds of return value. io_uring SQEs wait for ioq_kick(). */
static inline int ioq_submit(struct ioq *q, struct dev_req *req)
{
	return req->dev->ops->submit(req->dev, q, req);
}

/* Hand prepared SQEs to the kernel: one system call for all of them, none if there is none. */
void ioq_kick(struct ioq *q);

/* Call done() of everything that is complete or due now. Never sleeps. Returns how many. */
unsigned int ioq_poll(struct ioq *q);

/*
 * Sleep (or spin) until something may be complete, somebody called ioq_wake(), or @deadline_ns
 * (clock of the queue; TIME_NEVER: none) has passed. Kicks first. May return early; the caller
 * polls in a loop. A virtual clock never sleeps: returns at once.
 */
void ioq_wait(struct ioq *q, uint64_t deadline_ns);

/* The earliest due time in the heap, TIME_NEVER if none: what a virtual driver moves its clock to.
 */
uint64_t ioq_next_due(const struct ioq *q);

unsigned int ioq_in_flight(const struct ioq *q);

/* Make a (future) ioq_wait() return: any thread, cheap when the owner is awake. */
void ioq_wake(struct ioq *q);

const struct lateness *ioq_lateness(const struct ioq *q);

#endif
