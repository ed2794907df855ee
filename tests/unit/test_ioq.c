/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O queue: order of modelled completions, lateness, sleeping and waking. Devices here are
 * made of nothing: their requests are due when the test says. No test depends on absolute times,
 * except that a sleep never ends before its time for no reason, and that a lost wake-up would hang
 * (ctest's timeout).
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/device_impl.h"
#include "engine/device/ioq_impl.h"

#define NR 1000

struct timed_req {
	struct dev_req req;
	uint64_t due_in;
	int res;
	unsigned int calls;
	struct ioq *again; /* submit once more from done() */
};

static struct timed_req reqs[NR];
static struct timed_req *order[NR * 2];
static unsigned int nr_done;

/* A device whose requests complete as long after their submission as they say. */
static int timed_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	(void)dev;
	req->issued_ns = vclock_now(q->clock);
	req->due_ns = req->issued_ns + ((struct timed_req *)req)->due_in;
	return ioq_add_due(q, req);
}

static void nothing_to_close(struct device *dev)
{
	(void)dev;
}

static const struct dev_ops timed_ops = {.submit = timed_submit, .close = nothing_to_close};
static struct device timed;
static struct vclock real_clock;
static struct vclock virtual_clock;

static void on_done(struct dev_req *req, int res)
{
	struct timed_req *t = (struct timed_req *)req;
	struct ioq *q = t->again;

	t->res = res;
	t->calls++;
	order[nr_done++] = t;
	if (q) {
		t->again = NULL;
		assert_int_equal(ioq_submit(q, &t->req), 0);
	}
}

static struct timed_req *prepare(unsigned int i, uint64_t due_in)
{
	struct timed_req *t = &reqs[i];

	memset(t, 0, sizeof(*t));
	t->req.dev = &timed;
	t->req.op = DEV_READ;
	t->req.len = 4096;
	t->req.done = on_done;
	t->due_in = due_in;
	t->res = 1;
	return t;
}

static int set_up(void **state)
{
	(void)state;
	memset(&timed, 0, sizeof(timed));
	device_init(&timed, &timed_ops, DEV_KIND_OTHER, "timed", 1 << 20);
	virtual_clock = (struct vclock){.is_virtual = true, .virtual_ns = 1000};
	nr_done = 0;
	return 0;
}

/* A generator of our own: the same numbers on every run and every libc. */
static uint64_t next_random(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s >> 33;
}

static void test_completions_by_due_time_then_submission(void **state)
{
	struct ioq *q;
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(ioq_create(&q, &virtual_clock, 4, true), 0); /* depth is no limit */
	assert_int_equal(ioq_attach(q, &timed), 0);
	assert_true(ioq_next_due(q) == TIME_NEVER);
	for (unsigned int i = 0; i < NR; i++) /* few values: many requests due at the same time */
		assert_int_equal(ioq_submit(q, &prepare(i, 10 + next_random(&seed) % 20)->req), 0);
	assert_int_equal(ioq_in_flight(q), NR);
	assert_int_equal(ioq_poll(q), 0);
	while (ioq_in_flight(q)) {
		assert_true(ioq_next_due(q) > virtual_clock.virtual_ns);
		virtual_clock.virtual_ns = ioq_next_due(q);
		assert_true(ioq_poll(q) > 0);
	}
	assert_int_equal(nr_done, NR);
	for (unsigned int i = 0; i < NR; i++) {
		assert_int_equal(reqs[i].calls, 1);
		assert_int_equal(reqs[i].res, 0);
	}
	for (unsigned int i = 1; i < NR; i++) {
		assert_true(order[i - 1]->req.due_ns <= order[i]->req.due_ns);
		if (order[i - 1]->req.due_ns == order[i]->req.due_ns)
			assert_true(order[i - 1] < order[i]);
	}
	assert_int_equal(ioq_lateness(q)->count, NR);
	assert_int_equal(ioq_lateness(q)->max_ns, 0);
	ioq_destroy(q);
	assert_int_equal(timed.stats.ios[DEV_READ], NR);
	assert_int_equal(timed.stats.bytes[DEV_READ], NR * 4096);
	assert_true(timed.stats.nsec[DEV_READ] >= NR * 10);
}

static void test_submit_from_done(void **state)
{
	struct ioq *q;

	(void)state;
	assert_int_equal(ioq_create(&q, &virtual_clock, 4, false), 0);
	prepare(0, 0)->again = q; /* no latency: due at once, again and again */
	prepare(1, 5);
	assert_int_equal(ioq_submit(q, &reqs[0].req), 0);
	assert_int_equal(ioq_submit(q, &reqs[1].req), 0);
	assert_int_equal(ioq_poll(q), 1); /* not the one that done() submitted: a poll ends */
	assert_int_equal(ioq_poll(q), 1);
	virtual_clock.virtual_ns += 5;
	assert_int_equal(ioq_poll(q), 1);
	assert_ptr_equal(order[0], &reqs[0]);
	assert_ptr_equal(order[1], &reqs[0]);
	assert_ptr_equal(order[2], &reqs[1]);
	ioq_destroy(q);
}

static void test_lateness_percentiles(void **state)
{
	struct lateness a = {0}, b = {0};
	uint64_t p;

	(void)state;
	assert_int_equal(lateness_percentile(&a, 50), 0);
	for (uint64_t ns = 1; ns <= 1000; ns++)
		lateness_add(ns % 2 ? &a : &b, ns * 1000);
	lateness_merge(&a, &b);
	assert_int_equal(a.count, 1000);
	assert_int_equal(a.max_ns, 1000000);
	p = lateness_percentile(&a, 50);
	assert_true(p >= 500000 && p <= 500000 + 500000 / 8);
	p = lateness_percentile(&a, 99);
	assert_true(p >= 990000 && p <= 1000000);
	assert_int_equal(lateness_percentile(&a, 100), 1000000);
	p = lateness_percentile(&a, 0);
	assert_true(p >= 1000 && p <= 1125);

	/* Exact at the bottom, in bounds at the top. */
	memset(&a, 0, sizeof(a));
	lateness_add(&a, 3);
	lateness_add(&a, UINT64_MAX);
	assert_int_equal(lateness_percentile(&a, 50), 3);
	assert_true(lateness_percentile(&a, 100) == UINT64_MAX);
}

/* Sleep until everything is done; nothing may come before its time. */
static void run_real(bool may_spin)
{
	struct ioq *q;
	uint64_t start, spent;
	unsigned int waits = 0;

	assert_int_equal(ioq_create(&q, &real_clock, NR, may_spin), 0);
	start = vclock_now(&real_clock);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(ioq_submit(q, &prepare(i, (20 - i) * NSEC_PER_MSEC)->req), 0);
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		waits++;
		ioq_poll(q);
		assert_true(nr_done == 0 ||
			    vclock_now(&real_clock) >= order[nr_done - 1]->req.due_ns);
	}
	spent = vclock_now(&real_clock) - start;
	assert_int_equal(nr_done, 20);
	for (unsigned int i = 0; i < 20; i++)
		assert_ptr_equal(order[i], &reqs[19 - i]);
	assert_true(spent >= 20 * NSEC_PER_MSEC);
	/* It slept: a wait that returns at once again and again would be a busy loop. */
	assert_true(waits < 200);
	assert_int_equal(ioq_lateness(q)->count, 20);
	ioq_destroy(q);
}

static void test_real_time_sleeping(void **state)
{
	(void)state;
	run_real(false);
}

static void test_real_time_spinning(void **state)
{
	(void)state;
	run_real(true);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void test_waiting_costs_no_cpu(void **state)
{
	struct ioq *q;
	uint64_t cpu, start, now;

	(void)state;
	assert_int_equal(ioq_create(&q, &real_clock, 4, true), 0);
	assert_int_equal(ioq_submit(q, &prepare(0, 200 * NSEC_PER_MSEC)->req), 0);
	start = vclock_now(&real_clock);
	cpu = cpu_ns();
	/* Once for a deadline, once for a due time whose last microseconds may be spun. */
	ioq_wait(q, start + 100 * NSEC_PER_MSEC);
	now = vclock_now(&real_clock);
	assert_true(now - start >= 100 * NSEC_PER_MSEC);
	while (!ioq_poll(q))
		ioq_wait(q, TIME_NEVER);
	cpu = cpu_ns() - cpu;
	now = vclock_now(&real_clock);
	assert_true(now - start >= 200 * NSEC_PER_MSEC);
	assert_true(cpu < (now - start) / 10);
	ioq_destroy(q);
}

static void test_wake_before_wait(void **state)
{
	struct ioq *q;
	uint64_t start, until;

	(void)state;
	assert_int_equal(ioq_create(&q, &real_clock, 4, false), 0);
	ioq_wake(q);
	ioq_wake(q);
	ioq_wait(q, TIME_NEVER); /* would hang if the wake-up were lost */
	/* It counts once: the next sleep lasts. */
	start = vclock_now(&real_clock);
	until = start + 20 * NSEC_PER_MSEC;
	ioq_wait(q, until);
	assert_true(vclock_now(&real_clock) >= until);
	ioq_destroy(q);
}

#define PINGS 20000

struct pair {
	struct ioq *q[2];
	unsigned int mail[2];
	_Atomic unsigned int full[2];
	uint64_t nap_ns; /* sleep with such a deadline; 0: only a wake-up ends the sleep */
};

/*
 * Each side waits for the other's mail. The mail is checked before the sleep and sent before the
 * wake-up, so a wake-up lost between check and sleep leaves both asleep.
 */
static void ping_pong(struct pair *p, unsigned int me)
{
	unsigned int other = !me;

	for (unsigned int i = 1; i <= PINGS; i++) {
		while (!atomic_load_explicit(&p->full[me], memory_order_acquire))
			ioq_wait(p->q[me],
				 p->nap_ns ? vclock_now(&real_clock) + p->nap_ns : TIME_NEVER);
		atomic_store_explicit(&p->full[me], 0, memory_order_relaxed);
		assert_int_equal(p->mail[me], i);
		p->mail[other] = me ? i + 1 : i;
		atomic_store_explicit(&p->full[other], 1, memory_order_release);
		ioq_wake(p->q[other]);
	}
}

static void *ping_pong_thread(void *arg)
{
	ping_pong(arg, 1);
	return NULL;
}

static void run_ping_pong(uint64_t nap_ns)
{
	struct pair p = {.nap_ns = nap_ns};
	pthread_t thread;

	assert_int_equal(ioq_create(&p.q[0], &real_clock, 4, true), 0);
	assert_int_equal(ioq_create(&p.q[1], &real_clock, 4, true), 0);
	p.mail[0] = 1;
	p.full[0] = 1;
	assert_int_equal(pthread_create(&thread, NULL, ping_pong_thread, &p), 0);
	ping_pong(&p, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(p.mail[0], PINGS + 1);
	ioq_destroy(p.q[0]);
	ioq_destroy(p.q[1]);
}

static void test_no_wake_up_is_lost(void **state)
{
	(void)state;
	run_ping_pong(0);
}

/* Time-outs and wake-ups that meet: late eventfd writes, sleeps that ended by themselves. */
static void test_wake_ups_race_with_time_outs(void **state)
{
	(void)state;
	run_ping_pong(20 * NSEC_PER_USEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_completions_by_due_time_then_submission, set_up),
		cmocka_unit_test_setup(test_submit_from_done, set_up),
		cmocka_unit_test(test_lateness_percentiles),
		cmocka_unit_test_setup(test_real_time_sleeping, set_up),
		cmocka_unit_test_setup(test_real_time_spinning, set_up),
		cmocka_unit_test_setup(test_waiting_costs_no_cpu, set_up),
		cmocka_unit_test_setup(test_wake_before_wait, set_up),
		cmocka_unit_test(test_no_wake_up_is_lost),
		cmocka_unit_test(test_wake_ups_race_with_time_outs),
	};

	alarm(120); /* a lost wake-up must not hang the build */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
