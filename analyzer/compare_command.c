/* SPDX-License-Identifier: GPL-2.0-only */
/* fio-vsan compare: runs beside each other, absolute and as a ratio to a baseline. */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

struct arguments {
	struct command_inputs inputs;
	const char *baseline;
	const char *window;
};

static const struct argp_option options[] = {
	{"baseline", 'b', "LABEL", 0, "The run that others are related to; default: the first", 0},
	{"window", 'w', "FROM:TO", 0,
	 "Only this part of the time, in seconds on the disk group's clock, measured from the "
	 "engine's "
	 "log; or before-full or after-full: before or after the write buffer filled",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->inputs;
		return 0;
	case 'b':
		a->baseline = arg;
		return 0;
	case 'w':
		a->window = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->inputs.nr)
			argp_error(state, "no runs; name fio results or folders: LABEL=PATH ...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&command_inputs_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	options,
	parse,
	"[LABEL=]PATH...",
	"Compare runs: IOPS, MB/s and completion latency of each, and as a ratio to the baseline. "
	"Says "
	"what was compared and warns where runs are not alike."
	"\vPATH is a fio JSON result or the folder of one run's files.\n\n"
	"Example:\n"
	"  fio-vsan compare sm961=results/sm961 p4600=results/p4600\n"
	"  fio-vsan compare --window=after-full sm961=results/sm961 p4600=results/p4600\n",
	children,
	NULL,
	NULL};

int command_compare(int argc, char **argv)
{
	struct arguments a = {0};
	struct comparison c = {0};
	struct run_set set = {0};
	struct report r = {0};
	struct window window;
	long baseline = 0;
	int ret;

	ret = argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (ret) {
		ret = report(&r, -ret, "no memory");
		goto out;
	}
	if (a.window)
		ret = window_parse(a.window, &window, &r);
	if (!ret)
		ret = command_load(&a.inputs, a.window ? RUN_NEED_SAMPLES : RUN_NEED_RESULT, &set,
				   &r);
	if (!ret && a.baseline) {
		baseline = run_set_find(&set, a.baseline);
		if (baseline < 0)
			ret = report(&r, -ENOENT,
				     "--baseline=%s: no run has this label; the first is '%s'",
				     a.baseline, set.runs[0].label);
	}
	if (!ret)
		ret = comparison_build(&c, &set, (size_t)baseline, a.window ? &window : NULL, &r);
	if (!ret && comparison_print(&c, a.inputs.format, stdout))
		ret = report(&r, -ENOMEM, "no memory to print the comparison");
out:
	comparison_free(&c);
	run_set_free(&set);
	free(a.inputs.arguments);
	return ret ? command_fail(&r) : EXIT_FINE;
}
