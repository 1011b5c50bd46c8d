/* SPDX-License-Identifier: MIT */
/*
 * Switches and reads its own events in every order, and has others do so, and holds each count to a
 * model.  A random script is run twice, the second time with more work in a loop of known length: all
 * else is executed alike, so the two counts of a read differ by exactly the work that was done while
 * the event was on.  Prints what it read the first time, which must not depend on who serves it.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS 6 /* alone: 4, of which one is pinned; then a group of 2 */
#define STEPS  4000
#define READS  (STEPS * (EVENTS + 1))

static int fds[EVENTS], to_other[2], to_us[2];
static uint64_t seen[2][READS];
static unsigned int nseen, run, bad;
static struct model {
	int enabled;
	uint64_t count;
} model[EVENTS];
static uint64_t want[READS];

static uint64_t seed;
static unsigned int rnd(unsigned int n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(seed >> 33) % n;
}

/* 2 n instructions, n of them branches, n >= 1 */
static void work(unsigned long n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

static long per_turn(int i)
{
	return i % 2 ? 1 : 2;
}

static int open_one(int i, pid_t pid, int group)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = i % 2 ? PERF_COUNT_HW_BRANCH_INSTRUCTIONS
							: PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1,
					.pinned = i == 3 };
	int fd;

	if (i >= 4)
		attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, group, 0);
	if (fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	return fd;
}

static void note(uint64_t value, uint64_t expected)
{
	seen[run][nseen] = value;
	want[nseen++] = expected;
}

/* --- one operation, by whichever thread */

enum op { ENABLE, DISABLE, RESET, READ, OPS };

static void do_op(enum op op, int i, int group, uint64_t out[8])
{
	static const unsigned long cmd[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,
					     PERF_EVENT_IOC_RESET };

	if (op == READ)
		(void)!read(fds[i], out, 64);
	else
		ioctl(fds[i], cmd[op], group ? PERF_IOC_FLAG_GROUP : 0);
}

static struct {
	enum op op;
	int i, group;
	uint64_t out[8];
} order;

/* Until the thread that is counted sleeps, and does not count any more. */
static void wait_for_sleep(pid_t pid)
{
	char name[64], text[256];
	const char *p;
	FILE *f;
	size_t n;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
	do {
		f = fopen(name, "r");
		n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
		if (f)
			fclose(f);
		text[n] = 0;
		p = strrchr(text, ')');
	} while (p && p[2] != 'S');
}

static void *other(void *unused)
{
	char c;

	(void)unused;
	while (read(to_other[0], &c, 1) == 1 && c) {
		wait_for_sleep(getpid());
		do_op(order.op, order.i, order.group, order.out);
		(void)!write(to_us[1], &c, 1);
	}
	return NULL;
}

static void have_done(int by_other, enum op op, int i, int group, uint64_t out[8])
{
	char c = 1;

	if (!by_other) {
		do_op(op, i, group, out);
		return;
	}
	order.op = op;
	order.i = i;
	order.group = group;
	(void)!write(to_other[1], &c, 1);
	(void)!read(to_us[0], &c, 1);
	memcpy(out, order.out, 64);
}

/* A child that has the descriptors and is none of the events' tasks. */
static void have_read_by_child(int i, uint64_t out[8])
{
	int p[2], status;
	pid_t pid;

	if (pipe(p))
		exit(1);
	pid = fork();
	if (!pid) {
		wait_for_sleep(getppid());
		do_op(READ, i, 0, out);
		(void)!write(p[1], out, 64);
		_exit(0);
	}
	(void)!read(p[0], out, 64);
	waitpid(pid, &status, 0);
	close(p[0]);
	close(p[1]);
}

/* --- the model */

static int is_on(int i)
{
	return model[i].enabled && (i != 5 || model[4].enabled);
}

static void model_op(enum op op, int i, int group)
{
	int first = group && i >= 4 ? 4 : i, last = group && i >= 4 ? 5 : i;

	for (int k = first; k <= last; k++) {
		if (op == RESET)
			model[k].count = 0;
		else if (op != READ)
			model[k].enabled = op == ENABLE;
	}
}

static void model_read(int i, const uint64_t out[8])
{
	if (i < 4) {
		note(out[0], model[i].count);
		return;
	}
	note(out[0], 0);
	note(out[1], model[4].count);
	note(out[3], 0);
	note(out[4], model[5].count);
	note(out[6], 0);
}

static void step(unsigned int scale)
{
	unsigned int what = rnd(16), i = rnd(EVENTS), n = 1 + rnd(500);
	int by_other = rnd(8) == 0, group = rnd(4) == 0;
	uint64_t out[8] = { 0 };

	if (what < 5) {
		work(1 + scale * n);
		for (int k = 0; k < EVENTS; k++)
			model[k].count += is_on(k) ? n * (uint64_t)per_turn(k) : 0;
	} else if (what == 5 && n < 60) {
		have_read_by_child((int)i, out);
		model_read((int)i, out);
	} else if (what == 6 && n < 100) {
		prctl(n % 2 ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
		for (int k = 0; k < EVENTS; k++)
			model[k].enabled = (int)(n % 2);
	} else {
		enum op op = what < 9 ? READ : (enum op)(what % 3);

		have_done(by_other, op, (int)i, group, out);
		model_op(op, (int)i, group);
		if (op == READ)
			model_read((int)i, out);
	}
}

static void script(unsigned int scale)
{
	seed = 4711;
	nseen = 0;
	memset(model, 0, sizeof(model));
	for (int i = 0; i < EVENTS; i++)
		fds[i] = open_one(i, 0, i == 5 ? fds[4] : -1);
	for (unsigned int s = 0; s < STEPS; s++)
		step(scale);
	for (int i = 0; i < EVENTS; i++)
		close(fds[i]);
}

static void steps(void)
{
	pthread_t thread;
	char c = 0;

	if (pipe(to_other) || pipe(to_us))
		exit(1);
	pthread_create(&thread, NULL, other, NULL);
	script(0); /* what is only done once is done */
	script(0);
	run = 1;
	script(1);
	(void)!write(to_other[1], &c, 1);
	pthread_join(thread, NULL);
	for (unsigned int k = 0; k < nseen; k++) {
		if (seen[1][k] - seen[0][k] != want[k] && bad++ < 5)
			printf("read %u: %lu and %lu, not %lu apart\n", k, seen[0][k], seen[1][k],
			       want[k]);
	}
	for (unsigned int k = 0; k < nseen; k++)
		printf("%lu\n", seen[0][k]);
	printf("%u reads, %u wrong\n", nseen, bad);
}

/* --- those who leave their log behind */

static uint64_t of_the_killed(unsigned long n)
{
	int ready[2], answer[2];
	uint64_t v = 0;
	pid_t pid;
	char c;

	if (pipe(ready) || pipe(answer))
		exit(1);
	pid = fork();
	if (!pid) {
		pid_t self = getpid();
		int fd = open_one(0, 0, -1);

		if (!fork()) {
			(void)!write(ready[1], "", 1);
			while (getppid() == self)
				usleep(1000);
			(void)!read(fd, &v, 8);
			(void)!write(answer[1], &v, 8);
			_exit(0);
		}
		(void)!read(ready[0], &c, 1);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work(n);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		work(1000);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work(n);
		kill(self, SIGKILL);
	}
	(void)!read(answer[0], &v, 8);
	waitpid(pid, NULL, 0);
	return v;
}

static void killed(void)
{
	uint64_t one = of_the_killed(1), more = of_the_killed(5001);

	printf("killed: %lu apart\n", more - one);
}

static void execed(const char *self)
{
	int fd = open_one(0, 0, -1);
	char name[16], value[32];
	uint64_t v;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	(void)!read(fd, &v, 8);
	snprintf(name, sizeof(name), "%d", fd);
	snprintf(value, sizeof(value), "%lu", v);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	execl(self, self, "again", name, value, NULL);
}

static void again(int fd, const char *before)
{
	uint64_t v = 1, one, more;

	(void)!read(fd, &v, 8);
	printf("execed: %s, then %lu\n", before, v);
	for (int k = 0; k < 3; k++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work(k < 2 ? 1 : 701);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		one = k < 2 ? 0 : v;
		(void)!read(fd, &v, 8);
	}
	more = v - one;
	printf("in the new image: %lu apart\n", more);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (argc > 3) {
		again(atoi(argv[2]), argv[3]);
		return 0;
	}
	steps();
	killed();
	fflush(stdout);
	execed(argv[0]);
	return 1;
}
