/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Models are there while an event wants them, and not before or after: each thread that is fed has a log and
 * caches of its own, so that a new thread takes more memory then.  Switched on again they count what happens.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define STACK  (256UL << 10)
#define LOG    (128UL << 10) /* of each thread, at least */
#define LINES  16384
#define TRIES  500
#define TRY_US 10000

static char *stack;
static long in_thread;
static volatile char area[LINES * 64];

/* KiB of address space */
static long vm_size(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *at;

	close(fd);
	if (n < 0)
		return -1;
	text[n] = 0;
	at = strstr(text, "VmSize:");
	return at ? atol(at + 7) : -1;
}

static void *thread(void *arg)
{
	(void)arg;
	in_thread = vm_size();
	return NULL;
}

static long growth(void)
{
	long before = vm_size();
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&t, &attr, thread, NULL))
		exit(2);
	pthread_join(t, NULL);
	return (in_thread - before) * 1024;
}

static bool is_fed(long plain)
{
	return growth() >= plain + (long)LOG;
}

static int open_misses(bool disabled)
{
	struct perf_event_attr attr =
		perf_run_attr(PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
			      PERF_COUNT_HW_CACHE_RESULT_MISS << 16);

	attr.type = PERF_TYPE_HW_CACHE;
	attr.disabled = disabled;
	return perf_run_open(&attr, 0, -1, -1);
}

static uint64_t walked(int fd)
{
	uint64_t before = perf_run_read(fd);

	for (unsigned i = 0; i < LINES; i++)
		(void)area[(i * 5003 & (LINES - 1)) * 64]; /* not ahead of any prefetcher */
	return perf_run_read(fd) - before;
}

int main(void)
{
	uint64_t n = 0;
	bool fed = true;
	long plain;
	int fd;

	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset((char *)area, 1, sizeof(area));
	growth();
	plain = growth();
	for (int round = 0; round < 3; round++) {
		fd = open_misses(round == 1);
		CHECK(fd >= 0, "opened");
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		CHECK(is_fed(plain), "a thread is fed while the event is there");
		n = walked(fd);
		CHECK(n >= LINES && n < LINES + LINES / 10, "and its misses are counted");
		close(fd);
		fed = true;
		for (int i = 0; fed && i < TRIES; i++) {
			usleep(TRY_US);
			fed = is_fed(plain);
		}
		CHECK(!fed, "and not when it is closed");
	}
	return task_failed;
}
