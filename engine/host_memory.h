/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory the host can still give. */
#ifndef VSAN_HOST_MEMORY_H
#define VSAN_HOST_MEMORY_H

#include <stdint.h>

/* MemAvailable of /proc/meminfo in bytes; 0 when the kernel does not say. Any thread. */
uint64_t host_memory_available(void);

#endif
