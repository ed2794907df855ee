/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capacity space: extents of 1 MiB, which volume they belong to, and which of their blocks hold
 * data.
 *
 * Placement (reference: vSAN): a volume is components of at most 255 GB, each striped over
 * stripe_width capacity devices in segments of 1 MiB. The device of a segment is fixed by the
 * catalog, its extent is assigned when the first write to it is admitted. The tables on the device
 * follow when a bucket has been drained; until then the records in the log are the truth.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "group.h"

/* Which capacity device holds logical extent @logical of a volume. */
uint32_t volume_device(const struct dg_volume *v, uint64_t logical)
{
	uint64_t component = logical / v->info.component_extents;
	uint32_t w = v->info.stripe_width;

	return v->info.placement[component * w + logical % v->info.component_extents % w];
}

/* Bytes before the data of a capacity device of @dev_size; how many extents and table blocks it
 * gets. */
uint64_t extents_table_bytes(uint64_t dev_size, uint32_t *nextents, uint32_t *ntable)
{
	/* An elevator sorts by extent number in 24 bits: 16 TiB of a device are used at most. */
	uint64_t n = dev_size / DG_EXTENT < 1u << 24 ? dev_size / DG_EXTENT : (1u << 24) - 1, t,
		 data;

	for (;;) {
		t = (n + FMT_TABLE_ENTRIES - 1) / FMT_TABLE_ENTRIES;
		data = (FMT_TABLE_OFFSET + t * 2 * FMT_META_BLOCK + DG_EXTENT - 1) / DG_EXTENT *
		       DG_EXTENT;
		if (data + n * DG_EXTENT <= dev_size || !n)
			break;
		n--;
	}
	*nextents = (uint32_t)n;
	*ntable = (uint32_t)t;
	return data;
}

int extents_init(struct disk_group *g, struct capacity *c)
{
	(void)g;
	c->table_offset = FMT_TABLE_OFFSET;
	c->data_offset = extents_table_bytes(c->dev->size, &c->nextents, &c->ntable);
	c->extent = mmap(NULL, (size_t)c->nextents * sizeof(struct extent), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->extent == MAP_FAILED) {
		c->extent = NULL;
		return -ENOMEM;
	}
	c->table_slot = calloc(c->ntable, 1);
	c->table_dirty = calloc(c->ntable, 1);
	return c->table_slot && c->table_dirty ? 0 : -ENOMEM;
}

void extents_free(struct capacity *c)
{
	if (c->extent)
		munmap(c->extent, (size_t)c->nextents * sizeof(struct extent));
	free(c->table_slot);
	free((void *)c->table_dirty);
	c->extent = NULL;
	c->table_slot = NULL;
	c->table_dirty = NULL;
}

static void mark_dirty(struct capacity *c, uint32_t extent)
{
	atomic_store_explicit(&c->table_dirty[extent / FMT_TABLE_ENTRIES], 1, memory_order_relaxed);
}

/* Assign a free extent of the segment's device to it. extents_lock held. */
static int assign(struct dg_volume *v, uint64_t logical)
{
	struct capacity *c = &v->g->cap[volume_device(v, logical)];

	for (uint32_t tries = 0; tries < c->nextents; tries++) {
		uint32_t e = c->next_free;

		c->next_free = e + 1 == c->nextents ? 0 : e + 1;
		if (c->extent[e].volume)
			continue;
		c->extent[e].volume = v->info.id;
		c->extent[e].logical = (uint32_t)logical;
		c->used++;
		mark_dirty(c, e);
		atomic_store_explicit(&v->extent[logical], e + 1, memory_order_release);
		return 0;
	}
	return -ENOSPC;
}

/* Give logical extents [from, to] their places on capacity, those that have none yet. Any thread.
 */
int extents_assign(struct dg_volume *v, uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint64_t l = from; !err && l <= to; l++) {
		if (atomic_load_explicit(&v->extent[l], memory_order_relaxed))
			continue;
		pthread_mutex_lock(&v->g->extents_lock);
		if (!atomic_load_explicit(&v->extent[l], memory_order_relaxed))
			err = assign(v, l);
		pthread_mutex_unlock(&v->g->extents_lock);
	}
	return err;
}

struct place extent_place(const struct dg_volume *v, uint64_t block)
{
	uint64_t logical = block / EXTENT_BLOCKS;
	uint32_t e = atomic_load_explicit(&v->extent[logical], memory_order_acquire);
	struct place p = {NULL, 0, 0};

	if (!e)
		return p;
	p.cap = &v->g->cap[volume_device(v, logical)];
	p.extent = e - 1;
	p.offset = p.cap->data_offset + (uint64_t)p.extent * DG_EXTENT +
		   block % EXTENT_BLOCKS * DG_BLOCK;
	return p;
}

bool extent_has_data(const struct place *p, uint64_t block)
{
	uint32_t bit = (uint32_t)(block % EXTENT_BLOCKS);

	return atomic_load_explicit(&p->cap->extent[p->extent].map[bit / 64],
				    memory_order_acquire) >>
		       bit % 64 &
	       1;
}

/* Before the block leaves the map: readers that no longer find it in the buffer look here. */
void extent_set_data(const struct place *p, uint64_t block, bool has)
{
	uint32_t bit = (uint32_t)(block % EXTENT_BLOCKS);
	_Atomic uint64_t *m = &p->cap->extent[p->extent].map[bit / 64];
	uint64_t mask = 1ull << bit % 64;

	if (has)
		atomic_fetch_or_explicit(m, mask, memory_order_release);
	else
		atomic_fetch_and_explicit(m, ~mask, memory_order_release);
	atomic_fetch_add_explicit(&p->cap->extent[p->extent].destage, 1, memory_order_release);
	mark_dirty(p->cap, p->extent);
}

/* prefilled: every block of the volume counts as written and lies on capacity. Set-up. */
void extents_fill(struct dg_volume *v)
{
	for (uint64_t l = 0; l < v->nextents; l++) {
		struct place p;

		if (extents_reserve(v, l * EXTENT_BLOCKS, 1))
			continue; /* cannot happen: placement promised the space */
		p = extent_place(v, l * EXTENT_BLOCKS);
		for (int k = 0; k < 4; k++)
			atomic_store(&p.cap->extent[p.extent].map[k], UINT64_MAX);
	}
}

static int load_entry(struct disk_group *g, struct capacity *c, uint32_t e,
		      const struct extent_info *x, struct report *r)
{
	struct dg_volume *v;

	if (!x->volume)
		return 0;
	v = x->volume <= g->geometry.catalog_slots ? atomic_load(&g->by_id[x->volume]) : NULL;
	if (!v || x->logical >= v->nextents || volume_device(v, x->logical) != c->index ||
	    v->extent[x->logical])
		return report(
			r, -EBADMSG,
			"%s: extent %u belongs to no volume of the catalog; the group is damaged, "
			"format=always makes a new one (all data is lost)",
			c->dev->name, e);
	c->extent[e].volume = x->volume;
	c->extent[e].logical = (uint32_t)x->logical;
	for (int k = 0; k < 4; k++)
		atomic_store(&c->extent[e].map[k], x->map[k]);
	atomic_store(&v->extent[x->logical], e + 1);
	c->used++;
	return 0;
}

/*
 * Read a capacity device's extent table: of each block the newer valid copy. A block of which
 * neither is valid is an error: it was written whole at format.
 */
int extents_load(struct disk_group *g, struct capacity *c, struct report *r)
{
	const uint32_t batch = 128; /* table blocks a read, both copies: 1 MiB */
	char *buf = aligned_alloc(4096, (size_t)batch * 2 * FMT_META_BLOCK);
	struct table_info *t = malloc(2 * sizeof(*t));
	int err = 0;

	if (!buf || !t)
		err = report(r, -ENOMEM, "no memory to read the extent table of %s", c->dev->name);
	for (uint32_t i = 0; !err && i < c->ntable; i++) {
		uint64_t at = c->table_offset + (uint64_t)i * 2 * FMT_META_BLOCK;
		const char *b = buf + (size_t)(i % batch) * 2 * FMT_META_BLOCK;
		bool ok[2];
		int k;

		if (i % batch == 0) {
			uint32_t n = c->ntable - i < batch ? c->ntable - i : batch;

			err = device_read_sync(c->dev, buf, (size_t)n * 2 * FMT_META_BLOCK, at);
			if (err) {
				report(r, err,
				       "%s: cannot read the extent table at offset %llu: %s",
				       c->dev->name, (unsigned long long)at, strerror(-err));
				break;
			}
		}
		for (k = 0; k < 2; k++)
			ok[k] = !table_decode(b + (size_t)k * FMT_META_BLOCK, &t[k]) &&
				t[k].index == i && !memcmp(t[k].uuid, g->uuid, 16);
		if (!ok[0] && !ok[1]) {
			err = report(r, -EBADMSG,
				     "%s: both copies of extent table block %u are damaged (offset "
				     "%llu); "
				     "format=always makes a new group (all data is lost)",
				     c->dev->name, i, (unsigned long long)at);
			break;
		}
		k = ok[0] && (!ok[1] || t[0].generation > t[1].generation) ? 0 : 1;
		c->table_slot[i] = (uint8_t)k;
		if (t[k].generation > c->table_gen)
			c->table_gen = t[k].generation;
		for (uint32_t e = 0; !err && e < FMT_TABLE_ENTRIES; e++)
			if ((uint64_t)i * FMT_TABLE_ENTRIES + e < c->nextents)
				err = load_entry(g, c, i * FMT_TABLE_ENTRIES + e, &t[k].extent[e],
						 r);
	}
	free(buf);
	free(t);
	return err;
}

/* Table block @t as it is now, with the device's next generation. The worker, or set-up. */
void extents_encode_table(struct disk_group *g, struct capacity *c, uint32_t t, void *block)
{
	struct table_info info = {.generation = ++c->table_gen, .index = t};

	memcpy(info.uuid, g->uuid, 16);
	pthread_mutex_lock(&g->extents_lock);
	for (uint32_t i = 0; i < FMT_TABLE_ENTRIES; i++) {
		uint64_t e = (uint64_t)t * FMT_TABLE_ENTRIES + i;

		if (e >= c->nextents)
			break;
		info.extent[i].volume = c->extent[e].volume;
		info.extent[i].logical = c->extent[e].logical;
		for (int k = 0; k < 4; k++)
			info.extent[i].map[k] = atomic_load(&c->extent[e].map[k]);
	}
	pthread_mutex_unlock(&g->extents_lock);
	table_encode(block, &info);
}
