/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's job options as fio's parser wants them: names, types, defaults, and the help that becomes
 * docs/options.md. A part of fio_engine.c, which is the only file to include it, after fio.h; it fills
 * struct engine_options (engine_options.h).
 */
#ifndef VSAN_FIO_OPTION_TABLE_H
#define VSAN_FIO_OPTION_TABLE_H

/* At parse time fio keeps the job in the first member: make it a thread before anything is forked.
 */
static int cache_device_cb(void *data, const char *str)
{
	struct engine_options *e = data;
	struct thread_data *td = e->pad;

	(void)str;
	if (td)
		td->o.use_thread = 1;
	return 0;
}

#define VSAN_OPTION(member)                                                            \
	.off1 = offsetof(struct engine_options, member), .category = FIO_OPT_C_ENGINE, \
	.group = FIO_OPT_G_INVALID

#define CONDITION_VALUES                                                                    \
	{                                                                                   \
		{.ival = "steady", .oval = 0, .help = "preconditioned, as after long use"}, \
			{.ival = "fresh", .oval = 1, .help = "erased, SLC cache empty"},    \
	}

static struct fio_option options[] = {
	{
		.name = "cache_device",
		.lname = "Cache device",
		.type = FIO_OPT_STR_STORE,
		.cb = cache_device_cb,
		.help = "Cache device of the disk group: block device, file, @memory or @PROFILE "
			"(no default)",
		VSAN_OPTION(cache_device),
	},
	{
		.name = "capacity_devices",
		.lname = "Capacity devices",
		.type = FIO_OPT_STR_STORE,
		.help = "1 to 7 capacity devices, ':' between them (escape a literal one as \\:), "
			"each a block "
			"device, file, @memory or @PROFILE (no default)",
		VSAN_OPTION(capacity_devices),
	},
	{
		.name = "cache_size",
		.lname = "Size of the cache device",
		.type = FIO_OPT_STR_VAL,
		.help = "Size of the cache device, bytes; needed for @memory and to create a file, "
			"shrinks a profile (default: the device's own size)",
		VSAN_OPTION(cache_size),
	},
	{
		.name = "capacity_size",
		.lname = "Size of each capacity device",
		.type = FIO_OPT_STR_VAL,
		.help = "Size of each capacity device, bytes; needed for @memory and to create "
			"files (default: the device's own size)",
		VSAN_OPTION(capacity_size),
	},
	{
		.name = "file_prepare",
		.lname = "How files are made",
		.type = FIO_OPT_STR,
		.def = "default",
		.help = "How device files that do not exist are made (default: full for the cache, "
			"allocate "
			"for capacity)",
		.posval =
			{
				{.ival = "default",
				 .oval = FILE_PREPARE_DEFAULT,
				 .help = "full and allocate"},
				{.ival = "full", .oval = FILE_PREPARE_FULL, .help = "written once"},
				{.ival = "allocate",
				 .oval = FILE_PREPARE_ALLOCATE,
				 .help = "space allocated"},
				{.ival = "sparse",
				 .oval = FILE_PREPARE_SPARSE,
				 .help = "no space taken yet"},
			},
		VSAN_OPTION(file_prepare),
	},
	{
		.name = "cache_condition",
		.lname = "Condition of a modelled cache device",
		.type = FIO_OPT_STR,
		.def = "steady",
		.help = "Condition in which a modelled cache device starts (default steady)",
		.posval = CONDITION_VALUES,
		VSAN_OPTION(cache_fresh),
	},
	{
		.name = "capacity_condition",
		.lname = "Condition of modelled capacity devices",
		.type = FIO_OPT_STR,
		.def = "steady",
		.help = "Condition in which modelled capacity devices start (default steady)",
		.posval = CONDITION_VALUES,
		VSAN_OPTION(capacity_fresh),
	},
	{
		.name = "drive_data",
		.lname = "Data of modelled drives",
		.type = FIO_OPT_STR,
		.def = "auto",
		.help = "Whether modelled drives keep the data (default: memory if a job verifies, "
			"else none)",
		.posval =
			{
				{.ival = "auto",
				 .oval = DRIVE_DATA_AUTO,
				 .help = "memory if a job verifies"},
				{.ival = "none", .oval = DRIVE_DATA_NONE, .help = "timing only"},
				{.ival = "memory",
				 .oval = DRIVE_DATA_MEMORY,
				 .help = "kept in memory"},
			},
		VSAN_OPTION(drive_data),
	},
	{
		.name = "drive_seed",
		.lname = "Seed of models and page order",
		.type = FIO_OPT_STR_VAL,
		.def = "1",
		.help = "Seed of the drive models and of the page order (default 1)",
		VSAN_OPTION(drive_seed),
	},
	{
		.name = "prefilled",
		.lname = "Volumes count as written",
		.type = FIO_OPT_STR,
		.def = "none",
		.help = "Modelled and memory devices: where the volumes' blocks lie at the start "
			"(default none)",
		.posval =
			{
				{.ival = "none",
				 .oval = DG_PREFILLED_NONE,
				 .help = "never written"},
				{.ival = "capacity",
				 .oval = DG_PREFILLED_CAPACITY,
				 .help = "all on capacity"},
				{.ival = "buffer",
				 .oval = DG_PREFILLED_BUFFER,
				 .help = "in the write buffer as far as they fit, the rest on "
					 "capacity"},
			},
		VSAN_OPTION(prefilled),
	},
	{
		.name = "write_buffer_size",
		.lname = "Size of the write buffer",
		.type = FIO_OPT_STR_VAL,
		.help = "Size of the write buffer, bytes or percent of the cache device (default: "
			"the device, at most 600 GB)",
		VSAN_OPTION(write_buffer_size),
	},
	{
		.name = "buckets",
		.lname = "Buckets of the write buffer",
		.type = FIO_OPT_INT,
		.help = "Buckets of the write buffer, 2 to 64 (default: those of an existing "
			"group, else 8)",
		VSAN_OPTION(buckets),
	},
	{
		.name = "page_allocation",
		.lname = "Order of pages in a bucket",
		.type = FIO_OPT_STR,
		.def = "scattered",
		.help = "How writes lie on the cache device (default scattered, which is inferred)",
		.posval =
			{
				{.ival = "scattered",
				 .oval = DG_PAGES_SCATTERED,
				 .help = "4 KiB pieces all over"},
				{.ival = "contiguous",
				 .oval = DG_PAGES_CONTIGUOUS,
				 .help = "one after the other"},
			},
		VSAN_OPTION(page_allocation),
	},
	{
		.name = "stripe_width",
		.lname = "Stripe width of new volumes",
		.type = FIO_OPT_INT,
		.def = "1",
		.help = "Capacity devices that a new volume is striped over, 1 to 12 (default 1)",
		VSAN_OPTION(stripe_width),
	},
	{
		.name = "destage_start",
		.lname = "Fill at which destaging starts",
		.type = FIO_OPT_INT,
		.def = "30",
		.help = "Fill at which destaging starts, percent of the write buffer (default 30)",
		VSAN_OPTION(destage_start),
	},
	{
		.name = "destage_unthrottle",
		.lname = "Fill at which destaging is at full speed",
		.type = FIO_OPT_INT,
		.def = "70",
		.help = "Fill from which destaging is at full speed, percent of the write buffer "
			"(default 70)",
		VSAN_OPTION(destage_unthrottle),
	},
	{
		.name = "destage_sleep",
		.lname = "Base sleep of the elevator",
		.type = FIO_OPT_INT,
		.is_time = 1,
		.def = "10000",
		.help = "Sleep between destage rounds at destage_start; plain numbers are "
			"microseconds "
			"(default 10ms)",
		VSAN_OPTION(destage_sleep),
	},
	{
		.name = "destage_batch",
		.lname = "Destage window",
		.type = FIO_OPT_INT,
		.def = "1m",
		.help = "Bytes of dirty blocks that an elevator takes in a round (default 1m)",
		VSAN_OPTION(destage_batch),
	},
	{
		.name = "destage_depth",
		.lname = "Destage queue depth",
		.type = FIO_OPT_INT,
		.def = "8",
		.help = "I/Os in flight of each capacity device's elevator (default 8)",
		VSAN_OPTION(destage_depth),
	},
	{
		.name = "drain",
		.lname = "Empty the write buffer",
		.type = FIO_OPT_STR,
		.def = "never",
		.help = "When the write buffer is destaged completely (default never)",
		.posval =
			{
				{.ival = "never",
				 .oval = DG_DRAIN_NEVER,
				 .help = "only as the fill asks for it"},
				{.ival = "start",
				 .oval = DG_DRAIN_START,
				 .help = "before the first I/O"},
				{.ival = "end", .oval = DG_DRAIN_END, .help = "after the last I/O"},
				{.ival = "both", .oval = DG_DRAIN_BOTH, .help = "before and after"},
			},
		VSAN_OPTION(drain),
	},
	{
		.name = "durability",
		.lname = "When a write is acknowledged",
		.type = FIO_OPT_STR,
		.def = "write",
		.help = "When a write is acknowledged (default write)",
		.posval =
			{
				{.ival = "write",
				 .oval = DG_DURABLE_WRITE,
				 .help = "its data and log are written: survives a killed process; "
					 "a power cut too if the drive keeps completed writes"},
				{.ival = "fua",
				 .oval = DG_DURABLE_FUA,
				 .help = "its data and log are on stable media: survives a power "
					 "cut"},
			},
		VSAN_OPTION(durability),
	},
	{
		.name = "format",
		.lname = "Make a new disk group",
		.type = FIO_OPT_STR,
		.def = "auto",
		.help = "What happens to what is on the devices (default auto)",
		.posval =
			{
				{.ival = "auto",
				 .oval = DG_FORMAT_AUTO,
				 .help = "use the group on them, else make one"},
				{.ival = "always",
				 .oval = DG_FORMAT_ALWAYS,
				 .help = "make a new one: all data is lost"},
				{.ival = "never",
				 .oval = DG_FORMAT_NEVER,
				 .help = "only use a group that is there"},
			},
		VSAN_OPTION(format),
	},
	{
		.name = "allow_overwrite",
		.lname = "Overwrite foreign content",
		.type = FIO_OPT_BOOL,
		.def = "0",
		.help = "1: overwrite devices that hold something unknown to us (default 0: "
			"refuse)",
		VSAN_OPTION(allow_overwrite),
	},
	{
		.name = "target",
		.lname = "What the job runs on",
		.type = FIO_OPT_STR,
		.def = "group",
		.help = "The disk group, or one tier's devices alone as a baseline (default group)",
		.posval =
			{
				{.ival = "group",
				 .oval = DG_TARGET_GROUP,
				 .help = "the disk group"},
				{.ival = "cache",
				 .oval = DG_TARGET_CACHE,
				 .help = "the cache device, raw"},
				{.ival = "capacity",
				 .oval = DG_TARGET_CAPACITY,
				 .help = "the capacity devices, raw"},
			},
		VSAN_OPTION(target),
	},
	{
		.name = "congestion_ssd_low",
		.lname = "Fill at which ssd congestion starts",
		.type = FIO_OPT_INT,
		.def = "80",
		.help = "Fill at which ssd congestion starts, percent of the write buffer (default "
			"80, inferred)",
		VSAN_OPTION(congestion_ssd_low),
	},
	{
		.name = "congestion_ssd_high",
		.lname = "Fill at which ssd congestion is 255",
		.type = FIO_OPT_INT,
		.def = "98",
		.help = "Fill at which ssd congestion is 255, percent of the write buffer (default "
			"98, inferred)",
		VSAN_OPTION(congestion_ssd_high),
	},
	{
		.name = "congestion_delay",
		.lname = "Delay scale of congestion",
		.type = FIO_OPT_INT,
		.is_time = 1,
		.def = "50",
		.help = "Delay of a write = rand(0.5..1.5) * this * (2^(congestion/congestion_tau) "
			"- 1); plain "
			"numbers are microseconds (default 50us, inferred)",
		VSAN_OPTION(congestion_delay),
	},
	{
		.name = "congestion_tau",
		.lname = "Congestion that doubles the delay",
		.type = FIO_OPT_INT,
		.def = "16",
		.help = "How much more congestion, of 0 to 255, doubles the delay of a write "
			"(default 16, inferred)",
		VSAN_OPTION(congestion_tau),
	},
	{
		.name = "write_vsan_log",
		.lname = "Prefix of the vSAN log",
		.type = FIO_OPT_STR_STORE,
		.help = "Write PREFIX_vsan.N.log and PREFIX_vsan.N.json, N being the disk group "
			"(default: none)",
		VSAN_OPTION(write_vsan_log),
	},
	{
		.name = "vsan_log_msec",
		.lname = "Interval of the vSAN log",
		.type = FIO_OPT_INT,
		.def = "500",
		.minval = 1,
		.maxval = 3600000,
		.help = "Milliseconds between rows of the vSAN log (default 500)",
		VSAN_OPTION(vsan_log_msec),
	},
	{
		.name = "dry_run",
		.lname = "Only plan",
		.type = FIO_OPT_BOOL,
		.def = "0",
		.help = "1: print layout, memory and disk needs, and do no I/O (default 0)",
		VSAN_OPTION(dry_run),
	},
	{
		.name = NULL,
	},
};

#endif
