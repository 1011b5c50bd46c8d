/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Three threads that open, read and close an event again and again, whether they may or not: in a session one of them waits for
 * an answer at nearly any time.  Says "ready", ends with 9 when it can read a byte.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3

static bool is_over;

static void *ask(void *unused)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	uint64_t count;

	(void)unused;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

		if (fd < 0)
			continue;
		/* of an event whose session has been left there is nothing to read */
		(void)!read(fd, &count, sizeof(count));
		close(fd);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char byte;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, ask, NULL))
			return 1;
	fprintf(stderr, "ready\n");
	while (read(0, &byte, 1) < 0)
		;
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 9;
}
