/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds how a file or a block device wants its I/O, and whether its writes are volatile. Read-only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "real_device.h"

static bool supported_unit(uint32_t n)
{
	return n == 512 || n == 4096;
}

/* Does a direct read of @unit bytes work? At the end of a file a short one does, too. */
static bool read_works(int fd, uint32_t unit)
{
	void *buf;
	ssize_t n;

	if (posix_memalign(&buf, DEV_UNIT, unit))
		return false;
	/* Not at 0, which every unit divides. */
	n = pread(fd, buf, unit, unit);
	free(buf);
	return n >= 0;
}

/* True: the kernel told; 0 for the units means that there is no direct I/O. */
static bool ask_statx(int fd, uint32_t *offset_align, uint32_t *mem_align)
{
#ifdef STATX_DIOALIGN
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) || !(sx.stx_mask & STATX_DIOALIGN))
		return false;
	*offset_align = sx.stx_dio_offset_align;
	*mem_align = sx.stx_dio_mem_align;
	return true;
#else
	(void)fd;
	(void)offset_align;
	(void)mem_align;
	return false;
#endif
}

/* File systems in memory: some take O_DIRECT and go through the page cache all the same. */
static bool in_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static int block_geometry(int fd, const struct real_device *rd, struct geometry *g,
			  struct report *r)
{
	uint32_t offset_align, mem_align;
	unsigned int physical = 0;
	int logical = 0;

	if (ioctl(fd, BLKSSZGET, &logical) < 0)
		return report(r, -errno, "%s: %s: cannot read its block size: %s", rd->option,
			      rd->dev.name, strerror(errno));
	if (!supported_unit((uint32_t)logical))
		return report(r, -EINVAL,
			      "%s: %s has blocks of %d bytes; only 512 and 4096 are supported",
			      rd->option, rd->dev.name, logical);
	g->block_size = (uint32_t)logical;
	g->write_unit = g->block_size;
	if (!ioctl(fd, BLKPBSZGET, &physical) && physical >= DEV_UNIT)
		g->write_unit = DEV_UNIT;
	g->mem_align = g->block_size;
	if (ask_statx(fd, &offset_align, &mem_align) && mem_align)
		g->mem_align = mem_align;
	g->direct = true;
	return 0;
}

int geometry_find(int fd, bool is_block, bool direct, const struct real_device *rd,
		  struct geometry *g, struct report *r)
{
	uint32_t offset_align, mem_align;

	if (is_block)
		return block_geometry(fd, rd, g, r);
	/* Whatever the disk below: file systems have blocks of 4 KiB. */
	*g = (struct geometry){
		.block_size = 512, .write_unit = DEV_UNIT, .mem_align = 1, .direct = false};
	if (!direct || in_memory(fd))
		return 0;
	if (ask_statx(fd, &offset_align, &mem_align)) {
		if (!offset_align || offset_align > DEV_UNIT || mem_align > DEV_UNIT)
			return 0; /* no direct I/O that we could use */
		g->block_size = offset_align <= 512 ? 512 : DEV_UNIT;
		g->mem_align = mem_align ? mem_align : 1;
	} else if (read_works(fd, 512)) {
		g->block_size = g->mem_align = 512;
	} else if (read_works(fd, DEV_UNIT)) {
		g->block_size = g->mem_align = DEV_UNIT;
	} else {
		return 0;
	}
	g->direct = true;
	return 0;
}

bool geometry_volatile_cache(dev_t dev)
{
	/* A partition's queue is its disk's. */
	static const char *const names[] = {"/sys/dev/block/%u:%u/queue/write_cache",
					    "/sys/dev/block/%u:%u/../queue/write_cache"};
	char path[96], text[32];
	bool cached = true;
	FILE *f = NULL;

	for (size_t i = 0; i < 2 && !f; i++) {
		snprintf(path, sizeof(path), names[i], major(dev), minor(dev));
		f = fopen(path, "re");
	}
	if (!f)
		return true;
	if (fgets(text, sizeof(text), f))
		cached = strncmp(text, "write through", 13) != 0;
	fclose(f);
	return cached;
}
