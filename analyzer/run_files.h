/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files of a folder belong to one run. Names say what a file is (PREFIX_vsan.N.json,
 * PREFIX_iops.N.log); a fio result is found by its content, so it may have any name. Any thread.
 */
#ifndef ANALYZER_RUN_FILES_H
#define ANALYZER_RUN_FILES_H

#include "run.h"

enum run_file_kind {
	RUN_FILE_RESULT,    /* fio's JSON */
	RUN_FILE_LOG,       /* a log of fio's */
	RUN_FILE_VSAN_JSON, /* the engine's */
	RUN_FILE_VSAN_LOG,
};

struct run_file {
	enum run_file_kind kind;
	enum fio_log_kind log_kind; /* of RUN_FILE_LOG */
	char *name;                 /* in the folder */
	char *prefix;        /* what the name begins with; of a result, the name without suffix */
	unsigned int number; /* job or group; 0: none in the name */
};

/* Sorted by name. Start with {0}. */
struct run_folder {
	char *path;
	struct run_file *files;
	size_t nr, cap;
};

/*
 * List the files of @path that are of use. With @probe, also those that hold a fio result, which
 * means to look into each file. Returns 0 or a negative errno with one line in @r.
 */
int run_folder_read(struct run_folder *f, const char *path, bool probe, struct report *r);

/*
 * Take a name apart: fills kind, log_kind, prefix (allocated) and number of @out. False when the
 * name is none of ours (then it may be a result), or when out of memory.
 */
bool run_file_parse_name(const char *name, struct run_file *out);

/* The name of a result without folder and suffix, allocated; NULL when out of memory. */
char *run_result_prefix(const char *path);

void run_folder_free(struct run_folder *f);

#endif
