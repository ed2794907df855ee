/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timing state of one modelled flash drive; see flash_model.h.
 *
 * Inside, times are doubles in microseconds since the first call: a run of a year still resolves
 * a hundredth of a nanosecond. Jitter is a hash of counters instead of a random number generator,
 * so that a drive does the same in every run, whatever other drives do. No locks, no allocation
 * after creation.
 */
#include "flash_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	MAX_READ_UNITS = 8, /* bound on the work of one read; larger reads sample their stripes */
	WRITE_STREAMS = 4,  /* sequential streams a drive is taken to follow at once */
};

#define PROGRAM_SEED   77      /* keeps the jitter of programs apart from that of reads */
#define RANDOM_WEIGHT  0.02    /* of one write in the moving average of randomness */
#define IDLE_BEFORE_US 50000.0 /* idle time after which a drive folds its SLC area */
#define READ_JITTER    0.40    /* width of the spread of t_r around 1: page types, retries */
#define PROGRAM_JITTER 0.30    /* ... of the program time: keeps programs from lockstep */

struct write_stream {
	uint64_t start;
	uint64_t end;
};

struct flash_model {
	struct flash_params p;
	uint64_t seed;
	bool started;
	uint64_t epoch_ns; /* the caller's clock at time 0 */

	double controller; /* next-free times, microseconds */
	double link_r;
	double link_w;
	double flush;
	double *unit_read; /* [K] */
	double *unit_prog; /* [K] */

	/*
	 * The write buffer is a ring of chunks. An entry is the time at which the program of the
	 * chunk that used the slot last is done: until then the slot is taken.
	 */
	double *ring;
	uint32_t ring_len;
	uint32_t ring_pos;
	uint32_t next_unit; /* where the chunk being filled will go */
	uint32_t fill;      /* bytes in it */
	uint64_t chunks;    /* programmed so far */

	double t_native; /* program time of one chunk, before wa and jitter */
	double t_slc;
	double last_program; /* end of the latest program */
	double slc_used;
	double dirty;        /* 0 fresh .. 1 steady: share of the capacity overwritten at random */
	double random_share; /* moving average over recent writes */
	double last_now;
	uint64_t ios;

	struct write_stream streams[WRITE_STREAMS]; /* oldest first */
	uint32_t nr_streams;
};

static uint64_t mix64(uint64_t x)
{
	x += 0x9E3779B97F4A7C15u;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

/* A number in 0..1 that depends on nothing but the seed and @n. */
static double hash01(uint64_t seed, uint64_t n)
{
	return (double)mix64(seed * 0x100000001B3u + n) * 0x1p-64;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static double earlier(double a, double b)
{
	return a < b ? a : b;
}

static double to_us(struct flash_model *m, uint64_t now_ns)
{
	if (!m->started) {
		m->started = true;
		m->epoch_ns = now_ns;
	}
	/* signed: another thread may have read the clock before the first caller did */
	return (double)(int64_t)(now_ns - m->epoch_ns) * 1e-3;
}

static uint64_t to_ns(const struct flash_model *m, double us, uint64_t now_ns)
{
	uint64_t ns = m->epoch_ns + (uint64_t)llrint(us * 1e3);

	return ns > now_ns ? ns : now_ns;
}

static bool positive(double v)
{
	return isfinite(v) && v > 0;
}

static bool not_negative(double v)
{
	return isfinite(v) && v >= 0;
}

static bool params_sane(const struct flash_params *p)
{
	if (p->K < 1 || p->K > FLASH_MAX_UNITS || !p->capacity)
		return false;
	if (!positive(p->t_r) || !positive(p->ctl_r) || !positive(p->ctl_w) || !positive(p->bw) ||
	    !positive(p->nat) || !positive(p->buf_mib))
		return false;
	if (!not_negative(p->t_fix) || !not_negative(p->t_w) || !not_negative(p->t_susp) ||
	    !not_negative(p->slc_bytes) || !not_negative(p->t_flush))
		return false;
	if (p->slc_bytes > 0 && !positive(p->slc_bw))
		return false;
	return isfinite(p->wa) && p->wa >= 1 && p->buf_mib <= FLASH_MAX_BUFFER_MIB;
}

int flash_model_create(struct flash_model **out, const struct flash_params *p, uint64_t seed,
		       enum drive_condition cond)
{
	struct flash_model *m;
	double chunks;

	if (!params_sane(p))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->p = *p;
	m->seed = seed;
	/* with a single chunk the buffer could never overlap a program with the next write */
	chunks = floor(p->buf_mib * 1048576.0 / FLASH_CHUNK);
	m->ring_len = chunks < 2 ? 2 : (uint32_t)chunks;
	m->ring = calloc(m->ring_len, sizeof(*m->ring));
	m->unit_read = calloc(p->K, sizeof(*m->unit_read));
	m->unit_prog = calloc(p->K, sizeof(*m->unit_prog));
	if (!m->ring || !m->unit_read || !m->unit_prog) {
		flash_model_destroy(m);
		return -ENOMEM;
	}
	m->t_native = FLASH_CHUNK * (double)p->K / p->nat;
	m->t_slc = p->slc_bytes > 0 ? FLASH_CHUNK * (double)p->K / p->slc_bw : m->t_native;
	m->slc_used = cond == DRIVE_FRESH ? 0 : p->slc_bytes;
	m->dirty = cond == DRIVE_FRESH ? 0 : 1;
	m->random_share = 1;
	*out = m;
	return 0;
}

void flash_model_destroy(struct flash_model *m)
{
	if (!m)
		return;
	free(m->unit_prog);
	free(m->unit_read);
	free(m->ring);
	free(m);
}

static double pass_controller(struct flash_model *m, double now, double cost)
{
	m->controller = later(m->controller, now) + cost;
	return m->controller;
}

/*
 * Limit the link in order of arrival, before the media stage. A single next-free time that were
 * advanced after the media would let a slow I/O, submitted first, hold up a fast one behind it.
 */
static double pass_link(struct flash_model *m, double now, double transfer, bool write)
{
	double *link = write && !m->p.half_duplex ? &m->link_w : &m->link_r;

	*link = later(*link, now) + transfer;
	return *link;
}

/* Send the full chunk to the media; @t is when its last byte came. */
static void program_chunk(struct flash_model *m, double t)
{
	uint32_t u = m->next_unit;
	double dur, start;

	if (m->slc_used + FLASH_CHUNK <= m->p.slc_bytes) {
		m->slc_used += FLASH_CHUNK;
		dur = m->t_slc;
	} else {
		dur = m->t_native * (1 + (m->p.wa - 1) * m->random_share * m->dirty);
	}
	dur *= 1 - PROGRAM_JITTER / 2 + PROGRAM_JITTER * hash01(m->seed + PROGRAM_SEED, m->chunks);
	start = later(later(t, m->unit_prog[u]), m->unit_read[u]);
	m->unit_prog[u] = start + dur;
	m->last_program = later(m->last_program, m->unit_prog[u]);
	m->ring[m->ring_pos] = m->unit_prog[u];

	m->chunks++;
	if (++m->ring_pos == m->ring_len)
		m->ring_pos = 0;
	if (++m->next_unit == m->p.K)
		m->next_unit = 0;
}

void flash_model_prefill(struct flash_model *m, uint64_t now_ns)
{
	double now = to_us(m, now_ns);

	for (uint32_t i = 0; i < m->ring_len; i++)
		program_chunk(m, now);
}

void flash_model_set_random_share(struct flash_model *m, double share)
{
	m->random_share = share;
}

uint64_t flash_model_read(struct flash_model *m, uint64_t now_ns, uint64_t off, uint32_t size)
{
	const struct flash_params *p = &m->p;
	double now = to_us(m, now_ns);
	double transfer = size / p->bw;
	uint64_t base = off / FLASH_STRIPE;
	uint32_t stripes = (uint32_t)(((uint64_t)size + FLASH_STRIPE - 1) / FLASH_STRIPE);
	uint32_t step = 1;
	uint32_t first;
	double t0, link, done;

	m->ios++;
	m->last_now = now;
	t0 = pass_controller(m, now, p->ctl_r);
	link = pass_link(m, now, transfer, false);
	if (stripes > MAX_READ_UNITS)
		step = (stripes + MAX_READ_UNITS - 1) / MAX_READ_UNITS;

	/* each row of K stripes is turned by a hash: small reads scatter, large ones spread evenly
	 */
	first = (uint32_t)((mix64(base / p->K) % p->K + base % p->K) % p->K);
	done = t0;
	for (uint32_t i = 0; i < stripes; i += step) {
		uint32_t u = (first + i) % p->K;
		double t_r = p->t_r *
			     (1 - READ_JITTER / 2 + READ_JITTER * hash01(m->seed, m->ios * 16 + i));
		double start = m->unit_read[u];

		if (start <= t0) {
			/* the unit is not in a burst of reads: a program may have to be suspended
			 */
			start = t0;
			if (m->unit_prog[u] > start)
				start += earlier(m->unit_prog[u] - start, p->t_susp);
		}
		/* the suspended program ends later: time of the unit is conserved */
		if (m->unit_prog[u] > start)
			m->unit_prog[u] += t_r;
		m->unit_read[u] = start + t_r;
		done = later(done, m->unit_read[u]);
	}
	return to_ns(m, later(done, link) + transfer + p->t_fix, now_ns);
}

/*
 * A write is sequential when it continues one of the latest streams, or writes the last piece of
 * one again in place, as the block of a log does that is still being filled. Moves the stream it
 * belongs to, or a new one, to the newest place.
 */
static bool continues_stream(struct flash_model *m, uint64_t off, uint32_t size)
{
	uint32_t i;
	bool found = false;

	for (i = 0; i < m->nr_streams; i++) {
		if (off == m->streams[i].end || off == m->streams[i].start) {
			found = true;
			break;
		}
	}
	if (!found) {
		if (m->nr_streams < WRITE_STREAMS)
			m->nr_streams++;
		else
			i = 0;
	}
	for (; i + 1 < m->nr_streams; i++)
		m->streams[i] = m->streams[i + 1];
	m->streams[i].start = off;
	m->streams[i].end = off + size;
	return found;
}

uint64_t flash_model_write(struct flash_model *m, uint64_t now_ns, uint64_t off, uint32_t size)
{
	const struct flash_params *p = &m->p;
	double now = to_us(m, now_ns);
	double transfer = size / p->bw;
	double idle = now - m->last_now;
	uint32_t left = size;
	double t0, link, t;
	bool seq;

	m->ios++;
	if (p->slc_bytes > 0 && idle > IDLE_BEFORE_US && now > m->last_program)
		m->slc_used = later(0, m->slc_used - idle * p->nat);
	m->last_now = now;
	seq = continues_stream(m, off, size);
	m->random_share += RANDOM_WEIGHT * ((seq ? 0.0 : 1.0) - m->random_share);

	t0 = pass_controller(m, now, p->ctl_w);
	link = pass_link(m, now, transfer, true);
	t = later(t0 + transfer, link);
	while (left) {
		uint32_t room = FLASH_CHUNK - m->fill;
		uint32_t take = left < room ? left : room;

		if (!m->fill)
			t = later(t, m->ring[m->ring_pos]);
		m->fill += take;
		left -= take;
		if (m->fill == FLASH_CHUNK) {
			program_chunk(m, t);
			m->fill = 0;
		}
	}
	if (m->dirty < 1 && !seq)
		m->dirty = earlier(1, m->dirty + size / (double)p->capacity);
	return to_ns(m, t + p->t_w, now_ns);
}

uint64_t flash_model_flush(struct flash_model *m, uint64_t now_ns)
{
	double now = to_us(m, now_ns);

	m->flush = later(m->flush, now) + m->p.t_flush;
	return to_ns(m, m->flush, now_ns);
}
