/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads one drive profile from its .ini file. Inside the engine only: others call
 * drive_profile_load(). */
#ifndef VSAN_PROFILE_PARSER_H
#define VSAN_PROFILE_PARSER_H

#include "drive_profile.h"

/*
 * Read the profile in @path into @out. Returns 0, -EINVAL when the file is not a complete and
 * possible profile, or the errno of reading it; always with one line in @r that starts with
 * "file:line: " where a line is to blame. @out is undefined after an error. Any thread.
 */
int profile_parse_file(const char *path, struct drive_profile *out, struct report *r);

#endif
