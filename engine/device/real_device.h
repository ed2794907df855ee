/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices and files: what real.c (opening, I/O), geometry.c, safety.c, foreign.c and
 * prepare.c share. All of it is set-up, in one thread, but for submit.
 */
#ifndef VSAN_REAL_DEVICE_H
#define VSAN_REAL_DEVICE_H

#include <sys/stat.h>

#include "device_impl.h"

struct real_device {
	struct device dev;
	int fd;                    /* -1: a file that does not exist yet */
	bool direct;               /* O_DIRECT */
	char option[40];           /* that named it, for messages */
	enum file_prepare prepare; /* never DEFAULT */
	bool (*stop)(void *arg);   /* see struct dev_spec */
	void *stop_arg;
	uint64_t present;   /* bytes that the file has; the rest up to dev.size is to be prepared */
	dev_t st_dev, rdev; /* of the file; of the block device */
	ino_t st_ino;
};

/* geometry.c: alignments and the write cache. */
struct geometry {
	uint32_t block_size, write_unit, mem_align;
	bool direct; /* direct I/O works */
};

/*
 * Of a file or block device open as @fd (with O_DIRECT if @direct). 0; -EINVAL for units that are
 * not supported, described.
 */
int geometry_find(int fd, bool is_block, bool direct, const struct real_device *rd,
		  struct geometry *g, struct report *r);

/* Does the drive under @dev (a disk, a partition, a file system's device) cache writes? Unknown:
 * true. */
bool geometry_volatile_cache(dev_t dev);

/* safety.c: each describes what is wrong and what to do. 0 or a negative errno. */
int safety_check_block(const char *path, const char *option, dev_t rdev, struct report *r);
int safety_check_file(const char *path, const char *option, const struct stat *st,
		      struct report *r);
int safety_lock_file(int fd, const char *path, const char *option, struct report *r);
void safety_unlock_file(int fd);

/*
 * What is in use is asked for again for half a second: the rings of a process that was just killed
 * are taken down in the background, and hold its files open so long.
 */
#define SAFETY_TRIES 25u
void safety_pause(void);

/* prepare.c: room for @need more bytes on the file system of @dir, clearly? 0 or -ENOSPC,
 * described. */
int prepare_check_space(const struct real_device *rd, const char *dir, uint64_t need,
			struct report *r);

/* real.c: the folder of @path, as written; "." if there is none. */
void path_folder(const char *path, char *dir, size_t len);

/* real.c: open @path for I/O. The flag tells whether O_DIRECT worked; fd or a negative errno. */
int real_open(const char *path, int flags, bool *direct);

#endif
