/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encoding and decoding of everything a disk group writes about itself. Decoders trust nothing:
 * what they accept is safe to use as an index or a size by callers that check it against the
 * device.
 */
#include "format.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "crc32c.h"

#define MAGIC_LABEL  0x4c4e415356304f49ull /* "IO0VSANL" */
#define MAGIC_SUPER  0x534e415356304f49ull /* "IO0VSANS" */
#define MAGIC_VOLUME 0x564e415356304f49ull /* "IO0VSANV" */
#define MAGIC_TABLE  0x544e415356304f49ull /* "IO0VSANT" */
#define MAGIC_LOG    0x474e5356u           /* "VSNG" */

/* The head that label, superblock, catalog and table blocks share. */
struct disk_head {
	uint64_t magic;
	uint32_t version;
	uint32_t crc; /* of the whole 4 KiB block with this field zero */
	uint8_t uuid[16];
	uint64_t generation;
	uint64_t reserved[3];
};
static_assert(sizeof(struct disk_head) == 64, "disk_head");

struct disk_label {
	struct disk_head h;
	uint32_t index, count;
	uint64_t size;
	uint8_t pad[FMT_META_BLOCK - 80];
};
static_assert(sizeof(struct disk_label) == FMT_META_BLOCK, "disk_label");

struct disk_sb_bucket {
	uint64_t gen;
	uint32_t mark, pad;
};
static_assert(sizeof(struct disk_sb_bucket) == 16, "disk_sb_bucket");

struct disk_sb {
	struct disk_head h;
	uint32_t flags; /* 1: clean, 2: in use */
	uint32_t members, buckets, bucket_pages;
	uint32_t log_block, log_blocks, reject_blocks, catalog_slots;
	uint64_t data_offset, bucket_bytes, seed, next_gen, next_seq;
	struct disk_sb_bucket bucket[DG_MAX_BUCKETS];
	uint8_t pad[FMT_META_BLOCK - 136 - DG_MAX_BUCKETS * 16];
};
static_assert(sizeof(struct disk_sb) == FMT_META_BLOCK, "disk_sb");

struct disk_volume {
	struct disk_head h;
	uint32_t id, stripe_width;
	uint64_t size;
	uint32_t ncomponents, component_extents;
	char name[DG_NAME_MAX + 1];
	uint8_t placement[FMT_PLACEMENTS];
	uint8_t pad[FMT_META_BLOCK - 88 - (DG_NAME_MAX + 1) - FMT_PLACEMENTS];
};
static_assert(sizeof(struct disk_volume) == FMT_META_BLOCK, "disk_volume");

struct disk_extent {
	uint32_t volume, pad;
	uint64_t logical;
	uint64_t map[4];
};
static_assert(sizeof(struct disk_extent) == 48, "disk_extent");

struct disk_table {
	struct disk_head h; /* reserved[0]: index */
	struct disk_extent extent[FMT_TABLE_ENTRIES];
};
static_assert(sizeof(struct disk_table) == FMT_META_BLOCK, "disk_table");

struct disk_log {
	uint32_t magic;
	uint16_t version, count;
	uint32_t crc; /* of the header and the records, with this field zero */
	uint32_t bucket, stream, number;
	uint64_t gen;
	uint8_t uuid[16];
	uint64_t pad[2];
};
static_assert(sizeof(struct disk_log) == FMT_LOG_HEADER, "disk_log");

struct disk_record {
	uint64_t block, seq;
	uint32_t volume, flags, page, crc;
};
static_assert(sizeof(struct disk_record) == FMT_LOG_RECORD, "disk_record");

static void head_encode(struct disk_head *h, uint64_t magic, const uint8_t uuid[16], uint64_t gen)
{
	h->magic = htole64(magic);
	h->version = htole32(FMT_VERSION);
	memcpy(h->uuid, uuid, 16);
	h->generation = htole64(gen);
}

static void block_finish(void *block)
{
	struct disk_head *h = block;

	h->crc = 0;
	h->crc = htole32(crc32c(block, FMT_META_BLOCK));
}

static int head_decode(const void *block, void *copy, uint64_t magic, uint8_t uuid[16],
		       uint64_t *gen)
{
	struct disk_head *h = copy;
	uint32_t crc;

	memcpy(copy, block, FMT_META_BLOCK);
	if (le64toh(h->magic) != magic)
		return -ENODATA;
	crc = le32toh(h->crc);
	h->crc = 0;
	if (crc != crc32c(copy, FMT_META_BLOCK))
		return -EBADMSG;
	if (le32toh(h->version) != FMT_VERSION)
		return -EPROTONOSUPPORT;
	memcpy(uuid, h->uuid, 16);
	if (gen)
		*gen = le64toh(h->generation);
	return 0;
}

void label_encode(void *block, const struct label_info *l)
{
	struct disk_label *d = block;

	memset(d, 0, sizeof(*d));
	head_encode(&d->h, MAGIC_LABEL, l->uuid, 1);
	d->index = htole32(l->index);
	d->count = htole32(l->count);
	d->size = htole64(l->size);
	block_finish(d);
}

int label_decode(const void *block, struct label_info *l)
{
	struct disk_label d;
	int err = head_decode(block, &d, MAGIC_LABEL, l->uuid, NULL);

	if (err)
		return err;
	l->index = le32toh(d.index);
	l->count = le32toh(d.count);
	l->size = le64toh(d.size);
	if (l->count < 2 || l->count > 1 + DG_MAX_CAPACITY || l->index >= l->count)
		return -EBADMSG;
	return 0;
}

void sb_encode(void *block, const struct sb_info *s)
{
	struct disk_sb *d = block;

	memset(d, 0, sizeof(*d));
	head_encode(&d->h, MAGIC_SUPER, s->uuid, s->generation);
	d->flags = htole32((s->clean ? 1u : 0u) | (s->in_use ? 2u : 0u));
	d->members = htole32(s->members);
	d->buckets = htole32(s->buckets);
	d->bucket_pages = htole32(s->bucket_pages);
	d->log_block = htole32(s->log_block);
	d->log_blocks = htole32(s->log_blocks);
	d->reject_blocks = htole32(s->reject_blocks);
	d->catalog_slots = htole32(s->catalog_slots);
	d->data_offset = htole64(s->data_offset);
	d->bucket_bytes = htole64(s->bucket_bytes);
	d->seed = htole64(s->seed);
	d->next_gen = htole64(s->next_gen);
	d->next_seq = htole64(s->next_seq);
	for (uint32_t i = 0; i < s->buckets; i++) {
		d->bucket[i].gen = htole64(s->bucket[i].gen);
		d->bucket[i].mark = htole32(s->bucket[i].mark);
	}
	block_finish(d);
}

int sb_decode(const void *block, struct sb_info *s)
{
	struct disk_sb d;
	int err = head_decode(block, &d, MAGIC_SUPER, s->uuid, &s->generation);

	if (err)
		return err;
	s->clean = le32toh(d.flags) & 1u;
	s->in_use = le32toh(d.flags) & 2u;
	s->members = le32toh(d.members);
	s->buckets = le32toh(d.buckets);
	s->bucket_pages = le32toh(d.bucket_pages);
	s->log_block = le32toh(d.log_block);
	s->log_blocks = le32toh(d.log_blocks);
	s->reject_blocks = le32toh(d.reject_blocks);
	s->catalog_slots = le32toh(d.catalog_slots);
	s->data_offset = le64toh(d.data_offset);
	s->bucket_bytes = le64toh(d.bucket_bytes);
	s->seed = le64toh(d.seed);
	s->next_gen = le64toh(d.next_gen);
	s->next_seq = le64toh(d.next_seq);
	if (s->buckets < 2 || s->buckets > DG_MAX_BUCKETS || !s->bucket_pages ||
	    (uint64_t)s->buckets * s->bucket_pages > INT32_MAX ||
	    (s->log_block != 512 && s->log_block != 4096) || !s->reject_blocks ||
	    s->log_blocks <= s->reject_blocks || !s->catalog_slots ||
	    s->catalog_slots > UINT16_MAX || s->data_offset % DG_BLOCK ||
	    s->bucket_bytes % DG_BLOCK ||
	    s->bucket_bytes <
		    (uint64_t)s->bucket_pages * DG_BLOCK + (uint64_t)s->log_blocks * s->log_block ||
	    s->data_offset < FMT_CATALOG_OFFSET + (uint64_t)s->catalog_slots * 2 * FMT_META_BLOCK)
		return -EBADMSG;
	memset(s->bucket, 0, sizeof(s->bucket));
	for (uint32_t i = 0; i < s->buckets; i++) {
		s->bucket[i].gen = le64toh(d.bucket[i].gen);
		s->bucket[i].mark = le32toh(d.bucket[i].mark);
		if (s->bucket[i].mark > BUCKET_MARK_JUDGED)
			return -EBADMSG;
	}
	return 0;
}

void volume_encode(void *block, const struct volume_info *v)
{
	struct disk_volume *d = block;

	memset(d, 0, sizeof(*d));
	head_encode(&d->h, MAGIC_VOLUME, v->uuid, v->generation);
	d->id = htole32(v->id);
	d->stripe_width = htole32(v->stripe_width);
	d->size = htole64(v->size);
	d->ncomponents = htole32(v->ncomponents);
	d->component_extents = htole32(v->component_extents);
	memcpy(d->name, v->name, sizeof(d->name));
	memcpy(d->placement, v->placement, sizeof(d->placement));
	block_finish(d);
}

int volume_decode(const void *block, struct volume_info *v)
{
	struct disk_volume d;
	int err = head_decode(block, &d, MAGIC_VOLUME, v->uuid, &v->generation);

	if (err)
		return err;
	v->id = le32toh(d.id);
	v->stripe_width = le32toh(d.stripe_width);
	v->size = le64toh(d.size);
	v->ncomponents = le32toh(d.ncomponents);
	v->component_extents = le32toh(d.component_extents);
	memcpy(v->name, d.name, sizeof(v->name));
	memcpy(v->placement, d.placement, sizeof(v->placement));
	if (!v->id || v->id > UINT16_MAX || !v->stripe_width || v->stripe_width > DG_MAX_STRIPES ||
	    !v->size || !v->ncomponents || !v->component_extents ||
	    (uint64_t)v->ncomponents * v->stripe_width > FMT_PLACEMENTS || !v->name[0] ||
	    v->name[DG_NAME_MAX])
		return -EBADMSG;
	return 0;
}

void table_encode(void *block, const struct table_info *t)
{
	struct disk_table *d = block;

	memset(d, 0, sizeof(*d));
	head_encode(&d->h, MAGIC_TABLE, t->uuid, t->generation);
	d->h.reserved[0] = htole64(t->index);
	for (uint32_t i = 0; i < FMT_TABLE_ENTRIES; i++) {
		const struct extent_info *e = &t->extent[i];

		d->extent[i].volume = htole32(e->volume);
		d->extent[i].logical = htole64(e->logical);
		for (int k = 0; k < 4; k++)
			d->extent[i].map[k] = htole64(e->map[k]);
	}
	block_finish(d);
}

int table_decode(const void *block, struct table_info *t)
{
	struct disk_table d;
	int err = head_decode(block, &d, MAGIC_TABLE, t->uuid, &t->generation);

	if (err)
		return err;
	t->index = (uint32_t)le64toh(d.h.reserved[0]);
	for (uint32_t i = 0; i < FMT_TABLE_ENTRIES; i++) {
		struct extent_info *e = &t->extent[i];

		e->volume = le32toh(d.extent[i].volume);
		e->logical = le64toh(d.extent[i].logical);
		for (int k = 0; k < 4; k++)
			e->map[k] = le64toh(d.extent[i].map[k]);
	}
	return 0;
}

void log_put(void *block, uint32_t i, const struct log_record *r)
{
	struct disk_record *d = (struct disk_record *)((char *)block + FMT_LOG_HEADER) + i;

	d->block = htole64(r->block);
	d->seq = htole64(r->seq);
	d->volume = htole32(r->volume);
	d->flags = htole32(r->flags);
	d->page = htole32(r->page);
	d->crc = htole32(r->crc);
}

void log_get(const void *block, uint32_t i, struct log_record *r)
{
	struct disk_record d;

	memcpy(&d, (const char *)block + FMT_LOG_HEADER + (size_t)i * FMT_LOG_RECORD, sizeof(d));
	r->block = le64toh(d.block);
	r->seq = le64toh(d.seq);
	r->volume = le32toh(d.volume);
	r->flags = le32toh(d.flags);
	r->page = le32toh(d.page);
	r->crc = le32toh(d.crc);
}

void log_seal(void *block, const struct log_info *l)
{
	struct disk_log *d = block;

	d->magic = htole32(MAGIC_LOG);
	d->version = htole16(FMT_VERSION);
	d->count = htole16((uint16_t)l->count);
	d->bucket = htole32(l->bucket);
	d->stream = htole32(l->stream);
	d->number = htole32(l->number);
	d->gen = htole64(l->gen);
	memcpy(d->uuid, l->uuid, 16);
	d->pad[0] = d->pad[1] = 0;
	d->crc = 0;
	d->crc = htole32(crc32c(block, FMT_LOG_HEADER + (size_t)l->count * FMT_LOG_RECORD));
}

int log_decode(const void *block, uint32_t log_block, struct log_info *l)
{
	struct disk_log d;
	uint32_t crc, count;
	uint8_t copy[4096];

	memcpy(&d, block, sizeof(d));
	if (le32toh(d.magic) != MAGIC_LOG)
		return -ENODATA;
	count = le16toh(d.count);
	if (count > log_capacity(log_block))
		return -EBADMSG;
	crc = le32toh(d.crc);
	d.crc = 0;
	memcpy(copy, &d, sizeof(d));
	memcpy(copy + sizeof(d), (const char *)block + sizeof(d), (size_t)count * FMT_LOG_RECORD);
	if (crc != crc32c(copy, FMT_LOG_HEADER + (size_t)count * FMT_LOG_RECORD))
		return -EBADMSG;
	if (le16toh(d.version) != FMT_VERSION)
		return -EPROTONOSUPPORT;
	l->count = count;
	l->bucket = le32toh(d.bucket);
	l->stream = le32toh(d.stream);
	l->number = le32toh(d.number);
	l->gen = le64toh(d.gen);
	memcpy(l->uuid, d.uuid, 16);
	return 0;
}
