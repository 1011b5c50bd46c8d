/* SPDX-License-Identifier: MIT */
/*
 * time_enabled and time_running of a control page.  A kernel writes them whenever the event begins or ends to be on a
 * PMU, which is at each switch of its task (perf_event_update_userpage()): so they are a little old, never 0 while it
 * counts, never ahead of what read(2) says, and what it says when the event is off.
 */
/* CASE: session -- */
/* CASE: session --counters 1 -- */
#include "check.h"

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct times {
	u64 enabled, running;
};

static struct times by_page(const volatile struct perf_event_mmap_page *page)
{
	struct times t;
	u32 seq;

	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		t.enabled = page->time_enabled;
		t.running = page->time_running;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
	return t;
}

static struct times by_read(int fd)
{
	u64 v[3] = { 0 };

	if (read(fd, v, sizeof(v)) != sizeof(v))
		exit(3);
	return (struct times){ v[1], v[2] };
}

static struct perf_event_mmap_page *map(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		exit(3);
	return page;
}

/* They follow what the event has been on for, be it that its task sleeps now and then. */
static void follows(int fd, const volatile struct perf_event_mmap_page *page, const char *what)
{
	for (int round = 0; round < 3; round++) {
		struct times then = by_read(fd), now = by_page(page), later;

		while (now.enabled < then.enabled || now.running < then.running) {
			spin(10000);
			usleep(100);
			now = by_page(page);
		}
		later = by_read(fd);
		CHECK(now.enabled <= later.enabled && now.running <= later.running,
		      "%s: the page is not ahead", what);
	}
}

static void goes_on(struct perf_event_attr a, int pid, int cpu, const char *what)
{
	struct times page_says, read_says;
	struct perf_event_mmap_page *page;
	int fd;

	a.read_format = TIMES;
	fd = peo(&a, pid, cpu, -1, 0);
	if (fd < 0)
		return; /* of a CPU, for who may not */
	page = map(fd);
	page_says = by_page(page);
	CHECK(!page_says.enabled && !page_says.running, "%s: none while it is off", what);
	EN(fd);
	page_says = by_page(page);
	CHECK(page_says.enabled && page_says.running, "%s: some at once", what);
	follows(fd, page, what);
	DIS(fd);
	page_says = by_page(page);
	read_says = by_read(fd);
	/* a kernel's clocks leave their page as it is */
	CHECK(a.type == PERF_TYPE_SOFTWARE || (page_says.enabled == read_says.enabled &&
					       page_says.running == read_says.running),
	      "%s: off, the page says what read says", what);
	munmap(page, 4096);
	close(fd);
}

/* The one that waits has been enabled, and does not run. */
static void waits(void)
{
	struct perf_event_attr a = HWI, b = HWB;
	struct perf_event_mmap_page *page[2];
	int fd[2];

	a.read_format = b.read_format = TIMES;
	fd[0] = xo(&a, 0, -1, -1, 0);
	fd[1] = xo(&b, 0, -1, -1, 0);
	for (int i = 0; i < 2; i++) {
		page[i] = map(fd[i]);
		EN(fd[i]);
	}
	for (int i = 0; i < 2; i++) {
		while (!by_page(page[i]).running || !page[i]->index)
			spin(10000);
		CHECK(by_page(page[i]).enabled >= by_page(page[i]).running,
		      "number %d has its turn", i);
	}
	for (int i = 0; i < 2; i++) {
		munmap(page[i], 4096);
		close(fd[i]);
	}
}

static void of_a_child(void)
{
	struct perf_event_attr a = HWI;
	struct perf_event_mmap_page *page;
	struct times then, now;
	pid_t pid = fork();
	int fd;

	while (!pid)
		spin(1000);
	a.read_format = TIMES;
	fd = xo(&a, pid, -1, -1, 0);
	page = map(fd);
	EN(fd);
	do {
		then = by_read(fd);
	} while (!then.running);
	while (now = by_page(page), now.enabled < then.enabled || now.running < then.running)
		sched_yield();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	then = by_read(fd);
	now = by_page(page);
	CHECK(now.enabled == then.enabled && now.running == then.running,
	      "of a child that has ended: the page says %llu and %llu, read %llu and %llu",
	      (unsigned long long)now.enabled, (unsigned long long)now.running,
	      (unsigned long long)then.enabled, (unsigned long long)then.running);
	munmap(page, 4096);
	close(fd);
}

int main(void)
{
	goes_on(HWI, 0, -1, "instructions");
	goes_on(SWT, 0, -1, "task-clock");
	goes_on(HWI, -1, 0, "instructions of a CPU");
	of_a_child();
	waits();
	return done();
}
