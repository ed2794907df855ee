/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flash model against golden values of an independent implementation (tests/golden/), and
 * against what must hold for any drive. Virtual time: no test depends on the machine's speed.
 */
#include "engine/drive_profile.h"
#include "engine/flash_model.h"
#include "tests/support/closed_loop.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GOLDEN       TEST_SOURCE_DIR "/tests/golden/drive_matrix.csv"
#define PROFILES     TEST_SOURCE_DIR "/engine/profiles"
#define TOLERANCE    0.01
#define MAX_FIELDS   16
#define MIN_PROFILES 8
#define COLUMNS      18 /* workloads per profile */

/* ---- golden values --------------------------------------------------------------------------- */

struct golden {
	char profile[DRIVE_NAME_MAX];
	char label[64];
	char metric[16];
	enum drive_condition cond;
	struct workload w;
	double value;
};

static unsigned int split(char *line, char *fields[MAX_FIELDS])
{
	unsigned int n = 0;
	char *save = NULL;

	for (char *s = strtok_r(line, ",\n", &save); s && n < MAX_FIELDS;
	     s = strtok_r(NULL, ",\n", &save))
		fields[n++] = s;
	return n;
}

static void load_profile(const char *name, struct drive_profile *p)
{
	char path[4096];
	struct report r = {0};

	snprintf(path, sizeof(path), "%s/%s.ini", PROFILES, name);
	if (drive_profile_load(path, p, &r))
		fail_msg("%s", r.text);
}

static void parse_result(char *f[MAX_FIELDS], unsigned int n, struct golden *g)
{
	assert_int_equal(n, 13);
	snprintf(g->profile, sizeof(g->profile), "%s", f[1]);
	snprintf(g->label, sizeof(g->label), "%s", f[2]);
	snprintf(g->metric, sizeof(g->metric), "%s", f[3]);
	g->cond = strcmp(f[4], "fresh") == 0 ? DRIVE_FRESH : DRIVE_STEADY;
	g->w = (struct workload){
		.qd = (uint32_t)atoi(f[5]),
		.read_share = atof(f[6]),
		.size = (uint32_t)atoi(f[7]),
		.sequential = atoi(f[8]) != 0,
		.sync = atoi(f[9]) != 0,
		.ios = (uint32_t)atoi(f[10]),
		.warm = atof(f[11]),
	};
	g->value = atof(f[12]);
}

static double metric_of(const struct loop_result *r, const char *metric)
{
	if (strcmp(metric, "iops") == 0)
		return r->iops;
	if (strcmp(metric, "mbs") == 0)
		return r->mbs;
	assert_string_equal(metric, "rp99");
	return r->read_p99_us;
}

static double run_golden(const struct golden *g, const struct flash_params *p)
{
	struct loop_result r = closed_loop_run(p, g->cond, 1, &g->w);

	return metric_of(&r, g->metric);
}

/* All golden results in an array that the caller frees; with @params, the profiles' parameters are
 * compared on the way. */
static struct golden *read_golden(size_t *count, bool params)
{
	static struct drive_profile p;
	struct golden *list = calloc(1024, sizeof(*list));
	char line[512], *f[MAX_FIELDS];
	FILE *file = fopen(GOLDEN, "r");
	unsigned int compared = 0;

	assert_non_null(list);
	assert_non_null(file);
	*count = 0;
	while (fgets(line, sizeof(line), file)) {
		unsigned int n;

		if (line[0] == '#')
			continue;
		n = split(line, f);
		if (strcmp(f[0], "result") == 0) {
			assert_true(*count < 1024);
			parse_result(f, n, &list[(*count)++]);
			continue;
		}
		assert_string_equal(f[0], "param");
		assert_int_equal(n, 4);
		if (!params)
			continue;
		if (strcmp(p.name, f[1]) != 0)
			load_profile(f[1], &p);
		for (int i = 0; i < FIG_NR; i++) {
			double v = p.figures[i].value;

			if (strcmp(figure_rule(i)->name, f[2]) != 0)
				continue;
			if (i == FIG_SLC_BW && !p.figures[i].given)
				v = p.params.slc_bw;
			if (fabs(v - atof(f[3])) > 1e-9 * fabs(v))
				fail_msg("%s: %s = %.10g, golden %s", f[1], f[2], v, f[3]);
			compared++;
		}
	}
	fclose(file);
	if (params)
		assert_true(compared >= MIN_PROFILES * 16);
	return list;
}

static void test_profiles_hold_the_golden_parameters(void **state)
{
	size_t n;

	(void)state;
	free(read_golden(&n, true));
	assert_true(n >= MIN_PROFILES * COLUMNS);
}

static void test_model_equals_the_reference(void **state)
{
	static struct drive_profile p;
	struct golden *list;
	unsigned int wrong = 0;
	double worst = 0;
	size_t n;

	(void)state;
	list = read_golden(&n, false);
	for (size_t i = 0; i < n; i++) {
		double v, err;

		if (strcmp(p.name, list[i].profile) != 0)
			load_profile(list[i].profile, &p);
		v = run_golden(&list[i], &p.params);
		err = fabs(v - list[i].value) / list[i].value;
		worst = fmax(worst, err);
		if (err > TOLERANCE) {
			print_error("%s, %s: %.6g, reference %.6g (%+.2f%%)\n", list[i].profile,
				    list[i].label, v, list[i].value, 100 * (v / list[i].value - 1));
			wrong++;
		}
	}
	print_message("%zu values, largest deviation %.4f%%\n", n, 100 * worst);
	free(list);
	assert_int_equal(wrong, 0);
}

/*
 * The comparison above is worth something only if each parameter moves some value by more than its
 * tolerance: ignore one in the model, and a golden value no longer fits.
 */
struct change {
	const char *name;
	const char *profile;
	const char *label;
	void (*apply)(struct flash_params *p);
};

#define CHANGE(field, expr)                                \
	static void change_##field(struct flash_params *p) \
	{                                                  \
		p->field = (expr);                         \
	}

CHANGE(K, p->K + p->K / 3)
CHANGE(t_r, 0.7 * p->t_r)
CHANGE(t_fix, 0)
CHANGE(ctl_r, 0.5 * p->ctl_r)
CHANGE(ctl_w, 0.5 * p->ctl_w)
CHANGE(t_w, 0)
CHANGE(bw, 2 * p->bw)
CHANGE(nat, 0.7 * p->nat)
CHANGE(wa, 1)
CHANGE(buf_mib, 0.125)
CHANGE(t_susp, 0)
CHANGE(slc_bytes, 0)
CHANGE(slc_bw, 0.5 * p->slc_bw)
CHANGE(t_flush, 0)

static void test_every_parameter_moves_a_golden_value(void **state)
{
	static const struct change changes[] = {
		{"nothing", "intel-p4610-1.6tb", "RR QD32", NULL},
		{"K", "intel-p4610-1.6tb", "RR QD32", change_K},
		{"t_r", "intel-p4610-1.6tb", "RR QD1", change_t_r},
		{"t_fix", "intel-p4610-1.6tb", "RR QD1", change_t_fix},
		{"ctl_r", "intel-p4610-1.6tb", "RR QD128", change_ctl_r},
		{"ctl_w", "samsung-sm961-512gb", "RW QD32 fresh", change_ctl_w},
		{"t_w", "intel-p4610-1.6tb", "RW QD1 fresh", change_t_w},
		{"bw", "intel-p4610-1.6tb", "seq R MB/s", change_bw},
		{"nat", "intel-p4610-1.6tb", "RW QD128 steady", change_nat},
		{"wa", "intel-p4610-1.6tb", "RW QD128 steady", change_wa},
		{"t_susp", "intel-p4610-1.6tb", "70/30 QD32 steady", change_t_susp},
		{"buf", "intel-p4610-1.6tb", "RW QD1 steady", change_buf_mib},
		{"slc", "samsung-870-qvo-1tb", "seq W MB/s fresh", change_slc_bytes},
		{"slc_bw", "samsung-870-qvo-1tb", "seq W MB/s fresh", change_slc_bw},
		{"t_flush", "samsung-sm961-512gb", "W+flush QD1", change_t_flush},
	};
	static struct drive_profile p;
	struct golden *list;
	size_t n;

	(void)state;
	list = read_golden(&n, false);
	for (size_t c = 0; c < sizeof(changes) / sizeof(*changes); c++) {
		bool found = false;

		for (size_t i = 0; i < n; i++) {
			double err;

			if (strcmp(list[i].profile, changes[c].profile) != 0 ||
			    strcmp(list[i].label, changes[c].label) != 0)
				continue;
			found = true;
			load_profile(list[i].profile, &p);
			if (changes[c].apply)
				changes[c].apply(&p.params);
			err = fabs(run_golden(&list[i], &p.params) / list[i].value - 1);
			if (changes[c].apply ? err < 2 * TOLERANCE : err > TOLERANCE)
				fail_msg("%s moves '%s' of %s by %.3f%%", changes[c].name,
					 changes[c].label, changes[c].profile, 100 * err);
		}
		assert_true(found);
	}
	free(list);
}

/* ---- what holds for any drive ---------------------------------------------------------------- */

static const struct flash_params sample = {
	.K = 16,
	.t_r = 60,
	.t_fix = 10,
	.ctl_r = 2,
	.ctl_w = 3,
	.t_w = 12,
	.bw = 2000,
	.nat = 800,
	.wa = 4,
	.buf_mib = 4,
	.t_susp = 80,
	.slc_bytes = 64e6,
	.slc_bw = 1600,
	.t_flush = 500,
	.capacity = 100000000000u,
};

static struct flash_model *make(const struct flash_params *p, uint64_t seed,
				enum drive_condition cond)
{
	struct flash_model *m;

	assert_int_equal(flash_model_create(&m, p, seed, cond), 0);
	return m;
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* One I/O out of all kinds and sizes; the same @s gives the same. */
static uint64_t random_io(struct flash_model *m, uint64_t now, uint64_t *s)
{
	uint64_t kind = next_random(s) % 16;
	uint32_t size = (uint32_t)(512 << (next_random(s) % 14)); /* 512 B .. 4 MiB */
	uint64_t off = next_random(s) % (sample.capacity - size) / 512 * 512;

	if (kind == 0)
		return flash_model_flush(m, now);
	return kind < 8 ? flash_model_write(m, now, off, size)
			: flash_model_read(m, now, off, size);
}

static void test_never_completes_before_submission(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct flash_params p = sample;
		struct flash_model *m;
		uint64_t s = seed * 7919, now = seed * 1000000007u;

		p.K = 1 + (uint32_t)(next_random(&s) % FLASH_MAX_UNITS);
		p.half_duplex = seed % 2;
		m = make(&p, seed, seed % 3 ? DRIVE_STEADY : DRIVE_FRESH);
		for (int i = 0; i < 5000; i++) {
			uint64_t due = random_io(m, now, &s);

			assert_true(due >= now);
			/* an hour ahead, for a queue of 4 MiB I/Os, is a lost sign or an overflow
			 */
			assert_true(due - now < 3600u * 1000000000ull);
			now += next_random(&s) % 2000000;
		}
		flash_model_destroy(m);
	}
}

static void test_clock_may_step_back(void **state)
{
	struct flash_model *m = make(&sample, 1, DRIVE_STEADY);
	uint64_t now = 5000000;

	(void)state;
	flash_model_prefill(m, now);
	/* threads read the clock before they take the drive's lock */
	assert_true(flash_model_read(m, now - 4000000, 0, 4096) >= now - 4000000);
	assert_true(flash_model_write(m, now - 3000000, 0, 4096) >= now - 3000000);
	assert_true(flash_model_flush(m, now - 2000000) >= now - 2000000);
	assert_true(flash_model_read(m, 0, 0, 4096) < 1000000000u);
	flash_model_destroy(m);
}

static void test_origin_of_the_clock_does_not_matter(void **state)
{
	const uint64_t far = 1ull << 60; /* 36 years of nanoseconds */
	struct flash_model *a = make(&sample, 5, DRIVE_STEADY);
	struct flash_model *b = make(&sample, 5, DRIVE_STEADY);
	uint64_t s = 11, t = 11, now = 0;

	(void)state;
	flash_model_prefill(a, 0);
	flash_model_prefill(b, far);
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(random_io(a, now, &s), random_io(b, far + now, &t) - far);
		now += next_random(&s) % 100000;
		next_random(&t);
	}
	flash_model_destroy(a);
	flash_model_destroy(b);
}

static void test_link_limits_the_rate(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct flash_params p = sample;
		struct flash_model *m;
		uint64_t last[2] = {0, 0}, bytes[2] = {0, 0};
		double limit;

		p.half_duplex = half;
		/* media and controller faster than the link by far */
		p.K = 256;
		p.t_r = 1;
		p.nat = p.slc_bw = 100000;
		p.wa = 1;
		m = make(&p, 3, DRIVE_FRESH);
		for (int i = 0; i < 2000; i++) {
			int w = i % 2;
			uint64_t off = (uint64_t)i * 131072;
			uint64_t due = w ? flash_model_write(m, 0, off, 131072)
					 : flash_model_read(m, 0, off, 131072);

			bytes[w] += 131072;
			if (due > last[w])
				last[w] = due;
			limit = (double)(half ? bytes[0] + bytes[1] : bytes[w]) / p.bw;
			assert_true((double)due * 1e-3 >= limit - 0.001);
		}
		/* and it is the link that limits: both directions at once, or in turn */
		limit = (double)(half ? bytes[0] + bytes[1] : bytes[0]) / p.bw;
		assert_true((double)last[0] * 1e-3 < 1.1 * limit);
		flash_model_destroy(m);
	}
}

static void test_same_seed_same_times(void **state)
{
	struct flash_model *a = make(&sample, 42, DRIVE_FRESH);
	struct flash_model *b = make(&sample, 42, DRIVE_FRESH);
	struct flash_model *c = make(&sample, 43, DRIVE_FRESH);
	uint64_t s = 1, t = 1, u = 1, now = 0;
	int differ = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t due = random_io(a, now, &s);

		assert_int_equal(due, random_io(b, now, &t));
		differ += due != random_io(c, now, &u);
		now += next_random(&s) % 50000;
		next_random(&t);
		next_random(&u);
	}
	assert_true(differ > 5000);
	flash_model_destroy(a);
	flash_model_destroy(b);
	flash_model_destroy(c);
}

static void test_seed_changes_little(void **state)
{
	const struct workload mix = {
		.qd = 32, .size = 4096, .read_share = 0.7, .ios = 60000, .warm = 0.5};
	double one = closed_loop_run(&sample, DRIVE_STEADY, 1, &mix).iops;
	double other = closed_loop_run(&sample, DRIVE_STEADY, 2, &mix).iops;

	(void)state;
	assert_true(one != other);
	assert_true(fabs(one / other - 1) < 0.02);
}

static void test_saturated_mix_is_harmonic(void **state)
{
	struct workload w = {.qd = 256, .size = 4096, .ios = 120000, .warm = 0.5};
	struct flash_params p = sample;
	double rd, wr, mix, expected;

	(void)state;
	p.ctl_r = p.ctl_w = 0.1; /* only the media bind */
	w.read_share = 1;
	rd = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	w.read_share = 0;
	wr = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	w.read_share = 0.7;
	mix = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	expected = 1 / (0.7 / rd + 0.3 / wr);
	assert_true(fabs(mix / expected - 1) < 0.05);
}

static void test_slc_area_runs_out_and_recovers(void **state)
{
	struct flash_params p = sample;
	struct flash_model *m;
	uint64_t due = 0, start, off = 0;
	double fast, slow, again;

	(void)state;
	m = make(&p, 1, DRIVE_FRESH);
	while (off < 50000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	fast = (double)off / (double)due * 1e3; /* MB/s */
	while (off < 200000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	start = due;
	while (off < 300000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	slow = 100e6 / (double)(due - start) * 1e3;
	/* idle for as long as folding the whole area takes at the native rate */
	start = due += 100000000u + (uint64_t)(p.slc_bytes / p.nat * 1e3);
	while (off < 350000000)
		due = flash_model_write(m, due, (off += 65536), 65536);
	again = 50e6 / (double)(due - start) * 1e3;
	flash_model_destroy(m);
	assert_true(slow < 1.05 * p.nat && slow > 0.8 * p.nat);
	assert_true(fast > 1.3 * slow);
	assert_true(again > 0.95 * fast);
}

static void test_fresh_drive_wears_in(void **state)
{
	const struct workload w = {.qd = 32, .size = 65536, .ios = 40000, .warm = 0.9};
	struct flash_params p = sample;
	double fresh, steady, worn;

	(void)state;
	p.slc_bytes = 0;
	p.capacity = 100000000000u;
	fresh = closed_loop_run(&p, DRIVE_FRESH, 1, &w).iops;
	steady = closed_loop_run(&p, DRIVE_STEADY, 1, &w).iops;
	p.capacity = 1000000000u; /* 2.6 GB of random writes are more than all of it */
	worn = closed_loop_run(&p, DRIVE_FRESH, 1, &w).iops;
	assert_true(fresh > 3 * steady);
	assert_true(fabs(worn / steady - 1) < 0.05);
}

static void test_sequential_streams_do_not_pay_wa(void **state)
{
	struct flash_params p = sample;
	struct flash_model *m;
	uint64_t off[5], now;

	(void)state;
	p.slc_bytes = 0;
	/* up to four streams are followed; five look random */
	for (unsigned int streams = 4; streams <= 5; streams++) {
		double rate;

		m = make(&p, 1, DRIVE_STEADY);
		now = 0;
		for (unsigned int i = 0; i < streams; i++)
			off[i] = i * 10000000000u;
		for (unsigned int i = 0; i < 20000; i++) {
			now = flash_model_write(m, now, off[i % streams], 16384);
			off[i % streams] += 16384;
		}
		rate = 20000 * 16384.0 / (double)now * 1e3;
		flash_model_destroy(m);
		if (streams == 4)
			assert_true(rate > 0.8 * p.nat);
		else
			assert_true(rate < 1.2 * p.nat / p.wa);
	}
	/* a log block written again in place is part of its stream */
	m = make(&p, 1, DRIVE_STEADY);
	now = 0;
	for (unsigned int i = 0; i < 40000; i++)
		now = flash_model_write(m, now, i / 4 * 4096, 4096);
	assert_true(40000 * 4096.0 / (double)now * 1e3 > 1.1 * p.nat / p.wa);
	flash_model_destroy(m);
}

static void test_flushes_queue(void **state)
{
	struct flash_model *m = make(&sample, 1, DRIVE_STEADY);

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(flash_model_flush(m, 1000), 1000 + i * 500000);
	flash_model_destroy(m);
}

static void test_suspend_bound(void **state)
{
	struct flash_params p = sample;
	uint64_t waits[2];

	(void)state;
	p.K = 1;
	p.slc_bytes = 0;
	for (int i = 0; i < 2; i++) {
		struct flash_model *m;

		p.t_susp = i ? 500 : 100;
		m = make(&p, 1, DRIVE_STEADY);
		flash_model_prefill(m, 0); /* the one unit is busy for a long time */
		waits[i] = flash_model_read(m, 1000, 0, 4096);
		flash_model_destroy(m);
	}
	assert_int_equal(waits[1] - waits[0], 400000);
}

static void test_refuses_what_is_no_drive(void **state)
{
	struct flash_model *m = NULL;
	struct flash_params p;

	(void)state;
#define REFUSED(field, v)                                                               \
	do {                                                                            \
		p = sample;                                                             \
		p.field = (v);                                                          \
		assert_int_equal(flash_model_create(&m, &p, 1, DRIVE_STEADY), -EINVAL); \
	} while (0)
	REFUSED(K, 0);
	REFUSED(K, FLASH_MAX_UNITS + 1);
	REFUSED(t_r, 0);
	REFUSED(t_r, (double)NAN);
	REFUSED(t_fix, -1);
	REFUSED(ctl_r, (double)INFINITY);
	REFUSED(ctl_w, 0);
	REFUSED(t_w, (double)NAN);
	REFUSED(bw, 0);
	REFUSED(nat, -5);
	REFUSED(wa, 0.5);
	REFUSED(buf_mib, 0);
	REFUSED(buf_mib, 2 * FLASH_MAX_BUFFER_MIB);
	REFUSED(t_susp, (double)INFINITY);
	REFUSED(slc_bytes, -1);
	REFUSED(slc_bw, 0);
	REFUSED(t_flush, (double)NAN);
	REFUSED(capacity, 0);
#undef REFUSED
	assert_null(m);
	flash_model_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles_hold_the_golden_parameters),
		cmocka_unit_test(test_model_equals_the_reference),
		cmocka_unit_test(test_every_parameter_moves_a_golden_value),
		cmocka_unit_test(test_never_completes_before_submission),
		cmocka_unit_test(test_clock_may_step_back),
		cmocka_unit_test(test_origin_of_the_clock_does_not_matter),
		cmocka_unit_test(test_link_limits_the_rate),
		cmocka_unit_test(test_same_seed_same_times),
		cmocka_unit_test(test_seed_changes_little),
		cmocka_unit_test(test_saturated_mix_is_harmonic),
		cmocka_unit_test(test_slc_area_runs_out_and_recovers),
		cmocka_unit_test(test_fresh_drive_wears_in),
		cmocka_unit_test(test_sequential_streams_do_not_pay_wa),
		cmocka_unit_test(test_flushes_queue),
		cmocka_unit_test(test_suspend_bound),
		cmocka_unit_test(test_refuses_what_is_no_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
