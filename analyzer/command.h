/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of fio-vsan. Each takes its own arguments (argv[0] is "fio-vsan COMMAND", for
 * messages), prints to stdout, says errors in one line on stderr, and returns an exit code.
 */
#ifndef ANALYZER_COMMAND_H
#define ANALYZER_COMMAND_H

#include "comparison.h"
#include "run_load.h"

#include <argp.h>

enum exit_code {
	EXIT_FINE = 0,
	EXIT_BAD_INPUT = 2,
	EXIT_NO_GNUPLOT = 3,
};

int command_summary(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_drives(int argc, char **argv);

/* What commands that read runs have in common; parsed by command_inputs_argp, a child parser. */
struct command_inputs {
	enum output_format format;
	bool no_format;   /* the command has no --format */
	const char *job;  /* --job, or NULL */
	char **arguments; /* [LABEL=]PATH..., of argv */
	size_t nr, cap;
};

/* Options --format and --job, and the positional arguments; its input is a command_inputs. */
extern const struct argp command_inputs_argp;

/* Load all inputs. Returns 0 or a negative errno with one line in @r. */
int command_load(const struct command_inputs *in, unsigned int needs, struct run_set *set,
		 struct report *r);

/* Say @r on stderr. Returns EXIT_BAD_INPUT. */
int command_fail(const struct report *r);

#endif
