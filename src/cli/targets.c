/* SPDX-License-Identifier: MIT */
/* Numbers of tasks and CPUs.  See targets.h. */
#include "cli/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/memory.h"
#include "linux/client/client.h"

int ap_targets_add(struct ap_targets *t, const char *list, bool are_threads, char *why, size_t size)
{
	const char *p = list;
	char *end;
	long n;

	for (;; p = end + 1) {
		errno = 0;
		n = strtol(p, &end, 10);
		if (errno || end == p || (*end && *end != ',') || n < 1 || n > INT_MAX) {
			snprintf(why, size, "needs numbers of %s, separated by commas",
				 are_threads ? "threads" : "processes");
			return -EINVAL;
		}
		t->target = ap_xgrow(t->target, t->n + 1, sizeof(*t->target));
		t->target[t->n++] = (struct ap_run_target){ .pid = are_threads ? 0 : (pid_t)n,
							    .tid = are_threads ? (pid_t)n : 0 };
		if (!*end)
			return 0;
	}
}

void ap_targets_fini(struct ap_targets *t)
{
	free(t->target);
	*t = (struct ap_targets){ 0 };
}

/* "3" or "1-4"; what follows it in *end. */
static bool parse_range(const char *p, char **end, long *from, long *to)
{
	errno = 0;
	*from = *to = strtol(p, end, 10);
	if (*end == p || *p < '0' || *p > '9')
		return false;
	if (**end == '-') {
		p = *end + 1;
		*to = strtol(p, end, 10);
		if (*end == p)
			return false;
	}
	return !errno && *from <= *to && *to < INT_MAX;
}

int ap_cpus_parse(const char *list, s32 **cpus, u32 *n, char *why, size_t size)
{
	u32 all = ap_client_ncpus();
	bool *wanted = calloc(all, sizeof(*wanted));
	long from, to = -1;
	const char *p;
	char *end;

	if (!wanted)
		ap_die("out of memory");
	*n = 0;
	*cpus = ap_xgrow(NULL, all, sizeof(**cpus));
	for (p = list;; p = end + 1) {
		if (!parse_range(p, &end, &from, &to) || to >= (long)all || (*end && *end != ','))
			break;
		for (; from <= to; from++)
			wanted[from] = true;
		if (!*end) {
			for (u32 cpu = 0; cpu < all; cpu++)
				if (wanted[cpu])
					(*cpus)[(*n)++] = (s32)cpu;
			break;
		}
	}
	free(wanted);
	if (*n)
		return 0;
	free(*cpus);
	*cpus = NULL;
	snprintf(why, size, "needs a list of CPUs from 0 to %u, such as 0-1", all - 1);
	return -EINVAL;
}
