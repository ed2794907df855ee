/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O queue: the one place where its thread sleeps, and how others wake it.
 *
 * A modelled completion is due at a point in time that a sleeping thread misses by the 8 to 35 us
 * that a wake-up takes. So a thread that may spin sleeps until shortly before, and looks at the
 * clock for the rest; but never all CPUs spin, since then whoever is waited for cannot run.
 */
#include "ioq_impl.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MARGIN_MIN (10 * NSEC_PER_USEC)
#define MARGIN_MAX (200 * NSEC_PER_USEC)

/*
 * Threads that spin right now. The only variable of the engine that is shared by the whole process:
 * what it rations, the CPUs, belongs to the whole process, too.
 */
static _Atomic unsigned int spinners;

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void prepare_thread(struct ioq *q)
{
	cpu_set_t set;
	int n;

	/* Timers may be late by the slack, 50 us by default: as much as a fast drive's whole
	 * latency. */
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	q->cpus = n > 0 ? (unsigned int)n : 1;
	q->thread_ready = true;
}

static bool spinner_enter(const struct ioq *q)
{
	unsigned int n = atomic_load_explicit(&spinners, memory_order_relaxed);

	/* One CPU always stays free for those who do the work. Orders nothing but itself: relaxed.
	 */
	while (n + 1 < q->cpus) {
		if (atomic_compare_exchange_weak_explicit(
			    &spinners, &n, n + 1, memory_order_relaxed, memory_order_relaxed))
			return true;
	}
	return false;
}

static void spinner_leave(void)
{
	atomic_fetch_sub_explicit(&spinners, 1, memory_order_relaxed);
}

/*
 * Waking. All changes of wake_state are read-modify-write operations on one variable, so they have
 * one order, and each sees the one before. If the waker's OR comes first, the owner's OR sees WOKEN
 * and does not sleep. If the owner's comes first, the waker's sees SLEEPING and writes the eventfd,
 * which ends the sleep whether it began or is about to. So no wake-up is lost. The OR releases what
 * the waker wrote before (a queue entry, say); the owner's OR or exchange acquires it. A plain look
 * at the flag
 * ("already woken, nothing to do") would be cheaper, but might be ordered before the waker's own
 * writes.
 *
 * An eventfd write may come after the sleep it was meant for ended by itself: it ends the next
 * sleep early, which ioq_wait() is allowed to do.
 */
void ioq_wake(struct ioq *q)
{
	const uint64_t one = 1;
	unsigned int old;

	old = atomic_fetch_or_explicit(&q->wake_state, WAKE_WOKEN, memory_order_acq_rel);
	if (old == WAKE_SLEEPING) {
		/* Cannot fail: the counter is far from full, as only the first waker of a sleep
		 * writes. */
		ssize_t n = write(q->eventfd, &one, sizeof(one));

		(void)n;
	}
}

/* Forget sleep and wake-up; whether there was a wake-up. */
static bool take_wake(struct ioq *q)
{
	return atomic_exchange_explicit(&q->wake_state, 0, memory_order_acq_rel) & WAKE_WOKEN;
}

static inline bool woken(const struct ioq *q)
{
	return atomic_load_explicit(&q->wake_state, memory_order_relaxed) & WAKE_WOKEN;
}

/* Sleep without a ring. True: the time has come; false: something else ended it. */
static bool plain_sleep(struct ioq *q, uint64_t until_ns)
{
	struct pollfd pfd = {.fd = q->eventfd, .events = POLLIN};
	struct timespec ts, *timeout = NULL;
	uint64_t now, count;
	int ret;

	if (until_ns != TIME_NEVER) {
		now = vclock_now(q->clock);
		if (now >= until_ns)
			return true;
		ts.tv_sec = (time_t)((until_ns - now) / NSEC_PER_SEC);
		ts.tv_nsec = (long)((until_ns - now) % NSEC_PER_SEC);
		timeout = &ts;
	}
	ret = ppoll(&pfd, 1, timeout, NULL);
	if (ret > 0) {
		ssize_t n = read(q->eventfd, &count, sizeof(count));

		(void)n;
	}
	return ret == 0;
}

/* True: until_ns has come, and nobody woke us. */
static bool sleep_until(struct ioq *q, uint64_t until_ns)
{
	bool in_time;

	if (atomic_fetch_or_explicit(&q->wake_state, WAKE_SLEEPING, memory_order_acq_rel) &
	    WAKE_WOKEN) {
		take_wake(q);
		return false;
	}
	in_time = q->ring ? ring_sleep(q, until_ns) : plain_sleep(q, until_ns);
	return !take_wake(q) && in_time;
}

/*
 * Follow what sleeps on this machine really overshoot by: up at once by half of the difference,
 * down slowly, so that the margin stays near the upper end of what is common without chasing single
 * outliers.
 */
static void adapt_margin(struct ioq *q, uint64_t over_ns)
{
	uint64_t m = q->margin_ns;

	if (over_ns > MARGIN_MAX)
		over_ns = MARGIN_MAX;
	if (over_ns > m)
		m += (over_ns - m) / 2;
	else
		m -= (m - over_ns) / 64;
	q->margin_ns = m < MARGIN_MIN ? MARGIN_MIN : m;
}

static void spin_until(struct ioq *q, uint64_t due_ns)
{
	while (!woken(q) && vclock_now(q->clock) < due_ns) {
		if (q->ring && ring_has_events(q->ring))
			return;
		cpu_relax();
	}
	if (woken(q))
		take_wake(q);
}

void ioq_wait(struct ioq *q, uint64_t deadline_ns)
{
	uint64_t due, now, early;

	ioq_kick(q);
	if (q->clock->is_virtual || q->all_due) {
		take_wake(q);
		if (q->all_due && !q->nr_due && q->ring && ring_in_flight(q->ring))
			ring_sleep(q, TIME_NEVER);
		return;
	}
	if (!q->thread_ready)
		prepare_thread(q);
	if (q->ring && ring_has_events(q->ring))
		return;
	if (q->unfolded)
		ioq_fold_stats(q);

	due = ioq_next_due(q);
	now = vclock_now(q->clock);
	if (due <= now || deadline_ns <= now) {
		take_wake(q);
		return;
	}
	/* A deadline is a matter of tidiness, not of timing: it is never worth spinning. */
	if (deadline_ns < due || due == TIME_NEVER || !q->may_spin || q->cpus < 2) {
		sleep_until(q, deadline_ns < due ? deadline_ns : due);
		return;
	}
	if (due - now > q->margin_ns) {
		early = due - q->margin_ns;
		if (!sleep_until(q, early))
			return;
		now = vclock_now(q->clock);
		adapt_margin(q, now > early ? now - early : 0);
	}
	if (spinner_enter(q)) {
		spin_until(q, due);
		spinner_leave();
	} else {
		sleep_until(q, due);
	}
}
