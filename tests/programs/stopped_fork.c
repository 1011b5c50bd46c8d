/* SPDX-License-Identifier: MIT */
/*
 * Stops its parent, the supervisor, makes a child that makes one itself, waits for both and wakes its
 * parent up again.  Without an argument it sends signal 0 instead: the same instructions.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void step(void)
{
	__asm__ volatile("");
}

static void work(int n)
{
	while (n--)
		step();
}

static int await(pid_t pid)
{
	int status;

	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	pid_t parent = getppid(), pid;
	int stop = argc > 1 ? SIGSTOP : 0, go = argc > 1 ? SIGCONT : 0, ret;

	(void)argv;
	kill(parent, stop);
	pid = fork();
	if (!pid) {
		work(10000);
		pid = fork();
		work(30000);
		_exit(pid ? await(pid) : 0);
	}
	ret = await(pid);
	kill(parent, go);
	return ret;
}
