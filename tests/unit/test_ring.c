/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue with an io_uring: completions, due times, deadlines and wake-ups all end the same sleep,
 * and none of them busily. Files in a temporary folder. A lost event hangs, and the alarm ends
 * that.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/device_impl.h"
#include "engine/device/ioq_impl.h"

#define MIB (1ull << 20)
#define NR  20 /* more than the ring registers */

static char folder[64];
static struct device *files[NR];
static const struct vclock wall;
static uint8_t *buf;

struct test_req {
	struct dev_req req;
	_Atomic unsigned int calls;
	int res;
};

static void on_done(struct dev_req *req, int res)
{
	struct test_req *t = (struct test_req *)req;

	t->res = res;
	t->calls++;
}

/* A device whose requests are due when offset says, in ns from now. */
static int timed_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	(void)dev;
	req->issued_ns = vclock_now(q->clock);
	req->due_ns = req->issued_ns + req->offset;
	return ioq_add_due(q, req);
}

static const struct dev_ops timed_ops = {.submit = timed_submit};
static struct device timed = {.ops = &timed_ops, .kind = DEV_KIND_OTHER};

static int set_up(void **state)
{
	struct report why = {0};
	char name[96];
	struct dev_spec spec = {.name = name, .option = "cache_device", .size = MIB};

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/vsan-test-ring.XXXXXX");
	if (!mkdtemp(folder) || posix_memalign((void **)&buf, 4096, MIB))
		return -1;
	for (unsigned int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "%s/%u", folder, i);
		if (device_open(&files[i], &spec, &wall, &why) || device_prepare(files[i], &why)) {
			fprintf(stderr, "%s\n", why.text);
			return -1;
		}
	}
	return 0;
}

static int tear_down(void **state)
{
	char name[96];

	(void)state;
	for (unsigned int i = 0; i < NR; i++) {
		device_close(files[i]);
		snprintf(name, sizeof(name), "%s/%u", folder, i);
		unlink(name);
	}
	free(buf);
	return rmdir(folder);
}

static struct ioq *make_queue(unsigned int depth)
{
	struct ioq *q = NULL;

	assert_int_equal(ioq_create(&q, &wall, depth, true), 0);
	assert_int_equal(ioq_attach(q, files[0]), 0);
	assert_non_null(q->ring);
	return q;
}

static void read_from(struct ioq *q, struct test_req *t, unsigned int i)
{
	*t = (struct test_req){
		.req = {.dev = files[i], .op = DEV_READ, .buf = buf, .len = 4096, .done = on_done}};
	assert_int_equal(ioq_submit(q, &t->req), 0);
}

static void due_in(struct ioq *q, struct test_req *t, uint64_t ns)
{
	*t = (struct test_req){
		.req = {.dev = &timed, .op = DEV_READ, .offset = ns, .len = 1, .done = on_done}};
	assert_int_equal(ioq_submit(q, &t->req), 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void test_many_files_on_one_queue(void **state)
{
	struct ioq *q = make_queue(2);
	struct test_req reqs[NR];

	(void)state;
	for (unsigned int i = 0; i < NR; i++)
		assert_int_equal(ioq_attach(q, files[i]), 0);
	for (unsigned int i = 0; i < NR; i++) {
		*(uint64_t *)(buf + 4096 * i) = i + 1;
		reqs[i] = (struct test_req){.req = {.dev = files[i],
						    .op = DEV_WRITE,
						    .buf = buf + 4096 * i,
						    .len = 4096,
						    .done = on_done}};
		assert_int_equal(ioq_submit(q, &reqs[i].req), 0);
	}
	assert_int_equal(ioq_in_flight(q), NR);
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	ioq_destroy(q);
	for (unsigned int i = 0; i < NR; i++) {
		uint64_t got = 0;
		uint8_t block[4096];

		assert_int_equal(reqs[i].calls, 1);
		assert_int_equal(reqs[i].res, 0);
		assert_int_equal(device_read_sync(files[i], block, sizeof(block), 0), 0);
		memcpy(&got, block, sizeof(got));
		assert_int_equal(got, i + 1);
		assert_int_equal(files[i]->stats.ios[DEV_WRITE], 1);
	}
}

static void test_not_attached(void **state)
{
	struct test_req t = {.req = {.dev = files[1], .len = 4096, .buf = buf, .done = on_done}};
	struct ioq *q = make_queue(2);

	(void)state;
	assert_int_equal(ioq_submit(q, &t.req), -EBADF);
	assert_int_equal(ioq_in_flight(q), 0);
	ioq_destroy(q);
}

static void test_a_completion_ends_the_sleep(void **state)
{
	struct ioq *q = make_queue(8);
	struct test_req late, now;

	(void)state;
	due_in(q, &late, NSEC_PER_SEC);
	read_from(q, &now, 0);
	while (!now.calls) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	assert_int_equal(now.res, 0);
	assert_int_equal(late.calls, 0);
	while (!late.calls) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	assert_true(vclock_now(&wall) >= late.req.due_ns);
	ioq_destroy(q);
}

/* Due times and deadlines, with a ring that has nothing to say; in few wake-ups and little CPU
 * time. */
static void test_time_ends_the_sleep(void **state)
{
	struct ioq *q = make_queue(8);
	uint64_t cpu = cpu_ns(), start = vclock_now(&wall), end;
	struct test_req reqs[10];
	unsigned int waits = 0;

	(void)state;
	for (unsigned int i = 0; i < 10; i++)
		due_in(q, &reqs[i], (10 + i * 10) * NSEC_PER_MSEC);
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		waits++;
		ioq_poll(q);
	}
	end = vclock_now(&wall);
	assert_true(end >= reqs[9].req.due_ns);
	end += 50 * NSEC_PER_MSEC;
	while (vclock_now(&wall) < end) {
		ioq_wait(q, end);
		waits++;
	}
	assert_true(waits < 100);
	assert_true(cpu_ns() - cpu < (vclock_now(&wall) - start) / 10);
	ioq_destroy(q);
}

#define PINGS 5000

static struct ioq *queues[2];
static _Atomic unsigned int mail[2];

/* Each side reads a block now and then, so that wake-ups meet completions. */
static void ping_pong(unsigned int me)
{
	struct test_req t = {.calls = 1};

	for (unsigned int i = 1; i <= PINGS; i++) {
		if (t.calls && i % 8 == 0)
			read_from(queues[me], &t, me);
		while (mail[me] != i) {
			ioq_wait(queues[me], TIME_NEVER);
			ioq_poll(queues[me]);
		}
		mail[!me] = me ? i + 1 : i;
		ioq_wake(queues[!me]);
	}
	while (ioq_in_flight(queues[me])) {
		ioq_wait(queues[me], TIME_NEVER);
		ioq_poll(queues[me]);
	}
}

static void *ping_pong_thread(void *arg)
{
	(void)arg;
	ping_pong(1);
	return NULL;
}

static void test_no_wake_up_is_lost(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 2; i++) {
		queues[i] = make_queue(4); /* made here, used there */
		assert_int_equal(ioq_attach(queues[i], files[1]), 0);
	}
	mail[0] = 1;
	mail[1] = 0;
	assert_int_equal(pthread_create(&thread, NULL, ping_pong_thread, NULL), 0);
	ping_pong(0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(mail[0], PINGS + 1);
	ioq_destroy(queues[0]);
	ioq_destroy(queues[1]);
}

static struct test_req stray[4];

static void *stray_thread(void *arg)
{
	struct ioq *q = arg;

	for (unsigned int i = 0; i < 4; i++)
		read_from(q, &stray[i], 0);
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	return NULL;
}

/*
 * What the kernel will never take (here: because another thread owns the ring) fails with an errno.
 * A kernel that lets any thread submit just does it.
 */
static void test_refused_submissions_fail(void **state)
{
	struct ioq *q = make_queue(2);
	pthread_t thread;
	struct test_req t;

	(void)state;
	read_from(q, &t, 0);
	while (!t.calls) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	assert_int_equal(t.res, 0);
	assert_int_equal(pthread_create(&thread, NULL, stray_thread, q), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(stray[i].calls, 1);
		assert_true(stray[i].res == 0 || stray[i].res == -EEXIST);
		assert_int_equal(stray[i].res, stray[0].res);
	}
	if (stray[0].res)
		assert_int_equal(ioq_submit(q, &t.req), -EEXIST);
	ioq_destroy(q);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_many_files_on_one_queue),     T(test_not_attached),
		T(test_a_completion_ends_the_sleep), T(test_time_ends_the_sleep),
		T(test_no_wake_up_is_lost),          T(test_refused_submissions_fail),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
