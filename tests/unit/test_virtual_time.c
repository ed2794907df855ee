/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bare driver in virtual time: no thread, no sleep, the clock moves to whatever is due next. The same
 * workload with the same seed must give the same result to the last nanosecond, another seed another one;
 * and the group behaves as the buffer's rules say: it fills, pushes back, and intake settles at what
 * capacity takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/disk_group.h"

#define DEPTH  32u
#define VOLUME (512ull << 20)

struct result {
	uint64_t ns, ios, latency, destaged, overwritten, no_page, congested, last;
	double fill, congestion;
};

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x >> 11;
}

static void submit(struct dg_queue *q, struct dg_io *io, uint64_t *rng)
{
	io->op = next_random(rng) % 100 < 30 ? DG_WRITE : DG_READ;
	io->offset = next_random(rng) % (VOLUME / DG_BLOCK) * DG_BLOCK;
	dg_submit(q, io);
}

static void advance(struct disk_group *g, struct dg_queue *q, struct vclock *clock)
{
	uint64_t work = disk_group_work(g), next = dg_queue_next(q);

	if (work < next)
		next = work;
	/* Nothing due and nothing to do would be a hang. */
	assert_true(next != TIME_NEVER);
	if (next > clock->virtual_ns)
		clock->virtual_ns = next;
}

static void run(uint64_t seed, uint64_t ios, struct result *out)
{
	struct vclock clock = {.is_virtual = true, .virtual_ns = NSEC_PER_SEC};
	struct dg_io io[DEPTH], *done[DEPTH];
	struct dg_options o;
	struct dg_stats st;
	struct disk_group *g;
	struct dg_volume *v;
	struct dg_queue *q;
	struct report r = {0};
	uint64_t finished = 0, issued = 0, rng = seed * 0x9E3779B97F4A7C15ull;
	static char buf[DG_BLOCK];

	disk_group_options_default(&o);
	o.cache = "@samsung-sm961-512gb";
	o.capacity[0] = o.capacity[1] = o.capacity[2] = "@samsung-870-qvo-1tb";
	o.ncapacity = 3;
	o.write_buffer_size = 64u << 20;
	o.prefilled = DG_PREFILLED_CAPACITY;
	o.drive_seed = seed;
	o.no_worker = true;
	if (disk_group_open(&g, &o, &clock, &r) || disk_group_volume(g, "v", VOLUME, &v, &r) ||
	    disk_group_start(g, true, &r) || dg_queue_create(&q, g, DEPTH, false, &r))
		fail_msg("%s", r.text);
	memset(io, 0, sizeof(io));
	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < DEPTH; i++, issued++) {
		io[i].vol = v;
		io[i].buf = buf;
		io[i].len = DG_BLOCK;
		submit(q, &io[i], &rng);
	}
	dg_commit(q);
	while (finished < ios) {
		unsigned int n = dg_poll(q, 1, DEPTH, TIME_NEVER, done);

		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(done[i]->res, 0);
			out->last = out->last * 31 + done[i]->offset + clock.virtual_ns;
			submit(q, done[i], &rng);
		}
		finished += n;
		if (n)
			dg_commit(q);
		else
			advance(g, q, &clock);
	}
	disk_group_stats(g, &st);
	out->ns = clock.virtual_ns;
	out->ios = st.ios[DG_READ] + st.ios[DG_WRITE];
	out->latency = st.nsec[DG_READ] + st.nsec[DG_WRITE];
	out->destaged = st.bytes_destaged;
	out->overwritten = st.bytes_overwritten;
	out->no_page = st.no_page.count;
	out->congested = st.congestion.count;
	out->fill = st.fill_max_pct;
	out->congestion = st.ssd_congestion;
	/* Let what is in flight end. */
	for (unsigned int left = (unsigned int)st.in_flight; left;) {
		unsigned int n = dg_poll(q, 1, DEPTH, TIME_NEVER, done);

		left -= n;
		if (!n)
			advance(g, q, &clock);
	}
	dg_queue_destroy(q);
	if (disk_group_close(g, &r))
		fail_msg("%s", r.text);
}

static void same_seed_same_result(void **state)
{
	struct result a, b, c;

	(void)state;
	run(1, 200000, &a);
	run(1, 200000, &b);
	run(2, 200000, &c);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(a.last != c.last);
	assert_true(a.ns != c.ns);
}

/* Far more writes than the buffer holds: it must have filled, pushed back and kept going. */
static void full_buffer_pushes_back(void **state)
{
	struct result a;

	(void)state;
	run(3, 400000, &a);
	assert_true(a.destaged > 64u << 20);
	assert_true(a.fill > 80);
	assert_true(a.congested > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed_same_result),
		cmocka_unit_test(full_buffer_pushes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
