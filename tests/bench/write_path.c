/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a buffered write costs without fio, devices and disks: 4 KiB random writes over 1 GiB at
 * iodepth 32, one thread, on memory devices. `null` devices move no bytes, so that the engine's own
 * path is what is left; `copy` ones do, and CRC32C comes on top with `crc`.
 *
 *	write_path null|null+crc|copy|copy+crc [WRITES [ROUNDS]]
 *	write_path memory
 *
 * Prints ns per write, best and median of the rounds (CPU time of the thread). For instructions run
 * it under callgrind with two run lengths and take the difference: scripts/bench does. `memory`
 * prints what the group takes for each page of the buffer instead: as planned, and resident.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/device/memory.h"
#include "engine/group.h"

#define DEPTH  32u
#define VOLUME (1ull << 30)

static struct vclock frozen = {.is_virtual = true};

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/*
 * Memory that is touched for the first time costs a page fault, on a virtual machine several. A
 * run of hours pays that once, so it is paid before the measuring begins.
 */
static int touch_all(struct disk_group *g, char *buf)
{
	int err = 0;

	for (uint32_t i = 0; i < g->map.npages; i += 64)
		atomic_store_explicit(&g->map.page[i].key, 0, memory_order_relaxed);
	if (g->cache->stores_data)
		for (uint64_t at = g->geometry.data_offset;
		     !err && at + DEPTH * DG_BLOCK <= g->cache->size; at += DEPTH * DG_BLOCK)
			err = device_write_sync(g->cache, buf, DEPTH * DG_BLOCK, at);
	return err;
}

static double resident_bytes(void)
{
	unsigned long long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		if (fscanf(f, "%llu %llu", &total, &resident) != 2)
			resident = 0;
		fclose(f);
	}
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void print_memory(struct disk_group *g, double before)
{
	double now = resident_bytes();
	struct dg_stats st;

	disk_group_stats(g, &st);
	printf("tables as planned %.1f bytes, resident memory %.1f bytes for each of %llu pages "
	       "(%llu written)\n",
	       (double)st.memory_bytes / (double)st.pages, (now - before) / (double)st.pages,
	       (unsigned long long)st.pages, (unsigned long long)st.pages_used);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int write_all(struct dg_queue *q, struct dg_volume *v, char *buf, uint64_t writes,
		     uint64_t *rng)
{
	struct dg_io io[DEPTH], *done[DEPTH];

	memset(io, 0, sizeof(io));
	for (uint64_t n = 0; n < writes; n += DEPTH) {
		for (unsigned int i = 0; i < DEPTH; i++) {
			*rng ^= *rng << 13;
			*rng ^= *rng >> 7;
			*rng ^= *rng << 17;
			io[i].vol = v;
			io[i].op = DG_WRITE;
			io[i].offset = *rng % (VOLUME / DG_BLOCK) * DG_BLOCK;
			io[i].len = DG_BLOCK;
			io[i].buf = buf + (size_t)i * DG_BLOCK;
			dg_submit(q, &io[i]);
		}
		dg_commit(q);
		for (unsigned int got = 0; got < DEPTH;)
			got += dg_poll(q, DEPTH - got, DEPTH, TIME_NEVER, done);
		for (unsigned int i = 0; i < DEPTH; i++)
			if (io[i].res)
				return io[i].res;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "null";
	bool store = !strncmp(mode, "copy", 4), crc = strstr(mode, "+crc") != NULL;
	/* What is stored takes memory for every page: shorter rounds. */
	uint64_t writes = argc > 2 ? strtoull(argv[2], NULL, 10) / DEPTH * DEPTH
			  : store  ? 1u << 15
				   : 1u << 19;
	unsigned int rounds = argc > 3 ? (unsigned int)atoi(argv[3]) : 7;
	uint64_t buffer = (writes * (rounds + 1) + VOLUME / DG_BLOCK) * DG_BLOCK * 11 / 10;
	double *ns = calloc(rounds, sizeof(*ns));
	char *buf = aligned_alloc(4096, (size_t)DEPTH * DG_BLOCK);
	uint64_t rng = 88172645463325252ull;
	struct report r = {0};
	struct dg_options o;
	struct disk_group *g = NULL;
	struct dg_volume *v = NULL;
	struct dg_queue *q = NULL;
	double before;
	int err;

	if (!ns || !buf)
		return 1;
	memset(buf, 0x5a, (size_t)DEPTH * DG_BLOCK);
	disk_group_options_default(&o);
	o.ncapacity = 1;
	o.cache = o.capacity[0] = "@memory";
	err = memory_device_create(&o.given[0], buffer + buffer / 16 + (64u << 20), store);
	if (!err)
		err = memory_device_create(&o.given[1], 2 * VOLUME, false);
	o.write_buffer_size = buffer;
	o.destage_start = o.destage_unthrottle = 100; /* the way in only */
	o.congestion_ssd_low = 99;
	o.congestion_ssd_high = 100;
	o.skip_crc = !crc;
	o.no_worker = true;
	/* A device that stores nothing has no page worth a checksum, unless that is what we
	 * measure. */
	if (crc && !err)
		o.given[0]->stores_data = true;
	before = resident_bytes();
	if (err || disk_group_open(&g, &o, &frozen, &r) ||
	    disk_group_volume(g, "bench", VOLUME, &v, &r) || disk_group_start(g, true, &r) ||
	    dg_queue_create(&q, g, DEPTH, false, &r)) {
		fprintf(stderr, "write_path: %s\n", r.text);
		return 1;
	}
	if (rounds > 1 && strcmp(mode, "memory"))
		err = touch_all(g, buf);
	if (!err && rounds > 1)
		err = write_all(q, v, buf, VOLUME / DG_BLOCK,
				&rng); /* warm up: most blocks are there */
	for (unsigned int i = 0; !err && i < rounds; i++) {
		double t = cpu_ns();

		err = write_all(q, v, buf, writes, &rng);
		ns[i] = (cpu_ns() - t) / (double)writes;
	}
	if (err) {
		fprintf(stderr, "write_path: a write failed: %s\n", strerror(-err));
		return 1;
	}
	if (!strcmp(mode, "memory")) {
		print_memory(g, before);
		goto out;
	}
	qsort(ns, rounds, sizeof(*ns), by_value);
	printf("%s: %llu writes x %u: best %.0f ns, median %.0f ns per 4 KiB write\n", mode,
	       (unsigned long long)writes, rounds, ns[0], ns[rounds / 2]);
out:
	dg_queue_destroy(q);
	disk_group_close(g, &r);
	free(ns);
	free(buf);
	return 0;
}
