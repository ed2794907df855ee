/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a device hold something that is not a disk group's? Signatures by libblkid, then any data at
 * all in the first 64 KiB. Reads only, through a descriptor of its own: libblkid's buffers are not
 * aligned.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "real_device.h"

#define FIRST_BYTES (64u << 10)

/* Name in words what the probe found. */
static void describe(blkid_probe probe, char *what, size_t len)
{
	const char *type = NULL, *usage = NULL;

	if (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL)) {
		if (blkid_probe_lookup_value(probe, "USAGE", &usage, NULL))
			usage = "";
		if (!strcmp(usage, "filesystem"))
			usage = "file system";
		else if (!strcmp(usage, "raid"))
			usage = "RAID or volume group member";
		else if (!strcmp(usage, "crypto"))
			usage = "encrypted volume";
		else
			usage = "signature";
		snprintf(what, len, "%s %s", type, usage);
	} else if (!blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL)) {
		if (!strcmp(type, "gpt"))
			type = "GPT";
		else if (!strcmp(type, "dos"))
			type = "MBR (DOS)";
		snprintf(what, len, "%s partition table", type);
	} else {
		snprintf(what, len, "signature that libblkid knows");
	}
}

/* 1: found, and @what says it; 0: nothing; negative errno. */
static int probe_signatures(int fd, uint64_t size, char *what, size_t len)
{
	blkid_probe probe = blkid_new_probe();
	int ret;

	if (!probe)
		return -ENOMEM;
	if (blkid_probe_set_device(probe, fd, 0, (blkid_loff_t)size)) {
		ret = -EIO;
		goto out;
	}
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_enable_topology(probe, 0);
	ret = blkid_do_safeprobe(probe);
	if (ret == 0) {
		describe(probe, what, len);
		ret = 1;
	} else if (ret == 1) {
		ret = 0;
	} else if (ret == -2) { /* several that contradict each other */
		snprintf(what, len, "mix of several signatures");
		ret = 1;
	} else {
		ret = -EIO;
	}
out:
	blkid_free_probe(probe);
	return ret;
}

/* 1: something but zeros; 0; negative errno. */
static int probe_data(int fd)
{
	uint8_t buf[4096];

	for (unsigned int at = 0; at < FIRST_BYTES; at += sizeof(buf)) {
		ssize_t n = pread(fd, buf, sizeof(buf), at);

		if (n < 0)
			return -errno;
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i])
				return 1;
		}
	}
	return 0;
}

int device_probe_foreign(struct device *dev, const struct dev_spec *spec, struct report *r)
{
	const struct real_device *rd = (const struct real_device *)dev;
	char path[64], what[160] = "data";
	int fd, ret;

	if (dev->kind != DEV_KIND_BLOCK && dev->kind != DEV_KIND_FILE)
		return 0;
	/* A file of no length has no content, and libblkid refuses to look. */
	if (spec->allow_overwrite || rd->fd < 0 || !rd->present)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", rd->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return report(r, -errno, "%s: cannot look at what %s holds: %s", spec->option,
			      dev->name, strerror(errno));
	/* The whole device, even if only a part is to be used: some signatures are at the end. */
	ret = probe_signatures(fd, 0, what, sizeof(what));
	if (!ret)
		ret = probe_data(fd);
	close(fd);
	if (ret < 0)
		return report(r, ret, "%s: cannot read what %s holds: %s", spec->option, dev->name,
			      strerror(-ret));
	if (ret)
		return report(r, -EEXIST,
			      "%s: %s holds something else (%s), which would be lost: name another "
			      "device, or say allow_overwrite=1",
			      spec->option, dev->name, what);
	return 0;
}
