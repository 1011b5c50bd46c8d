/* SPDX-License-Identifier: MIT */
/* What each driver counts, in a world whose every number the test writes. */
#include <string.h>

#include "abi/errno.h"
#include "abi/trace.h"
#include "fake.h"
#include "pmu/tracepoint.h"
#include "tap/tap.h"

static struct fake f;

/* Disabled, as start and stop are the test's. */
static int open_on(struct ap_event **e, u32 type, u64 config, u64 flags, s32 pid, s32 cpu)
{
	struct ap_perf_attr attr = { .type = type,
				     .size = AP_PERF_ATTR_SIZE_VER8,
				     .config = config,
				     .flags = flags | AP_PERF_DISABLED };

	return fake_open(&f, &attr, pid, cpu, e);
}

static int open_event(struct ap_event **e, u32 type, u64 config, u64 flags)
{
	return open_on(e, type, config, flags, 0, -1);
}

static void start(struct ap_event *e)
{
	fake_enable(&f, e, true);
}

static void stop(struct ap_event *e)
{
	fake_enable(&f, e, false);
}

static u64 value(struct ap_event *e)
{
	return fake_read(&f, e);
}

static void begin(enum ap_cpu cpu)
{
	fake_prepare(&f);
	fake_start(&f, cpu);
}

static u64 kinds_of(const struct ap_event *e)
{
	struct ap_event_public p;

	ap_event_public(e, &p);
	return p.kinds;
}

static void instructions_are_a_difference(void)
{
	struct ap_event *e;

	begin(AP_CPU_SKYLAKE);
	f.host.raw[AP_KIND_INSTR] = 1000;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_HARDWARE, 1, AP_PERF_EXCLUDE_KERNEL));
	EXPECT_U64(kinds_of(e), 1);
	start(e);
	EXPECT_U64(value(e), 0);
	f.host.raw[AP_KIND_INSTR] += 17;
	f.host.raw[AP_KIND_BRANCH] += 5;
	EXPECT_U64(value(e), 17);
	stop(e);
	f.host.raw[AP_KIND_INSTR] += 3;
	start(e);
	f.host.raw[AP_KIND_INSTR] += 2;
	EXPECT_U64(value(e), 19);
	fake_close(&f, e);
	fake_end(&f);
}

static void raw_codes_add_kinds(void)
{
	struct ap_event *e;

	begin(AP_CPU_SKYLAKE);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x03c7, 0));
	EXPECT_U64(kinds_of(e), 3ULL << AP_KIND_FP_SCALAR_DOUBLE);
	start(e);
	f.host.raw[AP_KIND_FP_SCALAR_DOUBLE] += 2;
	f.host.raw[AP_KIND_FP_SCALAR_SINGLE] += 4;
	f.host.raw[AP_KIND_FP_128_DOUBLE] += 8;
	EXPECT_U64(value(e), 6);
}

static void a_cpu_counts_what_was_done_there(void)
{
	struct ap_event *e;

	begin(AP_CPU_ZEN);
	f.on_cpu[1].raw[AP_KIND_BRANCH] = 50;
	REQUIRE(!open_on(&e, AP_PERF_TYPE_RAW, 0xc2, 0, -1, 1));
	start(e);
	f.on_cpu[1].raw[AP_KIND_BRANCH] += 9;
	f.on_cpu[0].raw[AP_KIND_BRANCH] += 90;
	EXPECT_U64(value(e), 9);
}

/* A reading from outside falls between two of the task's increments. */
static void a_difference_never_goes_back(void)
{
	struct ap_event *e;

	begin(AP_CPU_SKYLAKE);
	f.host.raw[AP_KIND_BRANCH] = 100;
	f.host.raw[AP_KIND_TAKEN] = 60;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_RAW, 0x10c4, 0));
	EXPECT_U64(kinds_of(e), 0);
	start(e);
	EXPECT_U64(value(e), 0);
	f.host.raw[AP_KIND_TAKEN] += 1; /* seen before its branch is */
	EXPECT_U64(value(e), 0);
	f.host.raw[AP_KIND_BRANCH] += 3;
	EXPECT_U64(value(e), 2);
	f.host.raw[AP_KIND_TAKEN] += 1;
	EXPECT_U64(value(e), 2);
	f.host.raw[AP_KIND_BRANCH] += 1;
	EXPECT_U64(value(e), 2);
}

static void a_world_without_an_engine_has_no_cpu_pmu(void)
{
	struct ap_event *e;

	fake_prepare(&f);
	f.ops.raw = NULL;
	fake_start(&f, AP_CPU_SKYLAKE);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_HARDWARE, 1, 0), -AP_ENOENT);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_SOFTWARE, 1, 0), 0);
}

static void kinds_that_the_world_lacks_are_its_error(void)
{
	struct ap_event *e;

	begin(AP_CPU_SKYLAKE);
	f.refused = AP_KIND_BIT(AP_KIND_LOAD);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x81d0, 0), -AP_EOPNOTSUPP);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x82d0, 0), 0);
	/* whatever it is called */
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x01c2, 0), -AP_ENOENT);
}

static void exclude_host_counts_nothing(void)
{
	struct ap_event *e, *t;

	begin(AP_CPU_SKYLAKE);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_HARDWARE, 1, AP_PERF_EXCLUDE_HOST));
	REQUIRE(!open_event(&t, AP_PERF_TYPE_SOFTWARE, 1, AP_PERF_EXCLUDE_HOST));
	start(e);
	start(t);
	f.host.raw[AP_KIND_INSTR] += 3;
	f.host.time += 3;
	EXPECT_U64(value(e), 0);
	/* software events do not know of guests */
	EXPECT_U64(value(t), 3);
}

/* Opens a pinned event and enables it: how many of them are on a PMU of n counters at a time? */
static u32 fit(u32 n, u64 config)
{
	struct ap_event *e[8];
	u32 i, on = 0;
	u64 v;

	fake_prepare(&f);
	f.config.counters = n;
	fake_start(&f, AP_CPU_SKYLAKE);
	for (i = 0; i < AP_ARRAY_SIZE(e); i++) {
		REQUIRE(!open_event(&e[i], AP_PERF_TYPE_RAW, config, AP_PERF_PINNED));
		start(e[i]);
		/* 0 bytes of one that did not fit */
		on += ap_core_read(f.core, e[i], &v, sizeof(v)) == sizeof(v);
	}
	for (i = 0; i < AP_ARRAY_SIZE(e); i++)
		fake_close(&f, e[i]);
	fake_end(&f);
	return on;
}

static void constraints_matter_on_a_limited_pmu(void)
{
	struct ap_event *e;

	EXPECT_U64(fit(0, 0x01c0), 8);
	EXPECT_U64(fit(4, 0x01c0), 1); /* on the second counter only */
	EXPECT_U64(fit(4, 0x00c0), 4);
	EXPECT_U64(fit(6, 0x81d0), 4); /* on the first four */
	EXPECT_U64(fit(200, 0x00c0), 8);
	fake_prepare(&f);
	f.config.counters = 1;
	fake_start(&f, AP_CPU_SKYLAKE);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x01c0, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_RAW, 0x00c0, 0), 0);
}

static void what_cannot_sample_says_so(void)
{
	static const u32 types[] = { 0, 1, 2 }, configs[] = { 1, 1, AP_TRACE_RAW_SYS_ENTER };
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_HARDWARE, .config = 1 };
	struct ap_event *e;
	u32 i;

	begin(AP_CPU_SKYLAKE);
	attr.flags = 1ULL << AP_PERF_PRECISE_IP_SHIFT;
	EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EOPNOTSUPP);
	for (i = 0; i < AP_ARRAY_SIZE(types); i++) {
		attr = (struct ap_perf_attr){ .type = types[i], .config = configs[i] };
		attr.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = AP_PERF_SAMPLE_BRANCH_USER | 8;
		EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EOPNOTSUPP);
		attr.sample_type = 0;
		attr.sample_period = 1000;
		EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EOPNOTSUPP);
	}
}

static int may_sample_faults(void *world, u32 source)
{
	(void)world;
	return source == AP_SAMPLE_FAULT ? 0 : -AP_EOPNOTSUPP;
}

static void page_faults_are_sampled_where_the_world_tells(void)
{
	static const struct {
		u64 config;
		int want;
		u32 which;
	} rows[] = { { AP_PERF_COUNT_SW_PAGE_FAULTS, AP_SAMPLE_FAULT, AP_FAULT_ANY },
		     { AP_PERF_COUNT_SW_PAGE_FAULTS_MIN, AP_SAMPLE_FAULT, AP_FAULT_MIN },
		     { AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ, AP_SAMPLE_FAULT, AP_FAULT_MAJ },
		     { AP_PERF_COUNT_SW_CPU_MIGRATIONS, -AP_EOPNOTSUPP, 0 },
		     { AP_PERF_COUNT_SW_TASK_CLOCK, -AP_EOPNOTSUPP, 0 } };
	struct ap_perf_attr attr;
	struct ap_event *e;

	fake_prepare(&f);
	fake_sampling(&f);
	f.ops.may_sample = may_sample_faults;
	fake_start(&f, AP_CPU_SKYLAKE);
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		attr = (struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
					      .config = rows[i].config };
		attr.sample_period = 10;
		if (rows[i].want < 0) {
			EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), rows[i].want);
			continue;
		}
		EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), 0);
		EXPECT_U64(f.samplers[0].s.source, rows[i].want);
		EXPECT_U64(f.samplers[0].s.which, rows[i].which);
		fake_close(&f, e);
	}
	fake_end(&f);
}

/* Which driver samples how: the source of its sampler, or the errno. */
static void each_driver_samples_in_its_way(void)
{
	static const struct {
		int line;
		u32 type;
		u64 config, flags;
		int want; /* enum ap_sampler_source, 0 none needed, -errno */
		u32 which;
	} rows[] = {
		{ __LINE__, AP_PERF_TYPE_HARDWARE, 1, 0, AP_SAMPLE_LANE, 0 },
		{ __LINE__, AP_PERF_TYPE_HARDWARE, 1, 3ULL << AP_PERF_PRECISE_IP_SHIFT,
		  AP_SAMPLE_LANE, 0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_CPU_CLOCK, 0, AP_SAMPLE_CLOCK,
		  0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_TASK_CLOCK, 0, AP_SAMPLE_CLOCK,
		  0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_DUMMY, 0, 0, 0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_BPF_OUTPUT, 0, 0, 0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS, 0, -AP_EOPNOTSUPP,
		  0 },
		{ __LINE__, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_CONTEXT_SWITCHES, 0,
		  -AP_EOPNOTSUPP, 0 },
		{ __LINE__, AP_PERF_TYPE_TRACEPOINT, AP_TRACE_RAW_SYS_ENTER, 0, AP_SAMPLE_TRACE,
		  AP_TRACE_RAW_SYS_ENTER },
		/* a sum less another has no mark to reach */
		{ __LINE__, AP_PERF_TYPE_RAW, 0, 0, -AP_EOPNOTSUPP, 0 },
	};
	struct ap_perf_attr attr;
	struct ap_event *e;

	fake_prepare(&f);
	fake_sampling(&f);
	fake_start(&f, AP_CPU_SKYLAKE);
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		int r;

		attr = (struct ap_perf_attr){ .type = rows[i].type,
					      .config = rows[i].config,
					      .sample_period = 1000,
					      .flags = rows[i].flags };
		if (rows[i].type == AP_PERF_TYPE_RAW)
			attr.config1 = 13;
		r = fake_open(&f, &attr, 0, -1, &e);
		if (!EXPECT_U64(r, rows[i].want < 0 ? rows[i].want : 0))
			tap_note("row of line %d", rows[i].line);
		if (r)
			continue;
		EXPECT_U64(f.nr_samplers, rows[i].want > 0);
		if (rows[i].want > 0) {
			EXPECT_U64(f.samplers[0].s.source, (u32)rows[i].want);
			EXPECT_U64(f.samplers[0].s.which, rows[i].which);
		}
		fake_close(&f, e);
	}
	fake_end(&f);
}

static void precise_events_are_sampling_ones(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_HARDWARE,
				     .config = 1,
				     .flags = 1ULL << AP_PERF_PRECISE_IP_SHIFT };
	struct ap_event *e;

	fake_prepare(&f);
	fake_sampling(&f);
	fake_start(&f, AP_CPU_SKYLAKE);
	EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EINVAL);
	attr.sample_period = 10;
	REQUIRE(!fake_open(&f, &attr, 0, -1, &e));
	fake_close(&f, e);
	fake_end(&f);
}

static void branch_stacks_are_had_where_the_port_has_them(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_HARDWARE,
				     .config = 1,
				     .sample_period = 10,
				     .sample_type = AP_PERF_SAMPLE_BRANCH_STACK,
				     .branch_sample_type = AP_PERF_SAMPLE_BRANCH_USER | 8 };
	struct ap_event *e;

	fake_prepare(&f);
	fake_sampling(&f);
	f.config.has_branch_stack = true;
	fake_start(&f, AP_CPU_SKYLAKE);
	REQUIRE(!fake_open(&f, &attr, 0, -1, &e));
	EXPECT_U64(f.samplers[0].s.branch_sample_type, attr.branch_sample_type);
	fake_close(&f, e);
	attr.branch_sample_type |= AP_PERF_SAMPLE_BRANCH_COUNTERS;
	EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EINVAL);
	fake_end(&f);
}

static void a_watch_is_sampled_at_its_place(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_BREAKPOINT,
				     .bp_type = AP_HW_BREAKPOINT_W,
				     .config1 = 0x1000,
				     .config2 = 4,
				     .sample_period = 1,
				     .flags = AP_PERF_DISABLED };
	struct ap_event *e;

	fake_prepare(&f);
	fake_sampling(&f);
	fake_start(&f, AP_CPU_OTHER);
	REQUIRE(!fake_open(&f, &attr, 0, -1, &e));
	EXPECT_U64(f.samplers[0].s.source, AP_SAMPLE_WATCH);
	start(e);
	EXPECT_U64(f.samplers[0].s.which, 77 + 7); /* known when it is armed */
	EXPECT(f.samplers[0].live.state & AP_SAMPLER_ARMED);
	stop(e);
	fake_close(&f, e);
	fake_end(&f);
}

static void clocks_are_the_cores(void)
{
	struct ap_event *t, *c;

	begin(AP_CPU_OTHER);
	f.host.time = 500;
	f.clock = 9000;
	REQUIRE(!open_event(&t, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_TASK_CLOCK, 0));
	REQUIRE(!open_on(&c, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_CPU_CLOCK, 0, -1, 0));
	start(t);
	start(c);
	f.host.time += 7;
	f.clock += 11;
	EXPECT_U64(value(t), 7);
	EXPECT_U64(value(c), 11);
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
	struct ap_event *e;
	u32 i;

	begin(AP_CPU_OTHER);
	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		f.host.counter[rows[i].counter] = 100 * i;
		REQUIRE(!open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, 0));
		start(e);
		f.host.counter[rows[i].counter] += i + 1;
		EXPECT_U64(value(e), i + 1);
		/* a world that lost sight of it: what was seen stays */
		f.unknown = 1u << rows[i].counter;
		EXPECT_U64(value(e), i + 1);
		EXPECT_U64(open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, 0),
			   -AP_EOPNOTSUPP);
		f.unknown = 0;
	}
	REQUIRE(!open_on(&e, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS, 0, -1, 1));
	start(e);
	f.on_cpu[1].counter[AP_WORLD_PAGE_FAULTS] += 4;
	EXPECT_U64(value(e), 4);
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
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, k, 0, 3 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, u, 0, 2 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS_MIN, k, 0, 3 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ, u, 0, 2 },
		{ AP_PERF_COUNT_SW_EMULATION_FAULTS, u, 0, 2 },
		{ AP_PERF_COUNT_SW_EMULATION_FAULTS, none, 0, 5 },
		{ AP_PERF_COUNT_SW_PAGE_FAULTS, u | k, 0, 0 },
		{ AP_PERF_COUNT_SW_TASK_CLOCK, u | k, 0, 5 },
		{ AP_PERF_COUNT_SW_DUMMY, none, 0, 0 },
		{ AP_PERF_COUNT_SW_BPF_OUTPUT, none, 0, 0 },
	};
	struct ap_event *e;
	u32 i, c;

	begin(AP_CPU_OTHER);
	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		int err = open_event(&e, AP_PERF_TYPE_SOFTWARE, rows[i].config, rows[i].flags);

		if (!EXPECT_U64(err, rows[i].err))
			tap_note("row %u", i);
		if (err)
			continue;
		start(e);
		f.host.time += 5;
		for (c = 0; c < AP_WORLD_N; c++) /* 3 in user mode, 2 in the kernel */
			f.host.counter[c] += c / AP_WORLD_FAULTS_N == 1	  ? 3
					     : c / AP_WORLD_FAULTS_N == 2 ? 2
									  : 5;
		if (!EXPECT_U64(value(e), rows[i].count))
			tap_note("row %u", i);
	}
}

/* Where the world has no counter of a mode, the number of both would be wrong. */
static void modes_that_nobody_tells_are_refused(void)
{
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	f.unknown = 1u << AP_WORLD_USER_FAULTS | 1u << AP_WORLD_KERNEL_FAULTS;
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS,
			      AP_PERF_EXCLUDE_KERNEL),
		   -AP_EOPNOTSUPP);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS,
			      AP_PERF_EXCLUDE_USER),
		   -AP_EOPNOTSUPP);
	EXPECT(!open_event(&e, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_PAGE_FAULTS, 0));
}

static int open_watch(struct ap_event **e, u64 flags)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_BREAKPOINT,
				     .bp_type = AP_HW_BREAKPOINT_W,
				     .config1 = 0x1000,
				     .config2 = 4,
				     .flags = flags | AP_PERF_DISABLED };

	return fake_open(&f, &attr, 0, -1, e);
}

static void breakpoints_are_armed_while_they_run(void)
{
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	REQUIRE(!open_watch(&e, 0));
	EXPECT_U64(f.narmed, 0);
	start(e);
	EXPECT_U64(f.narmed, 1);
	EXPECT_U64(f.armed.addr, 0x1000);
	EXPECT_U64(f.armed.len, 4);
	EXPECT_U64(f.armed.type, AP_HW_BREAKPOINT_W);
	f.hits = 3;
	EXPECT_U64(value(e), 3);
	stop(e);
	EXPECT_U64(f.narmed, 0);
	EXPECT_U64(value(e), 3);
	start(e);
	f.hits = 2;
	EXPECT_U64(value(e), 5);
	/* closed while it is armed */
	fake_close(&f, e);
	fake_end(&f);
}

static void the_last_data_watch_is_told(void)
{
	const struct ap_perf_attr code = { .type = AP_PERF_TYPE_BREAKPOINT,
					   .bp_type = AP_HW_BREAKPOINT_X,
					   .config1 = 0x1000,
					   .config2 = 8 };
	struct ap_event *e[2], *x;

	begin(AP_CPU_OTHER);
	REQUIRE(!open_watch(&e[0], 0));
	REQUIRE(!fake_open(&f, &code, 0, -1, &x));
	REQUIRE(!open_watch(&e[1], 0));
	start(e[0]);
	stop(e[0]);
	fake_close(&f, e[0]);
	EXPECT_U64(f.no_data, 0);
	fake_close(&f, e[1]);
	EXPECT_U64(f.no_data, 1);
	fake_close(&f, x);
	EXPECT_U64(f.no_data, 1);
	fake_end(&f);
}

static void breakpoints_see_the_user_only(void)
{
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	EXPECT_U64(open_watch(&e, AP_PERF_EXCLUDE_USER), -AP_EOPNOTSUPP);
	REQUIRE(!open_watch(&e, AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_KERNEL));
	start(e);
	EXPECT_U64(f.narmed, 0);
	EXPECT_U64(value(e), 0);
	stop(e);
	fake_close(&f, e);
	fake_end(&f);

	fake_prepare(&f);
	f.ops.bp_arm = NULL;
	fake_start(&f, AP_CPU_OTHER);
	EXPECT_U64(open_watch(&e, 0), -AP_EOPNOTSUPP);
	fake_end(&f);
}

static void kernel_addresses_are_refused(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_BREAKPOINT,
				     .bp_type = AP_HW_BREAKPOINT_W,
				     .config1 = 0xffffffff81000000ULL,
				     .config2 = 8 };
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EPERM);
	attr.flags = AP_PERF_EXCLUDE_KERNEL;
	EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), -AP_EINVAL);
}

/* A task's registers are its own, and stay taken while its events are open, also after its end. */
static void registers_are_a_tasks_own(void)
{
	static const struct ap_task_id id = { 200, 200 };
	struct fake_host other = { 0 };
	struct ap_task *first;
	struct ap_event *e[4], *g;
	u32 i;

	begin(AP_CPU_OTHER);
	for (i = 0; i < 4; i++)
		REQUIRE(!open_watch(&e[i], 0));
	EXPECT_U64(open_watch(&g, 0), -AP_ENOSPC);
	first = f.task;
	REQUIRE(!ap_core_task_new(f.core, &id, &other, &f.task));
	EXPECT_U64(open_watch(&g, 0), 0);
	fake_close(&f, g);
	ap_core_exit(f.core, first);
	for (i = 0; i < 4; i++)
		REQUIRE(!open_watch(&g, 0) && (fake_close(&f, e[i]), true) && (e[i] = g));
	EXPECT_U64(open_watch(&g, 0), -AP_ENOSPC);
	for (i = 0; i < 4; i++)
		fake_close(&f, e[i]);
	fake_end(&f);
}

/* Children take registers as well, and give them back at their end. */
static void inherited_breakpoints_take_registers(void)
{
	static const struct ap_task_id id = { 200, 200 };
	struct fake_host other = { 0 };
	struct ap_task *child;
	struct ap_event *e, *mine[3], *g;
	u32 i;

	begin(AP_CPU_OTHER);
	REQUIRE(!open_watch(&e, AP_PERF_INHERIT));
	start(e);
	REQUIRE(!ap_core_task_new(f.core, &id, &other, &child));
	REQUIRE(!ap_core_fork(f.core, f.task, child, false));
	EXPECT_U64(f.narmed, 2);
	f.task = child;
	for (i = 0; i < 3; i++)
		REQUIRE(!open_watch(&mine[i], 0));
	EXPECT_U64(open_watch(&g, 0), -AP_ENOSPC);
	for (i = 0; i < 3; i++)
		fake_close(&f, mine[i]);
	f.hits = 4;
	ap_core_exit(f.core, child);
	EXPECT_U64(f.narmed, 1);
	f.hits = 3;
	EXPECT_U64(value(e), 7);
	fake_close(&f, e);
	fake_end(&f);
}

static void tracepoints_count_their_id(void)
{
	u32 getppid = ap_trace_sys_enter(110);
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	EXPECT_U64(getppid, ap_tracepoint_find("syscalls:sys_enter_getppid", 26));
	f.host.trace[getppid] = 4;
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, 0));
	start(e);
	f.host.trace[getppid] += 6;
	f.host.trace[getppid + 1] += 60;
	EXPECT_U64(value(e), 6);
	/* passed with the program's registers: not the kernel's */
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, AP_PERF_EXCLUDE_KERNEL));
	start(e);
	f.host.trace[getppid] += 6;
	EXPECT_U64(value(e), 6);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, AP_TRACE_SCHED_FORK,
			    AP_PERF_EXCLUDE_KERNEL));
	start(e);
	f.host.trace[AP_TRACE_SCHED_FORK] += 6;
	EXPECT_U64(value(e), 0);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 0, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 8, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, 1ULL << 32 | getppid, 0), -AP_EINVAL);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, ~0ULL, 0), -AP_EINVAL);
	fake_prepare(&f);
	f.ops.trace_count = NULL;
	fake_start(&f, AP_CPU_OTHER);
	EXPECT_U64(open_event(&e, AP_PERF_TYPE_TRACEPOINT, getppid, 0), -AP_ENOENT);
}

static s64 set_filter(struct ap_event *e, const char *text)
{
	struct ap_ioctl_args args = { .cmd = AP_PERF_IOC_SET_FILTER,
				      .in = text,
				      .in_size = strlen(text) + 1 };

	return ap_core_ioctl(f.core, f.task, e, &args);
}

static void filters_make_another_thing_of_it(void)
{
	u32 call = ap_trace_sys_enter(1);
	struct ap_event *e, *other;

	begin(AP_CPU_OTHER);
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, call, 0));
	start(e);
	f.host.trace[call] += 4;
	f.host.trace[AP_TRACE_FILTERED] += 100;
	EXPECT_U64(set_filter(e, "count > 5 && fd == 1"), 0);
	EXPECT_U64(f.filter.id, call);
	EXPECT_U64(f.filter.n, 3);
	EXPECT_U64(f.filter.node[0].a, 32);
	EXPECT_U64(value(e), 4); /* what it has counted stays */
	f.host.trace[call] += 40;
	f.host.trace[AP_TRACE_FILTERED] += 3;
	EXPECT_U64(value(e), 7);
	EXPECT_U64(set_filter(e, "count > 5"), -AP_EEXIST);
	/* of what records nothing that is known, of what is no tracepoint, and for want of room */
	REQUIRE(!open_event(&other, AP_PERF_TYPE_TRACEPOINT, AP_TRACE_SCHED_EXIT, 0));
	EXPECT_U64(set_filter(other, "pid == 1"), -AP_EINVAL);
	fake_close(&f, other);
	REQUIRE(!open_event(&other, AP_PERF_TYPE_TRACEPOINT, call, 0));
	EXPECT_U64(set_filter(other, "buf == 1"), -AP_EINVAL);
	f.no_filter = -AP_ENOSPC;
	EXPECT_U64(set_filter(other, "count == 1"), -AP_ENOSPC);
	f.no_filter = 0;
	EXPECT_U64(set_filter(other, "count == 1"), 0);
	EXPECT_U64(f.nr_filters, 2);
	fake_close(&f, other);
	fake_close(&f, e);
	EXPECT_U64(f.nr_filters, 0);
	fake_end(&f);
}

static void clones_have_their_parents_filter(void)
{
	static const struct ap_task_id id = { 101, 101 };
	u32 call = ap_trace_sys_enter(1);
	static struct fake_host host;
	struct ap_task *child;
	struct ap_event *e;

	begin(AP_CPU_OTHER);
	memset(&host, 0, sizeof(host));
	REQUIRE(!open_event(&e, AP_PERF_TYPE_TRACEPOINT, call, AP_PERF_INHERIT));
	REQUIRE(!ap_core_task_new(f.core, &id, &host, &child));
	start(e);
	REQUIRE(!ap_core_fork(f.core, f.task, child, false));
	host.trace[call] = 2;
	EXPECT_U64(set_filter(e, "count > 5"), 0); /* those that are there */
	EXPECT_U64(f.nr_filters, 2);
	host.trace[AP_TRACE_FILTERED + 1] = 10;
	EXPECT_U64(value(e), 12);
	ap_core_exit(f.core, child);
	EXPECT_U64(f.nr_filters, 1);
	memset(&host, 0, sizeof(host));
	REQUIRE(!ap_core_task_new(f.core, &id, &host, &child));
	REQUIRE(!ap_core_fork(f.core, f.task, child, false)); /* and those to come */
	EXPECT_U64(f.nr_filters, 2);
	host.trace[AP_TRACE_FILTERED + 1] = 5;
	host.trace[call] = 50;
	EXPECT_U64(value(e), 17);
	ap_core_exit(f.core, child);
	fake_close(&f, e);
	EXPECT_U64(f.nr_filters, 0);
	fake_end(&f);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(instructions_are_a_difference),
						 TAP(raw_codes_add_kinds),
						 TAP(a_cpu_counts_what_was_done_there),
						 TAP(a_difference_never_goes_back),
						 TAP(a_world_without_an_engine_has_no_cpu_pmu),
						 TAP(kinds_that_the_world_lacks_are_its_error),
						 TAP(exclude_host_counts_nothing),
						 TAP(constraints_matter_on_a_limited_pmu),
						 TAP(filters_make_another_thing_of_it),
						 TAP(clones_have_their_parents_filter),
						 TAP(what_cannot_sample_says_so),
						 TAP(page_faults_are_sampled_where_the_world_tells),
						 TAP(each_driver_samples_in_its_way),
						 TAP(precise_events_are_sampling_ones),
						 TAP(branch_stacks_are_had_where_the_port_has_them),
						 TAP(a_watch_is_sampled_at_its_place),
						 TAP(clocks_are_the_cores),
						 TAP(world_counters_are_the_worlds),
						 TAP(excluded_modes_leave_what_is_left),
						 TAP(modes_that_nobody_tells_are_refused),
						 TAP(breakpoints_are_armed_while_they_run),
						 TAP(the_last_data_watch_is_told),
						 TAP(breakpoints_see_the_user_only),
						 TAP(kernel_addresses_are_refused),
						 TAP(registers_are_a_tasks_own),
						 TAP(inherited_breakpoints_take_registers),
						 TAP(tracepoints_count_their_id),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
