/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modelled drives: the queue delivers what the model says, when it says so; the same seed in
 * virtual time gives the same run; data is kept if asked for. The oracle is a second flash model
 * that the test calls itself, so no figure of a profile is written down here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/device.h"
#include "engine/device/ioq.h"
#include "engine/drive_profile.h"
#include "engine/flash_model.h"

#define DRIVE "@intel-p4600-1.6tb"
#define NR    4000
#define DEPTH 32
#define SPAN  (1ull << 30)

static struct vclock virtual_clock;
static struct report why;
static struct dev_spec spec;

struct test_req {
	struct dev_req req;
	unsigned int calls;
	int res;
	uint64_t done_ns;
};

static struct test_req reqs[DEPTH];
static uint64_t seed;

static int set_up(void **state)
{
	(void)state;
	virtual_clock = (struct vclock){.is_virtual = true, .virtual_ns = 5000};
	memset(&why, 0, sizeof(why));
	memset(reqs, 0, sizeof(reqs));
	seed = 1;
	spec = (struct dev_spec){.name = DRIVE, .option = "cache_device", .seed = 7};
	return 0;
}

static struct device *open_it(void)
{
	struct device *dev = NULL;

	if (device_open(&dev, &spec, &virtual_clock, &why))
		fail_msg("device_open: %s", why.text);
	return dev;
}

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static void on_done(struct dev_req *req, int res)
{
	struct test_req *t = (struct test_req *)req;

	t->calls++;
	t->res = res;
	t->done_ns = virtual_clock.virtual_ns;
}

static void next_due(struct ioq *q)
{
	assert_true(ioq_next_due(q) != TIME_NEVER);
	virtual_clock.virtual_ns = ioq_next_due(q);
	ioq_wait(q, TIME_NEVER); /* returns at once */
	assert_true(ioq_poll(q) > 0);
}

static void issue(struct ioq *q, struct device *dev, struct test_req *t, enum dev_op op,
		  unsigned int flags)
{
	t->req = (struct dev_req){.dev = dev,
				  .op = (uint8_t)op,
				  .flags = (uint8_t)flags,
				  .offset = next_random() % (SPAN / 4096) * 4096,
				  .len = op == DEV_FLUSH ? 0 : 4096,
				  .done = on_done};
	t->calls = 0;
	t->res = 1;
	assert_int_equal(ioq_submit(q, &t->req), 0);
}

static void test_what_a_profile_gives(void **state)
{
	struct drive_profile p;
	struct device *dev;

	(void)state;
	assert_int_equal(drive_profile_load(DRIVE, &p, &why), 0);
	dev = open_it();
	assert_int_equal(dev->kind, DEV_KIND_MODELLED);
	assert_string_equal(dev->name, DRIVE);
	assert_int_equal(dev->size, p.params.capacity / 4096 * 4096);
	assert_true(dev->has_timing);
	assert_false(dev->persistent);
	assert_false(dev->stores_data);
	assert_int_equal(dev->volatile_cache, p.volatile_cache);
	assert_string_equal(dev->profile->name, p.name);
	assert_false(dev->fresh);
	assert_int_equal(device_prepare(dev, &why), 0);
	assert_int_equal(device_prepare_bytes(dev), 0);
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	device_close(dev);

	spec.size = 1 << 30;
	spec.fresh = true;
	dev = open_it();
	assert_int_equal(dev->size, 1 << 30);
	assert_true(dev->fresh);
	device_close(dev);

	spec.size = p.params.capacity + 4096;
	assert_int_equal(device_open(&dev, &spec, &virtual_clock, &why), -EINVAL);
	assert_non_null(strstr(why.text, "cache_device"));
	memset(&why, 0, sizeof(why));
	spec.name = "@no-such-drive";
	assert_true(device_open(&dev, &spec, &virtual_clock, &why) < 0);
	assert_non_null(strstr(why.text, "no-such-drive"));
}

/* Each request completes exactly when a model that is called in the same order says. */
static void against_oracle(bool fresh)
{
	struct flash_model *oracle;
	struct device *dev;
	struct ioq *q;
	uint64_t due, sum = 0, now;

	spec.fresh = fresh;
	dev = open_it();
	assert_int_equal(flash_model_create(&oracle, &dev->profile->params, spec.seed,
					    fresh ? DRIVE_FRESH : DRIVE_STEADY),
			 0);
	assert_int_equal(ioq_create(&q, &virtual_clock, DEPTH, true), 0);
	virtual_clock.virtual_ns = 9000000; /* a set-up that took a while */
	if (!fresh)
		flash_model_prefill(oracle, virtual_clock.virtual_ns);
	for (unsigned int i = 0; i < NR; i++) {
		struct test_req *t = &reqs[i % DEPTH];
		enum dev_op op = i % 50 == 49 ? DEV_FLUSH : i % 3 ? DEV_READ : DEV_WRITE;
		unsigned int fua = op == DEV_WRITE && i % 5 == 0 ? DEV_FUA : 0;

		while (t->req.dev && !t->calls) {
			next_due(q);
			assert_true(virtual_clock.virtual_ns < UINT64_MAX / 2);
		}
		if (t->req.dev) {
			assert_int_equal(t->res, 0);
			assert_true(t->done_ns == t->req.due_ns);
		}
		issue(q, dev, t, op, fua);
		now = virtual_clock.virtual_ns;
		if (op == DEV_READ) {
			due = flash_model_read(oracle, now, t->req.offset, 4096);
		} else if (op == DEV_WRITE) {
			due = flash_model_write(oracle, now, t->req.offset, 4096);
			if (fua)
				due = flash_model_flush(oracle, due);
		} else {
			due = flash_model_flush(oracle, now);
		}
		assert_true(due == t->req.due_ns);
		sum += due - now;
	}
	while (ioq_in_flight(q))
		next_due(q);
	assert_int_equal(ioq_lateness(q)->max_ns, 0);
	ioq_destroy(q);
	assert_int_equal(dev->stats.ios[0] + dev->stats.ios[1] + dev->stats.ios[2], NR);
	assert_true(dev->stats.nsec[0] + dev->stats.nsec[1] + dev->stats.nsec[2] == sum);
	flash_model_destroy(oracle);
	device_close(dev);
}

/* A steady drive that is only read has nothing left to program: its reads wait for nothing. */
static void test_reads_alone_find_an_idle_drive(void **state)
{
	struct flash_model *oracle;
	struct device *dev;
	struct ioq *q;

	(void)state;
	spec.fresh = false;
	dev = open_it();
	assert_int_equal(
		flash_model_create(&oracle, &dev->profile->params, spec.seed, DRIVE_STEADY), 0);
	assert_int_equal(ioq_create(&q, &virtual_clock, DEPTH, true), 0);
	for (unsigned int i = 0; i < 100; i++) {
		uint64_t now = virtual_clock.virtual_ns, due;

		issue(q, dev, &reqs[0], DEV_READ, 0);
		due = flash_model_read(oracle, now, reqs[0].req.offset, 4096);
		assert_true(due == reqs[0].req.due_ns);
		while (ioq_in_flight(q))
			next_due(q);
	}
	ioq_destroy(q);
	flash_model_destroy(oracle);
	device_close(dev);
}

static void test_due_times_are_the_models_steady(void **state)
{
	(void)state;
	against_oracle(false);
}

static void test_due_times_are_the_models_fresh(void **state)
{
	(void)state;
	against_oracle(true);
}

/* A closed loop over two queues; what comes out is one number for the whole run. */
static uint64_t closed_loop(void)
{
	struct device *dev = open_it();
	struct ioq *q[2];
	uint64_t hash = 14695981039346656037ull;

	virtual_clock.virtual_ns = 5000;
	seed = 3;
	memset(reqs, 0, sizeof(reqs));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ioq_create(&q[i], &virtual_clock, DEPTH, true), 0);
	for (unsigned int i = 0; i < DEPTH; i++)
		issue(q[i % 2], dev, &reqs[i], DEV_READ, 0);
	for (unsigned int n = 0; n < NR;) {
		int which = ioq_next_due(q[1]) < ioq_next_due(q[0]);

		next_due(q[which]);
		for (unsigned int i = 0; i < DEPTH; i++) {
			if (!reqs[i].calls)
				continue;
			hash = (hash ^ i) * 1099511628211ull;
			hash = (hash ^ reqs[i].done_ns) * 1099511628211ull;
			issue(q[i % 2], dev, &reqs[i],
			      next_random() % 10 < 3 ? DEV_WRITE : DEV_READ, 0);
			n++;
		}
	}
	for (int i = 0; i < 2; i++) {
		while (ioq_in_flight(q[i]))
			next_due(q[i]);
		ioq_destroy(q[i]);
	}
	device_close(dev);
	return hash;
}

static void test_same_seed_same_run(void **state)
{
	uint64_t first;

	(void)state;
	first = closed_loop();
	assert_true(closed_loop() == first);
	spec.seed++;
	assert_true(closed_loop() != first);
}

static void test_keeps_data_if_asked(void **state)
{
	uint8_t buf[8192];
	struct device *dev;
	struct ioq *q;

	(void)state;
	spec.store_data = true;
	spec.size = 64ull << 30;
	dev = open_it();
	assert_true(dev->stores_data);
	memset(buf, 1, sizeof(buf));
	assert_int_equal(device_read_sync(dev, buf, sizeof(buf), 512), 0);
	for (unsigned int i = 0; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0);
	memset(buf, 0x5a, sizeof(buf));
	assert_int_equal(device_write_sync(dev, buf, sizeof(buf), dev->size - sizeof(buf)), 0);

	/* Through the queue, at the far end of the drive. */
	memset(buf, 0, sizeof(buf));
	assert_int_equal(ioq_create(&q, &virtual_clock, 1, false), 0);
	reqs[0].req = (struct dev_req){.dev = dev,
				       .op = DEV_READ,
				       .buf = buf,
				       .len = sizeof(buf),
				       .offset = dev->size - sizeof(buf),
				       .done = on_done};
	assert_int_equal(ioq_submit(q, &reqs[0].req), 0);
	next_due(q);
	assert_int_equal(reqs[0].calls, 1);
	assert_int_equal(buf[0], 0x5a);
	assert_int_equal(buf[sizeof(buf) - 1], 0x5a);
	ioq_destroy(q);
	device_close(dev);
}

static void test_out_of_range(void **state)
{
	struct device *dev;
	struct ioq *q;

	(void)state;
	dev = open_it();
	assert_int_equal(ioq_create(&q, &virtual_clock, 1, false), 0);
	reqs[0].req = (struct dev_req){.dev = dev,
				       .op = DEV_WRITE,
				       .len = 8192,
				       .offset = dev->size - 4096,
				       .done = on_done};
	assert_int_equal(ioq_submit(q, &reqs[0].req), -EIO);
	reqs[0].req.offset = UINT64_MAX - 4095;
	assert_int_equal(ioq_submit(q, &reqs[0].req), -EIO);
	assert_int_equal(ioq_in_flight(q), 0);
	assert_int_equal(dev->stats.errors, 2);
	ioq_destroy(q);
	device_close(dev);
}

/* Set-up's reads and writes are no part of the run: no time, no change of the drive's state. */
static void test_sync_costs_the_model_nothing(void **state)
{
	struct device *dev;
	struct ioq *q;
	uint8_t buf[4096] = {0};
	uint64_t due[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		dev = open_it();
		for (int n = 0; i && n < 100; n++)
			assert_int_equal(device_write_sync(dev, buf, sizeof(buf), 4096u * n), 0);
		assert_int_equal(virtual_clock.virtual_ns, 5000);
		assert_int_equal(ioq_create(&q, &virtual_clock, 1, false), 0);
		seed = 1;
		issue(q, dev, &reqs[0], DEV_WRITE, 0);
		due[i] = ioq_next_due(q);
		virtual_clock.virtual_ns = due[i];
		assert_int_equal(ioq_poll(q), 1);
		ioq_destroy(q);
		device_close(dev);
		virtual_clock.virtual_ns = 5000;
	}
	assert_true(due[0] == due[1]);
}

/* In real time nothing is delivered early, and what came late is in the histogram. */
static void test_real_time(void **state)
{
	static const struct vclock wall;
	struct device *dev = NULL;
	uint64_t worst = 0;
	struct ioq *q;

	(void)state;
	assert_int_equal(device_open(&dev, &spec, &wall, &why), 0);
	assert_int_equal(ioq_create(&q, &wall, DEPTH, true), 0);
	for (unsigned int i = 0; i < 300; i++) {
		issue(q, dev, &reqs[0], DEV_READ, 0);
		while (!reqs[0].calls) {
			ioq_wait(q, TIME_NEVER);
			ioq_poll(q);
			if (reqs[0].calls) {
				uint64_t now = vclock_now(&wall);

				assert_true(now >= reqs[0].req.due_ns);
				if (now - reqs[0].req.due_ns > worst)
					worst = now - reqs[0].req.due_ns;
			}
		}
	}
	assert_int_equal(ioq_lateness(q)->count, 300);
	assert_true(ioq_lateness(q)->max_ns <= worst);
	assert_true(ioq_lateness(q)->max_ns > 0);
	print_message("lateness p50 %lu p99 %lu max %lu ns\n",
		      (unsigned long)lateness_percentile(ioq_lateness(q), 50),
		      (unsigned long)lateness_percentile(ioq_lateness(q), 99),
		      (unsigned long)ioq_lateness(q)->max_ns);
	ioq_destroy(q);
	device_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_a_profile_gives, set_up),
		cmocka_unit_test_setup(test_reads_alone_find_an_idle_drive, set_up),
		cmocka_unit_test_setup(test_due_times_are_the_models_steady, set_up),
		cmocka_unit_test_setup(test_due_times_are_the_models_fresh, set_up),
		cmocka_unit_test_setup(test_same_seed_same_run, set_up),
		cmocka_unit_test_setup(test_keeps_data_if_asked, set_up),
		cmocka_unit_test_setup(test_out_of_range, set_up),
		cmocka_unit_test_setup(test_sync_costs_the_model_nothing, set_up),
		cmocka_unit_test_setup(test_real_time, set_up),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
