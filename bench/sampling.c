/* SPDX-License-Identifier: MIT */
/*
 * sampling PERIOD INSTRUCTIONS: one thread that samples itself into a ring buffer that overwrites itself
 * (nobody reads, so nothing is lost): sample_type IP, TID, TIME, PERIOD.  Prints samples, CPU seconds.
 * PERIOD 0 counts only.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 128 /* 512 KiB */

static double cpu_seconds(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* Six instructions a round. */
__attribute__((noinline)) static uint64_t work(uint64_t rounds)
{
	uint64_t a = 1, b = 2;

	__asm__ volatile("1: lea (%0, %1), %0\n"
			 "imul $3, %1, %1\n"
			 "xor %0, %1\n"
			 "add $7, %0\n"
			 "dec %2\n"
			 "jnz 1b"
			 : "+r"(a), "+r"(b), "+r"(rounds)
			 :
			 : "cc");
	return a + b;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr;
	uint64_t period, instructions, count = 0;
	double begun;
	int fd;

	if (argc != 3)
		return 2;
	period = strtoull(argv[1], NULL, 10);
	instructions = strtoull(argv[2], NULL, 10);
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = UINT32_MAX / 2;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0) {
		perror("perf_event_open");
		return 1;
	}
	if (period && mmap(NULL, (1 + PAGES) * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			   fd, 0) == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work(100000);
	begun = cpu_seconds();
	work(instructions / 6);
	begun = cpu_seconds() - begun;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return 1;
	printf("%.0f %.4f\n", period ? (double)(instructions / period) : 0.0, begun);
	return count < instructions;
}
