/* SPDX-License-Identifier: MIT */
/*
 * Loops of three to twenty instructions that read memory, and the cycles that each takes on the machine of the models:
 *
 *	sample_loops PERIOD	0: counted, not sampled
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 20000UL
#define EACH(f)                                                                                    \
	f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)      \
		f(16) f(17)

static volatile uint64_t word;

/* one load, as many additions that do not wait for each other, and the branch */
#define LOOP(n)                                                                                    \
	static void loop_##n(void)                                                                 \
	{                                                                                          \
		uint64_t left = ROUNDS;                                                            \
		__asm__ volatile("1: mov %1, %%rax\n"                                              \
				 ".rept " #n "\n lea 1(%%rax), %%rdx\n .endr\n"                    \
				 "dec %0\n jnz 1b\n"                                               \
				 : "+r"(left)                                                      \
				 : "m"(word)                                                       \
				 : "rax", "rdx", "cc");                                            \
	}
EACH(LOOP)

#define NAME(n) loop_##n,
static void (*const loops[])(void) = { EACH(NAME) };

static int open_cycles(uint64_t period)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = period;
	attr.sample_type = period ? PERF_SAMPLE_IP : 0;
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

int main(int argc, char **argv)
{
	int fd = open_cycles(argc > 1 ? strtoul(argv[1], NULL, 0) : 0);
	uint64_t cycles;

	if (fd < 0) {
		perror("perf_event_open");
		return 1;
	}
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		loops[i]();
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		loops[i]();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(fd, &cycles, sizeof(cycles)) != (ssize_t)sizeof(cycles))
			return 1;
		printf("%zu %lu\n", i + 3, (unsigned long)cycles);
	}
	return 0;
}
