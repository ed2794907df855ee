/* SPDX-License-Identifier: GPL-2.0-only */
/* Spawns gnuplot; see gnuplot.h. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* gnuplot's words go to an unlinked file: a pipe could fill up while nobody reads. */
static int open_messages(void)
{
	return memfd_create("gnuplot", MFD_CLOEXEC);
}

/* The last line that says something is the error; those before show where in the script. */
static void last_line(int fd, char *buf, size_t len)
{
	ssize_t n = pread(fd, buf, len - 1, 0);
	char *line;

	buf[n > 0 ? n : 0] = '\0';
	while (n > 0 && strchr(" \t\r\n", buf[n - 1]))
		buf[--n] = '\0';
	line = strrchr(buf, '\n');
	if (line)
		memmove(buf, line + 1, strlen(line + 1) + 1);
}

static int spawn(pid_t *pid, const char *program, const char *folder, char **argv, int messages)
{
	posix_spawn_file_actions_t actions;
	int ret = posix_spawn_file_actions_init(&actions);

	if (ret)
		return -ret;
	ret = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, messages, STDOUT_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (!ret && strcmp(folder, "."))
		ret = posix_spawn_file_actions_addchdir_np(&actions, folder);
	if (!ret)
		ret = posix_spawnp(pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

/* A path relative to here means nothing in @folder. */
static char *absolute_program(const char *program)
{
	return strchr(program, '/') ? realpath(program, NULL) : strdup(program);
}

int gnuplot_run(const char *program, const char *folder, const char *script, const char *picture,
		struct report *r)
{
	char *argv[5] = {"gnuplot", "-e", NULL, NULL, NULL};
	char said[512] = "";
	char *path = absolute_program(program), *set = NULL, *file = NULL;
	int messages = -1, status, ret;
	pid_t pid;

	if (!path) {
		ret = -ENOEXEC;
		goto out;
	}
	/* "./": a name that begins with '-' must not be an option. */
	if (asprintf(&set, "picture='%s'", picture) < 0 || asprintf(&file, "./%s", script) < 0) {
		ret = report(r, -ENOMEM, "no memory to run gnuplot");
		goto out;
	}
	argv[2] = set;
	argv[3] = file;
	messages = open_messages();
	if (messages < 0) {
		ret = report(r, -errno, "cannot run gnuplot: %s", strerror(errno));
		goto out;
	}
	ret = spawn(&pid, path, folder, argv, messages);
	if (ret) {
		if (ret == -ENOENT || ret == -EACCES || ret == -ENOEXEC)
			ret = -ENOEXEC;
		else
			report(r, ret, "cannot run %s: %s", program, strerror(-ret));
		goto out;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		goto out;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		ret = -ENOEXEC;
		goto out;
	}
	last_line(messages, said, sizeof(said));
	ret = report(r, -EIO, "%s/%s: gnuplot failed: %s; the script and its data are kept", folder,
		     script, *said ? said : "it said nothing");
out:
	if (messages >= 0)
		close(messages);
	free(file);
	free(set);
	free(path);
	return ret;
}
