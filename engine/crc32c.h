/* SPDX-License-Identifier: GPL-2.0-only */
/* CRC32C (Castagnoli), by ISA-L: the check of every metadata block and of every buffered page. */
#ifndef VSAN_CRC32C_H
#define VSAN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#include <isa-l/crc.h>

/* CRC32C of @len bytes (below 2 GiB), with the usual initial value and final inversion. */
static inline uint32_t crc32c(const void *buf, size_t len)
{
	/* ISA-L only reads the buffer, its prototype lacks the const. */
	union {
		const void *c;
		unsigned char *p;
	} u = {.c = buf};

	return ~crc32_iscsi(u.p, (int)len, 0xffffffffu);
}

#endif
