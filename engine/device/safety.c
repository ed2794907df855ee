/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May the engine write to this device? Refuses what is mounted, swapped to, part of something that
 * is, or in use. What is stored on a device is foreign.c's question. Only reads; set-up only, one
 * thread.
 *
 * The kernel's O_EXCL would refuse most of these as well, with "device or resource busy": the
 * checks here say by whom.
 */
#include "safety.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "real_device.h"

#define MAX_RELATED 256

/* A device, and all that share bytes with it: its partitions or its disk, and what is built upon
 * them. */
struct related {
	dev_t devs[MAX_RELATED];
	size_t n;
	char holder[64]; /* a device built upon one of them; empty: none */
};

static void add_related(struct related *rel, dev_t dev);

/* The first line of a small file of sysfs. */
static bool read_line(const char *path, char *text, size_t len)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(text, (int)len, f) != NULL;
	fclose(f);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

static bool read_dev(const char *folder, const char *name, dev_t *dev)
{
	char path[PATH_MAX], text[32];
	unsigned int maj, min;

	if (snprintf(path, sizeof(path), "%s/%s/dev", folder, name) >= (int)sizeof(path) ||
	    !read_line(path, text, sizeof(text)) || sscanf(text, "%u:%u", &maj, &min) != 2)
		return false;
	*dev = makedev(maj, min);
	return true;
}

/* Each entry of @folder that is a block device: partitions in a disk's folder, links in "holders".
 */
static void add_folder(struct related *rel, const char *folder, bool holders)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	dev_t dev;

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || !read_dev(folder, e->d_name, &dev))
			continue;
		if (holders && !rel->holder[0])
			snprintf(rel->holder, sizeof(rel->holder), "%.60s", e->d_name);
		add_related(rel, dev);
	}
	closedir(d);
}

static void add_related(struct related *rel, dev_t dev)
{
	char link[64], folder[PATH_MAX], holders[PATH_MAX + 16];
	size_t i;

	for (i = 0; i < rel->n; i++) {
		if (rel->devs[i] == dev)
			return;
	}
	if (rel->n == MAX_RELATED)
		return;
	rel->devs[rel->n++] = dev;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, folder))
		return;
	snprintf(holders, sizeof(holders), "%s/holders", folder);
	add_folder(rel, holders, true);
}

/* With a partition comes its disk, with a disk its partitions; not a partition's neighbours. */
static void find_related(struct related *rel, dev_t dev)
{
	char link[64], folder[PATH_MAX], path[PATH_MAX + 16];
	dev_t disk;

	memset(rel, 0, sizeof(*rel));
	add_related(rel, dev);
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, folder))
		return;
	snprintf(path, sizeof(path), "%s/partition", folder);
	if (!access(path, F_OK)) {
		if (read_dev(folder, "..", &disk))
			add_related(rel, disk);
	} else {
		add_folder(rel, folder, false);
	}
}

static bool in_set(const dev_t *set, size_t n, dev_t dev, size_t *which)
{
	for (size_t i = 0; i < n; i++) {
		if (set[i] == dev) {
			*which = i;
			return true;
		}
	}
	return false;
}

/* The kernel writes blanks and the like as \ooo. In place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* One line of mountinfo: "ID PARENT MAJ:MIN ROOT WHERE OPTIONS [FIELDS] - TYPE SOURCE ..." */
static bool mount_matches(char *line, const dev_t *set, size_t n, size_t *which, char **where)
{
	unsigned int maj, min;
	char *save, *field, *tail;
	struct stat st;

	tail = strstr(line, " - ");
	if (tail)
		*tail = '\0';
	if (sscanf(line, "%*s %*s %u:%u", &maj, &min) != 2)
		return false;
	strtok_r(line, " ", &save);
	for (int i = 0; i < 3; i++)
		strtok_r(NULL, " ", &save);
	*where = strtok_r(NULL, " ", &save);
	if (!*where)
		return false;
	unescape(*where);
	if (in_set(set, n, makedev(maj, min), which))
		return true;
	/* btrfs and others mount under a number of their own: their source names the device. */
	if (!tail || !strtok_r(tail + 3, " ", &save))
		return false;
	field = strtok_r(NULL, " ", &save);
	if (!field)
		return false;
	unescape(field);
	return field[0] == '/' && !stat(field, &st) && S_ISBLK(st.st_mode) &&
	       in_set(set, n, st.st_rdev, which);
}

bool safety_find_mount(const char *mountinfo, const dev_t *set, size_t n, size_t *which,
		       char *where, size_t len)
{
	FILE *f = fopen(mountinfo, "re");
	char *line = NULL, *at;
	size_t size = 0;
	bool found = false;

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		found = mount_matches(line, set, n, which, &at);
		if (found)
			snprintf(where, len, "%s", at);
	}
	free(line);
	fclose(f);
	return found;
}

/* Is a device of the set, or the file, in /proc/swaps? */
static bool find_swap(const dev_t *set, size_t n, const struct stat *file, size_t *which)
{
	FILE *f = fopen("/proc/swaps", "re");
	char *line = NULL, *name;
	size_t size = 0;
	bool found = false;
	struct stat st;

	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0) {
		name = line;
		line[strcspn(line, " \t\n")] = '\0';
		unescape(name);
		if (name[0] != '/' || stat(name, &st))
			continue;
		if (S_ISBLK(st.st_mode))
			found = in_set(set, n, st.st_rdev, which);
		else
			found = file && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
	}
	free(line);
	fclose(f);
	return found;
}

/* The loop device that is backed by a block device of the set, or by the file. */
static bool find_loop(const dev_t *set, size_t n, const struct stat *file, char *name, size_t len)
{
	DIR *d = opendir("/sys/block");
	char path[PATH_MAX], backing[PATH_MAX];
	bool found = false;
	struct dirent *e;
	struct stat st;
	size_t which;

	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		if (strncmp(e->d_name, "loop", 4) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", e->d_name);
		if (!read_line(path, backing, sizeof(backing)) || stat(backing, &st))
			continue;
		if (S_ISBLK(st.st_mode))
			found = in_set(set, n, st.st_rdev, &which);
		else
			found = file && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
		if (found)
			snprintf(name, len, "/dev/%s", e->d_name);
	}
	closedir(d);
	return found;
}

static int used_by_loop(const char *path, const char *option, const char *loop, struct report *r)
{
	return report(r, -EBUSY,
		      "%s: %s is in use by %s: detach that (losetup -d) or name another one",
		      option, path, loop);
}

/* "/dev/sda1" for people; the numbers if sysfs does not tell. */
static void device_name(dev_t dev, char *name, size_t len)
{
	char link[64], folder[PATH_MAX], *base;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	base = realpath(link, folder) ? strrchr(folder, '/') : NULL;
	if (base)
		snprintf(name, len, "/dev/%s", base + 1);
	else
		snprintf(name, len, "device %u:%u", major(dev), minor(dev));
}

/* What to call the device of the set that was found: the path itself, or "/dev/sda1, which shares
 * ..." */
static void describe(const struct related *rel, size_t which, const char *path, char *text,
		     size_t len)
{
	char name[128];

	if (!which) { /* the device itself comes first */
		snprintf(text, len, "%s", path);
		return;
	}
	device_name(rel->devs[which], name, sizeof(name));
	snprintf(text, len, "%s shares its blocks with %s, which", path, name);
}

int safety_check_block(const char *path, const char *option, dev_t rdev, struct report *r)
{
	struct related rel;
	char what[PATH_MAX + 256], where[PATH_MAX], loop[300];
	size_t which = 0;

	find_related(&rel, rdev);
	if (safety_find_mount("/proc/self/mountinfo", rel.devs, rel.n, &which, where,
			      sizeof(where))) {
		describe(&rel, which, path, what, sizeof(what));
		return report(r, -EBUSY,
			      "%s: %.300s is mounted on %.200s: unmount it or name another device",
			      option, what, where);
	}
	if (find_swap(rel.devs, rel.n, NULL, &which)) {
		describe(&rel, which, path, what, sizeof(what));
		return report(r, -EBUSY,
			      "%s: %.300s is used as swap: swapoff it or name another device",
			      option, what);
	}
	if (rel.holder[0])
		return report(r, -EBUSY,
			      "%s: %s is in use by /dev/%s (RAID, LVM, encryption or the like) "
			      "that is built on it: take that down or name another device",
			      option, path, rel.holder);
	if (find_loop(rel.devs, rel.n, NULL, loop, sizeof(loop)))
		return used_by_loop(path, option, loop, r);
	return 0;
}

int safety_check_file(const char *path, const char *option, const struct stat *st, struct report *r)
{
	char loop[300];
	size_t which;

	if (find_swap(NULL, 0, st, &which))
		return report(r, -EBUSY, "%s: %s is used as swap: swapoff it or name another file",
			      option, path);
	if (find_loop(NULL, 0, st, loop, sizeof(loop)))
		return used_by_loop(path, option, loop, r);
	return 0;
}

int safety_lock_file(int fd, const char *path, const char *option, struct report *r)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	/*
	 * An OFD lock belongs to the open file, not to the process: it also keeps out a second disk
	 * group of ours, and closing another descriptor of the file does not drop it.
	 */
	for (unsigned int i = 0; i < SAFETY_TRIES; i++) {
		if (!fcntl(fd, F_OFD_SETLK, &lock))
			return 0;
		if (errno != EAGAIN && errno != EACCES)
			break;
		safety_pause();
	}
	if (errno == EAGAIN || errno == EACCES)
		return report(
			r, -EBUSY,
			"%s: %s is in use by another process (it holds a lock), or named twice: "
			"wait for it or name another file",
			option, path);
	return report(r, -errno, "%s: %s: cannot lock it: %s", option, path, strerror(errno));
}

void safety_unlock_file(int fd)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	/* Closing would do, but for a ring that still refers to the file. No lock: no harm. */
	fcntl(fd, F_OFD_SETLK, &lock);
}

void safety_pause(void)
{
	const struct timespec ts = {.tv_nsec = (long)(20 * NSEC_PER_MSEC)};
	int saved = errno;

	nanosleep(&ts, NULL);
	errno = saved;
}

static bool is_real(const struct device *dev)
{
	return dev->kind == DEV_KIND_BLOCK || dev->kind == DEV_KIND_FILE;
}

bool device_same(const struct device *a, const struct device *b)
{
	const struct real_device *ra, *rb;

	if (a == b)
		return true;
	if (!is_real(a) || a->kind != b->kind)
		return false;
	ra = (const struct real_device *)a;
	rb = (const struct real_device *)b;
	if (a->kind == DEV_KIND_BLOCK)
		return ra->rdev == rb->rdev;
	if (ra->st_ino && rb->st_ino)
		return ra->st_dev == rb->st_dev && ra->st_ino == rb->st_ino;
	return device_names_same(a->name, b->name);
}

bool device_names_same(const char *a, const char *b)
{
	char dir_a[PATH_MAX], dir_b[PATH_MAX];
	const char *base_a, *base_b;
	struct stat sa, sb;
	bool has_a, has_b;

	if (a[0] == '@' || b[0] == '@')
		return false;
	has_a = !stat(a, &sa);
	has_b = !stat(b, &sb);
	if (has_a != has_b)
		return false;
	if (has_a) {
		if (S_ISBLK(sa.st_mode) && S_ISBLK(sb.st_mode))
			return sa.st_rdev == sb.st_rdev;
		return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
	}
	path_folder(a, dir_a, sizeof(dir_a));
	path_folder(b, dir_b, sizeof(dir_b));
	if (stat(dir_a, &sa) || stat(dir_b, &sb))
		return !strcmp(a, b);
	base_a = strrchr(a, '/');
	base_b = strrchr(b, '/');
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino &&
	       !strcmp(base_a ? base_a + 1 : a, base_b ? base_b + 1 : b);
}
