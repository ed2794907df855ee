/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The elevators: one per capacity device, draining the oldest sealed bucket to it.
 *
 * reference: vSAN's elevator: US 10,877,699 (rounds with a sleep between them that follows the fill
 * of the first tier), and its counters (start and unthrottle threshold, current bucket, LBA order,
 * window). Each takes its device's live pages in capacity-LBA order, window by window: read from
 * the cache device, check, merge neighbours, write. It never waits for writers: a block that was
 * overwritten meanwhile keeps its newer page. All of them run in the worker, each as a step
 * machine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "group.h"

static void io_done(struct dev_req *dev, int res);

static uint32_t entry_lba(uint64_t entry)
{
	return (uint32_t)(entry >> 32); /* extent << 8 | block */
}

static uint32_t entry_page(const struct disk_group *g, uint64_t entry)
{
	return g->draining->index * g->wb.bucket_pages + (uint32_t)entry;
}

int elevators_init(struct disk_group *g)
{
	uint32_t depth = g->opt.destage_depth;

	g->order = malloc((size_t)g->wb.bucket_pages * sizeof(uint64_t));
	if (!g->order)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->ncap; i++) {
		struct elevator *e = &g->elev[i];

		e->g = g;
		e->cap = &g->cap[i];
		e->win_max = g->opt.destage_batch / DG_BLOCK;
		e->win = malloc(e->win_max * sizeof(uint64_t));
		e->io = calloc(depth, sizeof(*e->io));
		e->buf = aligned_alloc(4096, (size_t)e->win_max * DG_BLOCK);
		if (!e->win || !e->io || !e->buf)
			return -ENOMEM;
		memset(e->buf, 0, (size_t)e->win_max * DG_BLOCK);
		for (uint32_t k = 0; k < depth; k++) {
			e->io[k].e = e;
			e->io[k].next = e->idle;
			e->idle = &e->io[k];
		}
	}
	return 0;
}

void elevators_exit(struct disk_group *g)
{
	free(g->order);
	for (unsigned int i = 0; i < g->ncap; i++) {
		free(g->elev[i].win);
		free(g->elev[i].io);
		free(g->elev[i].buf);
	}
}

/* ---- which bucket, and its blocks in order
 * ---------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where a page's block lives on capacity. False: the page holds nothing current any more. */
static bool page_place(struct disk_group *g, uint32_t page, uint64_t *key, struct place *place)
{
	struct dg_volume *v;

	*key = atomic_load_explicit(&g->map.page[page].key, memory_order_relaxed);
	if (!*key)
		return false;
	v = atomic_load(&g->by_id[vblock_volume(*key >> 8)]);
	*place = extent_place(v, vblock_block(*key >> 8));
	return true;
}

/* Forget a block that is on capacity now, or (trimmed) nowhere, unless a newer version came. */
static void forget(struct disk_group *g, uint32_t page, uint64_t vb)
{
	struct map_shard *s = map_shard(&g->map, vb);
	bool was;

	spin_lock(&s->lock);
	was = map_clear(&g->map, vb, page);
	spin_unlock(&s->lock);
	if (was)
		atomic_fetch_sub_explicit(&wb_bucket_of(&g->wb, page)->live, 1,
					  memory_order_relaxed);
}

/* Sort the live pages of the bucket by device and LBA; trims need no I/O and are done here. */
static void order_bucket(struct disk_group *g, const struct bucket *b)
{
	uint32_t base = b->index * g->wb.bucket_pages, n[DG_MAX_CAPACITY] = {0}, at = 0;
	struct place p;
	uint64_t key;

	for (uint32_t i = 0; i < g->wb.bucket_pages; i++) {
		if (!page_place(g, base + i, &key, &p))
			continue;
		if (key & PAGE_TRIMMED) {
			if (p.cap)
				extent_set_data(&p, vblock_block(key >> 8), false);
			forget(g, base + i, key >> 8);
			count_add(&g->destage.zero_bytes, DG_BLOCK);
			continue;
		}
		n[p.cap->index]++;
	}
	for (unsigned int d = 0; d < g->ncap; d++) {
		g->elev[d].order = g->order + at;
		g->elev[d].norder = g->elev[d].at = 0;
		at += n[d];
	}
	for (uint32_t i = 0; i < g->wb.bucket_pages; i++) {
		struct elevator *e;

		/* Pages only ever become stale: what is counted now was counted before. */
		if (!page_place(g, base + i, &key, &p) || key & PAGE_TRIMMED)
			continue;
		e = &g->elev[p.cap->index];
		e->order[e->norder++] =
			((uint64_t)p.extent << 8 | vblock_block(key >> 8) % EXTENT_BLOCKS) << 32 |
			i;
	}
	for (unsigned int d = 0; d < g->ncap; d++) {
		struct elevator *e = &g->elev[d];

		qsort(e->order, e->norder, sizeof(uint64_t), by_value);
		e->step = ELEV_SLEEP; /* over at once: the first window may start */
		e->wake_ns = 0;
	}
}

static bool wanted(struct disk_group *g)
{
	bool no_free;

	if (atomic_load(&g->drain_all))
		return atomic_load(&g->wb.used) > 0;
	spin_lock(&g->wb.lock);
	no_free = !g->wb.free;
	spin_unlock(&g->wb.lock);
	/* With no free bucket the buffer drains whatever its fill: writers may be waiting for one.
	 */
	return no_free || wb_fill(g) * 100.0 >= g->opt.destage_start;
}

/* Take the oldest sealed bucket if the fill asks for it; see that there will be one. */
static bool choose_bucket(struct disk_group *g)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b;
	bool closed;

	if (atomic_load(&g->stop) || !wanted(g))
		return false;
	spin_lock(&wb->lock);
	b = wb->sealed;
	closed = wb->closed != NULL;
	if (b) {
		wb->sealed = b->fifo;
		if (!wb->sealed)
			wb->sealed_tail = &wb->sealed;
	}
	spin_unlock(&wb->lock);
	if (!b) {
		/* A bucket being sealed comes soon; else the current one must be closed early. */
		if (!closed && g->meta.step == META_IDLE)
			return wb_close_current(g);
		return false;
	}
	g->draining = b;
	atomic_store(&g->elev_bucket, (int)b->index);
	order_bucket(g, b);
	return true;
}

/* ---- a window
 * --------------------------------------------------------------------------------------- */

static uint64_t sleep_ns(const struct disk_group *g)
{
	double span = g->opt.destage_unthrottle - g->opt.destage_start, t;

	if (atomic_load(&g->drain_all))
		return 0;
	t = (g->opt.destage_unthrottle - wb_fill(g) * 100.0) / (span > 0 ? span : 1);
	t = t < 0 ? 0 : t > 1 ? 1 : t;
	return (uint64_t)((double)g->opt.destage_sleep_ns * t * t);
}

static void next_window(struct elevator *e)
{
	e->nwin = 0;
	while (e->nwin < e->win_max && e->at < e->norder) {
		uint64_t entry = e->order[e->at++];

		if (atomic_load_explicit(&e->g->map.page[entry_page(e->g, entry)].key,
					 memory_order_relaxed))
			e->win[e->nwin++] = entry;
	}
	e->next = 0;
	e->step = e->nwin ? ELEV_READ : ELEV_DONE;
}

static void elevator_submit(struct elevator *e, uint32_t first, uint32_t count, struct device *dev,
			    enum dev_op op, uint64_t offset)
{
	struct elevator_io *io = e->idle;
	int ret;

	e->idle = io->next;
	io->first = first;
	io->count = count;
	io->start_ns = vclock_now(e->g->clock);
	io->dev = (struct dev_req){.dev = dev,
				   .op = (uint8_t)op,
				   .done = io_done,
				   .offset = offset,
				   .buf = e->buf + (size_t)first * DG_BLOCK,
				   .len = count * DG_BLOCK};
	e->in_flight++;
	ret = ioq_submit(e->g->work_ioq, &io->dev);
	if (ret)
		io_done(&io->dev, ret < 0 ? ret : 0);
}

/* Reads of the window: pages that follow each other on the cache device and in the window are one.
 */
static bool issue_reads(struct elevator *e)
{
	struct disk_group *g = e->g;
	bool progress = false;

	while (e->idle && e->next < e->nwin) {
		uint32_t first = e->next, n = 1, page = (uint32_t)e->win[first];

		while (first + n < e->nwin && (uint32_t)e->win[first + n] == page + n)
			n++;
		e->next += n;
		elevator_submit(e, first, n, g->cache, DEV_READ,
				wb_page_offset(&g->wb, entry_page(g, e->win[first])));
		progress = true;
	}
	return progress;
}

static bool overwritten(const struct elevator *e, uint32_t i)
{
	return !atomic_load_explicit(&e->g->map.page[entry_page(e->g, e->win[i])].key,
				     memory_order_relaxed);
}

/* Writes: blocks that follow each other on capacity are one; what was overwritten meanwhile is left
 * out. */
static bool issue_writes(struct elevator *e)
{
	bool progress = false;

	while (e->idle && e->next < e->nwin) {
		uint32_t first = e->next, lba = entry_lba(e->win[first]), n = 0;

		progress = true;
		while (e->next < e->nwin && entry_lba(e->win[e->next]) == lba + n &&
		       !overwritten(e, e->next)) {
			e->next++;
			n++;
		}
		if (!n) {
			e->next++;
			continue;
		}
		e->cap->written = true;
		elevator_submit(e, first, n, e->cap->dev, DEV_WRITE,
				e->cap->data_offset + (uint64_t)lba * DG_BLOCK);
	}
	return progress;
}

static void read_done(struct elevator_io *io, int res)
{
	struct elevator *e = io->e;
	struct disk_group *g = e->g;

	if (!res && g->cache->stores_data && !g->opt.skip_crc)
		for (uint32_t i = 0; !res && i < io->count; i++) {
			const struct page *p = &g->map.page[entry_page(g, e->win[io->first + i])];
			uint32_t crc =
				crc32c(e->buf + (size_t)(io->first + i) * DG_BLOCK, DG_BLOCK);

			if (crc != p->crc)
				res = -EILSEQ; /* never spread damaged data to capacity */
		}
	if (res) {
		cache_failed(g,
			     res == -EILSEQ ? "the checksum of a page read for destage"
					    : "read for destage",
			     io->dev.offset, res);
		e->failed = true;
	}
	count_add(&g->destage.reads, 1);
	count_add(&g->destage.read_bytes, io->dev.len);
	count_add(&g->destage.read_nsec, vclock_now(g->clock) - io->start_ns);
}

static void write_done(struct elevator_io *io, int res)
{
	struct elevator *e = io->e;
	struct disk_group *g = e->g;

	count_add(&g->destage.writes, 1);
	count_add(&g->destage.write_bytes, io->dev.len);
	count_add(&g->destage.write_nsec, vclock_now(g->clock) - io->start_ns);
	if (res) {
		capacity_failed(g, e->cap, "destage write", io->dev.offset, res);
		e->failed = true;
		return;
	}
	for (uint32_t i = 0; i < io->count; i++) {
		uint32_t page = entry_page(g, e->win[io->first + i]);
		uint32_t lba = entry_lba(e->win[io->first + i]);
		const struct extent *x = &e->cap->extent[lba >> 8];
		uint64_t block = (uint64_t)x->logical * EXTENT_BLOCKS + (lba & 255);
		struct place p = {.cap = e->cap, .extent = lba >> 8};

		/* Capacity has it now, whether or not a newer version came: readers look at the map
		 * first. */
		extent_set_data(&p, block, true);
		forget(g, page, vblock(x->volume, block));
	}
	count_add(&g->destage.bytes, io->dev.len);
}

static void io_done(struct dev_req *dev, int res)
{
	struct elevator_io *io =
		(struct elevator_io *)((char *)dev - offsetof(struct elevator_io, dev));
	struct elevator *e = io->e;

	if (dev->op == DEV_READ)
		read_done(io, res);
	else
		write_done(io, res);
	io->next = e->idle;
	e->idle = io;
	e->in_flight--;
}

/* One step. True: made progress. *next: when it wants to be called again at the latest. */
static bool elevator_run(struct elevator *e, uint64_t *next)
{
	uint64_t ns;

	if (e->failed)
		return false;
	switch (e->step) {
	case ELEV_READ:
		if (e->next < e->nwin)
			return issue_reads(e);
		if (e->in_flight)
			return false;
		e->next = 0;
		e->step = ELEV_WRITE;
		return true;
	case ELEV_WRITE:
		if (e->next < e->nwin)
			return issue_writes(e);
		if (e->in_flight)
			return false;
		ns = sleep_ns(e->g);
		atomic_store_explicit(&e->g->sleep_ns, ns, memory_order_relaxed);
		e->wake_ns = ns ? vclock_now(e->g->clock) + ns : 0;
		e->step = ELEV_SLEEP;
		return true;
	case ELEV_SLEEP:
		if (atomic_load(&e->g->stop))
			return false;
		if (e->wake_ns && !atomic_load(&e->g->drain_all) &&
		    vclock_now(e->g->clock) < e->wake_ns) {
			if (e->wake_ns < *next)
				*next = e->wake_ns;
			return false;
		}
		next_window(e);
		return true;
	default:
		return false;
	}
}

bool elevators_idle(const struct disk_group *g)
{
	for (unsigned int i = 0; i < g->ncap; i++)
		if (g->elev[i].in_flight)
			return false;
	return true;
}

/* All elevators, one step each. True: somebody made progress. The worker. */
bool elevators_run(struct disk_group *g, uint64_t *next)
{
	bool progress = false, done = true;

	if (g->drained || atomic_load_explicit(&g->cache_error, memory_order_relaxed))
		return false;
	if (!g->draining)
		return choose_bucket(g);
	for (unsigned int i = 0; i < g->ncap; i++) {
		progress |= elevator_run(&g->elev[i], next);
		done &= g->elev[i].step == ELEV_DONE && !g->elev[i].failed;
	}
	if (done) {
		g->drained = true;
		progress = true;
	}
	return progress;
}
