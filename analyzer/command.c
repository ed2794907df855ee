/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands share: inputs, formats, the error line; see command.h. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option options[] = {
	{"format", 'f', "FORMAT", 0, "table (default), csv or json", 1},
	{"job", 'j', "PATTERN", 0, "Only jobs whose name matches the shell pattern PATTERN", 1},
	{0},
};

static error_t parse_format(struct command_inputs *in, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {"table", "csv", "json"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(arg, names[i])) {
			in->format = (enum output_format)i;
			return 0;
		}
	}
	argp_error(state, "--format=%s: give table, csv or json", arg);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_inputs *in = state->input;

	switch (key) {
	case 'f':
		return parse_format(in, arg, state);
	case 'j':
		in->job = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (array_grow(&in->arguments, in->nr, &in->cap, sizeof(*in->arguments)))
			return ENOMEM;
		in->arguments[in->nr++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp command_inputs_argp = {.options = options, .parser = parse};

int command_load(const struct command_inputs *in, unsigned int needs, struct run_set *set,
		 struct report *r)
{
	for (size_t i = 0; i < in->nr; i++) {
		int ret = run_set_add(set, in->arguments[i], in->job, needs, r);

		if (ret)
			return ret;
	}
	return 0;
}

int command_fail(const struct report *r)
{
	struct text line = {0};

	fflush(stdout);
	text_add_clean(&line, r->text, 0);
	fprintf(stderr, "fio-vsan: %s\n", line.s ? line.s : "no memory");
	text_free(&line);
	return EXIT_BAD_INPUT;
}
