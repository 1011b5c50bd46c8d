/* SPDX-License-Identifier: MIT */
/*
 * Pages met in parts of a run: which are new, and which were met so short ago that the last level has them
 * still.  The latter against programs of which all is known.
 */
#include "model/pages.h"

#include <string.h>

#include "tap/tap.h"

#define CAPACITY 1000U

static struct ap_met_pages p;

static bool is_new(u64 line)
{
	return ap_met_note(&p, line, false)->is_new;
}

static void begin(u64 burst)
{
	ap_met_begin(&p, burst, CAPACITY);
}

static void what_was_met_is_not_new(void)
{
	memset(&p, 0, sizeof(p));
	EXPECT(is_new(0x10000));
	EXPECT(is_new(0x10040)); /* nothing was passed over yet */
	begin(1);
	EXPECT(!is_new(0x10080));
	EXPECT(is_new(0x7ffff0000000));
	EXPECT(is_new(0x7ffff0000fc0));
	begin(2);
	EXPECT(!is_new(0x7ffff0000fc0));
	EXPECT(is_new(0x7ffff0001000));
	begin(3);
	EXPECT(!ap_met_note(&p, 0x7ffff0001000, true)->is_new);
	EXPECT(is_new(0)); /* the first page is one as well */
}

/* The kernel says how many pages can be new: others were met where nobody looked. */
static void faults_say_how_many_pages_are_new(void)
{
	memset(&p, 0, sizeof(p));
	ap_met_faults(&p, 1000, false);
	EXPECT(is_new(0x10000)); /* nothing was passed over yet */
	ap_met_faults(&p, 1500, true);
	begin(1);
	ap_met_faults(&p, 1501, false);
	EXPECT(is_new(0x20000));
	EXPECT(is_new(0x20040));
	EXPECT(!is_new(0x30000));
	EXPECT(!is_new(0x30040));
	ap_met_faults(&p, 1502, false);
	EXPECT(!is_new(0x30080)); /* it stays what it was */
	EXPECT(is_new(0x40000));
	ap_met_faults(&p, 1510, false); /* what a burst leaves is not the next one's */
	ap_met_faults(&p, 1510, true);
	begin(2);
	ap_met_faults(&p, 1510, false);
	EXPECT(!is_new(0x50000));
	ap_met_faults(&p, ~0ULL, false); /* nobody knows any more */
	EXPECT(is_new(0x60000));
	ap_met_faults(&p, 3, true); /* a fork's child counts anew */
	ap_met_faults(&p, 2, false);
	EXPECT(!is_new(0x70000));
}

/* Its bursts are numbered from 0 on, and what its parent met was met before them. */
static void forks_go_on(void)
{
	memset(&p, 0, sizeof(p));
	ap_met_faults(&p, 1000, false);
	begin(1000);
	ap_met_faults(&p, 1001, false);
	EXPECT(is_new(0x10000));
	ap_met_fork_child(&p);
	begin(0);
	ap_met_faults(&p, 0, false);
	EXPECT(is_new(0x10000)); /* nothing was passed over since */
	ap_met_faults(&p, 1, false);
	EXPECT(is_new(0x20000));
	begin(1);
	EXPECT(!is_new(0x10000));
	EXPECT_U64(ap_met_note(&p, 0x10000, false)->age, 1);
	EXPECT_U64(ap_met_note(&p, 0x20000, false)->age, 1);
}

static u32 seed;

static u32 random_below(u32 n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void meet_random_lines(void)
{
	for (u64 burst = 0; burst < 9000; burst += 1 + random_below(3) * random_below(500)) {
		begin(burst);
		for (u32 i = 0; i < 200; i++)
			(void)ap_met_note(&p, (u64)random_below(1U << 18) * 256, i % 7 == 0);
	}
}

/* Every line is of the burst that met its page last, however they come and go. */
static void lines_are_counted_once(void)
{
	u64 sum, want = 0;

	memset(&p, 0, sizeof(p));
	seed = 7;
	meet_random_lines();
	ap_met_fork_child(&p);
	meet_random_lines();
	sum = p.older;
	for (u32 i = 0; i < AP_MET_BURSTS; i++)
		sum += p.lines[i];
	for (u32 i = 0; i < AP_MET_PAGES; i++)
		want += (u64)__builtin_popcountll(p.page[i].lines);
	EXPECT(want > 3000);
	EXPECT_U64(sum, want);
}

/* --- programs: lines that they touch in turn, of which each 24th hundred is seen */

static u32 near_share(u64 (*line)(u64 n))
{
	u64 n = 0;
	u32 near = 0, seen = 0;

	memset(&p, 0, sizeof(p));
	seed = 1;
	p.is_told = true;
	for (u32 i = 0; i < 20000; i++) /* the beginning is seen as a whole */
		(void)is_new(line(n++) * 64);
	for (u64 burst = 1; burst < 500; burst++) {
		for (u32 i = 0; i < 23 * 100; i++)
			(void)line(n++);
		begin(burst);
		for (u32 i = 0; i < 100; i++) {
			const struct ap_met_page *e = ap_met_note(&p, line(n++) * 64, false);

			near += burst > 250 && ap_met_is_near(&p, e);
			seen += burst > 250;
		}
	}
	return 100 * near / seen;
}

/* Half of what the level has room for, at random; and half as much again as that. */
static u64 small(u64 n)
{
	(void)n;
	return random_below(CAPACITY / 2);
}

static u64 large(u64 n)
{
	(void)n;
	return random_below(CAPACITY * 16);
}

/* All of a few pages, of which a burst meets each by some lines. */
static u64 dense(u64 n)
{
	(void)n;
	return random_below(CAPACITY * 2);
}

/* Over and over, in order. */
static u64 small_loop(u64 n)
{
	return n % (CAPACITY / 2);
}

static u64 large_loop(u64 n)
{
	return n % (CAPACITY * 16);
}

/* A loop that stays in a small place for a long time, and then goes on to the next. */
static u64 phases(u64 n)
{
	return n / 200000 * 4096 + random_below(CAPACITY / 4);
}

static void what_fits_is_near_and_what_does_not_is_far(void)
{
	EXPECT_U64(near_share(small), 100);
	EXPECT_U64(near_share(small_loop), 100);
	EXPECT(near_share(large) < 10);
	EXPECT_U64(near_share(large_loop), 0);
	EXPECT(near_share(dense) < 10);
	EXPECT(near_share(phases) > 95);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(what_was_met_is_not_new),
						 TAP(faults_say_how_many_pages_are_new),
						 TAP(forks_go_on),
						 TAP(lines_are_counted_once),
						 TAP(what_fits_is_near_and_what_does_not_is_far),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
