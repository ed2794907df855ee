/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a workload against a modelled drive in virtual time: a fixed number of I/Os is always
 * outstanding, and nothing sleeps. Deterministic. */
#ifndef TEST_CLOSED_LOOP_H
#define TEST_CLOSED_LOOP_H

#include "engine/flash_model.h"

#include <stdbool.h>
#include <stdint.h>

struct workload {
	uint32_t qd;
	uint32_t size;     /* bytes of each I/O */
	double read_share; /* 0..1 */
	bool sequential;
	bool sync;       /* a flush follows each write */
	uint32_t ios;    /* in total */
	double warm;     /* share of them that is not counted */
	bool no_prefill; /* start with an empty write buffer even where a steady run would not */
};

struct loop_result {
	double iops;
	double mbs;
	double read_mean_us, read_p99_us;   /* 0 without reads */
	double write_mean_us, write_p99_us; /* 0 without writes */
	uint64_t last_ns;                   /* when the last counted I/O completed */
};

/* Run @w on a new drive with parameters @p. Fails the test when the drive cannot be made. */
struct loop_result closed_loop_run(const struct flash_params *p, enum drive_condition cond,
				   uint64_t seed, const struct workload *w);

#endif
