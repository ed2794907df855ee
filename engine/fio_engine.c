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
#include "fio_option_table.h"
#include "host_memory.h"

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
	unsigned long long avail;

	if (!need)
		return 0;
	avail = host_memory_available();
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
	bool verifies;
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
	users = group_users(td, &verifies);
	err = group_registry_join(&job->entry, td->eo, users, verifies, terminated, td,
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
