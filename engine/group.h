/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of a disk group, shared by the files that make it up and by nobody else.
 *
 * Who owns what:
 *   write buffer (buckets, reservation)  write_buffer.c   under wb.lock
 *   block map and in-flight table        block_map.c      under the shard's lock
 *   extents and placement                extents.c        map bits: the worker; assignment: under
 * lock log streams                          log_stream.c     each belongs to one queue, i.e. one
 * thread sealing, freeing, superblock         metadata.c       the worker only (and set-up, before
 * it runs) elevators                            elevator.c       the worker only congestion
 * congestion.c     written by the worker, read by all Lock order: wb.lock, then a shard's lock.
 * extents.lock is taken alone.
 */
#ifndef VSAN_GROUP_H
#define VSAN_GROUP_H

#include <pthread.h>
#include <stdatomic.h>

#include "block_map.h"
#include "disk_group.h"
#include "format.h"

#define REQ_MAX_BYTES  (1u << 20)                     /* larger I/O is cut */
#define REQ_MAX_BLOCKS (REQ_MAX_BYTES / DG_BLOCK + 1) /* an unaligned one touches one more */

/* ---- extents.c: capacity space ------------------------------------------------------------------
 */

#define EXTENT_BLOCKS (DG_EXTENT / DG_BLOCK)

/* 1 MiB of a capacity device: 64 bytes of memory. */
struct extent {
	_Atomic uint64_t map[4];  /* bit set: the block has data on capacity */
	_Atomic uint32_t destage; /* counts destages into it: readers notice that one passed them */
	uint32_t volume;          /* 0: free */
	uint32_t logical;         /* extent number in the volume */
	uint32_t pad[3];
};

struct capacity {
	struct device *dev;
	uint32_t index; /* 0-based among the capacity devices */
	uint64_t table_offset, data_offset;
	uint32_t nextents, used; /* used: assigned extents, under extents_lock */
	uint64_t promised;       /* extents that the volumes placed here may need in all */
	struct extent *extent;
	uint32_t next_free;  /* where to look for a free extent */
	uint32_t ntable;     /* table blocks */
	uint8_t *table_slot; /* which copy is the newest, per table block */
	_Atomic uint8_t *table_dirty;
	uint64_t table_gen;
	bool written; /* since its last flush; worker only */
	atomic_bool failed;
};

struct dg_volume {
	struct disk_group *g;
	struct dg_volume *next;
	struct volume_info info;
	uint64_t asked;           /* bytes that the user sees */
	bool durable;             /* the catalog on the device has it at this size */
	uint32_t slot_copy;       /* catalog copy that is the newest */
	uint64_t nextents;        /* logical extents at its present size */
	uint64_t max_extents;     /* room of the table below */
	_Atomic uint32_t *extent; /* [logical extent]: extent of its device + 1; 0: none yet */
	uint64_t raw_base;        /* raw targets: where it begins on the tier */
};

/* A place on a capacity device. */
struct place {
	struct capacity *cap; /* NULL: no extent is assigned */
	uint32_t extent;
	uint64_t offset; /* bytes on the device */
};

uint32_t volume_device(const struct dg_volume *v, uint64_t logical);
int extents_init(struct disk_group *g, struct capacity *c);
void extents_free(struct capacity *c);
uint64_t extents_table_bytes(uint64_t dev_size, uint32_t *nextents, uint32_t *ntable);
int extents_assign(struct dg_volume *v, uint64_t from, uint64_t to);
/* See that blocks [first, first + n) have their extents: before the write is acknowledged. Any
 * thread. */
static inline int extents_reserve(struct dg_volume *v, uint64_t first_block, uint32_t nblocks)
{
	uint64_t from = first_block / EXTENT_BLOCKS,
		 to = (first_block + nblocks - 1) / EXTENT_BLOCKS;

	if (from == to && atomic_load_explicit(&v->extent[from], memory_order_relaxed))
		return 0;
	return extents_assign(v, from, to);
}
struct place extent_place(const struct dg_volume *v, uint64_t block);
bool extent_has_data(const struct place *p, uint64_t block);
void extent_set_data(const struct place *p, uint64_t block, bool has);
void extents_fill(struct dg_volume *v);
int extents_load(struct disk_group *g, struct capacity *c, struct report *r);
void extents_encode_table(struct disk_group *g, struct capacity *c, uint32_t t, void *block);

/* ---- write_buffer.c -----------------------------------------------------------------------------
 */

enum bucket_state { BUCKET_FREE, BUCKET_CURRENT, BUCKET_CLOSED, BUCKET_SEALED };

struct reject {
	struct reject *next;
	uint64_t seq, count;
};

struct bucket {
	uint32_t index;
	atomic_int state; /* enum bucket_state; changed under wb.lock */
	uint64_t gen;
	uint64_t data_offset, log_offset; /* bytes on the cache device */
	uint32_t next;                    /* pages handed out; under wb.lock */
	uint32_t stride;   /* page permutation of this use: from one page to the next */
	uint32_t place;    /* where the next page lies; under wb.lock */
	uint32_t log_used; /* pairs of log blocks taken; under wb.lock */
	/*
	 * Requests that hold pages and are not finished, in the upper half; log pairs promised to
	 * them, in the lower: one atomic operation for both.
	 */
	_Atomic uint64_t open;
	atomic_uint pins;       /* reads of its pages in flight */
	atomic_uint live;       /* pages that hold the newest version of a block */
	struct reject *rejects; /* under wb.lock */
	struct bucket *fifo;    /* next in the list it is in */
};

#define OPEN_REQUEST (1ull << 32)

struct write_buffer {
	struct spin lock;
	struct bucket bucket[DG_MAX_BUCKETS];
	uint32_t nbuckets, bucket_pages;
	uint32_t log_block, log_records; /* bytes and records of a log block */
	uint32_t log_pairs;              /* of a bucket, for records */
	uint64_t npages;
	struct bucket *current;
	struct bucket *free, **free_tail;
	struct bucket *closed, **closed_tail; /* waiting to be sealed, oldest first */
	struct bucket *sealed, **sealed_tail; /* waiting to be drained, oldest first */
	_Atomic uint64_t used;                /* pages of buckets that are not free */
	atomic_bool starving; /* somebody found no page since the last bucket became free */
};

int wb_init(struct disk_group *g);
/* The place in the bucket that follows @place in the order of pages. */
static inline uint32_t wb_next_place(const struct write_buffer *wb, const struct bucket *b,
				     uint32_t place)
{
	uint32_t next = place + b->stride; /* cannot wrap: both are below 2^31 */

	return next >= wb->bucket_pages ? next - wb->bucket_pages : next;
}
static inline struct bucket *wb_bucket_of(struct write_buffer *wb, uint32_t page)
{
	return &wb->bucket[page / wb->bucket_pages];
}
static inline uint64_t wb_page_offset(const struct write_buffer *wb, uint32_t page)
{
	const struct bucket *b = &wb->bucket[page / wb->bucket_pages];

	return b->data_offset + (uint64_t)(page % wb->bucket_pages) * DG_BLOCK;
}
void wb_seed_bucket(struct disk_group *g, struct bucket *b);
int wb_admit(struct disk_group *g, struct request *req);
int wb_log_pairs(struct disk_group *g, struct bucket *b, uint32_t n, uint32_t *first);
void wb_finish(struct disk_group *g, struct request *req);
bool wb_close_current(struct disk_group *g);
void wb_make_free(struct disk_group *g, struct bucket *b);
double wb_fill(const struct disk_group *g); /* 0..1 */

/* ---- request.c, log_stream.c: the way of an I/O
 * -------------------------------------------------- */

/* One block (write, trim) or one piece on one device (read) of a request. */
struct piece {
	struct dev_req dev;
	struct inflight in; /* write, trim */
	struct request *req;
	struct place place; /* read from capacity */
	uint32_t destage;   /* its extent's count when the read began */
	uint32_t page;      /* write: its page */
	uint32_t pinned;    /* first page that is being read, PAGE_NONE: none */
	uint32_t crc;
	uint32_t blocks; /* read: blocks it covers */
	void *bounce;    /* a buffer of ours in the way */
	bool big;        /* of the larger kind */
};

static inline struct piece *piece_of(struct dev_req *dev)
{
	return (struct piece *)((char *)dev - offsetof(struct piece, dev));
}

/* At most 1 MiB of a user's I/O: what takes pages, sequences and log room as one. */
struct request {
	struct dg_queue *q;
	struct dg_io *io;
	struct request *next; /* in the list it is in */
	struct dg_volume *vol;
	uint8_t op;
	bool large;      /* from the pool of large requests */
	uint64_t offset; /* bytes in the volume */
	uint32_t len;
	char *buf;
	uint64_t first; /* block */
	uint32_t nblocks;
	struct bucket *bucket;
	uint32_t place;      /* of its first page in the bucket */
	uint32_t credit;     /* log pairs it still holds */
	uint64_t seq;        /* of its first block */
	atomic_uint blocked; /* blocks with an earlier write in flight, + 1 while being entered */
	uint32_t pending;    /* device requests and log write not done; its thread only */
	int res;
	bool overlapped;  /* has waited for another */
	uint64_t due_ns;  /* congestion: not before */
	uint64_t wait_ns; /* when it began to wait */
	struct piece *piece;
	struct piece one[2];
};

/* One chain of pairs of log blocks in the bucket it is writing to. */
struct log_stream {
	struct dg_queue *q;
	uint32_t number;         /* of this stream in the group */
	struct request *writing; /* covered by the write in flight */
	bool busy;
	struct dev_req dev;
	char *block; /* LOG_BATCH log blocks */
	/* the growing pair */
	struct bucket *bucket; /* NULL: none */
	uint64_t gen;
	char *grow;           /* its block, log_block bytes */
	uint32_t count;       /* records in it */
	uint32_t pair;        /* its number, for the header */
	uint32_t place[2];    /* log blocks of its two slots */
	int ok;               /* slot of the last good copy; -1: none */
	int slot;             /* slot of the write in flight, -1: several fresh pairs */
	bool has[2];          /* slot holds a completed copy ... */
	uint64_t flush_no[2]; /* ... completed when this many flushes had been issued */
	uint32_t next_pair;
};

#define LOG_BATCH   64u /* log blocks of one write */
#define LOG_STREAMS 2u  /* of a queue: log writes that it has in flight at most */

/* The log of one queue: records that wait for their log write, and the streams that take turns. */
struct queue_log {
	struct request *pending, **pending_tail;
	uint32_t nrecords; /* pending */
	uint32_t group;    /* so many are worth a log write of their own */
	struct log_stream stream[LOG_STREAMS];
};

int queue_log_init(struct queue_log *l, struct dg_queue *q, uint32_t number);
void queue_log_free(struct queue_log *l);
void queue_log_add(struct queue_log *l, struct request *req);
void queue_log_kick(struct queue_log *l);

/* What a queue counts; written by its thread, read by everybody. */
struct queue_stats {
	_Atomic uint64_t ios[4], bytes[4], nsec[4], errors;
	_Atomic uint64_t wb_blocks, capacity_blocks, never_blocks;
	_Atomic uint64_t overwritten; /* bytes of pages that became stale */
	_Atomic uint64_t no_page, no_page_ns, congestion, congestion_ns, overlap, overlap_ns;
	_Atomic uint64_t in_flight;
};

static inline void count_add(_Atomic uint64_t *c, uint64_t n)
{
	/* One writer: a plain addition, atomic only so that a reader never sees half of it. */
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

struct req_list {
	struct request *first, **tail;
};

struct dg_queue {
	struct disk_group *g;
	struct ioq *ioq;
	struct dg_queue *next; /* of the group */
	struct queue_log log;
	struct req_list waiting; /* writes that have no page yet, or whose delay is not over */
	atomic_bool stuck;       /* the first of them found no page: wake me when there is one */
	_Atomic(struct request *)
		handed; /* may start: their blocks are free; pushed by any thread */
	unsigned int depth;
	struct dg_io *done, **done_tail;
	unsigned int ndone;
	uint64_t now_ns; /* start of this batch */
	bool now_stale;
	uint64_t rng;
	struct request *pool_small, *pool_large;
	void *pool_page, *pool_big; /* bounce buffers: 4 KiB, and 1 MiB + 8 KiB */
	void *slab;                 /* everything the pools came from */
	struct queue_stats stats;
};

/* request.c */
void request_submit(struct dg_queue *q, struct dg_io *io);
void request_start(struct request *req);        /* its blocks are free: sequence, data, records */
bool request_admit_waiting(struct dg_queue *q); /* true: made progress */
void request_log_done(struct request *req, int res);
void request_release(struct request *req, int res); /* its part of the I/O is over */
/* read.c */
void read_start(struct request *req);
int read_old_block(struct request *req, uint32_t i, void (*done)(struct dev_req *, int));
void read_unpin(struct piece *p);
/* queue.c */
struct request *queue_get_request(struct dg_queue *q, uint32_t nblocks);
void queue_put_request(struct dg_queue *q, struct request *req);
void *queue_get_bounce(struct dg_queue *q, bool big);
void queue_put_bounce(struct dg_queue *q, void *p, bool big);
void queue_io_done(struct dg_queue *q, struct dg_io *io);
void queue_hand(struct request *req);
void queue_wake_waiting(struct disk_group *g);
uint64_t queue_now(struct dg_queue *q);

/* ---- raw_target.c
 * --------------------------------------------------------------------------------- */

int raw_volume(struct disk_group *g, struct dg_volume *v, struct report *r);
void raw_submit(struct dg_queue *q, struct dg_io *io);

/* ---- metadata.c, elevator.c, congestion.c, worker.c
 * ------------------------------------------------ */

enum meta_step {
	META_IDLE,
	MARK_SB,
	MARK_SB_FLUSH,
	SEAL_REJECT,
	SEAL_FLUSH,
	SEAL_SB,
	SEAL_SB_FLUSH,
	FREE_CAP_FLUSH,
	FREE_TABLES,
	FREE_TABLE_FLUSH,
	FREE_CACHE_FLUSH,
	FREE_PINS,
	FREE_SB,
	FREE_SB_FLUSH,
};

#define META_TABLES 16u /* extent table blocks in flight at most */

struct metadata {
	enum meta_step step;
	struct bucket *bucket;
	struct sb_info sb;
	int sb_slot;       /* where the next one goes */
	uint32_t pending;  /* device requests of this step */
	int err;           /* first error of this step on the cache device */
	uint64_t flush_no; /* of the cache flush in flight */
	struct dev_req req[META_TABLES];
	char *buf;                    /* superblock or REJECT blocks */
	char *table_buf;              /* META_TABLES table blocks */
	uint32_t sweep_cap, sweep_at; /* where the search for dirty table blocks stands */
	bool tables_written;
	struct reject *rejects; /* being written */
};

enum elevator_step { ELEV_IDLE, ELEV_READ, ELEV_WRITE, ELEV_SLEEP, ELEV_DONE };

struct elevator {
	struct disk_group *g;
	struct capacity *cap;
	enum elevator_step step;
	uint64_t *order; /* live pages in capacity-LBA order: (extent << 8 | block) << 32 | page in
			    bucket */
	uint32_t norder, at;
	uint64_t *win;       /* the window: entries of order */
	uint32_t nwin, next; /* next: the first block whose read (write) is not issued */
	uint32_t win_max;
	uint32_t in_flight;
	struct elevator_io *io; /* destage_depth of them */
	struct elevator_io *idle;
	char *buf; /* the window's bytes */
	uint64_t wake_ns;
	bool failed;
};

struct elevator_io {
	struct dev_req dev;
	struct elevator *e;
	struct elevator_io *next;
	uint32_t first, count; /* blocks of the window */
	uint64_t start_ns;
};

struct congestion {
	double ssd, log, mem;                       /* filtered; worker only */
	_Atomic uint32_t ssd_now, log_now, mem_now; /* x 256 */
	_Atomic uint32_t level;                     /* the highest, x 256: what submitters read */
	uint64_t last_ns;
	double drain_rate; /* bytes/s, moving average */
	uint64_t last_drained;
};

struct destage_stats {
	_Atomic uint64_t bytes, zero_bytes, buckets;
	_Atomic uint64_t reads, read_nsec, read_bytes, writes, write_nsec, write_bytes;
};

struct disk_group {
	struct dg_options opt;
	char *opt_strings[1 + DG_MAX_CAPACITY];
	const struct vclock *clock;
	struct device *cache;
	struct capacity cap[DG_MAX_CAPACITY];
	unsigned int ncap;
	uint8_t uuid[16];
	bool exists; /* a group was found on the devices */
	bool fresh;  /* start formats it */
	bool started, writing;
	bool temporary;        /* a member does not outlive the process: nothing is read back */
	atomic_bool want_mark; /* the worker is to mark the group as in use */
	pthread_mutex_t start_lock; /* start, volumes, catalog */

	struct sb_info geometry; /* planned or found */
	struct write_buffer wb;
	struct block_map map;
	pthread_mutex_t extents_lock;
	struct dg_volume *volumes;
	_Atomic(struct dg_volume *) *by_id; /* [id] */
	uint64_t raw_used;

	_Atomic uint64_t seq;          /* the next sequence */
	_Atomic uint64_t flush_issued; /* flushes of the cache device */
	_Atomic uint64_t flush_done;   /* the highest number of a completed one */
	atomic_int cache_error;        /* metadata could not be written: no more acknowledgements */

	struct spin queue_lock;
	struct dg_queue *queues;
	uint32_t nstreams;
	struct queue_stats gone; /* of destroyed queues */
	struct lateness gone_late;

	struct ioq *work_ioq;
	struct metadata meta;
	struct elevator elev[DG_MAX_CAPACITY];
	struct bucket *draining;
	uint64_t *order; /* of the draining bucket: each elevator has its part */
	bool drained;    /* the draining bucket waits to be freed */
	struct congestion cong;
	struct destage_stats destage;
	atomic_int elev_bucket;
	_Atomic uint64_t sleep_ns;
	atomic_bool drain_all; /* destage whatever the fill */
	pthread_t worker;
	bool worker_runs;
	atomic_bool stop;

	uint64_t start_ns;
	double fill_start;
	_Atomic uint64_t fill_max; /* pages */
	_Atomic uint64_t first_full_ns;
};

static inline uint64_t flush_begin(struct disk_group *g)
{
	return atomic_fetch_add(&g->flush_issued, 1) + 1;
}
void flush_end(struct disk_group *g, uint64_t no);

void worker_kick(struct disk_group *g); /* any thread */
int worker_start(struct disk_group *g, struct report *r);
void worker_stop(struct disk_group *g);

bool metadata_run(struct disk_group *g);                 /* true: made progress */
bool metadata_idle(struct disk_group *g);                /* nothing closed is left to be sealed */
int metadata_write_sb(struct disk_group *g, bool clean); /* synchronous: set-up and close */
int metadata_init(struct disk_group *g);
void metadata_exit(struct disk_group *g);

bool elevators_run(struct disk_group *g, uint64_t *next);
bool elevators_idle(const struct disk_group *g); /* no destage I/O in flight */
int elevators_init(struct disk_group *g);
void elevators_exit(struct disk_group *g);
void capacity_failed(struct disk_group *g, struct capacity *c, const char *what, uint64_t offset,
		     int err);
void cache_failed(struct disk_group *g, const char *what, uint64_t offset, int err);

void congestion_update(struct disk_group *g, uint64_t now);
uint64_t congestion_delay(const struct disk_group *g, uint64_t *rng); /* ns */
double congestion_ramp(double x, double lo, double hi);               /* 0..255 */
double congestion_delay_us(const struct dg_options *o, double level); /* mean */

/* ---- catalog.c, recovery.c, layout.c
 * --------------------------------------------------------------- */

int layout_plan(struct disk_group *g, struct report *r);
int group_format(struct disk_group *g, struct report *r);
int catalog_load(struct disk_group *g, struct report *r);
void catalog_free(struct disk_group *g);
int catalog_write(struct disk_group *g, struct dg_volume *v);
int volume_place(struct disk_group *g, struct dg_volume *v, struct report *r);
int recovery_run(struct disk_group *g, struct report *r);
int prefill(struct disk_group *g);
int layout_adopt(struct disk_group *g, struct report *r);
uint64_t group_memory(const struct disk_group *g);

static inline bool group_persistent(const struct disk_group *g)
{
	return !g->temporary;
}

#endif
