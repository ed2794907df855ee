/* SPDX-License-Identifier: GPL-2.0-only */
/* A device in plain memory; see memory.c. */
#ifndef VSAN_MEMORY_DEVICE_H
#define VSAN_MEMORY_DEVICE_H

#include "device.h"

/*
 * A device of @size bytes (rounded down to 4096) in zero-filled memory, without timing: every
 * request is done when submit returns. @store false keeps nothing (writes vanish, reads leave the
 * buffer as it is): for measuring what the layers above cost. 0, -EINVAL (too small) or -ENOMEM.
 * Close with device_close().
 */
int memory_device_create(struct device **out, uint64_t size, bool store);

#endif
