/* SPDX-License-Identifier: MIT */
/*
 * For the programs of this folder: short names for opening events and reading rings, and CHECK, which prints a line and
 * remembers a failure.  A case ends with `return done();`, whose status is 0 when every CHECK held.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef int64_t s64;
typedef uint16_t u16;
static int failed, checks __attribute__((unused));
#define CHECK(c, ...)                                                                              \
	do {                                                                                       \
		checks++;                                                                          \
		if (c)                                                                             \
			printf("ok   ");                                                           \
		else {                                                                             \
			printf("FAIL ");                                                           \
			failed++;                                                                  \
		}                                                                                  \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
	} while (0)
static inline int peo(struct perf_event_attr *a, pid_t pid, int cpu, int grp, unsigned long fl)
{
	return (int)syscall(SYS_perf_event_open, a, pid, cpu, grp, fl);
}

static inline struct perf_event_attr A(u32 type, u64 config) {
	struct perf_event_attr a;
	memset(&a, 0, sizeof a);
	a.size = sizeof a;
	a.type = type;
	a.config = config;
	a.exclude_kernel = 1;
	a.exclude_hv = 1;
	a.disabled = 1;
	return a;
}
#define HWI A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)
#define HWB A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
#define SWT A(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
#define SWD A(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY)
static inline struct perf_event_attr
BPX(void *f) {
	struct perf_event_attr a = A(PERF_TYPE_BREAKPOINT, 0);
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = (u64)f;
	a.bp_len = 8;
	return a;
}

static inline struct perf_event_attr
BPW(void *p, int len, int t) {
	struct perf_event_attr a = A(PERF_TYPE_BREAKPOINT, 0);
	a.bp_type = t;
	a.bp_addr = (u64)p;
	a.bp_len = len;
	return a;
}

static inline int
xo(struct perf_event_attr *a, pid_t pid, int cpu, int grp, unsigned long fl)
{
	int fd = peo(a, pid, cpu, grp, fl);
	if (fd < 0) {
		printf("open failed: type %u config %llx: %s\n", a->type,
		       (unsigned long long)a->config, strerror(errno));
		exit(3);
	}
	return fd;
}

/* Of "group/name". */
static inline int tracepoint_id(const char *name)
{
	char path[200];
	int id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &id) != 1)
		exit(3);
	fclose(f);
	return id;
}

static inline u64 rd(int fd)
{
	u64 v[64] = { 0 };
	if (read(fd, v, sizeof v) < 8) {
		printf("read: %s\n", strerror(errno));
		return ~0ULL;
	}
	return v[0];
}

static inline u64 idof(int fd)
{
	u64 v = 0;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &v))
		return 0;
	return v;
}
/* exactly 2n instructions, n branches, inside */
__attribute__((noinline, noclone, unused)) static void spin(u64 n)
{
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n) : : "cc");
}
struct ring {
	int fd;
	struct perf_event_mmap_page *pg;
	char *data;
	u64 size;
};
static inline int rmap(struct ring *r, int fd, int pages, int prot)
{
	r->fd = fd;
	r->size = 4096UL * pages;
	r->pg = mmap(NULL, 4096UL * (pages + 1), prot, MAP_SHARED, fd, 0);
	if (r->pg == MAP_FAILED) {
		r->pg = NULL;
		return -1;
	}
	r->data = (char *)r->pg + 4096;
	return 0;
}
/* takes the next record; 0 none */
static inline int rnext(struct ring *r, void *buf)
{
	u64 head = __atomic_load_n(&r->pg->data_head, __ATOMIC_ACQUIRE), tail = r->pg->data_tail;
	struct perf_event_header h;
	if (head == tail)
		return 0;
	for (unsigned i = 0; i < sizeof h; i++)
		((char *)&h)[i] = r->data[(tail + i) % r->size];
	if (h.size < 8 || h.size > head - tail) {
		printf("FAIL corrupt record type %u size %u avail %llu\n", h.type, h.size,
		       (unsigned long long)(head - tail));
		failed++;
		__atomic_store_n(&r->pg->data_tail, head, __ATOMIC_RELEASE);
		return 0;
	}
	for (unsigned i = 0; i < h.size; i++)
		((char *)buf)[i] = r->data[(tail + i) % r->size];
	__atomic_store_n(&r->pg->data_tail, tail + h.size, __ATOMIC_RELEASE);
	return h.size;
}

static inline int pollfd(int fd)
{
	struct pollfd p = { fd, POLLIN | POLLPRI | POLLOUT, 0 };
	poll(&p, 1, 0);
	return p.revents;
}

/* An inherited event has a ring only where it is of one CPU: which one. */
static inline int pin(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	return cpu;
}

static inline int done(void)
{
	printf("%d checks, %d failed\n", checks, failed);
	return failed != 0;
}
#define EN(fd)	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)
#define DIS(fd) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0)
#define RW	(PROT_READ | PROT_WRITE)
