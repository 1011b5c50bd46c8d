/* SPDX-License-Identifier: MIT */
/*
 * Sampling where something is missing: lanes, a port's samplers, memory, or anything to count.
 */
#include "samplers.h"
#include "tap/tap.h"
#include "world.h"

static struct world W;

static struct ap_perf_attr attr_sampled(u64 period, u64 flags)
{
	struct ap_perf_attr a = attr_instr();

	a.sample_period = period;
	a.flags |= flags;
	return a;
}

static void lanes_run_out(void)
{
	struct ap_perf_attr a;
	int fd = -1;

	world_begin(&W, 0);
	for (u32 i = 0; i < AP_LANE_MAX; i++) {
		a = attr_kind(i + 1, 0);
		a.sample_period = 5;
		fd = open_on(&W, &a, -1);
		open_on(&W, &a, -1); /* an equal set shares it */
	}
	a = attr_kind(20, 0);
	a.sample_period = 5;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_ENOSPC);
	a.sample_period = 0;
	open_on(&W, &a, -1);
	world_close(&W, fd);
	world_close(&W, fd + 1);
	a = attr_kind(20, 0);
	a.sample_period = 5;
	open_on(&W, &a, -1);
	world_end(&W);
}

static void a_port_without_samplers_counts(void)
{
	struct ap_perf_attr a = attr_sampled(1000, 0), dummy = attr_task_clock();

	world_init(&W);
	W.ops.sampler_new = NULL;
	world_start(&W);
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EOPNOTSUPP);
	dummy.sample_period = 1000;
	EXPECT_U64(world_open(&W, &dummy, 0, -1, -1, 0), -AP_EOPNOTSUPP);
	dummy.config = AP_PERF_COUNT_SW_DUMMY; /* overflows never */
	open_on(&W, &dummy, -1);
	world_end(&W);
}

static void what_counts_nothing_needs_no_sampler(void)
{
	struct ap_perf_attr a = attr_sampled(1, AP_PERF_EXCLUDE_HOST);

	world_begin(&W, 0);
	open_on(&W, &a, -1);
	a = attr_task_clock();
	a.config = AP_PERF_COUNT_SW_DUMMY;
	a.sample_period = 1;
	open_on(&W, &a, -1);
	EXPECT_U64(nr_samplers(), 0);
	world_run(&W, 0, MS, 1000);
	world_end(&W);
}

static void memory_may_end_anywhere(void)
{
	struct ap_perf_attr a = attr_sampled(1000, AP_PERF_INHERIT);
	struct ap_perf_attr all = attr_sampled(500, 0);

	for (s32 allocs = 0; allocs < 12; allocs++) {
		world_begin(&W, 0);
		world_task(&W, 1);
		world_task(&W, 2);
		W.allocs_left = allocs;
		(void)!world_open(&W, &a, 0, 0, -1, 0);
		(void)!world_open(&W, &all, -1, 1, -1, 0);
		if (ap_core_fork(W.core, W.tasks[0].task, W.tasks[1].task, false))
			EXPECT(allocs < 12);
		W.allocs_left = -1;
		world_run(&W, 1, MS, 1234);
		world_end(&W);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(lanes_run_out),
		TAP(a_port_without_samplers_counts),
		TAP(what_counts_nothing_needs_no_sampler),
		TAP(memory_may_end_anywhere),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
