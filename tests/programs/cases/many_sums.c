/* SPDX-License-Identifier: MIT */
/*
 * Sampling by many different exact sums in one session, one after the other: the kernel gives a counter back when its event
 * is closed.  Here code counts eight sums down, and a ninth gets the place of one that nobody samples any more; all of
 * them at once are ENOSPC.  Each event has count / period samples.
 */
/* CASE: session -- */
/* CASE: session --stress requests -- */
#include "check.h"
#define PERIOD 100
#define ROUNDS 4000
#define NSUMS  11
static char buf[65536];

/* config1 of cpu/anyperf=N/ of what a round has at least one of: anyperf-list(1). */
static const int sums[NSUMS] = { 0x3, 0x4, 0x5, 0x6, 0x7, 0x9, 0xa, 0xb, 0xf, 0x10, 0x39 };

/* Loads, stores, branches of each class, arithmetic. */
__attribute__((noinline, noclone)) static void work(u64 n)
{
	double d = 0;
	float f = 0;

	__asm__ volatile("1:	call 3f\n"
			 "	cmp $-1, %0\n"
			 "	je 1b\n"
			 "	lea 2f(%%rip), %%rax\n"
			 "	push %%rax\n"
			 "	pop %%rdx\n"
			 "	jmp *%%rdx\n"
			 "2:	addsd %1, %1\n"
			 "	mulss %2, %2\n"
			 "	dec %0\n"
			 "	jnz 1b\n"
			 "	jmp 4f\n"
			 "3:	ret\n"
			 "4:"
			 : "+r"(n), "+x"(d), "+x"(f)
			 :
			 : "rax", "rdx", "cc", "memory");
}

static int open_sum(u32 k, pid_t tid)
{
	struct perf_event_attr a = A(PERF_TYPE_RAW, 0);

	a.config1 = (u64)sums[k];
	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_TID;
	return peo(&a, tid, -1, -1, 0);
}

static u64 samples(struct ring *r)
{
	u64 n = 0;

	while (rnext(r, buf))
		n += ((struct perf_event_header *)buf)->type == PERF_RECORD_SAMPLE;
	return n;
}

/* The same work gives the same count each time, and a sample for each period of it. */
static void one_after_the_other(void)
{
	u64 first[NSUMS] = { 0 };

	for (u32 i = 0; i < 3 * NSUMS; i++) {
		u32 k = i < 2 * NSUMS ? i % NSUMS : 3 * NSUMS - 1 - i;
		struct ring r = { 0 };
		int fd = open_sum(k, 0);
		u64 n, count;

		if (fd < 0 || rmap(&r, fd, 16, RW)) {
			CHECK(0, "sum %#x: %s", sums[k], strerror(errno));
			continue;
		}
		EN(fd);
		work(ROUNDS);
		DIS(fd);
		n = samples(&r);
		count = rd(fd);
		if (i < NSUMS)
			first[k] = count;
		CHECK(n && n == count / PERIOD && count == first[k],
		      "sum %#x: %llu samples of %llu", sums[k], (unsigned long long)n,
		      (unsigned long long)count);
		munmap(r.pg, 17 * 4096);
		close(fd);
	}
}

static volatile int stop, tid;

static void *spinner(void *arg)
{
	tid = (int)syscall(SYS_gettid);
	while (!stop)
		work(100);
	return arg;
}

/* A thread that never leaves its code of itself: its samples begin. */
static void of_another(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, spinner, NULL))
		exit(3);
	while (!tid)
		sched_yield();
	for (u32 k = 0; k < NSUMS; k++) {
		struct ring r = { 0 };
		int fd = open_sum(k, tid);
		u64 n = 0;

		if (fd < 0 || rmap(&r, fd, 64, RW)) {
			CHECK(0, "sum %#x of a thread: %s", sums[k], strerror(errno));
			continue;
		}
		EN(fd);
		do
			n += samples(&r);
		while (n < 3);
		CHECK(rd(fd) >= PERIOD, "sum %#x of a thread that is in old code", sums[k]);
		munmap(r.pg, 65 * 4096);
		close(fd);
	}
	stop = 1;
	pthread_join(t, NULL);
}

static void all_at_once(void)
{
	int fd[NSUMS], got = 0;

	for (u32 k = 0; k < NSUMS; k++) {
		fd[k] = open_sum(k, 0);
		got += fd[k] >= 0;
		if (fd[k] < 0)
			CHECK(errno == ENOSPC, "no more than there are: %s", strerror(errno));
	}
	CHECK(got >= 7, "%d at once", got);
	for (u32 k = 0; k < NSUMS; k++)
		if (fd[k] >= 0)
			close(fd[k]);
	fd[0] = open_sum(NSUMS - 1, 0);
	CHECK(fd[0] >= 0, "and each of them again");
}

int main(void)
{
	one_after_the_other();
	of_another();
	all_at_once();
	return done();
}
