/* SPDX-License-Identifier: MIT */
/* Kills the supervisor, its parent, and goes on: perf calls fail, and nothing else does. */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, long ret)
{
	printf("%s: %s\n", what, ret == -1 ? strerrorname_np(errno) : "done");
}

int main(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.inherit = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), status = 0;
	pid_t parent = getppid(), pid;
	unsigned long v;

	show("open", fd);
	show("read", read(fd, &v, 8));
	fflush(stdout);
	kill(parent, SIGKILL);
	while (getppid() == parent)
		;
	show("ioctl", ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	show("read", read(fd, &v, 8));
	show("mmap", (long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	show("open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(7);
	waitpid(pid, &status, 0);
	printf("child: %d\n", WEXITSTATUS(status));
	show("close", close(fd));
	show("read", read(fd, &v, 8));
	return 0;
}
