/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's job options as fio stores them, and their way into a disk group's options. Nothing here
 * knows fio's headers; fio_engine.c describes the same struct to fio's parser.
 */
#ifndef VSAN_ENGINE_OPTIONS_H
#define VSAN_ENGINE_OPTIONS_H

#include <stdbool.h>

#include "disk_group.h"
#include "report.h"

enum drive_data_option { DRIVE_DATA_AUTO, DRIVE_DATA_NONE, DRIVE_DATA_MEMORY };

/* Filled by fio's option parser: the first member is where fio keeps its own pointer while it parses. */
struct engine_options {
	void *pad;
	char *cache_device;
	char *capacity_devices;
	unsigned long long cache_size;
	unsigned long long capacity_size;
	unsigned int file_prepare;
	unsigned int cache_fresh;
	unsigned int capacity_fresh;
	unsigned int drive_data;
	unsigned long long drive_seed;
	unsigned int prefilled;
	unsigned long long write_buffer_size; /* bytes, or fio's encoding of N% */
	unsigned int buckets;
	unsigned int page_allocation;
	unsigned int stripe_width;
	unsigned int destage_start;
	unsigned int destage_unthrottle;
	unsigned int destage_sleep; /* us */
	unsigned int destage_batch; /* bytes */
	unsigned int destage_depth;
	unsigned int drain;
	unsigned int durability;
	unsigned int format;
	unsigned int allow_overwrite;
	unsigned int target;
	unsigned int congestion_ssd_low;
	unsigned int congestion_ssd_high;
	unsigned int congestion_delay; /* us */
	unsigned int congestion_tau;
	char *write_vsan_log;
	unsigned int vsan_log_msec;
	unsigned int dry_run;
};

/* Seven long paths fit: two jobs' lists are compared, and reported, to their end. */
#define OPTION_VALUE_MAX 4096

/* One effective option, as text. */
struct option_text {
	const char *name;
	char value[OPTION_VALUE_MAX];
};

#define ENGINE_OPTIONS_MAX 40

/*
 * Split a list of devices at ':' ("\:" is a literal colon) into at most @max strings, allocated, to be
 * freed by device_list_free(). Returns how many there are (may be above @max: then only @max were
 * stored), or -ENOMEM.
 */
int device_list_split(const char *list, char **out, unsigned int max);
void device_list_free(char **list, unsigned int n);

/*
 * Fill @o from the job's options. @list (DG_MAX_CAPACITY entries, zeroed) receives the capacity device
 * names that @o points to; the caller frees it with device_list_free(). @verifies: a job of the group
 * reads back what it wrote. Errors name the option: missing, out of range, verify without data.
 */
int engine_options_to_group(const struct engine_options *e, bool verifies, struct dg_options *o,
			    char **list, struct report *r);

/* The options that shape a group, as effective text. Returns how many were written to @out. */
unsigned int engine_options_text(const struct engine_options *e, bool verifies,
				 struct option_text out[ENGINE_OPTIONS_MAX]);

/* The first option that differs between two jobs' texts, NULL when they agree. */
const struct option_text *engine_options_differ(const struct option_text *a,
						const struct option_text *b, unsigned int n);

#endif
