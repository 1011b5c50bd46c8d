/* SPDX-License-Identifier: MIT */
/*
 * task_daemon FIFO: daemonizes by a double fork, closes everything, and then executes /bin/sh,
 * which says so through the FIFO; the first process has ended by then.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "task_test.h"

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	setenv("FIFO", argv[1], 1);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		CHECK(status == 0, "daemonized");
		return task_failed;
	}
	setsid();
	if (fork())
		_exit(0);
	umask(0);
	if (chdir("/"))
		_exit(1);
	for (int fd = 0; fd < 70000; fd++)
		close(fd);
	open("/dev/null", O_RDWR);
	dup(0);
	dup(0);
	execl("/bin/sh", "sh", "-c", "echo daemon works > \"$FIFO\"", (char *)NULL);
	return 1;
}
