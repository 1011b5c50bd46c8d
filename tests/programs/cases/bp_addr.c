/* SPDX-License-Identifier: MIT */
/*
 * ADDR of a breakpoint's sample, and si_addr of its SIGTRAP, are the address that is watched: not the instruction's, nor
 * where the access began (kernel/events/core.c: perf_bp_event() gives attr.bp_addr, and perf_sigtrap() hands it on).
 */
/* CASE: session -- */
#include "check.h"

static union {
	volatile u64 word;
	volatile unsigned char bytes[8];
} cell __attribute__((aligned(8)));
static volatile u64 other;
static volatile int hits;
static void *volatile where;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	hits++;
	where = info->si_addr;
}

__attribute__((noinline)) static void target(void)
{
	__asm__ volatile("");
}

static void touch_all(void)
{
	cell.word = 1;
}

static void touch_byte(void)
{
	cell.bytes[5] = 1;
}

static void read_all(void)
{
	(void)cell.word;
}

static void fill(void)
{
	volatile unsigned char *to = cell.bytes;
	u64 n = sizeof(cell.bytes);

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(3) : "memory");
}

static void touch_other(void)
{
	other = 1;
}

/* How many samples, all with that address. */
static void sampled(struct perf_event_attr a, void (*act)(void), int want, const char *what)
{
	u64 buf[512];
	struct ring r = { 0 };
	int fd, n = 0, right = 0;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR;
	fd = xo(&a, 0, -1, -1, 0);
	rmap(&r, fd, 1, RW);
	EN(fd);
	act();
	DIS(fd);
	while (rnext(&r, buf)) {
		n++;
		right += buf[1] == a.bp_addr;
	}
	CHECK(n == want && right == want, "%s: %d samples, %d with the address", what, n, right);
	munmap(r.pg, r.size + 4096);
	close(fd);
}

static void trapped(struct perf_event_attr a, void (*act)(void), const char *what)
{
	int fd;

	a.sample_period = a.sigtrap = a.remove_on_exec = 1;
	fd = xo(&a, 0, -1, -1, 0);
	hits = 0;
	EN(fd);
	act();
	DIS(fd);
	CHECK(hits == 1 && (u64)where == a.bp_addr, "%s: %d signals, at %p", what, hits, where);
	close(fd);
}

/* The same descriptor watches something else from now on. */
static void moved(void)
{
	struct perf_event_attr a = BPW((void *)cell.bytes, 8, HW_BREAKPOINT_W);
	int fd, ret;

	a.sample_period = a.sigtrap = a.remove_on_exec = 1;
	fd = xo(&a, 0, -1, -1, 0);
	a.bp_addr = (u64)&other;
	a.disabled = 0;
	ret = ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &a);
	hits = 0;
	touch_all();
	touch_other();
	DIS(fd);
	CHECK(!ret && hits == 1 && where == &other, "moved: %d signals, at %p", hits, where);
	close(fd);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	void *last = (void *)&cell.bytes[7], *all = (void *)cell.bytes,
	     *half = (void *)&cell.bytes[4];

	sigaction(SIGTRAP, &sa, NULL);
	sampled(BPW(all, 8, HW_BREAKPOINT_W), touch_all, 1, "8 bytes");
	sampled(BPW(all, 8, HW_BREAKPOINT_W), touch_byte, 1, "8 bytes, one is written");
	sampled(BPW(last, 1, HW_BREAKPOINT_W), touch_all, 1, "the last of 8 that are written");
	sampled(BPW(half, 4, HW_BREAKPOINT_RW), read_all, 1, "4 of 8 that are read");
	sampled(BPW(half, 4, HW_BREAKPOINT_W), fill, 4, "4 rounds of a string");
	sampled(BPX(target), target, 1, "code");
	trapped(BPW(all, 8, HW_BREAKPOINT_W), touch_byte, "8 bytes, one is written");
	trapped(BPW(last, 1, HW_BREAKPOINT_RW), touch_all, "the last of 8 that are written");
	trapped(BPW(last, 1, HW_BREAKPOINT_W), fill, "the last round of a string");
	trapped(BPX(target), target, "code");
	moved();
	return done();
}
