/* SPDX-License-Identifier: MIT */
/*
 * Sampling as the core arranges it: who has samplers, when they are armed, where they write, what
 * ioctls do to them.  The world's threads do the overflows (samplers.c), so the number of records is
 * known by division.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "samplers.h"
#include "sampling/overflow.h"
#include "tap/tap.h"
#include "world.h"

static struct world W;
static struct ring_record R;

#define ID_ALL                                                                                     \
	(AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_ID | AP_PERF_SAMPLE_STREAM_ID |   \
	 AP_PERF_SAMPLE_PERIOD)

static struct ap_perf_attr attr_sampled(u64 period, u64 flags)
{
	struct ap_perf_attr a = attr_instr();

	a.sample_period = period;
	a.sample_type = ID_ALL;
	a.flags |= flags;
	return a;
}

static struct ap_sampler *only(u32 task)
{
	struct ap_sampler *s = sampler_at(&W.tasks[task], 0);

	REQUIRE(s && !sampler_at(&W.tasks[task], 1));
	return s;
}

static u64 get_id(int fd)
{
	return ap_event_id(W.fds[fd]);
}

/* --- counts and records */

static void records_are_count_by_period(void)
{
	u64 n = 0;
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, 0), 0, -1);
	ring = ring_map(&W, fd, true);
	REQUIRE(ring >= 0);
	world_run(&W, 0, MS, 4321);
	while (ring_take(ring, &R)) {
		n++;
		EXPECT_U64(R.header.type, AP_PERF_RECORD_SAMPLE);
		EXPECT_U64(R.words[0], n * 1000); /* the very count */
		EXPECT_U64(R.words[2], get_id(fd));
		EXPECT_U64(R.words[3], get_id(fd));
		EXPECT_U64(R.words[4], 1000);
	}
	EXPECT_U64(n, 4);
	/* what it counts while it is off is not in its periods */
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	world_run(&W, 0, MS, 100000);
	EXPECT(!ring_take(ring, &R));
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	world_ioctl(&W, fd, AP_PERF_IOC_RESET, 0); /* no period's business */
	world_run(&W, 0, MS, 678);
	EXPECT(!ring_take(ring, &R));
	world_run(&W, 0, MS, 1);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.words[0], 105000);
	world_end(&W);
}

static void closed_and_ended_events_have_no_samplers(void)
{
	int fd;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, 0), 0, -1);
	EXPECT_U64(nr_samplers(), 1);
	EXPECT_U64(lanes_used[0], 1);
	world_close(&W, fd);
	EXPECT_U64(nr_samplers(), 0);
	EXPECT_U64(lanes_used[0], 0);
	world_task(&W, 1);
	fd = open_for(&W, attr_sampled(1000, 0), 101, -1);
	world_exit(&W, 1);
	EXPECT_U64(nr_samplers(), 0);
	EXPECT(wakes.event == W.fds[fd]);
	EXPECT_U64(wakes.poll, 1);
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 0x10);
	world_end(&W);
}

static void groups_multiplex_with_their_periods(void)
{
	struct ap_perf_attr a;
	u64 words[3];
	int fd[3];

	world_init(&W);
	W.config.counters = 1;
	world_start(&W);
	world_task(&W, 0);
	for (u32 i = 0; i < 3; i++) {
		a = attr_kind(i + 1, 0);
		a.sample_period = 1000;
		fd[i] = open_on(&W, &a, -1);
	}
	for (u32 i = 0; i < 100; i++) {
		world_run(&W, 0, 5 * MS, 777);
		ap_core_tick(W.core);
	}
	for (u32 i = 0; i < 3; i++) {
		const struct ap_sampler *s = sampler_at(&W.tasks[0], i);

		REQUIRE(s && read_words(&W, fd[i], words, 3) == 8);
		EXPECT(words[0] > 0 && words[0] < 77700 * (i + 2));
		EXPECT_U64(ap_sampling_of(s)->overflows, words[0] / 1000);
	}
	world_end(&W);
}

static void random_act(int at)
{
	switch (rand() % 6) {
	case 0:
		world_ioctl(&W, at, AP_PERF_IOC_ENABLE, 0);
		break;
	case 1:
		world_ioctl(&W, at, AP_PERF_IOC_DISABLE, 0);
		break;
	case 2:
		world_move(&W, (u32)rand() % 2, rand() % 3);
		break;
	case 3:
		ap_core_tick(W.core);
		break;
	default:
		world_run(&W, (u32)rand() % 2, (u64)rand() % (5 * MS), (u64)rand() % 900);
	}
}

/* Anything in any order: what a task has overflowed is what it has counted, divided. */
static void random_walk(u32 seed)
{
	static const u64 periods[] = { 1, 17, 1000, 12345 };
	u64 words[2], records[8] = { 0 };
	struct ap_perf_attr a[8];
	int fd[8], ring[8];

	srand(seed);
	world_init(&W);
	W.config.counters = (u32)rand() % 3;
	W.config.max_sample_rate = 0; /* never throttled */
	world_start(&W);
	for (u32 i = 0; i < 8; i++) {
		a[i] = attr_kind(1 + i % 4, 0);
		world_task(&W, i % 2);
		a[i].sample_period = periods[rand() % 4];
		a[i].read_format = AP_PERF_FORMAT_LOST;
		a[i].flags |= rand() % 2 ? AP_PERF_DISABLED : 0;
		fd[i] = world_open(&W, &a[i], i % 2 ? 101 : 0, rand() % 4 ? -1 : 1, -1, 0);
		REQUIRE(fd[i] >= 0);
		ring[i] = ring_map(&W, fd[i], true);
	}
	for (u32 n = 0; n < 600; n++) {
		random_act(fd[rand() % 8]);
		for (u32 i = 0; i < 8; i++)
			records[i] += ring_count(ring[i], AP_PERF_RECORD_SAMPLE);
	}
	for (u32 i = 0; i < 8; i++) {
		REQUIRE(read_words(&W, fd[i], words, 2) == 16);
		if (!EXPECT_U64(records[i] + words[1], words[0] / a[i].sample_period))
			tap_note("seed %u event %u", seed, i);
	}
	world_end(&W);
}

static void overflows_are_count_by_period_whatever_happens(void)
{
	for (u32 seed = 1; seed <= 60; seed++)
		random_walk(seed);
}

/* --- output */

static void samplers_follow_their_output(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	int one, two, three, ring;

	world_begin(&W, 0);
	one = open_for(&W, a, 0, -1);
	EXPECT_U64(sampler_at(&W.tasks[0], 0)->ring, 0);
	world_run(&W, 0, MS, 1000); /* nowhere: no harm, D-034 */
	ring = ring_map(&W, one, true);
	EXPECT_U64(sampler_at(&W.tasks[0], 0)->ring, (u64)ring + 1);
	EXPECT_U64(sampler_at(&W.tasks[0], 0)->ring_pages, 5);
	two = open_for(&W, a, 0, -1);
	three = world_open(&W, &a, 0, -1, one, AP_PERF_FLAG_FD_OUTPUT | AP_PERF_FLAG_FD_NO_GROUP);
	REQUIRE(three >= 0);
	EXPECT_U64(sampler_at(&W.tasks[0], 1)->ring, 0);
	EXPECT_U64(sampler_at(&W.tasks[0], 2)->ring, (u64)ring + 1);
	EXPECT_U64(world_ioctl(&W, two, AP_PERF_IOC_SET_OUTPUT, (u64)one), 0);
	EXPECT_U64(sampler_at(&W.tasks[0], 1)->ring, (u64)ring + 1);
	world_run(&W, 0, MS, 100);
	for (int fd = one; fd <= three; fd++) {
		REQUIRE(ring_take(ring, &R));
		EXPECT_U64(R.words[2], get_id(fd));
	}
	EXPECT(!ring_take(ring, &R));
	EXPECT_U64(world_ioctl(&W, two, AP_PERF_IOC_SET_OUTPUT, ~0ULL), 0);
	EXPECT_U64(sampler_at(&W.tasks[0], 1)->ring, 0);
	ring_unmap(&W, one, ring);
	for (u32 i = 0; i < 3; i++)
		EXPECT_U64(sampler_at(&W.tasks[0], i)->ring, 0);
	world_run(&W, 0, MS, 1000);
	world_end(&W);
}

static void modes_of_a_ring(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, false);
	EXPECT_U64(only(0)->ring_flags, AP_RING_OVERWRITE);
	EXPECT_U64(ring_of(ring)->ring.watermark, RING_SIZE / 2);
	world_close(&W, fd);
	a.flags |= AP_PERF_WRITE_BACKWARD | AP_PERF_WATERMARK;
	a.wakeup_events = 4096;
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(only(0)->ring_flags, AP_RING_BACKWARD);
	EXPECT_U64(only(0)->wakeup_events, 0);
	EXPECT_U64(ring_of(ring)->ring.watermark, 4096);
	world_end(&W);
}

static void paused_output_is_lost(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	u64 words[2];
	int fd, ring;

	world_begin(&W, 0);
	a.read_format = AP_PERF_FORMAT_LOST;
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_PAUSE_OUTPUT, 1), 0);
	world_run(&W, 0, MS, 700);
	EXPECT(!ring_take(ring, &R));
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_PAUSE_OUTPUT, 0), 0);
	world_run(&W, 0, MS, 100);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_LOST);
	EXPECT_U64(R.words[0], get_id(fd));
	EXPECT_U64(R.words[1], 7);
	REQUIRE(read_words(&W, fd, words, 2) == 16);
	EXPECT_U64(words[0], 800);
	EXPECT_U64(words[1], 7);
	world_end(&W);
}

static void a_full_ring_loses_as_many_as_the_event_says(void)
{
	struct ap_perf_attr a = attr_sampled(1, 0);
	u64 words[2];
	u32 seen;
	int fd, ring;

	world_begin(&W, 0);
	a.read_format = AP_PERF_FORMAT_LOST;
	fd = open_for(&W, a, 0, -1);
	ring = ring_map(&W, fd, true);
	for (u32 i = 0; i < 100; i++)
		world_run(&W, 0, 4 * MS, 100);
	seen = ring_count(ring, AP_PERF_RECORD_SAMPLE);
	REQUIRE(read_words(&W, fd, words, 2) == 16);
	EXPECT_U64(words[0], 10000);
	EXPECT_U64(seen + words[1], 10000);
	EXPECT_U64(seen, (RING_SIZE - 1) / 48);
	world_end(&W);
}

static void poll_says_it_once(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	int fd, other, ring;

	world_begin(&W, 0);
	a.wakeup_events = 3;
	fd = open_for(&W, a, 0, -1);
	other = open_for(&W, a, 0, -1);
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 0x10);
	ring = ring_map(&W, fd, true);
	world_ioctl(&W, other, AP_PERF_IOC_SET_OUTPUT, (u64)fd);
	world_run(&W, 0, MS, 100); /* two samples */
	ap_core_rings_woken(W.core);
	EXPECT_U64(wakes.poll, 2); /* each has got its ring */
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 0);
	world_run(&W, 0, MS, 100);
	ap_core_rings_woken(W.core);
	EXPECT_U64(wakes.poll, 4); /* both events write there */
	ap_core_rings_woken(W.core);
	EXPECT_U64(wakes.poll, 4);
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 1);
	EXPECT_U64(wakes.poll, 6); /* it is taken from both */
	EXPECT_U64(ap_core_poll(W.core, W.fds[fd]), 0);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 4);
	world_end(&W);
}

static void dead_writers_are_cleared_everywhere(void)
{
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(100, 0), 0, -1);
	ring = ring_map(&W, fd, true);
	ring_of(ring)->ring.lock = AP_RING_NAME(3, 4);
	ap_core_writer_died(W.core, 0, AP_RING_NAME(3, 5));
	EXPECT_U64(ring_of(ring)->ring.lock, AP_RING_NAME(3, 4));
	ap_core_writer_died(W.core, 0, AP_RING_NAME(3, 4));
	EXPECT_U64(ring_of(ring)->ring.lock, 0);
	EXPECT_U64(wakes.poll, 2); /* the ring, and that it is free */
	world_run(&W, 0, MS, 100);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 1);
	world_end(&W);
}

/* --- ioctls */

static void refresh_counts_overflows_and_disables(void)
{
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(100, AP_PERF_DISABLED), 0, -1);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_REFRESH, 2), 0);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_REFRESH, 1), 0);
	world_run(&W, 0, MS, 250);
	ap_core_overflowed(W.core, W.fds[fd]);
	EXPECT_U64(wakes.in, 1);
	world_run(&W, 0, MS, 50);
	EXPECT(ap_sampling_of(only(0))->state & AP_SAMPLER_STOPPED);
	ap_core_overflowed(W.core, W.fds[fd]);
	EXPECT_U64(wakes.in, 1);
	EXPECT_U64(wakes.hup, 1);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 3);
	world_run(&W, 0, MS, 1000);
	EXPECT_U64(read_count(&W, fd), 300); /* it is disabled */
	ap_core_overflowed(W.core, W.fds[fd]);
	EXPECT_U64(wakes.hup, 1);
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_REFRESH, 1), 0);
	world_run(&W, 0, MS, 100);
	ap_core_overflowed(W.core, W.fds[fd]);
	EXPECT_U64(wakes.hup, 2);
	EXPECT_U64(read_count(&W, fd), 400);
	/* without a limit */
	EXPECT_U64(world_ioctl(&W, fd, AP_PERF_IOC_REFRESH, 0), 0);
	world_run(&W, 0, MS, 1000);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 11);
	world_end(&W);
}

static s64 set_period(int fd, u64 period)
{
	struct ap_ioctl_args args = {
		.cmd = AP_PERF_IOC_PERIOD, .arg = 0x1000, .in = &period, .in_size = sizeof(period)
	};

	return ap_core_ioctl(W.core, W.tasks[0].task, W.fds[fd], &args);
}

static void a_new_period_begins_at_once(void)
{
	int fd, ring;
	u32 child;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, AP_PERF_INHERIT), 0, 0);
	ring = ring_map(&W, fd, true);
	child = world_fork(&W, 0, false);
	world_run(&W, 0, MS, 950);
	world_run(&W, child, MS, 10);
	EXPECT_U64(set_period(fd, 30), 0);
	world_run(&W, 0, MS, 29);
	world_run(&W, child, MS, 29);
	EXPECT(!ring_take(ring, &R));
	world_run(&W, 0, MS, 1);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.words[4], 30);
	world_run(&W, child, MS, 1);
	REQUIRE(ring_take(ring, &R));
	world_end(&W);
}

/* --- throttling, clocks */

static void throttled_until_the_tick(void)
{
	int fd, ring;

	world_init(&W);
	W.config.max_sample_rate = 1000; /* 4 in a tick */
	W.clock = 4000 * MS;
	world_start(&W);
	world_task(&W, 0);
	fd = open_for(&W, attr_sampled(10, 0), 0, -1);
	ring = ring_map(&W, fd, true);
	world_run(&W, 0, 1000, 100);
	for (u32 i = 0; i < 3; i++) {
		REQUIRE(ring_take(ring, &R));
		EXPECT_U64(R.header.type, AP_PERF_RECORD_SAMPLE);
	}
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_THROTTLE);
	EXPECT_U64(R.words[1], get_id(fd));
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_SAMPLE);
	EXPECT(!ring_take(ring, &R));
	ap_core_tick(W.core);
	EXPECT(!ring_take(ring, &R)); /* not in the same tick */
	W.clock += AP_TICK_NS;
	EXPECT_U64(ap_core_tick(W.core), AP_TICK_NS);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_UNTHROTTLE);
	EXPECT_U64(R.words[0], W.clock);
	EXPECT_U64(R.words[1], get_id(fd));
	EXPECT_U64(R.words[2], get_id(fd));
	world_run(&W, 0, 1000, 100);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 4);
	/* a new period lets it go, too: newer records tell */
	EXPECT_U64(set_period(fd, 20), 0);
	REQUIRE(ring_take(ring, &R));
	EXPECT_U64(R.header.type, AP_PERF_RECORD_UNTHROTTLE);
	world_end(&W);
}

static void clocks_are_sampled_by_ticks(void)
{
	struct ap_perf_attr a = attr_task_clock();
	u32 kicks;
	int fd, ring;

	world_begin(&W, 0);
	a.sample_period = 1000; /* a frequency: a fixed period, as it is a clock */
	a.sample_type = ID_ALL;
	a.flags |= AP_PERF_FREQ;
	fd = open_on(&W, &a, -1);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(ap_sampling_of(only(0))->freq, 0);
	EXPECT_U64(ap_sampling_of(only(0))->period, MS);
	EXPECT_U64(only(0)->source, AP_SAMPLE_CLOCK);
	kicks = W.tasks[0].kicks;
	EXPECT_U64(ap_core_tick(W.core), AP_TICK_NS); /* it has not run */
	W.tasks[0].time += 400000;
	EXPECT_U64(ap_core_tick(W.core), 600000);
	EXPECT_U64(W.tasks[0].kicks, kicks);
	W.tasks[0].time += 590000;
	EXPECT_U64(ap_core_tick(W.core), 250000); /* no sooner than that */
	W.tasks[0].time += 10000;
	ap_core_tick(W.core);
	EXPECT_U64(W.tasks[0].kicks, kicks + 1);
	samplers_run(&W, &W.tasks[0]);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 1);
	ap_core_tick(W.core);
	EXPECT_U64(W.tasks[0].kicks, kicks + 1);
	/* it is a period now, and no shorter one than Linux' timers have */
	EXPECT_U64(set_period(fd, 200000), 0);
	EXPECT_U64(ap_sampling_of(only(0))->period, 200000);
	EXPECT_U64(set_period(fd, 5), 0);
	EXPECT_U64(ap_sampling_of(only(0))->period, 10000);
	world_end(&W);
}

/* --- tasks and CPUs */

static void children_write_to_the_parents_ring(void)
{
	int fd, ring;
	u32 child;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(100, AP_PERF_INHERIT), 0, 0);
	ring = ring_map(&W, fd, true);
	world_run(&W, 0, MS, 150);
	child = world_fork(&W, 0, true);
	EXPECT_U64(ap_sampling_of(only(child))->left, 100); /* a period of its own */
	world_run(&W, child, MS, 199);
	REQUIRE(ring_take(ring, &R) && ring_take(ring, &R));
	EXPECT_U64(R.words[2], get_id(fd));
	EXPECT(R.words[3] != get_id(fd)); /* STREAM_ID: the clone */
	EXPECT_U64(R.words[3], only(child)->stream_id);
	EXPECT(!ring_take(ring, &R));
	world_exit(&W, child);
	EXPECT_U64(nr_samplers(), 1);
	EXPECT_U64(read_count(&W, fd), 349);
	world_end(&W);
}

static void an_event_of_a_task_and_a_cpu_is_armed_there(void)
{
	int fd[2];

	world_begin(&W, 0);
	fd[0] = open_for(&W, attr_sampled(100, 0), 0, 0);
	fd[1] = open_for(&W, attr_sampled(100, 0), 0, 1);
	/* the other has none while it is not there: a task has few, however many CPUs there are */
	EXPECT_U64(only(0)->cpu, 0);
	EXPECT(ap_task_samples_on_a_cpu(W.tasks[0].task));
	EXPECT(!ap_task_samples_on_a_cpu(world_task(&W, 1)));
	world_run(&W, 0, MS, 250);
	world_move(&W, 0, 1);
	EXPECT_U64(only(0)->cpu, 1);
	EXPECT_U64(only(0)->id, get_id(fd[1]));
	world_run(&W, 0, MS, 299);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 2);
	world_move(&W, 0, 0);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 2);
	EXPECT_U64(ap_sampling_of(only(0))->next - W.tasks[0].raw[0], 50);
	EXPECT_U64(set_period(fd[1], 400), 0); /* of what is not there */
	world_run(&W, 0, MS, 50);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 3);
	world_move(&W, 0, 1);
	EXPECT_U64(ap_sampling_of(only(0))->next - W.tasks[0].raw[0], 400);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 2);
	EXPECT_U64(read_count(&W, fd[0]), 300);
	EXPECT_U64(read_count(&W, fd[1]), 299);
	world_end(&W);
}

static void an_event_of_a_cpu_samples_whoever_is_there(void)
{
	u32 n = 0;
	int fd, ring;

	world_begin(&W, 0);
	world_task(&W, 1);
	EXPECT(!ap_core_wants_tasks(W.core));
	fd = open_for(&W, attr_sampled(1000, 0), -1, 2);
	ring = ring_map(&W, fd, true);
	EXPECT(ap_core_wants_tasks(W.core));
	EXPECT_U64(nr_samplers(), 0);
	world_run(&W, 0, MS, 5000); /* elsewhere */
	EXPECT(!ring_take(ring, &R));
	for (u32 i = 0; i < 90; i++) {
		u32 t = i % 3;

		world_task(&W, t); /* the third comes when the event is there */
		world_move(&W, t, 2);
		EXPECT_U64(nr_samplers(), 1);
		world_run(&W, t, MS, 70);
		world_move(&W, t, 1);
		world_run(&W, t, MS, 999);
		n += ring_count(ring, AP_PERF_RECORD_SAMPLE);
	}
	/* 6300 in pieces of 70: what one leaves of a period goes on in the next */
	EXPECT_U64(n, 6);
	EXPECT_U64(read_count(&W, fd), 6300);
	world_move(&W, 0, 2);
	world_move(&W, 1, 2); /* two that sleep were last seen there */
	EXPECT_U64(nr_samplers(), 2);
	world_exit(&W, 1);
	EXPECT_U64(nr_samplers(), 1);
	world_close(&W, fd);
	EXPECT_U64(nr_samplers(), 0);
	EXPECT(!ap_core_wants_tasks(W.core));
	world_end(&W);
}

static void task_0_is_on_2(struct world *w)
{
	world_move(w, 0, 2);
}

/* A world that is asked for a CPU's counts looks, and may find that a task is there by now. */
static void an_event_that_is_off_samples_nobody(void)
{
	int fd;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, 0), -1, 2);
	world_run(&W, 0, MS, 5000); /* elsewhere */
	W.on_cpu_raw = task_0_is_on_2;
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	EXPECT_U64(nr_samplers(), 0);
	world_run(&W, 0, MS, 5000);
	EXPECT_U64(read_count(&W, fd), 0);
	/* on again: it is there */
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	EXPECT_U64(nr_samplers(), 1);
	world_run(&W, 0, MS, 3000);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 3);
	EXPECT_U64(read_count(&W, fd), 3000);
	W.on_cpu_raw = NULL;
	world_end(&W);
}

static void task_0_comes_and_goes(struct world *w)
{
	world_move(w, 0, w->tasks[0].cpu == 2 ? 1 : 2);
}

/* The same while one is closed: what it leaves is read for the event that takes its place. */
static void a_closed_event_samples_nobody(void)
{
	int fd[2];

	world_begin(&W, 1);
	fd[0] = open_for(&W, attr_sampled(1000, 0), -1, 2);
	fd[1] = open_for(&W, attr_sampled(1000, 0), -1, 2);
	W.on_cpu_raw = task_0_comes_and_goes;
	world_close(&W, fd[0]);
	W.on_cpu_raw = NULL;
	world_move(&W, 0, 2);
	EXPECT_U64(nr_samplers(), 1);
	EXPECT_U64(only(0)->id, get_id(fd[1]));
	world_end(&W);
}

/* An event whose sampler cannot be had is not on: its times say so. */
static void no_memory_for_a_sampler_is_no_time_on_the_pmu(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	u64 words[3];
	int fd;

	world_begin(&W, 0);
	a.read_format = AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_for(&W, a, 0, 1);
	W.allocs_left = 0;
	world_move(&W, 0, 1);
	W.allocs_left = -1;
	world_run(&W, 0, 3 * MS, 1000);
	EXPECT_U64(read_words(&W, fd, words, 3), 24);
	EXPECT_U64(words[0], 0);
	EXPECT_U64(words[1], 3 * MS);
	EXPECT_U64(words[2], 0);
	world_move(&W, 0, 0);
	world_move(&W, 0, 1);
	world_run(&W, 0, MS, 1000);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 10);
	EXPECT_U64(read_words(&W, fd, words, 3), 24);
	EXPECT_U64(words[0], 1000);
	EXPECT_U64(words[1], 4 * MS);
	EXPECT_U64(words[2], MS);
	world_end(&W);
}

static void enable_on_exec_begins_a_period_there(void)
{
	int fd;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(100, AP_PERF_DISABLED | AP_PERF_ENABLE_ON_EXEC), 0, -1);
	world_run(&W, 0, MS, 1234);
	ap_core_exec(W.core, W.tasks[0].task);
	world_run(&W, 0, MS, 199);
	EXPECT_U64(ap_sampling_of(only(0))->overflows, 1);
	EXPECT_U64(read_count(&W, fd), 199);
	world_end(&W);
}

static void cgroups_sample_in_their_tasks(void)
{
	struct ap_perf_attr a = attr_sampled(100, 0);
	int fd, ring;

	world_begin(&W, 0);
	W.tasks[1].cgroup = 1;
	world_task(&W, 1);
	fd = world_open(&W, &a, 501, 0, -1, AP_PERF_FLAG_PID_CGROUP);
	REQUIRE(fd >= 0);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(nr_samplers(), 1);
	world_run(&W, 0, MS, 1000);
	world_run(&W, 1, MS, 500);
	EXPECT_U64(ring_count(ring, AP_PERF_RECORD_SAMPLE), 5);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(records_are_count_by_period),
		TAP(closed_and_ended_events_have_no_samplers),
		TAP(groups_multiplex_with_their_periods),
		TAP(overflows_are_count_by_period_whatever_happens),
		TAP(samplers_follow_their_output),
		TAP(modes_of_a_ring),
		TAP(paused_output_is_lost),
		TAP(a_full_ring_loses_as_many_as_the_event_says),
		TAP(poll_says_it_once),
		TAP(dead_writers_are_cleared_everywhere),
		TAP(refresh_counts_overflows_and_disables),
		TAP(a_new_period_begins_at_once),
		TAP(throttled_until_the_tick),
		TAP(clocks_are_sampled_by_ticks),
		TAP(children_write_to_the_parents_ring),
		TAP(an_event_of_a_task_and_a_cpu_is_armed_there),
		TAP(an_event_of_a_cpu_samples_whoever_is_there),
		TAP(an_event_that_is_off_samples_nobody),
		TAP(a_closed_event_samples_nobody),
		TAP(no_memory_for_a_sampler_is_no_time_on_the_pmu),
		TAP(enable_on_exec_begins_a_period_there),
		TAP(cgroups_sample_in_their_tasks),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
