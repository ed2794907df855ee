/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modelled drive: a flash model says when each request is due, the queue's heap holds it until
 * then. The data, if it is kept at all, moves when the request is issued.
 *
 * Any number of queues. The model's state depends on the order of requests, so one lock per drive
 * orders them, and the time is read under it: otherwise a thread that was preempted between reading
 * the clock and entering the model would issue into the past.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device_impl.h"
#include "ioq_impl.h"

struct modelled_device {
	struct device dev;
	struct flash_model *model;
	pthread_mutex_t lock; /* model, started */
	bool started;         /* the first request was issued */
	uint8_t *data;        /* NULL: nothing is stored */
	struct drive_profile profile;
};

/* When is @req due, if it is issued at @now? Under the lock. */
static uint64_t modelled_due(struct modelled_device *m, const struct dev_req *req, uint64_t now)
{
	uint64_t due;

	/*
	 * A steady drive starts to be written with a full buffer. Filled at the first write: before it,
	 * during set-up or reads alone, the buffer of a real drive would have drained.
	 */
	if (!m->started && req->op == DEV_WRITE) {
		m->started = true;
		if (!m->dev.fresh)
			flash_model_prefill(m->model, now);
	}
	switch (req->op) {
	case DEV_READ:
		return flash_model_read(m->model, now, req->offset, req->len);
	case DEV_WRITE:
		due = flash_model_write(m->model, now, req->offset, req->len);
		if (req->flags & DEV_FUA)
			due = flash_model_flush(m->model, due);
		return due;
	default:
		return flash_model_flush(m->model, now);
	}
}

static void modelled_move(const struct modelled_device *m, const struct dev_req *req)
{
	if (req->op == DEV_WRITE)
		memcpy(m->data + req->offset, req->buf, req->len);
	else if (req->op == DEV_READ)
		memcpy(req->buf, m->data + req->offset, req->len);
}

static int modelled_submit(struct device *dev, struct ioq *q, struct dev_req *req)
{
	struct modelled_device *m = (struct modelled_device *)dev;
	int ret;

	if (!device_in_range(dev, req->offset, req->len) || (!req->len && req->op != DEV_FLUSH)) {
		ioq_count_error(req);
		return -EIO;
	}
	if (m->data)
		modelled_move(m, req);
	if (q->all_due) { /* set-up and tools: outside the run, costs the drive nothing */
		ioq_count(q, req, 0);
		return 1;
	}
	pthread_mutex_lock(&m->lock);
	req->issued_ns = vclock_now(q->clock);
	req->due_ns = modelled_due(m, req, req->issued_ns);
	pthread_mutex_unlock(&m->lock);
	ret = ioq_add_due(q, req);
	if (ret)
		ioq_count_error(req);
	return ret;
}

static void modelled_close(struct device *dev)
{
	struct modelled_device *m = (struct modelled_device *)dev;

	device_unmap_data(m->data, dev->size);
	flash_model_destroy(m->model);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct dev_ops modelled_ops = {
	.submit = modelled_submit,
	.close = modelled_close,
};

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int ret;

	ret = pthread_mutexattr_init(&attr);
	if (ret)
		return -ret;
	/* Held for some hundred nanoseconds: spinning shortly is cheaper than two system calls. */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	ret = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return -ret;
}

int modelled_device_create(struct device **out, const struct dev_spec *spec,
			   const struct vclock *clock, struct report *r)
{
	struct modelled_device *m;
	uint64_t size, capacity;
	int ret;

	(void)clock; /* each request is timed by its queue's clock, which is the same one */
	m = calloc(1, sizeof(*m));
	if (!m)
		return report(r, -ENOMEM, "%s: out of memory", spec->option);
	ret = drive_profile_load(spec->name, &m->profile, r);
	if (ret)
		goto err_free;
	capacity = m->profile.params.capacity;
	size = spec->size ? spec->size : capacity;
	if (size > capacity) {
		ret = report(r, -EINVAL,
			     "%s: %s is a drive of %" PRIu64 " bytes, a size of %" PRIu64
			     " does not fit: give at most the drive's own",
			     spec->option, spec->name, capacity, size);
		goto err_free;
	}
	if (size < DEV_UNIT) {
		ret = report(r, -EINVAL, "%s: %s: a size of %" PRIu64 " bytes is too small",
			     spec->option, spec->name, size);
		goto err_free;
	}
	device_init(&m->dev, &modelled_ops, DEV_KIND_MODELLED, spec->name, size);
	m->dev.stores_data = spec->store_data;
	m->dev.has_timing = true;
	m->dev.volatile_cache = m->profile.volatile_cache;
	m->dev.profile = &m->profile;
	m->dev.fresh = spec->fresh;
	ret = flash_model_create(&m->model, &m->profile.params, spec->seed,
				 spec->fresh ? DRIVE_FRESH : DRIVE_STEADY);
	if (ret) {
		report(r, ret, "%s: %s: the profile describes no possible drive", spec->option,
		       spec->name);
		goto err_free;
	}
	if (spec->store_data) {
		m->data = device_map_data(m->dev.size);
		if (!m->data) {
			ret = report(r, -ENOMEM,
				     "%s: %s: no address space for %" PRIu64
				     " bytes of data: use a smaller size or drive_data=none",
				     spec->option, spec->name, m->dev.size);
			goto err_model;
		}
	}
	ret = init_lock(&m->lock);
	if (ret)
		goto err_data;
	*out = &m->dev;
	return 0;

err_data:
	device_unmap_data(m->data, m->dev.size);
err_model:
	flash_model_destroy(m->model);
err_free:
	free(m);
	return ret;
}
