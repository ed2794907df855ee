/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a cache device is cut into label, superblocks, catalog and buckets; what a group will need;
 * and writing all that for the first time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "group.h"

#define DEFAULT_BUCKETS  8u   /* reference: vSAN's PLOG has 8 */
#define LOG_SHARE        0.04 /* of a bucket's page bytes */
#define LOG_MIN_PAIRS    64u  /* so that a small bucket still takes a deep queue of small writes */
#define REJECT_BLOCKS    8u   /* room for the REJECTs of a seal */
#define MIN_BUCKET_PAGES REQ_MAX_BLOCKS

static uint64_t round_up(uint64_t x, uint64_t to)
{
	return (x + to - 1) / to * to;
}

static uint64_t bucket_log_bytes(uint64_t pages, uint32_t log_block)
{
	uint64_t pairs = (uint64_t)((double)pages * DG_BLOCK * LOG_SHARE) / (2ull * log_block);

	if (pairs < LOG_MIN_PAIRS)
		pairs = LOG_MIN_PAIRS;
	return round_up((2 * pairs + REJECT_BLOCKS) * log_block, DG_BLOCK);
}

static uint64_t bucket_bytes(uint64_t pages, uint32_t log_block)
{
	return pages * DG_BLOCK + bucket_log_bytes(pages, log_block);
}

static int check_capacity(const struct disk_group *g, struct report *r)
{
	for (unsigned int i = 0; i < g->ncap; i++) {
		const struct device *dev = g->cap[i].dev;
		uint32_t nextents, ntable;

		extents_table_bytes(dev->size, &nextents, &ntable);
		if (!nextents)
			return report(
				r, -EINVAL,
				"capacity_devices: %s: %llu bytes are too small; at least 2 MiB "
				"are needed (capacity_size)",
				dev->name, (unsigned long long)dev->size);
	}
	return 0;
}

/* Geometry of a new group on the opened devices. -EINVAL with what to change when it cannot be. */
int layout_plan(struct disk_group *g, struct report *r)
{
	const struct dg_options *o = &g->opt;
	struct sb_info *s = &g->geometry;
	uint64_t size = g->cache->size / DG_BLOCK * DG_BLOCK, wb, usable, pages, need;

	memset(s, 0, sizeof(*s));
	s->members = 1 + g->ncap;
	s->buckets = o->buckets ? o->buckets : DEFAULT_BUCKETS;
	s->log_block = g->cache->write_unit;
	s->reject_blocks = REJECT_BLOCKS;
	s->catalog_slots = size >= 1ull << 30 ? 1024 : 64;
	s->data_offset = round_up(
		FMT_CATALOG_OFFSET + (uint64_t)s->catalog_slots * 2 * FMT_META_BLOCK, DG_BLOCK);
	s->seed = o->drive_seed;
	s->next_seq = 1;
	if (check_capacity(g, r))
		return -EINVAL;

	wb = o->write_buffer_size ? o->write_buffer_size : DG_WB_MAX;
	if (o->write_buffer_pct > 0)
		wb = (uint64_t)((double)size * o->write_buffer_pct / 100.0);
	need = s->data_offset + s->buckets * bucket_bytes(MIN_BUCKET_PAGES, s->log_block);
	if (size < need)
		return report(r, -EINVAL,
			      "cache_device %s: %llu bytes are too small for %u buckets; at least "
			      "%llu MiB "
			      "are needed (cache_size)",
			      g->cache->name, (unsigned long long)size, s->buckets,
			      (unsigned long long)(need + DG_EXTENT - 1) / DG_EXTENT);
	usable = (size - s->data_offset) / s->buckets;
	pages = wb / DG_BLOCK / s->buckets;
	while (pages > MIN_BUCKET_PAGES && bucket_bytes(pages, s->log_block) > usable)
		pages -= 1 + (bucket_bytes(pages, s->log_block) - usable) / (2ull * DG_BLOCK);
	if (pages < MIN_BUCKET_PAGES)
		return report(
			r, -EINVAL,
			"write_buffer_size: %llu bytes in %u buckets are too small for requests of "
			"1 MiB; at least %llu MiB are needed",
			(unsigned long long)wb, s->buckets,
			(unsigned long long)s->buckets * MIN_BUCKET_PAGES * DG_BLOCK / DG_EXTENT +
				1);
	if (pages * s->buckets > INT32_MAX)
		return report(r, -EINVAL, "write_buffer_size: more than 8 TiB are not supported");
	s->bucket_pages = (uint32_t)pages;
	s->bucket_bytes = bucket_bytes(pages, s->log_block);
	s->log_blocks = (uint32_t)(bucket_log_bytes(pages, s->log_block) / s->log_block);
	s->next_gen = 1;
	for (uint32_t i = 0; i < s->buckets; i++)
		s->bucket[i].gen = s->next_gen++;
	return 0;
}

/* The geometry was read from the device: does it fit the device and what the user asked for? */
int layout_adopt(struct disk_group *g, struct report *r)
{
	const struct sb_info *s = &g->geometry;

	if (s->data_offset + s->buckets * s->bucket_bytes > g->cache->size)
		return report(
			r, -EINVAL,
			"cache_device %s is smaller (%llu bytes) than the disk group on it needs "
			"(%llu); give it its old size back",
			g->cache->name, (unsigned long long)g->cache->size,
			(unsigned long long)(s->data_offset + s->buckets * s->bucket_bytes));
	if (g->opt.buckets && g->opt.buckets != s->buckets)
		return report(
			r, -EINVAL,
			"buckets=%u, but the disk group on %s has %u; leave the option out, or "
			"format=always (all data is lost)",
			g->opt.buckets, g->cache->name, s->buckets);
	return 0;
}

/* Bytes of memory that the group's tables take. */
uint64_t group_memory(const struct disk_group *g)
{
	uint64_t n = block_map_bytes(g->geometry.buckets * g->geometry.bucket_pages) +
		     (uint64_t)g->geometry.bucket_pages * sizeof(uint64_t);

	for (unsigned int i = 0; i < g->ncap; i++) {
		uint32_t nextents, ntable;

		extents_table_bytes(g->cap[i].dev->size, &nextents, &ntable);
		n += (uint64_t)nextents * sizeof(struct extent);
	}
	return n;
}

static int write_label(struct disk_group *g, struct device *dev, uint32_t index, void *block)
{
	struct label_info l = {.index = index, .count = 1 + g->ncap, .size = dev->size};

	memcpy(l.uuid, g->uuid, 16);
	label_encode(block, &l);
	return device_write_sync(dev, block, FMT_META_BLOCK, FMT_LABEL_OFFSET);
}

static int format_capacity(struct disk_group *g, struct capacity *c, void *buf, size_t size)
{
	uint64_t at = c->table_offset, n = 2ull * c->ntable;
	int err = 0;

	for (uint64_t i = 0; !err && i < n;) {
		size_t fill = 0;

		for (; i < n && fill + FMT_META_BLOCK <= size; i++, fill += FMT_META_BLOCK)
			extents_encode_table(g, c, (uint32_t)(i / 2), (char *)buf + fill);
		err = device_write_sync(c->dev, buf, fill, at);
		at += fill;
	}
	for (uint32_t t = 0; t < c->ntable; t++)
		c->table_slot[t] = 1; /* written second, so the newer */
	return err ? err : device_flush_sync(c->dev);
}

static int clear_cache_metadata(struct disk_group *g, char *buf, size_t size)
{
	uint64_t end = g->geometry.data_offset;
	int err = 0;

	memset(buf, 0, size);
	for (uint64_t at = 0; !err && at < end; at += size)
		err = device_write_sync(g->cache, buf, end - at < size ? end - at : size, at);
	return err ? err : device_flush_sync(g->cache);
}

/*
 * Make a new group on prepared devices. durability: the cache device's label and superblock come
 * last: a format that is interrupted leaves no group, never half of one.
 */
int group_format(struct disk_group *g, struct report *r)
{
	const size_t size = DG_EXTENT;
	char *buf = aligned_alloc(4096, size);
	const char *name = g->cache->name;
	int err = 0;

	if (!buf)
		return report(r, -ENOMEM, "no memory to format the disk group");
	if (getrandom(g->uuid, 16, 0) != 16)
		err = -EIO;
	memcpy(g->geometry.uuid, g->uuid, 16);
	if (!err && group_persistent(g))
		err = clear_cache_metadata(g, buf, size);
	for (unsigned int i = 0; !err && i < g->ncap; i++) {
		if (!g->cap[i].dev->persistent)
			continue; /* nobody will ever read it back */
		name = g->cap[i].dev->name;
		err = format_capacity(g, &g->cap[i], buf, size);
		if (!err)
			err = write_label(g, g->cap[i].dev, 1 + i, buf);
		if (!err)
			err = device_flush_sync(g->cap[i].dev);
	}
	g->meta.sb = g->geometry;
	if (!err && group_persistent(g)) {
		name = g->cache->name;
		err = metadata_write_sb(g, true);
		if (!err)
			err = write_label(g, g->cache, 0, buf);
		if (!err)
			err = device_flush_sync(g->cache);
	}
	free(buf);
	if (err)
		return report(r, err, "%s: cannot format the disk group: %s", name, strerror(-err));
	return 0;
}
