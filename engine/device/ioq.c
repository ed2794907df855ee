/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O queue: creation, the heap of modelled completions, polling, statistics. Sleeping is in
 * ioq_sleep.c, io_uring in ring.c. One owner thread; nothing here is called by others.
 */
#include "ioq_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SLOTS_AT_FIRST  8 /* a group has at most eight devices */
#define MARGIN_AT_FIRST (50 * NSEC_PER_USEC)

int ioq_create(struct ioq **out, const struct vclock *clock, unsigned int depth, bool may_spin)
{
	struct ioq *q;
	int ret = -ENOMEM;

	if (!depth)
		return -EINVAL;
	q = aligned_alloc(_Alignof(struct ioq), sizeof(*q));
	if (!q)
		return -ENOMEM;
	memset(q, 0, sizeof(*q));
	q->clock = clock;
	q->depth = depth;
	q->may_spin = may_spin;
	q->margin_ns = MARGIN_AT_FIRST;
	q->last = &q->none;
	q->eventfd = -1;
	atomic_init(&q->wake_state, 0);

	q->max_due = depth;
	q->heap = malloc(sizeof(*q->heap) * q->max_due);
	if (!q->heap)
		goto err;
	q->slots = calloc(SLOTS_AT_FIRST, sizeof(*q->slots));
	if (!q->slots)
		goto err;
	q->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->eventfd < 0) {
		ret = -errno;
		goto err;
	}
	*out = q;
	return 0;
err:
	ioq_destroy(q);
	return ret;
}

int ioq_create_sync(struct ioq **out)
{
	static const struct vclock real; /* never moves: it is not virtual */
	int ret = ioq_create(out, &real, 1, false);

	if (!ret)
		(*out)->all_due = true;
	return ret;
}

void ioq_destroy(struct ioq *q)
{
	if (!q)
		return;
	if (q->slots)
		ioq_fold_stats(q);
	if (q->ring)
		ring_destroy(q->ring);
	if (q->eventfd >= 0)
		close(q->eventfd);
	free(q->slots);
	free(q->heap);
	free(q);
}

int ioq_attach(struct ioq *q, struct device *dev)
{
	if (!ioq_slot(q, dev))
		return -ENOMEM;
	return dev->ops->attach ? dev->ops->attach(dev, q) : 0;
}

struct ioq_slot *ioq_slot(struct ioq *q, struct device *dev)
{
	struct ioq_slot *s;
	unsigned int i;

	for (i = 0; i < q->nr_slots; i++) {
		if (q->slots[i].dev == dev) {
			q->last = &q->slots[i];
			return q->last;
		}
	}
	/* A power of two from SLOTS_AT_FIRST on means full. */
	if (i >= SLOTS_AT_FIRST && !(i & (i - 1))) {
		s = realloc(q->slots, sizeof(*s) * i * 2);
		if (!s)
			return NULL;
		q->slots = s;
	}
	s = &q->slots[q->nr_slots++];
	memset(s, 0, sizeof(*s));
	s->dev = dev;
	s->fd = -1;
	s->file = -1;
	q->last = s;
	return s;
}

void ioq_fold_stats(struct ioq *q)
{
	q->unfolded = 0;
	for (unsigned int i = 0; i < q->nr_slots; i++) {
		struct ioq_slot *s = &q->slots[i];
		struct dev_stats *to = &s->dev->stats;

		for (unsigned int op = 0; op < 3; op++) {
			if (!s->ios[op])
				continue;
			atomic_fetch_add_explicit(&to->ios[op], s->ios[op], memory_order_relaxed);
			atomic_fetch_add_explicit(&to->bytes[op], s->bytes[op],
						  memory_order_relaxed);
			atomic_fetch_add_explicit(&to->nsec[op], s->nsec[op], memory_order_relaxed);
			s->ios[op] = s->bytes[op] = s->nsec[op] = 0;
		}
	}
}

static inline bool due_before(const struct ioq_due *a, const struct ioq_due *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->seq < b->seq);
}

int ioq_add_due(struct ioq *q, struct dev_req *req)
{
	struct ioq_due e = {.due_ns = req->due_ns, .seq = q->seq, .req = req};
	unsigned int i, parent;

	if (q->nr_due == q->max_due) {
		struct ioq_due *heap = realloc(q->heap, sizeof(*heap) * q->max_due * 2);

		if (!heap)
			return -ENOMEM;
		q->heap = heap;
		q->max_due *= 2;
	}
	q->seq++;
	for (i = q->nr_due++; i; i = parent) {
		parent = (i - 1) / 2;
		if (!due_before(&e, &q->heap[parent]))
			break;
		q->heap[i] = q->heap[parent];
	}
	q->heap[i] = e;
	return 0;
}

static struct ioq_due heap_pop(struct ioq *q)
{
	struct ioq_due first = q->heap[0];
	struct ioq_due moved = q->heap[--q->nr_due];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < q->nr_due) {
		if (child + 1 < q->nr_due && due_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!due_before(&q->heap[child], &moved))
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = moved;
	return first;
}

/*
 * Only what was submitted before the poll began: done() may submit again, and a model without
 * latency would keep us here for ever.
 */
static unsigned int poll_due(struct ioq *q)
{
	uint64_t end = q->seq;
	unsigned int n = 0;

	while (q->nr_due && q->heap[0].seq < end) {
		/* Read anew each time: the time that done() takes is lateness of the next one. */
		uint64_t now = q->all_due ? TIME_NEVER : vclock_now(q->clock);
		struct ioq_due e;

		if (q->heap[0].due_ns > now)
			break;
		e = heap_pop(q);
		if (!q->all_due)
			lateness_add(&q->late, now - e.due_ns);
		/* The model's own time; how late it was delivered is reported apart. */
		ioq_count(q, e.req, e.due_ns - e.req->issued_ns);
		n++;
		e.req->done(e.req, 0);
	}
	return n;
}

unsigned int ioq_poll(struct ioq *q)
{
	unsigned int n = 0;

	if (q->ring)
		n += ring_reap(q);
	if (q->nr_due)
		n += poll_due(q);
	return n;
}

void ioq_kick(struct ioq *q)
{
	if (q->ring)
		ring_kick(q->ring);
}

uint64_t ioq_next_due(const struct ioq *q)
{
	return q->nr_due ? q->heap[0].due_ns : TIME_NEVER;
}

unsigned int ioq_in_flight(const struct ioq *q)
{
	return q->nr_due + (q->ring ? ring_in_flight(q->ring) : 0);
}

const struct lateness *ioq_lateness(const struct ioq *q)
{
	return &q->late;
}
