/* SPDX-License-Identifier: MIT */
/*
 * What a task's user can take of it natively, from outside of the session: the files of it that its process has open, for writing
 * if they can be had so at all.
 */
#ifndef TESTS_SESSION_TAKEN_H
#define TESTS_SESSION_TAKEN_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define TAKEN_FDS 5000

/* As many descriptors as there are, up to max; -77 the kernel has no such call, -2 it refuses it. */
static int session_take(pid_t pid, int *taken, int max)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), n = 0;
	char path[64], name[64];
	ssize_t len;

	if (pidfd < 0)
		return errno == ENOSYS ? -77 : -2;
	for (int fd = 3; fd < TAKEN_FDS && n + 1 < max; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		len = readlink(path, name, sizeof(name) - 1);
		name[len > 0 ? len : 0] = 0;
		if (!strstr(name, "memfd:anyperf"))
			continue;
		taken[n] = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		if (taken[n] < 0)
			return errno == ENOSYS ? -77 : -2;
		n++;
		taken[n] = open(path, O_RDWR | O_CLOEXEC);
		n += taken[n] >= 0;
	}
	close(pidfd);
	return n;
}

#endif
