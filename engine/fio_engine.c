/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ioengine "vsan": the only file that sees fio's headers. Options, hooks, io_us in and out, errors
 * to fio; everything else is the disk group's (disk_group.h) and the registry's (group_registry.h).
 *
 * Jobs run as threads of one process, whatever thread= says, since they share a group and its
 * elevators. The engine prints to stderr itself: what goes through fio's log would land inside a
 * JSON result.
 */
#include "fio.h"
#include "optgroup.h"
#include "verify.h"

#include "engine_options.h"
#include "group_registry.h"

/* What a volume is to a job's file. */
static struct dg_volume *file_volume(const struct fio_file *f)
{
	return (struct dg_volume *)f->engine_data;
}

/* What a volume takes: multiples of a sector, see struct dg_io. */
#define IO_UNIT  512u
#define IO_MAX   (4ull << 20)
#define TRIM_MAX ((4ull << 30) - IO_UNIT)

struct vsan_job {
	struct group_entry *entry;
	struct dg_queue *queue;
	struct dg_io *io;     /* one per io_u */
	struct dg_io **done;  /* of the last getevents */
	struct io_u **queued; /* since the last commit */
	unsigned int nqueued;
	unsigned int made; /* io_u_init calls */
	bool verifies;
};

/* ---- options
 * --------------------------------------------------------------------------------------- */

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

/* ---- is this the fio that we were built for?
 * ---------------------------------------------------------- */

struct ioengine_ops ioengine;

/*
 * fio checks a version number that does not change with every layout. Reading its structs with the
 * wrong offsets would corrupt memory, so compare what can be compared without them: the version
 * string, and where fio itself thinks some options are stored.
 */
static bool layout_agrees(void)
{
	static const struct {
		const char *name;
		unsigned int off1;
	} probe[] = {
		{"iodepth", offsetof(struct thread_options, iodepth)},
		{"size", offsetof(struct thread_options, size)},
		{"filename", offsetof(struct thread_options, filename)},
		{"rwmixread", offsetof(struct thread_options, rwmix[DDIR_READ])},
		{"time_based", offsetof(struct thread_options, time_based)},
		{"runtime", offsetof(struct thread_options, timeout)},
		{"thread", offsetof(struct thread_options, use_thread)},
		{"create_serialize", offsetof(struct thread_options, create_serialize)},
		{"verify", offsetof(struct thread_options, verify)},
		{"verify_only", offsetof(struct thread_options, verify_only)},
		{"numjobs", offsetof(struct thread_options, numjobs)},
		{"write_iops_log", offsetof(struct thread_options, iops_log_file)},
	};
	unsigned int found = 0;

	for (const struct fio_option *o = fio_options; o->name; o++)
		for (size_t i = 0; i < FIO_ARRAY_SIZE(probe); i++)
			/* Profiles append options of their own, some of the same name. */
			if (!o->prof_name && !strcmp(o->name, probe[i].name)) {
				if (o->off1 != probe[i].off1)
					return false;
				found++;
			}
	return found == FIO_ARRAY_SIZE(probe);
}

static bool fio_matches(struct thread_data *td)
{
	const char *why = NULL;

	/* Nothing of td is looked at before these have passed. */
	if (strcmp(fio_version_string, FIO_BUILT_FOR))
		why = "version";
	else if (!layout_agrees())
		why = "options layout";
	else if (td->io_ops != &ioengine && strcmp(td->io_ops->name, ioengine.name))
		why = "job layout";
	else if (td->thread_number >= 1 && td->thread_number <= 8 &&
		 (char *)td - (char *)segments[0].threads !=
			 (ptrdiff_t)((td->thread_number - 1) * sizeof(*td)))
		why = "job size";
	if (!why)
		return true;
	if (group_registry_give_up())
		fprintf(stderr,
			"fio-vsan: built for %s, but this is %s (%s differs): build the engine "
			"again with "
			"this fio's "
			"headers (scripts/setup, or FIO_SOURCE_DIR)\n",
			FIO_BUILT_FOR, fio_version_string, why);
	return false;
}

/* ---- set-up
 * ------------------------------------------------------------------------------------------ */

static int fail(struct thread_data *td, const struct report *r, int err)
{
	if (group_registry_give_up())
		fprintf(stderr, "fio-vsan: %s: %s\n", td->o.name ? td->o.name : "job",
			r->text[0] ? r->text : strerror(-err));
	td->error = -err;
	return 1;
}

/* What fio would only find out I/O by I/O. */
static int check_blocks(const struct thread_data *td, struct report *r)
{
	const struct thread_options *o = &td->o;

	for_each_rw_ddir(ddir)
	{
		unsigned long long min = o->min_bs[ddir], max = o->max_bs[ddir];

		if (min % IO_UNIT || max % IO_UNIT || max > (ddir == DDIR_TRIM ? TRIM_MAX : IO_MAX))
			return report(r, -EINVAL,
				      "bs=%llu: a volume takes blocks of 512 bytes to 4 MiB, in "
				      "multiples of 512",
				      min % IO_UNIT ? min : max);
		if (o->bs_unaligned && min != max)
			return report(r, -EINVAL,
				      "bs_unaligned: a volume takes blocks in multiples of 512 "
				      "bytes; leave it out");
	}
	if (o->start_offset % IO_UNIT || o->offset_increment % IO_UNIT)
		return report(r, -EINVAL,
			      "offset=%llu and offset_increment=%llu: must be multiples of 512",
			      (unsigned long long)o->start_offset,
			      (unsigned long long)o->offset_increment);
	return 0;
}

static bool job_verifies(const struct thread_data *td)
{
	return td->o.verify != VERIFY_NONE || td->o.verify_only ||
	       (td->o.trim_percentage && td->o.trim_zero);
}

/* How many jobs of the run name the same cache device; does one of them read back what it wrote? */
static unsigned int group_users(const struct thread_data *td, bool *verifies)
{
	const struct engine_options *e = td->eo;
	unsigned int n = 0;

	*verifies = job_verifies(td);
	for (unsigned int i = 0; i < thread_number; i++) {
		const struct thread_data *t = tnumber_to_td(i);
		const struct engine_options *o = t->eo;

		if (!t->io_ops || strcmp(t->io_ops->name, ioengine.name) || !o ||
		    !o->cache_device || !e->cache_device ||
		    strcmp(o->cache_device, e->cache_device))
			continue;
		n++;
		*verifies |= job_verifies(t);
	}
	return n;
}

/* Bytes that file @i of the job asks of its volume; 0: as large as it is. Mirrors fio's own file
 * set-up. */
static uint64_t wanted_size(struct thread_data *td, unsigned int i)
{
	const struct thread_options *o = &td->o;
	uint64_t size, offset;

	if (o->file_size_low)
		size = o->file_size_high;
	else if (o->size && o->nr_files)
		size = o->size / o->nr_files +
		       (i < (o->size % o->nr_files) / td_min_bs(td) ? td_min_bs(td) : 0);
	else
		size = 0;
	if (!size)
		return 0;
	offset = o->start_offset_percent
			 ? 0
			 : o->start_offset + td->subjob_number * o->offset_increment;
	/* filesize= is the file's own size; size= is what is used from the offset on. */
	return o->file_size_low ? size : size + offset;
}

static int check_data_memory(struct disk_group *g, struct report *r)
{
	uint64_t need = disk_group_data_bytes(g);
	unsigned long long avail = 0;
	char line[128];
	FILE *f;

	if (!need)
		return 0;
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "MemAvailable:", 13))
			avail = strtoull(line + 13, NULL, 10) * 1024;
	if (f)
		fclose(f);
	if (avail && need > avail / 2)
		return report(r, -ENOMEM,
			      "the devices' data would take up to %llu MiB of memory, more than "
			      "half of the "
			      "%llu MiB available; make size and write_buffer_size smaller, or use "
			      "drive_data=none",
			      (unsigned long long)need >> 20, avail >> 20);
	return 0;
}

static int declare_volumes(struct thread_data *td, struct vsan_job *job, struct report *r)
{
	struct disk_group *g = group_entry_group(job->entry);
	struct fio_file *f;
	unsigned int i;
	int err = 0;

	for_each_file(td, f, i)
	{
		struct dg_volume *v;
		uint64_t want = wanted_size(td, i);

		err = disk_group_volume(g, f->file_name, want, &v, r);
		if (err)
			return err;
		f->engine_data = (__typeof__(f->engine_data))v;
		f->real_file_size = want ? want : dg_volume_size(v);
		f->filetype = FIO_TYPE_FILE;
		fio_file_set_size_known(f);
	}
	return check_data_memory(g, r);
}

/* fio has been told to end: no use in filling a file to its end. */
static bool terminated(void *arg)
{
	const struct thread_data *td = arg;

	return td->terminate;
}

static int vsan_setup(struct thread_data *td)
{
	const struct engine_options *e;
	struct report r = {0};
	struct vsan_job *job;
	unsigned int users;
	int err;

	if (!fio_matches(td))
		return 1;
	e = td->eo;
	/* Without a cache device its callback, which makes threads, was not called: told below. */
	if (!td->o.use_thread && e->cache_device) {
		report(&r, -EINVAL,
		       "jobs of a disk group share it and must be threads: set thread=1");
		return fail(td, &r, -EINVAL);
	}
	err = check_blocks(td, &r);
	if (err)
		return fail(td, &r, err);
	job = calloc(1, sizeof(*job));
	if (!job)
		return fail(td, &r, -ENOMEM);
	users = group_users(td, &job->verifies);
	err = group_registry_join(&job->entry, td->eo, users, job->verifies, terminated, td,
				  fio_version_string, &r);
	if (err) {
		free(job);
		return fail(td, &r, err);
	}
	td->io_ops_data = job;
	err = declare_volumes(td, job, &r);
	if (err)
		return fail(td, &r, err);
	/* A dry run's job is done, and that is no error. Before init this would do nothing. */
	if (e->dry_run && !td->o.create_serialize)
		td->done = 1;
	return 0;
}

/* ---- a job's life
 * -------------------------------------------------------------------------------------- */

static int job_begin(struct thread_data *td, struct vsan_job *job)
{
	struct report r = {0};
	unsigned int depth = td->o.iodepth;
	int err;

	if (group_registry_gave_up()) {
		td->error = ECANCELED;
		return 1;
	}
	err = group_entry_start(job->entry, td_write(td) || td_trim(td), &r);
	if (!err)
		err = dg_queue_create(&job->queue, group_entry_group(job->entry), depth, true, &r);
	if (err)
		return fail(td, &r, err);
	group_entry_job_start(job->entry, td->thread_number, td->o.name);
	return 0;
}

static int vsan_init(struct thread_data *td)
{
	struct vsan_job *job = td->io_ops_data;
	struct engine_options *e = td->eo;

	/* With create_serialize=0 fio calls setup after us: the job begins when it opens its first
	 * file. */
	if (!job)
		return 0;
	if (e->dry_run) {
		td->done = 1; /* the plan is printed when the group is closed */
		return 0;
	}
	return job_begin(td, job);
}

static int vsan_io_u_init(struct thread_data *td, struct io_u *io_u)
{
	/* engine_data and index share their place in older fios: nothing of ours needs the index.
	 */
	struct dg_io *io = calloc(1, sizeof(*io));

	(void)td;
	if (!io)
		return 1;
	io->user = io_u;
	io_u->engine_data = io;
	return 0;
}

static void vsan_io_u_free(struct thread_data *td, struct io_u *io_u)
{
	(void)td;
	free(io_u->engine_data);
	io_u->engine_data = NULL;
}

static int vsan_open_file(struct thread_data *td, struct fio_file *f)
{
	struct vsan_job *job = td->io_ops_data;

	(void)f;
	if (!job)
		return 1;
	if (!job->queue && job_begin(td, job))
		return 1;
	if (!job->done) {
		job->done = calloc(td->o.iodepth, sizeof(struct dg_io *));
		job->queued = calloc(td->o.iodepth, sizeof(struct io_u *));
		if (!job->done || !job->queued)
			return 1;
	}
	return 0;
}

static int vsan_close_file(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

static void vsan_cleanup(struct thread_data *td)
{
	struct vsan_job *job = td->io_ops_data;

	if (!job)
		return;
	td->io_ops_data = NULL;
	if (job->queue) {
		group_entry_job_end(job->entry, td->thread_number);
		dg_queue_destroy(job->queue);
	}
	if (group_registry_leave(job->entry) && !td->error)
		td->error = EIO;
	free(job->done);
	free(job->queued);
	free(job);
}

/* ---- I/O
 * ------------------------------------------------------------------------------------------------
 */

static enum fio_q_status vsan_queue(struct thread_data *td, struct io_u *io_u)
{
	struct vsan_job *job = td->io_ops_data;
	struct dg_io *io = io_u->engine_data;

	fio_ro_check(td, io_u);
	io->vol = file_volume(io_u->file);
	io->buf = io_u->xfer_buf;
	io->offset = io_u->offset;
	io->len = (uint32_t)io_u->xfer_buflen;
	switch (io_u->ddir) {
	case DDIR_READ:
		io->op = DG_READ;
		break;
	case DDIR_WRITE:
		io->op = DG_WRITE;
		break;
	case DDIR_TRIM:
		io->op = DG_TRIM;
		break;
	default: /* fsync, fdatasync, sync_file_range: offset and length are leftovers */
		io->op = DG_SYNC;
		break;
	}
	job->queued[job->nqueued++] = io_u;
	dg_submit(job->queue, io);
	return FIO_Q_QUEUED;
}

static int vsan_commit(struct thread_data *td)
{
	struct vsan_job *job = td->io_ops_data;
	struct timespec now;

	if (!job->nqueued)
		return 0;
	io_u_mark_submit(td, job->nqueued);
	if (fio_fill_issue_time(td)) {
		/* Before the kernel sees them: a modelled drive's time runs since they were queued.
		 */
		fio_gettime(&now, NULL);
		for (unsigned int i = 0; i < job->nqueued; i++) {
			struct io_u *io_u = job->queued[i];

			memcpy(&io_u->issue_time, &now, sizeof(now));
			io_u_queued(td, io_u);
		}
		if (td->o.read_iolog_file)
			memcpy(&td->last_issue, &now, sizeof(now));
	}
	job->nqueued = 0;
	dg_commit(job->queue);
	return 0;
}

static int vsan_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			  const struct timespec *t)
{
	struct vsan_job *job = td->io_ops_data;
	uint64_t until = TIME_NEVER;

	vsan_commit(td);
	if (max > td->o.iodepth)
		max = td->o.iodepth;
	if (t && min) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		until = (uint64_t)(now.tv_sec + t->tv_sec) * NSEC_PER_SEC +
			(uint64_t)(now.tv_nsec + t->tv_nsec);
	}
	return (int)dg_poll(job->queue, min, max, until, job->done);
}

static struct io_u *vsan_event(struct thread_data *td, int event)
{
	struct vsan_job *job = td->io_ops_data;
	struct dg_io *io = job->done[event];
	struct io_u *io_u = io->user;

	io_u->error = -io->res;
	io_u->resid = 0;
	if (io->op == DG_READ) {
		if (io->wb_hit)
			td->ts.cachehit++;
		else
			td->ts.cachemiss++;
	}
	return io_u;
}

static char *vsan_errdetails(
#if FIO_IOOPS_VERSION >= 36
	struct thread_data *td,
#endif
	struct io_u *io_u)
{
	char *text = malloc(128);

#if FIO_IOOPS_VERSION >= 36
	(void)td;
#endif
	if (text)
		snprintf(text, 128, "volume %.60s: %s", io_u->file->file_name,
			 strerror(io_u->error));
	return text;
}

/* A virtual disk has no page cache to drop and no file to remove. */
static int vsan_invalidate(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

static int vsan_unlink(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	(void)f;
	return 0;
}

static int vsan_get_file_size(struct thread_data *td, struct fio_file *f)
{
	(void)td;
	return fio_file_size_known(f) ? 0 : 1;
}

__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name = "vsan",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_RAWIO | FIO_MEMALIGN |
		 FIO_NO_OFFLOAD | FIO_ASYNCIO_SETS_ISSUE_TIME,
	.setup = vsan_setup,
	.init = vsan_init,
	.io_u_init = vsan_io_u_init,
	.io_u_free = vsan_io_u_free,
	.queue = vsan_queue,
	.commit = vsan_commit,
	.getevents = vsan_getevents,
	.event = vsan_event,
	.errdetails = vsan_errdetails,
	.cleanup = vsan_cleanup,
	.open_file = vsan_open_file,
	.close_file = vsan_close_file,
	.invalidate = vsan_invalidate,
	.unlink_file = vsan_unlink,
	.get_file_size = vsan_get_file_size,
	.options = options,
	.option_struct_size = sizeof(struct engine_options),
};

/* Users that were counted but never ran (an earlier job failed) leave their group open. */
static void __attribute__((destructor)) vsan_exit(void)
{
	group_registry_close_all();
}
