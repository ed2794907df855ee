/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fio-vsan: reads what fio and the engine wrote, compares and draws it. Here only the choice of the
 * command and the exit code. One thread.
 */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VSAN_VERSION
#define VSAN_VERSION "unknown"
#endif

/* argp looks for this name in the program: it must not be hidden like all other symbols. */
__attribute__((visibility("default"))) const char *argp_program_version = "fio-vsan " VSAN_VERSION;

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{"summary", command_summary, "show what is in fio results, job by job"},
	{"compare", command_compare, "compare runs, absolute and as a ratio to a baseline"},
	{"plot", command_plot, "draw bars, latency percentiles or a timeline of runs"},
	{"drives", command_drives, "list the drives that can be modelled"},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *f)
{
	fputs("Usage: fio-vsan COMMAND [OPTION...] [LABEL=]PATH...\n"
	      "Read what fio and the vsan engine wrote, compare it and draw it.\n\n",
	      f);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(f, "  %-9s %s\n", commands[i].name, commands[i].what);
	fputs("\n  fio-vsan COMMAND --help   options and examples of a command\n"
	      "  fio-vsan --version        the version\n\n"
	      "Example:\n"
	      "  fio-vsan compare before=results/sm961 after=results/p4600\n\n"
	      "Exit code: 0 fine, 2 bad input, 3 no gnuplot (data and scripts are written).\n",
	      f);
}

static int run_command(size_t i, int argc, char **argv)
{
	char name[64];
	int ret;

	snprintf(name, sizeof(name), "fio-vsan %s", commands[i].name);
	argv[0] = name;
	ret = commands[i].run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		perror("fio-vsan: cannot write to standard output");
		return EXIT_BAD_INPUT;
	}
	return ret;
}

int main(int argc, char **argv)
{
	argp_err_exit_status = EXIT_BAD_INPUT;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_BAD_INPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?") ||
	    !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_FINE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
		return EXIT_FINE;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run_command(i, argc - 1, argv + 1);
	fprintf(stderr, "fio-vsan: no command '%.40s'; 'fio-vsan --help' lists them\n", argv[1]);
	return EXIT_BAD_INPUT;
}
