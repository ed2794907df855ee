/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The io_uring of an I/O queue: SQEs out, CQEs in, and one poll request on the queue's eventfd, so
 * that completions, wake-ups and times all end the same sleep. Used by the queue's owner only.
 *
 * The ring starts disabled and is enabled by the first submission: the thread that does that
 * becomes its single issuer, wherever the queue was created.
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ioq_impl.h"

#define MAX_FILES     16
#define MAX_IN_FLIGHT 4096u
#define BATCH         32
#define RETRY_MS      1

struct ring {
	struct io_uring u;
	unsigned int in_ring;                   /* requests that have an SQE or will have a CQE */
	unsigned int max_in_ring;               /* so that neither SQ nor CQ can overflow */
	struct dev_req *waiting, **waiting_end; /* no room in the ring yet; by req.next */
	unsigned int nr_waiting;
	struct dev_req *failed; /* never accepted by the kernel; completed by the next reap */
	int err;                /* why; nothing is submitted any more */
	int eventfd;
	bool disabled;    /* not enabled yet */
	bool poll_armed;  /* a poll request on the eventfd is in the ring */
	bool fixed_files; /* the kernel registers files */
	unsigned int nr_files;
};

/* From what the newest kernels have down to what all have. */
static const unsigned int setup_flags[] = {
	IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	0,
};

/* 0 or a negative errno. @disabled: the ring must be enabled before use. */
static int uring_init(struct io_uring *u, unsigned int entries, bool *disabled)
{
	int ret = -EINVAL;

	for (size_t i = 0; i < sizeof(setup_flags) / sizeof(setup_flags[0]); i++) {
		struct io_uring_params p = {.flags = setup_flags[i]};

		ret = io_uring_queue_init_params(entries, u, &p);
		if (ret == -EINVAL)
			continue; /* a flag that this kernel does not know */
		if (ret)
			return ret;
		/* Without, a timed wait costs an SQE and a CQE of its own (kernels before 5.11). */
		if (!(p.features & IORING_FEAT_EXT_ARG)) {
			io_uring_queue_exit(u);
			return -ENOSYS;
		}
		*disabled = setup_flags[i] & IORING_SETUP_R_DISABLED;
		return 0;
	}
	return ret;
}

int ring_probe(const char *what, struct report *r)
{
	struct io_uring u;
	bool disabled;
	int ret = uring_init(&u, 2, &disabled);

	if (!ret) {
		io_uring_queue_exit(&u);
		return 0;
	}
	if (ret == -ENOSYS)
		return report(r, ret,
			      "%s: needs io_uring of Linux 5.11 or newer, which this kernel "
			      "does not have; modelled drives and @memory work without",
			      what);
	if (ret == -EPERM)
		return report(r, ret,
			      "%s: io_uring is forbidden here: set kernel.io_uring_disabled=0, "
			      "or allow it in the container's seccomp profile",
			      what);
	return report(r, ret, "%s: cannot set up io_uring: %s%s", what, strerror(-ret),
		      ret == -ENOMEM ? " (raise the limit of locked memory, ulimit -l)" : "");
}

static int ring_create(struct ioq *q)
{
	struct ring *ring;
	int ret;

	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->max_in_ring = q->depth < MAX_IN_FLIGHT ? q->depth : MAX_IN_FLIGHT;
	ring->waiting_end = &ring->waiting;
	ring->eventfd = q->eventfd;
	ret = uring_init(&ring->u, ring->max_in_ring + 1, &ring->disabled); /* + 1: the poll */
	if (ret) {
		free(ring);
		return ret;
	}
	ring->fixed_files = !io_uring_register_files_sparse(&ring->u, MAX_FILES);
	q->ring = ring;
	return 0;
}

void ring_destroy(struct ring *ring)
{
	/*
	 * The kernel takes a ring down in its own time; registered files would stay open until
	 * then, and with them the lock on a file and the claim on a block device.
	 */
	if (ring->fixed_files)
		io_uring_unregister_files(&ring->u);
	io_uring_queue_exit(&ring->u);
	free(ring);
}

int ring_attach(struct ioq *q, struct device *dev, int fd)
{
	struct ioq_slot *s;
	struct ring *ring;
	int ret;

	if (!q->ring) {
		ret = ring_create(q);
		if (ret)
			return ret;
	}
	ring = q->ring;
	s = ioq_slot(q, dev);
	if (!s)
		return -ENOMEM;
	if (s->fd == fd)
		return 0;
	s->fd = fd;
	s->file = -1;
	/* A registered file saves two atomic operations per request; without it works all the same.
	 */
	if (ring->fixed_files && ring->nr_files < MAX_FILES &&
	    io_uring_register_files_update(&ring->u, ring->nr_files, &fd, 1) == 1)
		s->file = (int)ring->nr_files++;
	return 0;
}

static void push_failed(struct ring *ring, struct dev_req *req)
{
	req->next = ring->failed;
	ring->failed = req;
}

/*
 * The kernel refuses to take SQEs at all, for a reason that will not pass (a foreign thread, a
 * seccomp filter): take back those it did not consume, so that their requests fail instead of
 * hanging.
 */
static void give_up(struct ring *ring, int err)
{
	struct io_uring_sq *sq = &ring->u.sq;
	unsigned int head = __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE);

	ring->err = err;
	for (; head != sq->sqe_tail; head++) {
		struct io_uring_sqe *sqe = &sq->sqes[head & *sq->kring_mask];
		void *data = (void *)(uintptr_t)sqe->user_data;

		io_uring_prep_nop(sqe);
		sqe->user_data = 0;
		if (!data)
			continue;
		if (data == ring)
			ring->poll_armed = false;
		else
			push_failed(ring, data);
	}
}

/* Does trying again later help? */
static bool passing_error(int ret)
{
	return ret == -EINTR || ret == -EAGAIN || ret == -EBUSY || ret == -ETIME || ret == -ENOMEM;
}

static bool enable(struct ring *ring)
{
	if (!ring->disabled)
		return true;
	/* Not by io_uring_enable_rings(): liburing 2.3 declares it and does not export it. */
	if (syscall(__NR_io_uring_register, ring->u.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
		    0) < 0) {
		give_up(ring, -errno);
		return false;
	}
	ring->disabled = false;
	return true;
}

void ring_kick(struct ring *ring)
{
	int ret;

	if (ring->err || !io_uring_sq_ready(&ring->u) || !enable(ring))
		return;
	do {
		ret = io_uring_submit(&ring->u);
	} while (ret > 0 && io_uring_sq_ready(&ring->u)); /* the kernel may take them in parts */
	if (ret < 0 && !passing_error(ret))
		give_up(ring, ret);
}

/* NULL: the ring cannot take more now. */
static struct io_uring_sqe *get_sqe(struct ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->u);

	if (!sqe) {
		ring_kick(ring);
		sqe = io_uring_get_sqe(&ring->u);
	}
	return sqe;
}

/* False: no SQE to be had. */
static bool start(struct ioq *q, struct dev_req *req)
{
	struct ioq_slot *s = q->last->dev == req->dev ? q->last : ioq_slot(q, req->dev);
	struct io_uring_sqe *sqe = get_sqe(q->ring);
	int fd = s->file >= 0 ? s->file : s->fd;
	uint8_t *buf = req->buf;

	if (!sqe)
		return false;
	switch (req->op) {
	case DEV_READ:
		io_uring_prep_read(sqe, fd, buf + req->done_bytes, req->len - req->done_bytes,
				   req->offset + req->done_bytes);
		break;
	case DEV_WRITE:
		io_uring_prep_write(sqe, fd, buf + req->done_bytes, req->len - req->done_bytes,
				    req->offset + req->done_bytes);
		if (req->flags & DEV_FUA)
			sqe->rw_flags = RWF_DSYNC;
		break;
	default:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	}
	if (s->file >= 0)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, req);
	return true;
}

static void enqueue(struct ring *ring, struct dev_req *req)
{
	req->next = NULL;
	*ring->waiting_end = req;
	ring->waiting_end = &req->next;
	ring->nr_waiting++;
}

static void start_waiting(struct ioq *q)
{
	struct ring *ring = q->ring;

	while (ring->waiting && ring->in_ring < ring->max_in_ring) {
		struct dev_req *req = ring->waiting;
		struct dev_req *next = req->next;

		if (ring->err) {
			push_failed(ring, req);
		} else if (!start(q, req)) {
			return;
		}
		ring->in_ring++;
		ring->nr_waiting--;
		ring->waiting = next;
		if (!next)
			ring->waiting_end = &ring->waiting;
	}
}

int ring_submit(struct ioq *q, struct dev_req *req)
{
	struct ring *ring = q->ring;
	struct ioq_slot *s;

	s = q->last->dev == req->dev ? q->last : ioq_slot(q, req->dev);
	if (!ring || !s || s->fd < 0) {
		ioq_count_error(req);
		return -EBADF;
	}
	if (ring->err) {
		ioq_count_error(req);
		return ring->err;
	}
	req->done_bytes = 0;
	req->issued_ns = vclock_now(q->clock);
	/* First come, first served: nobody overtakes those who wait. */
	enqueue(ring, req);
	start_waiting(q);
	return 0;
}

static void complete(struct ioq *q, struct dev_req *req, int res, uint64_t now)
{
	q->ring->in_ring--;
	if (res)
		ioq_count_error(req);
	else
		ioq_count(q, req, now > req->issued_ns ? now - req->issued_ns : 0);
	req->done(req, res);
}

/* One CQE of a request: true if it is complete, with *@res; else it was queued again for the rest.
 */
static bool finish(struct ioq *q, struct dev_req *req, int *res)
{
	struct ring *ring = q->ring;

	if (*res < 0 && *res != -EINTR)
		return true;
	if (*res >= 0) {
		if (req->op == DEV_FLUSH) {
			*res = 0;
			return true;
		}
		req->done_bytes += (uint32_t)*res;
		if (req->done_bytes >= req->len) {
			*res = 0;
			return true;
		}
		if (!*res) { /* past the end of the device: there is no rest to wait for */
			*res = -EIO;
			return true;
		}
	}
	ring->in_ring--;
	enqueue(ring, req);
	return false;
}

static unsigned int reap_failed(struct ioq *q)
{
	struct ring *ring = q->ring;
	unsigned int n = 0;

	while (ring->failed) {
		struct dev_req *req = ring->failed;

		ring->failed = req->next;
		complete(q, req, ring->err, 0);
		n++;
	}
	return n;
}

unsigned int ring_reap(struct ioq *q)
{
	struct ring *ring = q->ring;
	struct io_uring_cqe *cqes[BATCH];
	struct {
		struct dev_req *req;
		int res;
	} got[BATCH];
	unsigned int n = 0, seen = 0, nr;
	uint64_t now, count;

	do {
		nr = io_uring_peek_batch_cqe(&ring->u, cqes, BATCH);
		/* Copied before any done(): it may submit, and see CQEs again. */
		for (unsigned int i = 0; i < nr; i++) {
			got[i].req = io_uring_cqe_get_data(cqes[i]);
			got[i].res = cqes[i]->res;
		}
		io_uring_cq_advance(&ring->u, nr);
		now = nr ? vclock_now(q->clock) : 0;
		for (unsigned int i = 0; i < nr; i++) {
			if (!got[i].req)
				continue;
			if ((void *)got[i].req == ring) {
				ssize_t bytes = read(ring->eventfd, &count, sizeof(count));

				(void)bytes;
				ring->poll_armed = false;
				continue;
			}
			if (finish(q, got[i].req, &got[i].res)) {
				complete(q, got[i].req, got[i].res, now);
				n++;
			}
		}
		seen += nr;
		start_waiting(q);
	} while (nr == BATCH && seen < 2 * ring->max_in_ring);
	return n + reap_failed(q);
}

bool ring_has_events(const struct ring *ring)
{
	/* A completion may wait for this thread to enter the kernel; peeking does that then. */
	return ring->failed || io_uring_cq_ready(&ring->u) ||
	       (__atomic_load_n(ring->u.sq.kflags, __ATOMIC_RELAXED) &
		(IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN));
}

/* When the ring cannot be used for sleeping. Short: what is in the ring may complete meanwhile. */
static void nap(const struct ring *ring)
{
	struct pollfd pfd = {.fd = ring->eventfd, .events = POLLIN};
	uint64_t count;

	if (poll(&pfd, 1, RETRY_MS) > 0) {
		ssize_t n = read(ring->eventfd, &count, sizeof(count));

		(void)n;
	}
}

bool ring_sleep(struct ioq *q, uint64_t until_ns)
{
	struct ring *ring = q->ring;
	struct __kernel_timespec ts, *timeout = NULL;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	uint64_t now;
	int ret;

	if (!ring->poll_armed && !ring->err) {
		sqe = get_sqe(ring);
		if (sqe) {
			io_uring_prep_poll_add(sqe, ring->eventfd, POLLIN);
			io_uring_sqe_set_data(sqe, ring);
			ring->poll_armed = true;
		}
	}
	if (ring->err || !ring->poll_armed || !enable(ring)) {
		nap(ring);
		return false;
	}
	if (until_ns != TIME_NEVER) {
		now = vclock_now(q->clock);
		if (now >= until_ns) {
			ring_kick(ring);
			return true;
		}
		ts.tv_sec = (long long)((until_ns - now) / NSEC_PER_SEC);
		ts.tv_nsec = (long long)((until_ns - now) % NSEC_PER_SEC);
		timeout = &ts;
	}
	ret = io_uring_submit_and_wait_timeout(&ring->u, &cqe, 1, timeout, NULL);
	if (ret >= 0 || ret == -EINTR)
		return false;
	if (ret == -ETIME)
		return true;
	if (!passing_error(ret))
		give_up(ring, ret);
	else
		nap(ring);
	return false;
}

unsigned int ring_in_flight(const struct ring *ring)
{
	return ring->in_ring + ring->nr_waiting;
}
