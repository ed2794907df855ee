/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices and files. */
#include <errno.h>

#include "device_impl.h"

int real_device_create(struct device **out, const struct dev_spec *spec, struct report *r)
{
	(void)out;
	return report(r, -ENOSYS, "%s: %s: not built yet", spec->option, spec->name);
}

int real_device_sync(struct device *dev, enum dev_op op, void *buf, size_t len, uint64_t offset)
{
	(void)dev;
	(void)op;
	(void)buf;
	(void)len;
	(void)offset;
	return -ENOSYS;
}

int device_prepare(struct device *dev, struct report *r)
{
	(void)dev;
	(void)r;
	return 0;
}

uint64_t device_prepare_bytes(const struct device *dev)
{
	(void)dev;
	return 0;
}

int device_probe_foreign(struct device *dev, const struct dev_spec *spec, struct report *r)
{
	(void)dev;
	(void)spec;
	(void)r;
	return 0;
}
