/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns and searches what the engine wrote about a disk group; see vsan_telemetry.h. */
#include "vsan_telemetry.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *vsan_option_get(const struct vsan_group *g, const char *name)
{
	for (size_t i = 0; i < g->nr_options; i++)
		if (!strcmp(g->options[i].name, name))
			return g->options[i].value;
	return NULL;
}

const struct vsan_job *vsan_job_find(const struct vsan_group *g, unsigned int number)
{
	for (size_t i = 0; i < g->nr_jobs; i++)
		if (g->jobs[i].number == number)
			return &g->jobs[i];
	return NULL;
}

int vsan_job_set(struct vsan_group *g, unsigned int number, const char *name, double start_msec)
{
	struct vsan_job *j = (struct vsan_job *)vsan_job_find(g, number);

	if (j) {
		j->start_msec = start_msec;
		return 0;
	}
	if (array_grow(&g->jobs, g->nr_jobs, &g->cap_jobs, sizeof(*g->jobs)))
		return -ENOMEM;
	j = &g->jobs[g->nr_jobs];
	*j = (struct vsan_job){.number = number, .start_msec = start_msec, .end_msec = NAN};
	j->name = strdup(name);
	if (!j->name)
		return -ENOMEM;
	g->nr_jobs++;
	return 0;
}

void vsan_group_free(struct vsan_group *g)
{
	for (size_t i = 0; i < g->nr_options; i++) {
		free(g->options[i].name);
		free(g->options[i].value);
	}
	for (size_t i = 0; i < g->nr_devices; i++) {
		struct vsan_device *d = &g->devices[i];

		free(d->role);
		free(d->name);
		free(d->kind);
		free(d->condition);
		free(d->title);
		free(d->certainty);
	}
	for (size_t i = 0; i < g->nr_jobs; i++)
		free(g->jobs[i].name);
	text_list_free(&g->warnings);
	free(g->samples);
	free(g->jobs);
	free(g->devices);
	free(g->options);
	free(g->log_path);
	free(g->json_path);
	*g = (struct vsan_group){0};
}
