/* SPDX-License-Identifier: GPL-2.0-only */
/* fio-vsan summary: the figures of each job of each run, and of all jobs of a run together. */
#include "command.h"

#include "summary.h"

#include <errno.h>
#include <stdlib.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_inputs *in = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = in;
		return 0;
	case ARGP_KEY_END:
		if (!in->nr)
			argp_error(state, "no runs; name fio results or folders: LABEL=PATH ...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&command_inputs_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	NULL,
	parse,
	"[LABEL=]PATH...",
	"Show what is in fio results: every job and direction, and all jobs together."
	"\vPATH is a fio JSON result or the folder of one run's files.\n\n"
	"Example:\n"
	"  fio-vsan summary results/p4600\n"
	"  fio-vsan summary --format=csv a.json b.json > all.csv\n",
	children,
	NULL,
	NULL};

int command_summary(int argc, char **argv)
{
	struct command_inputs in = {0};
	struct run_set set = {0};
	struct report r = {0};
	int ret;

	ret = argp_parse(&argp, argc, argv, 0, NULL, &in);
	if (ret)
		ret = report(&r, -ret, "no memory");
	else
		ret = command_load(&in, RUN_NEED_RESULT, &set, &r);
	if (!ret && summary_print(&set, in.format, stdout))
		ret = report(&r, -ENOMEM, "no memory to print the summary");
	run_set_free(&set);
	free(in.arguments);
	return ret ? command_fail(&r) : EXIT_FINE;
}
