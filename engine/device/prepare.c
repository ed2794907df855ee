/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making files: created, grown, allocated, filled. The first bytes that a run writes to a device;
 * undone when it fails. Set-up only, one thread.
 *
 * A cache file is filled, since a block that the file system has only reserved is not durable when
 * a direct write of it completes (the file system's own note that it is written comes later), and
 * takes twice as long to write. Zeros do: it is the being written that counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ioq.h"
#include "real_device.h"

#define PIECE       (1u << 20)
#define DEPTH       8
#define STEP        (64ull << 20) /* the file grows by this, then is filled so far */
#define QUIET_NS    (2 * NSEC_PER_SEC)
#define PROGRESS_NS (NSEC_PER_SEC / 2)

static const struct vclock wall; /* not virtual, hence constant */

int prepare_check_space(const struct real_device *rd, const char *dir, uint64_t need,
			struct report *r)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (rd->prepare == FILE_PREPARE_SPARSE || statvfs(dir, &fs))
		return 0;
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	/* A file that is to grow may have its blocks already: then the allocation decides. */
	if (need <= free_bytes || (!rd->dev.created && rd->present))
		return 0;
	return report(r, -ENOSPC,
		      "%s: %s needs %" PRIu64 " bytes, but the file system of %s has only %" PRIu64
		      " free: make room, give a smaller size, or file_prepare=sparse",
		      rd->option, rd->dev.name, need, dir, free_bytes);
}

uint64_t device_prepare_bytes(const struct device *dev)
{
	const struct real_device *rd = (const struct real_device *)dev;

	if (dev->kind != DEV_KIND_FILE || rd->prepare != FILE_PREPARE_FULL ||
	    rd->present >= dev->size)
		return 0;
	return dev->size - rd->present;
}

/* A line on the terminal about what takes long. */
struct progress {
	const struct real_device *rd;
	uint64_t start_ns, next_ns;
	bool shown;
};

static void progress_show(struct progress *p, uint64_t done, uint64_t total)
{
	uint64_t now = vclock_now(&wall);

	if (now < p->next_ns)
		return;
	p->next_ns = now + PROGRESS_NS;
	p->shown = true;
	fprintf(stderr, "\rfio-vsan: filling %s: %" PRIu64 " of %" PRIu64 " MiB (%u%%) ",
		p->rd->dev.name, done >> 20, total >> 20, (unsigned int)(done * 100 / total));
}

static void progress_start(struct progress *p, const struct real_device *rd)
{
	*p = (struct progress){.rd = rd, .start_ns = vclock_now(&wall)};
	p->next_ns = isatty(STDERR_FILENO) ? p->start_ns + QUIET_NS : TIME_NEVER;
}

static void progress_end(const struct progress *p, int err)
{
	if (!p->shown)
		return;
	fprintf(stderr, "\rfio-vsan: filling %s: %s after %u s%20s\n", p->rd->dev.name,
		err ? "failed" : "done",
		(unsigned int)((vclock_now(&wall) - p->start_ns) / NSEC_PER_SEC), "");
}

/* Writes in flight, and the first error. */
struct fill {
	struct device *dev;
	struct ioq *q;
	void *zeros;
	uint64_t next, end; /* bytes: still to be written in this step */
	uint64_t done;
	int err;
};

struct fill_req {
	struct dev_req req;
	struct fill *fill;
};

static bool fill_next(struct fill_req *f)
{
	struct fill *fill = f->fill;
	uint64_t left = fill->end - fill->next;
	int ret;

	if (fill->err || !left)
		return false;
	f->req.offset = fill->next;
	f->req.len = left < PIECE ? (uint32_t)left : PIECE;
	fill->next += f->req.len;
	ret = ioq_submit(fill->q, &f->req);
	if (ret < 0)
		fill->err = ret;
	return !ret;
}

static void fill_done(struct dev_req *req, int res)
{
	struct fill_req *f = (struct fill_req *)req;

	if (res && !f->fill->err)
		f->fill->err = res;
	if (!res)
		f->fill->done += req->len;
	fill_next(f);
}

/* Fill from @from on to the device's end, growing the file step by step. 0 or a negative errno. */
static int fill_file(struct real_device *rd, uint64_t from)
{
	struct fill fill = {.dev = &rd->dev, .next = from};
	struct fill_req reqs[DEPTH];
	uint64_t size = rd->dev.size;
	struct progress progress;
	int ret;

	if (posix_memalign(&fill.zeros, DEV_UNIT, PIECE))
		return -ENOMEM;
	memset(fill.zeros, 0, PIECE);
	ret = ioq_create(&fill.q, &wall, DEPTH, false);
	if (ret)
		goto out_free;
	ret = ioq_attach(fill.q, &rd->dev);
	if (ret)
		goto out_queue;

	progress_start(&progress, rd);
	while (!fill.err && fill.next < size) {
		/*
		 * The file is never much longer than it is filled: whoever kills us leaves one that
		 * the next run takes up where this one ended. Not written by growing it, as that is
		 * serialized.
		 */
		fill.end = size - fill.next < STEP ? size : fill.next + STEP;
		if (ftruncate(rd->fd, (off_t)fill.end)) {
			fill.err = -errno;
			break;
		}
		for (unsigned int i = 0; i < DEPTH; i++) {
			reqs[i] = (struct fill_req){.fill = &fill,
						    .req = {.dev = &rd->dev,
							    .buf = fill.zeros,
							    .op = DEV_WRITE,
							    .done = fill_done}};
			if (!fill_next(&reqs[i]))
				break;
		}
		while (ioq_in_flight(fill.q)) {
			ioq_wait(fill.q, TIME_NEVER);
			ioq_poll(fill.q);
			if (!fill.err && rd->stop && rd->stop(rd->stop_arg))
				fill.err = -ECANCELED;
			progress_show(&progress, fill.done, size - from);
		}
	}
	progress_end(&progress, fill.err);
	ret = fill.err;
out_queue:
	ioq_destroy(fill.q);
out_free:
	free(fill.zeros);
	return ret;
}

/* 0; 1: the file system cannot; negative errno. */
static int allocate(int fd, int mode, uint64_t from, uint64_t to)
{
	int ret;

	do {
		ret = fallocate(fd, mode, (off_t)from, (off_t)(to - from));
	} while (ret && errno == EINTR);
	if (!ret)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 1 : -errno;
}

/* Give the file its size, from @from on. 0 or a negative errno. */
static int extend(struct real_device *rd, uint64_t from)
{
	uint64_t aligned = from - from % DEV_UNIT, size = rd->dev.size;
	int ret;

	switch (rd->prepare) {
	case FILE_PREPARE_SPARSE:
		return ftruncate(rd->fd, (off_t)size) ? -errno : 0;
	case FILE_PREPARE_ALLOCATE:
		ret = allocate(rd->fd, 0, from, size);
		if (ret <= 0)
			return ret;
		break; /* then it has to be written */
	default:
		/* Space first: few extents, and a full file system is noticed before an hour of
		 * writing. */
		ret = allocate(rd->fd, FALLOC_FL_KEEP_SIZE, from, size);
		if (ret < 0)
			return ret;
		break;
	}
	/* Direct writes need whole blocks; a block that the old file has a part of keeps that part.
	 */
	if (aligned != from) {
		if (ftruncate(rd->fd, (off_t)(aligned + DEV_UNIT)))
			return -errno;
		aligned += DEV_UNIT;
	}
	return aligned < size ? fill_file(rd, aligned) : 0;
}

static int sync_folder(const char *path)
{
	char dir[PATH_MAX];
	int fd, ret = 0;

	path_folder(path, dir, sizeof(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd) && errno != EINVAL) /* some file systems have nothing to sync */
		ret = -errno;
	close(fd);
	return ret;
}

static int failed(const struct real_device *rd, int err, struct report *r)
{
	struct statvfs fs;
	uint64_t free_bytes = 0;
	char dir[PATH_MAX];

	path_folder(rd->dev.name, dir, sizeof(dir));
	if (!statvfs(dir, &fs))
		free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (err == -ENOSPC || err == -EDQUOT)
		return report(r, err,
			      "%s: %s needs %" PRIu64
			      " bytes, but %s: the file system of %s has %" PRIu64
			      " free: make room or give a smaller size",
			      rd->option, rd->dev.name, rd->dev.size - rd->present,
			      err == -ENOSPC ? "there is no room" : "the quota is used up", dir,
			      free_bytes);
	if (err == -ECANCELED)
		return report(r, err, "%s: interrupted while %s was being filled; nothing was kept",
			      rd->option, rd->dev.name);
	if (err == -EFBIG)
		return report(r, err,
			      "%s: %s: a file of %" PRIu64
			      " bytes is more than its file system or the limit ulimit -f allows",
			      rd->option, rd->dev.name, rd->dev.size);
	return report(r, err, "%s: cannot prepare %s: %s", rd->option, rd->dev.name,
		      strerror(-err));
}

/* The file did not exist when the device was opened. */
static int create(struct real_device *rd, struct report *r)
{
	struct geometry g;
	struct stat st;
	bool direct;
	int ret;

	ret = real_open(rd->dev.name, O_CREAT | O_EXCL, &direct);
	if (ret == -EEXIST)
		return report(r, ret, "%s: %s did not exist a moment ago, now it does: start again",
			      rd->option, rd->dev.name);
	if (ret < 0)
		return report(r, ret, "%s: cannot create %s: %s", rd->option, rd->dev.name,
			      strerror(-ret));
	rd->fd = ret;
	ret = safety_lock_file(rd->fd, rd->dev.name, rd->option, r);
	if (ret)
		return ret;
	if (fstat(rd->fd, &st))
		return report(r, -errno, "%s: %s: %s", rd->option, rd->dev.name, strerror(errno));
	rd->st_dev = st.st_dev;
	rd->st_ino = st.st_ino;
	/* The alignments were found at opening and stay; what may differ is whether direct I/O
	 * works. */
	ret = geometry_find(rd->fd, false, direct, rd, &g, r);
	if (ret)
		return ret;
	if (direct && !g.direct && fcntl(rd->fd, F_SETFL, 0) < 0)
		return report(r, -errno, "%s: %s: cannot leave direct I/O: %s", rd->option,
			      rd->dev.name, strerror(errno));
	rd->direct = g.direct;
	return 0;
}

/* What filling the file took is no part of what the run does. */
static void forget_stats(struct dev_stats *stats)
{
	for (unsigned int op = 0; op < 3; op++) {
		atomic_store(&stats->ios[op], 0);
		atomic_store(&stats->bytes[op], 0);
		atomic_store(&stats->nsec[op], 0);
	}
}

int device_prepare(struct device *dev, struct report *r)
{
	struct real_device *rd = (struct real_device *)dev;
	bool made;
	int ret;

	if (dev->kind != DEV_KIND_FILE || rd->present >= dev->size)
		return 0;
	made = rd->fd < 0;
	if (made) {
		ret = create(rd, r);
		if (ret)
			goto undo;
	}
	ret = extend(rd, rd->present);
	if (!ret && fsync(rd->fd))
		ret = -errno;
	if (!ret && made)
		ret = sync_folder(dev->name);
	if (ret) {
		failed(rd, ret, r);
		goto undo;
	}
	rd->present = dev->size;
	forget_stats(&dev->stats);
	return 0;

undo:
	/* Leave things as they were found. */
	if (made && rd->fd >= 0) {
		unlink(dev->name);
		close(rd->fd);
		rd->fd = -1;
	} else if (!made && ftruncate(rd->fd, (off_t)rd->present)) {
		fprintf(stderr, "fio-vsan: warning: %s: cannot give %s its old size back: %s\n",
			rd->option, dev->name, strerror(errno));
	}
	return ret;
}
