/* SPDX-License-Identifier: MIT */
/*
 * What the kernel can show of perf_event_open without a PMU: each line is the same natively and in a
 * session.  The argument names the part.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"

static struct perf_event_attr soft(uint64_t config)
{
	struct perf_event_attr attr = perf_run_attr(config);

	attr.type = PERF_TYPE_SOFTWARE;
	return attr;
}

static int open_full(struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static void show(const char *what, int fd)
{
	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "ok");
	if (fd >= 0)
		close(fd);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	while (!pid)
		pause();
	return pid;
}

/* --- who, where, in which group, with which flags */

static void args(void)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY), inherit = a, clock = a, first = a;
	int leader = open_full(&a, 0, -1, -1, 0), member = open_full(&a, 0, -1, leader, 0);
	int on_cpu = open_full(&a, -1, 0, -1, 0), null = open("/dev/null", O_RDWR);
	pid_t child = sleeper();

	show("pid -2", open_full(&a, -2, -1, -1, 0));
	show("pid -2 on a CPU", open_full(&a, -2, 0, -1, 0));
	show("pid -1", open_full(&a, -1, -1, -1, 0));
	show("no such pid", open_full(&a, 0x3fffffff, -1, -1, 0));
	show("the child", open_full(&a, child, -1, -1, 0));
	show("the child on a CPU", open_full(&a, child, 0, -1, 0));
	show("cpu -2", open_full(&a, 0, -2, -1, 0));
	show("cpu 100000", open_full(&a, 0, 100000, -1, 0));
	show("cpu 100000 of all", open_full(&a, -1, 100000, -1, 0));
	show("in a group", open_full(&a, 0, -1, leader, 0));
	show("in a member's group", open_full(&a, 0, -1, member, 0));
	show("in a group of a CPU", open_full(&a, 0, -1, on_cpu, 0));
	show("in a group of a CPU, there", open_full(&a, 0, 0, on_cpu, 0));
	show("another CPU in it", open_full(&a, -1, 1, on_cpu, 0));
	show("the child in my group", open_full(&a, child, -1, leader, 0));
	show("in a group of no event", open_full(&a, 0, -1, null, 0));
	show("in a group of nothing", open_full(&a, 0, -1, 999, 0));
	first.pinned = 1;
	show("a pinned leader", open_full(&first, 0, -1, -1, 0));
	show("a pinned member", open_full(&first, 0, -1, leader, 0));
	first = a;
	first.exclusive = 1;
	show("an exclusive leader", open_full(&first, 0, -1, -1, 0));
	show("an exclusive member", open_full(&first, 0, -1, leader, 0));
	inherit.inherit = 1;
	show("an inherited member", open_full(&inherit, 0, -1, leader, 0));
	inherit.read_format = PERF_FORMAT_GROUP;
	show("inherited, read as a group", open_full(&inherit, 0, -1, -1, 0));
	inherit.sample_type = PERF_SAMPLE_READ;
	show("inherited, sampled reads", open_full(&inherit, 0, -1, -1, 0));
	inherit.sample_type |= PERF_SAMPLE_TID;
	show("inherited, sampled reads with ids", open_full(&inherit, 0, -1, -1, 0));
	clock.use_clockid = 1;
	clock.clockid = 1;
	show("a clock", open_full(&clock, 0, -1, -1, 0));
	show("a clock in a group of none", open_full(&clock, 0, -1, leader, 0));
	clock.clockid = 2;
	show("a clock of CPU time", open_full(&clock, 0, -1, -1, 0));
	for (int i = 4; i < 64; i += 7)
		show("unknown flags", open_full(&a, 0, -1, -1, 1UL << i));
	show("no group", open_full(&a, 0, -1, leader, PERF_FLAG_FD_NO_GROUP));
	show("no group of no event", open_full(&a, 0, -1, null, PERF_FLAG_FD_NO_GROUP));
	show("output to nowhere", open_full(&a, 0, -1, -1, PERF_FLAG_FD_OUTPUT));
	show("output to no buffer", open_full(&a, 0, -1, leader, PERF_FLAG_FD_OUTPUT));
	show("a cgroup of all", open_full(&a, -1, 0, -1, PERF_FLAG_PID_CGROUP));
	show("a cgroup everywhere", open_full(&a, null, -1, -1, PERF_FLAG_PID_CGROUP));
	show("no cgroup", open_full(&a, null, 0, -1, PERF_FLAG_PID_CGROUP));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	show("a reaped child", open_full(&a, child, -1, -1, 0));
}

/* --- what samples would carry: checked although nothing is sampled */

static void shown(const char *what, uint64_t n, struct perf_event_attr *attr)
{
	printf("%s %llx: ", what, (unsigned long long)n);
	show("open", open_full(attr, 0, -1, -1, 0));
}

static void samples(void)
{
	static const uint64_t stacks[] = { 0, 8, 12, 65528, 65532, 65535, 65536, 1ULL << 31 };
	static const uint16_t depths[] = { 0, 1, 127, 128, 65535 };

	for (int i = 0; i < 64; i++) {
		struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);

		a.sample_type = PERF_SAMPLE_REGS_USER;
		a.sample_regs_user = 1ULL << i;
		if (i < 32) /* registers above are of some CPUs only */
			shown("user register", a.sample_regs_user, &a);
		a.sample_type = PERF_SAMPLE_REGS_INTR;
		a.sample_regs_intr = 1ULL << i;
		if (i < 32)
			shown("register", a.sample_regs_intr, &a);
		a = soft(PERF_COUNT_SW_DUMMY);
		a.sample_type = PERF_SAMPLE_BRANCH_STACK;
		a.branch_sample_type = 1ULL << i;
		if (i < 18 || i > 24) /* those between are newer than some kernels */
			shown("branches", a.branch_sample_type, &a);
		a = soft(PERF_COUNT_SW_DUMMY);
		a.read_format = 1ULL << i;
		if (i < 4 || i > 10)
			shown("read format", a.read_format, &a);
	}
	for (unsigned int i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);

		a.sample_type = PERF_SAMPLE_STACK_USER;
		a.sample_stack_user = (uint32_t)stacks[i];
		shown("stack", stacks[i], &a);
	}
	for (unsigned int i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);

		a.sample_type = PERF_SAMPLE_CALLCHAIN;
		a.sample_max_stack = depths[i];
		shown("depth", depths[i], &a);
	}
}

/* --- a group of another task, read as a whole */

static void groups(void)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_TASK_CLOCK);
	uint64_t v[7], id[2] = { 0, 0 };
	int go[2], leader, member;
	pid_t child;
	char c;

	if (pipe(go))
		exit(2);
	child = fork();
	if (!child) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		perf_run_work(100000);
		_exit(0);
	}
	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING;
	leader = open_full(&a, child, -1, -1, 0);
	a.config = PERF_COUNT_SW_DUMMY;
	member = open_full(&a, child, -1, leader, 0);
	ioctl(leader, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(member, PERF_EVENT_IOC_ID, &id[1]);
	if (write(go[1], "", 1) != 1)
		exit(2);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 2; i++) {
		ssize_t n = read(i ? member : leader, v, sizeof(v));

		printf("%d bytes, nr %d, times %s, counts %s, ids %s\n", (int)n, (int)v[0],
		       v[1] && v[1] == v[2] ? "equal" : "differ", v[3] && !v[5] ? "right" : "wrong",
		       v[4] == id[0] && v[6] == id[1] ? "right" : "wrong");
	}
	printf("short: %d\n", (int)read(leader, v, sizeof(v) - 1));
}

/* --- RESET takes the count and leaves the times */

static void resets(void)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_TASK_CLOCK);
	uint64_t v[3], w[3];
	int fd;

	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_full(&a, 0, -1, -1, 0);
	perf_run_work(1000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, v, sizeof(v)) != sizeof(v))
		exit(2);
	perf_run_work(1000000);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	if (read(fd, w, sizeof(w)) != sizeof(w))
		exit(2);
	printf("count %d then %d, enabled %s, running %s\n", v[0] != 0, w[0] != 0,
	       v[1] && v[1] == w[1] ? "stays" : "changes",
	       v[2] && v[2] == w[2] ? "stays" : "changes");
}

/* --- software events that the kernel alone can count */

static uint64_t faults_of(int fd, size_t pages)
{
	size_t size = pages * 4096;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before;

	madvise((void *)p, size, MADV_NOHUGEPAGE);
	before = perf_run_read(fd);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	before = perf_run_read(fd) - before;
	munmap((void *)p, size);
	return before;
}

static void software(void)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS);
	int faults, minor, major, switches, hidden, rare[2];

	a.exclude_kernel = 0;
	faults = open_full(&a, 0, -1, -1, 0);
	a.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	minor = open_full(&a, 0, -1, -1, 0);
	a.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	major = open_full(&a, 0, -1, -1, 0);
	faults_of(faults, 10);
	faults_of(minor, 10);
	printf("faults %d, minor %d, major %d\n",
	       (int)(faults_of(faults, 74) - faults_of(faults, 10)),
	       (int)(faults_of(minor, 74) - faults_of(minor, 10)), (int)faults_of(major, 64));
	a.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	switches = open_full(&a, 0, -1, -1, 0);
	a.exclude_kernel = 1;
	hidden = open_full(&a, 0, -1, -1, 0);
	/* a sleep whose time is over before it begins is none */
	for (int i = 0; i < 60; i++)
		usleep(100);
	printf("switches %d, without the kernel %d\n", perf_run_read(switches) >= 20,
	       (int)perf_run_read(hidden));
	a.config = PERF_COUNT_SW_ALIGNMENT_FAULTS;
	rare[0] = open_full(&a, 0, -1, -1, 0);
	a.config = PERF_COUNT_SW_EMULATION_FAULTS;
	rare[1] = open_full(&a, 0, -1, -1, 0);
	printf("alignment %d, emulation %d\n", (int)perf_run_read(rare[0]),
	       (int)perf_run_read(rare[1]));
}

/* --- how much may be mapped: perf_event_mlock_kb per CPU, then RLIMIT_MEMLOCK */

static void mlocked(void)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);

	for (int maps = 0; maps < 40; maps++) {
		void *p = mmap(NULL, 65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			       open_full(&a, 0, -1, -1, 0), 0);

		if (p == MAP_FAILED) {
			printf("mapping %d: %s\n", maps, strerrorname_np(errno));
			break;
		}
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "args", args },	   { "samples", samples },   { "groups", groups },
		      { "reset", resets }, { "software", software }, { "mlock", mlocked } };

	if (argc == 3) { /* a task of somebody else's, outside the session */
		struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);

		show(argv[1], open_full(&a, atoi(argv[2]), -1, -1, 0));
		return 0;
	}
	for (unsigned int i = 0; argc == 2 && i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(argv[1], parts[i].name))
			continue;
		parts[i].run();
		return 0;
	}
	return 2;
}
