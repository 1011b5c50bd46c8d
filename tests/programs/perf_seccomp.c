/* SPDX-License-Identifier: MIT */
/*
 * Events of a program that has put itself under a filter: "kill" lets it make no call that it does not
 * make itself, "errno" refuses the calls on events, "exec" lets an image that it executes make no
 * descriptor as we do.
 */
#include "seccomp.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void show(const char *what, long ret)
{
	printf("%s = %ld %s\n", what, ret, ret < 0 ? strerrorname_np(errno) : "");
}

#define SHOW(call) show(#call, (long)(call))

static struct perf_event_attr attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(attr),
	.config = PERF_COUNT_SW_DUMMY,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	.exclude_kernel = 1,
};

/* One action for the calls of a list, which ends with -1; all others are allowed. */
static void filter(const int *calls, unsigned int action)
{
	struct sock_filter code[SECCOMP_CODE];
	struct sock_fprog prog = { seccomp_code(code, calls, action, SECCOMP_RET_ALLOW), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		perror("seccomp");
}

static void use(int fd)
{
	unsigned long v[3], id;

	SHOW(read(fd, v, sizeof(v)));
	SHOW(read(fd, v, 8));
	SHOW(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	SHOW(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	SHOW(close(fd));
	SHOW(read(fd, v, sizeof(v)));
}

/* A number that nothing is open at, and then another descriptor of the event. */
static void copy(int fd)
{
	unsigned long v[3];

	SHOW(read(fd + 1, v, sizeof(v)));
	SHOW(dup(fd) - fd);
	SHOW(read(fd + 1, v, sizeof(v)));
	SHOW(close(fd + 1));
}

int main(int argc, char **argv)
{
	static const int own[] = { SYS_pipe2,	   SYS_eventfd2, SYS_fchmod,  SYS_fstat,
				   SYS_newfstatat, SYS_futex,	 SYS_kill,    SYS_clock_gettime,
				   SYS_readlinkat, SYS_open,	 SYS_madvise, -1 };
	static const int makes[] = { SYS_pipe2, SYS_eventfd2, SYS_fchmod, -1 };
	static const int events[] = { SYS_perf_event_open, SYS_ioctl, -1 };
	char number[16];
	int fd;

	if (argc == 3) {
		(void)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
		printf("asked\n");
		use(atoi(argv[2]));
		return 0;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (argc != 2 || fd < 0)
		return 2;
	printf("opened\n");
	if (!strcmp(argv[1], "kill")) {
		filter(own, SECCOMP_RET_KILL_PROCESS);
	} else if (!strcmp(argv[1], "exec")) {
		fflush(stdout);
		snprintf(number, sizeof(number), "%d", fd);
		filter(makes, SECCOMP_RET_KILL_PROCESS);
		execl("/proc/self/exe", argv[0], "use", number, NULL);
	} else {
		filter(events, SECCOMP_RET_ERRNO | ENOANO);
		SHOW(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
	}
	copy(fd);
	use(fd);
	return 0;
}
