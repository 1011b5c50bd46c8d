/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Children that share this process' memory are killed in the middle of code that nobody ran before:
 * whoever translates it dies with whatever he holds.  The parent, and its other thread, go on in the
 * same code, and every result is right.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "task_test.h"

#define FN_SIZE 16u
#define FNS	(1u << 18)
#define ROUNDS	150

typedef uint32_t fn_t(void);

/* Shared with the killer, which is another process. */
struct shared {
	volatile pid_t victim;
	volatile int stop;
};

static struct shared *shared;
static unsigned char *code;
static volatile uint32_t next_fn; /* shared with the children: none of it was run before */
static volatile int other_stop;
static volatile uint32_t other_bad, other_ran;

/* Each function returns its number. */
static void make_code(void)
{
	code = mmap(NULL, (size_t)FN_SIZE * FNS, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		exit(2);
	for (uint32_t i = 0; i < FNS; i++) {
		unsigned char *f = code + (size_t)i * FN_SIZE;

		f[0] = 0xb8; /* mov $i, %eax */
		memcpy(f + 1, &i, sizeof(i));
		f[5] = 0xc3;
	}
	if (mprotect(code, (size_t)FN_SIZE * FNS, PROT_READ | PROT_EXEC))
		exit(2);
}

static uint32_t call(uint32_t i)
{
	return ((fn_t *)(uintptr_t)(code + (size_t)(i % FNS) * FN_SIZE))();
}

static uint32_t wrong(uint32_t n)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = next_fn++;

		bad += call(k) != k % FNS;
	}
	return bad;
}

/* Kills each victim a little later than the last one, from at once to a few milliseconds. */
static void killer(void)
{
	uint32_t seed = 1;

	while (!shared->stop) {
		pid_t pid = shared->victim;

		if (!pid) {
			sched_yield();
			continue;
		}
		seed = seed * 1103515245u + 12345u;
		usleep((seed >> 16) % 1500);
		shared->victim = 0;
		kill(pid, SIGKILL);
	}
	_exit(0);
}

static int run_on(void *arg)
{
	(void)arg;
	shared->victim = (pid_t)syscall(SYS_getpid);
	for (;;)
		(void)wrong(64);
	return 0;
}

static pid_t by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		run_on(NULL);
	return pid;
}

/* Not waited for by the kernel, so the parent runs on beside it. */
static pid_t by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	return clone(run_on, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
}

static void rounds(pid_t (*start)(void), const char *name)
{
	uint32_t bad = 0, killed = 0;
	int status;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = start();

		bad += wrong(50);
		killed += waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
			  WTERMSIG(status) == SIGKILL;
		bad += wrong(50);
	}
	printf("%s: ", name);
	CHECK(killed == ROUNDS, "each child was killed");
	printf("%s: ", name);
	CHECK(!bad, "results of the parent");
}

static void *other(void *arg)
{
	for (uint32_t i = 0; !other_stop; i++) {
		other_bad += call(i * 7919u) != i * 7919u % FNS;
		other_ran++;
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	pid_t pid;

	make_code();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 2;
	pid = fork();
	if (!pid)
		killer();
	rounds(by_vfork, "vfork");
	rounds(by_clone, "clone");
	if (pthread_create(&t, NULL, other, NULL))
		return 2;
	rounds(by_vfork, "vfork beside a thread");
	rounds(by_clone, "clone beside a thread");
	other_stop = 1;
	pthread_join(t, NULL);
	CHECK(other_ran && !other_bad, "results of the thread");
	shared->stop = 1;
	waitpid(pid, NULL, 0);
	return task_failed;
}
