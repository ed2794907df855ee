/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshots of a group's counters, and what a dry run prints. Nobody is stopped to take one. */
#include <string.h>

#include "group.h"

static uint64_t get(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static void add_queue(struct dg_stats *o, const struct queue_stats *q)
{
	for (int i = 0; i < 4; i++) {
		o->ios[i] += get(&q->ios[i]);
		o->bytes[i] += get(&q->bytes[i]);
		o->nsec[i] += get(&q->nsec[i]);
	}
	o->errors += get(&q->errors);
	o->in_flight += get(&q->in_flight);
	o->blocks_wb_read += get(&q->wb_blocks);
	o->blocks_capacity_read += get(&q->capacity_blocks);
	o->blocks_never_written += get(&q->never_blocks);
	o->bytes_overwritten += get(&q->overwritten);
	o->no_page.count += get(&q->no_page);
	o->no_page.nsec += get(&q->no_page_ns);
	o->congestion.count += get(&q->congestion);
	o->congestion.nsec += get(&q->congestion_ns);
	o->overlap.count += get(&q->overlap);
	o->overlap.nsec += get(&q->overlap_ns);
}

static void add_buffer(struct disk_group *g, struct dg_stats *o)
{
	struct write_buffer *wb = &g->wb;
	uint64_t live = 0;

	o->buckets = wb->nbuckets;
	o->bucket_pages = wb->bucket_pages;
	o->pages = wb->npages;
	o->pages_used = get(&wb->used);
	o->cur_bucket = -1;
	spin_lock(&wb->lock);
	for (uint32_t i = 0; i < wb->nbuckets; i++) {
		const struct bucket *b = &wb->bucket[i];

		live += atomic_load_explicit(&b->live, memory_order_relaxed);
		o->bucket_used[i] = b->state == BUCKET_FREE ? 0 : b->next;
		if (b->state == BUCKET_CURRENT)
			o->cur_bucket = (int)i;
	}
	spin_unlock(&wb->lock);
	o->pages_overwritten = o->pages_used > live ? o->pages_used - live : 0;
	o->elev_bucket = atomic_load(&g->elev_bucket);
	if (wb->npages) {
		o->fill_pct = wb_fill(g) * 100.0;
		o->fill_max_pct = (double)get(&g->fill_max) * 100.0 / (double)wb->npages;
	}
	if (o->fill_pct > o->fill_max_pct)
		o->fill_max_pct = o->fill_pct;
	o->fill_start_pct = g->fill_start;
}

void disk_group_stats(struct disk_group *g, struct dg_stats *o)
{
	memset(o, 0, sizeof(*o));
	o->now_ns = vclock_now(g->clock);
	o->start_ns = g->start_ns;
	spin_lock(&g->queue_lock);
	add_queue(o, &g->gone);
	lateness_merge(&o->lateness, &g->gone_late);
	for (const struct dg_queue *q = g->queues; q; q = q->next)
		add_queue(o, &q->stats);
	spin_unlock(&g->queue_lock);
	add_buffer(g, o);
	o->bytes_destaged = get(&g->destage.bytes);
	o->zero_bytes_destaged = get(&g->destage.zero_bytes);
	o->buckets_destaged = get(&g->destage.buckets);
	o->destage_reads = get(&g->destage.reads);
	o->destage_read_nsec = get(&g->destage.read_nsec);
	o->destage_read_bytes = get(&g->destage.read_bytes);
	o->destage_writes = get(&g->destage.writes);
	o->destage_write_nsec = get(&g->destage.write_nsec);
	o->destage_write_bytes = get(&g->destage.write_bytes);
	o->ssd_congestion = atomic_load(&g->cong.ssd_now) / 256.0;
	o->log_congestion = atomic_load(&g->cong.log_now) / 256.0;
	o->mem_congestion = atomic_load(&g->cong.mem_now) / 256.0;
	o->sleep_ms = (double)get(&g->sleep_ns) / 1e6;
	o->first_full_ns = get(&g->first_full_ns);
	pthread_mutex_lock(&g->extents_lock);
	for (unsigned int i = 0; i < g->ncap; i++)
		o->capacity_used += (uint64_t)g->cap[i].used * DG_EXTENT;
	pthread_mutex_unlock(&g->extents_lock);
	o->memory_bytes = group_memory(g);
}

uint64_t disk_group_data_bytes(struct disk_group *g)
{
	const struct sb_info *s = &g->geometry;
	uint64_t n = 0, volumes = 0, room = 0;

	/* Only what is written takes memory: at most the buffer's region, at most the volumes. */
	if (g->cache->stores_data && !g->cache->persistent)
		n += s->buckets ? s->buckets * s->bucket_bytes : g->cache->size;
	pthread_mutex_lock(&g->start_lock);
	for (const struct dg_volume *v = g->volumes; v; v = v->next)
		volumes += v->asked;
	pthread_mutex_unlock(&g->start_lock);
	for (unsigned int i = 0; i < g->ncap; i++)
		if (g->cap[i].dev->stores_data && !g->cap[i].dev->persistent)
			room += g->cap[i].dev->size;
	return n + (volumes < room ? volumes : room);
}

unsigned int disk_group_devices(const struct disk_group *g)
{
	return 1 + g->ncap;
}

const struct device *disk_group_device(const struct disk_group *g, unsigned int i)
{
	return i ? g->cap[i - 1].dev : g->cache;
}

bool disk_group_device_failed(const struct disk_group *g, unsigned int i)
{
	return i ? atomic_load(&g->cap[i - 1].failed) : atomic_load(&g->cache_error) != 0;
}

const struct dg_options *disk_group_options(const struct disk_group *g)
{
	return &g->opt;
}

void disk_group_print_plan(const struct disk_group *g, FILE *f)
{
	const struct sb_info *s = &g->geometry;
	uint64_t prepare = 0;

	if (g->opt.target != DG_TARGET_GROUP) {
		fprintf(f, "target: the %s tier alone, no disk group\n",
			g->opt.target == DG_TARGET_CACHE ? "cache" : "capacity");
	} else {
		fprintf(f, "disk group: %s\n",
			g->exists      ? "found on the devices"
			: g->temporary ? "new, lasts for this fio run"
				       : "new, the devices will be formatted");
		fprintf(f, "write buffer: %.1f MiB in %u buckets of %u pages, log %.1f MiB\n",
			(double)s->buckets * s->bucket_pages * DG_BLOCK / 1048576.0, s->buckets,
			s->bucket_pages,
			(double)s->buckets * s->log_blocks * s->log_block / 1048576.0);
	}
	for (unsigned int i = 0; i <= g->ncap; i++) {
		struct device *dev = i ? g->cap[i - 1].dev : g->cache;
		uint64_t bytes = device_prepare_bytes(dev);

		prepare += bytes;
		fprintf(f, "%s: %s, %.1f MiB, logical block %u bytes%s",
			i ? "capacity device" : "cache device", dev->name,
			(double)dev->size / 1048576.0, dev->block_size,
			dev->fresh        ? ", fresh"
			: dev->has_timing ? ", steady"
					  : "");
		if (bytes)
			fprintf(f, ", %.1f MiB to prepare", (double)bytes / 1048576.0);
		fputc('\n', f);
	}
	for (const struct dg_volume *v = g->volumes; v; v = v->next)
		fprintf(f, "volume: %s, %.1f MiB, %u components of %u stripes\n", v->info.name,
			(double)v->asked / 1048576.0, v->info.ncomponents, v->info.stripe_width);
	fprintf(f, "memory for tables: %.1f MiB\n", (double)group_memory(g) / 1048576.0);
	fprintf(f, "disk to prepare: %.1f MiB, about %.0f s at 500 MB/s\n",
		(double)prepare / 1048576.0, (double)prepare / 500e6);
}
