/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices: I/O on them, and what must be refused. Root only, on loop devices that the test
 * makes from its own file; skipped (exit code 77) where that cannot be had.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/device.h"
#include "engine/device/ioq.h"
#include "engine/device/safety.h"

#define MIB   (1ull << 20)
#define BYTES (32 * MIB)

static char folder[64], file[96], mount_point[96], loop[32];
static int loop_fd = -1;
static const struct vclock wall;
static struct report why;
static struct dev_spec spec;

/*
 * Make @name a loop device on @backing; the open device, or -1. It goes when it is closed, so a
 * test that fails leaves none behind.
 */
static int loop_make(const char *backing, uint32_t block_size, unsigned int flags, char *name,
		     size_t len)
{
	struct loop_config config = {.block_size = block_size,
				     .info.lo_flags = flags | LO_FLAGS_AUTOCLEAR};
	int control, nr, fd = -1, back;

	back = open(backing, O_RDWR | O_CLOEXEC);
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	/* Somebody else may take the free one first. */
	for (int tries = 0; fd < 0 && tries < 10 && control >= 0 && back >= 0; tries++) {
		nr = ioctl(control, LOOP_CTL_GET_FREE);
		if (nr < 0)
			break;
		snprintf(name, len, "/dev/loop%d", nr);
		fd = open(name, O_RDWR | O_CLOEXEC);
		config.fd = (uint32_t)back;
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config)) {
			close(fd);
			fd = -1;
		}
	}
	if (back >= 0)
		close(back);
	if (control >= 0)
		close(control);
	return fd;
}

static void loop_drop(int *fd)
{
	if (*fd < 0)
		return;
	ioctl(*fd, LOOP_CLR_FD);
	close(*fd);
	*fd = -1;
}

static int tear_down(void **state)
{
	(void)state;
	umount2(mount_point, MNT_DETACH);
	swapoff(loop);
	loop_drop(&loop_fd);
	unlink(file);
	rmdir(mount_point);
	return rmdir(folder);
}

static int set_up_loop(uint32_t block_size, unsigned int flags)
{
	int fd;

	snprintf(folder, sizeof(folder), "/tmp/vsan-test-block.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/disk", folder);
	snprintf(mount_point, sizeof(mount_point), "%s/mnt", folder);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, BYTES), 0);
	close(fd);
	memset(&why, 0, sizeof(why));
	spec = (struct dev_spec){.name = loop, .option = "cache_device", .is_cache = true};
	loop_fd = loop_make(file, block_size, flags, loop, sizeof(loop));
	return loop_fd < 0 ? -1 : 0;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_loop(512, 0);
}

static int set_up_4k(void **state)
{
	(void)state;
	return set_up_loop(4096, 0);
}

static int set_up_partitions(void **state)
{
	(void)state;
	return set_up_loop(512, LO_FLAGS_PARTSCAN);
}

static struct device *open_it(void)
{
	struct device *dev = NULL;

	if (device_open(&dev, &spec, &wall, &why))
		fail_msg("device_open: %s", why.text);
	return dev;
}

static void refused(int err, const char *hint)
{
	struct device *dev = NULL;

	assert_int_equal(device_open(&dev, &spec, &wall, &why), err);
	assert_non_null(strstr(why.text, "cache_device: "));
	assert_non_null(strstr(why.text, spec.name));
	if (!strstr(why.text, hint))
		fail_msg("'%s' is not in: %s", hint, why.text);
	memset(&why, 0, sizeof(why));
}

static int results[16];

static void on_done(struct dev_req *req, int res)
{
	results[req->offset / 65536] = res;
}

/* How often the drive was told to flush its cache. */
static unsigned long flushes(void)
{
	unsigned long n = 0;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/sys/block/%s/stat", loop + 5);
	f = fopen(name, "re");
	assert_non_null(f);
	for (int i = 0; i < 16; i++) /* the sixteenth figure */
		assert_int_equal(fscanf(f, "%lu", &n), 1);
	fclose(f);
	return n;
}

/* Writes by the queue, half of them forced to the medium; reads by the other way. */
static void exercise(struct device *dev)
{
	enum { N = 16 };
	struct dev_req reqs[N], flush = {.dev = dev, .op = DEV_FLUSH, .done = on_done};
	uint8_t *data = NULL, *back = NULL;
	unsigned long before[3];
	struct ioq *q;

	assert_int_equal(posix_memalign((void **)&data, 4096, MIB), 0);
	assert_int_equal(posix_memalign((void **)&back, 4096, MIB), 0);
	for (unsigned int i = 0; i < MIB; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 24);
	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), 0);
	before[0] = flushes();
	for (unsigned int i = 0; i < N; i++) {
		results[i] = 1;
		reqs[i] = (struct dev_req){.dev = dev,
					   .op = DEV_WRITE,
					   .flags = i % 2 ? DEV_FUA : 0,
					   .buf = data + 65536 * i,
					   .offset = 65536 * i,
					   .len = 65536,
					   .done = on_done};
		assert_int_equal(ioq_submit(q, &reqs[i]), 0);
	}
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(results[i], 0);
	before[1] = flushes();
	assert_true(before[1] >
		    before[0]); /* a loop device knows no FUA: the kernel flushes instead */
	results[0] = 1;
	assert_int_equal(ioq_submit(q, &flush), 0);
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
	assert_int_equal(results[0], 0);
	before[2] = flushes();
	assert_true(before[2] > before[1]);
	reqs[0].offset = dev->size;
	assert_int_equal(ioq_submit(q, &reqs[0]), -EIO);
	ioq_destroy(q);
	assert_int_equal(device_read_sync(dev, back, MIB, 0), 0);
	assert_memory_equal(data, back, MIB);
	free(data);
	free(back);
}

static void test_io(void **state)
{
	uint32_t unit = 0;
	struct device *dev;

	(void)state;
	assert_int_equal(ioctl(loop_fd, BLKSSZGET, &unit), 0);
	dev = open_it();
	assert_int_equal(dev->kind, DEV_KIND_BLOCK);
	assert_int_equal(dev->block_size, unit);
	assert_int_equal(dev->size, BYTES);
	assert_true(dev->mem_align > 0 && dev->mem_align <= 4096);
	assert_true(dev->persistent);
	assert_false(dev->created);
	assert_int_equal(device_prepare_bytes(dev), 0);
	assert_int_equal(device_prepare(dev, &why), 0);
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0); /* zeros */
	exercise(dev);
	assert_int_equal(device_probe_foreign(dev, &spec, &why), -EEXIST);
	device_close(dev);
	/* A part of it; more than it has. */
	memset(&why, 0, sizeof(why));
	spec.size = 8 * MIB;
	dev = open_it();
	assert_int_equal(dev->size, 8 * MIB);
	exercise(dev);
	device_close(dev);
	spec.size = BYTES + 4096;
	refused(-EINVAL, "cache_size");
}

static void test_in_use(void **state)
{
	struct device *dev;
	char second[32];
	int fd;

	(void)state;
	dev = open_it();
	refused(-EBUSY, "in use");
	device_close(dev);
	/* The file that a loop device stands on, and a loop device under another one. */
	spec.name = file;
	refused(-EBUSY, loop);
	spec.name = loop;
	fd = loop_make(loop, 512, 0, second, sizeof(second));
	assert_true(fd >= 0);
	refused(-EBUSY, second);
	loop_drop(&fd);
	device_close(open_it());
	/* Read-only. */
	assert_int_equal(ioctl(loop_fd, BLKROSET, &(int){1}), 0);
	memset(&why, 0, sizeof(why));
	refused(-EROFS, "read-only");
	assert_int_equal(ioctl(loop_fd, BLKROSET, &(int){0}), 0);
}

static bool make_ext4(const char *dev)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q -F %s 2>/dev/null",
		 dev);
	return !system(cmd);
}

static void test_mounted(void **state)
{
	char inside[120], filler[120];
	struct device *dev;
	int fd;

	(void)state;
	if (!make_ext4(loop) || mount(loop, mount_point, "ext4", 0, NULL))
		skip();
	refused(-EBUSY, mount_point);
	/* A file on it is none of that, until it is mounted read-only. */
	snprintf(inside, sizeof(inside), "%s/cache", mount_point);
	snprintf(filler, sizeof(filler), "%s/filler", mount_point);
	spec.name = inside;
	spec.size = MIB;
	dev = open_it();
	assert_int_equal(device_prepare(dev, &why), 0);
	device_close(dev);
	spec.size = BYTES;
	spec.name = inside;
	assert_int_equal(unlink(inside), 0);
	refused(-ENOSPC, "free");
	/* The room goes between opening and making the file. */
	spec.size = 16 * MIB;
	dev = open_it();
	fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, 12 * MIB), 0);
	close(fd);
	assert_int_equal(device_prepare(dev, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "16777216"));
	assert_non_null(strstr(why.text, "free"));
	assert_int_equal(access(inside, F_OK), -1);
	device_close(dev);
	memset(&why, 0, sizeof(why));
	assert_int_equal(mount(loop, mount_point, "ext4", MS_REMOUNT | MS_RDONLY, NULL), 0);
	spec.size = MIB;
	refused(-EROFS, "read-only");
	assert_int_equal(umount(mount_point), 0);
	spec.name = loop;
	spec.size = 0;
	dev = open_it();
	assert_int_equal(device_probe_foreign(dev, &spec, &why), -EEXIST);
	assert_non_null(strstr(why.text, "ext4 file system"));
	device_close(dev);
}

static void test_swap(void **state)
{
	char cmd[160];

	(void)state;
	snprintf(cmd, sizeof(cmd),
		 "PATH=$PATH:/sbin:/usr/sbin; mkswap %s >/dev/null 2>&1 && swapon %s 2>/dev/null",
		 loop, loop);
	if (system(cmd))
		skip();
	refused(-EBUSY, "swap");
	assert_int_equal(swapoff(loop), 0);
}

static void test_partitions(void **state)
{
	/* One partition of 16 MiB from 1 MiB on. */
	static const uint8_t mbr[66] = {
		[4] = 0x83, [8] = 0, [9] = 8, [13] = 0x80, [64] = 0x55, [65] = 0xaa};
	struct blkpg_partition range = {.start = MIB, .length = 16 * MIB, .pno = 1};
	struct blkpg_ioctl_arg add = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(range), .data = &range};
	char part[40];
	struct device *dev, *whole = NULL;

	(void)state;
	assert_int_equal(pwrite(loop_fd, mbr, sizeof(mbr), 446), sizeof(mbr));
	assert_int_equal(fsync(loop_fd), 0);
	snprintf(part, sizeof(part), "%sp1", loop);
	/* Not by BLKRRPART: a kernel may be built without reading partition tables. */
	ioctl(loop_fd, BLKPG, &add);
	for (int i = 0; i < 100 && access(part, F_OK); i++)
		usleep(20000);
	if (access(part, F_OK))
		skip();

	/* Unmounted, each can be had, but not both at a time. */
	spec.name = part;
	dev = open_it();
	assert_int_equal(dev->size, 16 * MIB);
	spec.name = loop;
	refused(-EBUSY, "in use");
	device_close(dev);
	assert_int_equal(device_open(&whole, &spec, &wall, &why), 0);
	assert_int_equal(device_probe_foreign(whole, &spec, &why), -EEXIST);
	assert_non_null(strstr(why.text, "partition table"));
	memset(&why, 0, sizeof(why));
	device_close(whole);

	/* The disk of a mounted partition. */
	if (!make_ext4(part) || mount(part, mount_point, "ext4", 0, NULL))
		skip();
	refused(-EBUSY, mount_point);
	memset(&why, 0, sizeof(why));
	refused(-EBUSY, part);
	spec.name = part;
	refused(-EBUSY, mount_point);
	assert_int_equal(umount(mount_point), 0);
}

int main(void)
{
#define T(name, before) cmocka_unit_test_setup_teardown(name, before, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_io, set_up),
		T(test_in_use, set_up),
		T(test_mounted, set_up),
		T(test_swap, set_up),
		T(test_partitions, set_up_partitions),
		{"test_io_4k", test_io, set_up_4k, tear_down, NULL},
	};

	if (geteuid() || access("/dev/loop-control", R_OK | W_OK)) {
		fprintf(stderr, "skipped: block devices need root and loop devices\n");
		return 77;
	}
	alarm(240);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
