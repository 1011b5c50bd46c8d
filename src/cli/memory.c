/* SPDX-License-Identifier: MIT */
/*
 * Allocation that does not come back without memory; see memory.h for why that is right here.
 */
#include "cli/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/print.h"

void ap_die(const char *fmt, ...)
{
	va_list args;

	fputs("anyperf: ", stderr);
	va_start(args, fmt);
	ap_vprint(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(AP_EXIT_FAILURE);
}

static void *check(void *p)
{
	if (!p)
		ap_die("out of memory");
	return p;
}

void *ap_xgrow(void *array, size_t n, size_t size)
{
	return check(reallocarray(array, n, size));
}

char *ap_xstrndup(const char *s, size_t n)
{
	return check(strndup(s, n));
}

char *ap_xstrdup(const char *s)
{
	return check(strdup(s));
}

char *ap_xasprintf(const char *fmt, ...)
{
	va_list args;
	char *s = NULL;
	int n;

	va_start(args, fmt);
	n = vasprintf(&s, fmt, args);
	va_end(args);
	return check(n < 0 ? NULL : s);
}
