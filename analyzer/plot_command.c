/* SPDX-License-Identifier: GPL-2.0-only */
/* fio-vsan plot: a picture of runs, with its data and script beside it. */
#include "command.h"

#include "chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	struct command_inputs inputs; /* the first is the kind of chart */
	const char *output;
	const char *gnuplot;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "The picture, FILE.svg or FILE.png; needed", 0},
	{"gnuplot", 'g', "PATH", 0, "The gnuplot to use; default: gnuplot", 0},
	{"job", 'j', "PATTERN", 0, "Only jobs whose name matches the shell pattern PATTERN", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct command_inputs *in = &a->inputs;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case 'g':
		a->gnuplot = arg;
		return 0;
	case 'j':
		in->job = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (array_grow(&in->arguments, in->nr, &in->cap, sizeof(*in->arguments)))
			return ENOMEM;
		in->arguments[in->nr++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!in->nr)
			argp_error(state, "no chart; name one: bars, latency or timeline");
		if (in->nr == 1)
			argp_error(state, "no runs; name fio results or folders: LABEL=PATH ...");
		if (!a->output)
			argp_error(state, "no output; give -o FILE.svg or -o FILE.png");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"bars|latency|timeline [LABEL=]PATH...",
	"Draw runs with gnuplot:\n"
	"bars: IOPS, read, write and total.\n"
	"latency: completion latency by percentile, from json+ results.\n"
	"timeline: IOPS over time; below it, on the same clock, the write buffer's fill, the "
	"destage "
	"rate and congestion.\n"
	"FILE.dat and FILE.gp are kept beside the picture; gnuplot FILE.gp draws it again."
	"\vPATH is a fio JSON result or the folder of one run's files. Without gnuplot, data and "
	"script "
	"are written and the exit code is 3.\n\n"
	"Example:\n"
	"  fio-vsan plot timeline -o cliff.svg sm961=results/sm961 p4600=results/p4600\n",
	NULL,
	NULL,
	NULL};

static int find_kind(const char *name, enum chart_kind *kind, struct report *r)
{
	for (int k = 0; k < CHART_NR_KINDS; k++) {
		if (!strcmp(name, chart_kind_name((enum chart_kind)k))) {
			*kind = (enum chart_kind)k;
			return 0;
		}
	}
	return report(r, -EINVAL, "no chart '%.40s'; there are bars, latency and timeline", name);
}

static int write_data(struct chart *c, struct run_set *set, struct report *r)
{
	switch (c->kind) {
	case CHART_BARS:
		return chart_bars(c, set, r);
	case CHART_LATENCY:
		return chart_latency(c, set, r);
	default:
		return chart_timeline(c, set, r);
	}
}

int command_plot(int argc, char **argv)
{
	struct arguments a = {.gnuplot = "gnuplot"};
	struct run_set set = {0};
	struct chart chart = {0};
	struct report r = {0};
	enum chart_kind kind = CHART_BARS;
	struct command_inputs runs;
	int ret;

	ret = argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (ret) {
		ret = report(&r, -ret, "no memory");
		goto out;
	}
	ret = find_kind(a.inputs.arguments[0], &kind, &r);
	runs = a.inputs;
	runs.arguments++;
	runs.nr--;
	if (!ret)
		ret = command_load(&runs,
				   kind == CHART_TIMELINE ? RUN_WANT_SAMPLES : RUN_NEED_RESULT,
				   &set, &r);
	if (!ret)
		ret = chart_open(&chart, kind, a.output, &r);
	if (!ret)
		ret = write_data(&chart, &set, &r);
	if (!ret)
		ret = chart_draw(&chart, a.gnuplot, &r);
out:
	chart_free(&chart);
	run_set_free(&set);
	free(a.inputs.arguments);
	if (!ret)
		return EXIT_FINE;
	command_fail(&r);
	return ret == -ENOEXEC ? EXIT_NO_GNUPLOT : EXIT_BAD_INPUT;
}
