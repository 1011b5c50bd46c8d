/* SPDX-License-Identifier: MIT */
/*
 * Three rounds of work in a child and in the process itself, with a pause after each: under
 * --deterministic the same instructions in every run, whatever pids it gets.  (A thread would not do:
 * to join it takes more when it still runs.)  An argument: waits for a byte
 * of standard input before the second and the third.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void step(void)
{
	__asm__ volatile("");
}

static void work(void)
{
	for (int i = 0; i < 20000; i++)
		step();
}

static int round_of_work(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		work();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	work();
	return 0;
}

int main(int argc, char **argv)
{
	char byte;

	(void)argv;
	for (int i = 0; i < 3; i++) {
		if (i && argc > 1 && read(STDIN_FILENO, &byte, 1) != 1)
			return 2;
		if (round_of_work())
			return 1;
		usleep(60000);
	}
	puts("120000 steps");
	return 0;
}
