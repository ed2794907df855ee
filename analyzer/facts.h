/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run was, for people and as JSON: version, workload, engine, drives. Shared by renderers.
 */
#ifndef ANALYZER_FACTS_H
#define ANALYZER_FACTS_H

#include "run.h"

#include <jansson.h>
#include <stdio.h>

/* Print the lines below a run's label, each after @indent blanks. Returns 0 or -ENOMEM. */
int facts_print(const struct run *run, FILE *f, unsigned int indent);

/* The same as an object; NULL when out of memory. */
json_t *facts_json(const struct run *run);

/* A JSON string of text that may not be UTF-8; NULL when out of memory. */
json_t *json_clean_string(const char *s);

/* A JSON array of the strings of @l. */
json_t *json_string_list(const struct text_list *l);

#endif
