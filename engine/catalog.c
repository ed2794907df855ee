/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The volumes of a group: names, sizes, and on which capacity devices their stripes lie.
 *
 * Space is promised in full when a volume is made, though extents are only assigned when they are
 * written: so no write can find the group full half way through a run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "group.h"

#define COMPONENT_MAX (255ull * 1024) /* extents: 255 GB (reference: vSAN maximums) */
#define COMPONENT_MIN 16u

static uint64_t slot_offset(const struct dg_volume *v, uint32_t copy)
{
	return FMT_CATALOG_OFFSET + (2ull * (v->info.id - 1) + copy) * FMT_META_BLOCK;
}

/* Write the volume's entry into its older copy. Flushed: records that name it may follow. */
int catalog_write(struct disk_group *g, struct dg_volume *v)
{
	char *block = aligned_alloc(4096, FMT_META_BLOCK);
	int err;

	if (!block)
		return -ENOMEM;
	v->info.generation++;
	v->slot_copy ^= 1;
	memcpy(v->info.uuid, g->uuid, 16);
	volume_encode(block, &v->info);
	err = device_write_sync(g->cache, block, FMT_META_BLOCK, slot_offset(v, v->slot_copy));
	/* durability: a record must never name a volume that a power cut can take away */
	if (!err)
		err = device_flush_sync(g->cache);
	free(block);
	v->durable = !err;
	return err;
}

static int volume_new(struct disk_group *g, struct dg_volume **out)
{
	struct dg_volume *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->g = g;
	for (unsigned int i = 0; i < g->ncap; i++)
		v->max_extents += g->cap[i].nextents;
	/* Room for any size the group can hold; only what is touched takes memory. */
	v->extent =
		mmap(NULL, (size_t)(v->max_extents + 1) * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (v->extent == MAP_FAILED) {
		free(v);
		return -ENOMEM;
	}
	*out = v;
	return 0;
}

static void volume_free(struct dg_volume *v)
{
	munmap((void *)v->extent, (size_t)(v->max_extents + 1) * sizeof(uint32_t));
	free(v);
}

void catalog_free(struct disk_group *g)
{
	for (struct dg_volume *v = g->volumes, *next; v; v = next) {
		next = v->next;
		volume_free(v);
	}
	free((void *)g->by_id);
	g->volumes = NULL;
	g->by_id = NULL;
}

/* Extents of logical range [from, to) on each device, by the volume's placement. */
static void count_segments(const struct dg_volume *v, uint64_t from, uint64_t to, uint64_t *n)
{
	for (uint64_t l = from; l < to; l++)
		n[volume_device(v, l)]++;
}

/* Choose @w different devices, those with the most room first, for one component. */
static bool place_component(struct disk_group *g, struct dg_volume *v, uint32_t component,
			    uint64_t extents, uint64_t *promised)
{
	uint32_t w = v->info.stripe_width, used = 0;
	uint64_t share = (extents + w - 1) / w;

	for (uint32_t s = 0; s < w; s++) {
		uint32_t best = UINT32_MAX;
		uint64_t room = 0;

		for (uint32_t d = 0; d < g->ncap; d++) {
			uint64_t left = g->cap[d].nextents - promised[d];

			if (!(used & 1u << d) && left >= share && left > room) {
				best = d;
				room = left;
			}
		}
		if (best == UINT32_MAX)
			return false;
		used |= 1u << best;
		promised[best] += share;
		v->info.placement[component * w + s] = (uint8_t)best;
	}
	return true;
}

/* Place the components of a volume that are not placed yet, up to v->nextents extents. */
static bool place_components(struct disk_group *g, struct dg_volume *v, uint32_t have)
{
	uint64_t promised[DG_MAX_CAPACITY], per = v->info.component_extents;
	uint64_t n = (v->nextents + per - 1) / per;

	if (n * v->info.stripe_width > FMT_PLACEMENTS)
		return false;
	for (unsigned int d = 0; d < g->ncap; d++)
		promised[d] = g->cap[d].promised;
	for (uint64_t c = have; c < n; c++) {
		uint64_t left = v->nextents - c * per;

		if (!place_component(g, v, (uint32_t)c, left < per ? left : per, promised))
			return false;
	}
	v->info.ncomponents = (uint32_t)n;
	return true;
}

static int no_room(struct disk_group *g, const struct dg_volume *v, struct report *r)
{
	uint64_t total = 0, left = 0;

	for (unsigned int d = 0; d < g->ncap; d++) {
		total += g->cap[d].nextents;
		left += g->cap[d].nextents - g->cap[d].promised;
	}
	return report(
		r, -ENOSPC,
		"volume %s of %llu MiB cannot fit (stripe_width=%u): the capacity devices have "
		"%llu "
		"of %llu MiB left; make the job's size smaller or the capacity devices larger",
		v->info.name, (unsigned long long)v->nextents, g->opt.stripe_width,
		(unsigned long long)left, (unsigned long long)total);
}

static void promise(struct disk_group *g, const struct dg_volume *v, uint64_t from)
{
	uint64_t n[DG_MAX_CAPACITY] = {0};

	count_segments(v, from, v->nextents, n);
	for (unsigned int d = 0; d < g->ncap; d++)
		g->cap[d].promised += n[d];
}

/* Find room for a new volume: components as large as may be, smaller ones where that does not fit.
 */
static int place_new(struct disk_group *g, struct dg_volume *v, struct report *r)
{
	uint64_t per = COMPONENT_MAX;

	v->info.stripe_width = g->opt.stripe_width;
	for (; per >= COMPONENT_MIN; per = per > v->nextents ? v->nextents / 2 : per / 2) {
		v->info.component_extents = (uint32_t)per;
		if (place_components(g, v, 0)) {
			promise(g, v, 0);
			return 0;
		}
	}
	return no_room(g, v, r);
}

static int grow(struct disk_group *g, struct dg_volume *v, uint64_t size, struct report *r)
{
	uint64_t old = v->nextents, old_size = v->info.size;
	uint32_t have = v->info.ncomponents;
	uint64_t n[DG_MAX_CAPACITY] = {0};

	v->nextents = (size + DG_EXTENT - 1) / DG_EXTENT;
	if (v->nextents <= v->max_extents && place_components(g, v, have)) {
		count_segments(v, old, v->nextents, n);
		for (unsigned int d = 0; d < g->ncap; d++)
			if (g->cap[d].promised + n[d] > g->cap[d].nextents)
				goto no;
		promise(g, v, old);
		v->info.size = size;
		v->durable =
			false; /* the catalog must know before the first record beyond its size */
		return 0;
	}
no:
	report(r, -ENOSPC,
	       "volume %s cannot grow from %llu to %llu bytes: no room on its capacity devices; "
	       "make the "
	       "job's size smaller",
	       v->info.name, (unsigned long long)old_size, (unsigned long long)size);
	v->nextents = old;
	v->info.ncomponents = have;
	return -ENOSPC;
}

static struct dg_volume *find(const struct disk_group *g, const char *name)
{
	struct dg_volume *v = g->volumes;

	while (v && strcmp(v->info.name, name))
		v = v->next;
	return v;
}

static void add(struct disk_group *g, struct dg_volume *v)
{
	struct dg_volume **link = &g->volumes;

	while (*link)
		link = &(*link)->next;
	*link = v;
	atomic_store(&g->by_id[v->info.id], v);
}

static int create(struct disk_group *g, const char *name, uint64_t size, struct dg_volume **out,
		  struct report *r)
{
	struct dg_volume *v;
	uint32_t id = 1;
	int err;

	while (id <= g->geometry.catalog_slots && atomic_load(&g->by_id[id]))
		id++;
	if (id > g->geometry.catalog_slots)
		return report(r, -ENOSPC,
			      "volume %s: the disk group has %u volumes already, the most it can",
			      name, g->geometry.catalog_slots);
	err = volume_new(g, &v);
	if (err)
		return report(r, err, "no memory for volume %s", name);
	strcpy(v->info.name, name); /* length checked by the caller */
	v->info.id = id;
	v->info.size = size;
	v->nextents = (size + DG_EXTENT - 1) / DG_EXTENT;
	if (g->opt.target != DG_TARGET_GROUP)
		err = raw_volume(g, v, r);
	else if (v->nextents > v->max_extents)
		err = no_room(g, v, r);
	else
		err = place_new(g, v, r);
	if (err) {
		volume_free(v);
		return err;
	}
	add(g, v);
	*out = v;
	return 0;
}

int disk_group_volume(struct disk_group *g, const char *name, uint64_t size, struct dg_volume **out,
		      struct report *r)
{
	struct dg_volume *v;
	int err = 0;

	if (!name[0] || strlen(name) > DG_NAME_MAX)
		return report(r, -EINVAL, "volume name '%.40s': must have 1 to %u bytes", name,
			      DG_NAME_MAX);
	pthread_mutex_lock(&g->start_lock);
	v = find(g, name);
	if (!v && !size)
		err = report(r, -ENOENT,
			     "volume %s does not exist in the disk group; give it a size=", name);
	else if (!v)
		err = create(g, name, size, &v, r);
	else if (size > v->info.size && g->opt.target == DG_TARGET_GROUP)
		err = grow(g, v, size, r);
	else if (size > v->info.size)
		err = report(r, -EINVAL,
			     "volume %s: jobs give it different sizes; with target=cache or "
			     "capacity they must agree",
			     name);
	if (!err) {
		uint64_t want = size ? size : v->info.size;

		if (want > v->asked)
			v->asked = want;
		v->durable &= size <= v->info.size && v->info.generation;
		if (g->started && !v->durable && g->opt.target == DG_TARGET_GROUP &&
		    group_persistent(g)) {
			err = catalog_write(g, v);
			if (err)
				report(r, err,
				       "%s: cannot write the catalog entry of volume %s: %s",
				       g->cache->name, name, strerror(-err));
		}
	}
	pthread_mutex_unlock(&g->start_lock);
	if (!err)
		*out = v;
	return err;
}

uint64_t dg_volume_size(const struct dg_volume *v)
{
	return v->asked;
}

const struct dg_volume *disk_group_next_volume(const struct disk_group *g,
					       const struct dg_volume *v)
{
	return v ? v->next : g->volumes;
}

const char *dg_volume_name(const struct dg_volume *v)
{
	return v->info.name;
}

static int load_volume(struct disk_group *g, const struct volume_info *info, uint32_t copy,
		       struct report *r)
{
	struct dg_volume *v;
	int err;

	for (uint32_t i = 0; i < info->ncomponents * info->stripe_width; i++)
		if (info->placement[i] >= g->ncap)
			goto damaged;
	err = volume_new(g, &v);
	if (err)
		return report(r, err, "no memory for volume %s", info->name);
	v->info = *info;
	v->slot_copy = copy;
	v->durable = true;
	v->nextents = (info->size + DG_EXTENT - 1) / DG_EXTENT;
	if (v->nextents > v->max_extents ||
	    v->nextents > (uint64_t)info->ncomponents * info->component_extents) {
		volume_free(v);
		goto damaged;
	}
	promise(g, v, 0);
	add(g, v);
	return 0;

damaged:
	return report(r, -EBADMSG,
		      "%s: the catalog entry of volume %s is damaged; format=always makes a new "
		      "group (all "
		      "data is lost)",
		      g->cache->name, info->name);
}

/* Read the catalog: of each slot the newer valid copy. Set-up. */
int catalog_load(struct disk_group *g, struct report *r)
{
	uint32_t slots = g->geometry.catalog_slots;
	size_t size = (size_t)slots * 2 * FMT_META_BLOCK;
	char *buf = aligned_alloc(4096, size);
	struct volume_info *v = malloc(2 * sizeof(*v));
	int err = buf && v ? 0 : -ENOMEM;

	if (!err)
		err = device_read_sync(g->cache, buf, size, FMT_CATALOG_OFFSET);
	if (err)
		report(r, err, "%s: cannot read the catalog: %s", g->cache->name, strerror(-err));
	for (uint32_t i = 0; !err && i < slots; i++) {
		bool ok[2];
		int k;

		for (k = 0; k < 2; k++)
			ok[k] = !volume_decode(buf + (2ull * i + (unsigned int)k) * FMT_META_BLOCK,
					       &v[k]) &&
				v[k].id == i + 1 && !memcmp(v[k].uuid, g->uuid, 16);
		if (!ok[0] && !ok[1])
			continue;
		k = ok[0] && (!ok[1] || v[0].generation > v[1].generation) ? 0 : 1;
		err = load_volume(g, &v[k], (uint32_t)k, r);
	}
	free(buf);
	free(v);
	return err;
}
