/* SPDX-License-Identifier: MIT */
/*
 * The snippets of ioctl and prctl: after each, work is done and each counter has moved or stood.  The
 * argument is "hw" for instructions or "sw" for task-clock, which the kernel can show as well; "refresh" is
 * the one for an overflow counter, of instructions.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"

static struct perf_event_attr attr;
static int leader, member, on_child;
static int to_child[2], from_child[2];

static uint64_t value(int fd)
{
	return perf_run_read(fd);
}

/* The child works, or says what it has counted of its parent. */
static uint64_t ask_child(char what)
{
	uint64_t v = 0;

	if (write(to_child[1], &what, 1) != 1 ||
	    read(from_child[0], &v, sizeof(v)) != (ssize_t)sizeof(v))
		exit(2);
	return v;
}

static void serve_parent(void)
{
	struct perf_event_attr a = attr;
	int fd;
	char c;

	a.disabled = 0;
	fd = perf_run_open(&a, getppid(), -1, -1);
	while (read(to_child[0], &c, 1) == 1) {
		uint64_t v = value(fd);

		if (c == 'w')
			perf_run_work(100000);
		if (write(from_child[1], &v, sizeof(v)) != (ssize_t)sizeof(v))
			break;
	}
	_exit(0);
}

static char moved(char name, uint64_t before, uint64_t after)
{
	return after > before ? name : after == before ? '-' : '?';
}

/* Letters are those who move: leader, member, mine on the child, the child's on me. */
static void show(const char *what, int ret)
{
	int err = errno;
	uint64_t l = value(leader), m = value(member), c = value(on_child), p = ask_child('r');

	perf_run_work(100000);
	ask_child('w');
	printf("%c%c%c%c %s", moved('l', l, value(leader)), moved('m', m, value(member)),
	       moved('c', c, value(on_child)), moved('p', p, ask_child('r')), what);
	printf(" = %d%s%s\n", ret, ret < 0 ? " " : "", ret < 0 ? strerrorname_np(err) : "");
}

#define SHOW(call) show(#call, (int)(call))

static void one_by_one(void)
{
	show("as opened", 0);
	SHOW(ioctl(leader, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(ioctl(member, PERF_EVENT_IOC_DISABLE, 0));
	SHOW(ioctl(member, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(ioctl(leader, PERF_EVENT_IOC_DISABLE, 0));
	SHOW(ioctl(member, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	SHOW(ioctl(member, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	SHOW(ioctl(leader, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
}

static void resets(void)
{
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	SHOW(ioctl(leader, PERF_EVENT_IOC_RESET, 0));
	printf("leader %d, member %d\n", value(leader) != 0, value(member) != 0);
	SHOW(ioctl(member, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	printf("leader %d, member %d\n", value(leader) != 0, value(member) != 0);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static void refusals(void)
{
	uint64_t period = 1000;

	SHOW(ioctl(leader, PERF_EVENT_IOC_REFRESH, 3));
	SHOW(ioctl(leader, PERF_EVENT_IOC_PERIOD, &period));
	SHOW(ioctl(leader, PERF_EVENT_IOC_SET_OUTPUT, leader));
	SHOW(ioctl(leader, PERF_EVENT_IOC_SET_FILTER, "common_pid == 1"));
}

static void all_of_mine(void)
{
	SHOW(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	SHOW(ioctl(leader, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
}

#define PERIOD 10000

/* For so many events it counts, then it is off: of far more work the instructions up to there. */
static int refresh(void)
{
	int fd, ret;

	attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	attr.sample_period = PERIOD;
	attr.disabled = 1;
	fd = perf_run_open(&attr, 0, -1, -1);
	for (int nr = 1; nr <= 3; nr++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ret = ioctl(fd, PERF_EVENT_IOC_REFRESH, nr);
		perf_run_work(100 * PERIOD);
		printf("ioctl(fd, PERF_EVENT_IOC_REFRESH, %d) = %d, counted %llu\n", nr, ret,
		       (unsigned long long)value(fd));
	}
	return 0;
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc == 2 && !strcmp(argv[1], "refresh"))
		return refresh();
	if (argc != 2 || pipe(to_child) || pipe(from_child))
		return 2;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	if (!strcmp(argv[1], "sw")) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	child = fork();
	if (!child)
		serve_parent();
	ask_child('r');
	on_child = perf_run_open(&attr, child, -1, -1);
	attr.disabled = 1;
	leader = perf_run_open(&attr, 0, -1, -1);
	attr.disabled = 0;
	member = perf_run_open(&attr, 0, -1, leader);
	if (on_child < 0 || leader < 0 || member < 0) {
		perror("perf_event_open");
		kill(child, SIGKILL);
		return 1;
	}
	one_by_one();
	resets();
	refusals();
	all_of_mine();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
