/* SPDX-License-Identifier: MIT */
/*
 * The bookkeeping of samplers: tables of cases, and a walk through counts one by one in which the number
 * of overflows must be what a division says.
 */
#include <stdlib.h>
#include <string.h>

#include "sampling/overflow.h"
#include "tap/tap.h"

#define MS 1000000ULL

static struct ap_sampler_whole S;

static void start(u64 period, bool is_freq, u64 value)
{
	memset(&S, 0, sizeof(S));
	S.s.source = AP_SAMPLE_LANE;
	ap_sampler_init(&S.s, period, is_freq);
	ap_sampler_arm(&S.s, value);
}

/* Everything that is due at this value; what the last one said. */
static u32 run_to(u64 value, u32 *n)
{
	struct ap_moment m = { .value = value };
	u32 what = 0;
	u64 period;

	while (ap_sampler_is_due(&S.s, value)) {
		what = ap_sampler_overflow(&S.s, &m, &period);
		++*n;
	}
	return what;
}

static void overflows_are_count_by_period(void)
{
	static const u64 periods[] = { 1, 2, 3, 7, 1000, 99991 };

	srand(1);
	for (u32 i = 0; i < AP_ARRAY_SIZE(periods); i++) {
		u64 first = (u64)rand() << 20, value = first, counted = 0;
		u32 n = 0;

		start(periods[i], false, value);
		for (u32 step = 0; step < 3000; step++) {
			u64 more = (u64)rand() % (2 * periods[i]);

			value += more;
			counted += more;
			run_to(value, &n);
			if (rand() % 5)
				continue;
			ap_sampler_disarm(&S.s, value);
			EXPECT(!ap_sampler_is_due(&S.s, value + 10 * periods[i]));
			value += (u64)rand() % 1000; /* counts for others */
			ap_sampler_arm(&S.s, value);
		}
		EXPECT_U64(n, counted / periods[i]);
		EXPECT_U64(S.live.overflows, n);
		EXPECT_U64(S.live.lost, 0);
	}
}

static void counts_may_wrap(void)
{
	u32 n = 0;

	start(10, false, ~0ULL - 14);
	run_to(~0ULL - 5, &n);
	EXPECT_U64(n, 0);
	run_to(~0ULL - 4, &n);
	EXPECT_U64(n, 1);
	run_to(4, &n);
	EXPECT_U64(n, 1);
	run_to(5, &n);
	EXPECT_U64(n, 2);
}

static void marks_that_nobody_saw_are_lost_samples(void)
{
	start(100, false, 0);
	ap_sampler_disarm(&S.s, 99);
	EXPECT_U64(S.live.left, 1);
	EXPECT_U64(S.live.lost, 0);
	ap_sampler_arm(&S.s, 1000);
	EXPECT_U64(S.live.next, 1001);
	ap_sampler_disarm(&S.s, 1001);
	EXPECT_U64(S.live.lost, 1);
	EXPECT_U64(S.live.left, 100);
	ap_sampler_arm(&S.s, 0);
	ap_sampler_disarm(&S.s, 350);
	EXPECT_U64(S.live.lost, 4);
	EXPECT_U64(S.live.left, 50);
	/* clocks pass marks all the time */
	start(100, false, 0);
	S.s.source = AP_SAMPLE_CLOCK;
	ap_sampler_disarm(&S.s, 350);
	EXPECT_U64(S.live.lost, 0);
	ap_sampler_arm(&S.s, 400);
	EXPECT_U64(S.live.next, 500);
}

static void clocks_keep_their_phase(void)
{
	struct ap_moment m = { .value = 1037 };
	u64 period;

	start(100, false, 0);
	S.s.source = AP_SAMPLE_CLOCK;
	ap_sampler_overflow(&S.s, &m, &period);
	EXPECT_U64(S.live.next, 1100);
	EXPECT(!ap_sampler_is_due(&S.s, 1099));
	m.value = 1100;
	ap_sampler_overflow(&S.s, &m, &period);
	EXPECT_U64(S.live.next, 1200);
}

static void a_sample_has_the_period_that_ended(void)
{
	struct ap_moment m = { .value = 100 };
	u64 period;

	start(100, false, 0);
	EXPECT(!ap_sampler_set_period(&S.s, 7, 50));
	EXPECT_U64(S.live.next, 57); /* at once, from now on: X-12 */
	m.value = 57;
	ap_sampler_overflow(&S.s, &m, &period);
	EXPECT_U64(period, 7);
	EXPECT_U64(S.live.next, 64);
	ap_sampler_disarm(&S.s, 60);
	EXPECT_U64(S.live.left, 4);
	ap_sampler_set_period(&S.s, 1000, 60);
	ap_sampler_arm(&S.s, 60);
	EXPECT_U64(S.live.next, 1060);
	m.value = 1060;
	ap_sampler_overflow(&S.s, &m, &period);
	EXPECT_U64(period, 1000);
}

/* --- REFRESH */

static void a_limit_stops_at_its_last_overflow(void)
{
	u32 n = 0;

	start(10, false, 0);
	ap_sampler_disarm(&S.s, 0);
	ap_sampler_refresh(&S.s, 2);
	ap_sampler_refresh(&S.s, 1); /* they add up: F-024 */
	ap_sampler_arm(&S.s, 0);
	EXPECT_U64(run_to(20, &n), 0);
	EXPECT_U64(run_to(1000, &n), AP_OVERFLOW_LIMIT);
	EXPECT_U64(n, 3);
	EXPECT(!ap_sampler_is_on(&S.s));
	ap_sampler_disarm(&S.s, 1000);
	EXPECT_U64(S.live.lost, 0);
	ap_sampler_refresh(&S.s, 1);
	ap_sampler_arm(&S.s, 2000);
	EXPECT_U64(run_to(5000, &n), AP_OVERFLOW_LIMIT);
	EXPECT_U64(n, 4);
	ap_sampler_disarm(&S.s, 5000);
	ap_sampler_refresh(&S.s, 0); /* no limit: F-023 */
	ap_sampler_arm(&S.s, 5000);
	EXPECT_U64(run_to(5100, &n), 0);
	EXPECT(n > 5);
}

static void what_is_left_at_the_limit_is_a_whole_period(void)
{
	u32 n = 0;

	start(10, false, 0);
	ap_sampler_refresh(&S.s, 1);
	EXPECT_U64(run_to(10, &n), AP_OVERFLOW_LIMIT);
	ap_sampler_disarm(&S.s, 10);
	ap_sampler_arm(&S.s, 77);
	EXPECT_U64(S.live.next, 87);
}

/* --- throttling */

static void too_many_in_a_tick_are_throttled(void)
{
	struct ap_moment m = { .tick = 5 };
	u64 period;

	start(10, false, 0);
	S.s.max_per_tick = 3;
	for (u32 i = 1; i <= 3; i++) {
		m.value = i * 10;
		REQUIRE(ap_sampler_is_due(&S.s, m.value));
		EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period),
			   i == 3 ? AP_OVERFLOW_THROTTLED : 0);
	}
	EXPECT(!ap_sampler_is_due(&S.s, 1000));
	m.value = 103;
	EXPECT_U64(ap_sampler_tick(&S.s, &m), 0); /* still the same tick */
	m.tick = 6;
	EXPECT_U64(ap_sampler_tick(&S.s, &m), AP_TICK_UNTHROTTLED | AP_TICK_CHANGED);
	EXPECT_U64(S.live.next, 113);
	EXPECT_U64(ap_sampler_tick(&S.s, &m), 0);
	/* counted anew in each tick */
	for (u32 i = 0; i < 20; i++) {
		m.tick++;
		m.value = S.live.next;
		EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period), 0);
		m.value = S.live.next;
		EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period), 0);
	}
}

static void throttled_samplers_go_off_and_change_their_period(void)
{
	struct ap_moment m = { .value = 10, .tick = 5 };
	u64 period;

	start(10, false, 0);
	S.s.max_per_tick = 1;
	EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period), AP_OVERFLOW_THROTTLED);
	ap_sampler_disarm(&S.s, 500);
	EXPECT_U64(S.live.lost, 0);
	EXPECT_U64(S.live.left, 10);
	ap_sampler_arm(&S.s, 600);
	EXPECT_U64(S.live.next, 610);
	m.value = 610;
	EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period), AP_OVERFLOW_THROTTLED);
	EXPECT(ap_sampler_set_period(&S.s, 20, 700));
	EXPECT_U64(S.live.next, 720);
	EXPECT(ap_sampler_is_due(&S.s, 720));
	EXPECT(!ap_sampler_set_period(&S.s, 30, 700));
}

static void rates_as_overflows_of_a_tick(void)
{
	EXPECT_U64(ap_max_per_tick(100000), 400);
	EXPECT_U64(ap_max_per_tick(100001), 401);
	EXPECT_U64(ap_max_per_tick(1), 1);
	EXPECT_U64(ap_max_per_tick(0), 0);
	EXPECT_U64(ap_max_per_tick(~0U), 17179870);
}

/* --- frequency */

/* A program that counts `rate` a second, seen for `seconds`; overflows of the last one. */
static u32 frequency(u64 freq, u64 rate, u32 seconds)
{
	const u64 step = 20000; /* ns between looks of the world, as no overflow needs one */
	u64 now = 7777 * MS, value = 0, end = now + seconds * 1000 * MS, part = 0, period, last;
	struct ap_moment m = { .ran = 4 * MS };
	u32 n = 0;

	last = now;
	start(freq, true, 0);
	for (; now < end; now += step) {
		u64 more;

		part += rate * step;
		more = part / (1000 * MS);
		part %= 1000 * MS;
		while (ap_sampler_is_due(&S.s, value + more)) {
			m.value = S.live.next;
			m.now = now + step * (S.live.next - value) / more;
			ap_sampler_overflow(&S.s, &m, &period);
			n += now >= end - 1000 * MS;
		}
		value += more;
		if (now - last >= 4 * MS) {
			last = now;
			m.value = value;
			m.tick++;
			ap_sampler_tick(&S.s, &m);
		}
	}
	return n;
}

static void frequencies_are_reached(void)
{
	static const u64 freqs[] = { 10, 100, 1000, 4000, 10000 };
	static const u64 rates[] = { 100000, 1000000, 1000000000ULL, 3000000000ULL };

	for (u32 i = 0; i < AP_ARRAY_SIZE(freqs); i++) {
		for (u32 j = 0; j < AP_ARRAY_SIZE(rates); j++) {
			u32 n = frequency(freqs[i], rates[j], 3);

			/* a simulated clock: the same each time */
			if (!EXPECT(n >= freqs[i] * 90 / 100 && n <= freqs[i] * 110 / 100 + 1))
				tap_note("%llu Hz of %llu: %u", (unsigned long long)freqs[i],
					 (unsigned long long)rates[j], n);
		}
	}
}

/* perf_adjust_period: an eighth of the way, rounded up; worked out by hand. */
static void one_step_of_the_adaptation(void)
{
	static const struct {
		int line;
		u64 freq, period, count, ns, want;
	} rows[] = {
		/* 1000 in 1 ms are 1e6 a second: at 1000 Hz each 1000 */
		{ __LINE__, 1000, 1000, 1000, MS, 1000 },
		{ __LINE__, 1000, 200, 1000, MS, 200 + (800 + 7) / 8 },
		{ __LINE__, 1000, 5000, 1000, MS, 5000 - (4000 + 7) / 8 },
		{ __LINE__, 1000, 1, 0, MS, 1 },
		{ __LINE__, 4000, 1, 1, 500, 1 + (500 - 1 + 7) / 8 },
		/* products beyond 64 bits */
		{ __LINE__, 1, 1ULL << 40, 1ULL << 50, 1000 * MS,
		  (1ULL << 40) + ((1ULL << 50) - (1ULL << 40) + 7) / 8 },
		{ __LINE__, ~0U, 8, 100, 1000 * MS, 8 - (8 + 7) / 8 },
	};

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct ap_moment m = { .value = rows[i].count, .ran = rows[i].ns };

		memset(&S, 0, sizeof(S));
		ap_sampler_init(&S.s, rows[i].freq, true);
		S.live.period = S.live.left = rows[i].period;
		ap_sampler_arm(&S.s, 0);
		if (!rows[i].count)
			m.value = 1, S.live.freq_count = 0, m.ran = 1000000 * MS;
		ap_sampler_tick(&S.s, &m);
		if (!EXPECT_U64(S.live.period, rows[i].want))
			tap_note("line %d", rows[i].line);
	}
}

static void a_period_that_became_far_too_long_is_given_up(void)
{
	struct ap_moment m = { .value = 4000, .ran = 4 * MS };

	memset(&S, 0, sizeof(S));
	ap_sampler_init(&S.s, 1000, true);
	S.live.period = S.live.left = S.live.last_period =
		1000000; /* it was fast, and is slow now */
	ap_sampler_arm(&S.s, 0);
	for (u32 i = 0; i < 100 && S.live.next == 1000000; i++) {
		m.value += 4;
		EXPECT(i < 99);
		(void)!ap_sampler_tick(&S.s, &m);
	}
	EXPECT_U64(S.live.next, m.value + S.live.period);
	EXPECT(S.live.period < 1000000 / 8);
	/* the thread has run on meanwhile: its period begins where it finds that */
	S.s.source = AP_SAMPLE_LANE;
	ap_sampler_begin_again(&S.s, m.value + 5000000);
	EXPECT_U64(S.live.next, m.value + 5000000 + S.live.period);
	ap_sampler_begin_again(&S.s, m.value + 6000000);
	EXPECT_U64(S.live.next, m.value + 5000000 + S.live.period);
}

/* What the supervisor read before it lost its CPU is older than what the thread has done since. */
static void a_value_of_long_ago_gives_nothing_up(void)
{
	struct ap_moment m = { .value = 4000000, .ran = 4 * MS };

	memset(&S, 0, sizeof(S));
	ap_sampler_init(&S.s, 1000, true);
	S.live.period = S.live.left = S.live.last_period = 1000000;
	ap_sampler_arm(&S.s, 15000000);
	S.live.freq_count = 0;
	EXPECT_U64(ap_sampler_tick(&S.s, &m), 0);
	EXPECT_U64(S.live.next, 16000000);
}

static void a_period_that_was_given_up_is_whole_when_it_goes_off(void)
{
	struct ap_moment m = { .value = 10, .tick = 1 };
	u64 period;

	start(10, false, 0);
	S.s.max_per_tick = 1;
	EXPECT_U64(ap_sampler_overflow(&S.s, &m, &period), AP_OVERFLOW_THROTTLED);
	m.tick = 2;
	(void)!ap_sampler_tick(&S.s, &m);
	ap_sampler_disarm(&S.s, 1000); /* nobody has seen it */
	EXPECT_U64(S.live.lost, 0);
	ap_sampler_arm(&S.s, 2000);
	EXPECT_U64(S.live.next, 2010);
}

/* Of a modelled machine's cycles: however long they take here, its clock says how many are a second. */
static void a_known_rate_needs_no_time(void)
{
	struct ap_moment m = { 0 };
	u64 period;

	memset(&S, 0, sizeof(S));
	S.s.source = AP_SAMPLE_LANE;
	S.s.rate = 3000 * 1000000ULL;
	ap_sampler_init(&S.s, 4000, true);
	ap_sampler_arm(&S.s, 0);
	EXPECT_U64(S.live.period, 1);
	for (u32 n = 0; n < 200; n++) {
		m.value = S.live.next;
		m.now += n % 7 * 2 * AP_TICK_NS;
		ap_sampler_overflow(&S.s, &m, &period);
		m.ran = n * MS;
		EXPECT(period <= 750000 && (n < 100 || period == 750000));
	}
	ap_sampler_set_period(&S.s, 1000, m.value);
	for (u32 n = 0; n < 200; n++) {
		m.value = S.live.next;
		ap_sampler_overflow(&S.s, &m, &period);
	}
	EXPECT_U64(S.live.period, 3000000);
	ap_sampler_set_period(&S.s, 4000000000U, m.value); /* more than there are */
	for (u32 n = 0; n < 200; n++) {
		m.value = S.live.next;
		ap_sampler_overflow(&S.s, &m, &period);
	}
	EXPECT_U64(S.live.period, 1);
}

static void a_frequency_may_change(void)
{
	start(1000, true, 0);
	EXPECT_U64(S.live.freq, 1000);
	EXPECT_U64(S.live.period, 1);
	ap_sampler_set_period(&S.s, 50, 0);
	EXPECT_U64(S.live.freq, 50);
	EXPECT_U64(S.live.next, 1);
}

/* A program may write what it likes there: it all ends, and nothing is divided by 0. */
static void anything_may_stand_there(void)
{
	u64 *words = (u64 *)&S.live, seed = 1, period, value = 0;

	for (u32 i = 0; i < 100000; i++) {
		struct ap_moment m = { .value = value, .now = seed, .tick = i, .ran = seed >> 40 };

		for (u32 k = 0; k < sizeof(S.live) / sizeof(u64); k++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			words[k] = k == seed % 7 ? 0 : seed >> (seed >> 58);
		}
		S.s.source = i % 2 ? AP_SAMPLE_CLOCK : AP_SAMPLE_LANE;
		value += seed >> 50;
		if (ap_sampler_is_due(&S.s, value))
			(void)!ap_sampler_overflow(&S.s, &m, &period);
		(void)!ap_sampler_tick(&S.s, &m);
		ap_sampler_disarm(&S.s, value);
		(void)!ap_sampler_set_period(&S.s, i % 3, value);
		S.live.period = 0;
		S.live.state = AP_SAMPLER_ARMED;
		S.live.next = value - 5;
		if (i % 4)
			ap_sampler_disarm(&S.s, value);
		else
			(void)!ap_sampler_overflow(&S.s, &m, &period);
		ap_sampler_arm(&S.s, value);
	}
	EXPECT(ap_sampler_is_on(&S.s));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(overflows_are_count_by_period),
		TAP(counts_may_wrap),
		TAP(marks_that_nobody_saw_are_lost_samples),
		TAP(clocks_keep_their_phase),
		TAP(a_sample_has_the_period_that_ended),
		TAP(a_limit_stops_at_its_last_overflow),
		TAP(what_is_left_at_the_limit_is_a_whole_period),
		TAP(too_many_in_a_tick_are_throttled),
		TAP(throttled_samplers_go_off_and_change_their_period),
		TAP(rates_as_overflows_of_a_tick),
		TAP(frequencies_are_reached),
		TAP(one_step_of_the_adaptation),
		TAP(a_period_that_became_far_too_long_is_given_up),
		TAP(a_value_of_long_ago_gives_nothing_up),
		TAP(a_period_that_was_given_up_is_whole_when_it_goes_off),
		TAP(a_known_rate_needs_no_time),
		TAP(a_frequency_may_change),
		TAP(anything_may_stand_there),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
