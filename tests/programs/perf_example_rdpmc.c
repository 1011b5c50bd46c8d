/* SPDX-License-Identifier: MIT */
/*
 * The reading loop of <linux/perf_event.h> as code: count, time enabled and time running of an own event without
 * a system call, and the scaled count.  Arguments: "count" reads instructions and compares with read(2);
 * "time" compares the times of a software event, "time-hw" of a hardware event; "turns" has two events on one
 * counter, in a session that has one; "scale" checks the arithmetic against values worked out by hand.
 */
#include <sys/mman.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

struct reading {
	uint64_t count, enabled, running;
};

static uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

static uint64_t rdpmc(uint32_t counter)
{
	uint32_t lo, hi;

	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(counter));
	return lo | (uint64_t)hi << 32;
}

/* ns since the page was written.  1 << shift would be an int: wrong from shift 31 on. */
static uint64_t delta(uint64_t cyc, uint16_t shift, uint32_t mult, uint64_t offset)
{
	uint64_t quot = cyc >> shift, rem = cyc & (((uint64_t)1 << shift) - 1);

	return offset + quot * mult + ((rem * mult) >> shift);
}

/* A counter of so many bits, as a signed number. */
static int64_t extended(uint64_t pmc, uint16_t width)
{
	return (int64_t)(pmc << (64 - width)) >> (64 - width);
}

/* What it would be had the event always been on; nothing where it never was. */
static uint64_t scaled(const struct reading *r)
{
	uint64_t quot, rem;

	if (!r->running)
		return 0;
	quot = r->count / r->running;
	rem = r->count % r->running;
	return quot * r->enabled + (uint64_t)((__uint128_t)rem * r->enabled / r->running);
}

/* As it is written, the time since the page was is asked for only where counts are to be scaled. */
enum when { SCALED, ALWAYS };

static struct reading read_page(const volatile struct perf_event_mmap_page *pc, enum when when)
{
	struct reading r;
	uint32_t seq, idx;

	do {
		seq = pc->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		r.enabled = pc->time_enabled;
		r.running = pc->time_running;
		idx = pc->index;
		if (pc->cap_user_time && (when == ALWAYS || r.enabled != r.running)) {
			uint64_t ns =
				delta(rdtsc(), pc->time_shift, pc->time_mult, pc->time_offset);

			r.enabled += ns;
			r.running += idx ? ns : 0;
		}
		r.count = (uint64_t)pc->offset;
		if (pc->cap_user_rdpmc && idx)
			r.count += (uint64_t)extended(rdpmc(idx - 1), pc->pmc_width);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (pc->lock != seq);
	return r;
}

static struct reading read_call(int fd)
{
	struct reading r = { 0, 0, 0 };

	if (read(fd, &r, sizeof(r)) != sizeof(r))
		perror("read");
	return r;
}

static const volatile struct perf_event_mmap_page *open_mapped(struct perf_event_attr *attr,
							       int *fd)
{
	void *p;

	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	*fd = perf_run_open(attr, 0, -1, -1);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, *fd, 0);
	if (p == MAP_FAILED) {
		perror("no event");
		exit(2);
	}
	return p;
}

/* Not inlined: each call takes the same way. */
static __attribute__((noinline)) uint64_t
counted_once(const volatile struct perf_event_mmap_page *pc, uint64_t work)
{
	uint64_t before = read_page(pc, SCALED).count;

	perf_run_work(work);
	return read_page(pc, SCALED).count - before;
}

/* The least of some: a reading that begins again, as the page is being written, takes instructions itself. */
static uint64_t counted(const volatile struct perf_event_mmap_page *pc, uint64_t work)
{
	uint64_t least = ~0ULL, n;

	for (int i = 0; i < 8; i++) {
		n = counted_once(pc, work);
		least = n < least ? n : least;
	}
	return least;
}

static void count(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	const volatile struct perf_event_mmap_page *pc;
	struct reading page, call;
	uint64_t less;
	int fd;

	pc = open_mapped(&attr, &fd);
	CHECK(pc->cap_user_rdpmc && pc->index, "the counter is readable");
	less = counted(pc, 1000);
	CHECK(counted(pc, 1000) == less, "the same work");
	CHECK(counted(pc, 5000) - less == 2 * 4000, "more work");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_run_work(1000);
	page = read_page(pc, SCALED);
	call = read_call(fd);
	CHECK(!pc->index, "no counter while it is off");
	CHECK(page.count == call.count, "the count is read's");
	CHECK(page.enabled == call.enabled && page.running == call.running, "and the times are");
	CHECK(scaled(&page) == call.count, "nothing is scaled");
}

/* What a reader would get that takes the counter for an unsigned number. */
static uint64_t unsigned_count(const volatile struct perf_event_mmap_page *pc)
{
	return (uint64_t)pc->offset + rdpmc(pc->index - 1);
}

/*
 * A counter of fewer bits than 64, which begins just below its end: negative at first, then not.  Both times what is read is the count;
 * and the sign is needed for that.
 */
static void narrow(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	const volatile struct perf_event_mmap_page *pc;
	struct reading page, call;
	uint64_t less, far;
	int fd;

	pc = open_mapped(&attr, &fd);
	CHECK(pc->cap_user_rdpmc && pc->index && pc->pmc_width == 40, "a counter of 40 bits");
	CHECK(rdpmc(pc->index - 1) >> 39 == 1, "it begins negative");
	CHECK((read_page(pc, SCALED).count ^ unsigned_count(pc)) >> 40,
	      "what is not extended is wrong");
	less = counted(pc, 1000);
	CHECK(counted(pc, 5000) - less == 2 * 4000, "the count of what ran, below zero");
	CHECK(rdpmc(pc->index - 1) >> 39 == 1, "it is still negative");
	far = ((1ULL << 40) - rdpmc(pc->index - 1)) / 2 + 5000;
	CHECK(counted(pc, far) - less == 2 * (far - 1000), "the count of what ran, through zero");
	CHECK(!(rdpmc(pc->index - 1) >> 39), "it is not any more");
	CHECK(counted(pc, 5000) - less == 2 * 4000, "the count of what ran, above zero");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	page = read_page(pc, SCALED);
	call = read_call(fd);
	CHECK(page.count == call.count, "the count is read's");
}

/*
 * The kernel, or who stands for it, says what the page must say between two calls.  A page that does not tell the time has
 * that of the last change: never ahead, never going back, and read's when the event is off (which Linux leaves out for
 * software events).
 */
static void times(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_run_attr(config);
	const volatile struct perf_event_mmap_page *pc;
	struct reading before, page = { 0, 0, 0 }, was, after;
	int fd, bad = 0;

	attr.type = type;
	pc = open_mapped(&attr, &fd);
	printf("the page tells the time: %d\n", (int)pc->cap_user_time);
	for (int i = 0; i < 1000; i++) {
		was = page;
		before = read_call(fd);
		page = read_page(pc, ALWAYS);
		after = read_call(fd);
		bad += page.enabled > after.enabled || page.running > after.running;
		bad += page.enabled < (pc->cap_user_time ? before.enabled : was.enabled);
		bad += page.running > page.enabled || page.running < was.running;
	}
	CHECK(!bad, "the time of the page is in order");
	CHECK(after.enabled > 0 && after.enabled == after.running, "there was some");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = read_call(fd);
	page = read_page(pc, ALWAYS);
	CHECK(type == PERF_TYPE_SOFTWARE ||
		      (page.enabled == before.enabled && page.running == before.running),
	      "the time of an event that is off is read's");
	CHECK(before.enabled >= after.enabled, "and has gone on");
	close(fd);
}

/* By calls and by the page in turn, whose turn it is changes meanwhile: no count goes back. */
static int out_of_order(const volatile struct perf_event_mmap_page *pc, int fd)
{
	struct reading before = read_call(fd), page = read_page(pc, SCALED), after = read_call(fd);

	return page.count < before.count || page.count > after.count ||
	       read_page(pc, SCALED).count < after.count || page.running > page.enabled ||
	       page.running > after.running || page.enabled > after.enabled;
}

#define TURNS 40

static void turns(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	const volatile struct perf_event_mmap_page *pc[2];
	struct reading page, call[2];
	int fd[2], bad = 0, off = 0, on = 0, turns = 0;
	bool was_off = false;

	for (int i = 0; i < 2; i++)
		pc[i] = open_mapped(&attr, &fd[i]);
	do {
		perf_run_work(100);
		for (int i = 0; i < 2; i++) {
			bad += out_of_order(pc[i], fd[i]);
			call[i] = read_call(fd[i]);
			off += !pc[i]->index;
			on += !!pc[i]->index;
		}
		turns += was_off != !pc[0]->index;
		was_off = !pc[0]->index;
	} while (turns < TURNS || !call[0].running || !call[1].running);
	CHECK(!bad, "what the page says is in order");
	CHECK(off && on, "with a counter and without");
	for (int i = 0; i < 2; i++) {
		ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
		page = read_page(pc[i], SCALED);
		call[i] = read_call(fd[i]);
		CHECK(!memcmp(&page, &call[i], sizeof(page)), "the page says what read does");
		CHECK(page.count && page.running < page.enabled, "its counts are to be scaled");
		CHECK(scaled(&page) > page.count, "and are");
	}
}

static void scale(void)
{
	static const struct {
		struct reading in;
		uint64_t want;
	} rows[] = {
		{ { 100, 1000, 1000 }, 100 },
		{ { 100, 1000, 500 }, 200 },
		{ { 7, 3, 2 }, 10 },
		{ { 0, 1000, 0 }, 0 },
		{ { 5, 1000, 0 }, 0 },
		{ { 0, 0, 0 }, 0 },
		/* the product of rest and time does not fit 64 bits */
		{ { 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000000 },
		  0x7fffffffffffffff },
		{ { 0xffffffff, 0x200000000, 0x100000000 }, 0x1fffffffe },
	};
	int bad = 0;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bad += scaled(&rows[i].in) != rows[i].want;
	CHECK(!bad, "scaled counts");
	CHECK(extended(0xffffffffffff, 48) == -1 &&
		      extended(0x7fffffffffff, 48) == 0x7fffffffffff && extended(5, 64) == 5 &&
		      extended(0x80000000, 32) == -0x80000000LL,
	      "signs");
	CHECK(delta(1000, 0, 2, 7) == 2007 && delta(0x300000000, 32, 10, 0) == 30 &&
		      delta(0x180000000, 32, 10, 0) == 15 && delta(5, 1, 3, (uint64_t)-7) == 0,
	      "cycles");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "count"))
		count();
	else if (!strcmp(argv[1], "time"))
		times(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	else if (!strcmp(argv[1], "time-hw"))
		times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	else if (!strcmp(argv[1], "turns"))
		turns();
	else if (!strcmp(argv[1], "narrow"))
		narrow();
	else
		scale();
	return task_failed;
}
