/* SPDX-License-Identifier: MIT */
/*
 * perf_live: reads an event of a process that computes all the while, until it has moved a thousand times.
 * What has counted has run meanwhile: who prints intervals takes a count without time for no count.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct reading {
	uint64_t count, enabled, running;
};

static int watch(int fd)
{
	struct reading now, before = { 0 };
	int moved = 0, timeless = 0, late = 0;

	while (moved < 1000) {
		if (read(fd, &now, sizeof(now)) != sizeof(now)) {
			perror("read");
			return 2;
		}
		moved += now.count != before.count;
		timeless += now.count != before.count && now.running == before.running;
		late += now.running > now.enabled || now.running < before.running ||
			now.enabled < before.enabled || now.count < before.count;
		before = now;
	}
	printf("timeless %d, backwards %d\n", timeless, late);
	return 0;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	pid_t pid = fork();
	int fd, ret;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ volatile("");
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	if (fd < 0) {
		perror("perf_event_open");
		ret = 2;
	} else {
		ret = watch(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return ret;
}
