/* SPDX-License-Identifier: GPL-2.0-only */
/* fio-vsan drives: the drive profiles that a disk group can be made of, or one of them in full. */
#include "command.h"

#include "engine/drive_catalog.h"

#include <errno.h>

struct arguments {
	const char *name;
	bool verbose;
};

static const struct argp_option options[] = {
	{"verbose", 'v', NULL, 0, "With notes and bands of the least sure figures", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'v':
		a->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->name)
			argp_error(state, "one drive at a time: '%s' is too many", arg);
		a->name = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse,
	"[NAME|FILE.ini]",
	"List the drives that can be modelled, with size, key figures and how sure they are; or "
	"show "
	"one with the source of each figure."
	"\vUse one in a job file as cache_device=@NAME or capacity_devices=@NAME.\n\n"
	"Example:\n"
	"  fio-vsan drives\n"
	"  fio-vsan drives intel-p4600-1.6tb\n",
	NULL,
	NULL,
	NULL};

int command_drives(int argc, char **argv)
{
	static struct drive_profile profile; /* large, and only the main thread comes here */
	struct arguments a = {0};
	struct report r = {0};

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return EXIT_BAD_INPUT;
	if (!a.name)
		return drive_catalog_print(stdout, a.verbose) ? EXIT_BAD_INPUT : EXIT_FINE;
	if (drive_profile_load(a.name, &profile, &r))
		return command_fail(&r);
	drive_profile_print(stdout, &profile);
	return EXIT_FINE;
}
