/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flash model with the parameters of each shipped profile against golden values of an
 * independent implementation, see tests/golden/. Virtual time: the machine's speed does not matter.
 */
#include "engine/drive_profile.h"
#include "engine/flash_model.h"
#include "tests/support/closed_loop.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles_hold_the_golden_parameters),
		cmocka_unit_test(test_model_equals_the_reference),
		cmocka_unit_test(test_every_parameter_moves_a_golden_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
