/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a disk group looks like on its devices: the structs, and one encode/decode pair for each.
 *
 * Fixed width, little endian, every block with magic, version and CRC32C over the whole block (with the
 * crc field as zero). In memory the group uses the *_info structs; nothing outside format.c looks at
 * raw bytes. docs/on-disk-format.md describes the same for people.
 */
#ifndef VSAN_FORMAT_H
#define VSAN_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "disk_group.h"

#define FMT_VERSION        1u
#define FMT_META_BLOCK     4096u /* label, superblock, catalog, extent table */
#define FMT_LABEL_OFFSET   0u
#define FMT_SB_OFFSET      4096u /* two slots, one after the other */
#define FMT_CATALOG_OFFSET 12288u
#define FMT_TABLE_OFFSET   4096u /* capacity device: extent table */
#define FMT_LOG_HEADER     64u
#define FMT_LOG_RECORD     32u
#define FMT_TABLE_HEADER   64u
#define FMT_TABLE_ENTRIES  84u /* extents per table block */
#define FMT_PLACEMENTS     3072u

/* Block 0 of every member: who it belongs to. Written once, at format. */
struct label_info {
	uint8_t uuid[16];
	uint32_t
		index; /* 0: cache device, 1..count-1: capacity devices in the order of the option */
	uint32_t count;
	uint64_t size; /* bytes of the device that the group uses */
};

enum bucket_mark {
	BUCKET_MARK_OPEN = 0,   /* free, current, or closed but not sealed */
	BUCKET_MARK_SEALED = 1, /* every record in its log is final */
	/*
	 * Sealed by a recovery: a record counts only if the CRC of its page is right. Pages are never written
	 * again before the bucket is free, so every later look comes to the same judgement.
	 */
	BUCKET_MARK_JUDGED = 2,
};

struct sb_bucket {
	uint64_t gen;
	uint32_t mark; /* enum bucket_mark */
};

/* Cache device: geometry, and the state that seals and frees buckets. Two slots, highest generation wins. */
struct sb_info {
	uint8_t uuid[16];
	uint64_t generation;
	bool clean;       /* closed cleanly: no bucket needs judging */
	bool in_use;      /* something was ever written since format */
	uint32_t members; /* 1 + capacity devices */
	uint32_t buckets;
	uint32_t bucket_pages;
	uint32_t log_block;     /* bytes of a log block: 512 or 4096 */
	uint32_t log_blocks;    /* blocks of a bucket's log area, REJECT room included */
	uint32_t reject_blocks; /* of these, at the end: for REJECT records */
	uint32_t catalog_slots;
	uint64_t data_offset;  /* of bucket 0 */
	uint64_t bucket_bytes; /* pages + log area, the stride of buckets */
	uint64_t seed;         /* of the page permutation */
	uint64_t next_gen;     /* use counter: above every generation ever given */
	uint64_t next_seq;     /* at a clean close */
	struct sb_bucket bucket[DG_MAX_BUCKETS];
};

/* One volume of the catalog; each has two copies, highest generation wins. */
struct volume_info {
	uint8_t uuid[16];
	uint64_t generation;
	uint32_t id; /* 1..65535; slot id-1 */
	uint64_t size;
	uint32_t stripe_width;
	uint32_t ncomponents;
	uint32_t component_extents; /* logical extents of a component, at most 255 GB */
	char name[DG_NAME_MAX + 1];
	uint8_t placement
		[FMT_PLACEMENTS]; /* [component * stripe_width + stripe]: capacity device, 0-based */
};

/* Log block: header, then records. */
struct log_info {
	uint8_t uuid[16];
	uint64_t gen; /* generation of the bucket */
	uint32_t bucket;
	uint32_t stream;
	uint32_t number; /* of the pair in its stream and bucket */
	uint32_t count;  /* records */
};

#define REC_TRIM   1u /* the block reads as zeros; its page holds nothing */
#define REC_REJECT 2u /* the records seq .. seq+block-1 of this bucket never happened */

struct log_record {
	uint64_t block; /* of the volume, 4 KiB; REC_REJECT: how many sequences */
	uint64_t seq;
	uint32_t volume;
	uint32_t flags;
	uint32_t page; /* inside its bucket */
	uint32_t crc;  /* CRC32C of the page */
};

/* One extent of a capacity device. volume 0: nobody's. */
struct extent_info {
	uint32_t volume;
	uint64_t logical; /* extent number inside the volume */
	uint64_t map[4];  /* bit set: the block has data here */
};

struct table_info {
	uint8_t uuid[16];
	uint64_t generation;
	uint32_t index; /* which table block */
	struct extent_info extent[FMT_TABLE_ENTRIES];
};

void label_encode(void *block, const struct label_info *l);
/* Decoders: 0, -ENODATA (not ours: no magic), -EPROTONOSUPPORT (version), -EBADMSG (CRC or impossible). */
int label_decode(const void *block, struct label_info *l);
void sb_encode(void *block, const struct sb_info *s);
int sb_decode(const void *block, struct sb_info *s);
void volume_encode(void *block, const struct volume_info *v);
int volume_decode(const void *block, struct volume_info *v);
void table_encode(void *block, const struct table_info *t);
int table_decode(const void *block, struct table_info *t);

/* Records that fit a log block of @log_block bytes. */
static inline uint32_t log_capacity(uint32_t log_block)
{
	return (log_block - FMT_LOG_HEADER) / FMT_LOG_RECORD;
}

/* Write one record into place @i of a log block that log_seal() will finish. */
void log_put(void *block, uint32_t i, const struct log_record *r);
/* Header and CRC. Only the bytes up to the last record are covered and need be defined. */
void log_seal(void *block, const struct log_info *l);
int log_decode(const void *block, uint32_t log_block, struct log_info *l);
void log_get(const void *block, uint32_t i, struct log_record *r);

#endif
