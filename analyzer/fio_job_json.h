/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads one job of a fio JSON document into the model, whatever fio's version: units are taken from
 * the keys (clat_ns, clat_us, clat_ms, or clat alone: us), and bytes by what they mean there.
 */
#ifndef ANALYZER_FIO_JOB_JSON_H
#define ANALYZER_FIO_JOB_JSON_H

#include "run.h"

#include <jansson.h>

/* Append @job to @run, whose fio_version must be set. Returns 0 or -ENOMEM. */
int fio_job_json_read(const json_t *job, struct run *run);

/* Add an object of options, which may be NULL. Returns 0 or -ENOMEM. */
int fio_job_json_options(const json_t *object, struct fio_options *options);

/*
 * Bytes of one direction. fio before 3.0 wrote KiB into "io_bytes"; later "io_kbytes" lies beside
 * it. Where that is not there, bandwidth times run time tells, else the version.
 */
uint64_t fio_job_json_bytes(const json_t *direction, unsigned int version);

#endif
