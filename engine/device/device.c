/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices: opening one by the kind that its name tells, and the synchronous helpers. What a kind
 * does is in memory.c, modelled.c and real.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device_impl.h"
#include "ioq_impl.h"
#include "memory.h"

#define SYNC_PIECE (64u << 20)

void device_init(struct device *dev, const struct dev_ops *ops, enum dev_kind kind,
		 const char *name, uint64_t size)
{
	dev->ops = ops;
	dev->kind = kind;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	dev->size = size - size % DEV_UNIT;
	dev->block_size = 512;
	dev->write_unit = 512;
	dev->mem_align = 1;
	dev->stores_data = true;
}

static int open_memory(struct device **out, const struct dev_spec *spec, struct report *r)
{
	int ret;

	if (!spec->size)
		return report(r, -EINVAL, "%s: @memory has no size of its own: give %s_size",
			      spec->option, spec->is_cache ? "cache" : "capacity");
	ret = memory_device_create(out, spec->size, true);
	if (ret)
		report(r, ret, "%s: @memory: cannot have %llu bytes: %s", spec->option,
		       (unsigned long long)spec->size, strerror(-ret));
	return ret;
}

int device_open(struct device **out, const struct dev_spec *spec, const struct vclock *clock,
		struct report *r)
{
	if (!spec->name || !spec->name[0])
		return report(r, -EINVAL, "%s: the name of a device is missing", spec->option);
	if (strlen(spec->name) >= sizeof((*out)->name))
		return report(r, -ENAMETOOLONG, "%s: %.40s...: a name of more than %zu characters",
			      spec->option, spec->name, sizeof((*out)->name) - 1);
	if (!strcmp(spec->name, "@memory"))
		return open_memory(out, spec, r);
	if (spec->name[0] == '@')
		return modelled_device_create(out, spec, clock, r);
	return real_device_create(out, spec, r);
}

void device_close(struct device *dev)
{
	if (dev)
		dev->ops->close(dev);
}

struct sync_wait {
	struct dev_req req;
	bool done;
	int res;
};

static void sync_done(struct dev_req *req, int res)
{
	struct sync_wait *w = (struct sync_wait *)req;

	w->res = res;
	w->done = true;
}

/*
 * One request through a queue of its own: devices in memory and those of tests, fault injection
 * included, go the way that their ops define.
 */
static int queue_io(struct device *dev, enum dev_op op, void *buf, uint32_t len, uint64_t offset)
{
	struct sync_wait w = {
		.req = {.dev = dev,
			.buf = buf,
			.offset = offset,
			.len = len,
			.op = (uint8_t)op,
			.done = sync_done},
	};
	struct ioq *q;
	int ret;

	ret = ioq_create_sync(&q);
	if (ret)
		return ret;
	ret = ioq_attach(q, dev);
	if (ret)
		goto out;
	ret = ioq_submit(q, &w.req);
	if (ret) {
		ret = ret < 0 ? ret : 0;
		goto out;
	}
	ioq_kick(q);
	while (!w.done) {
		if (!ioq_poll(q))
			ioq_wait(q, TIME_NEVER);
	}
	ret = w.res;
out:
	ioq_destroy(q);
	return ret;
}

static int sync_io(struct device *dev, enum dev_op op, void *buf, size_t len, uint64_t offset)
{
	uint8_t *p = buf;
	uint32_t piece;
	int ret;

	/* Plain system calls: recovery reads single pages, and a ring for each would cost more. */
	if (dev->kind == DEV_KIND_BLOCK || dev->kind == DEV_KIND_FILE)
		return real_device_sync(dev, op, buf, len, offset);
	do {
		piece = len < SYNC_PIECE ? (uint32_t)len : SYNC_PIECE;
		ret = queue_io(dev, op, p, piece, offset);
		p += piece;
		len -= piece;
		offset += piece;
	} while (!ret && len);
	return ret;
}

int device_read_sync(struct device *dev, void *buf, size_t len, uint64_t offset)
{
	return sync_io(dev, DEV_READ, buf, len, offset);
}

int device_write_sync(struct device *dev, const void *buf, size_t len, uint64_t offset)
{
	return sync_io(dev, DEV_WRITE, (void *)(uintptr_t)buf, len, offset);
}

int device_flush_sync(struct device *dev)
{
	return sync_io(dev, DEV_FLUSH, NULL, 0, 0);
}
