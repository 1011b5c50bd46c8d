/* SPDX-License-Identifier: MIT */
/*
 * A program of 2009: what design.txt shows, in its names.  Each case prints what it found; what must not be
 * begins with FAILED.  The counted loop has three instructions a turn.
 */
#define ANYPERF_LEGACY_NAMES
#include <anyperf/legacy.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define barrier()	 __asm__ volatile("" ::: "memory")
#define CONFIG(type, id) ((__u64)(type) << 56 | (id))
#define INSTRUCTIONS	 CONFIG(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)
#define BRANCHES	 CONFIG(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
#define PAGE		 4096UL

static int failed;

static void is(unsigned long long got, unsigned long long want, const char *what)
{
	if (got == want)
		return;
	printf("FAILED: %s: %llu, not %llu\n", what, got, want);
	failed = 1;
}

static void loop(long n)
{
	__asm__ volatile("1: nop\n dec %0\n jnz 1b" : "+r"(n) : : "cc");
}

static struct perf_event_attr attr_of(__u64 config)
{
	struct perf_event_attr hw_event;

	memset(&hw_event, 0, sizeof(hw_event));
	hw_event.config = config;
	hw_event.exclude_kernel = 1;
	hw_event.disabled = 1;
	return hw_event;
}

static int opened(struct perf_event_attr *attr, int group_fd)
{
	int fd = sys_perf_event_open(attr, 0, -1, group_fd, 0);

	if (fd >= 0)
		return fd;
	printf("FAILED: open: %s\n", strerror(errno));
	exit(1);
}

static __u64 value(int fd)
{
	__u64 v = 0;

	is((unsigned long long)read(fd, &v, sizeof(v)), sizeof(v), "bytes of a read");
	return v;
}

/* What `turns` more turns add, however they are switched. */
static __u64 counted(int fd, long turns, int by_prctl)
{
	__u64 before = value(fd);

	if (by_prctl)
		prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	else
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(turns);
	if (by_prctl)
		prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	else
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return value(fd) - before;
}

static void count(void)
{
	struct perf_event_attr hw_event = attr_of(INSTRUCTIONS);
	__u64 v[3] = { 0 };
	int fd = opened(&hw_event, -1);

	is(counted(fd, 3000, 0) - counted(fd, 1000, 0), 6000, "instructions by ioctl");
	is(counted(fd, 3000, 1) - counted(fd, 1000, 1), 6000, "instructions by prctl");
	close(fd);
	hw_event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	hw_event.disabled = 0;
	fd = opened(&hw_event, -1);
	loop(1000);
	is((unsigned long long)read(fd, v, sizeof(v)), 24, "value and times");
	is(v[0] > 3000 && v[1] && v[1] == v[2], 1, "value, enabled, running");
	close(fd);
	hw_event = attr_of(CONFIG(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
	fd = opened(&hw_event, -1);
	is(counted(fd, 1000, 0) > 0, 1, "a software event counts");
	close(fd);
}

static void group(void)
{
	struct perf_event_attr lead = attr_of(INSTRUCTIONS), member = attr_of(BRANCHES);
	__u64 first, second;
	int leader, fd;

	member.disabled = 0;
	leader = opened(&lead, -1);
	fd = opened(&member, leader);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	loop(1000);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	first = value(fd);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	loop(4000);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	second = value(fd) - first;
	is(second - first, 3000, "branches of a member");
	close(fd);
	close(leader);
}

static void refused(const char *what, const struct perf_event_attr *attr, unsigned long flags,
		    int pid)
{
	int fd = sys_perf_event_open((struct perf_event_attr *)attr, pid, -1, -1, flags);

	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "opened");
	if (fd >= 0)
		close(fd);
}

static void errors(void)
{
	struct perf_event_attr a = attr_of(INSTRUCTIONS);

	refused("flags", &a, 1, 0);
	refused("no attr", NULL, 0, 0);
	refused("all tasks on all CPUs", &a, 0, -1);
	refused("any other negative pid", &a, 0, -5);
	a.config = CONFIG(PERF_TYPE_HARDWARE, 7);
	refused("an event of later", &a, 0, 0);
	a.config = CONFIG(3, 0);
	refused("a type of later", &a, 0, 0);
	a.config = 1ULL << 63 | 0x4064;
	refused("bus cycles while the lock is asserted", &a, 0, 0);
	a = attr_of(INSTRUCTIONS);
	a.munmap = 1;
	refused("munmap records", &a, 0, 0);
	a = attr_of(INSTRUCTIONS);
	a.__reserved_1 = 1;
	refused("a reserved bit", &a, 0, 0);
	a = attr_of(INSTRUCTIONS);
	a.extra_config_len = 8;
	refused("extra configuration", &a, 0, 0);
	a = attr_of(INSTRUCTIONS);
	a.exclude_kernel = 0;
	refused("kernel mode", &a, 0, 0);
}

static __s64 by_loop(struct perf_event_mmap_page *pc, int fd)
{
	__u32 seq;
	__s64 count;

	do {
		seq = pc->lock;

		barrier();
		if (pc->index) {
			count = pmc_read(pc->index - 1);
			count += pc->offset;
		} else
			goto regular_read;

		barrier();
	} while (pc->lock != seq);
	return count;

regular_read:
	return (__s64)value(fd);
}

/* What a loop adds, by the reading loop: the least of some, as that begins again where the page is being written. */
static __s64 added(struct perf_event_mmap_page *pc, int fd, long turns)
{
	__s64 least = 0, from, n;

	for (int i = 0; i < 8; i++) {
		from = by_loop(pc, fd);
		loop(turns);
		n = by_loop(pc, fd) - from;
		least = !i || n < least ? n : least;
	}
	return least;
}

/* The difference of two turns of the whole, the loop's own instructions taken out. */
static void page_loop(const char *what, size_t size, int is_quick)
{
	struct perf_event_attr attr = attr_of(INSTRUCTIONS);
	struct perf_event_mmap_page *pc;
	__s64 few;
	int fd;

	attr.disabled = 0;
	fd = opened(&attr, -1);
	pc = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (pc == MAP_FAILED) {
		printf("FAILED: mmap: %s\n", strerror(errno));
		exit(1);
	}
	is(!!pc->index, (unsigned)is_quick, "an index in the page");
	few = added(pc, fd, 1000);
	is((unsigned long long)(added(pc, fd, 5000) - few), 12000, what);
	munmap(pc, size);
	close(fd);
}

static void seqlock(void)
{
	page_loop("the loop, of a page alone", PAGE, 1);
	page_loop("the loop, of a page with data", 3 * PAGE, 0);
}

/* --- records */

struct buffer {
	struct perf_event_mmap_page *pc;
	unsigned mask, prev;
};

static struct buffer map(int fd, unsigned pages)
{
	struct buffer b = { mmap(NULL, (1 + pages) * PAGE, PROT_READ, MAP_SHARED, fd, 0),
			    pages * PAGE - 1, 0 };

	if (b.pc == MAP_FAILED) {
		printf("FAILED: mmap: %s\n", strerror(errno));
		exit(1);
	}
	return b;
}

static int next(struct buffer *b, char *out)
{
	struct perf_event_header header;
	unsigned head = b->pc->data_head;
	char *data = (char *)b->pc + PAGE;

	barrier();
	if (head == b->prev)
		return 0;
	for (unsigned i = 0; i < sizeof(header); i++)
		((char *)&header)[i] = data[(b->prev + i) & b->mask];
	for (unsigned i = 0; i < header.size; i++)
		out[i] = data[(b->prev + i) & b->mask];
	b->prev += header.size;
	return header.size >= sizeof(header) && !(header.size & 7);
}

#define ALL                                                                                        \
	(PERF_RECORD_IP | PERF_RECORD_TID | PERF_RECORD_TIME | PERF_RECORD_ADDR |                  \
	 PERF_RECORD_GROUP | PERF_RECORD_CALLCHAIN)

struct overflow {
	struct perf_event_header header;
	__u64 ip;
	__u32 pid, tid;
	__u64 time, addr;
	__u64 nr;
	struct {
		__u64 event, val;
	} cnt[2];
	struct anyperf_legacy_callchain chain;
	__u64 ips[];
};

static void overflow_is_right(const struct overflow *o, __u64 nth, __u64 period, __u64 *last)
{
	is(o->header.type, ALL, "type of an overflow");
	is(o->header.misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_OVERFLOW, "misc");
	is(o->pid == (__u32)getpid() && o->tid == (__u32)getpid(), 1, "pid and tid");
	is(o->time > *last, 1, "time goes on");
	*last = o->time;
	is(o->nr, 2, "events of the group");
	is(o->cnt[0].event, INSTRUCTIONS, "the leader's config");
	is(o->cnt[0].val, nth * period, "the leader's count");
	is(o->cnt[1].event, BRANCHES, "the member's config");
	is(o->cnt[1].val > 0 && o->cnt[1].val < o->cnt[0].val, 1, "the member's count");
	is(o->chain.nr > 0 && o->chain.user == o->chain.nr, 1, "a chain of user code");
	is(o->chain.hv + o->chain.kernel, 0, "and of no other");
	is(o->ips[0], o->ip, "the chain begins at ip");
	is(o->header.size, sizeof(*o) + 8 * o->chain.nr, "size");
}

static void samples(void)
{
	static union {
		char bytes[65536];
		struct overflow o;
	} record;
	struct perf_event_attr attr = attr_of(INSTRUCTIONS), member = attr_of(BRANCHES);
	struct pollfd wait;
	struct buffer b;
	__u64 n = 0, last = 0, v[3];
	int fd, other;

	attr.irq_period = 10000;
	attr.record_type = ALL;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	attr.wakeup_events = 1;
	member.disabled = 0;
	fd = opened(&attr, -1);
	other = opened(&member, fd);
	b = map(fd, 16);
	is(b.pc->data_head, 0, "nothing is there at first");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(100000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	wait = (struct pollfd){ fd, POLLIN, 0 };
	is((unsigned)poll(&wait, 1, 0), 1, "poll says that there is something");
	while (next(&b, record.bytes))
		overflow_is_right(&record.o, ++n, attr.irq_period, &last);
	is((unsigned long long)read(fd, v, sizeof(v)), 16, "a read of value and time enabled");
	is(n, v[0] / attr.irq_period, "overflows");
	is(v[0] / 1000, 300, "thousands of instructions");
	is(value(other) > 0, 1, "a read of the member");
	is(anyperf_legacy_lost(b.pc), 0, "lost records");
	munmap(b.pc, 17 * PAGE);
	close(other);
	close(fd);
}

/* A buffer of one page, taken often: the head goes round and round, and the records with it. */
static void around(void)
{
	static union {
		char bytes[65536];
		struct {
			struct perf_event_header header;
			__u64 ip;
			__u32 pid, tid;
		} o;
	} record;
	struct perf_event_attr attr = attr_of(BRANCHES);
	struct buffer b;
	__u64 n = 0, v;
	int fd;

	attr.irq_period = 100;
	attr.record_type = PERF_RECORD_IP | PERF_RECORD_TID;
	fd = opened(&attr, -1);
	b = map(fd, 1);
	for (int i = 0; i < 200; i++) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		loop(5000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		for (; next(&b, record.bytes); n++)
			is(record.o.header.size == 24 && record.o.tid == (__u32)getpid(), 1,
			   "a record");
	}
	v = value(fd);
	is(n, v / 100, "overflows");
	is(b.prev, 24 * n, "data_head");
	is(b.prev > 50 * PAGE, 1, "it went round often");
	is(anyperf_legacy_lost(b.pc), 0, "lost records");
	/* and who does not look loses the newest, and is told how many */
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(100000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (next(&b, record.bytes))
		n++;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (next(&b, record.bytes))
		n++;
	is(anyperf_legacy_lost(b.pc) > 500, 1, "records are lost");
	is(n + anyperf_legacy_lost(b.pc), value(fd) / 100, "overflows and lost ones");
	munmap(b.pc, 2 * PAGE);
	close(fd);
}

static void tracking(void)
{
	static union {
		char bytes[65536];
		struct {
			struct perf_event_header header;
			__u32 pid, tid;
			union {
				char comm[16];
				struct {
					__u64 addr, len, pgoff;
					char filename[64];
				};
			};
		} r;
	} record;
	struct perf_event_attr attr = attr_of(CONFIG(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
	struct buffer b;
	int fd, file = open("/bin/sh", O_RDONLY);
	void *code;

	attr.mmap = attr.comm = 1;
	attr.disabled = 0;
	fd = opened(&attr, -1);
	b = map(fd, 8);
	prctl(PR_SET_NAME, "of 2009", 0, 0, 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	while (next(&b, record.bytes)) {
		is(record.r.pid, (unsigned)getpid(), "pid");
		if (record.r.header.type == PERF_RECORD_COMM)
			printf("comm %s\n", record.r.comm);
		else if (record.r.header.type == PERF_RECORD_MMAP)
			printf("mmap %s %s%llu\n", strrchr(record.r.filename, '/') + 1,
			       record.r.addr == (__u64)(unsigned long)code ? "" : "elsewhere ",
			       (unsigned long long)record.r.len);
		else
			printf("FAILED: type %u\n", record.r.header.type);
	}
	munmap(code, PAGE);
	munmap(b.pc, 9 * PAGE);
	close(fd);
	close(file);
}

/* A child has the descriptors and none of the buffers. */
static void forked(void)
{
	static char record[65536];
	struct perf_event_attr attr = attr_of(BRANCHES);
	struct buffer b;
	int fd, st = -1;
	pid_t child;
	unsigned n = 0;

	attr.irq_period = 1000;
	attr.record_type = PERF_RECORD_IP;
	fd = opened(&attr, -1);
	b = map(fd, 4);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(10000);
	child = fork();
	if (!child)
		_exit(b.pc->data_head != 0);
	waitpid(child, &st, 0);
	is((unsigned)st, 0, "the child's copy stands still");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (next(&b, record))
		n++;
	is(n, value(fd) / 1000, "overflows");
	munmap(b.pc, 5 * PAGE);
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "count", count },	{ "group", group },	{ "errors", errors },
	      { "seqlock", seqlock },	{ "samples", samples }, { "around", around },
	      { "tracking", tracking }, { "forked", forked } };

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		printf("-- %s\n", cases[i].name);
		cases[i].run();
	}
	return failed;
}
