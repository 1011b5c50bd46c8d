/* SPDX-License-Identifier: MIT */
/* Groups, counters, constraints, pinned, exclusive, rotation, and the times of all that. */
#include <string.h>
#include <unistd.h>

#include "tap/tap.h"
#include "world.h"

#define TIMES (AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING)

#define reads(fd, ...) expect_reads(&W, __LINE__, fd, __VA_ARGS__)

static struct world W;

static int open_kind(u32 kind, u64 fits, u64 flags, int group)
{
	struct ap_perf_attr a = attr_kind(kind, fits);

	a.read_format = TIMES;
	a.flags |= flags;
	return open_on(&W, &a, group);
}

static void counts_while_enabled(void)
{
	int fd;

	world_begin(&W, 0);
	fd = open_kind(1, 0, AP_PERF_DISABLED, -1);
	world_run(&W, 0, 5 * MS, 100);
	reads(fd, 0, 0, 0);
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, 3 * MS, 10);
	reads(fd, 20, 3 * MS, 3 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, 0, 7 * MS, 1000);
	reads(fd, 20, 3 * MS, 3 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, 1 * MS, 1);
	reads(fd, 22, 4 * MS, 4 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_RESET, 0);
	reads(fd, 0, 4 * MS, 4 * MS);
	world_run(&W, 0, 1 * MS, 2);
	reads(fd, 4, 5 * MS, 5 * MS);
	world_end(&W);
}

static void members_count_while_their_leader_is_enabled(void)
{
	int leader, member, off;

	world_begin(&W, 0);
	leader = open_kind(0, 0, AP_PERF_DISABLED, -1);
	member = open_kind(1, 0, 0, leader);
	off = open_kind(2, 0, AP_PERF_DISABLED, leader);
	world_run(&W, 0, 5 * MS, 100);
	reads(member, 0, 0, 0);
	world_ioctl(&W, leader, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, 2 * MS, 10);
	reads(leader, 10, 2 * MS, 2 * MS);
	reads(member, 20, 2 * MS, 2 * MS);
	reads(off, 0, 0, 0);
	world_ioctl(&W, off, AP_PERF_IOC_ENABLE, 0);
	world_ioctl(&W, member, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, 0, 3 * MS, 1);
	reads(leader, 11, 5 * MS, 5 * MS);
	reads(member, 20, 2 * MS, 2 * MS);
	reads(off, 3, 3 * MS, 3 * MS);
	world_ioctl(&W, member, AP_PERF_IOC_DISABLE, AP_PERF_IOC_FLAG_GROUP);
	world_run(&W, 0, 3 * MS, 1);
	reads(leader, 11, 5 * MS, 5 * MS);
	reads(off, 3, 3 * MS, 3 * MS);
	world_ioctl(&W, off, AP_PERF_IOC_ENABLE, AP_PERF_IOC_FLAG_GROUP);
	world_run(&W, 0, 1 * MS, 1);
	reads(leader, 12, 6 * MS, 6 * MS);
	reads(member, 22, 3 * MS, 3 * MS);
	reads(off, 6, 4 * MS, 4 * MS);
	world_end(&W);
}

static void members_of_a_closed_leader_lead_themselves(void)
{
	int leader, a, b;

	world_begin(&W, 1);
	leader = open_kind(0, 0, AP_PERF_DISABLED, -1);
	a = open_on(&W,
		    &(struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
					    .size = 136,
					    .config = AP_PERF_COUNT_SW_TASK_CLOCK,
					    .read_format = TIMES,
					    .flags = AP_PERF_EXCLUDE_KERNEL },
		    leader);
	b = open_on(&W,
		    &(struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
					    .size = 136,
					    .config = AP_PERF_COUNT_SW_TASK_CLOCK,
					    .read_format = TIMES,
					    .flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_DISABLED },
		    leader);
	world_run(&W, 0, MS, 1);
	reads(a, 0, 0, 0);
	world_close(&W, leader);
	world_run(&W, 0, MS, 1);
	reads(a, MS, MS, MS);
	reads(b, 0, 0, 0);
	world_ioctl(&W, b, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(a, 2 * MS, 2 * MS, 2 * MS);
	reads(b, MS, MS, MS);
	EXPECT(ap_event_leader(W.fds[a]) == W.fds[a]);
	world_end(&W);
}

static void turns_are_taken_where_counters_are_short(void)
{
	int fd[3];
	u64 left;

	world_begin(&W, 1);
	for (int i = 0; i < 3; i++)
		fd[i] = open_kind(i, 0, 0, -1);
	EXPECT_U64(ap_core_tick(W.core), 4 * MS);
	for (int i = 0; i < 9; i++) {
		world_run(&W, 0, 3 * MS, 3);
		EXPECT_U64(ap_core_tick(W.core), MS);
		world_run(&W, 0, 1 * MS, 1);
		left = ap_core_tick(W.core);
		EXPECT_U64(left, 4 * MS);
	}
	for (int i = 0; i < 3; i++)
		reads(fd[i], 12 * (i + 1), 36 * MS, 12 * MS);
	/* a free counter is taken at once, and nobody waits any more */
	world_close(&W, fd[0]);
	world_close(&W, fd[1]);
	EXPECT_U64(ap_core_tick(W.core), 0);
	world_run(&W, 0, 4 * MS, 1);
	reads(fd[2], 39, 40 * MS, 16 * MS);
	world_end(&W);
}

static void a_group_and_a_single_event_share_evenly(void)
{
	int pair, member, single;

	world_begin(&W, 2);
	pair = open_kind(0, 0, 0, -1);
	member = open_kind(1, 0, 0, pair);
	single = open_kind(0, 0, 0, -1);
	for (int i = 0; i < 10; i++) {
		world_run(&W, 0, 4 * MS, 1);
		ap_core_tick(W.core);
	}
	reads(pair, 5, 40 * MS, 20 * MS);
	reads(member, 10, 40 * MS, 20 * MS);
	reads(single, 5, 40 * MS, 20 * MS);
	world_end(&W);
}

static int waits;

static void close_what_waits(struct world *w)
{
	if (waits >= 0)
		world_close(w, waits);
	waits = -1;
}

/* Rotation went round for ever when the next one left the list meanwhile. */
static void who_is_next_stops_waiting_while_one_is_rotated(void)
{
	struct ap_perf_attr clock = attr_task_clock(), a = attr_kind(0, 0);

	world_begin(&W, 1);
	world_task(&W, 1);
	open_kind(0, 0, 0, -1);
	open_on(&W, &clock, open_kind(1, 0, 0, -1));
	EXPECT(world_open(&W, &a, 101, -1, -1, 0) >= 0);
	waits = world_open(&W, &a, 101, -1, -1, 0);
	EXPECT(waits >= 0);
	W.on_start = close_what_waits;
	world_run(&W, 0, 4 * MS, 1);
	world_run(&W, 1, 4 * MS, 1);
	alarm(60);
	EXPECT_U64(ap_core_tick(W.core), 4 * MS);
	alarm(0);
	EXPECT_U64(waits, -1);
	world_run(&W, 0, 3 * MS, 1);
	EXPECT_U64(ap_core_tick(W.core), MS);
	world_end(&W);
}

static void a_sleeping_task_is_not_rotated(void)
{
	int a, b;

	world_begin(&W, 1);
	a = open_kind(0, 0, 0, -1);
	b = open_kind(1, 0, 0, -1);
	W.clock += 1000 * MS;
	EXPECT_U64(ap_core_tick(W.core), 4 * MS);
	world_run(&W, 0, MS, 5);
	reads(a, 5, MS, MS);
	reads(b, 0, MS, 0);
	world_end(&W);
}

static void groups_are_on_as_a_whole_or_not_at_all(void)
{
	int a, a2, b, b2, b3;

	world_begin(&W, 4);
	a = open_kind(0, 0, 0, -1);
	a2 = open_kind(1, 0, 0, a);
	b = open_kind(2, 0, 0, -1);
	b2 = open_kind(3, 0, 0, b);
	world_run(&W, 0, MS, 1);
	reads(b2, 4, MS, MS);
	b3 = open_kind(4, 0, 0, b); /* the fifth counter: the group is out */
	world_run(&W, 0, MS, 1);
	reads(a, 2, 2 * MS, 2 * MS);
	reads(a2, 4, 2 * MS, 2 * MS);
	reads(b, 3, 2 * MS, MS);
	reads(b2, 4, 2 * MS, MS);
	reads(b3, 0, MS, 0);
	world_run(&W, 0, 3 * MS, 1); /* 4 ms since b waits */
	ap_core_tick(W.core);
	world_run(&W, 0, MS, 1);
	reads(a, 3, 6 * MS, 5 * MS);
	reads(b, 6, 6 * MS, 2 * MS);
	reads(b3, 5, 5 * MS, MS);
	/* a member that is off needs no counter */
	world_ioctl(&W, b3, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(a, 4, 7 * MS, 6 * MS);
	reads(b, 9, 7 * MS, 3 * MS);
	reads(b3, 5, 5 * MS, MS);
	world_end(&W);
}

static void impossible_groups_are_refused(void)
{
	struct ap_perf_attr a = attr_kind(0, 0);
	int leader;

	world_begin(&W, 2);
	leader = open_on(&W, &a, -1);
	open_on(&W, &a, leader);
	EXPECT_U64(world_open(&W, &a, 0, -1, leader, 0), -AP_EINVAL);
	a.config1 = 4; /* counter 2 does not exist */
	EXPECT_U64(world_open(&W, &a, 0, -1, -1, 0), -AP_EINVAL);
	a.config1 = 2;
	leader = open_on(&W, &a, -1);
	EXPECT_U64(world_open(&W, &a, 0, -1, leader, 0), -AP_EINVAL);
	a.config1 = 1;
	open_on(&W, &a, leader);
	world_end(&W);
}

static void counters_are_found_by_matching(void)
{
	int any, zero, one_or_two, two;

	/* whoever fits anywhere moves over for those who do not */
	world_begin(&W, 4);
	any = open_kind(0, 0, 0, -1);
	zero = open_kind(1, 1 << 0, 0, -1);
	one_or_two = open_kind(2, 6, 0, -1);
	two = open_kind(3, 1 << 1, 0, -1);
	world_run(&W, 0, MS, 1);
	reads(any, 1, MS, MS);
	reads(zero, 2, MS, MS);
	reads(one_or_two, 3, MS, MS);
	reads(two, 4, MS, MS);
	EXPECT_U64(ap_core_tick(W.core), 0);
	/* a second one for counter 0 takes turns with the first */
	world_close(&W, two);
	two = open_kind(4, 1 << 0, 0, -1);
	EXPECT_U64(ap_core_tick(W.core), 4 * MS);
	world_run(&W, 0, MS, 1);
	reads(two, 0, MS, 0);
	world_end(&W);
}

static void pinned_groups_go_first(void)
{
	int flexible, pinned;

	world_begin(&W, 1);
	flexible = open_kind(0, 0, 0, -1);
	world_run(&W, 0, MS, 1);
	pinned = open_kind(1, 0, AP_PERF_PINNED, -1);
	world_run(&W, 0, 8 * MS, 1);
	ap_core_tick(W.core);
	world_run(&W, 0, MS, 1);
	reads(flexible, 1, 10 * MS, MS);
	reads(pinned, 4, 9 * MS, 9 * MS);
	world_end(&W);
}

static void pinned_without_room_is_an_error_until_switched(void)
{
	int first, second;
	u64 v[3];

	world_begin(&W, 1);
	first = open_kind(0, 0, AP_PERF_PINNED, -1);
	second = open_kind(1, 0, AP_PERF_PINNED, -1);
	EXPECT_U64(read_words(&W, second, v, 3), 0);
	EXPECT_U64(read_words(&W, second, v, 0), 0);
	EXPECT_U64(ap_core_poll(W.core, W.fds[second]), 8);
	world_run(&W, 0, MS, 1);
	reads(first, 1, MS, MS);
	/* enabled again: still no room */
	world_ioctl(&W, second, AP_PERF_IOC_ENABLE, 0);
	EXPECT_U64(read_words(&W, second, v, 3), 0);
	world_ioctl(&W, second, AP_PERF_IOC_DISABLE, 0);
	reads(second, 0, 0, 0);
	world_ioctl(&W, first, AP_PERF_IOC_DISABLE, 0);
	world_ioctl(&W, second, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(second, 2, MS, MS);
	reads(first, 1, MS, MS);
	/* and now it is the other way round */
	world_ioctl(&W, first, AP_PERF_IOC_ENABLE, 0);
	EXPECT_U64(read_words(&W, first, v, 3), 0);
	world_close(&W, second);
	EXPECT_U64(read_words(&W, first, v, 3), 0);
	world_ioctl(&W, first, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(first, 2, 2 * MS, 2 * MS);
	world_end(&W);
}

static void a_group_that_outgrows_its_pin_is_an_error(void)
{
	int pin, leader, member;
	u64 v[3];

	world_begin(&W, 2);
	pin = open_kind(0, 0, AP_PERF_PINNED, -1);
	leader = open_kind(1, 0, AP_PERF_PINNED, -1);
	world_run(&W, 0, MS, 1);
	member = open_kind(2, 0, 0, leader);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_words(&W, leader, v, 3), 0);
	reads(member, 0, 0, 0); /* the member itself is in no error, and does not count */
	reads(pin, 2, 2 * MS, 2 * MS);
	world_ioctl(&W, member, AP_PERF_IOC_DISABLE, 0);
	world_ioctl(&W, leader, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	reads(leader, 4, 2 * MS, 2 * MS);
	world_end(&W);
}

static void exclusive(u32 counters)
{
	int plain, alone;

	world_begin(&W, counters);
	plain = open_kind(0, 0, 0, -1);
	alone = open_kind(1, 0, AP_PERF_EXCLUSIVE, -1);
	world_run(&W, 0, 4 * MS, 1);
	reads(plain, 1, 4 * MS, 4 * MS);
	reads(alone, 0, 4 * MS, 0);
	ap_core_tick(W.core);
	world_run(&W, 0, 4 * MS, 1);
	reads(plain, 1, 8 * MS, 4 * MS);
	reads(alone, 2, 8 * MS, 4 * MS);
	ap_core_tick(W.core);
	world_run(&W, 0, 2 * MS, 1);
	reads(plain, 2, 10 * MS, 6 * MS);
	reads(alone, 2, 10 * MS, 4 * MS);
	world_ioctl(&W, alone, AP_PERF_IOC_DISABLE, 0);
	EXPECT_U64(ap_core_tick(W.core), 0);
	world_run(&W, 0, 5 * MS, 1);
	reads(plain, 3, 15 * MS, 11 * MS);
	world_end(&W);
}

static void an_exclusive_group_is_alone(void)
{
	exclusive(4);
	exclusive(0);
}

static void software_events_need_no_counter(void)
{
	struct ap_perf_attr clock = attr_task_clock();
	int hard, hard2, sw, grouped;

	world_begin(&W, 1);
	clock.read_format = TIMES;
	hard = open_kind(0, 0, 0, -1);
	hard2 = open_kind(1, 0, 0, -1);
	sw = open_on(&W, &clock, -1);
	grouped = open_on(&W, &clock, hard2); /* takes turns with its leader */
	world_run(&W, 0, 4 * MS, 1);
	ap_core_tick(W.core);
	world_run(&W, 0, 2 * MS, 1);
	reads(hard, 1, 6 * MS, 4 * MS);
	reads(hard2, 2, 6 * MS, 2 * MS);
	reads(sw, 6 * MS, 6 * MS, 6 * MS);
	reads(grouped, 2 * MS, 6 * MS, 2 * MS);
	world_end(&W);
}

static void a_hardware_member_takes_its_software_leader_along(void)
{
	struct ap_perf_attr clock = attr_task_clock();
	int other, leader, member;

	world_begin(&W, 1);
	clock.read_format = TIMES;
	other = open_kind(0, 0, 0, -1);
	leader = open_on(&W, &clock, -1);
	world_run(&W, 0, MS, 1);
	reads(leader, MS, MS, MS);
	member = open_kind(1, 0, 0, leader);
	world_run(&W, 0, 3 * MS, 1);
	reads(leader, MS, 4 * MS, MS);
	reads(member, 0, 3 * MS, 0);
	world_run(&W, 0, MS, 1); /* 4 ms since somebody began to wait */
	ap_core_tick(W.core);
	world_run(&W, 0, MS, 1);
	reads(leader, 2 * MS, 6 * MS, 2 * MS);
	reads(member, 2, 5 * MS, MS);
	reads(other, 3, 6 * MS, 5 * MS);
	world_end(&W);
}

static void a_driver_may_refuse_to_start(void)
{
	struct ap_perf_attr clock = attr_task_clock();
	int a, leader, member;
	u64 v[3];

	world_begin(&W, 0);
	clock.read_format = TIMES;
	W.refuse_start = true;
	a = open_on(&W, &clock, -1);
	leader = open_kind(0, 0, 0, -1);
	member = open_on(&W, &clock, leader);
	clock.flags |= AP_PERF_PINNED;
	EXPECT_U64(read_words(&W, open_on(&W, &clock, -1), v, 3), 0);
	world_run(&W, 0, MS, 1);
	reads(a, 0, MS, 0);
	reads(leader, 0, MS, 0);
	reads(member, 0, MS, 0);
	world_end(&W);
}

static void task_events_of_one_cpu_count_there(void)
{
	struct ap_perf_attr a = attr_kind(0, 0);
	int here, there, both;

	for (u32 counters = 0; counters < 3; counters += 2) {
		world_begin(&W, counters);
		a.read_format = TIMES;
		here = world_open(&W, &a, 0, 0, -1, 0);
		there = world_open(&W, &a, 0, 1, -1, 0);
		both = open_on(&W, &a, -1);
		world_run(&W, 0, MS, 1);
		world_move(&W, 0, 1);
		world_run(&W, 0, 2 * MS, 10);
		world_move(&W, 0, 0);
		world_run(&W, 0, 4 * MS, 100);
		world_move(&W, 0, 2);
		world_run(&W, 0, 8 * MS, 1000);
		reads(here, 101, 15 * MS, 5 * MS);
		reads(there, 10, 15 * MS, 2 * MS);
		reads(both, 1111, 15 * MS, 15 * MS);
		world_end(&W);
	}
}

static void cpu_events_count_all_tasks_by_wall_time(void)
{
	struct ap_perf_attr a = attr_kind(1, 0);
	int cpu0, cpu1;

	world_begin(&W, 0);
	a.read_format = TIMES;
	cpu0 = world_open(&W, &a, -1, 0, -1, 0);
	cpu1 = world_open(&W, &a, -1, 1, -1, 0);
	world_run(&W, 0, MS, 1);
	world_run(&W, 1, MS, 10); /* a task that the core was never told of */
	world_move(&W, 0, 1);
	world_run(&W, 0, MS, 100);
	W.clock += MS;
	reads(cpu0, 22, 4 * MS, 4 * MS);
	reads(cpu1, 200, 4 * MS, 4 * MS);
	world_end(&W);
}

static void only_what_is_wanted_is_counted(void)
{
	int fd;

	world_begin(&W, 0);
	EXPECT_U64(W.kinds, AP_KINDS_BASE);
	fd = open_kind(AP_KIND_LOAD, 0, 0, -1);
	EXPECT_U64(W.kinds, AP_KINDS_BASE | AP_KIND_BIT(AP_KIND_LOAD));
	open_kind(AP_KIND_LOAD, 0, 0, -1);
	world_close(&W, fd);
	EXPECT_U64(W.kinds, AP_KINDS_BASE | AP_KIND_BIT(AP_KIND_LOAD));
	fd = open_kind(AP_KIND_INSTR, 0, 0, -1);
	world_close(&W, fd);
	EXPECT_U64(W.kinds, AP_KINDS_BASE | AP_KIND_BIT(AP_KIND_LOAD));
	world_end(&W); /* checks that it is the base again */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(counts_while_enabled),
		TAP(members_count_while_their_leader_is_enabled),
		TAP(members_of_a_closed_leader_lead_themselves),
		TAP(turns_are_taken_where_counters_are_short),
		TAP(a_group_and_a_single_event_share_evenly),
		TAP(who_is_next_stops_waiting_while_one_is_rotated),
		TAP(a_sleeping_task_is_not_rotated),
		TAP(groups_are_on_as_a_whole_or_not_at_all),
		TAP(impossible_groups_are_refused),
		TAP(counters_are_found_by_matching),
		TAP(pinned_groups_go_first),
		TAP(pinned_without_room_is_an_error_until_switched),
		TAP(a_group_that_outgrows_its_pin_is_an_error),
		TAP(an_exclusive_group_is_alone),
		TAP(software_events_need_no_counter),
		TAP(a_hardware_member_takes_its_software_leader_along),
		TAP(a_driver_may_refuse_to_start),
		TAP(task_events_of_one_cpu_count_there),
		TAP(cpu_events_count_all_tasks_by_wall_time),
		TAP(only_what_is_wanted_is_counted),
		{ 0 }
	};
	return tap_main(tests, argc, argv);
}
