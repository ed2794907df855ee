/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads files whole, writes them whole or not at all; see file_text.h. */
#include "file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, char *buf, size_t len, size_t *got)
{
	*got = 0;
	while (*got < len) {
		ssize_t n = read(fd, buf + *got, len - *got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return 0;
}

/* O_NONBLOCK: a FIFO in a result folder must not hang the reader. */
static int open_regular(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, st) ? -errno : S_ISDIR(st->st_mode) ? -EISDIR : 0;
	if (!ret && !S_ISREG(st->st_mode))
		ret = -EINVAL;
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int file_text_read(const char *path, char **text, size_t *len, struct report *r)
{
	struct stat st;
	char *buf;
	int fd, ret;

	fd = open_regular(path, &st);
	if (fd == -EINVAL)
		return report(r, fd, "%s: not a regular file; name a fio result", path);
	if (fd < 0)
		return report(r, fd, "%s: %s", path, strerror(-fd));
	if ((uintmax_t)st.st_size > FILE_TEXT_MAX) {
		close(fd);
		return report(r, -EFBIG,
			      "%s: larger than 1 GiB; fio results are not, check the name", path);
	}
	buf = malloc((size_t)st.st_size + 1);
	if (!buf) {
		close(fd);
		return report(r, -ENOMEM, "%s: no memory for %lld bytes", path,
			      (long long)st.st_size);
	}
	ret = read_all(fd, buf, (size_t)st.st_size, len);
	close(fd);
	if (ret) {
		free(buf);
		return report(r, ret, "%s: %s", path, strerror(-ret));
	}
	buf[*len] = '\0';
	*text = buf;
	return 0;
}

long file_text_head(const char *path, char *buf, size_t len)
{
	struct stat st;
	size_t got;
	int fd, ret;

	fd = open_regular(path, &st);
	if (fd < 0)
		return fd;
	ret = read_all(fd, buf, len, &got);
	close(fd);
	return ret ? ret : (long)got;
}

int output_file_open(struct output_file *o, const char *path, struct report *r)
{
	mode_t mask;
	int fd, ret;

	o->path = strdup(path);
	if (!o->path || asprintf(&o->temporary, "%s.XXXXXX", path) < 0) {
		o->temporary = NULL;
		output_file_abandon(o);
		return report(r, -ENOMEM, "%s: no memory", path);
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(o->temporary);
		o->temporary = NULL; /* nothing to unlink */
		output_file_abandon(o);
		return report(r, ret, "%s: cannot create it: %s", path, strerror(-ret));
	}
	/* mkostemp gives 0600; the final file should be as any other the user makes. */
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->f = fdopen(fd, "w");
	if (!o->f) {
		ret = -errno;
		close(fd);
		output_file_abandon(o);
		return report(r, ret, "%s: %s", path, strerror(-ret));
	}
	return 0;
}

int output_file_commit(struct output_file *o, struct report *r)
{
	int ret = 0;

	errno = 0;
	if (fflush(o->f) || ferror(o->f))
		ret = errno ? -errno : -EIO;
	if (fclose(o->f) && !ret)
		ret = -errno;
	o->f = NULL;
	if (!ret && rename(o->temporary, o->path))
		ret = -errno;
	if (ret) {
		report(r, ret, "%s: cannot write it: %s", o->path, strerror(-ret));
	} else {
		free(o->temporary);
		o->temporary = NULL;
	}
	output_file_abandon(o);
	return ret;
}

void output_file_abandon(struct output_file *o)
{
	if (o->f)
		fclose(o->f);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	*o = (struct output_file){0};
}
