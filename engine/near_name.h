/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds what a person probably meant when a name is unknown. Pure functions. */
#ifndef VSAN_NEAR_NAME_H
#define VSAN_NEAR_NAME_H

#include <stdbool.h>

/*
 * Whether @known is near enough to the mistyped @word to be suggested: a part of the other, or a
 * few letters away, ignoring case. The smaller *@distance, the better the guess.
 */
bool near_name(const char *word, const char *known, unsigned int *distance);

#endif
