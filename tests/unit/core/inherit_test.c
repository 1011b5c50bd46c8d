/* SPDX-License-Identifier: MIT */
/* fork, exec and exit: who inherits what, and where the counts of those who are gone stay. */
#include <string.h>

#include "tap/tap.h"
#include "world.h"

#define TIMES (AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING)

#define reads(fd, ...) expect_reads(&W, __LINE__, fd, __VA_ARGS__)

static struct world W;

static int open_instr(u64 flags, int group)
{
	struct ap_perf_attr a = attr_instr();

	a.read_format = TIMES;
	a.flags |= flags;
	return open_on(&W, &a, group);
}

static void counts_of_children_are_added_over_generations(void)
{
	u32 old, child, grandchild, thread;
	int fd;

	world_begin(&W, 0);
	old = world_fork(&W, 0, false);
	fd = open_instr(AP_PERF_INHERIT, -1);
	child = world_fork(&W, 0, false);
	thread = world_fork(&W, child, true);
	grandchild = world_fork(&W, child, false);
	world_run(&W, 0, 1 * MS, 1);
	world_run(&W, old, 16 * MS, 1000000);
	world_run(&W, child, 2 * MS, 10);
	world_run(&W, thread, 4 * MS, 100);
	world_run(&W, grandchild, 8 * MS, 1000);
	reads(fd, 1111, 15 * MS, 15 * MS);
	world_exit(&W, child);
	reads(fd, 1111, 15 * MS, 15 * MS);
	world_run(&W, grandchild, MS, 1000);
	world_exit(&W, thread);
	world_fork(&W, grandchild, false);
	world_exit(&W, grandchild);
	world_exit(&W, 0);
	reads(fd, 2111, 16 * MS, 16 * MS);
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 0x10);
	world_end(&W);
}

static void without_inherit_children_do_not_count(void)
{
	u32 child;
	int fd;

	world_begin(&W, 0);
	fd = open_instr(0, -1);
	child = world_fork(&W, 0, false);
	EXPECT(!ap_task_is_watched(W.tasks[child].task));
	EXPECT(ap_task_is_watched(W.tasks[0].task));
	world_run(&W, child, MS, 10);
	reads(fd, 0, 0, 0);
	world_end(&W);
}

static void threads_only(void)
{
	u32 thread, process;
	int fd;

	world_begin(&W, 0);
	fd = open_instr(AP_PERF_INHERIT | AP_PERF_INHERIT_THREAD, -1);
	thread = world_fork(&W, 0, true);
	process = world_fork(&W, 0, false);
	world_run(&W, thread, MS, 10);
	world_run(&W, process, MS, 100);
	reads(fd, 10, MS, MS);
	world_end(&W);
}

/* The state of the moment is inherited, not what the attr said; and switching reaches all. */
static void state_is_inherited_and_switched_together(void)
{
	u32 early, late;
	int fd;

	world_begin(&W, 0);
	fd = open_instr(AP_PERF_INHERIT | AP_PERF_DISABLED, -1);
	early = world_fork(&W, 0, false);
	world_run(&W, early, MS, 10);
	reads(fd, 0, 0, 0);
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	late = world_fork(&W, 0, false);
	world_run(&W, early, MS, 10);
	world_run(&W, late, MS, 100);
	reads(fd, 110, 2 * MS, 2 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, early, MS, 10);
	world_run(&W, late, MS, 100);
	reads(fd, 110, 2 * MS, 2 * MS);
	world_exit(&W, late);
	/* counts of ended children are reset as well */
	world_ioctl(&W, fd, AP_PERF_IOC_RESET, 0);
	reads(fd, 0, 2 * MS, 2 * MS);
	world_end(&W);
}

static void groups_are_inherited_as_groups(void)
{
	struct ap_perf_attr a = attr_instr();
	int leader, member;
	u64 v[8], id[2];
	u32 child;

	world_begin(&W, 2);
	a.flags |= AP_PERF_INHERIT;
	a.read_format = TIMES | AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID;
	leader = open_on(&W, &a, -1);
	a.config = AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	member = open_on(&W, &a, leader);
	world_close(&W, open_on(&W,
				&(struct ap_perf_attr){
					.type = 1, .size = 136, .config = 1, .flags = a.flags },
				leader));
	id[0] = ap_event_id(W.fds[leader]);
	id[1] = ap_event_id(W.fds[member]);
	child = world_fork(&W, 0, false);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, MS, 10);
	for (int i = 0; i < 2; i++) {
		u64 want[7] = { 2, 2 * MS, 2 * MS, 11, id[0], 11 * (AP_KIND_BRANCH + 1), id[1] };

		EXPECT_U64(read_words(&W, i ? member : leader, v, 8), 56);
		EXPECT_MEM(v, want, sizeof(want));
		if (!i)
			world_exit(&W, child);
	}
	world_end(&W);
}

/* What each task has counted, told at its end, or when it is asked for. */
static struct {
	u32 n;
	struct ap_part part[8];
	char comm[8][16];
} told;

static void note_part(void *world, struct ap_event *event, const struct ap_part *part)
{
	(void)world;
	(void)event;
	REQUIRE(told.n < 8);
	told.part[told.n] = *part;
	strcpy(told.comm[told.n++], part->comm);
}

static void expect_part(u32 i, s32 tid, const char *comm, u64 count)
{
	REQUIRE(i < told.n);
	EXPECT_U64(told.part[i].tid, tid);
	EXPECT_STR(told.comm[i], comm);
	EXPECT_U64(told.part[i].count, count);
	EXPECT_U64(told.part[i].enabled, MS);
	EXPECT_U64(told.part[i].running, MS);
}

static void parts_are_told_by_task(void)
{
	u32 thread, child, ended;
	s32 tid[4];
	int fd;

	world_init(&W);
	W.ops.part = note_part;
	world_start(&W);
	world_task(&W, 0);
	told.n = 0;
	fd = open_instr(AP_PERF_INHERIT, -1);
	ap_core_split(W.core, W.fds[fd]);
	ap_core_comm(W.core, W.tasks[0].task, "first", true);
	thread = world_fork(&W, 0, true);
	child = world_fork(&W, 0, false);
	ended = world_fork(&W, child, false);
	ap_core_comm(W.core, W.tasks[child].task, "a name that is too long", false);
	world_run(&W, 0, MS, 1);
	world_run(&W, thread, MS, 10);
	world_run(&W, child, MS, 100);
	world_run(&W, ended, MS, 1000);
	reads(fd, 1111, 4 * MS, 4 * MS);
	for (u32 i = 0; i < 4; i++)
		tid[i] = ap_task_id(W.tasks[i].task).tid;
	EXPECT_U64(told.n, 0);
	world_exit(&W, ended);
	expect_part(0, tid[ended], "first", 1000);
	ap_core_tell_parts(W.core, W.fds[fd]);
	EXPECT_U64(told.n, 4);
	expect_part(1, tid[0], "first", 1);
	expect_part(2, tid[thread], "first", 10);
	expect_part(3, tid[child], "a name that is ", 100);
	EXPECT(told.part[1].task < told.part[2].task && told.part[2].task < told.part[3].task &&
	       told.part[3].task < told.part[0].task);
	world_exit(&W, 0);
	expect_part(4, tid[0], "first", 1);
	reads(fd, 1111, 4 * MS, 4 * MS);
	world_end(&W);
}

static void a_group_that_grew_cannot_be_read_as_one(void)
{
	struct ap_perf_attr a = attr_instr();
	int leader, late;
	u32 child;
	u64 v[8];

	world_begin(&W, 0);
	a.flags |= AP_PERF_INHERIT;
	a.read_format = AP_PERF_FORMAT_GROUP;
	leader = open_on(&W, &a, -1);
	child = world_fork(&W, 0, false);
	late = open_on(&W, &a, leader);
	EXPECT_U64(read_words(&W, leader, v, 8), -AP_ECHILD); /* seen on Linux */
	EXPECT_U64(read_words(&W, late, v, 8), -AP_ECHILD);
	world_exit(&W, child);
	EXPECT_U64(read_words(&W, leader, v, 8), 24);
	world_end(&W);
}

static void exec_enables_once(void)
{
	int fd, fd2;
	u32 child;

	world_begin(&W, 0);
	fd = open_instr(AP_PERF_INHERIT | AP_PERF_DISABLED | AP_PERF_ENABLE_ON_EXEC, -1);
	fd2 = open_instr(0, -1);
	child = world_fork(&W, 0, false);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, MS, 10);
	reads(fd, 0, 0, 0);
	ap_core_exec(W.core, W.tasks[0].task);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, MS, 10);
	reads(fd, 1, MS, MS);
	reads(fd2, 2, 2 * MS, 2 * MS);
	ap_core_exec(W.core, W.tasks[child].task);
	world_run(&W, child, MS, 10);
	reads(fd, 11, 2 * MS, 2 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	ap_core_exec(W.core, W.tasks[0].task);
	world_run(&W, 0, MS, 1);
	reads(fd, 11, 2 * MS, 2 * MS);
	world_end(&W);
}

static void exec_enables_a_group_through_its_leader(void)
{
	int leader, member;

	world_begin(&W, 1);
	leader = open_instr(AP_PERF_DISABLED | AP_PERF_ENABLE_ON_EXEC, -1);
	member = open_on(&W,
			 &(struct ap_perf_attr){ .type = 1,
						 .size = 136,
						 .config = 1,
						 .read_format = TIMES,
						 .flags = AP_PERF_EXCLUDE_KERNEL },
			 leader);
	world_run(&W, 0, MS, 1);
	ap_core_exec(W.core, W.tasks[0].task);
	world_run(&W, 0, MS, 1);
	reads(leader, 1, MS, MS);
	reads(member, MS, MS, MS);
	world_end(&W);
}

static void exec_removes(void)
{
	int gone, stays, member;
	u32 child;

	world_begin(&W, 0);
	gone = open_instr(AP_PERF_INHERIT | AP_PERF_REMOVE_ON_EXEC, -1);
	member = open_instr(AP_PERF_INHERIT, gone);
	stays = open_instr(AP_PERF_INHERIT, -1);
	child = world_fork(&W, 0, false);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, MS, 10);
	ap_core_exec(W.core, W.tasks[child].task);
	world_run(&W, 0, MS, 1);
	world_run(&W, child, MS, 10);
	reads(gone, 12, 3 * MS, 3 * MS);
	reads(stays, 22, 4 * MS, 4 * MS);
	ap_core_exec(W.core, W.tasks[0].task);
	world_run(&W, 0, MS, 1);
	reads(gone, 12, 3 * MS, 3 * MS);
	reads(stays, 23, 5 * MS, 5 * MS);
	EXPECT_U64(world_ioctl(&W, gone, AP_PERF_IOC_ENABLE, 0), 0);
	world_ioctl(&W, member, AP_PERF_IOC_DISABLE, 0);
	world_ioctl(&W, member, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(gone, 12, 3 * MS, 3 * MS);
	EXPECT_U64(ap_core_poll(W.core, W.fds[gone]), 0x10);
	world_exit(&W, child);
	world_end(&W);
}

static void an_ended_task_leaves_its_counts(void)
{
	struct ap_perf_attr a = attr_instr();
	int fd, group, member;
	u64 v[4];

	world_begin(&W, 1);
	world_task(&W, 1);
	a.read_format = TIMES;
	fd = world_open(&W, &a, 101, -1, -1, 0);
	a.read_format = AP_PERF_FORMAT_GROUP;
	group = world_open(&W, &a, 101, -1, -1, 0);
	a = attr_task_clock();
	member = world_open(&W, &a, 101, -1, group, 0);
	world_run(&W, 1, 2 * MS, 9);
	world_exit(&W, 1);
	reads(fd, 9, 2 * MS, 2 * MS);
	EXPECT_U64(read_words(&W, group, v, 4), 24);
	EXPECT_U64(v[0], 2);
	EXPECT_U64(ap_core_tick(W.core), 0);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0), 0);
	EXPECT_U64(world_ioctl(&W, group, AP_PERF_IOC_DISABLE, AP_PERF_IOC_FLAG_GROUP), 0);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_RESET, 0), 0);
	reads(fd, 0, 2 * MS, 2 * MS);
	EXPECT(!ap_event_task(W.fds[fd]));
	world_close(&W, group);
	EXPECT_U64(read_count(&W, member), 0);
	world_end(&W);
}

/* A group that waits for a counter when its task ends has been enabled until then. */
static void a_waiting_group_keeps_its_time_at_the_end(void)
{
	int leader, member;

	world_begin(&W, 1);
	open_instr(0, -1);
	leader = open_instr(0, -1);
	member = open_on(&W,
			 &(struct ap_perf_attr){ .type = 1,
						 .size = 136,
						 .config = 1,
						 .read_format = TIMES,
						 .flags = AP_PERF_EXCLUDE_KERNEL },
			 leader);
	world_run(&W, 0, MS, 1);
	world_exit(&W, 0);
	reads(leader, 0, MS, 0);
	reads(member, 0, MS, 0);
	world_end(&W);
}

static void closing_ends_the_clones(void)
{
	u32 child;
	int fd;

	world_begin(&W, 1);
	fd = open_instr(AP_PERF_INHERIT, -1);
	open_instr(AP_PERF_INHERIT, -1);
	child = world_fork(&W, 0, false);
	world_fork(&W, child, false);
	world_close(&W, fd);
	world_fork(&W, child, false);
	EXPECT(ap_task_is_watched(W.tasks[child].task));
	world_end(&W);
}

static void a_clone_that_cannot_be_made_undoes_the_fork(void)
{
	struct ap_perf_attr bp = { .type = AP_PERF_TYPE_BREAKPOINT,
				   .size = 136,
				   .bp_type = AP_HW_BREAKPOINT_W,
				   .flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_INHERIT };
	int fd;

	world_begin(&W, 0);
	fd = open_instr(AP_PERF_INHERIT, -1);
	for (int i = 0; i < 3; i++)
		open_on(&W, &bp, -1);
	world_task(&W, 1);
	EXPECT_U64(ap_core_fork(W.core, W.tasks[0].task, W.tasks[1].task, false), -AP_ENOSPC);
	EXPECT(!ap_task_is_watched(W.tasks[1].task));
	EXPECT_U64(W.bp_used, 3);
	world_run(&W, 1, MS, 5);
	reads(fd, 0, 0, 0);
	world_end(&W);
}

/* Multiplexing goes on in children, each by its own clock. */
static void children_take_turns_of_their_own(void)
{
	u32 child;
	int a, b;

	world_begin(&W, 1);
	a = open_instr(AP_PERF_INHERIT, -1);
	b = open_instr(AP_PERF_INHERIT, -1);
	child = world_fork(&W, 0, false);
	world_run(&W, child, 4 * MS, 10);
	ap_core_tick(W.core);
	world_run(&W, child, 4 * MS, 100);
	world_run(&W, 0, MS, 1);
	reads(a, 11, 9 * MS, 5 * MS);
	reads(b, 100, 9 * MS, 4 * MS);
	world_end(&W);
}

/* Children that are gone before their first turn ends: all groups get their share of them. */
static void short_children_begin_with_all_groups_in_turn(void)
{
	int pinned, pair, member, single, soft;
	u32 child, grandchild;

	world_begin(&W, 3);
	soft = open_on(&W,
		       &(struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
					       .size = 136,
					       .config = AP_PERF_COUNT_SW_TASK_CLOCK,
					       .read_format = TIMES,
					       .flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_INHERIT },
		       -1);
	pair = open_instr(AP_PERF_INHERIT, -1);
	member = open_instr(AP_PERF_INHERIT, pair);
	single = open_instr(AP_PERF_INHERIT, -1);
	pinned = open_instr(AP_PERF_INHERIT | AP_PERF_PINNED, -1);
	for (int i = 0; i < 10; i++) {
		child = world_fork(&W, 0, false);
		world_run(&W, child, MS, 10);
		ap_core_tick(W.core);
		grandchild = world_fork(&W, child, false); /* begins as its parent did */
		world_run(&W, grandchild, MS, 1000);
		world_exit(&W, grandchild);
		world_exit(&W, child);
	}
	reads(pinned, 10100, 20 * MS, 20 * MS);
	reads(soft, 20 * MS, 20 * MS, 20 * MS);
	reads(pair, 5050, 20 * MS, 10 * MS);
	reads(member, 5050, 20 * MS, 10 * MS);
	reads(single, 5050, 20 * MS, 10 * MS);
	world_end(&W);
}

static void cgroup_events_are_of_its_tasks_on_that_cpu(void)
{
	struct ap_perf_attr a = attr_instr();
	int fd, member, other;
	u32 child;
	u64 v[8];

	world_begin(&W, 0);
	W.tasks[1].cgroup = 1;
	world_task(&W, 1);
	a.read_format = TIMES;
	EXPECT(!ap_core_wants_tasks(W.core));
	fd = world_open(&W, &a, 500, 0, -1, AP_PERF_FLAG_PID_CGROUP);
	other = world_open(&W, &a, 501, 1, -1, AP_PERF_FLAG_PID_CGROUP);
	a.read_format = AP_PERF_FORMAT_GROUP;
	member = world_open(&W, &a, 500, 0, fd, AP_PERF_FLAG_PID_CGROUP);
	REQUIRE(fd >= 0 && other >= 0 && member >= 0);
	EXPECT(ap_core_wants_tasks(W.core));
	world_run(&W, 0, MS, 1);
	world_run(&W, 1, MS, 1000); /* of the other cgroup, and not on its CPU */
	child = world_fork(&W, 0, false);
	world_run(&W, child, 2 * MS, 10);
	reads(fd, 11, 3 * MS, 3 * MS);
	world_move(&W, child, 1);
	world_run(&W, child, 4 * MS, 100);
	reads(fd, 11, 3 * MS, 3 * MS);
	world_move(&W, 1, 1);
	world_run(&W, 1, MS, 1000);
	reads(other, 1000, MS, MS);
	EXPECT_U64(read_words(&W, member, v, 8), 24);
	EXPECT_U64(v[1], 11);
	EXPECT_U64(v[2], 11);
	world_move(&W, child, 0);
	world_exit(&W, child);
	reads(fd, 11, 3 * MS, 3 * MS);
	/* a task comes into the cgroup, and leaves it */
	world_move(&W, 1, 0);
	W.tasks[1].cgroup = 0;
	EXPECT_U64(ap_core_task_moved_cgroup(W.core, W.tasks[1].task), 0);
	EXPECT_U64(ap_core_task_moved_cgroup(W.core, W.tasks[1].task), 0);
	world_run(&W, 1, MS, 20);
	reads(fd, 31, 4 * MS, 4 * MS);
	W.tasks[1].cgroup = 1;
	EXPECT_U64(ap_core_task_moved_cgroup(W.core, W.tasks[1].task), 0);
	world_run(&W, 1, MS, 20);
	reads(fd, 31, 4 * MS, 4 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, 0, MS, 5);
	reads(fd, 31, 4 * MS, 4 * MS);
	world_close(&W, fd); /* its member leads now, and is enabled */
	world_run(&W, 0, MS, 5);
	child = world_fork(&W, 0, false);
	world_run(&W, child, MS, 2);
	EXPECT_U64(read_words(&W, member, v, 8), 16);
	EXPECT_U64(v[1], 38);
	world_end(&W);
}

static bool are_branches_unseen(void *world, void *host, u64 kinds)
{
	(void)world;
	return host == &W.tasks[0] && kinds & AP_KIND_BIT(AP_KIND_BRANCH);
}

/* What nobody has looked at has not run, alone, in a group, and in the sum of one task; in that of several it counts as it is. */
static void what_nobody_looked_at_has_not_run(void)
{
	struct ap_perf_attr a = attr_instr(), b = attr_kind(AP_KIND_BRANCH, 0);
	int leader, member, alone;
	u64 v[8];

	world_init(&W);
	W.ops.is_unseen = are_branches_unseen;
	world_start(&W);
	world_task(&W, 0);
	a.flags |= AP_PERF_INHERIT;
	b.flags |= AP_PERF_INHERIT;
	a.read_format = b.read_format = TIMES | AP_PERF_FORMAT_GROUP;
	leader = open_on(&W, &a, -1);
	member = open_on(&W, &b, leader);
	b.read_format = TIMES;
	alone = open_on(&W, &b, -1);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_words(&W, leader, v, 8), 40);
	EXPECT_U64(v[1], MS);
	EXPECT_U64(v[2], 0);
	EXPECT_U64(v[3], 1);
	reads(alone, AP_KIND_BRANCH + 1, MS, 0);
	world_close(&W, member);
	EXPECT_U64(read_words(&W, leader, v, 8), 32);
	EXPECT_U64(v[2], MS);
	world_fork(&W, 0, false);
	reads(alone, AP_KIND_BRANCH + 1, MS, MS);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(counts_of_children_are_added_over_generations),
						 TAP(without_inherit_children_do_not_count),
						 TAP(threads_only),
						 TAP(state_is_inherited_and_switched_together),
						 TAP(groups_are_inherited_as_groups),
						 TAP(parts_are_told_by_task),
						 TAP(a_group_that_grew_cannot_be_read_as_one),
						 TAP(exec_enables_once),
						 TAP(exec_enables_a_group_through_its_leader),
						 TAP(exec_removes),
						 TAP(an_ended_task_leaves_its_counts),
						 TAP(a_waiting_group_keeps_its_time_at_the_end),
						 TAP(closing_ends_the_clones),
						 TAP(a_clone_that_cannot_be_made_undoes_the_fork),
						 TAP(children_take_turns_of_their_own),
						 TAP(short_children_begin_with_all_groups_in_turn),
						 TAP(cgroup_events_are_of_its_tasks_on_that_cpu),
						 TAP(what_nobody_looked_at_has_not_run),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
