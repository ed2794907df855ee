/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A read from capacity that a destage of the same block passes: the block is written again and destaged
 * while the read is in the device. What the device returns may be half old, half new; the group must
 * notice and read again. The capacity device here holds reads back as long as the test wants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/device/memory.h"
#include "engine/disk_group.h"

#define SIZE (32u << 20)

struct slow_device {
	struct device dev;
	char *data;
	bool hold;
	struct dev_req *held;
	unsigned int reads;
};

static int slow_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	struct slow_device *d = (struct slow_device *)dev;

	(void)q;
	if (req->op == DEV_WRITE)
		memcpy(d->data + req->offset, req->buf, req->len);
	if (req->op != DEV_READ)
		return 1;
	d->reads++;
	/* The first half now, the other when the read is let go: as torn as a real one can be. */
	memcpy(req->buf, d->data + req->offset, req->len / 2);
	if (d->hold) {
		d->held = req;
		return 0;
	}
	memcpy((char *)req->buf + req->len / 2, d->data + req->offset + req->len / 2, req->len / 2);
	return 1;
}

static void let_go(struct slow_device *d)
{
	struct dev_req *req = d->held;

	d->hold = false;
	d->held = NULL;
	memcpy((char *)req->buf + req->len / 2, d->data + req->offset + req->len / 2, req->len / 2);
	req->done(req, 0);
}

static void slow_close(struct device *dev)
{
	struct slow_device *d = (struct slow_device *)dev;

	free(d->data);
	free(d);
}

static const struct dev_ops slow_ops = {.submit = slow_submit, .close = slow_close};

struct bench {
	struct vclock clock;
	struct slow_device *slow;
	struct disk_group *g;
	struct dg_volume *vol;
	struct dg_queue *q;
};

static void open_group(struct bench *b)
{
	struct report r = {0};
	struct dg_options o;

	memset(b, 0, sizeof(*b));
	b->clock.is_virtual = true;
	b->clock.virtual_ns = NSEC_PER_SEC;
	b->slow = calloc(1, sizeof(*b->slow));
	assert_non_null(b->slow);
	b->slow->data = calloc(1, SIZE);
	assert_non_null(b->slow->data);
	b->slow->dev = (struct device){.ops = &slow_ops,
				       .name = "slow",
				       .kind = DEV_KIND_OTHER,
				       .size = SIZE,
				       .block_size = 512,
				       .mem_align = 1,
				       .stores_data = true};
	disk_group_options_default(&o);
	o.cache = "cache";
	o.capacity[0] = "slow";
	o.ncapacity = 1;
	assert_int_equal(memory_device_create(&o.given[0], SIZE, true), 0);
	o.given[1] = &b->slow->dev;
	o.buckets = 4;
	o.destage_start = 0; /* destage whatever there is */
	o.destage_sleep_ns = 0;
	o.no_worker = true;
	if (disk_group_open(&b->g, &o, &b->clock, &r) ||
	    disk_group_volume(b->g, "v", 4u << 20, &b->vol, &r) ||
	    disk_group_start(b->g, true, &r) || dg_queue_create(&b->q, b->g, 4, false, &r))
		fail_msg("%s", r.text);
}

static void close_group(struct bench *b)
{
	struct report r = {0};

	dg_queue_destroy(b->q);
	if (disk_group_close(b->g, &r))
		fail_msg("%s", r.text);
}

static unsigned int poll_one(struct bench *b)
{
	struct dg_io *done[4];
	unsigned int n = dg_poll(b->q, 1, 4, TIME_NEVER, done);

	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(done[i]->res, 0);
	return n;
}

static void write_block(struct bench *b, char fill)
{
	char buf[DG_BLOCK];
	struct dg_io io = {.vol = b->vol, .buf = buf, .len = DG_BLOCK, .op = DG_WRITE};

	memset(buf, fill, sizeof(buf));
	dg_submit(b->q, &io);
	while (!poll_one(b))
		;
}

static void destage(struct bench *b)
{
	struct dg_stats st;

	do {
		uint64_t next = disk_group_work(b->g);

		if (next != TIME_NEVER && next > b->clock.virtual_ns)
			b->clock.virtual_ns = next;
		disk_group_stats(b->g, &st);
	} while (st.pages_used);
}

static void check(const char *buf, char fill)
{
	for (unsigned int i = 0; i < DG_BLOCK; i++)
		if (buf[i] != fill)
			fail_msg("byte %u is %d, not %d", i, buf[i], fill);
}

/* Destaged again while the read was on its way: the map is as empty as before, only a count tells. */
static void passed_by_a_destage(void **state)
{
	char buf[DG_BLOCK];
	struct bench b;
	struct dg_io io;

	(void)state;
	open_group(&b);
	write_block(&b, 1);
	destage(&b);
	io = (struct dg_io){.vol = b.vol, .buf = buf, .len = DG_BLOCK, .op = DG_READ};
	b.slow->hold = true;
	dg_submit(b.q, &io);
	assert_int_equal(poll_one(&b), 0);
	write_block(&b, 2);
	destage(&b);
	let_go(b.slow);
	while (!poll_one(&b))
		;
	check(buf, 2);
	assert_int_equal(b.slow->reads, 2);
	close_group(&b);
}

/* Written again, but still in the buffer: the newest copy is there, and the read goes to it. */
static void overtaken_by_a_write(void **state)
{
	char buf[DG_BLOCK];
	struct bench b;
	struct dg_io io;

	(void)state;
	open_group(&b);
	write_block(&b, 3);
	destage(&b);
	io = (struct dg_io){.vol = b.vol, .buf = buf, .len = DG_BLOCK, .op = DG_READ};
	b.slow->hold = true;
	dg_submit(b.q, &io);
	assert_int_equal(poll_one(&b), 0);
	write_block(&b, 4);
	let_go(b.slow);
	while (!poll_one(&b))
		;
	check(buf, 4);
	assert_int_equal(b.slow->reads, 1);
	close_group(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passed_by_a_destage),
		cmocka_unit_test(overtaken_by_a_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
