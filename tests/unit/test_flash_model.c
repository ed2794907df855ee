/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What must hold for any drive that the flash model describes. Virtual time: no test depends on the
 * machine's speed. Golden values are in test_flash_golden.c.
 */
#include "engine/flash_model.h"
#include "tests/support/closed_loop.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct flash_params sample = {
	.K = 16,
	.t_r = 60,
	.t_fix = 10,
	.ctl_r = 2,
	.ctl_w = 3,
	.t_w = 12,
	.bw = 2000,
	.nat = 800,
	.wa = 4,
	.buf_mib = 4,
	.t_susp = 80,
	.slc_bytes = 64e6,
	.slc_bw = 1600,
	.t_flush = 500,
	.capacity = 100000000000u,
};

static struct flash_model *make(const struct flash_params *p, uint64_t seed,
				enum drive_condition cond)
{
	struct flash_model *m;

	assert_int_equal(flash_model_create(&m, p, seed, cond), 0);
	return m;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* One I/O out of all kinds and sizes; the same @s gives the same. */
static uint64_t random_io(struct flash_model *m, uint64_t now, uint64_t *s)
{
	uint64_t kind = next_random(s) % 16;
	uint32_t size = (uint32_t)(512 << (next_random(s) % 14)); /* 512 B .. 4 MiB */
	uint64_t off = next_random(s) % (sample.capacity - size) / 512 * 512;

	if (kind == 0)
		return flash_model_flush(m, now);
	return kind < 8 ? flash_model_write(m, now, off, size)
			: flash_model_read(m, now, off, size);
}

static void test_never_completes_before_submission(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct flash_params p = sample;
		struct flash_model *m;
		uint64_t s = seed * 7919, now = seed * 1000000007u;

		p.K = 1 + (uint32_t)(next_random(&s) % FLASH_MAX_UNITS);
		p.half_duplex = seed % 2;
		m = make(&p, seed, seed % 3 ? DRIVE_STEADY : DRIVE_FRESH);
		for (int i = 0; i < 5000; i++) {
			uint64_t due = random_io(m, now, &s);

			assert_true(due >= now);
			/* an hour ahead, for a queue of 4 MiB I/Os, is a lost sign or an overflow
			 */
			assert_true(due - now < 3600u * 1000000000ull);
			now += next_random(&s) % 2000000;
		}
		flash_model_destroy(m);
	}
}

static void test_clock_may_step_back(void **state)
{
	struct flash_model *m = make(&sample, 1, DRIVE_STEADY);
	uint64_t now = 5000000;

	(void)state;
	flash_model_prefill(m, now);
	/* threads read the clock before they take the drive's lock */
	assert_true(flash_model_read(m, now - 4000000, 0, 4096) >= now - 4000000);
	assert_true(flash_model_write(m, now - 3000000, 0, 4096) >= now - 3000000);
	assert_true(flash_model_flush(m, now - 2000000) >= now - 2000000);
	assert_true(flash_model_read(m, 0, 0, 4096) < 1000000000u);
	flash_model_destroy(m);
}

static void test_origin_of_the_clock_does_not_matter(void **state)
{
	const uint64_t far = 1ull << 60; /* 36 years of nanoseconds */
	struct flash_model *a = make(&sample, 5, DRIVE_STEADY);
	struct flash_model *b = make(&sample, 5, DRIVE_STEADY);
	uint64_t s = 11, t = 11, now = 0;

	(void)state;
	flash_model_prefill(a, 0);
	flash_model_prefill(b, far);
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(random_io(a, now, &s), random_io(b, far + now, &t) - far);
		now += next_random(&s) % 100000;
		next_random(&t);
	}
	flash_model_destroy(a);
	flash_model_destroy(b);
}

static void test_link_limits_the_rate(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct flash_params p = sample;
		struct flash_model *m;
		uint64_t last[2] = {0, 0}, bytes[2] = {0, 0};
		double limit;

		p.half_duplex = half;
		/* media and controller faster than the link by far */
		p.K = 256;
		p.t_r = 1;
		p.nat = p.slc_bw = 100000;
		p.wa = 1;
		m = make(&p, 3, DRIVE_FRESH);
		for (int i = 0; i < 2000; i++) {
			int w = i % 2;
			uint64_t off = (uint64_t)i * 131072;
			uint64_t due = w ? flash_model_write(m, 0, off, 131072)
					 : flash_model_read(m, 0, off, 131072);

			bytes[w] += 131072;
			if (due > last[w])
				last[w] = due;
			limit = (double)(half ? bytes[0] + bytes[1] : bytes[w]) / p.bw;
			assert_true((double)due * 1e-3 >= limit - 0.001);
		}
		/* and it is the link that limits: both directions at once, or in turn */
		limit = (double)(half ? bytes[0] + bytes[1] : bytes[0]) / p.bw;
		assert_true((double)last[0] * 1e-3 < 1.1 * limit);
		flash_model_destroy(m);
	}
}

static void test_same_seed_same_times(void **state)
{
	struct flash_model *a = make(&sample, 42, DRIVE_FRESH);
	struct flash_model *b = make(&sample, 42, DRIVE_FRESH);
	struct flash_model *c = make(&sample, 43, DRIVE_FRESH);
	uint64_t s = 1, t = 1, u = 1, now = 0;
	int differ = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t due = random_io(a, now, &s);

		assert_int_equal(due, random_io(b, now, &t));
		differ += due != random_io(c, now, &u);
		now += next_random(&s) % 50000;
		next_random(&t);
		next_random(&u);
	}
	assert_true(differ > 5000);
	flash_model_destroy(a);
	flash_model_destroy(b);
	flash_model_destroy(c);
}

static void test_seed_changes_little(void **state)
{
	const struct workload mix = {
		.qd = 32, .size = 4096, .read_share = 0.7, .ios = 60000, .warm = 0.5};
	double one = closed_loop_run(&sample, DRIVE_STEADY, 1, &mix).iops;
	double other = closed_loop_run(&sample, DRIVE_STEADY, 2, &mix).iops;

	(void)state;
	assert_true(one != other);
	assert_true(fabs(one / other - 1) < 0.02);
}

static void test_saturated_mix_is_harmonic(void **state)
{
	struct workload w = {.qd = 256, .size = 4096, .ios = 120000, .warm = 0.5};
	struct flash_params p = sample;
	double rd, wr, mix, expected;

	(void)state;
	p.ctl_r = p.ctl_w = 0.1; /* only the media bind */
	w.read_share = 1;
	rd = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	w.read_share = 0;
	wr = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	w.read_share = 0.7;
	mix = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	expected = 1 / (0.7 / rd + 0.3 / wr);
	assert_true(fabs(mix / expected - 1) < 0.05);
}

static void test_slc_area_runs_out_and_recovers(void **state)
{
	struct flash_params p = sample;
	struct flash_model *m;
	uint64_t due = 0, start, off = 0;
	double fast, slow, again;

	(void)state;
	m = make(&p, 1, DRIVE_FRESH);
	while (off < 50000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	fast = (double)off / (double)due * 1e3; /* MB/s */
	while (off < 200000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	start = due;
	while (off < 300000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	slow = 100e6 / (double)(due - start) * 1e3;
	/* idle for as long as folding the whole area takes at the native rate */
	start = due += 100000000u + (uint64_t)(p.slc_bytes / p.nat * 1e3);
	while (off < 350000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	again = 50e6 / (double)(due - start) * 1e3;
	flash_model_destroy(m);
	assert_true(slow < 1.05 * p.nat && slow > 0.8 * p.nat);
	assert_true(fast > 1.3 * slow);
	assert_true(again > 0.95 * fast);
}

static void test_fresh_drive_wears_in(void **state)
{
	const struct workload w = {.qd = 32, .size = 65536, .ios = 40000, .warm = 0.9};
	struct flash_params p = sample;
	double fresh, steady, worn;

	(void)state;
	p.slc_bytes = 0;
	p.capacity = 100000000000u;
	fresh = closed_loop_run(&p, DRIVE_FRESH, 1, &w).iops;
	steady = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	p.capacity = 1000000000u; /* 2.6 GB of random writes are more than all of it */
	worn = closed_loop_run(&p, DRIVE_FRESH, 1, &w).iops;
	assert_true(fresh > 3 * steady);
	assert_true(fabs(worn / steady - 1) < 0.05);
}

static void test_sequential_streams_do_not_pay_wa(void **state)
{
	struct flash_params p = sample;
	struct flash_model *m;
	uint64_t off[5], now;

	(void)state;
	p.slc_bytes = 0;
	/* up to four streams are followed; five look random */
	for (unsigned int streams = 4; streams <= 5; streams++) {
		double rate;

		m = make(&p, 1, DRIVE_STEADY);
		now = 0;
		for (unsigned int i = 0; i < streams; i++)
			off[i] = i * 10000000000u;
		for (unsigned int i = 0; i < 20000; i++) {
			now = flash_model_write(m, now, off[i % streams], 16384);
			off[i % streams] += 16384;
		}
		rate = 20000 * 16384.0 / (double)now * 1e3;
		flash_model_destroy(m);
		if (streams == 4)
			assert_true(rate > 0.8 * p.nat);
		else
			assert_true(rate < 1.2 * p.nat / p.wa);
	}
	/* a log block written again in place is part of its stream */
	p.nat = 200;
	m = make(&p, 1, DRIVE_STEADY);
	now = 0;
	for (unsigned int i = 0; i < 20000; i++)
		now = flash_model_write(m, now, i / 16 * 16384, 16384);
	assert_true(20000 * 16384.0 / (double)now * 1e3 > 0.8 * p.nat);
	flash_model_destroy(m);
}

static void test_flushes_queue(void **state)
{
	struct flash_model *m = make(&sample, 1, DRIVE_STEADY);

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(flash_model_flush(m, 1000), 1000 + i * 500000);
	flash_model_destroy(m);
}

static void test_suspend_bound(void **state)
{
	struct flash_params p = sample;
	uint64_t waits[2];

	(void)state;
	p.K = 1;
	p.slc_bytes = 0;
	for (int i = 0; i < 2; i++) {
		struct flash_model *m;

		p.t_susp = i ? 500 : 100;
		m = make(&p, 1, DRIVE_STEADY);
		flash_model_prefill(m, 0); /* the one unit is busy for a long time */
		waits[i] = flash_model_read(m, 1000, 0, 4096);
		flash_model_destroy(m);
	}
	assert_int_equal(waits[1] - waits[0], 400000);
}

static void test_programs_wait_for_reads(void **state)
{
	struct flash_params p = sample;
	uint64_t due[2] = {0, 0};

	(void)state;
	p.K = 1;
	p.slc_bytes = 0;
	p.buf_mib = 0.125; /* two chunks: the third write waits for the first program */
	for (int reads = 0; reads < 2; reads++) {
		struct flash_model *m = make(&p, 1, DRIVE_STEADY);

		for (int i = 0; i < 100 * reads; i++)
			flash_model_read(m, 0, 0, 4096);
		for (uint64_t i = 0; i < 3; i++)
			due[reads] = flash_model_write(m, 0, i * 65536, 65536);
		flash_model_destroy(m);
	}
	/* 100 reads at 0.8..1.2 x 60 us on the one unit */
	assert_true(due[1] > due[0] + 5000000);
}

static void test_a_stride_does_not_hit_one_unit(void **state)
{
	struct flash_model *m = make(&sample, 1, DRIVE_STEADY);
	uint64_t last = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t due = flash_model_read(m, 0, i * sample.K * FLASH_STRIPE, 4096);

		last = due > last ? due : last;
	}
	flash_model_destroy(m);
	/* one unit alone would take 1000 x t_r */
	assert_true((double)last * 1e-3 < 3 * 1000 * sample.t_r / sample.K);
}

static void test_a_large_read_keeps_its_units_busy(void **state)
{
	(void)state;
	for (uint64_t stripe = 0; stripe < 8; stripe++) {
		struct flash_model *m = make(&sample, 1, DRIVE_STEADY);
		uint64_t after;

		flash_model_read(m, 0, 0, 8 * FLASH_STRIPE);
		after = flash_model_read(m, 0, stripe * FLASH_STRIPE, 4096);
		flash_model_destroy(m);
		/* it waits for one unit's time and then takes its own, each at least 0.8 x t_r */
		assert_true((double)after * 1e-3 > 1.6 * sample.t_r + sample.t_fix);
	}
}

static void test_refuses_what_is_no_drive(void **state)
{
	struct flash_model *m = NULL;
	struct flash_params p;

	(void)state;
#define REFUSED(field, v)                                                               \
	do {                                                                            \
		p = sample;                                                             \
		p.field = (v);                                                          \
		assert_int_equal(flash_model_create(&m, &p, 1, DRIVE_STEADY), -EINVAL); \
	} while (0)
	REFUSED(K, 0);
	REFUSED(K, FLASH_MAX_UNITS + 1);
	REFUSED(t_r, 0);
	REFUSED(t_r, (double)NAN);
	REFUSED(t_fix, -1);
	REFUSED(ctl_r, (double)INFINITY);
	REFUSED(ctl_w, 0);
	REFUSED(t_w, (double)NAN);
	REFUSED(bw, 0);
	REFUSED(nat, -5);
	REFUSED(wa, 0.5);
	REFUSED(buf_mib, 0);
	REFUSED(buf_mib, 2 * FLASH_MAX_BUFFER_MIB);
	REFUSED(t_susp, (double)INFINITY);
	REFUSED(slc_bytes, -1);
	REFUSED(slc_bw, 0);
	REFUSED(t_flush, (double)NAN);
	REFUSED(capacity, 0);
#undef REFUSED
	assert_null(m);
	flash_model_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_completes_before_submission),
		cmocka_unit_test(test_clock_may_step_back),
		cmocka_unit_test(test_origin_of_the_clock_does_not_matter),
		cmocka_unit_test(test_link_limits_the_rate),
		cmocka_unit_test(test_same_seed_same_times),
		cmocka_unit_test(test_seed_changes_little),
		cmocka_unit_test(test_saturated_mix_is_harmonic),
		cmocka_unit_test(test_slc_area_runs_out_and_recovers),
		cmocka_unit_test(test_fresh_drive_wears_in),
		cmocka_unit_test(test_sequential_streams_do_not_pay_wa),
		cmocka_unit_test(test_flushes_queue),
		cmocka_unit_test(test_suspend_bound),
		cmocka_unit_test(test_programs_wait_for_reads),
		cmocka_unit_test(test_a_stride_does_not_hit_one_unit),
		cmocka_unit_test(test_a_large_read_keeps_its_units_busy),
		cmocka_unit_test(test_refuses_what_is_no_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
