/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vSAN (OSA) disk group: one cache device as write buffer in front of 1..7 capacity devices.
 *
 * This is the whole public face of the core. It knows nothing of fio: the ioengine, the tools, the tests
 * and the bare driver all use it. Order of calls:
 *
 *	disk_group_open()  - reads, validates, plans; writes nothing
 *	disk_group_volume() for each virtual disk
 *	disk_group_start() - prepares files, formats or recovers, starts the background worker
 *	dg_queue_create() in each I/O thread, dg_submit()/dg_commit()/dg_poll(), dg_queue_destroy()
 *	disk_group_close() - waits for the background work, closes cleanly
 */
#ifndef VSAN_DISK_GROUP_H
#define VSAN_DISK_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"
#include "device/device.h"
#include "device/ioq.h"
#include "report.h"

#define DG_BLOCK        4096u /* index, checksum and destage unit, bytes (reference: vSAN, 4 KiB) */
#define DG_EXTENT       (1u << 20) /* capacity space and stripe segment, bytes */
#define DG_MAX_CAPACITY 7u         /* capacity devices (reference: vSAN maximums) */
#define DG_MAX_BUCKETS  64u
#define DG_MAX_STRIPES  12u
#define DG_NAME_MAX     255u            /* bytes of a volume's name */
#define DG_WB_MAX       600000000000ull /* write buffer limit, bytes (reference: vSAN OSA, 600 GB) */

enum dg_target { DG_TARGET_GROUP, DG_TARGET_CACHE, DG_TARGET_CAPACITY };
enum dg_durability { DG_DURABLE_WRITE, DG_DURABLE_FUA };
enum dg_page_allocation { DG_PAGES_SCATTERED, DG_PAGES_CONTIGUOUS };
enum dg_format { DG_FORMAT_AUTO, DG_FORMAT_ALWAYS, DG_FORMAT_NEVER };
enum dg_drain { DG_DRAIN_NEVER = 0, DG_DRAIN_START = 1, DG_DRAIN_END = 2, DG_DRAIN_BOTH = 3 };
enum dg_prefilled { DG_PREFILLED_NONE, DG_PREFILLED_CAPACITY, DG_PREFILLED_BUFFER };

/* Everything that shapes a group. disk_group_options_default() fills the defaults. */
struct dg_options {
	const char *cache; /* device_spec.name of the cache device */
	const char *capacity[DG_MAX_CAPACITY];
	unsigned int ncapacity;
	uint64_t cache_size, capacity_size; /* bytes; 0: the device's own */
	enum file_prepare file_prepare;
	bool cache_fresh, capacity_fresh; /* modelled drives: condition */
	bool drive_data;                  /* modelled drives keep their data in memory */
	uint64_t drive_seed;
	enum dg_prefilled prefilled;
	uint64_t write_buffer_size; /* bytes; 0: min(cache device, 600 GB) */
	double write_buffer_pct;    /* percent of the cache device; 0: use bytes */
	unsigned int buckets;       /* 2..64 */
	enum dg_page_allocation page_allocation;
	unsigned int stripe_width;                /* 1..12, at most ncapacity */
	double destage_start, destage_unthrottle; /* percent of the buffer */
	uint64_t destage_sleep_ns;                /* base sleep between rounds */
	uint32_t destage_batch;     /* bytes of dirty blocks a round (window) per capacity device */
	unsigned int destage_depth; /* I/Os in flight per capacity device */
	enum dg_drain drain;
	enum dg_durability durability;
	enum dg_format format;
	bool allow_overwrite;
	enum dg_target target;
	/* congestion: percent of fill where ssd congestion starts and is 255; delay law */
	double congestion_ssd_low, congestion_ssd_high;
	/* delay = rand(0.5..1.5) * delay_us * (2^(c/tau) - 1) */
	double congestion_delay_us, congestion_tau;
	/* asked while files are being filled: true makes the start undo it and fail; may be NULL */
	bool (*stop)(void *stop_arg);
	void *stop_arg;
	bool skip_crc;  /* benchmarks only: no CRC32C of the data */
	bool no_worker; /* bare driver: no thread; the caller runs disk_group_work() */
	/* tests: devices to use instead of opening by name; owned by the group */
	struct device *given[1 + DG_MAX_CAPACITY];
};

void disk_group_options_default(struct dg_options *o);

struct disk_group;
struct dg_volume;
struct dg_queue;

/*
 * Open the devices, find out what is on them, validate the options, plan the layout. Nothing is written.
 * @o is copied, with the strings. Errors are described in @r: in use, mounted, foreign content, another
 * group, wrong set or order of members, too small, impossible options. Main thread.
 */
int disk_group_open(struct disk_group **out, const struct dg_options *o, const struct vclock *clock,
		    struct report *r);

/*
 * The volume @name of at least @size bytes (0: as the catalog has it; -ENOENT when it has none).
 * Creates it, or grows it when the catalog's is smaller; refuses one that cannot fit. Durable in the
 * catalog before the first record that names it. Any thread, before or after disk_group_start().
 */
int disk_group_volume(struct disk_group *g, const char *name, uint64_t size, struct dg_volume **out,
		      struct report *r);
uint64_t dg_volume_size(const struct dg_volume *v); /* bytes, as asked for */
const char *dg_volume_name(const struct dg_volume *v);

/* The volume after @v in the order of creation, the first for NULL; NULL at the end. */
const struct dg_volume *disk_group_next_volume(const struct disk_group *g,
					       const struct dg_volume *v);

/*
 * Prepare files, format or load or recover, mark the group in use (if @writing), start the worker.
 * Idempotent: every job calls it; @writing may come later. May take long (progress on a terminal). Any
 * thread. drain=start is done here.
 */
int disk_group_start(struct disk_group *g, bool writing, struct report *r);

/*
 * Stop: all queues are gone. drain=end destages everything first. Seals the current bucket, writes the
 * clean mark, frees. Returns 0 or the first error that left the group dirty (described in @r); @g is
 * gone in any case. NULL is fine.
 */
int disk_group_close(struct disk_group *g, struct report *r);

/* What disk_group_open() planned: layout, memory and disk needs, estimated prepare time, for dry_run. */
void disk_group_print_plan(const struct disk_group *g, FILE *f);

/* Bytes of memory that the devices' contents may take: 0 when nothing is kept in memory. */
uint64_t disk_group_data_bytes(struct disk_group *g);

/* ---- I/O ---------------------------------------------------------------------------------------- */

enum dg_op { DG_READ, DG_WRITE, DG_TRIM, DG_SYNC };

struct dg_request; /* private */

/*
 * One I/O of the user: any offset and length in multiples of 512 bytes inside the volume. The caller
 * owns it and the buffer (kept until dg_poll() returns it); zero it once before the first use.
 */
struct dg_io {
	struct dg_volume *vol;
	void *buf;
	uint64_t offset; /* bytes */
	uint32_t len;    /* bytes, up to 4 MiB; DG_TRIM: up to 4 GiB - 512; DG_SYNC: ignored */
	uint8_t op;      /* enum dg_op */
	bool wb_hit;     /* out, DG_READ: every block was found in the write buffer */
	int res;         /* out: 0 or a negative errno */
	void *user;      /* the caller's */

	struct dg_request *req; /* private from here */
	struct dg_io *next;
	uint64_t start_ns;
	uint32_t pending;
};

/*
 * A queue belongs to one thread. @depth: I/Os that the caller keeps in flight at most. @may_spin: see
 * ioq_create().
 */
int dg_queue_create(struct dg_queue **out, struct disk_group *g, unsigned int depth, bool may_spin,
		    struct report *r);
void dg_queue_destroy(struct dg_queue *q); /* nothing in flight; NULL is fine */

/*
 * Take an I/O. Never blocks, never fails here: errors come back in io->res. Work is batched until
 * dg_commit() or dg_poll().
 */
void dg_submit(struct dg_queue *q, struct dg_io *io);

/* Start everything that was submitted: log writes, one kick to the kernel. */
void dg_commit(struct dg_queue *q);

/*
 * Return between @min and @max finished I/Os in @out; commits first; sleeps until there are @min or the
 * clock reaches @deadline_ns (TIME_NEVER: no limit). Under a virtual clock it never sleeps and may
 * return fewer.
 */
unsigned int dg_poll(struct dg_queue *q, unsigned int min, unsigned int max, uint64_t deadline_ns,
		     struct dg_io **out);

/* Virtual driver: the earliest time at which this queue has something to do, TIME_NEVER if none. */
uint64_t dg_queue_next(const struct dg_queue *q);

/*
 * One step of all background work (sealing, elevators, congestion): what the worker thread runs. For the
 * bare driver (no_worker). Returns the time of the next thing to do, TIME_NEVER if it waits for others.
 */
uint64_t disk_group_work(struct disk_group *g);

/* ---- statistics --------------------------------------------------------------------------------- */

struct dg_stall {
	uint64_t count, nsec;
};

/* Cumulative since disk_group_start() unless said. */
struct dg_stats {
	uint64_t now_ns, start_ns;
	uint64_t ios[4], bytes[4], nsec[4]; /* by enum dg_op, completed; nsec: sum of latencies */
	uint64_t in_flight;
	uint64_t errors;
	uint64_t blocks_wb_read, blocks_capacity_read, blocks_never_written;
	struct dg_stall no_page, congestion, overlap;
	/* now; used: not free, overwritten ones included */
	uint64_t pages, pages_used, pages_overwritten;
	uint64_t bytes_overwritten; /* bytes of buffered pages that became stale */
	uint64_t bytes_destaged, zero_bytes_destaged, buckets_destaged;
	uint64_t destage_reads, destage_read_nsec, destage_read_bytes;
	uint64_t destage_writes, destage_write_nsec, destage_write_bytes;
	double ssd_congestion, log_congestion, mem_congestion; /* now, filtered, 0..255 */
	double sleep_ms;             /* now: the elevator's sleep between rounds */
	int cur_bucket, elev_bucket; /* now; -1: none */
	unsigned int buckets;
	uint64_t bucket_pages, bucket_used[DG_MAX_BUCKETS]; /* now */
	double fill_start_pct, fill_pct, fill_max_pct;
	uint64_t
		first_full_ns; /* when the first write found no page or ssd congestion was first >= 1; 0: never */
	uint64_t capacity_used; /* bytes in extents that hold data or are reserved */
	uint64_t memory_bytes;  /* what the group's tables take */
	struct lateness lateness;
};

/* A snapshot; any thread. Counters are read without stopping anybody. */
void disk_group_stats(struct disk_group *g, struct dg_stats *out);

unsigned int disk_group_devices(const struct disk_group *g); /* 1 + capacity devices */
const struct device *disk_group_device(const struct disk_group *g,
				       unsigned int i); /* 0: the cache */
bool disk_group_device_failed(const struct disk_group *g, unsigned int i);
const struct dg_options *disk_group_options(const struct disk_group *g);

#endif
