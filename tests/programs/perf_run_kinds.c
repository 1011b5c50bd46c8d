/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Events of kinds that nobody has counted yet, opened in the middle: on oneself, and on a thread
 * or a process that sits in a loop all the time and makes no system call.  All they do from there on is
 * counted, to the instruction.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

/* config1 of the cpu PMU */
#define LOADS	  9
#define STORES	  10
#define REPS	  12
#define FP_DOUBLE 15

#define LESS 1000
#define MORE 31000

#define ROUNDS 60 /* the last one counts */

struct shared {
	atomic_int tid, round, go, done, end;
};

static struct shared *shared;

static int open_kind(int number, pid_t pid)
{
	struct perf_event_attr attr = perf_run_attr(0);

	attr.type = PERF_TYPE_RAW;
	attr.config1 = (uint64_t)number;
	attr.disabled = pid == 0;
	return perf_run_open(&attr, pid, -1, -1);
}

/* n of each: loads, stores, iterations, operations on doubles, in a loop without a call */
static void work(uint64_t n)
{
	char buf[8], *to;
	uint64_t word = 0, one;

	__asm__ volatile("1:\n"
			 "mov %[word], %[one]\n"
			 "addsd %%xmm0, %%xmm0\n"
			 "mov $1, %%ecx\n"
			 "lea %[buf], %[to]\n"
			 "rep stosb\n"
			 "dec %[n]\n"
			 "jnz 1b\n"
			 : [n] "+r"(n), [one] "=&r"(one), [to] "=&D"(to), [buf] "=m"(buf)
			 : [word] "m"(word)
			 : "rcx", "xmm0", "cc", "memory");
}

static uint64_t on_self(int number, uint64_t n)
{
	int fd = open_kind(number, 0);
	uint64_t v;

	if (fd < 0)
		return ~0ULL;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	v = perf_run_read(fd);
	close(fd);
	return v;
}

static void test_self(const char *name, int number)
{
	uint64_t less = on_self(number, LESS), more = on_self(number, MORE);

	CHECK(more - less == MORE - LESS, name);
	if (task_failed)
		fprintf(stderr, "%llu and %llu\n", (unsigned long long)less,
			(unsigned long long)more);
}

/*
 * Loads until it may go; then n stores, one more to say so, and no further ones.  In assembly, so that
 * nothing else is stored.
 */
__attribute__((noinline)) static void spin_and_store(uint64_t n)
{
	uint64_t word = 0;

	__asm__ volatile("1: pause\n"
			 "cmpl $0, %[go]\n"
			 "je 1b\n"
			 "2: mov %[n], %[word]\n"
			 "dec %[n]\n"
			 "jnz 2b\n"
			 "movl $1, %[done]\n"
			 "3: pause\n"
			 "cmpl $0, %[end]\n"
			 "je 3b\n"
			 : [n] "+r"(n), [word] "=m"(word), [done] "=m"(shared->done)
			 : [go] "m"(shared->go), [end] "m"(shared->end)
			 : "cc", "memory");
}

/* All its ways have been gone before it counts, so that nothing has to be translated then. */
static void be_counted(int tid)
{
	for (int round = 1; round <= ROUNDS; round++) {
		shared->go = shared->end = shared->done = 0;
		shared->tid = tid;
		shared->round = round;
		spin_and_store(MORE);
	}
}

static void *thread(void *unused)
{
	(void)unused;
	be_counted((int)syscall(SYS_gettid));
	return NULL;
}

/* One round; it is in its loop by then, more often than not. */
static void await_round(int round)
{
	while (shared->round != round)
		usleep(200);
	usleep(2000);
}

static void let_store(void)
{
	shared->go = 1;
	while (!shared->done)
		usleep(200);
	usleep(2000);
}

static void count_other(const char *name)
{
	int fd;

	for (int round = 1; round < ROUNDS; round++) {
		await_round(round);
		let_store();
		shared->end = 1;
	}
	await_round(ROUNDS);
	fd = open_kind(STORES, shared->tid);
	let_store();
	CHECK(perf_run_read(fd) == MORE + 1, name);
	if (task_failed)
		fprintf(stderr, "%llu\n", (unsigned long long)perf_run_read(fd));
	shared->end = 1;
	close(fd);
}

static void test_thread(void)
{
	pthread_t t;

	memset(shared, 0, sizeof(*shared));
	pthread_create(&t, NULL, thread, NULL);
	count_other("a thread");
	pthread_join(t, NULL);
}

static void test_process(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid) {
		be_counted((int)getpid());
		_exit(0);
	}
	count_other("a process");
	waitpid(pid, NULL, 0);
}

/* With an argument on a process: what is counted once is counted everywhere. */
int main(int argc, char **argv)
{
	(void)argv;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1) {
		test_process();
		return task_failed;
	}
	test_thread();
	test_self("loads of oneself", LOADS);
	test_self("iterations of oneself", REPS);
	test_self("operations of oneself", FP_DOUBLE);
	return task_failed;
}
