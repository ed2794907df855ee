/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The disk groups of a process: one per distinct cache device, shared by all jobs that name it, closed
 * when the last of its users is gone.
 */
#ifndef VSAN_GROUP_REGISTRY_H
#define VSAN_GROUP_REGISTRY_H

#include "engine_options.h"

struct group_entry;

/*
 * Join the group of @e's cache device, opening it for the first user. @users: how many jobs of the whole
 * run name this cache device; the group stays open until that many have left, since some may join only
 * when others are gone (stonewalled jobs with create_serialize=0). @verifies: one of them verifies.
 * @stop(@stop_arg): asked while files are filled whether the user has given up. A user whose options
 * differ from the first one's is refused with the option's name. Any thread.
 */
int group_registry_join(struct group_entry **out, const struct engine_options *e,
			unsigned int users, bool verifies, bool (*stop)(void *), void *stop_arg,
			const char *fio_version, struct report *r);

struct disk_group *group_entry_group(const struct group_entry *g);

/* Prepare and start the group (the first caller does it), and its telemetry. May take long. Any thread. */
int group_entry_start(struct group_entry *g, bool writing, struct report *r);

void group_entry_job_start(struct group_entry *g, unsigned int number, const char *name);
void group_entry_job_end(struct group_entry *g, unsigned int number);

/*
 * A user is gone; the last one closes the group and prints its summary, or the plan of a dry run. Errors
 * are printed. Any thread.
 */
int group_registry_leave(struct group_entry *g);

/*
 * A job cannot run. fio would run the others all the same, and they would write: from here on none is to
 * start. Returns whether this was the first, whose reason is the one to tell. Any thread.
 */
bool group_registry_give_up(void);
bool group_registry_gave_up(void);

/* At the end of the process: close what is left (users that never ran). */
void group_registry_close_all(void);

#endif
