/* SPDX-License-Identifier: MIT */
/*
 * Counts by control page and RDPMC, of events that are not plainly those of the caller: on one CPU, of a CPU, of another
 * thread or process, of groups.  A page's index is 0 or RDPMC of it gives the count; it never faults, for any mapped
 * page lets the process read all counters (arch/x86/events/core.c: x86_pmu_event_mapped()).  The index is 0 where
 * the event is not on a CPU: bound to one where its task is not, its task dead or stopped (perf_event_index()).
 */
/* CASE: session -- */
/* CASE: session --counters 4 -- */
/* CASE: session --stress requests -- */
#include "check.h"

#include <setjmp.h>

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static struct perf_event_mmap_page *map(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED) {
		perror("mmap");
		exit(3);
	}
	return page;
}

/* As the header tells readers to do it. */
static u64 by_page(const volatile struct perf_event_mmap_page *page)
{
	u32 seq, index, lo, hi, shift = 64U - page->pmc_width;
	u64 count;

	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		index = page->index;
		count = (u64)page->offset;
		if (index) {
			__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(index - 1));
			count += (u64)((s64)(((u64)hi << 32 | lo) << shift) >> shift);
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
	return count;
}

/* index: 0, 1 another, 2 either.  An event that has one is read as read(2) reads it. */
static void says(int fd, const volatile struct perf_event_mmap_page *page, int index,
		 const char *what)
{
	u64 before = rd(fd), now, after;
	u32 has = page->index;
	int sig = sigsetjmp(back, 1);

	CHECK(!sig, "%s: signal %d", what, sig);
	if (sig)
		return;
	CHECK(index == 2 || !!has == index, "%s: index %u", what, has);
	now = by_page(page);
	after = rd(fd);
	CHECK(!has || (before <= now && now <= after), "%s: by page %llu, by read %llu to %llu",
	      what, (unsigned long long)now, (unsigned long long)before, (unsigned long long)after);
}

/* Nothing but what stands between two readings is in their difference. */
static void counts_exactly(const volatile struct perf_event_mmap_page *page, const char *what)
{
	u64 more = 0;

	/* a reading takes another turn where the page is written meanwhile */
	for (int n = 0; n < 1000 && more != 8000; n++) {
		u64 first = by_page(page), second, third;

		spin(1000);
		second = by_page(page);
		spin(5000);
		third = by_page(page);
		more = (third - second) - (second - first);
	}
	CHECK(more == 8000, "%s: 4000 rounds are %llu", what, (unsigned long long)more);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

static void on_one_cpu(int cpu, int elsewhere)
{
	struct perf_event_attr a = HWI;
	struct perf_event_mmap_page *page[2];
	int fd[2];

	pin_to(cpu);
	fd[0] = xo(&a, 0, cpu, -1, 0);
	fd[1] = xo(&a, 0, elsewhere, -1, 0);
	for (int i = 0; i < 2; i++) {
		page[i] = map(fd[i]);
		EN(fd[i]);
	}
	says(fd[0], page[0], 1, "on its CPU");
	counts_exactly(page[0], "on its CPU");
	says(fd[1], page[1], 0, "on another");
	pin_to(elsewhere);
	says(fd[0], page[0], 0, "it has left its CPU");
	says(fd[1], page[1], 1, "it has come to it");
	counts_exactly(page[1], "it has come to it");
	for (int i = 0; i < 2; i++) {
		munmap(page[i], 4096);
		close(fd[i]);
	}
}

static void of_a_process(void)
{
	struct perf_event_attr a = HWI;
	struct perf_event_mmap_page *page;
	pid_t pid = fork();
	int fd, status;
	u64 count;

	while (!pid)
		raise(SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	fd = xo(&a, pid, -1, -1, 0);
	page = map(fd);
	EN(fd);
	says(fd, page, 0, "a child that is stopped");
	kill(pid, SIGCONT);
	waitpid(pid, &status, WUNTRACED);
	says(fd, page, 0, "it is stopped again");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	says(fd, page, 0, "it is dead");
	count = rd(fd);
	CHECK((u64)page->offset == count, "its count is in the offset: %llu, %llu",
	      (unsigned long long)page->offset, (unsigned long long)count);
	munmap(page, 4096);
	close(fd);
}

static volatile int tid;
static int gate[2];

static void *thread_main(void *unused)
{
	char c;

	tid = (int)syscall(SYS_gettid);
	while (read(gate[0], &c, 1) == 1 && c)
		spin(1000);
	return unused;
}

static void of_a_thread(void)
{
	struct perf_event_attr a = HWI;
	struct perf_event_mmap_page *page;
	pthread_t thread;
	char c = 1;
	int fd;

	if (pipe(gate))
		exit(3);
	pthread_create(&thread, NULL, thread_main, NULL);
	while (!tid)
		sched_yield();
	fd = xo(&a, tid, -1, -1, 0);
	page = map(fd);
	EN(fd);
	for (int i = 0; i < 10; i++) {
		if (write(gate[1], &c, 1) != 1)
			exit(3);
		says(fd, page, 2, "of another thread");
	}
	c = 0;
	if (write(gate[1], &c, 1) != 1)
		exit(3);
	pthread_join(thread, NULL);
	says(fd, page, 0, "the thread has ended");
	munmap(page, 4096);
	close(fd);
}

static void of_groups(void)
{
	struct perf_event_attr a[3] = { HWI, HWB, HWI };
	struct perf_event_mmap_page *page[3];
	int fd[3], other;

	for (int i = 0; i < 3; i++) {
		a[i].disabled = !i;
		fd[i] = xo(&a[i], 0, -1, i ? fd[0] : -1, 0);
		page[i] = map(fd[i]);
	}
	says(fd[1], page[1], 0, "a member of a group that is off");
	other = (int)ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	CHECK(!other, "the group is on");
	for (int i = 0; i < 3; i++)
		says(fd[i], page[i], 1, "a member");
	counts_exactly(page[2], "a member");
	close(fd[0]);
	munmap(page[0], 4096);
	says(fd[2], page[2], 2, "a member whose leader is gone");
	for (int i = 1; i < 3; i++) {
		munmap(page[i], 4096);
		close(fd[i]);
	}
}

/* Beside an event of the caller's own. */
static void of_cpus(int ncpus)
{
	struct perf_event_attr a = HWI;
	int own = xo(&a, 0, -1, -1, 0), fd[2], n = 0;
	struct perf_event_mmap_page *own_page = map(own), *page[2];

	EN(own);
	pin_to(0);
	for (int i = 0; i < ncpus && i < 2; i++) {
		fd[i] = peo(&a, -1, i, -1, 0);
		if (fd[i] < 0)
			break;
		page[i] = map(fd[i]);
		EN(fd[i]);
		n++;
	}
	for (int i = 0; i < n; i++) {
		spin(10000);
		says(fd[i], page[i], 1, i ? "of CPU 1" : "of CPU 0");
	}
	says(own, own_page, 1, "the caller's own beside them");
	for (int i = 0; i < n; i++) {
		DIS(fd[i]);
		says(fd[i], page[i], 0, "of a CPU, off");
		munmap(page[i], 4096);
		close(fd[i]);
	}
	munmap(own_page, 4096);
	close(own);
}

/* A counter that nothing counts with, while a page is mapped. */
static void unused_counter(void)
{
	struct perf_event_attr a = HWI;
	struct perf_event_mmap_page *page;
	int fd = xo(&a, 0, -1, -1, 0), sig;
	u32 lo, hi;

	page = map(fd);
	sig = sigsetjmp(back, 1);
	if (!sig)
		__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(3));
	CHECK(!sig, "a counter that is not used: signal %d", sig);
	munmap(page, 4096);
	close(fd);
}

int main(void)
{
	int ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	signal(SIGSEGV, on_fault);
	unused_counter();
	of_groups();
	of_a_process();
	of_a_thread();
	if (ncpus > 1) {
		on_one_cpu(0, 1);
		on_one_cpu(1, 0);
	}
	of_cpus(ncpus);
	return done();
}
