/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The closed-loop driver of closed_loop.h. Offsets and the order of reads and writes are hashes of
 * the I/O's number: the golden values in tests/golden/ were made with the same ones.
 */
#include "closed_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum {
	WORKLOAD_SEED = 7,
	DEEP = 16, /* from this depth on, a load with writes starts with a full write buffer */
};

struct pending {
	uint64_t due;
	uint32_t number; /* equal times complete in order of submission */
};

struct heap {
	struct pending *v;
	uint32_t n;
};

static bool sooner(struct pending a, struct pending b)
{
	return a.due != b.due ? a.due < b.due : a.number < b.number;
}

static void heap_push(struct heap *h, struct pending p)
{
	uint32_t i = h->n++;

	while (i && sooner(p, h->v[(i - 1) / 2])) {
		h->v[i] = h->v[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->v[i] = p;
}

static struct pending heap_pop(struct heap *h)
{
	struct pending top = h->v[0];
	struct pending p = h->v[--h->n];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < h->n && sooner(h->v[child + 1], h->v[child]))
			child++;
		if (child >= h->n || !sooner(h->v[child], p))
			break;
		h->v[i] = h->v[child];
		i = child;
	}
	h->v[i] = p;
	return top;
}

static double hash01(uint64_t seed, uint64_t n)
{
	uint64_t x = seed * 0x100000001B3u + n + 0x9E3779B97F4A7C15u;

	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return (double)(x ^ (x >> 31)) / 18446744073709551616.0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void latency_stats(uint64_t *lat, uint32_t n, double *mean, double *p99)
{
	uint64_t sum = 0;
	uint32_t at = (uint32_t)(0.99 * n);

	*mean = *p99 = 0;
	if (!n)
		return;
	qsort(lat, n, sizeof(*lat), compare_u64);
	for (uint32_t i = 0; i < n; i++)
		sum += lat[i];
	*mean = (double)sum / n * 1e-3;
	*p99 = (double)lat[at < n ? at : n - 1] * 1e-3;
}

struct loop_result closed_loop_run(const struct flash_params *p, enum drive_condition cond,
				   uint64_t seed, const struct workload *w)
{
	uint64_t blocks = p->capacity / w->size, start = 0;
	uint32_t nwarm = (uint32_t)(w->ios * w->warm), done = 0, done_warm = 0, nr = 0, nw = 0;
	uint64_t *lat_r = calloc(w->ios, sizeof(*lat_r));
	uint64_t *lat_w = calloc(w->ios, sizeof(*lat_w));
	struct heap heap = {calloc(w->qd + 1, sizeof(struct pending)), 0};
	struct loop_result res = {0};
	struct flash_model *m;

	assert_non_null(lat_r);
	assert_non_null(lat_w);
	assert_non_null(heap.v);
	assert_int_equal(flash_model_create(&m, p, seed, cond), 0);
	if (w->read_share < 1 && w->qd >= DEEP && !w->no_prefill) {
		if (w->sequential)
			flash_model_set_random_share(m, 0);
		flash_model_prefill(m, 0);
	}
	for (uint32_t i = 0; i < w->ios; i++) {
		uint64_t now = 0, off, due;

		if (heap.n == w->qd) {
			now = heap_pop(&heap).due;
			done++;
			res.last_ns = now;
		}
		if (i == nwarm) {
			start = now;
			done_warm = done;
		}
		if (w->sequential)
			off = i % blocks * w->size;
		else
			off = (uint64_t)(hash01(WORKLOAD_SEED, i) * (double)blocks) * w->size;
		if (hash01(WORKLOAD_SEED + 1, i) < w->read_share) {
			due = flash_model_read(m, now, off, w->size);
			if (i >= nwarm)
				lat_r[nr++] = due - now;
		} else {
			due = flash_model_write(m, now, off, w->size);
			if (w->sync)
				due = flash_model_flush(m, due);
			if (i >= nwarm)
				lat_w[nw++] = due - now;
		}
		assert_true(due >= now);
		heap_push(&heap, (struct pending){due, i});
	}
	if (res.last_ns > start)
		res.iops = (done - done_warm) / (double)(res.last_ns - start) * 1e9;
	res.mbs = res.iops * w->size / 1e6;
	latency_stats(lat_r, nr, &res.read_mean_us, &res.read_p99_us);
	latency_stats(lat_w, nw, &res.write_mean_us, &res.write_p99_us);
	flash_model_destroy(m);
	free(heap.v);
	free(lat_w);
	free(lat_r);
	return res;
}
