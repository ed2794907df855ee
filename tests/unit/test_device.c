/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory devices and files: what is written is what is read, by the queue and by the synchronous
 * helpers; files are made, grown and undone as promised. Files in a temporary folder; block devices
 * are tested by tests/e2e/loop_device.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/device/ioq_impl.h"
#include "engine/device/memory.h"
#include "engine/device/real_device.h"

#define MIB (1ull << 20)

static char folder[64], path[96];
static const struct vclock wall;
static struct report why;
static struct dev_spec spec;

struct test_req {
	struct dev_req req;
	unsigned int calls;
	int res;
};

static void on_done(struct dev_req *req, int res)
{
	struct test_req *t = (struct test_req *)req;

	t->calls++;
	t->res = res;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/vsan-test-device.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/cache", folder);
	memset(&why, 0, sizeof(why));
	spec = (struct dev_spec){
		.name = path, .option = "cache_device", .size = 4 * MIB, .is_cache = true};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder); /* fails if a test left anything else */
}

static struct device *open_it(void)
{
	struct device *dev = NULL;

	if (device_open(&dev, &spec, &wall, &why))
		fail_msg("device_open: %s", why.text);
	return dev;
}

static void prepare_it(struct device *dev)
{
	if (device_prepare(dev, &why))
		fail_msg("device_prepare: %s", why.text);
}

static void *aligned(size_t len)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, len), 0);
	memset(p, 0, len);
	return p;
}

static void fill(uint8_t *buf, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		buf[i] = (uint8_t)(seed >> 24);
	}
}

static uint64_t file_size(const char *name)
{
	struct stat st;

	return stat(name, &st) ? UINT64_MAX : (uint64_t)st.st_size;
}

static uint64_t file_bytes_on_disk(const char *name)
{
	struct stat st;

	return stat(name, &st) ? UINT64_MAX : (uint64_t)st.st_blocks * 512;
}

static void run(struct ioq *q)
{
	while (ioq_in_flight(q)) {
		ioq_wait(q, TIME_NEVER);
		ioq_poll(q);
	}
}

/* More requests than the ring has room for, of many sizes; then the same by the helpers. */
static void exercise(struct device *dev)
{
	enum { N = 64 };
	struct test_req reqs[N];
	uint8_t *data = aligned(4 * MIB), *back = aligned(4 * MIB);
	struct test_req flush = {.req = {.dev = dev, .op = DEV_FLUSH, .done = on_done}};
	uint64_t bytes = 0, offset = 0;
	struct ioq *q;
	int ret;

	fill(data, 4 * MIB, 1);
	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), 0);
	for (int op = DEV_WRITE; op >= DEV_READ; op--) {
		uint8_t *buf = op == DEV_WRITE ? data : back;

		memset(reqs, 0, sizeof(reqs));
		offset = 0;
		for (unsigned int i = 0; i < N; i++) {
			uint32_t len = 4096 * (1 + i % 7);

			reqs[i].req = (struct dev_req){
				.dev = dev,
				.op = (uint8_t)op,
				.flags = op == DEV_WRITE && i % 3 == 0 ? DEV_FUA : 0,
				.buf = buf + offset,
				.offset = offset,
				.len = len,
				.done = on_done};
			reqs[i].res = 1;
			offset += len;
			ret = ioq_submit(q, &reqs[i].req);
			assert_true(ret >= 0);
			if (ret) { /* done already */
				reqs[i].calls = 1;
				reqs[i].res = 0;
			}
		}
		bytes = offset;
		run(q);
		for (unsigned int i = 0; i < N; i++) {
			assert_int_equal(reqs[i].calls, 1);
			assert_int_equal(reqs[i].res, 0);
		}
		if (op == DEV_WRITE) {
			ret = ioq_submit(q, &flush.req);
			assert_true(ret >= 0);
			run(q);
			assert_true(ret == 1 || (flush.calls == 1 && flush.res == 0));
		}
	}
	assert_memory_equal(data, back, bytes);
	ioq_destroy(q);
	assert_int_equal(dev->stats.ios[DEV_WRITE], N);
	assert_int_equal(dev->stats.ios[DEV_READ], N);
	assert_int_equal(dev->stats.ios[DEV_FLUSH], 1);
	assert_int_equal(dev->stats.bytes[DEV_WRITE], bytes);
	assert_int_equal(dev->stats.bytes[DEV_READ], bytes);
	assert_int_equal(dev->stats.errors, 0);

	/* The helpers take any buffer. */
	memset(back, 0, 4 * MIB);
	assert_int_equal(device_read_sync(dev, back + 1, bytes, 0), 0);
	assert_memory_equal(data, back + 1, bytes);
	assert_int_equal(device_write_sync(dev, data + 3, 12288, 8192), 0);
	assert_int_equal(device_flush_sync(dev), 0);
	assert_int_equal(device_read_sync(dev, back, 16384, 4096), 0);
	assert_memory_equal(back, data + 4096, 4096);
	assert_memory_equal(back + 4096, data + 3, 12288);
	free(data);
	free(back);
}

static void out_of_range(struct device *dev)
{
	uint8_t *buf = aligned(8192);
	struct test_req t = {.req = {.dev = dev,
				     .op = DEV_READ,
				     .buf = buf,
				     .len = 8192,
				     .offset = dev->size - 4096,
				     .done = on_done}};
	uint64_t size_before = file_size(path);
	struct ioq *q;

	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), 0);
	assert_int_equal(ioq_submit(q, &t.req), -EIO);
	t.req.op = DEV_WRITE;
	assert_int_equal(ioq_submit(q, &t.req), -EIO);
	t.req.offset = UINT64_MAX - 4095; /* offset + len wraps to something small */
	assert_int_equal(ioq_submit(q, &t.req), -EIO);
	assert_int_equal(ioq_in_flight(q), 0);
	assert_int_equal(t.calls, 0);
	assert_true(dev->stats.errors >= 3);
	ioq_destroy(q);
	assert_int_equal(device_read_sync(dev, buf, 8192, dev->size - 4096), -EIO);
	assert_int_equal(device_write_sync(dev, buf, 4096, dev->size), -EIO);
	assert_true(file_size(path) == size_before);
	free(buf);
}

static void test_memory(void **state)
{
	struct device *dev;

	(void)state;
	spec.name = "@memory";
	spec.size = 4 * MIB + 5000;
	dev = open_it();
	assert_int_equal(dev->kind, DEV_KIND_MEMORY);
	assert_int_equal(dev->size, 4 * MIB + 4096);
	assert_int_equal(dev->block_size, 512);
	assert_int_equal(dev->mem_align, 1);
	assert_true(dev->stores_data);
	assert_false(dev->persistent);
	assert_false(dev->has_timing);
	assert_int_equal(device_prepare_bytes(dev), 0);
	assert_int_equal(device_prepare(dev, &why), 0);
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	exercise(dev);
	out_of_range(dev);
	device_close(dev);
	device_close(NULL);
}

static void test_memory_needs_a_size(void **state)
{
	struct device *dev;

	(void)state;
	spec.name = "@memory";
	spec.size = 0;
	assert_int_equal(device_open(&dev, &spec, &wall, &why), -EINVAL);
	assert_non_null(strstr(why.text, "cache_size"));
}

static void test_memory_that_stores_nothing(void **state)
{
	struct device *dev;
	uint8_t buf[4096];

	(void)state;
	assert_int_equal(memory_device_create(&dev, 1ull << 50, false), 0);
	assert_false(dev->stores_data);
	memset(buf, 7, sizeof(buf));
	assert_int_equal(device_write_sync(dev, buf, sizeof(buf), 1ull << 49), 0);
	assert_int_equal(device_read_sync(dev, buf, sizeof(buf), 0), 0);
	assert_int_equal(buf[0], 7); /* the buffer stays as it was */
	device_close(dev);
	assert_int_equal(memory_device_create(&dev, 100, true), -EINVAL);
}

static void test_file_is_made_by_prepare_only(void **state)
{
	struct device *dev = open_it();
	uint8_t *buf = aligned(4096);
	struct ioq *q;

	(void)state;
	assert_true(file_size(path) == UINT64_MAX);
	assert_true(dev->created);
	assert_true(dev->persistent);
	assert_int_equal(dev->kind, DEV_KIND_FILE);
	assert_int_equal(dev->size, 4 * MIB);
	assert_true(dev->block_size == 512 || dev->block_size == 4096);
	assert_int_equal(device_prepare_bytes(dev), 4 * MIB);
	memset(buf, 1, 4096);
	assert_int_equal(device_read_sync(dev, buf, 4096, 8192), 0);
	assert_int_equal(buf[0], 0);
	assert_int_equal(buf[4095], 0);
	assert_int_equal(device_write_sync(dev, buf, 4096, 0), -EBADF);
	assert_int_equal(device_probe_foreign(dev, &spec, &why), 0);
	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), -EBADF);
	ioq_destroy(q);
	device_close(dev); /* never prepared: no trace */
	assert_true(file_size(path) == UINT64_MAX);

	dev = open_it();
	prepare_it(dev);
	assert_int_equal(device_prepare_bytes(dev), 0);
	assert_int_equal(file_size(path), 4 * MIB);
	assert_true(file_bytes_on_disk(path) >= 4 * MIB);
	exercise(dev);
	out_of_range(dev);
	device_close(dev);

	/* What was written is there for the next run, which needs no size. */
	spec.size = 0;
	dev = open_it();
	assert_false(dev->created);
	assert_int_equal(dev->size, 4 * MIB);
	assert_int_equal(device_prepare_bytes(dev), 0);
	prepare_it(dev);
	assert_int_equal(device_read_sync(dev, buf, 4096, 0), 0);
	{
		uint8_t *data = aligned(4096);

		fill(data, 4096, 1);
		assert_memory_equal(buf, data, 4096);
		free(data);
	}
	device_close(dev);
	free(buf);
}

static void test_ways_to_prepare(void **state)
{
	static const enum file_prepare ways[] = {FILE_PREPARE_FULL, FILE_PREPARE_ALLOCATE,
						 FILE_PREPARE_SPARSE};

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct device *dev;
		uint8_t *buf = aligned(4096);

		spec.prepare = ways[i];
		spec.size = 70 * MIB; /* more than one step of filling */
		dev = open_it();
		assert_int_equal(device_prepare_bytes(dev), i ? 0 : 70 * MIB);
		prepare_it(dev);
		assert_int_equal(file_size(path), 70 * MIB);
		if (ways[i] == FILE_PREPARE_SPARSE)
			assert_true(file_bytes_on_disk(path) < MIB);
		else
			assert_true(file_bytes_on_disk(path) >= 70 * MIB);
		memset(buf, 1, 4096);
		assert_int_equal(device_read_sync(dev, buf, 4096, 70 * MIB - 4096), 0);
		assert_int_equal(buf[17], 0);
		device_close(dev);
		assert_int_equal(unlink(path), 0);
		free(buf);
	}
	/* Capacity files are allocated, not filled, unless the user says otherwise. */
	spec.prepare = FILE_PREPARE_DEFAULT;
	spec.is_cache = false;
	{
		struct device *dev = open_it();

		assert_int_equal(device_prepare_bytes(dev), 0);
		device_close(dev);
	}
}

/* The extents of a full file are written ones: that is what makes it fast and durable. */
static void test_full_means_written(void **state)
{
	char cmd[256], out[4096];
	struct device *dev;
	size_t n;
	FILE *f;

	(void)state;
	if (system("command -v filefrag >/dev/null"))
		skip();
	spec.size = 70 * MIB;
	dev = open_it();
	prepare_it(dev);
	device_close(dev);
	snprintf(cmd, sizeof(cmd), "filefrag -v %s 2>&1", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = '\0';
	if (pclose(f))
		skip(); /* no extent map on this file system */
	assert_null(strstr(out, "unwritten"));
}

static void write_file(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void test_smaller_file_grows_and_keeps_its_data(void **state)
{
	static uint8_t data[MIB + 777];
	uint8_t *back = aligned(2 * MIB);

	(void)state;
	fill(data, sizeof(data), 5);
	for (enum file_prepare way = FILE_PREPARE_FULL; way <= FILE_PREPARE_SPARSE; way++) {
		struct device *dev;

		write_file(path, data, sizeof(data));
		spec.prepare = way;
		dev = open_it();
		assert_false(dev->created);
		assert_int_equal(dev->size, 4 * MIB);
		assert_int_equal(file_size(path), sizeof(data)); /* opening changed nothing */
		memset(back, 1, 2 * MIB);
		assert_int_equal(device_read_sync(dev, back, 2 * MIB, 0), 0);
		assert_memory_equal(back, data, sizeof(data));
		assert_int_equal(back[sizeof(data)], 0);
		prepare_it(dev);
		assert_int_equal(file_size(path), 4 * MIB);
		memset(back, 1, 2 * MIB);
		assert_int_equal(device_read_sync(dev, back, 2 * MIB, 0), 0);
		assert_memory_equal(back, data, sizeof(data));
		for (size_t i = sizeof(data); i < 2 * MIB; i++)
			assert_int_equal(back[i], 0);
		device_close(dev);
	}
	free(back);
}

static void test_larger_file_is_refused(void **state)
{
	static const uint8_t data[2 * MIB];
	struct device *dev;

	(void)state;
	write_file(path, data, sizeof(data));
	spec.size = MIB;
	assert_int_equal(device_open(&dev, &spec, &wall, &why), -EINVAL);
	assert_non_null(strstr(why.text, "2097152"));
	assert_non_null(strstr(why.text, "1048576"));
	assert_non_null(strstr(why.text, "cache_size"));
	assert_int_equal(file_size(path), 2 * MIB);
}

/* An error in the middle of preparing: RLIMIT_FSIZE stands for the full disk. */
static void test_failed_prepare_leaves_no_trace(void **state)
{
	static const uint8_t data[MIB];
	struct rlimit old, low = {.rlim_cur = 2 * MIB};
	struct device *dev;
	int ret;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low.rlim_max = old.rlim_max;

	dev = open_it();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	ret = device_prepare(dev, &why);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(ret, -EFBIG);
	assert_non_null(strstr(why.text, path));
	device_close(dev);
	assert_true(file_size(path) == UINT64_MAX);

	/* Growing fails after a part of the way: the file gets its old size back. */
	write_file(path, data, sizeof(data));
	memset(&why, 0, sizeof(why));
	spec.size = 200 * MIB;
	low.rlim_cur = 80 * MIB;
	dev = open_it();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	ret = device_prepare(dev, &why);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(ret, -EFBIG);
	device_close(dev);
	assert_int_equal(file_size(path), MIB);
}

static unsigned int asked;

static bool stop_soon(void *arg)
{
	assert_ptr_equal(arg, &asked);
	return ++asked == 3;
}

static void test_filling_can_be_stopped(void **state)
{
	struct device *dev;

	(void)state;
	asked = 0;
	spec.size = 70 * MIB;
	spec.stop = stop_soon;
	spec.stop_arg = &asked;
	dev = open_it();
	assert_int_equal(device_prepare(dev, &why), -ECANCELED);
	assert_int_equal(asked, 3);
	assert_non_null(strstr(why.text, path));
	assert_true(file_size(path) == UINT64_MAX);
	device_close(dev);
}

static void test_no_room_is_noticed_before(void **state)
{
	struct device *dev;

	(void)state;
	spec.size = 1ull << 55;
	assert_int_equal(device_open(&dev, &spec, &wall, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "36028797018963968"));
	assert_non_null(strstr(why.text, "free"));
	assert_true(file_size(path) == UINT64_MAX);
}

static void test_file_without_direct_io(void **state)
{
	char shm[] = "/dev/shm/vsan-test-device.XXXXXX", name[64];
	struct device *dev;

	(void)state;
	if (!mkdtemp(shm))
		skip();
	snprintf(name, sizeof(name), "%s/file", shm);
	spec.name = name;
	dev = open_it();
	assert_int_equal(dev->block_size, 512);
	assert_int_equal(dev->mem_align, 1);
	prepare_it(dev);
	exercise(dev);
	device_close(dev);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(shm), 0);
}

/* The file shrinks under us: a read past its end is an error and not a hang or old bytes. */
static void test_read_past_the_end_of_a_shrunk_file(void **state)
{
	uint8_t *buf = aligned(65536);
	struct test_req t = {0};
	struct device *dev;
	struct ioq *q;

	(void)state;
	dev = open_it();
	prepare_it(dev);
	assert_int_equal(truncate(path, MIB + 4096), 0);
	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), 0);
	t.req = (struct dev_req){.dev = dev,
				 .op = DEV_READ,
				 .buf = buf,
				 .len = 65536,
				 .offset = MIB,
				 .done = on_done};
	assert_int_equal(ioq_submit(q, &t.req), 0);
	run(q);
	assert_int_equal(t.calls, 1);
	assert_int_equal(t.res, -EIO);
	ioq_destroy(q);
	assert_int_equal(dev->stats.errors, 1);
	assert_int_equal(device_read_sync(dev, buf, 4096, 2 * MIB), -EIO);
	device_close(dev);
	free(buf);
}

/* An error of the kernel comes out as it is, at the request. */
static void test_device_error_is_an_errno(void **state)
{
	struct test_req t = {0};
	struct device *dev;
	struct ioq *q;

	(void)state;
	dev = open_it();
	prepare_it(dev);
	assert_int_equal(ioq_create(&q, &wall, 4, false), 0);
	assert_int_equal(ioq_attach(q, dev), 0);
	t.req = (struct dev_req){.dev = dev,
				 .op = DEV_WRITE,
				 .buf = (void *)4096, /* nothing is mapped there */
				 .len = 4096,
				 .done = on_done};
	assert_int_equal(ioq_submit(q, &t.req), 0);
	run(q);
	assert_int_equal(t.res, -EFAULT);
	assert_int_equal(t.calls, 1);
	ioq_destroy(q);
	assert_int_equal(dev->stats.errors, 1);
	assert_int_equal(dev->stats.ios[DEV_WRITE], 0);
	device_close(dev);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_memory),
		T(test_memory_needs_a_size),
		T(test_memory_that_stores_nothing),
		T(test_file_is_made_by_prepare_only),
		T(test_ways_to_prepare),
		T(test_full_means_written),
		T(test_smaller_file_grows_and_keeps_its_data),
		T(test_larger_file_is_refused),
		T(test_failed_prepare_leaves_no_trace),
		T(test_filling_can_be_stopped),
		T(test_no_room_is_noticed_before),
		T(test_file_without_direct_io),
		T(test_read_past_the_end_of_a_shrunk_file),
		T(test_device_error_is_an_errno),
	};

	alarm(240); /* a lost completion must not hang the build */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
