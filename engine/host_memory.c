/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads /proc/meminfo; see host_memory.h. */
#include "host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t host_memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t bytes = 0;
	char line[128];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "MemAvailable:", 13))
			bytes = strtoull(line + 13, NULL, 10) * 1024;
	fclose(f);
	return bytes;
}
