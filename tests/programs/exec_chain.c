/* SPDX-License-Identifier: MIT */
/*
 * exec_chain N FILE: executes itself N times, then says so in FILE; sooner where an image starts with
 * a signal blocked that the one before it did not block.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int finish(const char *name, const char *text)
{
	char other[4096];
	int fd;

	snprintf(other, sizeof(other), "%s.new", name);
	fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		return 2;
	return rename(other, name) ? 2 : 0;
}

int main(int argc, char **argv)
{
	char left[16];
	sigset_t set;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "first")) {
		sigemptyset(&set);
		sigprocmask(SIG_SETMASK, &set, NULL);
		snprintf(left, sizeof(left), "200");
	} else {
		sigprocmask(SIG_SETMASK, NULL, &set);
		for (int sig = 1; sig < 32; sig++)
			if (sigismember(&set, sig))
				return finish(argv[2], "a signal is blocked\n");
		if (!strcmp(argv[1], "0"))
			return finish(argv[2], "done\n");
		snprintf(left, sizeof(left), "%d", atoi(argv[1]) - 1);
	}
	execl("/proc/self/exe", argv[0], left, argv[2], (char *)NULL);
	return finish(argv[2], "exec failed\n");
}
