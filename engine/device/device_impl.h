/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the device implementations share. struct device is the first member of each one's own
 * struct.
 */
#ifndef VSAN_DEVICE_IMPL_H
#define VSAN_DEVICE_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

#define DEV_UNIT 4096u /* sizes are multiples of this */

/* Fill the fields that all kinds have; the rest of @dev must be zero. @size is rounded down. */
void device_init(struct device *dev, const struct dev_ops *ops, enum dev_kind kind,
		 const char *name, uint64_t size);

/* Whether @len bytes at @offset lie on the device. Written so that no sum can wrap. */
static inline bool device_in_range(const struct device *dev, uint64_t offset, uint64_t len)
{
	return offset <= dev->size && len <= dev->size - offset;
}

/*
 * Anonymous, zero-filled memory for the data of a drive: backed only where it was touched, in huge
 * pages where the system has them. NULL when the address space is exhausted.
 */
void *device_map_data(uint64_t size);
void device_unmap_data(void *data, uint64_t size);

/* modelled.c: @NAME. Owned by the caller, closed by device_close(). */
int modelled_device_create(struct device **out, const struct dev_spec *spec,
			   const struct vclock *clock, struct report *r);

/* real.c: a path. */
int real_device_create(struct device **out, const struct dev_spec *spec, struct report *r);

/* real.c: a read, write or flush by plain system calls; what device_*_sync() promise. Any thread.
 */
int real_device_sync(struct device *dev, enum dev_op op, void *buf, size_t len, uint64_t offset);

#endif
