/* SPDX-License-Identifier: MIT */
/*
 * What perf_event_paranoid lets a user count: each line is an event and the answer.  With "tracepoint": of a tracepoint
 * with its fields, which a task may have of itself, and others of a CPU at level -1 alone.  With "probe": of one in text, whose
 * path is not even looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../tests/programs/perf_run.h"

static void show(const char *what, struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = perf_run_open(&attr, pid, cpu, -1);

	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "ok");
	if (fd >= 0)
		close(fd);
}

static int tracepoint(void)
{
	FILE *f = fopen("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "r");
	struct perf_event_attr attr = perf_run_attr(0);
	unsigned long long id;

	if (!f || fscanf(f, "%llu", &id) != 1)
		return 1;
	fclose(f);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_type = PERF_SAMPLE_RAW;
	show("own calls", attr, 0, -1);
	show("calls of a CPU", attr, -1, 0);
	attr.sample_type = PERF_SAMPLE_IP;
	show("calls of a CPU without fields", attr, -1, 0);
	return 0;
}

static int probe(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	struct perf_event_attr attr = perf_run_attr(0);

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return 1;
	fclose(f);
	attr.config1 = 16;
	show("a probe", attr, 0, -1);
	return 0;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_SW_TASK_CLOCK), a;

	if (argc > 1 && !strcmp(argv[1], "probe"))
		return probe();
	if (argc > 1)
		return strcmp(argv[1], "tracepoint") ? 2 : tracepoint();
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
