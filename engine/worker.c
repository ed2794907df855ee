/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The group's background thread: runs the metadata machine, the elevators and the congestion. It
 * does one step of everything that can move, then sleeps until a device, a writer or the clock has
 * news. A bare driver calls disk_group_work() itself instead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "group.h"

#define TICK_NS (10 * NSEC_PER_MSEC)

/* There is something to do: a bucket was closed, its last write finished, its last reader left. */
void worker_kick(struct disk_group *g)
{
	if (g->work_ioq)
		ioq_wake(g->work_ioq);
}

uint64_t disk_group_work(struct disk_group *g)
{
	uint64_t next = TIME_NEVER, now, due;
	bool more;

	do {
		more = ioq_poll(g->work_ioq) > 0;
		more |= metadata_run(g);
		more |= elevators_run(g, &next);
	} while (more && !g->clock->is_virtual);
	ioq_kick(g->work_ioq);
	now = vclock_now(g->clock);
	congestion_update(g, now);
	/* Congestion and the drain rate are averages over time: look regularly while they can
	 * change. */
	if (!atomic_load(&g->stop) &&
	    (g->draining || atomic_load(&g->cong.level) || wb_fill(g) >= 0.5) &&
	    now + TICK_NS < next)
		next = now + TICK_NS;
	if (more)
		return now;
	due = ioq_next_due(g->work_ioq);
	return due < next ? due : next;
}

static bool may_stop(struct disk_group *g)
{
	return atomic_load(&g->stop) && elevators_idle(g) && !g->meta.pending &&
	       (atomic_load(&g->cache_error) || metadata_idle(g));
}

static void *worker_main(void *arg)
{
	struct disk_group *g = arg;

	pthread_setname_np(pthread_self(), "vsan-elevator");
	for (;;) {
		uint64_t next = disk_group_work(g);

		if (may_stop(g))
			break;
		ioq_wait(g->work_ioq, next);
	}
	return NULL;
}

int worker_start(struct disk_group *g, struct report *r)
{
	int err = pthread_create(&g->worker, NULL, worker_main, g);

	if (err)
		return report(r, -err, "cannot start the elevator thread: %s", strerror(err));
	g->worker_runs = true;
	return 0;
}

/* Finish what is in flight (I/O, sealing, freeing) and stop. */
void worker_stop(struct disk_group *g)
{
	atomic_store(&g->stop, true);
	if (g->worker_runs) {
		worker_kick(g);
		pthread_join(g->worker, NULL);
		g->worker_runs = false;
		return;
	}
	/* Bare driver: its clock is ours to move now. */
	while (g->work_ioq && !may_stop(g)) {
		uint64_t next = disk_group_work(g);

		if (g->clock->is_virtual && next != TIME_NEVER && next > g->clock->virtual_ns)
			((struct vclock *)g->clock)->virtual_ns = next;
		else if (!g->clock->is_virtual)
			ioq_wait(g->work_ioq, next);
	}
}
