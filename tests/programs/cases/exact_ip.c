/* SPDX-License-Identifier: MIT */
/*
 * PERF_RECORD_MISC_EXACT_IP: the kernel sets it in samples of hardware events that were asked to be precise (PEBS, IBS), and
 * never of precise_ip 0, nor of software events, breakpoints and tracepoints.
 */
/* What the models do not see has no exact address: they see all. */
/* CASE: session --model-sample 1 -- */
#include "check.h"
static char buf[65536];

__attribute__((noinline, noclone)) static void target(void)
{
	__asm__ volatile("");
}

static void event(const char *name, struct perf_event_attr a, int precise, bool exact)
{
	struct ring r = { 0 };
	unsigned int n = 0, set = 0;
	int fd;

	a.precise_ip = precise & 3;
	a.sample_type = PERF_SAMPLE_IP;
	fd = xo(&a, 0, -1, -1, 0);
	CHECK(!rmap(&r, fd, 8, RW), "%s, precise_ip %d", name, precise);
	EN(fd);
	spin(100000);
	target();
	DIS(fd);
	while (rnext(&r, buf)) {
		const struct perf_event_header *h = (void *)buf;

		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		n++;
		set += !!(h->misc & PERF_RECORD_MISC_EXACT_IP);
	}
	CHECK(n && set == (exact ? n : 0), "exact: %u of %u samples", set, n);
	close(fd);
}

int main(void)
{
	struct perf_event_attr instr = HWI, branches = HWB, bp = BPX(target);
	struct perf_event_attr cycles = A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	instr.sample_period = branches.sample_period = cycles.sample_period = 10000;
	bp.sample_period = 1;
	for (int precise = 0; precise < 4; precise++) {
		event("instructions", instr, precise, precise);
		event("branches", branches, precise, precise);
		event("cycles", cycles, precise, precise);
	}
	event("a breakpoint", bp, 0, false);
	return done();
}
