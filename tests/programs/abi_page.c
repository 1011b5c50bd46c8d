/* SPDX-License-Identifier: MIT */
/*
 * The control page: what may be mapped, where each field lies, by number, and what it says while an event is on, off and read
 * without a call.  A kernel without a PMU has pages of software events.
 */
#include "../tests/programs/abi.h"

#define PAGE 4096L

/* Positions of the fields, as today's header has had them since 3.12. */
enum {
	VERSION = 0,
	COMPAT = 4,
	LOCK = 8,
	INDEX = 12,
	OFFSET = 16,
	ENABLED = 24,
	RUNNING = 32,
	CAPS = 40,
	WIDTH = 48,
	SHIFT = 50,
	MULT = 52,
	TIME_OFFSET = 56,
	ZERO = 64,
	RESERVED = 96,
	HEAD = 1024,
	TAIL = 1032,
	DATA_OFFSET = 1040,
	DATA_SIZE = 1048,
};

/* Bits of CAPS. */
enum { BIT0, NO_BIT0, RDPMC, TIME, TIME_ZERO };

typedef const volatile unsigned char page_t;

static uint16_t u16_at(page_t *p, int at)
{
	return *(const volatile uint16_t *)(p + at);
}

static uint32_t u32_at(page_t *p, int at)
{
	return *(const volatile uint32_t *)(p + at);
}

static uint64_t u64_at(page_t *p, int at)
{
	return *(const volatile uint64_t *)(p + at);
}

/* c->b of most functions */
enum { INSTRUCTIONS, CLOCK, CPU };

static struct perf_event_attr attr_of(long kind)
{
	struct perf_event_attr attr =
		kind == CLOCK ? abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
			      : abi_instructions();

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

static page_t *page_of(long kind, long *fd)
{
	struct perf_event_attr attr = attr_of(kind);
	void *p;

	*fd = kind == CPU ? abi_call(&attr, -1, 0, -1, 0) : abi_open(&attr, -1);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, (int)*fd, 0);
	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

/* --- what may be mapped */

/* a: pages; b: 1 private, 2 from the second page on, 3 inherited */
static long mapped(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	void *p;

	attr.inherit = c->b == 3;
	p = mmap(NULL, (size_t)(c->a * PAGE), PROT_READ, c->b == 1 ? MAP_PRIVATE : MAP_SHARED,
		 (int)abi_open(&attr, -1), c->b == 2 ? PAGE : 0);
	return p == MAP_FAILED ? -errno : 0;
}

/* a: pages of data; its place and size are told, and head and tail begin at 0 */
static long data_area(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	page_t *p = mmap(NULL, (size_t)((1 + c->a) * PAGE), PROT_READ | PROT_WRITE, MAP_SHARED,
			 (int)abi_open(&attr, -1), 0);

	HOLDS(p != MAP_FAILED);
	HOLDS(!u64_at(p, HEAD) && !u64_at(p, TAIL));
	HOLDS(u64_at(p, DATA_OFFSET) == (uint64_t)PAGE);
	return (long)u64_at(p, DATA_SIZE) / PAGE;
}

/* --- what is in it */

static long versions(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);

	return u32_at(p, VERSION) | u32_at(p, COMPAT);
}

static long reserved(const struct abi_case *c)
{
	long fd, sum = 0;
	page_t *p = page_of(c->b, &fd);

	for (int i = RESERVED; i < HEAD; i++)
		sum += p[i];
	return sum;
}

/* a: bit of the capabilities */
static long capability(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);

	return u64_at(p, CAPS) >> c->a & 1;
}

static long width(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);

	return u16_at(p, WIDTH);
}

/* Even while nobody writes, two more for each change. */
static long lock_counts(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);
	uint32_t was = u32_at(p, LOCK), now;

	HOLDS(!(was % 2));
	for (int i = 0; i < 10; i++) {
		HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_RESET, NULL));
		now = u32_at(p, LOCK);
		HOLDS(!(now % 2) && now != was);
		was = now;
	}
	return 0;
}

/* a: 1 while it is on, 0 while it is off */
static long has_index(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);

	HOLDS(!abi_ioctl(fd, c->a ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, NULL));
	return !!u32_at(p, INDEX);
}

static uint64_t rdpmc(uint32_t counter)
{
	uint32_t lo, hi;

	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(counter));
	return lo | (uint64_t)hi << 32;
}

static uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

/* Off, the count is the offset. */
static long offset_alone(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);
	uint64_t v[3];

	abi_work(1000);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL));
	HOLDS(read((int)fd, v, sizeof(v)) == sizeof(v));
	HOLDS(v[0] >= 2000 && u64_at(p, OFFSET) == v[0]);
	HOLDS(u64_at(p, ENABLED) == v[1] && u64_at(p, RUNNING) == v[2]);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_RESET, NULL));
	return (long)u64_at(p, OFFSET);
}

/* The reading loop: count, and times where the page tells the time. */
struct reading {
	uint64_t count, enabled, running;
};

static struct reading read_page(page_t *p, int *told_time)
{
	struct reading r;
	uint32_t seq, idx;

	do {
		seq = u32_at(p, LOCK);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		r.enabled = u64_at(p, ENABLED);
		r.running = u64_at(p, RUNNING);
		idx = u32_at(p, INDEX);
		*told_time = u64_at(p, CAPS) >> TIME & 1;
		if (*told_time) {
			uint64_t cyc = rdtsc(), shift = u16_at(p, SHIFT), mult = u32_at(p, MULT);
			uint64_t quot = cyc >> shift, rem = cyc & ((1ULL << shift) - 1);
			uint64_t delta =
				u64_at(p, TIME_OFFSET) + quot * mult + ((rem * mult) >> shift);

			r.enabled += delta;
			r.running += delta;
		}
		r.count = u64_at(p, OFFSET);
		if (idx) { /* signed, from the width of the counter on */
			int above = 64 - u16_at(p, WIDTH);

			r.count += (uint64_t)((int64_t)(rdpmc(idx - 1) << above) >> above);
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (u32_at(p, LOCK) != seq || seq % 2);
	return r;
}

static __attribute__((noinline)) uint64_t work_by_page(page_t *p, uint64_t n)
{
	int told;
	uint64_t from = read_page(p, &told).count;

	abi_work(n);
	return read_page(p, &told).count - from;
}

/* The least of some: a loop that has to begin again, as the page is being written, takes instructions itself. */
static uint64_t least_by_page(page_t *p, uint64_t n)
{
	uint64_t least = ~0ULL, got;

	for (int i = 0; i < 8; i++) {
		got = work_by_page(p, n);
		least = got < least ? got : least;
	}
	return least;
}

/* What more work adds, by the page alone; read says no less than it. */
static long loop_counts(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);
	uint64_t few, v[3];
	int told;

	few = least_by_page(p, 1000);
	few = least_by_page(p, 1000 + (uint64_t)c->a) - few;
	v[0] = read_page(p, &told).count;
	HOLDS(abi_count(fd) > v[0]);
	return (long)few;
}

/*
 * Times of a page that tells the time lie between two reads; those of one that does not are of its last change.  A clock's
 * page tells it natively, and so does one of a CPU in a session.
 */
static long loop_times(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);
	uint64_t before[3], after[3];
	struct reading r;
	int told = 0, n = 0;

	for (int i = 0; i < 200; i++) {
		HOLDS(read((int)fd, before, sizeof(before)) == sizeof(before));
		r = read_page(p, &told);
		HOLDS(read((int)fd, after, sizeof(after)) == sizeof(after));
		HOLDS(r.enabled <= after[1] && r.running <= after[2]);
		HOLDS(!told || r.enabled >= before[1]);
		n += told;
	}
	/* a virtual machine's kernel may have no time stamp counter that it trusts */
	return c->a && !n ? ABI_LACKS : n;
}

/* A fork's child has no such page. */
static long in_a_child(const struct abi_case *c)
{
	long fd;
	page_t *p = page_of(c->b, &fd);
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit((int)u32_at(p, VERSION));
	waitpid(pid, &status, 0);
	HOLDS(!u32_at(p, VERSION));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static const struct abi_case cases[] = {
	{ "D-040", "one page", mapped, N | S, 0, 1, 0 },
	{ "D-040", "1 + 4 pages", mapped, N | S, 0, 5, 0 },
	{ "D-040", "1 + 3 pages", mapped, N | S, -EINVAL, 4, 0 },
	{ "D-040", "private", mapped, N | S, -EINVAL, 1, 1 },
	{ "D-040", "the second page first", mapped, N | S, -EINVAL, 1, 2 },
	{ "D-040", "inherited, of any CPU", mapped, N | S, -EINVAL, 1, 3 },
	{ "D-043", "fields of the data area by number", data_area, N | S, 8, 8, 0 },
	{ "D-043", "the width is at 48", width, S, 64, 0, INSTRUCTIONS },
	{ "D-045", "version and compat_version", versions, N | S, 0, 0, CLOCK },
	{ "D-045", "of instructions", versions, S, 0, 0, INSTRUCTIONS },
	{ "D-046", "lock is even while nobody writes", lock_counts, N | S, 0, 0, CLOCK },
	{ "D-057", "two more for each change", lock_counts, S, 0, 0, INSTRUCTIONS },
	{ "D-047", "no index of a clock", has_index, N | S, 0, 1, CLOCK },
	{ "D-047", "one while it is on a counter", has_index, S, 1, 1, INSTRUCTIONS },
	{ "D-047", "none while it is off", has_index, S, 0, 0, INSTRUCTIONS },
	{ "D-048", "offset alone where index is 0", offset_alone, S, 0, 0, INSTRUCTIONS },
	{ "Y-02", "count = offset + counter", loop_counts, S, 2000, 1000, INSTRUCTIONS },
	{ "D-049", "times as of the last change", loop_times, S, 0, 0, INSTRUCTIONS },
	{ "D-050", "bit 0 is clear", capability, N | S, 0, BIT0, CLOCK },
	{ "D-050", "bit 1 says so", capability, N | S, 1, NO_BIT0, CLOCK },
	{ "D-050", "rdpmc is bit 2", capability, S, 1, RDPMC, INSTRUCTIONS },
	{ "X-25", "capabilities since 3.12", capability, N | S, 1, NO_BIT0, CLOCK },
	{ "D-051", "pmc_width is 64 in a session", width, S, 64, 0, INSTRUCTIONS },
	{ "D-051", "a count that is extended from there", loop_counts, S, 4000, 2000,
	  INSTRUCTIONS },
	{ "D-052", "a task's event does not tell the time", capability, S, 0, TIME, INSTRUCTIONS },
	{ "D-052", "but converts that of records", capability, S, 1, TIME_ZERO, INSTRUCTIONS },
	{ "D-055", "the loop counts", loop_counts, S, 20000, 10000, INSTRUCTIONS },
	{ "D-055", "and its times are in order", loop_times, S, 0, 0, INSTRUCTIONS },
	{ "D-053", "time from cycles, between two reads", loop_times, N, 200, 1, CLOCK },
	{ "D-053", "of a CPU's event", loop_times, S, 200, 0, CPU },
	{ "C-060", "rdpmc without a call", loop_counts, S, 2000, 1000, INSTRUCTIONS },
	{ "C-062", "on x86", loop_counts, S, 6000, 3000, INSTRUCTIONS },
	{ "C-061", "a child that reads the page", in_a_child, N | S, SIGSEGV, 0, CLOCK },
	{ "C-061", "of instructions", in_a_child, S, SIGSEGV, 0, INSTRUCTIONS },
	{ "D-058", "a child has no mapping", in_a_child, N | S, SIGSEGV, 0, CLOCK },
	{ "D-059", "what is reserved is 0", reserved, N | S, 0, 0, CLOCK },
	{ "D-059", "of instructions", reserved, S, 0, 0, INSTRUCTIONS },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
