/* SPDX-License-Identifier: MIT */
/*
 * Frequencies, as ticks and overflows make periods of them: as many samples a second of a task's time as were asked for,
 * whether it sleeps, whatever its clock says.
 */
#include "abi/record.h"
#include "samplers.h"
#include "tap/tap.h"
#include "world.h"

static struct world W;

static struct ap_perf_attr attr_sampled(u64 period, u64 flags)
{
	struct ap_perf_attr a = attr_instr();

	a.sample_period = period;
	a.sample_type = AP_PERF_SAMPLE_IP;
	a.flags |= flags;
	return a;
}

static struct ap_sampler *only(u32 task)
{
	struct ap_sampler *s = sampler_at(&W.tasks[task], 0);

	REQUIRE(s && !sampler_at(&W.tasks[task], 1));
	return s;
}

static u32 samples_in(u32 task, int ring, u32 ticks, u64 per_ms)
{
	u32 n = 0;

	for (u32 i = 0; i < ticks * 4; i++) {
		for (u32 part = 0; part < 50; part++)
			world_run(&W, task, MS / 50, per_ms / 50);
		if (i % 4 == 3)
			ap_core_tick(W.core);
		n += ring_count(ring, AP_PERF_RECORD_SAMPLE);
	}
	return n;
}

static void frequencies_adapt_and_children_begin_with_them(void)
{
	const struct ap_sampler *s;
	u32 n, child;
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, AP_PERF_FREQ | AP_PERF_INHERIT), 0, 0);
	ring = ring_map(&W, fd, true);
	EXPECT_U64(ap_sampling_of(only(0))->freq, 1000);
	EXPECT_U64(ap_sampling_of(only(0))->period, 1);
	samples_in(0, ring, 100, 1000000);
	n = samples_in(0, ring, 250, 1000000);
	EXPECT(n > 950 && n < 1050);
	child = world_fork(&W, 0, false);
	s = only(child);
	EXPECT_U64(ap_sampling_of(s)->period, ap_sampling_of(only(0))->period);
	EXPECT_U64(ap_sampling_of(s)->left, ap_sampling_of(s)->period);
	EXPECT(ap_sampling_of(s)->period > 900000 && ap_sampling_of(s)->period < 1100000);
	n = samples_in(child, ring, 250, 1000000);
	EXPECT(n > 950 && n < 1050);
	world_end(&W);
}

/* It sleeps half of the time: ticks in which it did not run say nothing of its rate. */
static void sleep_does_not_slow_a_frequency_down(void)
{
	u32 n = 0;
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, AP_PERF_FREQ), 0, -1);
	ring = ring_map(&W, fd, true);
	samples_in(0, ring, 100, 1000000);
	for (u32 i = 0; i < 10; i++) {
		n += samples_in(0, ring, 25, 1000000);
		for (u32 ms = 0; ms < 100; ms++) {
			world_run(&W, 1, MS, 0);
			ap_core_tick(W.core);
		}
	}
	EXPECT(n > 950 && n < 1050);
	world_end(&W);
}

/* A kernel says of a task that runs how long it had run at a tick of its own, which may be the same twice. */
static void a_late_clock_makes_no_holes(void)
{
	u64 *time, was, most = 0;
	u32 n = 0;
	int fd, ring;

	world_begin(&W, 0);
	fd = open_for(&W, attr_sampled(1000, AP_PERF_FREQ), 0, -1);
	ring = ring_map(&W, fd, true);
	samples_in(0, ring, 100, 1000000);
	time = &W.tasks[0].time;
	for (u32 i = 0; i < 250; i++) {
		was = *time;
		for (u32 part = 0; part < 200; part++)
			world_run(&W, 0, MS / 50, 20000);
		if (i % 2 == 0) {
			u64 ran = *time - was;

			*time = was + 1;
			ap_core_tick(W.core);
			*time = was + ran;
		} else {
			ap_core_tick(W.core);
		}
		n += ring_count(ring, AP_PERF_RECORD_SAMPLE);
		if (ap_sampling_of(only(0))->period > most)
			most = ap_sampling_of(only(0))->period;
	}
	EXPECT(n > 950 && n < 1050);
	EXPECT(most < 1200000);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(frequencies_adapt_and_children_begin_with_them),
		TAP(sleep_does_not_slow_a_frequency_down),
		TAP(a_late_clock_makes_no_holes),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
