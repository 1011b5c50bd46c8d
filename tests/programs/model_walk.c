/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -pthread -static */
/*
 * Work whose misses and mispredictions are known, and ends of processes in the middle of it.
 *
 *	model_walk walk LINES ROUNDS		each line once a round, in an order without strides
 *	model_walk branch MASK BIT TIMES	a branch by one bit of a generator, after & MASK
 *	model_walk copy BYTES ROUNDS		rep movsb of as many bytes, in L1
 *	model_walk halves|whole WORD ROUNDS	two stores, and a load of both or of the first
 *	model_walk triad LINES ROUNDS		c[i] = a[i] + 2 * b[i], of doubles: a third of the lines each
 *	model_walk blocked LINES ROUNDS		walk, with each synchronous signal sent and blocked
 *	model_walk taken LINES ROUNDS		the same, and SIGSEGV is taken by sigtimedwait in between
 *	model_walk segv|ill LINES ROUNDS	walk, then die of that
 *	model_walk filter LINES ROUNDS		walk in a thread that may write and exit, nothing else
 *	model_walk forks DEPTH			a process with threads that forks one with threads, that ...
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE 64

/* Where nobody else has been: what a loader had mapped and given back may still be in the modelled caches. */
#define PLACE ((void *)0x100000000000)

static volatile char *memory;
static uint32_t nlines, nrounds;

/* All of 0 .. n - 1, n a power of two; the same order each round. */
__attribute__((noinline)) static void walk(volatile char *at, uint32_t n, uint32_t rounds)
{
	uint32_t line = 0;

	for (uint32_t i = 0; i < n * rounds; i++) {
		(void)at[(size_t)line * LINE];
		line = (line * 1664525 + 1013904223) & (n - 1);
	}
}

/* A bit of a generator of 64 bits: as good as a coin.  With mask 1 its lowest, which alternates. */
__attribute__((noinline)) static uint32_t branch(uint64_t mask, uint32_t bit, uint32_t times)
{
	uint64_t x = 1;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < times; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		if ((x & mask) >> bit & 1)
			__asm__ volatile("add $3, %0" : "+r"(sum));
		else
			__asm__ volatile("xor $5, %0" : "+r"(sum));
	}
	return sum;
}

static void copy(uint32_t bytes, uint32_t rounds)
{
	static char from[8192], to[8192];

	for (uint32_t i = 0; i < rounds; i++) {
		void *d = to;
		const void *s = from;
		size_t n = bytes;

		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	}
}

static void send_all(void)
{
	static const int sync[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (size_t i = 0; i < sizeof(sync) / sizeof(sync[0]); i++)
		raise(sync[i]);
}

static int pending(int sig)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, sig);
}

/* Which word, 0 to 7: of the line that both lie in. */
static void store_and_load(bool halves, uint32_t word, uint32_t rounds)
{
	static volatile uint64_t line[8] __attribute__((aligned(64)));
	volatile uint32_t *half = (volatile uint32_t *)&line[word % 7];

	for (uint32_t i = 0; i < rounds; i++) {
		if (halves)
			half[0] = i;
		else
			line[word % 7] = i;
		half[halves ? 1 : 2] = i;
		(void)line[word % 7];
	}
}

static void triad(void)
{
	size_t n = (size_t)nlines / 3 * LINE / sizeof(double);
	volatile double *a = (volatile double *)memory, *b = a + n, *c = b + n;

	for (uint32_t round = 0; round < nrounds; round++)
		for (size_t i = 0; i < n; i++)
			c[i] = a[i] + 2 * b[i];
}

/* The main thread sleeps in pthread_join: nobody is there to contend for anything. */
static void wait_for_main(void)
{
	char path[64], text[256];
	int seen = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", getpid(), getpid());
	while (seen < 20) {
		FILE *f = fopen(path, "r");
		char *p = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;

		seen = p && p[2] == 'S' ? seen + 1 : 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
}

static void *filtered(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	wait_for_main();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(77);
	walk(memory, nlines, nrounds);
	syscall(SYS_write, 1, "walked\n", 7);
	syscall(SYS_exit, 0);
	return arg;
}

static void *worker(void *arg)
{
	walk(arg, 256, 8);
	return NULL;
}

static int forks(int depth)
{
	static char private[3][256 * LINE];
	pthread_t t[3];
	pid_t pid;
	int status;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, worker, private[i]);
	pid = depth ? fork() : -1;
	if (pid == 0)
		_exit(forks(depth - 1));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (pid < 0)
		return depth;
	waitpid(pid, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static int run(const char *what)
{
	const struct timespec none = { 0, 0 };
	pthread_t thread;
	sigset_t segv;

	if (!strcmp(what, "blocked") || !strcmp(what, "taken"))
		send_all();
	if (!strcmp(what, "filter")) {
		pthread_create(&thread, NULL, filtered, NULL);
		pthread_join(thread, NULL);
		puts("joined");
		return 0;
	}
	if (!strcmp(what, "triad")) {
		triad();
		return 0;
	}
	walk(memory, nlines, nrounds);
	if (!strcmp(what, "blocked"))
		printf("%d waits\n", pending(SIGSEGV));
	if (!strcmp(what, "taken")) {
		sigemptyset(&segv);
		sigaddset(&segv, SIGSEGV);
		printf("took %d\n", sigtimedwait(&segv, NULL, &none));
		walk(memory, nlines, nrounds * 8);
		printf("%d waits\n", pending(SIGSEGV));
	}
	if (!strcmp(what, "segv"))
		*(volatile int *)1 = 1;
	if (!strcmp(what, "ill"))
		__builtin_trap();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "forks"))
		return forks(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "branch")) {
		printf("%u\n", branch(strtoull(argv[2], NULL, 0), (uint32_t)atoi(argv[3]),
				      (uint32_t)atoi(argv[4])));
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "copy")) {
		copy((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
		return 0;
	}
	if (argc == 4 && (!strcmp(argv[1], "halves") || !strcmp(argv[1], "whole"))) {
		store_and_load(*argv[1] == 'h', (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
		return 0;
	}
	if (argc != 4)
		return 2;
	nlines = (uint32_t)atoi(argv[2]);
	nrounds = (uint32_t)atoi(argv[3]);
	memory = mmap(PLACE, (size_t)nlines * LINE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED_NOREPLACE, -1, 0);
	return memory == MAP_FAILED ? 2 : run(argv[1]);
}
