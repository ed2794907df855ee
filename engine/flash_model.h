/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flash drive as fifteen numbers: when would an I/O submitted now be complete?
 *
 * The model keeps the state that decides an SSD's timing (media units, controller, link, write
 * buffer, SLC area, flushes) as next-free times, so an I/O costs a bounded number of additions. It
 * moves no data, sleeps never and reads no clock: it answers, the caller waits. docs/model.md has
 * the equations and what they leave out.
 *
 * Nothing in here locks: state depends on the order of calls, so the caller serializes the calls
 * for one drive. Different drives share nothing.
 */
#ifndef VSAN_FLASH_MODEL_H
#define VSAN_FLASH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_STRIPE         16384u /* bytes that one media unit reads at once */
#define FLASH_CHUNK          65536u /* bytes that go to one media unit per program */
#define FLASH_MAX_UNITS      1024u
#define FLASH_MAX_BUFFER_MIB 4096.0

/*
 * What a profile says about a drive. Times in microseconds, rates in MB/s (10^6 bytes per second,
 * which is also bytes per microsecond).
 */
struct flash_params {
	uint32_t K;        /* media units that work in parallel (effective, not dies) */
	double t_r;        /* one unit reads up to 16 KiB */
	double t_fix;      /* constant part of a read that overlaps with everything */
	double ctl_r;      /* controller time per read, one at a time */
	double ctl_w;      /* controller time per write, one at a time */
	double t_w;        /* constant part of a write's acknowledgement */
	double bw;         /* host link */
	bool half_duplex;  /* reads and writes share the link (SATA) */
	double nat;        /* native program rate of all units together */
	double wa;         /* media time of random writes in steady state / of sequential ones */
	double buf_mib;    /* write buffer, MiB */
	double t_susp;     /* longest wait of a read behind a program */
	double slc_bytes;  /* size of the SLC area, 0: none */
	double slc_bw;     /* write rate into the SLC area */
	double t_flush;    /* one flush; flushes run one after another */
	uint64_t capacity; /* bytes; how much random writing makes a fresh drive steady */
};

/* State of the media at the start. */
enum drive_condition {
	DRIVE_STEADY, /* preconditioned: random writes cost wa, the SLC area is used up */
	DRIVE_FRESH,  /* erased: no write amplification, the whole SLC area is free */
};

struct flash_model;

/*
 * Make a drive. @p is copied. @seed decides the jitter: the same seed and the same calls give the
 * same times. The write buffer starts empty; see flash_model_prefill().
 * Returns 0 and *@out, which the caller owns and gives to flash_model_destroy(); -EINVAL when @p
 * describes no drive (not finite, not positive where it must be, too many units); -ENOMEM.
 */
int flash_model_create(struct flash_model **out, const struct flash_params *p, uint64_t seed,
		       enum drive_condition cond);

/* Free a drive; NULL is allowed. */
void flash_model_destroy(struct flash_model *m);

/*
 * When a read, a write or a flush that is submitted at @now_ns completes.
 * @now_ns comes from one monotonic clock (nanoseconds, any origin) and may repeat or step back a
 * little between calls. @off and @size in bytes, @size > 0. The result is on the same clock and
 * never before @now_ns. Results need not rise from call to call: a later I/O may finish first.
 * A write's result is its acknowledgement, when the data is in the drive's buffer. No errors.
 */
uint64_t flash_model_read(struct flash_model *m, uint64_t now_ns, uint64_t off, uint32_t size);
uint64_t flash_model_write(struct flash_model *m, uint64_t now_ns, uint64_t off, uint32_t size);
uint64_t flash_model_flush(struct flash_model *m, uint64_t now_ns);

/*
 * Fill the write buffer at @now_ns, so that a run starts in the middle of a long write load and
 * not with a burst at controller speed. Call it before the first I/O.
 */
void flash_model_prefill(struct flash_model *m, uint64_t now_ns);

/*
 * Say that @share (0..1) of the bytes written before the run were random; a new drive assumes 1.
 * It is a moving average that a few hundred writes replace. Call it before flash_model_prefill().
 */
void flash_model_set_random_share(struct flash_model *m, double share);

#endif
