/* SPDX-License-Identifier: MIT */
/*
 * Events that are the kernel's own, opened, counted, recorded and controlled: what is said has no number that is
 * not the same each time, so natively and in a session it is the same.  "groups", "rings": what mixes them with the session's; "work": for who counts us.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define PAGE   4096UL

static long number_in(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	return strtol(text, NULL, 10);
}

static struct perf_event_attr attr_of(unsigned int type, unsigned long long config)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };

	attr.disabled = 1;
	return attr;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, 0);
}

static void sleep_often(void)
{
	const struct timespec shortly = { .tv_nsec = 1000 };

	for (int i = 0; i < ROUNDS; i++)
		nanosleep(&shortly, NULL);
}

/* Opened or not, and whether it counts while we sleep. */
static void count(const char *name, struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = open_event(&attr, pid, cpu, -1);
	unsigned long long n = 0;

	if (fd < 0) {
		printf("%s: %s\n", name, strerror(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sleep_often();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		printf("%s: not read\n", name);
	else /* what another task does meanwhile is its own */
		printf("%s: %s\n", name, pid > 0 ? "opened" : n ? "counts" : "0");
	close(fd);
}

struct ring {
	struct perf_event_mmap_page *page;
	const char *data;
};

static unsigned int samples(const struct ring *r, unsigned int pages)
{
	unsigned long long at = r->page->data_tail, head = r->page->data_head;
	unsigned int n = 0;

	for (; at < head;) {
		struct perf_event_header h;

		memcpy(&h, r->data + at % (pages * PAGE), sizeof(h));
		n += h.type == PERF_RECORD_SAMPLE;
		at += h.size;
	}
	r->page->data_tail = head;
	return n;
}

static void record(const char *name, long id)
{
	struct perf_event_attr attr = attr_of(PERF_TYPE_TRACEPOINT, (unsigned long long)id);
	unsigned long long ids[2] = { 0 };
	struct ring ring;
	struct pollfd pfd;
	int fd, other;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TIME;
	attr.wakeup_events = 1;
	fd = open_event(&attr, 0, -1, -1);
	if (fd < 0) {
		printf("%s, recorded: %s\n", name, strerror(errno));
		return;
	}
	ring.page = mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring.page == MAP_FAILED) {
		printf("%s, mapped: %s\n", name, strerror(errno));
		return;
	}
	ring.data = (char *)ring.page + PAGE;
	other = open_event(&attr, 0, -1, -1);
	printf("%s: output is set: %d\n", name, ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
	printf("%s: a filter: %d\n", name,
	       ioctl(other, PERF_EVENT_IOC_SET_FILTER, "common_pid == 1"));
	ioctl(fd, PERF_EVENT_IOC_ID, &ids[0]);
	ioctl(other, PERF_EVENT_IOC_ID, &ids[1]);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
	sleep_often();
	pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	poll(&pfd, 1, 0);
	printf("%s: poll %x\n", name, pfd.revents);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	printf("%s: recorded %d, ids %d\n", name, samples(&ring, 8) > 0,
	       ids[0] && ids[1] && ids[0] != ids[1]);
	munmap(ring.page, 9 * PAGE);
	close(other);
	close(fd);
}

/* Of two PMUs: no group, whoever leads. */
static int groups(long id)
{
	struct perf_event_attr ours = attr_of(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr theirs = attr_of(PERF_TYPE_TRACEPOINT, (unsigned long long)id);
	int a, b, bad = 0;

	ours.exclude_kernel = 1;
	a = open_event(&ours, 0, -1, -1);
	b = open_event(&theirs, 0, -1, -1);
	bad |= a < 0 || b < 0;
	bad |= open_event(&theirs, 0, -1, a) != -1 || errno != EINVAL;
	bad |= open_event(&ours, 0, -1, b) != -1 || errno != EINVAL;
	bad |= open_event(&theirs, 0, -1, b) < 0;
	bad |= open_event(&ours, 0, -1, a) < 0;
	bad |= open_event(&theirs, 0, -1, 0) != -1 || errno != EBADF;
	/* the flag says that there is to be none */
	bad |= syscall(SYS_perf_event_open, &theirs, 0, -1, a, PERF_FLAG_FD_NO_GROUP) < 0;
	bad |= syscall(SYS_perf_event_open, &ours, 0, -1, b, PERF_FLAG_FD_NO_GROUP) < 0;
	bad |= syscall(SYS_perf_event_open, &ours, 0, -1, 0, PERF_FLAG_FD_NO_GROUP) != -1 ||
	       errno != EBADF;
	return bad;
}

static struct perf_event_mmap_page *map_ring(int fd)
{
	void *at = mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int count_switches(struct perf_event_mmap_page *page)
{
	struct ring r = { page, (char *)page + PAGE };

	sleep_often();
	return (int)samples(&r, 8);
}

/* Are all that come while we sleep of this event, by the ids that they begin with? */
static int is_all_of(struct perf_event_mmap_page *page, int fd)
{
	unsigned long long id, of, n = 0, others = 0, at = page->data_head;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		return 0;
	page->data_tail = at;
	sleep_often();
	for (; at < page->data_head; n++) {
		const char *data = (const char *)page + PAGE;
		struct perf_event_header h;

		memcpy(&h, data + at % (8 * PAGE), sizeof(h));
		memcpy(&of, data + (at + sizeof(h)) % (8 * PAGE), sizeof(of));
		others += h.type != PERF_RECORD_SAMPLE || of != id;
		at += h.size;
	}
	page->data_tail = at;
	return n && !others;
}

/* Records of the kernel's in a ring of the session's, which goes: with it goes what was set. */
static int rings(long id)
{
	struct perf_event_attr ours = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct perf_event_attr theirs = attr_of(PERF_TYPE_TRACEPOINT, (unsigned long long)id);
	struct perf_event_mmap_page *page, *other;
	int a, b, bad = 0;

	theirs.sample_period = 1;
	theirs.sample_type = PERF_SAMPLE_IDENTIFIER;
	theirs.disabled = 0;
	ours.use_clockid = theirs.use_clockid = 1;
	ours.clockid = theirs.clockid = CLOCK_MONOTONIC;
	a = open_event(&ours, 0, -1, -1);
	b = open_event(&theirs, 0, -1, -1);
	page = map_ring(a);
	if (a < 0 || b < 0 || !page || ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a))
		return 100;
	bad |= !count_switches(page);
	munmap(page, 9 * PAGE);
	page = map_ring(a);
	bad |= (!page || count_switches(page)) << 1;
	bad |= (ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a) || !count_switches(page)) << 2;
	/* to another one instead */
	a = open_event(&ours, 0, -1, -1);
	other = map_ring(a);
	bad |= (!other || ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a) ||
		ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a))
	       << 6;
	count_switches(page);
	bad |= (count_switches(page) || !count_switches(other)) << 6;
	/* what was closed records no more, once there is another one */
	for (int i = 0; i < 5; i++) {
		close(b);
		b = open_event(&theirs, 0, -1, -1);
		bad |= ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a) << 8;
	}
	count_switches(other);
	bad |= !is_all_of(other, b) << 9;
	/* to none, and back */
	bad |= ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, -1UL) << 7;
	count_switches(other);
	bad |= (count_switches(other) || ioctl(b, PERF_EVENT_IOC_SET_OUTPUT, a) ||
		!count_switches(other))
	       << 7;
	/* whose ring is mapped writes nowhere else */
	b = open_event(&theirs, 0, -1, -1);
	page = map_ring(b);
	bad |= (!page || ioctl(a, PERF_EVENT_IOC_SET_OUTPUT, b) != -1 || errno != EINVAL) << 3;
	/* other memory where a ring was stays what it is */
	if (mmap(page, 9 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != page)
		return 100;
	memset(page, 'x', 64);
	a = open_event(&ours, 0, -1, -1);
	bad |= (ioctl(a, PERF_EVENT_IOC_SET_OUTPUT, b) != -1 || errno != EINVAL) << 4;
	for (int i = 0; i < 64; i++)
		bad |= (((char *)page)[i] != 'x') << 5;
	return bad;
}

/* Four million instructions, two million branches, three children, and some sleep. */
static int work(void)
{
	long n = 2000000;

	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n));
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	sleep_often();
	return 0;
}

int main(int argc, char **argv)
{
	long id = number_in("/sys/kernel/tracing/events/sched/sched_switch/id");
	long msr = number_in("/sys/bus/event_source/devices/msr/type");
	struct perf_event_attr attr;
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (argc > 1 && !strcmp(argv[1], "groups"))
		return groups(id);
	if (argc > 1 && !strcmp(argv[1], "rings"))
		return !!rings(id);
	if (argc > 1 && !strcmp(argv[1], "work"))
		return work();
	sched_setaffinity(0, sizeof(set), &set);
	printf("sched_switch has a number: %d\n", id > 0);
	attr = attr_of(4242, 0);
	count("a PMU that is none", attr, 0, -1);
	attr = attr_of(PERF_TYPE_TRACEPOINT, 50000);
	count("a tracepoint that is none", attr, 0, -1);
	attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	count("context-switches of our CPU", attr, -1, cpu);
	attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	count("page-faults of another task", attr, getppid(), -1);
	attr = attr_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.exclude_kernel = 1;
	count("page-faults of nobody", attr, 0x3fffffff, -1);
	if (msr > 0) {
		attr = attr_of((unsigned int)msr, 0);
		count("msr/tsc/ of our CPU", attr, -1, cpu);
		count("msr/tsc/", attr, 0, -1);
	}
	if (id > 0) {
		attr = attr_of(PERF_TYPE_TRACEPOINT, (unsigned long long)id);
		count("sched_switch", attr, 0, -1);
		record("sched_switch", id);
	}
	return 0;
}
