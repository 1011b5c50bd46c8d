/* SPDX-License-Identifier: MIT */
/*
 * PERF_SAMPLE_READ of inherited events.  Since Linux 6.12 the counts in a task's samples are what that task has counted
 * itself: perf_output_read_one() and _group() call perf_event_count(event, has_inherit_and_sample_read(attr)).  So the
 * n-th sample of a task shows n periods, in the parent as well, whatever its children have counted and whether they
 * are alive.  read(2) gives the sum as ever.
 */
/* CASE: session -- */
/* CASE: session --stress requests -- */
#include "check.h"
#define PERIOD 100000
#define NS_MS  1000000ULL
static char buf[65536];

static u64 cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000 * NS_MS + (u64)ts.tv_nsec;
}

static pid_t child(u64 rounds)
{
	pid_t pid = fork();

	if (!pid) {
		spin(rounds);
		_exit(0);
	}
	return pid;
}

struct seen {
	unsigned int n, right, others_right;
};

/* The n-th sample of each task has n periods; in a group the branches are half of the instructions, but for a few. */
static void look(struct ring *r, bool group, const pid_t *pid, struct seen *seen)
{
	while (rnext(r, buf)) {
		const struct perf_event_header *h = (void *)buf;
		const u64 *w = (u64 *)(buf + sizeof(*h));
		u32 who = (u32)w[0] == (u32)pid[0] ? 0 : (u32)w[0] == (u32)pid[1] ? 1 : 2;
		struct seen *s = &seen[who];

		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		s->n++;
		s->right += w[group ? 2 : 1] == (u64)s->n * PERIOD;
		s->others_right += group && w[4] <= w[2] / 2 && w[4] > w[2] / 2 - 5000;
	}
}

static void instructions(bool group)
{
	struct perf_event_attr a = HWI, b = HWB;
	const char *name = group ? "group" : "event";
	struct seen seen[3] = { 0 };
	pid_t pid[2];
	struct ring r = { 0 };
	int fd, cpu = pin();

	a.inherit = b.inherit = 1;
	b.disabled = 0;
	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ;
	a.read_format = b.read_format = group ? PERF_FORMAT_GROUP | PERF_FORMAT_ID : PERF_FORMAT_ID;
	fd = xo(&a, 0, cpu, -1, 0);
	if (group)
		xo(&b, 0, cpu, fd, 0);
	CHECK(!rmap(&r, fd, 16, RW), "%s: a ring", name);
	EN(fd);
	spin(2000000);
	pid[0] = child(500000);
	waitpid(pid[0], NULL, 0);
	pid[1] = child(250000);
	spin(500000); /* while it may be alive */
	waitpid(pid[1], NULL, 0);
	spin(500000);
	DIS(fd);
	look(&r, group, pid, seen);
	CHECK(seen[0].n >= 10 && seen[0].right == seen[0].n, "%s, first child: %u of %u", name,
	      seen[0].right, seen[0].n);
	CHECK(seen[1].n >= 5 && seen[1].right == seen[1].n, "%s, second child: %u of %u", name,
	      seen[1].right, seen[1].n);
	CHECK(seen[2].n >= 60 && seen[2].right == seen[2].n, "%s, parent: %u of %u", name,
	      seen[2].right, seen[2].n);
	for (int i = 0; group && i < 3; i++)
		CHECK(seen[i].others_right == seen[i].n, "the member's in task %d: %u of %u", i,
		      seen[i].others_right, seen[i].n);
	if (!group)
		CHECK(rd(fd) > 7500000, "read(2) gives the sum");
	close(fd);
}

/* How much a clock has counted is not known; that it is not more than the task's own time is. */
static void clock_of(void)
{
	struct perf_event_attr a = SWT;
	u64 start = cpu_time(), most = 0, took = 0;
	struct ring r = { 0 };
	int fd, end[2];
	u32 n = 0;
	pid_t pid;

	a.inherit = 1;
	a.sample_period = NS_MS;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_ID;
	fd = xo(&a, 0, pin(), -1, 0);
	CHECK(!rmap(&r, fd, 16, RW) && !pipe(end), "clock: a ring");
	EN(fd);
	while (cpu_time() - start < 30 * NS_MS)
		spin(1000);
	pid = fork();
	if (!pid) {
		while (cpu_time() < 10 * NS_MS)
			spin(1000);
		took = cpu_time() + NS_MS;
		_exit(write(end[1], &took, sizeof(took)) != sizeof(took));
	}
	CHECK(read(end[0], &took, sizeof(took)) == sizeof(took), "clock: the child's time");
	waitpid(pid, NULL, 0);
	DIS(fd);
	while (rnext(&r, buf)) {
		const struct perf_event_header *h = (void *)buf;
		const u64 *w = (u64 *)(buf + sizeof(*h));

		if (h->type != PERF_RECORD_SAMPLE || (u32)w[0] != (u32)pid)
			continue;
		n++;
		most = w[1] > most ? w[1] : most;
	}
	CHECK(n && most <= took, "clock: %u samples of the child, with at most %llu of %llu ns", n,
	      (unsigned long long)most, (unsigned long long)took);
	close(fd);
}

int main(void)
{
	instructions(false);
	instructions(true);
	clock_of();
	return done();
}
