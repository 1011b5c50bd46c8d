/* SPDX-License-Identifier: MIT */
/*
 * For the perf_run_*.c programs: opening events, and work of a known size.
 */
#ifndef PERF_RUN_H
#define PERF_RUN_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline struct perf_event_attr perf_run_attr(uint64_t config)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.size = sizeof(attr);
	attr.config = config;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

static inline int perf_run_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static inline uint64_t perf_run_read(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) == sizeof(v) ? v : ~0ULL;
}

/* 2n instructions of which n are branches, and some that do not depend on n. */
static inline void perf_run_work(uint64_t n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

#endif
