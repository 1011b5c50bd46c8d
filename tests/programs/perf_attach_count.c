/* SPDX-License-Identifier: MIT */
/*
 * perf_attach_count PID IN OUT: counts another process from now to its end.  A byte to the fifo IN
 * lets it begin; it has ended when OUT, its standard output, has.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(uint64_t config, pid_t pid)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = config;
	attr.exclude_kernel = 1;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0UL);
}

static uint64_t value(int fd)
{
	uint64_t n = 0;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		perror("read of an event");
	return n;
}

int main(int argc, char **argv)
{
	int instr, branches, in, out;
	char buf[64];
	pid_t pid;

	if (argc != 4)
		return 2;
	pid = (pid_t)atoi(argv[1]);
	instr = open_event(PERF_COUNT_HW_INSTRUCTIONS, pid);
	branches = open_event(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, pid);
	if (instr < 0 || branches < 0) {
		perror("perf_event_open");
		return 1;
	}
	out = open(argv[3], O_RDONLY | O_CLOEXEC);
	in = open(argv[2], O_WRONLY | O_CLOEXEC);
	if (in < 0 || out < 0 || write(in, "x", 1) != 1) {
		perror("the fifos");
		return 1;
	}
	while (read(out, buf, sizeof(buf)) > 0)
		;
	printf("instructions %llu\nbranches %llu\n", (unsigned long long)value(instr),
	       (unsigned long long)value(branches));
	return 0;
}
