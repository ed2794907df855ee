/* SPDX-License-Identifier: GPL-2.0-only */
/* Formats the one line that a person reads; see report.h. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

int report(struct report *r, int err, const char *fmt, ...)
{
	va_list ap;

	if (!r || r->err)
		return err;
	r->err = err;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	return err;
}
