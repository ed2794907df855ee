/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes the data and the script of a picture and lets gnuplot draw it; see chart.h. */
#include "chart.h"

#include "gnuplot.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPTION_WIDTH 118 /* characters that fit below a picture of 800 pixels */

#ifndef VSAN_PLOT_DIR_BUILD
#define VSAN_PLOT_DIR_BUILD "plots"
#endif
#ifndef VSAN_PLOT_DIR_INSTALL
#define VSAN_PLOT_DIR_INSTALL "/usr/local/share/fio-vsan/plots"
#endif
#define PLOT_DIR_ENV "FIO_VSAN_PLOT_DIR"

const char *chart_kind_name(enum chart_kind kind)
{
	static const char *const names[] = {"bars", "latency", "timeline"};

	return names[kind];
}

/* Safe in a gnuplot string and as a name: no quote, no backtick, nothing that could be a command.
 */
static bool is_safe_name(const char *s)
{
	if (!*s || *s == '-')
		return false;
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (!(c >= 0x80 || (c >= '0' && c <= '9') ||
		      ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || strchr("._+-@ ", c)))
			return false;
	}
	return true;
}

static int open_data(struct chart *c, struct report *r)
{
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s.dat", c->folder, c->stem) < 0)
		return report(r, -ENOMEM, "no memory for the chart");
	ret = output_file_open(&c->data, path, r);
	free(path);
	return ret;
}

int chart_open(struct chart *c, enum chart_kind kind, const char *output, struct report *r)
{
	const char *slash = strrchr(output, '/');
	const char *name = slash ? slash + 1 : output;
	const char *dot = strrchr(name, '.');

	*c = (struct chart){.kind = kind};
	if (dot && dot != name && !strcmp(dot, ".svg"))
		c->format = "svg";
	else if (dot && dot != name && !strcmp(dot, ".png"))
		c->format = "png";
	else
		return report(r, -EINVAL, "-o %s: the name must end in .svg or .png", output);
	if (!is_safe_name(name))
		return report(r, -EINVAL,
			      "-o %s: the file's name may hold letters, digits, blanks and . _ + - "
			      "@ only",
			      output);
	c->picture = strdup(name);
	c->stem = strndup(name, (size_t)(dot - name));
	if (!slash)
		c->folder = strdup(".");
	else
		c->folder =
			slash == output ? strdup("/") : strndup(output, (size_t)(slash - output));
	if (!c->picture || !c->stem || !c->folder)
		return report(r, -ENOMEM, "no memory for the chart");
	return open_data(c, r);
}

void chart_write_string(struct chart *c, const char *s, unsigned int width)
{
	struct text t = {0};

	text_add_clean(&t, s, width);
	fputc('"', c->data.f);
	for (const char *p = t.s ? t.s : ""; *p; p++) {
		/* A quote would end the field, and gnuplot reads \n in data as a new line. */
		if (*p == '"')
			fputc('\'', c->data.f);
		else if (*p == '\\')
			fputc('/', c->data.f);
		else
			fputc(*p, c->data.f);
	}
	fputc('"', c->data.f);
	text_free(&t);
}

void chart_write_number(struct chart *c, double value)
{
	if (isfinite(value))
		fprintf(c->data.f, "\t%.8g", value);
	else
		fputs("\tnan", c->data.f);
}

void chart_end_block(struct chart *c)
{
	fputs("\n\n", c->data.f);
}

void chart_set(struct chart *c, const char *name, double value)
{
	text_printf(&c->variables, "%s = %.8g\n", name, value);
}

void chart_write_texts(struct chart *c, const char *title)
{
	chart_write_string(c, title, 0);
	fputc('\n', c->data.f);
	for (size_t i = 0; i < c->captions.nr; i++) {
		chart_write_string(c, c->captions.items[i], 0);
		fputc('\n', c->data.f);
	}
	chart_end_block(c);
	chart_set(c, "nr_captions", (double)c->captions.nr);
}

int chart_caption(struct chart *c, const char *s)
{
	while (*s) {
		size_t len = strlen(s), cut = len;

		if (len > CAPTION_WIDTH) {
			cut = CAPTION_WIDTH;
			while (cut > CAPTION_WIDTH / 2 && s[cut] != ' ')
				cut--;
			if (s[cut] != ' ') {
				cut = CAPTION_WIDTH;
				while ((s[cut] & 0xc0) == 0x80) /* not inside of a character */
					cut--;
			}
		}
		if (text_list_add(&c->captions, "%.*s", (int)cut, s))
			return -ENOMEM;
		s += cut;
		s += strspn(s, " ");
	}
	return 0;
}

/* Workload and versions, if all runs have the same; else that they differ. */
static int caption_workload(struct chart *c, const struct run_set *set)
{
	struct text first = {0}, next = {0};
	bool alike = true;
	int ret = 0;

	for (size_t i = 0; i < set->nr && !ret; i++) {
		const struct run *run = &set->runs[i];
		struct workload w;

		if (!run->nr_jobs)
			continue;
		ret = workload_derive(run, &w);
		text_free(&next);
		text_printf(&next, "%s, %s, depth %s, working set %s, ", w.pattern.s,
			    w.block_size.s, w.depth.s, w.working_set.s);
		text_add_clean(&next, run->fio_version ? run->fio_version : "?", 40);
		workload_free(&w);
		if (!first.s)
			text_add(&first, next.s ? next.s : "");
		else
			alike &= next.s && !strcmp(first.s, next.s);
	}
	if (!ret && first.s)
		ret = chart_caption(
			c,
			alike ? first.s : "The runs are not alike: fio-vsan compare says in what.");
	text_free(&first);
	text_free(&next);
	return ret;
}

int chart_caption_runs(struct chart *c, const struct run_set *set)
{
	struct text_list seen = {0};
	struct text models = {0}, line = {0};
	int ret = caption_workload(c, set);

	for (size_t i = 0; i < set->nr; i++)
		workload_add_models(&set->runs[i], &models, &seen);
	if (models.len)
		text_printf(&line, "modelled drives: %s", models.s);
	if (!ret && (models.failed || line.failed))
		ret = -ENOMEM;
	if (!ret && line.len)
		ret = chart_caption(c, line.s);
	text_free(&line);
	text_free(&models);
	text_list_free(&seen);
	return ret;
}

/* The script of a kind of chart, from the first folder that has it. */
static int read_plot(enum chart_kind kind, char **text, size_t *len, struct report *r)
{
	const char *folders[] = {getenv(PLOT_DIR_ENV), VSAN_PLOT_DIR_BUILD, VSAN_PLOT_DIR_INSTALL};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		struct report none = {0};
		char *path;
		int ret;

		if (!folders[i] || !*folders[i])
			continue;
		if (asprintf(&path, "%s/%s.gp", folders[i], chart_kind_name(kind)) < 0)
			return report(r, -ENOMEM, "no memory for the chart");
		ret = file_text_read(path, text, len, &none);
		free(path);
		if (!ret)
			return 0;
		if (ret != -ENOENT)
			return report(r, ret, "%s", none.text);
	}
	return report(r, -ENOENT, "no %s.gp in %s; install fio-vsan or set " PLOT_DIR_ENV,
		      chart_kind_name(kind), VSAN_PLOT_DIR_INSTALL);
}

/* Write the script: our variables, then the plot. */
static int write_script(struct chart *c, const char *plot, size_t len, struct report *r)
{
	struct output_file script = {0};
	char *path;
	int ret;

	if (c->variables.failed || asprintf(&path, "%s/%s.gp", c->folder, c->stem) < 0)
		return report(r, -ENOMEM, "no memory for the chart");
	ret = output_file_open(&script, path, r);
	free(path);
	if (ret)
		return ret;
	fprintf(script.f,
		"# Made by fio-vsan plot %s. Draw the picture again: gnuplot %s.gp\n"
		"# As another format: gnuplot -e \"format='png'\" %s.gp\n"
		"if (!exists('format')) format = '%s'\n"
		"if (!exists('picture')) picture = '%s.'.format\n"
		"data = '%s.dat'\n"
		"%s\n",
		chart_kind_name(c->kind), c->stem, c->stem, c->format, c->stem, c->stem,
		c->variables.s ? c->variables.s : "");
	fwrite(plot, 1, len, script.f);
	return output_file_commit(&script, r);
}

/* An empty file to draw to; its name consists of the picture's and six letters. */
static int make_temporary(struct chart *c, char **path, const char **name, struct report *r)
{
	mode_t mask;
	int fd;

	if (asprintf(path, "%s/%s.XXXXXX", c->folder, c->picture) < 0)
		return report(r, -ENOMEM, "no memory for the chart");
	fd = mkostemp(*path, O_CLOEXEC);
	if (fd < 0) {
		int ret = -errno;

		report(r, ret, "%s/%s: cannot create it: %s", c->folder, c->picture,
		       strerror(-ret));
		free(*path);
		return ret;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	close(fd);
	*name = *path + strlen(c->folder) + 1;
	return 0;
}

static int draw_picture(struct chart *c, const char *gnuplot, struct report *r)
{
	char *temporary = NULL, *script = NULL, *picture = NULL;
	const char *name = NULL;
	struct stat st;
	int ret;

	ret = make_temporary(c, &temporary, &name, r);
	if (ret)
		return ret;
	if (asprintf(&script, "%s.gp", c->stem) < 0 ||
	    asprintf(&picture, "%s/%s", c->folder, c->picture) < 0) {
		ret = report(r, -ENOMEM, "no memory for the chart");
		goto out;
	}
	ret = gnuplot_run(gnuplot, c->folder, script, name, r);
	if (ret == -ENOEXEC)
		report(r, ret,
		       "no gnuplot (%s): %s/%s.dat and .gp are written, the picture is not; "
		       "install "
		       "gnuplot or give --gnuplot=PATH",
		       gnuplot, c->folder, c->stem);
	if (!ret && (stat(temporary, &st) || st.st_size == 0))
		ret = report(r, -EIO, "%s: gnuplot drew nothing; the script and its data are kept",
			     picture);
	if (!ret && rename(temporary, picture))
		ret = report(r, -errno, "%s: cannot write it: %s", picture, strerror(errno));
out:
	if (ret)
		unlink(temporary);
	free(picture);
	free(script);
	free(temporary);
	return ret;
}

int chart_draw(struct chart *c, const char *gnuplot, struct report *r)
{
	char *plot = NULL;
	size_t len = 0;
	int ret;

	ret = read_plot(c->kind, &plot, &len, r);
	if (!ret)
		ret = output_file_commit(&c->data, r);
	if (!ret)
		ret = write_script(c, plot, len, r);
	free(plot);
	return ret ? ret : draw_picture(c, gnuplot, r);
}

void chart_free(struct chart *c)
{
	output_file_abandon(&c->data);
	text_list_free(&c->captions);
	text_free(&c->variables);
	free(c->stem);
	free(c->picture);
	free(c->folder);
	*c = (struct chart){0};
}
