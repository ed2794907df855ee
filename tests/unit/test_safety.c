/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a device layer must refuse: things that are no devices, that are in use, mounted, or hold
 * foreign content; each with one line that names the option, the path and what to do, and nothing
 * written. Block devices are tested by tests/e2e/loop_device.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/device.h"
#include "engine/device/ioq.h"
#include "engine/device/safety.h"

#define MIB (1ull << 20)

static char folder[64], path[96], other[160];
static const struct vclock wall;
static struct report why;
static struct dev_spec spec;

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/vsan-test-safety.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/cache", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	memset(&why, 0, sizeof(why));
	spec = (struct dev_spec){.name = path, .option = "cache_device", .is_cache = true};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return rmdir(folder);
}

/* A file of zeros with some bytes at a place. */
static void make_file(uint64_t size, uint64_t at, const void *bytes, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (len)
		assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
	assert_int_equal(close(fd), 0);
}

/* A checksum of all bytes, so that "nothing written" can be seen. */
static uint64_t content(void)
{
	FILE *f = fopen(path, "re");
	uint64_t hash = 14695981039346656037ull;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		hash = (hash ^ (uint64_t)c) * 1099511628211ull;
	fclose(f);
	return hash;
}

static struct device *open_it(void)
{
	struct device *dev = NULL;

	if (device_open(&dev, &spec, &wall, &why))
		fail_msg("device_open: %s", why.text);
	return dev;
}

/* Opening fails with @err, in one line with the option, the name and @hint. */
static void refused(int err, const char *hint)
{
	struct device *dev = NULL;

	assert_int_equal(device_open(&dev, &spec, &wall, &why), err);
	assert_null(dev);
	assert_int_equal(why.err, err);
	assert_non_null(strstr(why.text, "cache_device: "));
	assert_non_null(strstr(why.text, spec.name));
	assert_null(strchr(why.text, '\n'));
	if (!strstr(why.text, hint))
		fail_msg("'%s' is not in: %s", hint, why.text);
	memset(&why, 0, sizeof(why));
}

static void test_what_is_no_device(void **state)
{
	char long_name[300];

	(void)state;
	spec.name = folder;
	refused(-EINVAL, "a folder");
	spec.name = "/dev/null";
	refused(-EINVAL, "a character device");
	assert_int_equal(mkfifo(path, 0600), 0);
	spec.name = path;
	refused(-EINVAL, "a pipe");
	spec.name = "/dev/no-such-disk";
	spec.size = MIB;
	refused(-ENOENT, "no device");
	spec.name = "/tmp/no/such/folder/cache";
	refused(-ENOENT, "folder");
	spec.name = "";
	assert_int_equal(device_open(&(struct device *){NULL}, &spec, &wall, &why), -EINVAL);
	memset(&why, 0, sizeof(why));
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	spec.name = long_name;
	assert_int_equal(device_open(&(struct device *){NULL}, &spec, &wall, &why), -ENAMETOOLONG);
}

static void test_sizes_that_cannot_be(void **state)
{
	(void)state;
	refused(-ENOENT, "cache_size"); /* does not exist and no size is given */
	spec.is_cache = false;
	refused(-ENOENT, "capacity_size");
	spec.is_cache = true;
	spec.size = 100;
	refused(-EINVAL, "cache_size");
	spec.size = 0;
	make_file(0, 0, NULL, 0);
	refused(-EINVAL, "cache_size");
	make_file(4095, 0, NULL, 0);
	refused(-EINVAL, "cache_size");
}

static void test_no_permission(void **state)
{
	struct device *dev;
	bool denied;

	(void)state;
	make_file(MIB, 0, NULL, 0);
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	/* Root may do anything: be somebody else. */
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	spec.size = MIB;
	denied = device_open(&dev, &spec, &wall, &why) == -EACCES && strstr(why.text, "permission");
	memset(&why, 0, sizeof(why));
	spec.name = other; /* does not exist */
	denied = denied && device_open(&dev, &spec, &wall, &why) == -EACCES &&
		 strstr(why.text, "permission");
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_true(denied);
}

static void test_locked_by_another_process(void **state)
{
	int ready[2], quit[2], status;
	struct device *dev;
	char byte = 0;
	pid_t pid;

	(void)state;
	make_file(MIB, 0, NULL, 0);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(quit), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(quit[1]);
		if (device_open(&dev, &spec, &wall, &why))
			_exit(1);
		if (write(ready[1], &byte, 1) != 1 || read(quit[0], &byte, 1) < 0)
			_exit(2);
		_exit(0); /* not closed: as a process that was killed */
	}
	close(quit[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	refused(-EBUSY, "another process");
	close(quit[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
	dev = open_it();
	/* A second time in this process is refused, too, and leaves the first one locked. */
	refused(-EBUSY, "named twice");
	refused(-EBUSY, "named twice");
	device_close(dev);
	dev = open_it();
	device_close(dev);
}

static void foreign(const char *what)
{
	uint64_t before = content();
	struct device *dev = open_it();

	assert_int_equal(device_probe_foreign(dev, &spec, &why), -EEXIST);
	assert_non_null(strstr(why.text, "cache_device: "));
	assert_non_null(strstr(why.text, path));
	assert_non_null(strstr(why.text, "allow_overwrite=1"));
	if (!strstr(why.text, what))
		fail_msg("'%s' is not in: %s", what, why.text);
	memset(&why, 0, sizeof(why));
	spec.allow_overwrite = true;
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	spec.allow_overwrite = false;
	device_close(dev);
	assert_true(content() == before);
}

static void test_foreign_content(void **state)
{
	/* One entry: type 83, 2048 sectors from sector 1 on; then the magic number. */
	uint8_t mbr[66] = {[4] = 0x83, [8] = 1, [13] = 8, [64] = 0x55, [65] = 0xaa};
	static uint8_t swap[3072];
	struct device *dev;

	(void)state;
	swap[0] = 1;    /* version */
	swap[4] = 0xff; /* last page */
	memcpy(swap + (4086 - 1024), "SWAPSPACE2", 10);
	make_file(4 * MIB, 1024, swap, sizeof(swap));
	foreign("swap");
	make_file(4 * MIB, 446, mbr, sizeof(mbr));
	foreign("MBR (DOS) partition table");
	make_file(4 * MIB, 65535, "x", 1);
	foreign("data");
	make_file(8192, 0, "x", 1);
	foreign("data");

	/* Zeros at the start are nobody's, whatever comes behind. */
	make_file(4 * MIB, 65536, "x", 1);
	dev = open_it();
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	device_close(dev);

	/* An empty file that is to grow. */
	make_file(0, 0, NULL, 0);
	spec.size = MIB;
	dev = open_it();
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	device_close(dev);
	spec.size = 0;
}

static void test_foreign_file_system(void **state)
{
	char cmd[200];

	(void)state;
	make_file(8 * MIB, 0, NULL, 0);
	snprintf(cmd, sizeof(cmd), "PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q %s 2>/dev/null", path);
	if (system(cmd))
		skip();
	foreign("ext4 file system");
}

static void test_same_device(void **state)
{
	struct device *a, *b;

	(void)state;
	make_file(MIB, 0, NULL, 0);
	assert_true(device_names_same(path, path));
	assert_int_equal(symlink("cache", other), 0);
	assert_true(device_names_same(path, other));
	assert_int_equal(unlink(other), 0);
	assert_int_equal(link(path, other), 0);
	assert_true(device_names_same(path, other));
	assert_int_equal(unlink(other), 0);
	assert_false(device_names_same(path, other)); /* one exists, the other does not */
	assert_int_equal(unlink(path), 0);
	assert_false(device_names_same(path, other));
	snprintf(other, sizeof(other), "%s/../%s/cache", folder, folder + 5); /* behind "/tmp/" */
	assert_true(device_names_same(path, other));
	snprintf(other, sizeof(other), "%s/other", folder);
	assert_false(device_names_same("@memory", "@memory"));
	assert_false(device_names_same("@intel-p4600-1.6tb", "@intel-p4600-1.6tb"));

	spec.size = MIB;
	a = open_it();
	b = open_it(); /* neither exists yet, so no lock tells */
	assert_true(device_same(a, b));
	device_close(b);
	spec.name = other;
	b = open_it();
	assert_false(device_same(a, b));
	assert_int_equal(device_prepare(a, &why), 0);
	assert_int_equal(device_prepare(b, &why), 0);
	assert_false(device_same(a, b));
	assert_true(device_same(a, a));
	device_close(a);
	device_close(b);
	spec.name = "@memory";
	a = open_it();
	b = open_it();
	assert_false(device_same(a, b));
	assert_true(device_same(a, a));
	device_close(a);
	device_close(b);
}

/* The second of two openings of a file that neither found is told, and breaks nothing. */
static void test_made_by_two(void **state)
{
	struct device *a, *b;

	(void)state;
	spec.size = MIB;
	a = open_it();
	b = open_it();
	assert_int_equal(device_prepare(a, &why), 0);
	assert_int_equal(device_prepare(b, &why), -EEXIST);
	assert_non_null(strstr(why.text, path));
	device_close(b);
	assert_int_equal(access(path, F_OK), 0);
	device_close(a);
}

static void test_mount_table(void **state)
{
	static const char table[] =
		"22 28 0:20 / /sys rw,nosuid - sysfs sysfs rw\n"
		"28 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw\n"
		"30 28 8:17 /sub /mnt/with\\040blank\\134s rw - xfs /dev/sdb1 rw\n"
		"broken line\n"
		"\n"
		"31 28 0:45 / /data rw shared:3 - btrfs /dev/null rw,space_cache\n";
	dev_t set[2] = {makedev(8, 99), makedev(8, 17)};
	char where[64] = "";
	size_t which = 9;
	FILE *f;

	(void)state;
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(table, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_true(safety_find_mount(path, set, 2, &which, where, sizeof(where)));
	assert_int_equal(which, 1);
	assert_string_equal(where, "/mnt/with blank\\s");
	assert_false(safety_find_mount(path, set, 1, &which, where, sizeof(where)));
	set[0] = makedev(8, 1);
	assert_true(safety_find_mount(path, set, 1, &which, where, sizeof(where)));
	assert_string_equal(where, "/");
	/* A source that is not a block device is nobody's. */
	set[0] = makedev(1, 3);
	assert_false(safety_find_mount(path, set, 1, &which, where, sizeof(where)));
	assert_false(safety_find_mount("/no/such/table", set, 1, &which, where, sizeof(where)));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_what_is_no_device), T(test_sizes_that_cannot_be),
		T(test_no_permission),     T(test_locked_by_another_process),
		T(test_foreign_content),   T(test_foreign_file_system),
		T(test_same_device),       T(test_made_by_two),
		T(test_mount_table),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
