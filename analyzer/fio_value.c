/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the values that fio writes as text; see fio_value.h. */
#include "fio_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool fio_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "kmgtp";
	unsigned int shift = 0;
	unsigned long long n;
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	n = strtoull(s, &end, 0);
	if (errno)
		return false;
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end++;
		if (*end == 'i' || *end == 'I')
			end++;
	}
	if (*end == 'b' || *end == 'B')
		end++;
	if (*end || (shift && n > UINT64_MAX >> shift))
		return false;
	*bytes = n << shift;
	return true;
}

bool fio_time_msec(const char *s, double *msec)
{
	static const struct {
		const char *unit;
		double msec;
	} units[] = {
		{"", 1000},     {"us", 0.001},  {"usec", 0.001}, {"ms", 1},
		{"msec", 1},    {"s", 1000},    {"sec", 1000},   {"m", 60000},
		{"min", 60000}, {"h", 3600000}, {"hr", 3600000}, {"d", 86400000},
	};
	double n;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	n = strtod(s, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcasecmp(end, units[i].unit)) {
			*msec = n * units[i].msec;
			return true;
		}
	}
	return false;
}

unsigned int fio_version_number(const char *version)
{
	unsigned long major, minor = 0;
	char *end;

	if (!version)
		return 0;
	while (*version && !isdigit((unsigned char)*version))
		version++;
	if (!*version)
		return 0;
	major = strtoul(version, &end, 10);
	if (*end == '.')
		minor = strtoul(end + 1, NULL, 10);
	if (major > 1000 || minor > 999)
		return 0;
	return FIO_VERSION((unsigned int)major, (unsigned int)minor);
}
