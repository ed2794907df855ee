/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds what makes a run doubtful; see doubts.h. */
#include "doubts.h"

#include "workload.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Below this run time, start and end weigh as much as what is between. */
#define SHORT_MSEC 10000

/* Reads of blocks that nobody wrote cost nothing: more than this share and the run is too good. */
#define NEVER_WRITTEN_MAX 0.001

/* How late the host may deliver a modelled completion, as a share of the modelled latency. */
#define LATENESS_MAX 0.1

static int doubt_errors(const struct run *run, struct text_list *out)
{
	for (size_t i = 0; i < run->nr_jobs; i++) {
		const struct run_job *j = &run->jobs[i];
		struct text name = {0};
		int ret = 0;

		if (!j->error && !j->nr_errors)
			continue;
		text_add_clean(&name, j->name, 40);
		if (j->nr_errors)
			ret = text_list_add(out, "job %s: %llu I/O errors, the first: %s",
					    name.s ? name.s : "?", (unsigned long long)j->nr_errors,
					    strerror(j->error));
		else
			ret = text_list_add(out, "job %s stopped with an error: %s",
					    name.s ? name.s : "?", strerror(j->error));
		text_free(&name);
		if (ret)
			return ret;
	}
	return 0;
}

static int doubt_time(const struct run *run, struct text_list *out)
{
	struct workload w;
	int ret = workload_derive(run, &w);

	if (!ret && w.runtime_msec > 0 && w.runtime_msec < SHORT_MSEC)
		ret = text_list_add(out, "short run (%.3g s): figures of less than %d s say little",
				    w.runtime_msec / 1000, SHORT_MSEC / 1000);
	workload_free(&w);
	return ret;
}

/* Mean latency of the modelled devices' I/Os, us; NAN without any. */
static double modelled_latency(const struct vsan_group *g)
{
	double sum = 0, ios = 0;

	for (size_t i = 0; i < g->nr_devices; i++) {
		const struct vsan_device *d = &g->devices[i];

		if (!d->kind || strcmp(d->kind, "modelled"))
			continue;
		for (int k = 0; k < 2; k++) {
			if (d->ios[k] > 0 && isfinite(d->usec_mean[k])) {
				sum += d->ios[k] * d->usec_mean[k];
				ios += d->ios[k];
			}
		}
	}
	return ios > 0 ? sum / ios : NAN;
}

static bool engine_said(const struct vsan_group *g, const char *word)
{
	for (size_t i = 0; i < g->warnings.nr; i++)
		if (strcasestr(g->warnings.items[i], word))
			return true;
	return false;
}

static int doubt_group(const struct vsan_group *g, struct text_list *out)
{
	double reads = g->reads[0] + g->reads[1] + g->reads[2];
	double latency = modelled_latency(g);
	int ret = 0;

	if (reads > 0 && g->reads[2] > reads * NEVER_WRITTEN_MAX &&
	    !engine_said(g, "never written"))
		ret = text_list_add(
			out,
			"%.3g%% of the reads hit blocks that were never written, which cost "
			"nothing; fill the volumes first (prefilled=, or the prefill job)",
			100 * g->reads[2] / reads);
	if (!ret && g->has_lateness && g->lateness_p99_usec > latency * LATENESS_MAX &&
	    !engine_said(g, "late"))
		ret = text_list_add(
			out,
			"the host delivered completions late: p99 %.3g us beside a modelled "
			"mean of %.3g us; use fewer jobs or a faster host",
			g->lateness_p99_usec, latency);
	for (size_t i = 0; i < g->nr_devices && !ret; i++) {
		const struct vsan_device *d = &g->devices[i];
		struct text name = {0};

		if (!d->failed && !d->errors)
			continue;
		text_add_clean(&name, d->name ? d->name : "?", 60);
		ret = text_list_add(out, "device %s: %s, %llu errors", name.s ? name.s : "?",
				    d->failed ? "failed" : "did not fail",
				    (unsigned long long)d->errors);
		text_free(&name);
	}
	for (size_t i = 0; i < g->warnings.nr && !ret; i++) {
		struct text line = {0};

		text_add_clean(&line, g->warnings.items[i], 400);
		ret = text_list_add(out, "engine: %s", line.s ? line.s : "");
		text_free(&line);
	}
	return ret;
}

int run_doubts(const struct run *run, struct text_list *out)
{
	int ret = 0;

	for (size_t i = 0; i < run->warnings.nr && !ret; i++) {
		struct text line = {0};

		text_add_clean(&line, run->warnings.items[i], 0);
		ret = text_list_add(out, "%s", line.s ? line.s : "");
		text_free(&line);
	}
	if (!ret)
		ret = doubt_errors(run, out);
	if (!ret)
		ret = doubt_time(run, out);
	for (size_t i = 0; i < run->nr_groups && !ret; i++)
		ret = doubt_group(&run->groups[i], out);
	return ret;
}
