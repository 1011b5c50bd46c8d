/* SPDX-License-Identifier: MIT */
/* What perf_event_paranoid lets a user count: each line is an event and the answer. */
#include <errno.h>
#include <stdio.h>

#include "../tests/programs/perf_run.h"

static void show(const char *what, struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = perf_run_open(&attr, pid, cpu, -1);

	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "ok");
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_SW_TASK_CLOCK), a;

	attr.type = PERF_TYPE_SOFTWARE;
	show("user", attr, 0, -1);
	show("user, on one CPU", attr, 0, 0);
	show("a CPU", attr, -1, 0);
	a = attr;
	a.sample_type = PERF_SAMPLE_PHYS_ADDR;
	show("physical addresses", a, 0, -1);
	a = attr;
	a.namespaces = 1;
	show("namespaces", a, 0, -1);
	a = attr;
	a.exclude_kernel = 0;
	show("kernel", a, 0, -1);
	a.exclude_user = 1;
	show("kernel only", a, 0, -1);
	return 0;
}
