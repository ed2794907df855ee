/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A queue: what one I/O thread has in flight, and the loop that moves it forward.
 *
 * Everything of a queue is touched by its own thread only, but for two doors: `handed` (a request
 * whose blocks have become free, pushed by whoever finished the write before it) and the wake-up of
 * a queue whose writers found no page. Memory comes from pools that grow to what is really in
 * flight.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

#define BIG_BOUNCE (REQ_MAX_BYTES + 2 * DG_BLOCK)

/* Everything a pool allocates hangs in one list, so that destroying a queue is one walk. */
struct slab {
	struct slab *next;
	void *memory;
};

static void *slab_alloc(struct dg_queue *q, size_t size)
{
	struct slab *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->memory = aligned_alloc(4096, (size + 4095) & ~4095ul);
	if (!s->memory) {
		free(s);
		return NULL;
	}
	s->next = q->slab;
	q->slab = s;
	return s->memory;
}

static void slab_free_all(struct dg_queue *q)
{
	struct slab *s = q->slab, *next;

	for (; s; s = next) {
		next = s->next;
		free(s->memory);
		free(s);
	}
	q->slab = NULL;
}

/* One page of small requests, or one large request with a piece for each block. */
static int pool_grow(struct dg_queue *q, bool large)
{
	size_t size = large ? sizeof(struct request) + REQ_MAX_BLOCKS * sizeof(struct piece)
			    : 16 * sizeof(struct request);
	struct request *r = slab_alloc(q, size);
	unsigned int n = large ? 1 : 16;

	if (!r)
		return -ENOMEM;
	memset(r, 0, size);
	for (unsigned int i = 0; i < n; i++) {
		r[i].q = q;
		r[i].large = large;
		r[i].piece = large ? (struct piece *)(r + 1) : r[i].one;
		queue_put_request(q, &r[i]);
	}
	return 0;
}

/* A request with room for @nblocks pieces; NULL without memory. */
struct request *queue_get_request(struct dg_queue *q, uint32_t nblocks)
{
	bool large = nblocks > 2;
	struct request **pool = large ? &q->pool_large : &q->pool_small;
	struct request *r;

	if (!*pool && pool_grow(q, large))
		return NULL;
	r = *pool;
	*pool = r->next;
	return r;
}

void queue_put_request(struct dg_queue *q, struct request *req)
{
	struct request **pool = req->large ? &q->pool_large : &q->pool_small;

	req->next = *pool;
	*pool = req;
}

/* A 4 KiB aligned buffer of one block, or (@big) of a whole request. NULL without memory. */
void *queue_get_bounce(struct dg_queue *q, bool big)
{
	void **pool = big ? &q->pool_big : &q->pool_page;
	void *p = *pool;

	if (!p)
		return slab_alloc(q, big ? BIG_BOUNCE : DG_BLOCK);
	memcpy(pool, p, sizeof(*pool));
	return p;
}

void queue_put_bounce(struct dg_queue *q, void *p, bool big)
{
	void **pool = big ? &q->pool_big : &q->pool_page;

	memcpy(p, pool, sizeof(*pool));
	*pool = p;
}

/* The time of this batch: one look at the clock for all I/O submitted together. */
uint64_t queue_now(struct dg_queue *q)
{
	if (q->now_stale || q->g->clock->is_virtual) {
		q->now_ns = vclock_now(q->g->clock);
		q->now_stale = false;
	}
	return q->now_ns;
}

int dg_queue_create(struct dg_queue **out, struct disk_group *g, unsigned int depth, bool may_spin,
		    struct report *r)
{
	struct dg_queue *q = calloc(1, sizeof(*q));
	unsigned int ring = depth * 2 + 8;
	uint32_t number;
	int err = -ENOMEM;

	if (!q)
		return report(r, -ENOMEM, "no memory for an I/O queue of iodepth %u", depth);
	q->g = g;
	q->depth = depth;
	q->waiting.tail = &q->waiting.first;
	q->done_tail = &q->done;
	q->now_stale = true;
	err = ioq_create(&q->ioq, g->clock, ring > 4096 ? 4096 : ring, may_spin);
	if (err)
		goto err_free;
	err = ioq_attach(q->ioq, g->cache);
	for (unsigned int i = 0; !err && i < g->ncap; i++)
		err = ioq_attach(q->ioq, g->cap[i].dev);
	if (err)
		goto err_ioq;
	spin_lock(&g->queue_lock);
	number = g->nstreams;
	g->nstreams += LOG_STREAMS;
	spin_unlock(&g->queue_lock);
	err = queue_log_init(&q->log, q, number);
	if (err)
		goto err_ioq;
	q->rng = (g->opt.drive_seed + 1) * 0x9E3779B97F4A7C15ull + number / LOG_STREAMS;
	for (unsigned int i = 0; i < depth; i += 16) {
		err = pool_grow(q, false);
		if (err)
			goto err_log;
	}
	spin_lock(&g->queue_lock);
	q->next = g->queues;
	g->queues = q;
	spin_unlock(&g->queue_lock);
	*out = q;
	return 0;

err_log:
	queue_log_free(&q->log);
err_ioq:
	ioq_destroy(q->ioq);
err_free:
	slab_free_all(q);
	free(q);
	return report(r, err, "cannot make an I/O queue of iodepth %u: %s", depth, strerror(-err));
}

static void stats_fold(struct queue_stats *to, const struct queue_stats *from)
{
	/* struct queue_stats is counters and nothing else. */
	_Atomic uint64_t *t = (_Atomic uint64_t *)to;
	const _Atomic uint64_t *f = (const _Atomic uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		count_add(&t[i], atomic_load_explicit(&f[i], memory_order_relaxed));
}

void dg_queue_destroy(struct dg_queue *q)
{
	struct disk_group *g;
	struct dg_queue **link;

	if (!q)
		return;
	g = q->g;
	spin_lock(&g->queue_lock);
	for (link = &g->queues; *link != q; link = &(*link)->next)
		;
	*link = q->next;
	stats_fold(&g->gone, &q->stats);
	lateness_merge(&g->gone_late, ioq_lateness(q->ioq));
	spin_unlock(&g->queue_lock);
	queue_log_free(&q->log);
	ioq_destroy(q->ioq);
	slab_free_all(q);
	free(q);
}

/* The blocks of @req are free: its own thread starts it. Any thread. */
void queue_hand(struct request *req)
{
	struct dg_queue *q = req->q;
	struct request *top = atomic_load_explicit(&q->handed, memory_order_relaxed);

	do {
		req->next = top;
	} while (!atomic_compare_exchange_weak_explicit(&q->handed, &top, req, memory_order_release,
							memory_order_relaxed));
	ioq_wake(q->ioq);
}

/* A bucket has become free, or there never will be one: queues that wait for pages look again. */
void queue_wake_waiting(struct disk_group *g)
{
	spin_lock(&g->queue_lock);
	for (struct dg_queue *q = g->queues; q; q = q->next)
		if (atomic_load(&q->stuck))
			ioq_wake(q->ioq);
	spin_unlock(&g->queue_lock);
}

static bool start_handed(struct dg_queue *q)
{
	struct request *r, *rev = NULL, *next;

	if (!atomic_load_explicit(&q->handed, memory_order_relaxed))
		return false;
	/* A stack; the oldest first is fairer. */
	for (r = atomic_exchange_explicit(&q->handed, NULL, memory_order_acquire); r; r = next) {
		next = r->next;
		r->next = rev;
		rev = r;
	}
	for (; rev; rev = next) {
		next = rev->next;
		request_start(rev);
	}
	return true;
}

void queue_io_done(struct dg_queue *q, struct dg_io *io)
{
	struct queue_stats *s = &q->stats;
	uint64_t now = queue_now(q);

	count_add(&s->ios[io->op], 1);
	count_add(&s->bytes[io->op], io->op == DG_SYNC ? 0 : io->len);
	count_add(&s->nsec[io->op], now > io->start_ns ? now - io->start_ns : 0);
	if (io->res)
		count_add(&s->errors, 1);
	count_add(&s->in_flight, (uint64_t)-1);
	io->next = NULL;
	*q->done_tail = io;
	q->done_tail = &io->next;
	q->ndone++;
}

void dg_submit(struct dg_queue *q, struct dg_io *io)
{
	io->res = 0;
	io->wb_hit = io->op == DG_READ;
	io->start_ns = queue_now(q);
	io->pending = 1; /* released below: pieces may finish while others are being made */
	count_add(&q->stats.in_flight, 1);
	if (io->op != DG_SYNC &&
	    ((io->offset | io->len) % 512 || !io->len || io->offset + io->len > io->vol->asked))
		io->res = -EINVAL;
	else if (q->g->opt.target != DG_TARGET_GROUP)
		raw_submit(q, io);
	else
		request_submit(q, io);
	if (--io->pending == 0)
		queue_io_done(q, io);
}

/*
 * Data goes to the kernel now. The log write waits until nothing more can be submitted (dg_poll, or
 * the depth is reached), so that it carries the records of the whole batch, or until half of what
 * can be in flight has come together: then the two streams keep the device busy in turn.
 */
void dg_commit(struct dg_queue *q)
{
	if (q->log.nrecords >= q->log.group ||
	    atomic_load_explicit(&q->stats.in_flight, memory_order_relaxed) >= q->depth)
		queue_log_kick(&q->log);
	ioq_kick(q->ioq);
	q->now_stale = true;
}

/* Move everything forward. @need: the I/Os that the caller waits for; fewer, and it would sleep next. */
static void queue_run(struct dg_queue *q, unsigned int need)
{
	bool more;

	q->now_stale = true;
	queue_log_kick(&q->log);
	ioq_kick(q->ioq);
	do {
		more = ioq_poll(q->ioq) > 0;
		more |= start_handed(q);
		more |= request_admit_waiting(q);
		/*
		 * With enough to hand out the thread is about to submit more: one log write for what
		 * is waiting and for that, else the two take turns and every write waits for two. But
		 * it must not sleep on records that nobody writes.
		 */
		if (!q->ndone || q->ndone < need)
			queue_log_kick(&q->log);
	} while (more);
	ioq_kick(q->ioq);
}

uint64_t dg_queue_next(const struct dg_queue *q)
{
	uint64_t due = ioq_next_due(q->ioq);
	const struct request *w = q->waiting.first;

	if (w && !atomic_load(&q->stuck) && w->due_ns < due)
		due = w->due_ns;
	return due;
}

unsigned int dg_poll(struct dg_queue *q, unsigned int min, unsigned int max, uint64_t deadline_ns,
		     struct dg_io **out)
{
	unsigned int n = 0;

	if (min > max)
		min = max;
	for (;;) {
		uint64_t until = deadline_ns;

		/* What is done already goes out first: a batch may have left more than max. */
		if (q->ndone < min - n || !q->ndone)
			queue_run(q, min - n);
		while (q->ndone && n < max) {
			out[n++] = q->done;
			q->done = q->done->next;
			if (--q->ndone == 0)
				q->done_tail = &q->done;
		}
		if (n >= min || n == max || q->g->clock->is_virtual)
			return n;
		if (deadline_ns != TIME_NEVER && vclock_now(q->g->clock) >= deadline_ns)
			return n;
		if (q->waiting.first && !atomic_load(&q->stuck) && q->waiting.first->due_ns < until)
			until = q->waiting.first->due_ns;
		ioq_wait(q->ioq, until);
	}
}
