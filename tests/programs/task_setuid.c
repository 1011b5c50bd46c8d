/* SPDX-License-Identifier: MIT */
/* As root: becomes another user for good and executes a program, which says who it is. */
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "task_test.h"

int main(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
		    setresuid(65534, 65534, 65534))
			_exit(2);
		printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
		fflush(stdout);
		execl("/nonexistent", "x", (char *)NULL);
		printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
		fflush(stdout);
		execl("/bin/sh", "sh", "-c", "id -u; id -g; exit 5", (char *)NULL);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 5 << 8, "exec as another user");
	return task_failed;
}
