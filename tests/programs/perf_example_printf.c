/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -no-pie */
/*
 * The example of perf_event_open(2), call for call: how many instructions does a printf take?  What was
 * wrong with it is mended: an event that cannot be opened ends the program, or is replaced by a software
 * event, and the output says which was counted.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
			   unsigned long flags)
{
	return (int)syscall(__NR_perf_event_open, attr, pid, cpu, group_fd, flags);
}

int main(void)
{
	const char *unit = "instructions";
	struct perf_event_attr pe;
	long long count;
	int fd;

	memset(&pe, 0, sizeof(pe));
	pe.type = PERF_TYPE_HARDWARE;
	pe.size = sizeof(pe);
	pe.config = PERF_COUNT_HW_INSTRUCTIONS;
	pe.disabled = 1;
	pe.exclude_kernel = 1;
	pe.exclude_hv = 1;

	fd = perf_event_open(&pe, 0, -1, -1, 0);
	if (fd == -1 && errno == ENOENT) {
		pe.type = PERF_TYPE_SOFTWARE;
		pe.config = PERF_COUNT_SW_TASK_CLOCK;
		unit = "ns of CPU time";
		fd = perf_event_open(&pe, 0, -1, -1, 0);
	}
	if (fd == -1) {
		fprintf(stderr, "perf_event_open of event %llx: %s\n",
			(unsigned long long)pe.config, strerror(errno));
		return EXIT_FAILURE;
	}

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);

	printf("Measuring this printf\n");

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count)) {
		perror("read");
		return EXIT_FAILURE;
	}
	printf("Used %lld %s\n", count, unit);

	close(fd);
	return EXIT_SUCCESS;
}
