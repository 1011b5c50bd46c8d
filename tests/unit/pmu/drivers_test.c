/* SPDX-License-Identifier: MIT */
/* What each driver counts, in a world whose every number the test writes. */
#include <string.h>

#include "abi/errno.h"
#include "abi/trace.h"
#include "fake.h"
#include "pmu/tracepoint.h"
#include "tap/tap.h"

static struct ap_core core;
static struct ap_task task = { .id = { 100, 101 } };

struct opened {
	struct ap_hw_event hw;
	struct ap_pmu *pmu;
	struct ap_task *task;
	s32 cpu;
};

static int open_on(struct opened *e, u32 type, u64 config, u64 flags, struct ap_task *t, s32 cpu)
{
	struct ap_perf_attr attr = { .type = type, .config = config, .flags = flags };

	e->task = t;
	e->cpu = cpu;
	return fake_open(&core, &attr, t, cpu, &e->hw, &e->pmu);
}

static int open_event(struct opened *e, u32 type, u64 config, u64 flags)
{
	return open_on(e, type, config, flags, &task, -1);
}

static void start(struct opened *e)
{
	EXPECT_U64(e->pmu->start(&core, &e->hw, e->task, e->cpu), 0);
}

static u64 value(struct opened *e)
{
	return e->pmu->read(&core, &e->hw, e->task, e->cpu);
}

static void stop(struct opened *e)
{
	e->pmu->stop(&core, &e->hw, e->task, e->cpu);
}

static void instructions_are_a_difference(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_SKYLAKE);
	task.raw[AP_KIND_INSTR] = 1000;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_HARDWARE, 1, AP_PERF_EXCLUDE_KERNEL));
	EXPECT_STR(e.pmu->name, "cpu");
	EXPECT_U64(e.hw.kinds, 1);
	EXPECT_U64(e.hw.constraint, ~0ULL);
	EXPECT_U64(core.wanted, 1);
	start(&e);
	EXPECT_U64(value(&e), 0);
	task.raw[AP_KIND_INSTR] += 17;
	task.raw[AP_KIND_BRANCH] += 5;
	EXPECT_U64(value(&e), 17);
	stop(&e);
	task.raw[AP_KIND_INSTR] += 3;
	start(&e);
	task.raw[AP_KIND_INSTR] += 2;
	EXPECT_U64(value(&e), 2);
}

static void raw_codes_add_kinds(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_SKYLAKE);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x03c7, 0));
	EXPECT_U64(core.wanted, 3ULL << AP_KIND_FP_SCALAR_DOUBLE);
	start(&e);
	task.raw[AP_KIND_FP_SCALAR_DOUBLE] += 2;
	task.raw[AP_KIND_FP_SCALAR_SINGLE] += 4;
	task.raw[AP_KIND_FP_128_DOUBLE] += 8;
	EXPECT_U64(value(&e), 6);
}

static void a_cpu_counts_what_was_done_there(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_ZEN);
	core.on_cpu[1].raw[AP_KIND_BRANCH] = 50;
	REQUIRE(!open_on(&e, AP_PERF_TYPE_RAW, 0xc2, 0, NULL, 1));
	start(&e);
	core.on_cpu[1].raw[AP_KIND_BRANCH] += 9;
	core.on_cpu[0].raw[AP_KIND_BRANCH] += 90;
	EXPECT_U64(value(&e), 9);
}

/* A reading from outside falls between two of the task's increments. */
static void a_difference_never_goes_back(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_SKYLAKE);
	task.raw[AP_KIND_BRANCH] = 100;
	task.raw[AP_KIND_TAKEN] = 60;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x10c4, 0));
	EXPECT_U64(e.hw.kinds, 0);
	start(&e);
	EXPECT_U64(value(&e), 0);
	task.raw[AP_KIND_TAKEN] += 1; /* seen before its branch is */
	EXPECT_U64(value(&e), 0);
	task.raw[AP_KIND_BRANCH] += 3;
	EXPECT_U64(value(&e), 2);
	task.raw[AP_KIND_TAKEN] += 1;
	EXPECT_U64(value(&e), 2);
	task.raw[AP_KIND_BRANCH] += 1;
	EXPECT_U64(value(&e), 2);
}

static void exclude_host_counts_nothing(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_SKYLAKE);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_HARDWARE, 1, AP_PERF_EXCLUDE_HOST));
	EXPECT(e.hw.counts_nothing);
	start(&e);
	task.raw[AP_KIND_INSTR] += 3;
	EXPECT_U64(value(&e), 0);
	/* which software events do not know */
	REQUIRE(!open_event(&e, AP_PERF_TYPE_SOFTWARE, 1, AP_PERF_EXCLUDE_HOST));
	EXPECT(!e.hw.counts_nothing);
}

static void kinds_that_the_world_lacks_are_its_error(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_SKYLAKE);
	core.refused = AP_KIND_BIT(AP_KIND_LOAD);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x81d0, 0), -AP_EOPNOTSUPP);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x82d0, 0), 0);
	/* a port without an engine has no cpu PMU */
	core.ops.raw = NULL;
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_HARDWARE, 1, 0), -AP_ENOENT);
}

static void constraints_matter_on_a_limited_pmu(void)
{
	struct opened e;
	u32 n;

	fake_init(&core, AP_CPU_SKYLAKE);
	EXPECT_U64(core.drivers.cpu.counters(&core, &core.drivers.cpu), 0);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x01c0, 0));
	EXPECT_U64(e.hw.constraint, ~0ULL);
	core.config.counters = 4;
	EXPECT_U64(core.drivers.cpu.counters(&core, &core.drivers.cpu), 4);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x01c0, 0));
	EXPECT_U64(e.hw.constraint, 2);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x00c0, 0));
	EXPECT_U64(e.hw.constraint, ~0ULL);
	core.config.counters = 1;
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x01c0, 0), -AP_EINVAL);
	core.config.counters = 200;
	n = core.drivers.cpu.counters(&core, &core.drivers.cpu);
	EXPECT_U64(n, AP_PMU_COUNTERS_MAX);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x81d0, 0));
	EXPECT_U64(e.hw.constraint, 15);
}

static void what_cannot_sample_says_so(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_HARDWARE, .config = 1 };
	struct ap_hw_event hw;
	struct ap_pmu *pmu;

	fake_init(&core, AP_CPU_SKYLAKE);
	attr.flags = 1ULL << AP_PERF_PRECISE_IP_SHIFT;
	EXPECT_U64(fake_open(&core, &attr, &task, -1, &hw, &pmu), -AP_EOPNOTSUPP);
	attr.flags = 0;
	attr.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
	EXPECT_U64(fake_open(&core, &attr, &task, -1, &hw, &pmu), -AP_EOPNOTSUPP);
}

static void clocks_are_the_cores(void)
{
	struct opened t, c;

	fake_init(&core, AP_CPU_OTHER);
	task.time = 500;
	core.clock = 9000;
	REQUIRE(!open_event(&t, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_TASK_CLOCK, 0));
	REQUIRE(!open_on(&c, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_CPU_CLOCK, 0, NULL, 0));
	start(&t);
	start(&c);
	task.time += 7;
	core.clock += 11;
	EXPECT_U64(value(&t), 7);
	EXPECT_U64(value(&c), 11);
}

static void world_counters_are_the_worlds(void)
{
	static const struct {
		u32 config;
		enum ap_world_counter counter;
	} rows[] = {
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, AP_WORLD_PAGE_FAULTS },
		{ AP_PERF_COUNT_SW_CONTEXT_SWITCHES, AP_WORLD_CONTEXT_SWITCHES },
		{ AP_PERF_COUNT_SW_CPU_MIGRATIONS, AP_WORLD_MIGRATIONS },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS_MIN, AP_WORLD_FAULTS_MIN },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ, AP_WORLD_FAULTS_MAJ },
		{ AP_PERF_COUNT_SW_ALIGNMENT_FAULTS, AP_WORLD_ALIGNMENT_FAULTS },
		{ AP_PERF_COUNT_SW_EMULATION_FAULTS, AP_WORLD_EMULATION_FAULTS },
		{ AP_PERF_COUNT_SW_CGROUP_SWITCHES, AP_WORLD_CGROUP_SWITCHES },
	};
	struct opened e;
	u32 i;

	fake_init(&core, AP_CPU_OTHER);
	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		task.counter[rows[i].counter] = 100 * i;
		REQUIRE(!open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, 0));
		start(&e);
		task.counter[rows[i].counter] += i + 1;
		EXPECT_U64(value(&e), i + 1);
		/* a world that lost sight of it: what was seen stays */
		core.unknown = 1u << rows[i].counter;
		EXPECT_U64(value(&e), i + 1);
		EXPECT_U64(open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, 0),
			   -AP_EOPNOTSUPP);
		core.unknown = 0;
	}
	REQUIRE(!open_on(&e, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS, 0, NULL, 1));
	start(&e);
	core.on_cpu[1].counter[AP_WORLD_PAGE_FAULTS] += 4;
	EXPECT_U64(value(&e), 4);
}

static void excluded_modes_leave_what_is_left(void)
{
	static const u64 none = 0, u = AP_PERF_EXCLUDE_USER, k = AP_PERF_EXCLUDE_KERNEL;
	const struct {
		u64 config, flags;
		int err;
		u64 count;
	} rows[] = {
		{ AP_PERF_COUNT_SW_CONTEXT_SWITCHES, none, 0, 5 },
		{ AP_PERF_COUNT_SW_CONTEXT_SWITCHES, u, 0, 5 },
		{ AP_PERF_COUNT_SW_CONTEXT_SWITCHES, k, 0, 0 },
		{ AP_PERF_COUNT_SW_CPU_MIGRATIONS, k, 0, 0 },
		{ AP_PERF_COUNT_SW_CPU_MIGRATIONS, u, 0, 5 },
		{ AP_PERF_COUNT_SW_CGROUP_SWITCHES, k, 0, 0 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, none, 0, 5 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, k, 0, 5 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, u, -AP_EOPNOTSUPP, 0 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, u | k, 0, 0 },
		{ AP_PERF_COUNT_SW_TASK_CLOCK, u | k, 0, 5 },
		{ AP_PERF_COUNT_SW_DUMMY, none, 0, 0 },
		{ AP_PERF_COUNT_SW_BPF_OUTPUT, none, 0, 0 },
	};
	struct opened e;
	u32 i, c;

	fake_init(&core, AP_CPU_OTHER);
	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		int err = open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, rows[i].flags);

		if (!EXPECT_U64(err, rows[i].err))
			tap_note("row %u", i);
		if (err)
			continue;
		start(&e);
		task.time += 5;
		for (c = 0; c < AP_WORLD_N; c++)
			task.counter[c] += 5;
		if (!EXPECT_U64(value(&e), rows[i].count))
			tap_note("row %u", i);
	}
}

static int open_watch(struct opened *e, u64 flags)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_BREAKPOINT,
				     .bp_type = AP_HW_BREAKPOINT_W,
				     .config1 = 0x1000,
				     .config2 = 4,
				     .flags = flags };

	e->task = &task;
	e->cpu = -1;
	return fake_open(&core, &attr, &task, -1, &e->hw, &e->pmu);
}

static void breakpoints_are_armed_while_they_run(void)
{
	struct opened e;

	fake_init(&core, AP_CPU_OTHER);
	REQUIRE(!open_watch(&e, 0));
	EXPECT_U64(core.narmed, 0);
	start(&e);
	EXPECT_U64(core.narmed, 1);
	EXPECT_U64(core.armed.addr, 0x1000);
	EXPECT_U64(core.armed.len, 4);
	EXPECT_U64(core.armed.type, AP_HW_BREAKPOINT_W);
	core.hits = 3;
	EXPECT_U64(value(&e), 3);
	stop(&e);
	EXPECT_U64(core.narmed, 0);
	e.pmu->event_fini(&core, &e.hw);
	EXPECT_U64(core.allocated, 0);

	/* user accesses excluded: none are left that we could see */
	EXPECT_U64(open_watch(&e, AP_PERF_EXCLUDE_USER), -AP_EOPNOTSUPP);
	REQUIRE(!open_watch(&e, AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_KERNEL));
	start(&e);
	EXPECT_U64(core.narmed, 0);
	core.hits = 3;
	EXPECT_U64(value(&e), 0);
	stop(&e);
	e.pmu->event_fini(&core, &e.hw);

	core.ops.bp_arm = NULL;
	EXPECT_U64(open_watch(&e, 0), -AP_EOPNOTSUPP);
	EXPECT_U64(core.allocated, 0);
}

static void kernel_addresses_are_refused(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_BREAKPOINT,
				     .bp_type = AP_HW_BREAKPOINT_W,
				     .config1 = 0xffffffff81000000ULL,
				     .config2 = 8 };
	struct ap_hw_event hw;
	struct ap_pmu *pmu;

	fake_init(&core, AP_CPU_OTHER);
	EXPECT_U64(fake_open(&core, &attr, &task, -1, &hw, &pmu), -AP_EPERM);
	attr.flags = AP_PERF_EXCLUDE_KERNEL;
	EXPECT_U64(fake_open(&core, &attr, &task, -1, &hw, &pmu), -AP_EINVAL);
}

/* A task's registers are free again for whoever has its address after it. */
static void registers_are_a_tasks_own(void)
{
	struct opened e[4], f;
	u32 i;

	fake_init(&core, AP_CPU_OTHER);
	for (i = 0; i < 4; i++)
		REQUIRE(!open_watch(&e[i], 0));
	EXPECT_U64(open_watch(&f, 0), -AP_ENOSPC);
	task.id.tid++;
	EXPECT_U64(open_watch(&f, 0), 0);
	f.pmu->event_fini(&core, &f.hw);
	for (i = 0; i < 4; i++)
		e[i].pmu->event_fini(&core, &e[i].hw);
	EXPECT_U64(core.allocated, 0);
}

static void tracepoints_count_their_id(void)
{
	u32 getppid = ap_trace_sys_enter(110);
	struct opened e;

	fake_init(&core, AP_CPU_OTHER);
	EXPECT_U64(getppid, ap_tracepoint_find("syscalls:sys_enter_getppid", 26));
	task.trace[getppid] = 4;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, 0));
	start(&e);
	task.trace[getppid] += 6;
	task.trace[getppid + 1] += 60;
	EXPECT_U64(value(&e), 6);
	/* passed with the program's registers: not the kernel's */
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, AP_PERF_EXCLUDE_KERNEL));
	start(&e);
	task.trace[getppid] += 6;
	EXPECT_U64(value(&e), 6);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, AP_TRACE_SCHED_FORK,
			    AP_PERF_EXCLUDE_KERNEL));
	start(&e);
	task.trace[AP_TRACE_SCHED_FORK] += 6;
	EXPECT_U64(value(&e), 0);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 0, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 8, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 1ULL << 32 | getppid, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, ~0ULL, 0), -AP_EINVAL);
	core.ops.trace_count = NULL;
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, 0), -AP_ENOENT);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(instructions_are_a_difference),
						 TAP(raw_codes_add_kinds),
						 TAP(a_cpu_counts_what_was_done_there),
						 TAP(a_difference_never_goes_back),
						 TAP(exclude_host_counts_nothing),
						 TAP(kinds_that_the_world_lacks_are_its_error),
						 TAP(constraints_matter_on_a_limited_pmu),
						 TAP(what_cannot_sample_says_so),
						 TAP(clocks_are_the_cores),
						 TAP(world_counters_are_the_worlds),
						 TAP(excluded_modes_leave_what_is_left),
						 TAP(breakpoints_are_armed_while_they_run),
						 TAP(kernel_addresses_are_refused),
						 TAP(registers_are_a_tasks_own),
						 TAP(tracepoints_count_their_id),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
