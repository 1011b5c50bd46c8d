/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Random calls on perf events: attrs from nearly right to garbage, targets, groups, ioctls, mappings
 * that are scribbled over, duplicates, forks and kills in between.  Nothing may hang or die, and from time
 * to time a fresh event must count a known loop to the instruction.
 *
 *	perf_fuzz SEED OPERATIONS
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "perf_run.h"
#include "random.h"

#define FDS   48
#define MAPS  12
#define PAGE  4096UL
#define CHECK 256 /* operations between two checks */

static int fds[FDS];
static struct {
	char *at;
	size_t size;
	int prot;
} maps[MAPS];
static pid_t child, thread_tid;
static unsigned long opened, checks, failed_checks;

static int some_fd(void)
{
	uint32_t k = below(FDS + 3);

	return k < FDS ? fds[k] : k == FDS ? -1 : (int)below(3);
}

static void garble(struct perf_event_attr *attr)
{
	unsigned char *bytes = (unsigned char *)attr;
	uint32_t n = below(4);

	while (n--) {
		if (below(2))
			bytes[below(sizeof(*attr))] ^= (unsigned char)(1U << below(8));
		else
			((uint64_t *)attr)[below(sizeof(*attr) / 8)] = any_number();
	}
}

static struct perf_event_attr some_attr(void)
{
	static const uint8_t types[] = { 0, 0, 0, 1, 1, 4, 4, 5, 2, 3, 6, 7 };
	static const uint8_t hardware[] = { 1, 1, 4, 4, 0, 5 };
	struct perf_event_attr attr = perf_run_attr(0);

	attr.type = types[below(sizeof(types))];
	attr.config = attr.type == PERF_TYPE_HARDWARE ? hardware[below(6)] : below(12);
	attr.disabled = below(2);
	attr.inherit = !below(3);
	attr.pinned = !below(8);
	attr.exclusive = !below(40);
	attr.enable_on_exec = !below(6);
	attr.read_format = below(4) ? below(32) : 0;
	if (attr.type == PERF_TYPE_BREAKPOINT) {
		attr.bp_type = below(5);
		attr.bp_addr = (uintptr_t)&random_word + below(16);
		attr.bp_len = 1U << below(4);
	}
	if (!below(5)) {
		attr.sample_period = any_number();
		attr.sample_type = any() & any() & 0x1ffffff;
		attr.freq = !below(3);
		attr.wakeup_events = below(3);
		attr.mmap = attr.comm = attr.task = !below(2);
	}
	if (!below(4))
		garble(&attr);
	/* records of nobody's reading, but no signals that would end us */
	attr.sigtrap = 0;
	return attr;
}

static void op_open(void)
{
	struct perf_event_attr attr = some_attr();
	static const int cpus[] = { -1, -1, -1, -1, -1, 0, 1, 99 };
	const pid_t pids[] = { 0, 0, 0, 0, child, thread_tid, -1, 1 };
	uint32_t k = below(FDS);
	int fd = (int)syscall(SYS_perf_event_open, below(64) ? &attr : NULL, pids[below(8)],
			      cpus[below(8)], below(4) ? -1 : some_fd(), below(6) ? 8 : below(32));

	if (fd < 0)
		return;
	opened++;
	if (fds[k] >= 0)
		close(fds[k]);
	fds[k] = fd;
}

static void op_ioctl(void)
{
	static const unsigned long cmds[] = {
		PERF_EVENT_IOC_ENABLE,	   PERF_EVENT_IOC_DISABLE,
		PERF_EVENT_IOC_REFRESH,	   PERF_EVENT_IOC_RESET,
		PERF_EVENT_IOC_PERIOD,	   PERF_EVENT_IOC_SET_OUTPUT,
		PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_ID,
		PERF_EVENT_IOC_SET_BPF,	   PERF_EVENT_IOC_PAUSE_OUTPUT,
		PERF_EVENT_IOC_QUERY_BPF,  PERF_EVENT_IOC_MODIFY_ATTRIBUTES
	};
	/* with room for what QUERY_BPF writes: a garbled command may be one, with up to 64 numbers */
	struct {
		struct perf_event_attr attr;
		uint64_t word, room[1 + 64 / 2];
	} at = { .attr = some_attr(), .word = any_number() };
	unsigned long cmd = cmds[below(12)];
	unsigned long arg;

	switch (below(5)) {
	case 0:
		arg = (unsigned long)&at.attr;
		break;
	case 1:
		arg = (unsigned long)&at.word;
		break;
	case 2:
		arg = (unsigned long)(unsigned int)some_fd();
		break;
	default:
		arg = below(8) ? below(2) : any_number();
	}
	/* what is written goes somewhere harmless */
	if (cmd == PERF_EVENT_IOC_ID || cmd == PERF_EVENT_IOC_QUERY_BPF)
		arg = below(4) ? (unsigned long)&at.attr : 8;
	if (!below(16))
		cmd = 0x2400 | (any() & 0xc0ff00ff);
	ioctl(some_fd(), cmd, arg);
}

static void op_read(void)
{
	char buf[4096];
	int fd = some_fd();

	if (fd > 2 && read(fd, below(32) ? buf : NULL, below(8) ? below(256) : below(4096)) < -1)
		abort();
}

static void op_map(void)
{
	uint32_t k = below(MAPS);
	int prot = PROT_READ | (below(2) ? PROT_WRITE : 0);
	size_t size = (below(8) ? 1 + (1U << below(5)) : below(40)) * PAGE;
	int fd = some_fd();
	char *p;

	if (fd <= 2)
		return;
	if (maps[k].at)
		munmap(maps[k].at, maps[k].size);
	maps[k].at = NULL;
	p = mmap(NULL, size, prot, below(16) ? MAP_SHARED : MAP_PRIVATE, fd,
		 below(16) ? 0 : (off_t)(any_number() * PAGE & 0x7fffffff));
	if (p == MAP_FAILED)
		return;
	maps[k].at = p;
	maps[k].size = size;
	maps[k].prot = prot;
}

static sigjmp_buf no_page;

static void bus(int sig)
{
	siglongjmp(no_page, sig);
}

/* A program may write what it likes to what it has mapped; a kernel lets it write to no page but the first. */
static void op_scribble(void)
{
	uint32_t k = below(MAPS), n = below(64);

	if (!maps[k].at || !(maps[k].prot & PROT_WRITE))
		return;
	signal(SIGBUS, bus);
	if (sigsetjmp(no_page, 1))
		return;
	if (below(2)) { /* the tail, and what is around it */
		((uint64_t *)maps[k].at)[128 + below(6)] = any_number();
		return;
	}
	while (n--)
		((uint64_t *)maps[k].at)[below((uint32_t)(maps[k].size / 8))] = any_number();
}

static void op_fds(void)
{
	uint32_t a = below(FDS), b = below(FDS);
	struct pollfd p = { .fd = some_fd(), .events = POLLIN };

	switch (below(5)) {
	case 0:
		if (fds[a] >= 0)
			close(fds[a]);
		fds[a] = -1;
		break;
	case 1:
		if (fds[a] >= 0 && fds[b] >= 0 && a != b)
			dup2(fds[a], fds[b]);
		break;
	case 2:
		if (fds[a] >= 0 && fds[b] < 0)
			fds[b] = fcntl(fds[a], F_DUPFD_CLOEXEC, 3);
		break;
	case 3:
		poll(&p, 1, 0);
		break;
	default:
		prctl(below(2) ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
	}
}

static void operate(int may_fork);

/* A child with all that is open does some more, and ends in one way or another. */
static void op_fork(int may_fork)
{
	uint32_t how = below(3), n = below(20);
	pid_t pid;

	if (!may_fork)
		return;
	pid = fork();
	if (pid < 0)
		return;
	if (!pid) {
		while (n--)
			operate(0);
		if (how == 1)
			pause();
		_exit(0);
	}
	if (how == 1) {
		usleep(below(300));
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

static void operate(int may_fork)
{
	switch (below(24)) {
	case 0 ... 6:
		op_open();
		break;
	case 7 ... 12:
		op_ioctl();
		break;
	case 13 ... 16:
		op_read();
		break;
	case 17 ... 18:
		op_map();
		break;
	case 19:
		op_scribble();
		break;
	case 20 ... 22:
		op_fds();
		break;
	default:
		if (!below(6))
			op_fork(may_fork);
	}
}

/* False where others had the counters in between: pinned and exclusive groups may. */
static int counted(uint64_t n, uint64_t *count)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	struct {
		uint64_t value, enabled, running;
	} v = { 0 };
	int fd;

	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_run_open(&attr, 0, -1, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_run_work(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &v, sizeof(v)) != sizeof(v))
		perror("a fresh event");
	close(fd);
	*count = v.value;
	return v.running == v.enabled;
}

static void check(unsigned long at)
{
	uint64_t less, more;

	(void)counted(1000, &less);
	if (!counted(1000, &less) || !counted(31000, &more))
		return;
	checks++;
	if (more - less == 60000)
		return;
	failed_checks++;
	fprintf(stderr, "after %lu operations: %llu and %llu\n", at, (unsigned long long)less,
		(unsigned long long)more);
}

static void *idle(void *arg)
{
	thread_tid = (pid_t)syscall(SYS_gettid);
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long n;
	pthread_t thread;

	if (argc != 3)
		return 2;
	random_seed(strtoull(argv[1], NULL, 0));
	n = strtoul(argv[2], NULL, 0);
	for (int i = 0; i < FDS; i++)
		fds[i] = -1;
	signal(SIGIO, SIG_IGN);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	pthread_create(&thread, NULL, idle, NULL);
	for (unsigned long i = 0; i < n; i++) {
		operate(1);
		if (i % CHECK == CHECK - 1)
			check(i);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	fprintf(stderr, "%lu opened, %lu checks\n", opened, checks);
	printf("%lu operations, %lu wrong counts\n", n, failed_checks);
	return failed_checks != 0;
}
