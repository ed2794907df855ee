/* SPDX-License-Identifier: GPL-2.0-only */
/* The io_uring of an I/O queue. */
#include <errno.h>

#include "ioq_impl.h"

int ring_attach(struct ioq *q, struct device *dev, int fd)
{
	(void)q;
	(void)dev;
	(void)fd;
	return -ENOSYS;
}

int ring_submit(struct ioq *q, struct dev_req *req)
{
	(void)q;
	(void)req;
	return -ENOSYS;
}

void ring_kick(struct ring *ring)
{
	(void)ring;
}

unsigned int ring_reap(struct ioq *q)
{
	(void)q;
	return 0;
}

bool ring_has_events(const struct ring *ring)
{
	(void)ring;
	return false;
}

bool ring_sleep(struct ioq *q, uint64_t until_ns)
{
	(void)q;
	(void)until_ns;
	return true;
}

unsigned int ring_in_flight(const struct ring *ring)
{
	(void)ring;
	return 0;
}

void ring_destroy(struct ring *ring)
{
	(void)ring;
}
