/* SPDX-License-Identifier: MIT */
/*
 * task_inside [COMMAND...]: says whether an engine runs it, "inside" or "outside", and what its
 * waiting would find of children that are not its own; then executes the command.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "abi/session.h"
#include "task_test.h"

int main(int argc, char **argv)
{
	int status;

	puts(prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0) >= 0 ? "inside" : "outside");
	if (waitpid(-1, &status, __WALL | WNOHANG) != -1 || errno != ECHILD)
		puts("has a child");
	fflush(stdout);
	if (argc > 1) {
		execvp(argv[1], argv + 1);
		return 127;
	}
	return 0;
}
