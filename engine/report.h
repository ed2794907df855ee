/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one line a person reads when something is wrong.
 *
 * Functions below the fio glue return a negative errno; where the errno alone would not tell what to
 * do, they also describe the cause here. The first description wins: the deepest caller knows most.
 * A report belongs to one thread at a time.
 */
#ifndef VSAN_REPORT_H
#define VSAN_REPORT_H

struct report {
	int err;        /* 0, or the negative errno that was described */
	char text[768]; /* one line, no newline at the end */
};

/*
 * Describe an error: what happened, where (option, device or file:line), what to do.
 * @r may be NULL. @err is a negative errno. A report that already holds an error is left as it is.
 * Returns @err, so that callers write `return report(r, -EINVAL, "...")`.
 */
int report(struct report *r, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
