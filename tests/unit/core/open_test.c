/* SPDX-License-Identifier: MIT */
/*
 * What perf_event_open refuses, with which errno and in which order.  The rows were measured on Linux
 * 6.18 where its software events can show them, and follow its source where only a PMU could.
 */
#include <string.h>

#include "rows.h"
#include "tap/tap.h"
#include "world.h"

#define U AP_PERF_EXCLUDE_KERNEL

static struct world W;

#define SW AP_PERF_TYPE_SOFTWARE

/* Opens and moves it to a number of its own. */
static void group_at(int at, struct ap_perf_attr a, s32 pid, s32 cpu, int group, u64 flags)
{
	int fd = world_open(&W, &a, pid, cpu, group, flags);

	REQUIRE(fd >= 0);
	W.fds[at] = W.fds[fd];
	W.fds[fd] = NULL;
}

static void make_groups(void)
{
	struct ap_perf_attr soft = { .type = SW, .size = 136, .config = 9, .flags = U };
	struct ap_perf_attr hard = attr_instr(), inherit = soft, clock = soft;

	inherit.flags |= AP_PERF_INHERIT;
	clock.flags |= AP_PERF_USE_CLOCKID;
	clock.clockid = AP_CLOCK_MONOTONIC;
	group_at(G_SOFT, soft, 0, -1, -1, 0);
	group_at(G_MEMBER, soft, 0, -1, G_SOFT, 0);
	group_at(G_HARD, hard, 0, -1, -1, 0);
	group_at(G_CPU, soft, -1, 0, -1, 0);
	group_at(G_INHERIT, inherit, 0, -1, -1, 0);
	group_at(G_CLOCK, clock, 0, -1, -1, 0);
	group_at(G_CG, soft, 500, 0, -1, AP_PERF_FLAG_PID_CGROUP);
	world_task(&W, 2);
	group_at(G_DEAD, soft, 102, -1, -1, 0);
	world_exit(&W, 2);
}

static void begin(void)
{
	world_init(&W);
	world_start(&W);
	world_task(&W, 0);
	world_task(&W, 1);
}

static void errors_are_linuxs_in_linuxs_order(void)
{
	begin();
	make_groups();
	for (u32 i = 0; i < nr_open_rows; i++) {
		const struct row *r = &open_rows[i];
		struct ap_perf_attr a = attr_of(r);
		u64 bytes = W.bytes, kinds = W.kinds;
		u32 slots = W.bp_used;
		int fd =
			world_open(&W, &a, r->pid, r->cpu, r->group ? r->group : -1, r->call_flags);

		if (!EXPECT_U64(fd < 0 ? -fd : 0, r->want))
			tap_note("row of line %d", r->line);
		if (fd >= 0)
			world_close(&W, fd);
		if (!EXPECT_U64(W.kinds, kinds) || !EXPECT_U64(W.bp_used, slots))
			tap_note("row of line %d", r->line);
		if (fd < 0 && W.bytes > bytes + 1024)
			tap_note("row of line %d leaks", r->line);
	}
	world_end(&W);
}

static void privilege_opens_doors(void)
{
	struct ap_perf_attr all = { .type = SW, .size = 136, .config = 9 }, user = all, a;

	user.flags = U;
	for (s32 paranoid = -1; paranoid <= 3; paranoid++) {
		for (u32 privileged = 0; privileged < 2; privileged++) {
			bool kernel = privileged || paranoid <= 1,
			     cpu = privileged || paranoid <= 0;

			begin();
			ap_core_config(W.core)->paranoid = paranoid;
			W.privileged = privileged;
			if (paranoid == 3) { /* whoever it is */
				EXPECT_U64(world_open(&W, &user, 0, -1, -1, 0), -AP_EACCES);
				world_end(&W);
				continue;
			}
			EXPECT(world_open(&W, &user, 0, -1, -1, 0) >= 0);
			EXPECT_U64(world_open(&W, &all, 0, -1, -1, 0) >= 0, kernel);
			EXPECT_U64(world_open(&W, &user, -1, 0, -1, 0) >= 0, cpu);
			EXPECT_U64(world_open(&W, &user, 500, 0, -1, AP_PERF_FLAG_PID_CGROUP) >= 0,
				   cpu);
			EXPECT_U64(world_open(&W, &user, 101, -1, -1, 0) >= 0, privileged);
			W.may_trace = true;
			EXPECT(world_open(&W, &user, 101, -1, -1, 0) >= 0);
			a = user;
			a.flags |= AP_PERF_NAMESPACES;
			EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0) >= 0, privileged);
			a = user;
			a.sample_type = AP_PERF_SAMPLE_PHYS_ADDR;
			EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0) >= 0, kernel);
			a = user;
			a.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
			a.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_KERNEL;
			EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0),
				   kernel ? -AP_EOPNOTSUPP : -AP_EACCES);
			world_end(&W);
		}
	}
}

/* To find out who the caller is takes a port long. */
static void who_asks_is_found_out_where_it_matters(void)
{
	struct ap_perf_attr a = attr_instr();

	begin();
	W.privileged = false;
	EXPECT(world_open(&W, &a, 0, -1, -1, 0) >= 0);
	EXPECT_U64(W.nr_asked_who, 0);
	a.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_KERNEL;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EACCES);
	EXPECT_U64(W.nr_asked_who, 1);
	world_end(&W);
}

/* The event is looked up before the target's permission is. */
static void access_to_others_is_asked_late(void)
{
	struct ap_perf_attr a = { .type = SW, .size = 136, .config = 99, .flags = U };

	begin();
	W.privileged = false;
	EXPECT_U64(world_open(&W, &a, 101, -1, -1, 0), -AP_ENOENT);
	a.config = 9;
	EXPECT_U64(world_open(&W, &a, 101, -1, -1, 0), -AP_EACCES);
	EXPECT_U64(world_open(&W, &a, -1, 0, -1, 0), -AP_EACCES);
	EXPECT(open_as(&W, 1, &a, 101, -1, -1, 0) >= 0);
	world_end(&W);
}

static void user_only_counts_user_mode(void)
{
	struct ap_perf_attr a = attr_instr();
	int fd;

	begin();
	ap_core_config(W.core)->user_only = true;
	W.privileged = false;
	a.flags = 0;
	fd = world_open(&W, &a, 0, -1, -1, 0);
	REQUIRE(fd >= 0);
	world_run(&W, 0, MS, 7);
	EXPECT_U64(read_count(&W, fd), 7);
	a.flags = AP_PERF_EXCLUDE_USER;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EACCES);
	world_end(&W);
}

static void an_excluded_host_counts_nothing(void)
{
	struct ap_perf_attr a = attr_instr();
	u64 v[3];
	int fd;

	begin();
	a.read_format = 3;
	a.flags |= AP_PERF_EXCLUDE_HOST;
	fd = open_on(&W, &a, -1);
	world_run(&W, 0, MS, 7);
	EXPECT_U64(read_words(&W, fd, v, 3), 24);
	EXPECT_U64(v[0], 0);
	EXPECT_U64(v[1], MS);
	EXPECT_U64(v[2], MS);
	world_end(&W);
}

static void groups_end_where_a_read_would_be_too_long(void)
{
	struct ap_perf_attr a = { .type = SW, .size = 136, .config = 9, .flags = U };
	static struct ap_event *events[1100];
	struct ap_open_args args = { &a, 0, -1, 0, 0 };
	int leader, r;
	u32 n = 0;

	begin();
	a.read_format = AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID;
	leader = open_on(&W, &a, -1);
	args.group_fd = leader;
	while (!(r = ap_core_open(W.core, W.tasks[0].task, &args, &events[n])))
		n++;
	EXPECT_U64(n + 1, 1023); /* measured */
	EXPECT_U64(r, -AP_E2BIG);
	/* the longest read of the group counts, not that of the newcomer */
	a.read_format = 0;
	EXPECT_U64(ap_core_open(W.core, W.tasks[0].task, &args, &events[n]), -AP_E2BIG);
	while (n)
		ap_core_release(W.core, events[--n]);
	world_end(&W);
}

static void aux_areas_have_nobody(void)
{
	struct ap_perf_attr a = { .type = SW, .size = 136, .config = 9, .flags = U };

	begin();
	a.aux_sample_size = 8;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EINVAL);
	a.aux_sample_size = 0;
	a.reserved_3 = AP_PERF_AUX_START_PAUSED;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EOPNOTSUPP);
	for (u32 bit = 1; bit < 32; bit++) {
		a.reserved_3 = 1U << bit;
		EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EINVAL);
	}
	a.reserved_3 = 0;
	a.reserved_2 = 1;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EINVAL);
	world_end(&W);
}

static void slots_run_out_and_come_back(void)
{
	struct ap_perf_attr a = { .type = AP_PERF_TYPE_BREAKPOINT,
				  .size = 136,
				  .bp_type = AP_HW_BREAKPOINT_W,
				  .flags = U };
	int fd[4];

	begin();
	for (int i = 0; i < 4; i++)
		fd[i] = open_on(&W, &a, -1);
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_ENOSPC);
	world_close(&W, fd[2]);
	open_on(&W, &a, -1);
	world_end(&W);
}

static void no_memory_is_no_harm(void)
{
	struct ap_perf_attr a = attr_instr();
	u64 bytes;
	int r;

	begin();
	for (s32 n = 0;; n++) {
		bytes = W.bytes;
		W.allocs_left = n;
		r = world_open(&W, &a, -1, 2, -1, 0);
		W.allocs_left = -1;
		if (r >= 0)
			break;
		EXPECT_U64(r, -AP_ENOMEM);
		EXPECT(n < 4);
		(void)bytes;
	}
	world_end(&W);
}

static void an_event_is_small(void)
{
	struct ap_perf_attr a = attr_instr();
	u64 before;

	begin();
	open_on(&W, &a, -1);
	before = W.bytes;
	open_on(&W, &a, -1);
	EXPECT(W.bytes - before <= 2048);
	tap_note("%u bytes per event", (unsigned int)(W.bytes - before));
	world_end(&W);
}

/* A supervisor's own events have no caller. */
static void nobody_may_open_for_others(void)
{
	struct ap_perf_attr a = attr_instr();
	struct ap_open_args args = { &a, 100, -1, -1, 0 };
	struct ap_event *e;
	u64 v;

	begin();
	REQUIRE(!ap_core_open(W.core, NULL, &args, &e));
	world_run(&W, 0, MS, 3);
	EXPECT_U64(ap_core_read(W.core, e, &v, 8), 8);
	EXPECT_U64(v, 3);
	ap_core_release(W.core, e);
	args.pid = 0;
	EXPECT_U64(ap_core_open(W.core, NULL, &args, &e), -AP_ESRCH);
	/* what a session refuses its programs it does not refuse itself */
	ap_core_config(W.core)->paranoid = 3;
	W.privileged = false;
	args.pid = -1;
	args.cpu = 0;
	REQUIRE(!ap_core_open(W.core, NULL, &args, &e));
	ap_core_release(W.core, e);
	world_end(&W);
}

/* A port without PMU, cgroups, registers, breakpoints: software events are all that it needs. */
static void the_null_port_counts_software_events(void)
{
	struct ap_perf_attr a = attr_task_clock(), hard = attr_instr();
	int fd, child;

	world_init(&W);
	W.ops.raw = NULL;
	W.ops.cpu_raw = NULL;
	W.ops.want_kinds = NULL;
	W.ops.cgroup_of_fd = NULL;
	W.ops.cgroup_has = NULL;
	W.ops.cgroup_put = NULL;
	W.ops.publish = NULL;
	W.config = (struct ap_core_config){ .paranoid = 2, .max_sample_rate = 100000 };
	REQUIRE(!ap_core_new(&W.core, &W.ops, &W, &W.config));
	REQUIRE(!ap_core_register_pmu(W.core, &W.sw));
	world_task(&W, 0);
	EXPECT_U64(world_open(&W, &hard, 0, -1, -1, 0), -AP_ENOENT);
	EXPECT_U64(world_open(&W, &a, 500, 0, -1, AP_PERF_FLAG_PID_CGROUP), -AP_EINVAL);
	a.sample_type = AP_PERF_SAMPLE_REGS_USER;
	a.sample_regs_user = 1;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_ENOSYS);
	a.sample_type = AP_PERF_SAMPLE_STACK_USER;
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_ENOSYS);
	a.sample_type = 0;
	a.flags |= AP_PERF_INHERIT;
	fd = open_on(&W, &a, -1);
	open_on(&W, &a, fd);
	child = world_fork(&W, 0, false);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, 2 * MS, 1);
	EXPECT_U64(read_count(&W, fd), 3 * MS);
	world_exit(&W, child);
	ap_core_exec(W.core, W.tasks[0].task);
	EXPECT_U64(read_count(&W, fd), 3 * MS);
	EXPECT_U64(ap_core_tick(W.core), 0);
	/* a driver that the port has no counters for */
	REQUIRE(!ap_core_register_pmu(W.core, &W.cpu));
	EXPECT_U64(world_open(&W, &hard, 0, -1, -1, 0), -AP_EOPNOTSUPP);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(errors_are_linuxs_in_linuxs_order),
						 TAP(privilege_opens_doors),
						 TAP(who_asks_is_found_out_where_it_matters),
						 TAP(access_to_others_is_asked_late),
						 TAP(user_only_counts_user_mode),
						 TAP(an_excluded_host_counts_nothing),
						 TAP(groups_end_where_a_read_would_be_too_long),
						 TAP(aux_areas_have_nobody),
						 TAP(slots_run_out_and_come_back),
						 TAP(no_memory_is_no_harm),
						 TAP(an_event_is_small),
						 TAP(nobody_may_open_for_others),
						 TAP(the_null_port_counts_software_events),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
