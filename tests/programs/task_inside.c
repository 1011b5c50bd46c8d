/* SPDX-License-Identifier: MIT */
/*
 * task_inside [COMMAND...]: says whether an engine runs it, "inside" or "outside", and what it
 * meets of children and signals that are not its own; then executes the command.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "abi/session.h"
#include "task_test.h"

int main(int argc, char **argv)
{
	sigset_t set;
	int status;

	puts(prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0) >= 0 ? "inside" : "outside");
	if (waitpid(-1, &status, __WALL | WNOHANG) != -1 || errno != ECHILD)
		puts("has a child");
	if (!sigpending(&set) && sigismember(&set, SIGCHLD))
		puts("has a signal");
	fflush(stdout);
	if (argc > 1) {
		execvp(argv[1], argv + 1);
		return 127;
	}
	return 0;
}
