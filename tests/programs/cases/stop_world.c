/* SPDX-License-Identifier: MIT */
/*
 * A task that shares memory with the program's threads, stops them by ptrace wherever they are, and runs on: so do
 * LeakSanitizer and collectors.  Whatever the threads were about, it must not wait for them.
 */
/* CASE: counted -- */
#include "check.h"

#include <sys/ptrace.h>

#define WORKERS 2
#define ROUNDS	20

static volatile int tid[WORKERS], stop;
static volatile long turns[WORKERS];
static char stack[65536] __attribute__((aligned(16)));
static unsigned char *code[WORKERS + 1];

/* mov eax, value; ret: new code each time */
static int run_new(int k, int value)
{
	memcpy(code[k], "\xb8\0\0\0\0\xc3", 6);
	memcpy(code[k] + 1, &value, 4);
	return ((int (*)(void))code[k])();
}

static void *worker(void *arg)
{
	int k = (int)(long)arg;

	tid[k] = (int)syscall(SYS_gettid);
	while (!stop)
		if (run_new(k, (int)turns[k]) != (int)turns[k]++)
			failed = 1;
	return NULL;
}

static void trace(long what, int k)
{
	if (ptrace((enum __ptrace_request)what, tid[k], 0, 0))
		_exit(2);
}

/* What stops it before the SIGSTOP does is given back to it. */
static void attach(int k)
{
	int st;

	trace(PTRACE_ATTACH, k);
	for (;;) {
		if (waitpid(tid[k], &st, __WALL) != tid[k] || !WIFSTOPPED(st))
			_exit(3);
		if (WSTOPSIG(st) == SIGSTOP)
			return;
		if (ptrace(PTRACE_CONT, tid[k], 0, WSTOPSIG(st)))
			_exit(6);
	}
}

static int tracer(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		long seen[WORKERS];

		for (int k = 0; k < WORKERS; k++) {
			attach(k);
			seen[k] = turns[k];
		}
		for (int n = 0; n < 8; n++)
			if (run_new(WORKERS, i * 8 + n) != i * 8 + n)
				_exit(4);
		/* and they did not go on */
		for (int k = 0; k < WORKERS; k++) {
			if (turns[k] != seen[k])
				_exit(5);
			trace(PTRACE_DETACH, k);
		}
		/* until each has had a turn */
		for (int k = 0; k < WORKERS; k++)
			while (turns[k] == seen[k])
				sched_yield();
	}
	_exit(0);
}

int main(void)
{
	pthread_t t[WORKERS];
	int st;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	for (int k = 0; k <= WORKERS; k++)
		code[k] = mmap(NULL, 4096, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long k = 0; k < WORKERS; k++) {
		pthread_create(&t[k], NULL, worker, (void *)k);
		while (!turns[k])
			sched_yield();
	}
	waitpid(clone(tracer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), &st, 0);
	stop = 1;
	for (int k = 0; k < WORKERS; k++)
		pthread_join(t[k], NULL);
	printf("tracer: %d, workers %s\n", st, failed ? "failed" : "ok");
	return failed;
}
