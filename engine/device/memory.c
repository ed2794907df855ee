/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device in plain memory: requests are done before submit returns. No timing, no persistence. Any
 * number of queues; requests that overlap while both run are the caller's to avoid, as on a real
 * drive.
 */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device_impl.h"
#include "ioq_impl.h"

struct memory_device {
	struct device dev;
	uint8_t *data; /* NULL: nothing is stored */
};

void *device_map_data(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE); /* a wish: fewer page faults */
	/* A core dump of a crash should hold the engine's state, not a drive's contents. */
	madvise(p, size, MADV_DONTDUMP);
	return p;
}

void device_unmap_data(void *data, uint64_t size)
{
	if (data)
		munmap(data, size);
}

static int memory_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	struct memory_device *m = (struct memory_device *)dev;

	if (!device_in_range(dev, req->offset, req->len)) {
		ioq_count_error(req);
		return -EIO;
	}
	if (m->data) {
		if (req->op == DEV_WRITE)
			memcpy(m->data + req->offset, req->buf, req->len);
		else if (req->op == DEV_READ)
			memcpy(req->buf, m->data + req->offset, req->len);
	}
	ioq_count(q, req, 0);
	return 1;
}

static void memory_close(struct device *dev)
{
	struct memory_device *m = (struct memory_device *)dev;

	device_unmap_data(m->data, dev->size);
	free(m);
}

static const struct dev_ops memory_ops = {
	.submit = memory_submit,
	.close = memory_close,
};

int memory_device_create(struct device **out, uint64_t size, bool store)
{
	struct memory_device *m;

	if (size < DEV_UNIT)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	device_init(&m->dev, &memory_ops, DEV_KIND_MEMORY, "@memory", size);
	m->dev.stores_data = store;
	if (store) {
		m->data = device_map_data(m->dev.size);
		if (!m->data) {
			free(m);
			return -ENOMEM;
		}
	}
	*out = &m->dev;
	return 0;
}
