/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices and files: opening without writing a byte, I/O through the queue's ring, and plain
 * system calls for set-up. Whether the device may be used is asked in safety.c and foreign.c;
 * prepare.c makes and fills files. submit from any number of queues; the rest in the main thread.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ioq_impl.h"
#include "real_device.h"

#define BOUNCE_BYTES (1u << 20)

static int real_attach(struct device *dev, struct ioq *q)
{
	struct real_device *rd = (struct real_device *)dev;

	if (rd->fd < 0)
		return -EBADF; /* to be prepared first */
	return ring_attach(q, dev, rd->fd);
}

static int real_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	/*
	 * Checked here and not left to the kernel: a write past the end would make a file longer,
	 * and one on a device of which only a part is ours would hit the rest.
	 */
	if (!device_in_range(dev, req->offset, req->len)) {
		ioq_count_error(req);
		return -EIO;
	}
	assert((uintptr_t)req->buf % dev->mem_align == 0);
	assert(req->offset % dev->block_size == 0 && req->len % dev->block_size == 0);
	return ring_submit(q, req);
}

static void real_close(struct device *dev)
{
	struct real_device *rd = (struct real_device *)dev;

	if (rd->fd >= 0) {
		safety_unlock_file(rd->fd);
		close(rd->fd);
	}
	free(rd);
}

static const struct dev_ops real_ops = {
	.submit = real_submit,
	.attach = real_attach,
	.close = real_close,
};

/* One piece by system calls; short counts are continued. Past the file's end: zeros, or -EIO. */
static int plain_io(const struct real_device *rd, enum dev_op op, uint8_t *buf, size_t len,
		    uint64_t offset)
{
	while (len) {
		ssize_t n = op == DEV_READ ? pread(rd->fd, buf, len, (off_t)offset)
					   : pwrite(rd->fd, buf, len, (off_t)offset);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!n) {
			if (op != DEV_READ || rd->present >= rd->dev.size)
				return -EIO;
			memset(buf, 0, len); /* not prepared yet */
			return 0;
		}
		buf += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* For callers whose buffer is not aligned as direct I/O wants it. */
static int bounced_io(const struct real_device *rd, enum dev_op op, uint8_t *buf, size_t len,
		      uint64_t offset)
{
	void *bounce;
	int ret = 0;

	if (posix_memalign(&bounce, DEV_UNIT, BOUNCE_BYTES))
		return -ENOMEM;
	while (!ret && len) {
		size_t piece = len < BOUNCE_BYTES ? len : BOUNCE_BYTES;

		if (op == DEV_WRITE)
			memcpy(bounce, buf, piece);
		ret = plain_io(rd, op, bounce, piece, offset);
		if (!ret && op == DEV_READ)
			memcpy(buf, bounce, piece);
		buf += piece;
		len -= piece;
		offset += piece;
	}
	free(bounce);
	return ret;
}

int real_device_sync(struct device *dev, enum dev_op op, void *buf, size_t len, uint64_t offset)
{
	const struct real_device *rd = (const struct real_device *)dev;

	if (!device_in_range(dev, offset, len))
		return -EIO;
	if (rd->fd < 0) { /* a file that does not exist yet */
		if (op == DEV_WRITE)
			return -EBADF;
		if (op == DEV_READ)
			memset(buf, 0, len);
		return 0;
	}
	if (op == DEV_FLUSH)
		return fdatasync(rd->fd) ? -errno : 0;
	if ((uintptr_t)buf % dev->mem_align)
		return bounced_io(rd, op, buf, len, offset);
	return plain_io(rd, op, buf, len, offset);
}

int real_open(const char *path, int flags, bool *direct)
{
	int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_DIRECT, 0644);

	*direct = fd >= 0;
	/* Both are said by file systems that have no direct I/O. */
	if (fd < 0 && (errno == EINVAL || errno == EOPNOTSUPP))
		fd = open(path, flags | O_RDWR | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : fd;
}

void path_folder(const char *path, char *dir, size_t len)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(dir, len, ".");
	else if (slash == path)
		snprintf(dir, len, "/");
	else
		snprintf(dir, len, "%.*s", (int)(slash - path), path);
}

static const char *size_option(const struct dev_spec *spec)
{
	return spec->is_cache ? "cache_size" : "capacity_size";
}

static int open_error(const struct dev_spec *spec, int err, struct report *r)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return report(
			r, err,
			"%s: no permission to read and write %s: run as a user who may, or change "
			"its owner or mode",
			spec->option, spec->name);
	case -EROFS:
		return report(r, err, "%s: %s is on a read-only file system: name a writable place",
			      spec->option, spec->name);
	case -EBUSY:
		return report(
			r, err,
			"%s: %s is in use, by another process or by the kernel (or named twice): "
			"lsof or lsblk show by whom; name another device",
			spec->option, spec->name);
	default:
		return report(r, err, "%s: cannot open %s: %s", spec->option, spec->name,
			      strerror(-err));
	}
}

/* How I/O is to be done on rd->fd or, for a file that does not exist yet, on one beside it. */
static int apply_geometry(struct real_device *rd, int fd, bool direct, struct report *r)
{
	struct geometry g;
	int ret;

	ret = geometry_find(fd, rd->dev.kind == DEV_KIND_BLOCK, direct, rd, &g, r);
	if (ret)
		return ret;
	rd->direct = g.direct;
	rd->dev.block_size = g.block_size;
	rd->dev.write_unit = g.write_unit;
	rd->dev.mem_align = g.mem_align;
	if (!g.direct) {
		fprintf(stderr,
			"fio-vsan: warning: %s: the file system of %s has no direct I/O "
			"(O_DIRECT): "
			"using the page cache, so its speed is that of memory\n",
			rd->option, rd->dev.name);
		if (direct && rd->fd >= 0 && fcntl(rd->fd, F_SETFL, 0) < 0)
			return report(r, -errno, "%s: %s: cannot leave direct I/O: %s", rd->option,
				      rd->dev.name, strerror(errno));
	}
	return 0;
}

static int open_block(struct real_device *rd, const struct dev_spec *spec, const struct stat *st,
		      struct report *r)
{
	uint64_t size;
	int ret, read_only = 0;

	ret = safety_check_block(spec->name, spec->option, st->st_rdev, r);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < SAFETY_TRIES; i++) {
		rd->fd = open(spec->name, O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);
		if (rd->fd >= 0 || errno != EBUSY)
			break;
		safety_pause();
	}
	if (rd->fd < 0)
		return open_error(spec, -errno, r);
	if (ioctl(rd->fd, BLKROGET, &read_only) == 0 && read_only)
		return report(r, -EROFS, "%s: %s is read-only (blockdev --setrw makes it writable)",
			      spec->option, spec->name);
	if (ioctl(rd->fd, BLKGETSIZE64, &size) < 0)
		return report(r, -errno, "%s: %s: cannot read its size: %s", spec->option,
			      spec->name, strerror(errno));
	if (spec->size > size)
		return report(r, -EINVAL,
			      "%s: %s has %" PRIu64 " bytes, %s asks for %" PRIu64
			      ": give at most the device's size",
			      spec->option, spec->name, size, size_option(spec), spec->size);
	if (spec->size)
		size = spec->size; /* a part of it */
	if (size < DEV_UNIT)
		return report(r, -EINVAL, "%s: %s has only %" PRIu64 " bytes", spec->option,
			      spec->name, size);
	device_init(&rd->dev, &real_ops, DEV_KIND_BLOCK, spec->name, size);
	rd->rdev = st->st_rdev;
	rd->present = rd->dev.size;
	rd->dev.volatile_cache = geometry_volatile_cache(st->st_rdev);
	return apply_geometry(rd, rd->fd, true, r);
}

/* The size that the file is to have, from what the user said and what is there. */
static int choose_size(const struct dev_spec *spec, uint64_t present, uint64_t *size,
		       struct report *r)
{
	*size = spec->size ? spec->size : present;
	if (spec->size && present > spec->size)
		return report(r, -EINVAL,
			      "%s: %s exists with %" PRIu64 " bytes, %s asks for %" PRIu64
			      ": a file is never shortened; leave the size out, or remove the file",
			      spec->option, spec->name, present, size_option(spec), spec->size);
	if (*size < DEV_UNIT)
		return report(r, -EINVAL, "%s: %s has only %" PRIu64 " bytes: give %s",
			      spec->option, spec->name, *size, size_option(spec));
	return 0;
}

static int open_file(struct real_device *rd, const struct dev_spec *spec, const struct stat *st,
		     struct report *r)
{
	char dir[PATH_MAX];
	uint64_t size;
	bool direct;
	int ret;

	ret = safety_check_file(spec->name, spec->option, st, r);
	if (ret)
		return ret;
	ret = choose_size(spec, (uint64_t)st->st_size, &size, r);
	if (ret)
		return ret;
	ret = real_open(spec->name, 0, &direct);
	if (ret < 0)
		return open_error(spec, ret, r);
	rd->fd = ret;
	ret = safety_lock_file(rd->fd, spec->name, spec->option, r);
	if (ret)
		return ret;
	device_init(&rd->dev, &real_ops, DEV_KIND_FILE, spec->name, size);
	rd->st_dev = st->st_dev;
	rd->st_ino = st->st_ino;
	rd->present = (uint64_t)st->st_size;
	rd->dev.volatile_cache = geometry_volatile_cache(st->st_dev);
	ret = apply_geometry(rd, rd->fd, direct, r);
	if (ret || rd->present >= rd->dev.size)
		return ret;
	path_folder(spec->name, dir, sizeof(dir));
	return prepare_check_space(rd, dir, rd->dev.size - rd->present, r);
}

/*
 * A file that does not exist yet: everything that could be wrong with making it, without making it.
 * What direct I/O its file system offers is asked of a nameless file, which vanishes when closed.
 */
static int open_missing(struct real_device *rd, const struct dev_spec *spec, struct report *r)
{
	char dir[PATH_MAX];
	struct stat st;
	bool direct;
	int fd, ret;

	path_folder(spec->name, dir, sizeof(dir));
	if (stat(dir, &st))
		return report(r, -errno, "%s: cannot make %s: its folder: %s", spec->option,
			      spec->name, strerror(errno));
	if (!strncmp(spec->name, "/dev/", 5) && !strcmp(dir, "/dev"))
		return report(r, -ENOENT, "%s: there is no device %s (lsblk lists those there are)",
			      spec->option, spec->name);
	if (!spec->size)
		return report(r, -ENOENT, "%s: %s does not exist; to have it made, give %s",
			      spec->option, spec->name, size_option(spec));
	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS))
		return open_error(spec, -errno, r);
	if (spec->size < DEV_UNIT)
		return report(r, -EINVAL,
			      "%s: %s: a size of %" PRIu64 " bytes is too small: give %s",
			      spec->option, spec->name, spec->size, size_option(spec));
	device_init(&rd->dev, &real_ops, DEV_KIND_FILE, spec->name, spec->size);
	rd->dev.created = true;
	rd->dev.volatile_cache = geometry_volatile_cache(st.st_dev);
	ret = prepare_check_space(rd, dir, rd->dev.size, r);
	if (ret)
		return ret;
	fd = real_open(dir, O_TMPFILE, &direct);
	if (fd == -EACCES || fd == -EPERM || fd == -EROFS)
		return open_error(spec, fd, r);
	if (fd < 0) {
		/* No nameless files here (network file systems): the large unit fits everywhere. */
		rd->direct = true;
		rd->dev.block_size = rd->dev.write_unit = rd->dev.mem_align = DEV_UNIT;
		return 0;
	}
	ret = apply_geometry(rd, fd, direct, r);
	close(fd);
	return ret;
}

static const char *kind_name(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a folder";
	if (S_ISCHR(mode))
		return "a character device";
	if (S_ISFIFO(mode))
		return "a pipe";
	return S_ISSOCK(mode) ? "a socket" : "no file";
}

static enum file_prepare choose_prepare(const struct dev_spec *spec)
{
	if (spec->prepare != FILE_PREPARE_DEFAULT)
		return spec->prepare;
	return spec->is_cache ? FILE_PREPARE_FULL : FILE_PREPARE_ALLOCATE;
}

int real_device_create(struct device **out, const struct dev_spec *spec, struct report *r)
{
	struct real_device *rd;
	struct stat st;
	int ret;

	rd = calloc(1, sizeof(*rd));
	if (!rd)
		return report(r, -ENOMEM, "%s: out of memory", spec->option);
	rd->fd = -1;
	snprintf(rd->option, sizeof(rd->option), "%s", spec->option);
	rd->prepare = choose_prepare(spec);
	rd->stop = spec->stop;
	rd->stop_arg = spec->stop_arg;
	ret = ring_probe(spec->option, r);
	if (ret)
		goto err;
	if (stat(spec->name, &st)) {
		ret = -errno;
		if (ret == -ENOENT)
			ret = open_missing(rd, spec, r);
		else
			open_error(spec, ret, r);
	} else if (S_ISBLK(st.st_mode)) {
		ret = open_block(rd, spec, &st, r);
	} else if (S_ISREG(st.st_mode)) {
		ret = open_file(rd, spec, &st, r);
	} else {
		ret = report(r, -EINVAL, "%s: %s is %s: name a block device or a file",
			     spec->option, spec->name, kind_name(st.st_mode));
	}
	if (ret)
		goto err;
	rd->dev.persistent = true;
	*out = &rd->dev;
	return 0;
err:
	if (rd->fd >= 0)
		close(rd->fd);
	free(rd);
	return ret;
}
