/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device of a disk group: where bytes go and how long that takes.
 *
 * Real ones (block device or file, through io_uring), plain memory, and modelled drives hide behind
 * one small ops table. I/O is asynchronous and goes through an I/O queue (ioq.h) that belongs to
 * one thread; a device may be used by many queues at the same time.
 */
#ifndef VSAN_DEVICE_H
#define VSAN_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../clock.h"
#include "../drive_profile.h"
#include "../report.h"

struct device;
struct ioq;

enum dev_kind {
	DEV_KIND_BLOCK,    /* block device */
	DEV_KIND_FILE,     /* regular file */
	DEV_KIND_MEMORY,   /* @memory: plain memory, no timing */
	DEV_KIND_MODELLED, /* @NAME: the timing of a drive profile */
	DEV_KIND_OTHER,    /* made by a test, e.g. one that injects faults */
};

enum dev_op {
	DEV_READ,
	DEV_WRITE,
	DEV_FLUSH, /* everything completed before it was issued becomes durable */
};

#define DEV_FUA 1u /* flag of a DEV_WRITE: durable before it completes */

/*
 * One I/O. Filled by the caller, who keeps it and the buffer alive until done() was called or
 * ioq_submit() said that it will not be. offset and len are multiples of device.block_size.
 */
struct dev_req {
	struct device *dev;
	void *buf;
	uint64_t offset; /* bytes */
	uint32_t len;    /* bytes; 0 for DEV_FLUSH */
	uint8_t op;      /* enum dev_op */
	uint8_t flags;   /* DEV_FUA */

	/* Called by ioq_poll() in the thread that owns the queue. @res: 0 or a negative errno;
	 * never short. */
	void (*done)(struct dev_req *req, int res);
	void *owner; /* the caller's */

	/* The device layer's own while the request is in flight. */
	uint32_t done_bytes;
	uint32_t heap_pos;
	uint64_t issued_ns;
	uint64_t due_ns;
	struct dev_req *next;
};

/*
 * Counted in each queue and added here every 64 requests, before a sleep and when the queue is
 * destroyed: exact once the queues are gone, a little behind while they run.
 */
struct dev_stats {
	_Atomic uint64_t ios[3];   /* by enum dev_op, completed */
	_Atomic uint64_t bytes[3]; /* completed */
	_Atomic uint64_t
		nsec[3]; /* sum of the completed requests' times; 0 for devices without timing */
	_Atomic uint64_t errors;
};

struct dev_ops {
	/*
	 * Start @req on @q. Returns 0: in flight, done() will be called; 1: already done,
	 * successfully, done() will not be called; negative errno: failed, done() will not be
	 * called. Must not block on the device.
	 */
	int (*submit)(struct device *dev, struct ioq *q, struct dev_req *req);
	/* Optional: called once for each queue that will use the device (e.g. to register a file).
	 */
	int (*attach)(struct device *dev, struct ioq *q);
	/* Close and free. No request is in flight. */
	void (*close)(struct device *dev);
};

struct device {
	const struct dev_ops *ops;
	char name[256]; /* as the user wrote it: a path, @NAME, @memory */
	enum dev_kind kind;
	uint64_t size;       /* usable bytes, a multiple of 4096 */
	uint32_t block_size; /* smallest and alignment unit of offset and len: 512 or 4096 */
	/*
	 * Smaller writes work, but make the drive or the file system read, merge and write again:
	 * block_size or 4096.
	 */
	uint32_t write_unit;
	uint32_t mem_align; /* alignment of buf; 1 where any address will do */
	bool stores_data;   /* false: reads return nothing meaningful (modelled, drive_data=none) */
	bool persistent;    /* survives the process: metadata found on it is the truth */
	bool volatile_cache; /* completed writes may be lost at power loss without flush/FUA */
	bool has_timing;     /* a model decides when I/O completes */
	bool created;        /* the file was made by this open; prepare will fill it */
	const struct drive_profile *profile; /* modelled: owned by the device; else NULL */
	bool fresh;                          /* modelled: condition=fresh */
	struct dev_stats stats;
};

enum file_prepare {
	FILE_PREPARE_DEFAULT,
	FILE_PREPARE_FULL,
	FILE_PREPARE_ALLOCATE,
	FILE_PREPARE_SPARSE
};

/* What the user said about one device. */
struct dev_spec {
	const char *name;   /* path, "@NAME", "@memory" */
	const char *option; /* the option that named it, for messages: "cache_device" */
	uint64_t size; /* cache_size/capacity_size in bytes; 0: the device's or the profile's own */
	bool is_cache; /* DEFAULT file_prepare: full for the cache, allocate for capacity */
	bool fresh;    /* modelled: start fresh, not in steady state */
	bool store_data; /* modelled: keep the data in memory */
	uint64_t seed;   /* modelled */
	enum file_prepare prepare;
	bool allow_overwrite; /* foreign content is no reason to refuse */
	/*
	 * Optional: asked again and again while device_prepare() fills a file; true (the user
	 * pressed Ctrl-C, say) makes it undo what it did and return -ECANCELED. @stop_arg outlives
	 * the device.
	 */
	bool (*stop)(void *stop_arg);
	void *stop_arg;
};

/*
 * Open a device without writing anything to it: validates that it exists (or can be created: then
 * only the directory and the free space are checked), is not mounted or in use, takes the lock
 * (O_EXCL for a block device, an OFD lock for a file), and finds size, block size, alignment and
 * volatile_cache. What is on it is not judged here, see device_probe_foreign(). Describes errors in
 * @r. Main thread, before any queue exists.
 */
int device_open(struct device **out, const struct dev_spec *spec, const struct vclock *clock,
		struct report *r);

/*
 * First write to the device: create/grow the file, fill or allocate it as spec said, with progress
 * on a terminal (stderr). Only what device_open() made or found too small... is touched: an
 * existing file is never shortened. A no-op for block, memory and modelled devices. Data of an
 * existing file stays.
 */
int device_prepare(struct device *dev, struct report *r);

/* How long device_prepare() would take and write: bytes to write, for dry_run. 0: nothing. */
uint64_t device_prepare_bytes(const struct device *dev);

/*
 * Refuse a device that holds something that is not ours (file system, partition table, RAID member,
 * any non-zero data in the first 64 KiB of a file or device that is not a disk group's): -EEXIST,
 * described. The caller has looked for a disk group's label before. No-op for memory/modelled.
 */
int device_probe_foreign(struct device *dev, const struct dev_spec *spec, struct report *r);

/* Close and free @dev (NULL is fine). A file made by device_open() and never prepared leaves no
 * trace. */
void device_close(struct device *dev);

/*
 * Synchronous helpers for set-up, recovery and tools; 0 or -errno. Any thread, any buffer. They
 * take no time on a modelled drive and leave its state alone. Files and block devices do not count
 * them in stats.
 */
int device_read_sync(struct device *dev, void *buf, size_t len, uint64_t offset);
int device_write_sync(struct device *dev, const void *buf, size_t len, uint64_t offset);
int device_flush_sync(struct device *dev);

#endif
