/* SPDX-License-Identifier: MIT */
/*
 * The conversion of the time stamp counter that a control page publishes: natively the kernel's own
 * clock, whatever it begins with; in a session CLOCK_MONOTONIC.  "session" checks the latter.  77: no
 * page here tells it.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLACK_NS 5000000 /* far more than clocks drift apart, far less than any wrong conversion */
#define TRIES	 1000

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* As perf_event_open(2) has it. */
static uint64_t converted(const volatile struct perf_event_mmap_page *pc)
{
	uint64_t cyc = __builtin_ia32_rdtsc(), quot = cyc >> pc->time_shift;
	uint64_t rem = cyc & (((uint64_t)1 << pc->time_shift) - 1);

	return pc->time_zero + quot * pc->time_mult + ((rem * pc->time_mult) >> pc->time_shift);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1 };
	int is_session = argc > 1 && !strcmp(argv[1], "session");
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	const volatile struct perf_event_mmap_page *pc;
	uint64_t last = 0, before, now, after;

	if (fd < 0)
		return 77;
	pc = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (pc == MAP_FAILED || !pc->cap_user_time_zero)
		return 77;
	for (int i = 0; i < TRIES; i++) {
		before = monotonic();
		now = converted(pc);
		after = monotonic();
		if (now < last)
			return puts("FAILED: time goes backwards"), 1;
		last = now;
		if (is_session && (now + SLACK_NS < before || now > after + SLACK_NS))
			return printf("FAILED: %ld ns off\n", (long)(now - before)), 1;
	}
	puts("the page tells the time of records");
	return 0;
}
