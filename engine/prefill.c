/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * prefilled=: a group of modelled or memory devices that begins as if its volumes had been written
 * in full, without writing them: benchmarks must not read what was never written, and filling a
 * modelled terabyte would take as long as filling a real one.
 */
#include "crc32c.h"
#include "group.h"

/* Put one block into the next page of a bucket. */
static void place_block(struct disk_group *g, struct bucket *b, const struct dg_volume *v,
			uint64_t block, uint32_t crc)
{
	uint32_t page = b->index * g->wb.bucket_pages + b->place;

	b->next++;
	b->place = wb_next_place(&g->wb, b, b->place);
	map_publish(&g->map, vblock(v->info.id, block), page, 0, crc);
	atomic_fetch_add(&b->live, 1);
}

static struct bucket *next_bucket(struct disk_group *g)
{
	struct write_buffer *wb = &g->wb;
	struct bucket *b = wb->free;

	/* One bucket stays free: the first writer needs it. */
	if (!b || !b->fifo)
		return NULL;
	wb->free = b->fifo;
	b->fifo = NULL;
	return b;
}

static void seal_bucket(struct disk_group *g, struct bucket *b)
{
	struct write_buffer *wb = &g->wb;

	b->state = BUCKET_SEALED;
	b->next = wb->bucket_pages;
	*wb->sealed_tail = b;
	wb->sealed_tail = &b->fifo;
	atomic_fetch_add(&wb->used, wb->bucket_pages);
	g->meta.sb.bucket[b->index].mark = BUCKET_MARK_SEALED;
}

static bool block_of(const struct dg_volume *v, uint64_t logical, uint64_t i, uint64_t *block)
{
	*block = logical * EXTENT_BLOCKS + i;
	return *block < (v->info.size + DG_BLOCK - 1) / DG_BLOCK;
}

/*
 * The volumes are filled side by side, an extent of each in turn, as a benchmark tool prepares its
 * disks one next to the other. What does not fit the buffer lies on capacity. The space on capacity
 * is reserved for both. Set-up, before the worker runs.
 */
static void prefill_buffer(struct disk_group *g)
{
	/* Only devices that begin as zeros are prefilled: so do their pages, and destage checks them. */
	static const char zeros[DG_BLOCK];
	uint32_t crc = crc32c(zeros, DG_BLOCK);
	struct bucket *b = next_bucket(g);
	bool more = true;
	uint64_t block;

	for (uint64_t l = 0; more; l++) {
		more = false;
		for (struct dg_volume *v = g->volumes; v; v = v->next) {
			if (l >= v->nextents)
				continue;
			more = true;
			extents_reserve(v, l * EXTENT_BLOCKS, 1);
			for (uint64_t i = 0; i < EXTENT_BLOCKS && block_of(v, l, i, &block); i++) {
				struct place p;

				if (b && b->next == g->wb.bucket_pages) {
					seal_bucket(g, b);
					b = next_bucket(g);
				}
				if (b) {
					place_block(g, b, v, block, crc);
					continue;
				}
				p = extent_place(v, block);
				extent_set_data(&p, block, true);
			}
		}
	}
	if (b && b->next)
		seal_bucket(g, b);
	else if (b)
		wb_make_free(g, b);
}

int prefill(struct disk_group *g)
{
	if (g->opt.prefilled == DG_PREFILLED_CAPACITY)
		for (struct dg_volume *v = g->volumes; v; v = v->next)
			extents_fill(v);
	else if (g->opt.prefilled == DG_PREFILLED_BUFFER)
		prefill_buffer(g);
	return 0;
}
