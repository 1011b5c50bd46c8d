/* FLAGS: -O1 -pthread */
/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints come and go while a thread is sampled with its branches, on and off: its code is made anew at any
 * place of a walk to a sample.  It goes on, and all that was executed is counted.
 *
 * usage: sample_switch ROUNDS
 */
#include <linux/hw_breakpoint.h>
#include <pthread.h>

#include "sample.h"

static volatile int over;
static pid_t tid;
static volatile long sink;

__attribute__((noinline, noclone)) static void watched(void)
{
	sink += 2;
}

static void *work(void *arg)
{
	__atomic_store_n(&tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!over)
		for (long i = 0; i < 100; i++)
			sink += i & 3 ? i : -i;
	return arg;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.sample_period = 2011,
					.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
					.branch_sample_type =
						PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	struct perf_event_attr point = { .type = PERF_TYPE_BREAKPOINT,
					 .bp_type = HW_BREAKPOINT_X,
					 .bp_addr = (uint64_t)(uintptr_t)watched,
					 .bp_len = sizeof(long),
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
	long n = argc > 1 ? atol(argv[1]) : 1000;
	pthread_t thread;
	struct ring r;
	int fd;

	pthread_create(&thread, NULL, work, NULL);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(100);
	fd = sample_open(&attr, tid, -1, -1);
	if (fd < 0) {
		printf("cannot open: %s\n", strerror(errno));
		return 1;
	}
	map_or_die(&r, fd, 8, PROT_READ);
	for (long i = 0; i < n; i++) {
		int b = sample_open(&point, tid, -1, -1);

		if (b < 0) {
			printf("cannot open: %s\n", strerror(errno));
			return 1;
		}
		ioctl(fd, i & 1 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		close(b);
	}
	over = 1;
	pthread_join(thread, NULL);
	printf("%d\n", sample_count(fd) > 0);
	return 0;
}
