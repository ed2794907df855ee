/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a group: open (reads, validates, plans), start (prepares, formats or recovers, starts
 * the worker), close (drains if asked, seals, writes the clean mark).
 */
#include "disk_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/safety.h"
#include "group.h"
#include "host_memory.h"

void disk_group_options_default(struct dg_options *o)
{
	*o = (struct dg_options){
		.drive_seed = 1,
		.stripe_width = 1,
		.destage_start = 30,
		.destage_unthrottle = 70,
		.destage_sleep_ns = 10 * NSEC_PER_MSEC,
		.destage_batch = 1u << 20,
		.destage_depth = 8,
		.congestion_ssd_low = 80,
		.congestion_ssd_high = 98,
		.congestion_delay_us = 50,
		.congestion_tau = 16,
	};
}

static int check_options(const struct dg_options *o, struct report *r)
{
	if (!o->ncapacity || o->ncapacity > DG_MAX_CAPACITY)
		return report(r, -EINVAL,
			      "capacity_devices: a disk group has 1 to %u capacity devices, not %u",
			      DG_MAX_CAPACITY, o->ncapacity);
	if (o->buckets && (o->buckets < 2 || o->buckets > DG_MAX_BUCKETS))
		return report(r, -EINVAL, "buckets=%u: must be 2 to %u", o->buckets,
			      DG_MAX_BUCKETS);
	if (!o->stripe_width || o->stripe_width > DG_MAX_STRIPES || o->stripe_width > o->ncapacity)
		return report(r, -EINVAL,
			      "stripe_width=%u: must be 1 to 12 and at most the number of capacity "
			      "devices "
			      "(%u)",
			      o->stripe_width, o->ncapacity);
	if (!(o->destage_start >= 0 && o->destage_start <= o->destage_unthrottle &&
	      o->destage_unthrottle <= 100))
		return report(
			r, -EINVAL,
			"destage_start=%g%% and destage_unthrottle=%g%%: must rise from 0 to 100",
			o->destage_start, o->destage_unthrottle);
	if (o->destage_batch < DG_BLOCK || o->destage_batch > 64u << 20 ||
	    o->destage_batch % DG_BLOCK)
		return report(r, -EINVAL, "destage_batch=%u: must be a multiple of 4k, at most 64m",
			      o->destage_batch);
	if (!o->destage_depth || o->destage_depth > 1024)
		return report(r, -EINVAL, "destage_depth=%u: must be 1 to 1024", o->destage_depth);
	if (!(o->congestion_ssd_low < o->congestion_ssd_high) || o->congestion_ssd_low < 0 ||
	    !(o->congestion_tau > 0) || !(o->congestion_delay_us >= 0))
		return report(
			r, -EINVAL,
			"congestion: ssd_low=%g%% must be below ssd_high=%g%%, tau=%g above 0",
			o->congestion_ssd_low, o->congestion_ssd_high, o->congestion_tau);
	return 0;
}

static int copy_options(struct disk_group *g, const struct dg_options *o)
{
	g->opt = *o;
	g->ncap = o->ncapacity;
	for (unsigned int i = 0; i <= o->ncapacity; i++) {
		const char *s = i ? o->capacity[i - 1] : o->cache;

		g->opt_strings[i] = strdup(s ? s : "");
		if (!g->opt_strings[i])
			return -ENOMEM;
		if (i)
			g->opt.capacity[i - 1] = g->opt_strings[i];
		else
			g->opt.cache = g->opt_strings[i];
	}
	return 0;
}

static struct device *member(const struct disk_group *g, unsigned int i)
{
	return i ? g->cap[i - 1].dev : g->cache;
}

static void member_spec(const struct disk_group *g, unsigned int i, struct dev_spec *s)
{
	const struct dg_options *o = &g->opt;

	*s = (struct dev_spec){
		.name = i ? o->capacity[i - 1] : o->cache,
		.option = i ? "capacity_devices" : "cache_device",
		.size = i ? o->capacity_size : o->cache_size,
		.is_cache = !i,
		.fresh = i ? o->capacity_fresh : o->cache_fresh,
		.store_data = o->drive_data,
		.seed = o->drive_seed + i,
		.prepare = o->file_prepare,
		.allow_overwrite = o->allow_overwrite,
		.stop = o->stop,
		.stop_arg = o->stop_arg,
	};
}

static int open_devices(struct disk_group *g, struct report *r)
{
	for (unsigned int i = 0; i <= g->ncap; i++) {
		struct device **dev = i ? &g->cap[i - 1].dev : &g->cache;
		struct dev_spec spec;
		int err = 0;

		member_spec(g, i, &spec);
		for (unsigned int k = 0; k < i && !g->opt.given[i]; k++)
			if (device_names_same(g->opt_strings[k], g->opt_strings[i]))
				return report(
					r, -EINVAL,
					"%s: %s is given twice; each member of a disk group is a "
					"device of its own",
					spec.option, spec.name);
		if (g->opt.given[i])
			*dev = g->opt.given[i];
		else
			err = device_open(dev, &spec, g->clock, r);
		if (err)
			return err;
		if (i)
			g->cap[i - 1].index = i - 1;
		if (!(*dev)->persistent)
			g->temporary = true;
	}
	return 0;
}

/* The label of a member; -ENODATA if it has none. */
static int read_label(struct device *dev, struct label_info *l, struct report *r)
{
	void *block = aligned_alloc(4096, FMT_META_BLOCK);
	int err;

	if (!block)
		return -ENOMEM;
	err = dev->created ? -ENODATA
			   : device_read_sync(dev, block, FMT_META_BLOCK, FMT_LABEL_OFFSET);
	if (err && err != -ENODATA)
		report(r, err, "%s: cannot read: %s", dev->name, strerror(-err));
	else if (!err)
		err = label_decode(block, l);
	free(block);
	if (err == -EPROTONOSUPPORT)
		report(r, err,
		       "%s: a disk group of another version of fio-vsan; format=always makes a new "
		       "one (all data is lost)",
		       dev->name);
	return err;
}

static int check_member(const struct disk_group *g, unsigned int i, const struct label_info *cache,
			const struct label_info *l, int err, struct report *r)
{
	const char *name = member(g, i)->name;

	if (err)
		return report(r, -EINVAL,
			      "capacity_devices: %s is not a member of the disk group on %s (which "
			      "has %u "
			      "capacity devices); give the group's own devices, or format=always "
			      "(all data "
			      "is lost)",
			      name, g->cache->name, cache->count - 1);
	if (memcmp(l->uuid, cache->uuid, 16))
		return report(
			r, -EINVAL,
			"capacity_devices: %s belongs to another disk group than %s; give the "
			"group's own devices, or format=always (all data is lost)",
			name, g->cache->name);
	if (l->index != i)
		return report(
			r, -EINVAL,
			"capacity_devices: %s is member %u of its disk group, but is given as %u; "
			"give them in their order",
			name, l->index, i);
	if (l->size < member(g, i)->size)
		return report(
			r, -EINVAL,
			"capacity_devices: %s would have %llu bytes, but its disk group was made "
			"with %llu; leave capacity_size out",
			name, (unsigned long long)member(g, i)->size, (unsigned long long)l->size);
	if (l->size > member(g, i)->size)
		return report(r, -EINVAL,
			      "capacity_devices: %s has become smaller; give it its old size "
			      "back",
			      name);
	return 0;
}

static int load_superblock(struct disk_group *g, struct report *r)
{
	char *buf = aligned_alloc(4096, 2ul * FMT_META_BLOCK);
	struct sb_info s[2];
	bool ok[2];
	int err = buf ? device_read_sync(g->cache, buf, 2ul * FMT_META_BLOCK, FMT_SB_OFFSET)
		      : -ENOMEM,
	    k;

	if (err) {
		free(buf);
		return report(r, err, "%s: cannot read the superblock: %s", g->cache->name,
			      strerror(-err));
	}
	for (k = 0; k < 2; k++)
		ok[k] = !sb_decode(buf + (size_t)k * FMT_META_BLOCK, &s[k]) &&
			!memcmp(s[k].uuid, g->uuid, 16) && s[k].members == 1 + g->ncap;
	free(buf);
	if (!ok[0] && !ok[1])
		return report(r, -EBADMSG,
			      "%s: both superblocks of the disk group are damaged; format=always "
			      "makes a new "
			      "one (all data is lost)",
			      g->cache->name);
	k = ok[0] && (!ok[1] || s[0].generation > s[1].generation) ? 0 : 1;
	g->geometry = s[k];
	g->meta.sb = s[k];
	g->meta.sb_slot = 1 - k;
	return layout_adopt(g, r);
}

/* What is on the devices: our group, nothing, or something that must not be touched. */
static int identify(struct disk_group *g, struct report *r)
{
	struct label_info label[1 + DG_MAX_CAPACITY];
	int have[1 + DG_MAX_CAPACITY];
	bool keep = g->opt.format != DG_FORMAT_ALWAYS && !g->temporary &&
		    g->opt.target == DG_TARGET_GROUP;

	for (unsigned int i = 0; i <= g->ncap; i++) {
		struct device *dev = member(g, i);

		have[i] = dev->persistent ? read_label(dev, &label[i], r) : -ENODATA;
		if (have[i] == -EPROTONOSUPPORT && g->opt.format != DG_FORMAT_ALWAYS)
			return have[i];
		if (have[i] && have[i] != -ENODATA && have[i] != -EBADMSG &&
		    have[i] != -EPROTONOSUPPORT)
			return have[i];
	}
	if (keep && !have[0]) {
		if (label[0].index != 0)
			return report(r, -EINVAL,
				      "cache_device: %s is a capacity device (member %u) of a disk "
				      "group; "
				      "give its cache device, or format=always (all data is lost)",
				      g->cache->name, label[0].index);
		if (label[0].count != 1 + g->ncap)
			return report(r, -EINVAL,
				      "capacity_devices: the disk group on %s has %u capacity "
				      "devices, %u "
				      "are given; give all in their order",
				      g->cache->name, label[0].count - 1, g->ncap);
		for (unsigned int i = 1; i <= g->ncap; i++) {
			int err = check_member(g, i, &label[0], &label[i], have[i], r);

			if (err)
				return err;
		}
		memcpy(g->uuid, label[0].uuid, 16);
		g->exists = true;
		return load_superblock(g, r);
	}
	if (keep && g->opt.format == DG_FORMAT_NEVER)
		return report(r, -ENOENT,
			      "cache_device: there is no disk group on %s and format=never",
			      g->cache->name);
	for (unsigned int i = 0; i <= g->ncap; i++) {
		struct device *dev = member(g, i);
		struct dev_spec spec;
		int err;

		member_spec(g, i, &spec);
		if (!have[i] && g->opt.format != DG_FORMAT_ALWAYS)
			return report(r, -EEXIST,
				      "%s: %s belongs to a disk group; give all members of that "
				      "group, or "
				      "format=always (all data is lost)",
				      spec.option, dev->name);
		if (!have[i] || g->opt.given[i])
			continue;
		err = device_probe_foreign(dev, &spec, r);
		if (err)
			return err;
	}
	g->fresh = true;
	return layout_plan(g, r);
}

static int check_memory(const struct disk_group *g, struct report *r)
{
	uint64_t need = group_memory(g);
	unsigned long long avail = host_memory_available();

	if (avail && need > avail)
		return report(
			r, -ENOMEM,
			"the disk group needs %llu MiB of memory for its tables, %llu MiB are "
			"available; make write_buffer_size smaller",
			(unsigned long long)need >> 20, avail >> 20);
	return 0;
}

static void group_free(struct disk_group *g)
{
	if (g->work_ioq)
		ioq_destroy(g->work_ioq);
	metadata_exit(g);
	elevators_exit(g);
	catalog_free(g);
	block_map_free(&g->map);
	for (unsigned int i = 0; i < g->ncap; i++) {
		extents_free(&g->cap[i]);
		device_close(g->cap[i].dev);
	}
	device_close(g->cache);
	for (unsigned int i = 0; i <= DG_MAX_CAPACITY; i++)
		free(g->opt_strings[i]);
	pthread_mutex_destroy(&g->start_lock);
	pthread_mutex_destroy(&g->extents_lock);
	free(g);
}

int disk_group_open(struct disk_group **out, const struct dg_options *o, const struct vclock *clock,
		    struct report *r)
{
	struct disk_group *g;
	int err = check_options(o, r);

	if (err)
		return err;
	g = calloc(1, sizeof(*g));
	if (!g)
		return report(r, -ENOMEM, "no memory for a disk group");
	g->clock = clock;
	pthread_mutex_init(&g->start_lock, NULL);
	pthread_mutex_init(&g->extents_lock, NULL);
	atomic_store(&g->elev_bucket, -1);
	atomic_store(&g->seq, 1);
	err = copy_options(g, o);
	if (!err)
		err = open_devices(g, r);
	if (!err)
		err = identify(g, r);
	for (unsigned int i = 0; !err && i < g->ncap; i++)
		err = extents_init(g, &g->cap[i]);
	if (!err) {
		g->by_id = calloc(g->geometry.catalog_slots + 1, sizeof(*g->by_id));
		err = g->by_id ? check_memory(g, r) : -ENOMEM;
	}
	if (!err && g->exists)
		err = catalog_load(g, r);
	if (err) {
		group_free(g);
		return report(r, err, "cannot open the disk group: %s", strerror(-err));
	}
	*out = g;
	return 0;
}

/* ---- start
 * ------------------------------------------------------------------------------------------ */

static int write_catalog(struct disk_group *g, struct report *r)
{
	for (struct dg_volume *v = g->volumes; v; v = v->next) {
		int err = v->durable || !group_persistent(g) ? 0 : catalog_write(g, v);

		if (err)
			return report(r, err, "%s: cannot write the catalog entry of volume %s: %s",
				      g->cache->name, v->info.name, strerror(-err));
	}
	return 0;
}

static void warn_volatile(const struct disk_group *g)
{
	if (g->cache->volatile_cache && g->opt.durability == DG_DURABLE_WRITE &&
	    (g->cache->kind == DEV_KIND_BLOCK || g->cache->kind == DEV_KIND_FILE))
		fprintf(stderr,
			"fio-vsan: note: the write cache of %s is volatile: with durability=write "
			"a power "
			"cut can lose acknowledged writes (durability=fua or fsync prevents it)\n",
			g->cache->name);
}

static int start_work(struct disk_group *g, struct report *r)
{
	unsigned int depth = 64 + g->ncap * g->opt.destage_depth;
	int err = ioq_create(&g->work_ioq, g->clock, depth > 4096 ? 4096 : depth, false);

	if (!err)
		err = ioq_attach(g->work_ioq, g->cache);
	for (unsigned int i = 0; !err && i < g->ncap; i++)
		err = ioq_attach(g->work_ioq, g->cap[i].dev);
	return err ? report(r, err, "cannot make the elevator's I/O queue: %s", strerror(-err)) : 0;
}

static int make_buckets_free(struct disk_group *g)
{
	for (uint32_t i = 0; i < g->wb.nbuckets; i++) {
		g->wb.bucket[i].gen = g->geometry.bucket[i].gen;
		wb_make_free(g, &g->wb.bucket[i]);
	}
	return prefill(g);
}

static int load(struct disk_group *g, struct report *r)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < g->ncap; i++)
		err = extents_load(g, &g->cap[i], r);
	for (uint32_t i = 0; i < g->wb.nbuckets; i++)
		g->wb.bucket[i].gen = g->geometry.bucket[i].gen;
	return err ? err : recovery_run(g, r);
}

static int wait_drained(struct disk_group *g, struct report *r);

static int start_group(struct disk_group *g, bool writing, struct report *r)
{
	int err = 0;

	for (unsigned int i = 0; !err && i <= g->ncap; i++)
		err = device_prepare(member(g, i), r);
	if (err || g->opt.target != DG_TARGET_GROUP)
		return err;
	err = wb_init(g);
	if (!err)
		err = metadata_init(g);
	if (!err)
		err = elevators_init(g);
	if (err)
		return report(r, err, "no memory for the tables of the disk group (%llu MiB)",
			      (unsigned long long)group_memory(g) >> 20);
	err = start_work(g, r);
	if (!err)
		err = g->fresh ? group_format(g, r) : load(g, r);
	if (!err && g->fresh)
		err = make_buckets_free(g);
	if (!err)
		err = write_catalog(g, r);
	if (!err && writing && group_persistent(g)) {
		err = metadata_write_sb(g, false);
		if (err)
			report(r, err, "%s: cannot write the superblock: %s", g->cache->name,
			       strerror(-err));
	}
	if (err)
		return err;
	warn_volatile(g);
	g->writing = writing;
	g->start_ns = vclock_now(g->clock);
	g->fill_start = wb_fill(g) * 100.0;
	atomic_store(&g->fill_max, atomic_load(&g->wb.used));
	return g->opt.no_worker ? 0 : worker_start(g, r);
}

/* A later job is the first to write: the worker marks the group, we wait for it. */
static int mark_writing(struct disk_group *g, struct report *r)
{
	g->writing = true;
	if (!group_persistent(g) || g->opt.target != DG_TARGET_GROUP || !g->worker_runs)
		return 0;
	atomic_store(&g->want_mark, true);
	worker_kick(g);
	while (atomic_load(&g->want_mark)) {
		if (atomic_load(&g->cache_error))
			return report(r, atomic_load(&g->cache_error),
				      "%s: cannot write the superblock", g->cache->name);
		usleep(200);
	}
	return 0;
}

int disk_group_start(struct disk_group *g, bool writing, struct report *r)
{
	int err = 0;

	pthread_mutex_lock(&g->start_lock);
	if (!g->started) {
		err = start_group(g, writing, r);
		if (!err && g->opt.drain & DG_DRAIN_START && g->opt.target == DG_TARGET_GROUP) {
			err = wait_drained(g, r);
			g->fill_start = wb_fill(g) * 100.0;
		}
		g->started = !err;
	} else if (writing && !g->writing) {
		err = mark_writing(g, r);
	}
	pthread_mutex_unlock(&g->start_lock);
	return err;
}

/* ---- drain and close
 * ---------------------------------------------------------------------------------- */

static int broken(const struct disk_group *g)
{
	int err = atomic_load(&g->cache_error);

	for (unsigned int i = 0; !err && i < g->ncap; i++)
		if (atomic_load(&g->cap[i].failed))
			err = -EIO;
	return err;
}

/* Destage everything, with progress on a terminal when it takes longer. */
static int wait_drained(struct disk_group *g, struct report *r)
{
	uint64_t all = atomic_load(&g->wb.used), t0 = vclock_now(g->clock), shown = t0;
	bool tty = isatty(STDERR_FILENO);
	int err = 0;

	atomic_store(&g->drain_all, true);
	worker_kick(g);
	while (atomic_load(&g->wb.used) && !(err = broken(g))) {
		uint64_t now, next;

		if (g->worker_runs) {
			usleep(1000);
		} else {
			next = disk_group_work(g);
			if (g->clock->is_virtual && next != TIME_NEVER &&
			    next > g->clock->virtual_ns)
				((struct vclock *)g->clock)->virtual_ns = next;
			continue;
		}
		now = vclock_now(g->clock);
		if (tty && now - t0 > 3 * NSEC_PER_SEC && now - shown > NSEC_PER_SEC / 2) {
			shown = now;
			fprintf(stderr, "\rfio-vsan: draining the write buffer: %3.0f%%",
				100.0 * (1.0 - (double)atomic_load(&g->wb.used) /
						       (double)(all ? all : 1)));
		}
	}
	if (shown != t0)
		fprintf(stderr, "\r\033[K");
	atomic_store(&g->drain_all, false);
	return err ? report(r, err, "%s: the write buffer could not be drained: %s", g->cache->name,
			    strerror(-err))
		   : 0;
}

static int close_group(struct disk_group *g, struct report *r)
{
	int err = 0;

	if (g->opt.drain & DG_DRAIN_END)
		err = wait_drained(g, r);
	wb_close_current(g);
	worker_stop(g);
	if (!err)
		err = broken(g);
	if (err)
		return report(
			r, err,
			"%s: the disk group is closed dirty after an error; it keeps its data",
			g->cache->name);
	/* What was read only needs no mark; what has one is replaced. */
	if (group_persistent(g) && !g->meta.sb.clean) {
		err = metadata_write_sb(g, true);
		if (err)
			report(r, err, "%s: cannot write the superblock: %s", g->cache->name,
			       strerror(-err));
	}
	return err;
}

int disk_group_close(struct disk_group *g, struct report *r)
{
	int err = 0;

	if (!g)
		return 0;
	if (g->started && g->opt.target == DG_TARGET_GROUP)
		err = close_group(g, r);
	else
		worker_stop(g);
	group_free(g);
	return err;
}
