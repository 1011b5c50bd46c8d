/* SPDX-License-Identifier: MIT */
/*
 * Side-band records: which of them each flag of attr asks for, whose events get them, and in which order.
 */
#include <string.h>

#include "abi/record.h"
#include "samplers.h"
#include "sampling/record.h"
#include "tap/tap.h"
#include "world.h"

static struct world W;
static struct ring_record R;

static struct ap_perf_attr attr_dummy(u64 flags)
{
	struct ap_perf_attr a = attr_task_clock();

	a.config = AP_PERF_COUNT_SW_DUMMY;
	a.flags |= flags;
	return a;
}

static u32 low(u64 word)
{
	u32 v[2];

	memcpy(v, &word, 8);
	return v[0];
}

static u32 high(u64 word)
{
	u32 v[2];

	memcpy(v, &word, 8);
	return v[1];
}

static void map_something(u32 task, bool is_code)
{
	struct ap_record_mapping m = { .addr = 0x400000,
				       .len = 4096,
				       .prot = is_code ? 5 : 3,
				       .flags = 2,
				       .filename = "file" };

	ap_core_mapped(W.core, world_task(&W, task), &m);
}

/* Task 1 does it all; task 0 and its business are another. */
static void tell_everything(void)
{
	const struct ap_switch out = { .is_out = true };
	const struct ap_perf_ns_link link = { 1, 2 };

	map_something(1, true);
	map_something(1, false);
	ap_core_comm(W.core, W.tasks[1].task, "name", false);
	world_task(&W, 2);
	ap_core_forked(W.core, W.tasks[1].task, W.tasks[2].task);
	ap_core_namespaces(W.core, W.tasks[1].task, W.tasks[1].task, &link, 1);
	ap_core_switched(W.core, W.tasks[1].task, &out);
	ap_core_cgroup_made(W.core, W.tasks[1].task, 5, "/x");
	map_something(0, true);
	ap_core_comm(W.core, W.tasks[0].task, "other", false);
	world_exit(&W, 2);
	world_exit(&W, 1);
}

static void each_flag_has_its_records(void)
{
	enum { CODE, DATA, COMM, FORK, NS, SWITCH, CGROUP, EXIT, N };
	static const struct {
		int line;
		u64 flags;
		u8 want[N]; /* type of the record, 0 none */
		u32 tells;
	} rows[] = {
		{ __LINE__, 0, { 0 }, 0 },
		{ __LINE__, AP_PERF_MMAP, { 1, 0, 0, 7, 0, 0, 0, 4 }, AP_TELL_MAPPED },
		{ __LINE__, AP_PERF_MMAP2, { 10, 0, 0, 7, 0, 0, 0, 4 }, AP_TELL_MAPPED },
		{ __LINE__, AP_PERF_MMAP_DATA, { 0, 1, 0, 7, 0, 0, 0, 4 }, AP_TELL_MAPPED_ALL },
		{ __LINE__,
		  AP_PERF_MMAP | AP_PERF_MMAP2 | AP_PERF_MMAP_DATA,
		  { 10, 10, 0, 7, 0, 0, 0, 4 },
		  AP_TELL_MAPPED | AP_TELL_MAPPED_ALL },
		{ __LINE__, AP_PERF_COMM, { 0, 0, 3, 7, 0, 0, 0, 4 }, AP_TELL_COMM },
		{ __LINE__, AP_PERF_COMM_EXEC, { 0 }, 0 },
		{ __LINE__, AP_PERF_TASK, { 0, 0, 0, 7, 0, 0, 0, 4 }, 0 },
		{ __LINE__, AP_PERF_NAMESPACES, { 0, 0, 0, 0, 16 }, AP_TELL_NAMESPACES },
		{ __LINE__, AP_PERF_CONTEXT_SWITCH, { 0, 0, 0, 0, 0, 14 }, AP_TELL_SWITCH },
		{ __LINE__, AP_PERF_CGROUP, { 0, 0, 0, 0, 0, 0, 19 }, AP_TELL_CGROUP },
		{ __LINE__,
		  AP_PERF_KSYMBOL | AP_PERF_BPF_EVENT | AP_PERF_TEXT_POKE | AP_PERF_SAMPLE_ID_ALL,
		  { 0 },
		  0 },
	};
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		int ring, n = 0;
		u32 task = rows[i].want[EXIT] ? (u32)AP_TELL_TASK : 0;

		world_begin(&W, 0);
		world_task(&W, 1);
		ring = ring_for(&W, attr_dummy(rows[i].flags), 101, -1);
		EXPECT_U64(ap_task_tells(W.tasks[1].task), rows[i].tells | task);
		EXPECT_U64(ap_task_tells(W.tasks[0].task), 0);
		tell_everything();
		for (u32 k = 0; k < N; k++) {
			if (!rows[i].want[k])
				continue;
			if (!EXPECT(ring_take(ring, &R)) ||
			    !EXPECT_U64(R.header.type, rows[i].want[k]))
				tap_note("line %d", rows[i].line);
			n++;
		}
		if (!EXPECT(!ring_take(ring, &R)))
			tap_note("line %d: more than %d", rows[i].line, n);
		world_end(&W);
	}
}

static void unmap_something(u32 task)
{
	struct ap_record_mapping m = { .addr = 0x400000, .len = 8192, .filename = "file" };

	ap_core_unmapped(W.core, world_task(&W, task), &m);
}

/* Of the event that asked for it and of its clones, from then on. */
static void munmap_is_asked_for_by_ioctl(void)
{
	struct ap_perf_attr a = attr_dummy(AP_PERF_INHERIT);
	int fd, ring, other;
	u32 child;

	world_begin(&W, 0);
	fd = open_for(&W, a, 0, 0);
	ring = ring_map(&W, fd, true);
	other = ring_for(&W, attr_dummy(AP_PERF_MMAP), 0, -1);
	unmap_something(0);
	EXPECT_U64(ap_task_tells(W.tasks[0].task), AP_TELL_MAPPED | AP_TELL_TASK);
	child = world_fork(&W, 0, false);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_RECORD_MUNMAP, 0), 0);
	EXPECT_U64(ap_task_tells(W.tasks[0].task),
		   AP_TELL_MAPPED | AP_TELL_TASK | AP_TELL_UNMAPPED);
	EXPECT_U64(ap_task_tells(W.tasks[child].task), AP_TELL_UNMAPPED);
	map_something(0, true);
	unmap_something(0);
	unmap_something(child);
	unmap_something(child + 1);
	for (u32 i = 0; i < 2; i++) {
		REQUIRE(ring_take(ring, &R));
		EXPECT_U64(R.header.type, AP_PERF_RECORD_MUNMAP);
		EXPECT_U64(R.header.misc, AP_PERF_RECORD_MISC_USER);
		EXPECT_U64(low(R.words[0]), 100 + (i ? child : 0));
		EXPECT_U64(R.words[1], 0x400000);
		EXPECT_U64(R.words[2], 8192);
		EXPECT_STR((const char *)&R.words[4], "file");
	}
	EXPECT(!ring_take(ring, &R));
	EXPECT_U64(ring_count(other, AP_PERF_RECORD_MMAP), 1);
	EXPECT(!ring_take(other, &R));
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	unmap_something(0);
	EXPECT(!ring_take(ring, &R));
	world_end(&W);
}

static void what_the_records_say(void)
{
	struct ap_perf_attr a = attr_dummy(AP_PERF_TASK | AP_PERF_COMM | AP_PERF_SAMPLE_ID_ALL);
	int fd, ring;

	world_begin(&W, 0);
	W.tasks[0].cpu = 3;
	world_move(&W, 0, 3);
	a.sample_type =
		AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_ID | AP_PERF_SAMPLE_CPU;
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, true);
	ap_core_comm(W.core, W.tasks[0].task, "prog", true);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.misc, AP_PERF_RECORD_MISC_COMM_EXEC);
	EXPECT_U64(low(R.words[0]), 100);
	EXPECT_STR((const char *)&R.words[1], "prog");
	EXPECT_U64(high(R.words[2]), 100);
	EXPECT_U64(R.words[3], W.clock);
	EXPECT_U64(R.words[4], ap_event_id(W.fds[fd]));
	EXPECT_U64(low(R.words[5]), 3);
	EXPECT_U64(R.nr, 6);
	world_task(&W, 5);
	ap_core_forked(W.core, W.tasks[0].task, W.tasks[5].task);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(low(R.words[0]), 105);
	EXPECT_U64(high(R.words[0]), 100);
	EXPECT_U64(low(R.words[1]), 105);
	EXPECT_U64(high(R.words[1]), 100);
	EXPECT_U64(R.words[2], W.clock);
	world_end(&W);
}

static void other_clocks(void)
{
	struct ap_perf_attr a = attr_dummy(AP_PERF_TASK | AP_PERF_USE_CLOCKID);
	int ring;

	world_begin(&W, 0);
	a.clockid = AP_CLOCK_MONOTONIC_RAW;
	ring = ring_for(&W, a, 0, -1);
	ap_core_forked(W.core, W.tasks[0].task, world_task(&W, 1));
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.words[2], W.clock + 5000000000ULL);
	world_end(&W);
}

static void seen_by(void *p, const struct ap_event *event, void *host, struct ap_task_names *out)
{
	struct world *w = p;
	s32 pid = (s32)((struct fake_task *)host - w->tasks) + 1000;

	EXPECT(event == w->fds[0]); /* what was opened, also for a clone */
	*out = (struct ap_task_names){ pid, pid + 1, pid + 2, pid + 3 };
}

static void names_are_as_the_owner_sees_them(void)
{
	int ring;
	u32 child;

	world_init(&W);
	W.ops.task_names = seen_by;
	world_start(&W);
	ring = ring_for(&W, attr_dummy(AP_PERF_TASK | AP_PERF_INHERIT), 0, 0);
	child = world_fork(&W, 0, false);
	ap_core_forked(W.core, W.tasks[0].task, W.tasks[child].task);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(low(R.words[0]), 1000 + child);
	EXPECT_U64(high(R.words[0]), 1000);
	EXPECT_U64(low(R.words[1]), 1001 + child);
	EXPECT_U64(high(R.words[1]), 1001);
	world_exit(&W, child);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_EXIT);
	EXPECT_U64(low(R.words[0]), 1000 + child);
	EXPECT_U64(high(R.words[0]), 1002 + child);
	EXPECT_U64(low(R.words[1]), 1001 + child);
	EXPECT_U64(high(R.words[1]), 1003 + child);
	world_end(&W);
}

static void disabled_and_elsewhere_is_silent(void)
{
	int off, here, there, cpu_here, cpu_there, fd;

	world_begin(&W, 0);
	world_move(&W, 0, 2);
	fd = open_for(&W, attr_dummy(AP_PERF_COMM), 0, -1);
	off = ring_map(&W, fd, true);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	here = ring_for(&W, attr_dummy(AP_PERF_COMM), 0, 2);
	there = ring_for(&W, attr_dummy(AP_PERF_COMM), 0, 1);
	cpu_here = ring_for(&W, attr_dummy(AP_PERF_COMM), -1, 2);
	cpu_there = ring_for(&W, attr_dummy(AP_PERF_COMM), -1, 1);
	open_for(&W, attr_dummy(AP_PERF_COMM), 0, -1); /* no buffer */
	ap_core_comm(W.core, W.tasks[0].task, "x", false);
	EXPECT(!ring_take(off, &R));
	EXPECT_U64(ring_count(here, AP_PERF_RECORD_COMM), 1);
	EXPECT(!ring_take(there, &R));
	EXPECT_U64(ring_count(cpu_here, AP_PERF_RECORD_COMM), 1);
	EXPECT(!ring_take(cpu_there, &R));
	EXPECT_U64(ap_task_tells(world_task(&W, 7)), AP_TELL_COMM | AP_TELL_TASK);
	EXPECT(ap_task_is_watched(W.tasks[7].task)); /* by the CPUs' events */
	for (fd = 0; fd < NFDS; fd++)
		if (W.fds[fd] && !ap_event_task(W.fds[fd]))
			world_close(&W, fd);
	EXPECT(!ap_core_wants_tasks(W.core));
	world_end(&W);
}

static void a_task_that_was_seen_nowhere_is_on_the_first_cpu(void)
{
	const struct ap_task_id id = { 150, 150 };
	struct ap_task *task;
	int ring;

	world_begin(&W, 0);
	REQUIRE(!ap_core_task_new(W.core, &id, &W.tasks[50], &task));
	W.tasks[50].task = task;
	ring = ring_for(&W, attr_dummy(AP_PERF_COMM), 150, 0);
	ap_core_comm(W.core, task, "x", false);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_COMM), 1);
	world_end(&W);
}

/* By whom it was given is the task whose events have it; whose it is is in the record. */
static void a_name_that_is_given_to_another(void)
{
	int ring, other;

	world_begin(&W, 0);
	world_task(&W, 1);
	ring = ring_for(&W, attr_dummy(AP_PERF_COMM), 0, -1);
	other = ring_for(&W, attr_dummy(AP_PERF_COMM), 101, -1);
	ap_core_comm_of(W.core, W.tasks[0].task, W.tasks[1].task, "given");
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_COMM);
	EXPECT_U64(R.header.misc, 0);
	EXPECT_U64(high(R.words[0]), 101);
	EXPECT(!strcmp((const char *)&R.words[1], "given"));
	EXPECT(!ring_take(other, &R));
	world_end(&W);
}

/* Events of CPUs have those of that CPU, wherever the task is by now. */
static void switches_of_cpus_are_wide(void)
{
	const struct ap_switch out = { .cpu = 1, .is_out = true };
	int ring, there, task;

	world_begin(&W, 0);
	world_move(&W, 0, 2);
	ring = ring_for(&W, attr_dummy(AP_PERF_CONTEXT_SWITCH), -1, 1);
	there = ring_for(&W, attr_dummy(AP_PERF_CONTEXT_SWITCH), -1, 2);
	task = ring_for(&W, attr_dummy(AP_PERF_CONTEXT_SWITCH), 0, 1);
	ap_core_switched(W.core, W.tasks[0].task, &out);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_SWITCH_CPU_WIDE);
	EXPECT_U64(R.header.misc, AP_PERF_RECORD_MISC_SWITCH_OUT);
	EXPECT_U64(R.words[0], ~0ULL);
	EXPECT(!ring_take(there, &R));
	REQUIRE(ring_take(task, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_SWITCH);
	world_end(&W);
}

/* E-039: without inherit a task's event has its own forks, and not its children's ends. */
static void ends_of_children_come_by_inheritance(void)
{
	for (u32 inherit = 0; inherit < 2; inherit++) {
		u32 child;
		int ring;

		world_begin(&W, 0);
		ring = ring_for(&W, attr_dummy(AP_PERF_TASK | (inherit ? AP_PERF_INHERIT : 0)), 0,
				0);
		child = world_fork(&W, 0, false);
		ap_core_forked(W.core, W.tasks[0].task, W.tasks[child].task);
		world_exit(&W, child);
		REQUIRE(ring_take(ring, &R));
		EXPECT_U64(R.header.type, AP_PERF_RECORD_FORK);
		EXPECT_U64(ring_count(ring, AP_PERF_RECORD_EXIT), inherit);
		world_end(&W);
	}
}

/* EXIT first, then what its clones have counted. */
static void inherit_stat_tells_what_a_child_has_counted(void)
{
	struct ap_perf_attr a = attr_instr();
	u32 child;
	int fd, member, ring;

	world_begin(&W, 0);
	a.flags |= AP_PERF_INHERIT | AP_PERF_INHERIT_STAT | AP_PERF_TASK;
	a.read_format =
		AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID | AP_PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = open_for(&W, a, 0, 0);
	a.config = AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	a.flags &= ~(AP_PERF_INHERIT_STAT | AP_PERF_TASK);
	member = world_open(&W, &a, 0, 0, fd, 0);
	REQUIRE(member >= 0);
	ring = ring_map(&W, fd, true);
	world_run(&W, 0, MS, 1000);
	child = world_fork(&W, 0, false);
	world_run(&W, child, 7 * MS, 50);
	world_exit(&W, child);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_EXIT);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_READ);
	EXPECT_U64(low(R.words[0]), 100 + child);
	EXPECT_U64(R.nr, 7);
	EXPECT_U64(R.words[1], 2);
	EXPECT_U64(R.words[2], 7 * MS);
	EXPECT_U64(R.words[3], 50);
	EXPECT_U64(R.words[4], ap_event_id(W.fds[fd]));
	EXPECT_U64(R.words[5], 50 * (AP_KIND_BRANCH + 1));
	EXPECT_U64(R.words[6], ap_event_id(W.fds[member]));
	EXPECT(!ring_take(ring, &R));
	world_end(&W);
}

static void lost_records_are_told_and_wakeups_happen(void)
{
	struct ap_perf_attr a = attr_dummy(AP_PERF_COMM | AP_PERF_WATERMARK);
	u64 words[2];
	int fd, ring;
	u32 n;

	world_begin(&W, 0);
	a.read_format = AP_PERF_FORMAT_LOST;
	a.wakeup_events = 4096;
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, true);
	for (n = 0; n < 1000; n++)
		ap_core_comm(W.core, W.tasks[0].task, "x", false);
	EXPECT_U64(wakes.poll, 4); /* one for the ring itself */
	EXPECT_U64(wakes.in, 3);
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 1);
	n = ring_count(ring, AP_PERF_RECORD_COMM);
	EXPECT_U64(n, (RING_SIZE - 1) / 24);
	REQUIRE(read_words(&W, fd, words, 2) == 16);
	EXPECT_U64(words[1], 1000 - n);
	ap_core_comm(W.core, W.tasks[0].task, "x", false);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_LOST);
	EXPECT_U64(R.words[1], 1000 - n);
	ap_core_rings_woken(W.core); /* nothing that the core does not know */
	EXPECT_U64(wakes.poll, 6);   /* one for the answer of poll */
	EXPECT_U64(wakes.in, 4);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_flag_has_its_records),
		TAP(munmap_is_asked_for_by_ioctl),
		TAP(what_the_records_say),
		TAP(other_clocks),
		TAP(names_are_as_the_owner_sees_them),
		TAP(disabled_and_elsewhere_is_silent),
		TAP(a_task_that_was_seen_nowhere_is_on_the_first_cpu),
		TAP(a_name_that_is_given_to_another),
		TAP(switches_of_cpus_are_wide),
		TAP(ends_of_children_come_by_inheritance),
		TAP(inherit_stat_tells_what_a_child_has_counted),
		TAP(lost_records_are_told_and_wakeups_happen),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
