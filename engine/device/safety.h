/* SPDX-License-Identifier: GPL-2.0-only */
/* May the engine write to this device? See safety.c. */
#ifndef VSAN_DEVICE_SAFETY_H
#define VSAN_DEVICE_SAFETY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "device.h"

/* Are @a and @b one file or block device, whatever the names? Memory and models: only if one
 * object. */
bool device_same(const struct device *a, const struct device *b);

/*
 * The same question before opening, which would already refuse the second one as "in use". For
 * files that do not exist the folder and the name count. "@..." is never the same as anything.
 */
bool device_names_same(const char *a, const char *b);

/*
 * Where is a device of @set (@n of them) mounted, by the table in file @mountinfo (format of
 * /proc/self/mountinfo)? True: @which is its index, @where (of @len bytes) the mount point.
 */
bool safety_find_mount(const char *mountinfo, const dev_t *set, size_t n, size_t *which,
		       char *where, size_t len);

#endif
