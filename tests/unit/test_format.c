/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a group writes about itself: that it reads back what it wrote, lies where
 * docs/on-disk-format.md says, and that no damaged byte and no impossible value is believed. Pure
 * functions, one thread.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/crc32c.h"
#include "engine/format.h"

/* Every kind of block of 4 KiB behind one pair of functions, so that one test is a test of all. */
union any {
	struct label_info label;
	struct sb_info sb;
	struct volume_info volume;
	struct table_info table;
};

struct kind {
	const char *magic;
	void (*encode)(void *block, const union any *a);
	int (*decode)(const void *block, union any *a);
	void (*example)(union any *a);
};

static const uint8_t uuid[16] = "0123456789abcdef";

static void enc_label(void *b, const union any *a)
{
	label_encode(b, &a->label);
}
static int dec_label(const void *b, union any *a)
{
	return label_decode(b, &a->label);
}
static void ex_label(union any *a)
{
	a->label = (struct label_info){.index = 2, .count = 4, .size = 0x1122334455667000};
	memcpy(a->label.uuid, uuid, 16);
}

static void enc_sb(void *b, const union any *a)
{
	sb_encode(b, &a->sb);
}
static int dec_sb(const void *b, union any *a)
{
	return sb_decode(b, &a->sb);
}
static void ex_sb(union any *a)
{
	struct sb_info *s = &a->sb;

	*s = (struct sb_info){
		.generation = 77,
		.clean = true,
		.members = 4,
		.buckets = 3,
		.bucket_pages = 1000,
		.log_block = 512,
		.log_blocks = 136,
		.reject_blocks = 8,
		.catalog_slots = 64,
		.data_offset = FMT_CATALOG_OFFSET + 64 * 2 * FMT_META_BLOCK,
		.bucket_bytes = 1017 * DG_BLOCK,
		.seed = 0xfedcba9876543210,
		.next_gen = 9,
		.next_seq = 0x0102030405060708,
		.bucket = {{5, BUCKET_MARK_OPEN}, {6, BUCKET_MARK_SEALED}, {8, BUCKET_MARK_JUDGED}},
	};
	memcpy(s->uuid, uuid, 16);
}

static void enc_volume(void *b, const union any *a)
{
	volume_encode(b, &a->volume);
}
static int dec_volume(const void *b, union any *a)
{
	return volume_decode(b, &a->volume);
}
static void ex_volume(union any *a)
{
	struct volume_info *v = &a->volume;

	memset(v, 0, sizeof(*v));
	memcpy(v->uuid, uuid, 16);
	v->generation = 3;
	v->id = 12;
	v->size = 0x123456789000;
	v->stripe_width = 3;
	v->ncomponents = FMT_PLACEMENTS / 3;
	v->component_extents = 261120;
	memset(v->name, 'n', DG_NAME_MAX);
	for (unsigned int i = 0; i < FMT_PLACEMENTS; i++)
		v->placement[i] = (uint8_t)(i % 7);
}

static void enc_table(void *b, const union any *a)
{
	table_encode(b, &a->table);
}
static int dec_table(const void *b, union any *a)
{
	return table_decode(b, &a->table);
}
static void ex_table(union any *a)
{
	struct table_info *t = &a->table;

	memset(t, 0, sizeof(*t));
	memcpy(t->uuid, uuid, 16);
	t->generation = 1ull << 40;
	t->index = 4711;
	for (uint32_t i = 0; i < FMT_TABLE_ENTRIES; i++) {
		t->extent[i].volume = i * 3;
		t->extent[i].logical = (uint64_t)i << 33;
		for (unsigned int k = 0; k < 4; k++)
			t->extent[i].map[k] = 0x8000000000000001ull * (i + k);
	}
}

static const struct kind kinds[] = {
	{"IO0VSANL", enc_label, dec_label, ex_label},
	{"IO0VSANS", enc_sb, dec_sb, ex_sb},
	{"IO0VSANV", enc_volume, dec_volume, ex_volume},
	{"IO0VSANT", enc_table, dec_table, ex_table},
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}
static void put32(uint8_t *p, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(x >> (8 * i));
}

/* The CRC anew, as whoever forges a block would. */
static void forge_crc(uint8_t *block)
{
	put32(block + 12, 0);
	put32(block + 12, crc32c(block, FMT_META_BLOCK));
}

static void crc_is_castagnoli(void **state)
{
	(void)state;
	assert_int_equal(crc32c("123456789", 9), 0xE3069283);
}

static void reads_back(void **state)
{
	uint8_t block[FMT_META_BLOCK], again[FMT_META_BLOCK];

	(void)state;
	for (size_t i = 0; i < NR_KINDS; i++) {
		union any in, out;

		memset(&in, 0, sizeof(in));
		memset(&out, 0xee, sizeof(out));
		kinds[i].example(&in);
		memset(block, 0xcc, sizeof(block)); /* the encoder defines every byte */
		kinds[i].encode(block, &in);
		assert_memory_equal(block, kinds[i].magic, 8);
		assert_int_equal(kinds[i].decode(block, &out), 0);
		memset(again, 0x33, sizeof(again));
		kinds[i].encode(again, &out);
		assert_memory_equal(block, again, sizeof(block));
	}
}

static void fields_come_back(void **state)
{
	uint8_t b[FMT_META_BLOCK];
	union any in, out;

	(void)state;
	ex_label(&in);
	enc_label(b, &in);
	assert_int_equal(dec_label(b, &out), 0);
	assert_memory_equal(&in.label, &out.label, sizeof(in.label));

	ex_sb(&in);
	enc_sb(b, &in);
	assert_int_equal(dec_sb(b, &out), 0);
	assert_true(out.sb.clean);
	assert_false(out.sb.in_use);
	assert_true(out.sb.next_seq == in.sb.next_seq);
	assert_int_equal(out.sb.bucket[2].gen, 8);
	assert_int_equal(out.sb.bucket[2].mark, BUCKET_MARK_JUDGED);
	assert_int_equal(out.sb.bucket[3].gen, 0);

	/* Large devices: nothing is cut to 32 bits. */
	in.sb.data_offset = 0x12345678000;
	in.sb.bucket_bytes = 0x9abcdef000;
	enc_sb(b, &in);
	assert_int_equal(dec_sb(b, &out), 0);
	assert_true(out.sb.data_offset == 0x12345678000 && out.sb.bucket_bytes == 0x9abcdef000);

	ex_volume(&in);
	enc_volume(b, &in);
	assert_int_equal(dec_volume(b, &out), 0);
	assert_string_equal(in.volume.name, out.volume.name);
	assert_memory_equal(in.volume.placement, out.volume.placement, FMT_PLACEMENTS);

	ex_table(&in);
	enc_table(b, &in);
	assert_int_equal(dec_table(b, &out), 0);
	for (uint32_t i = 0; i < FMT_TABLE_ENTRIES; i++) {
		assert_int_equal(in.table.extent[i].volume, out.table.extent[i].volume);
		assert_true(in.table.extent[i].logical == out.table.extent[i].logical);
		assert_memory_equal(in.table.extent[i].map, out.table.extent[i].map, 32);
	}
}

/* The offsets of docs/on-disk-format.md: a reader was written from them. */
static void lies_where_documented(void **state)
{
	uint8_t b[FMT_META_BLOCK];
	union any a;

	(void)state;
	ex_label(&a);
	enc_label(b, &a);
	assert_int_equal(get32(b + 8), 1);
	assert_memory_equal(b + 16, uuid, 16);
	assert_int_equal(get32(b + 64), a.label.index);
	assert_int_equal(get32(b + 68), a.label.count);
	assert_true(get64(b + 72) == a.label.size);

	ex_sb(&a);
	enc_sb(b, &a);
	assert_true(get64(b + 32) == a.sb.generation);
	assert_int_equal(get32(b + 64), 1);
	assert_int_equal(get32(b + 76), a.sb.bucket_pages);
	assert_int_equal(get32(b + 88), a.sb.reject_blocks);
	assert_true(get64(b + 96) == a.sb.data_offset);
	assert_true(get64(b + 128) == a.sb.next_seq);
	assert_true(get64(b + 136 + 16) == 6);
	assert_int_equal(get32(b + 136 + 16 + 8), BUCKET_MARK_SEALED);

	ex_volume(&a);
	enc_volume(b, &a);
	assert_int_equal(get32(b + 64), a.volume.id);
	assert_int_equal(get32(b + 84), a.volume.component_extents);
	assert_memory_equal(b + 88, a.volume.name, 256);
	assert_memory_equal(b + 344, a.volume.placement, FMT_PLACEMENTS);

	ex_table(&a);
	enc_table(b, &a);
	assert_int_equal(get64(b + 40), a.table.index);
	assert_int_equal(get32(b + 64 + 48 * 83), 83 * 3);
	assert_true(get64(b + 64 + 48 * 83 + 8) == 83ull << 33);
	assert_true(get64(b + 64 + 48 * 83 + 40) == a.table.extent[83].map[3]);
}

static void every_bit_counts(void **state)
{
	uint8_t b[FMT_META_BLOCK];

	(void)state;
	for (size_t i = 0; i < NR_KINDS; i++) {
		union any a, out;

		kinds[i].example(&a);
		kinds[i].encode(b, &a);
		for (unsigned int bit = 0; bit < FMT_META_BLOCK * 8; bit++) {
			int err;

			b[bit / 8] ^= (uint8_t)(1u << bit % 8);
			err = kinds[i].decode(b, &out);
			assert_int_equal(err, bit < 64 ? -ENODATA : -EBADMSG);
			b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

static void other_versions_and_kinds_are_refused(void **state)
{
	uint8_t b[FMT_META_BLOCK] = {0};
	union any a, out;

	(void)state;
	for (size_t i = 0; i < NR_KINDS; i++) {
		memset(b, 0, sizeof(b));
		assert_int_equal(kinds[i].decode(b, &out), -ENODATA);
		kinds[i].example(&a);
		kinds[i].encode(b, &a);
		for (size_t k = 0; k < NR_KINDS; k++)
			if (k != i)
				assert_int_equal(kinds[k].decode(b, &out), -ENODATA);
		put32(b + 8, FMT_VERSION + 1);
		forge_crc(b);
		assert_int_equal(kinds[i].decode(b, &out), -EPROTONOSUPPORT);
	}
}

/* A good example with one field, or two, changed. */
#define REFUSED_BOTH(kind, field, value, field2, value2)         \
	do {                                                     \
		ex_##kind(&a);                                   \
		a.kind.field = value;                            \
		a.kind.field2 = value2;                          \
		enc_##kind(b, &a);                               \
		assert_int_equal(dec_##kind(b, &out), -EBADMSG); \
	} while (0)
#define REFUSED(kind, field, value) REFUSED_BOTH(kind, field, value, field, a.kind.field)

/* A CRC can be right and the values still mean harm. */
static void impossible_values_are_refused(void **state)
{
	uint8_t b[FMT_META_BLOCK];
	union any a, out;

	(void)state;
	REFUSED(label, count, 1);
	REFUSED(label, count, 2 + DG_MAX_CAPACITY);
	REFUSED(label, index, 4);

	REFUSED(sb, buckets, 1);
	REFUSED(sb, bucket_pages, 0);
	REFUSED(sb, bucket_bytes, 1000 * DG_BLOCK);
	/* Times three it does not fit a page number. */
	REFUSED_BOTH(sb, bucket_bytes, 1ull << 50, bucket_pages, INT32_MAX / 3 + 1);
	REFUSED(sb, log_block, 0);
	REFUSED(sb, log_block, 1024);
	REFUSED(sb, reject_blocks, 0);
	REFUSED(sb, reject_blocks, 136);
	REFUSED(sb, log_blocks, 137); /* more than the bucket has room for */
	REFUSED(sb, catalog_slots, 0);
	REFUSED(sb, catalog_slots, 65); /* would reach into bucket 0 */
	REFUSED_BOTH(sb, data_offset, 1ull << 40, catalog_slots, UINT16_MAX + 1u);
	REFUSED(sb, data_offset, a.sb.data_offset + 512);
	REFUSED(sb, data_offset, 0);
	REFUSED(sb, bucket_bytes, a.sb.bucket_bytes - DG_BLOCK);
	REFUSED(sb, bucket_bytes, a.sb.bucket_bytes + 512);
	REFUSED(sb, bucket[1].mark, BUCKET_MARK_JUDGED + 1);
	/* More buckets than the block has room for cannot be encoded: forged. */
	ex_sb(&a);
	enc_sb(b, &a);
	put32(b + 72, DG_MAX_BUCKETS + 1);
	forge_crc(b);
	assert_int_equal(dec_sb(b, &out), -EBADMSG);

	REFUSED(volume, id, 0);
	REFUSED(volume, id, UINT16_MAX + 1u);
	REFUSED(volume, size, 0);
	REFUSED(volume, stripe_width, 0);
	REFUSED(volume, stripe_width, DG_MAX_STRIPES + 1);
	REFUSED(volume, stripe_width, 4); /* more stripes in all than placements */
	REFUSED(volume, ncomponents, 0);
	REFUSED(volume, ncomponents, UINT32_MAX);
	REFUSED(volume, component_extents, 0);
	REFUSED(volume, name[0], 0);
	REFUSED(volume, name[DG_NAME_MAX], 'x');
}

/* ---- the log ---- */

static void fill_log(uint8_t *b, uint32_t log_block, uint32_t count, struct log_info *l)
{
	memset(b, 0xa5, log_block);
	*l = (struct log_info){
		.gen = 0x1234567890, .bucket = 7, .stream = 3, .number = 99, .count = count};
	memcpy(l->uuid, uuid, 16);
	for (uint32_t i = 0; i < count; i++) {
		struct log_record r = {.block = (1ull << 39) + i,
				       .seq = ~0ull - i,
				       .volume = 65535 - i,
				       .flags = i % 3,
				       .page = i * 1000,
				       .crc = 0xdeadbeef + i};

		log_put(b, i, &r);
	}
	log_seal(b, l);
}

static void log_reads_back(void **state)
{
	static const uint32_t size[] = {512, 4096};
	uint8_t b[4096];

	(void)state;
	assert_int_equal(log_capacity(512), 14);
	assert_int_equal(log_capacity(4096), 126);
	for (int s = 0; s < 2; s++)
		for (uint32_t n = 0; n <= log_capacity(size[s]); n++) {
			struct log_info in, out;

			fill_log(b, size[s], n, &in);
			memset(&out, 0xee, sizeof(out));
			assert_int_equal(log_decode(b, size[s], &out), 0);
			assert_memory_equal(out.uuid, uuid, 16);
			assert_true(out.gen == in.gen && out.bucket == 7 && out.stream == 3 &&
				    out.number == 99 && out.count == n);
			for (uint32_t i = 0; i < n; i++) {
				struct log_record r;

				log_get(b, i, &r);
				assert_true(r.block == (1ull << 39) + i && r.seq == ~0ull - i);
				assert_true(r.volume == 65535 - i && r.flags == i % 3);
				assert_true(r.page == i * 1000 && r.crc == 0xdeadbeef + i);
			}
		}
}

static void log_lies_where_documented(void **state)
{
	struct log_info l;
	uint8_t b[512];

	(void)state;
	fill_log(b, 512, 14, &l);
	assert_memory_equal(b, "VSNG", 4);
	assert_int_equal(get32(b + 4), 1 | 14 << 16);
	assert_int_equal(get32(b + 12), 7);
	assert_int_equal(get32(b + 16), 3);
	assert_int_equal(get32(b + 20), 99);
	assert_true(get64(b + 24) == l.gen);
	assert_memory_equal(b + 32, uuid, 16);
	assert_true(get64(b + 64 + 32 * 13) == (1ull << 39) + 13);
	assert_true(get64(b + 64 + 32 * 13 + 8) == ~0ull - 13);
	assert_int_equal(get32(b + 64 + 32 * 13 + 16), 65535 - 13);
	assert_int_equal(get32(b + 64 + 32 * 13 + 20), 1);
	assert_int_equal(get32(b + 64 + 32 * 13 + 24), 13000);
	assert_true(get32(b + 64 + 32 * 13 + 28) == 0xdeadbeef + 13);
}

/* A torn log block, however it is torn, is not one; what follows the records is nobody's. */
static void every_bit_of_the_log_counts(void **state)
{
	struct log_info l;
	uint8_t b[512];
	uint32_t end = FMT_LOG_HEADER + 9 * FMT_LOG_RECORD;

	(void)state;
	fill_log(b, 512, 9, &l);
	for (unsigned int bit = 0; bit < 512 * 8; bit++) {
		int err;

		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
		err = log_decode(b, 512, &l);
		if (bit < 32)
			assert_int_equal(err, -ENODATA);
		else
			assert_int_equal(err, bit / 8 < end ? -EBADMSG : 0);
		b[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void log_refuses_what_cannot_be(void **state)
{
	struct log_info l;
	uint8_t b[4096];

	(void)state;
	/* A count that fits a block of 4 KiB, in one of 512: must not be read past its end. */
	fill_log(b, 4096, 15, &l);
	assert_int_equal(log_decode(b, 4096, &l), 0);
	assert_int_equal(log_decode(b, 512, &l), -EBADMSG);
	b[4] = 2; /* version, with a CRC that is right */
	put32(b + 8, 0);
	put32(b + 8, crc32c(b, FMT_LOG_HEADER + 15 * FMT_LOG_RECORD));
	assert_int_equal(log_decode(b, 4096, &l), -EPROTONOSUPPORT);
	memset(b, 0, sizeof(b));
	assert_int_equal(log_decode(b, 4096, &l), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_is_castagnoli),
		cmocka_unit_test(reads_back),
		cmocka_unit_test(fields_come_back),
		cmocka_unit_test(lies_where_documented),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(other_versions_and_kinds_are_refused),
		cmocka_unit_test(impossible_values_are_refused),
		cmocka_unit_test(log_reads_back),
		cmocka_unit_test(log_lies_where_documented),
		cmocka_unit_test(every_bit_of_the_log_counts),
		cmocka_unit_test(log_refuses_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
