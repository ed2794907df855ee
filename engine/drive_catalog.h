/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The profiles a person can name: where they lie, which there are, and their list for the
 * terminal. Folders, in this order, the first that has a name wins: $FIO_VSAN_PROFILE_DIR, the
 * source tree of the build, the installed data. No state; any thread.
 */
#ifndef VSAN_DRIVE_CATALOG_H
#define VSAN_DRIVE_CATALOG_H

#include "drive_profile.h"

#include <stddef.h>
#include <stdio.h>

/*
 * The path of the profile called @name (no folder, no .ini), into @path.
 * Returns 0; -ENOENT with a line in @r that suggests near names; -ENAMETOOLONG; or the errno of
 * reading the folder that the environment names.
 */
int drive_catalog_find(const char *name, char *path, size_t len, struct report *r);

/*
 * All profiles that can be named, sorted by name, in *@out (an array of *@n that the caller
 * frees with free()). A file that is no valid profile is left out; the first such is described in
 * @r although the result is 0. On failure a negative errno, @r describes it, nothing to free.
 */
int drive_catalog_list(struct drive_profile **out, size_t *n, struct report *r);

/*
 * Print the list as a table, with @verbose also notes and bands. What cannot be read is said in the
 * place of the table, or below it. Returns 0 when all is listed, else a negative errno.
 */
int drive_catalog_print(FILE *f, bool verbose);

#endif
