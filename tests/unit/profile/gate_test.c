/* SPDX-License-Identifier: MIT */
/*
 * Limits at their edges, at counts that no program of a test reaches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gate/gate.h"
#include "tap/tap.h"

static char why[AP_GATE_WHY];

/* Whether this limit lets before become now. */
static bool lets(const char *text, u64 before, u64 now)
{
	struct ap_gate_limits limits = { 0 };
	bool within;

	REQUIRE(!ap_gate_limits_add(&limits, text, why));
	EXPECT_U64(limits.n, 1);
	within = ap_gate_is_within(&limits.limit[0], before, now);
	ap_gate_limits_fini(&limits);
	return within;
}

static void percents_are_exact(void)
{
	EXPECT(lets("x=+0.5%", 20000, 20100));
	EXPECT(!lets("x=+0.5%", 20000, 20101));
	EXPECT(lets("x=+0.1%", 999, 999));
	EXPECT(!lets("x=+0.1%", 999, 1000)); /* 0.999 of an event is none */
	EXPECT(lets("x=+0.000001%", 100000000, 100000001));
	EXPECT(!lets("x=+0.000001%", 99999999, 100000000));
	EXPECT(lets("x=-1%", 100, 99));
	EXPECT(!lets("x=-1%", 101, 100));
	EXPECT(lets("x=-100%", 7, 0));
	EXPECT(!lets("x=-100%", 7, 1));
}

static void large_counts_do_not_overflow(void)
{
	u64 big = ~0ULL - 1000;

	EXPECT(lets("x=+0%", big, big));
	EXPECT(!lets("x=+0%", big, big + 1));
	EXPECT(lets("x=+1000000%", big, ~0ULL));
	EXPECT(!lets("x=+0.000001%", 1ULL << 33, (1ULL << 33) + 86));
	EXPECT(lets("x=+0.000001%", 1ULL << 33, (1ULL << 33) + 85));
	EXPECT(lets("x=+1000", big, ~0ULL));
	EXPECT(!lets("x=+999", big, ~0ULL));
	EXPECT(lets("x=+0", ~0ULL, 0));
	EXPECT(!lets("x=+9223372036854775807", 0, 1ULL << 63));
}

static void nothing_has_no_percents(void)
{
	EXPECT(lets("x=+50%", 0, 0));
	EXPECT(!lets("x=+50%", 0, 1));
	EXPECT(lets("x=+1", 0, 1));
	EXPECT(lets("x=0", 0, 0));
	EXPECT(!lets("x=0", 0, 1));
	EXPECT(!lets("x=0", 1, 0));
	EXPECT(!lets("x=0%", 1, 0));
}

static void terms_keep_their_commas(void)
{
	struct ap_gate_limits limits = { 0 };

	REQUIRE(!ap_gate_limits_add(&limits, "cpu/event=0xc0,umask=1/u=+2,calls=0", why));
	EXPECT_U64(limits.n, 2);
	EXPECT_STR(limits.limit[0].event, "cpu/event=0xc0,umask=1/u");
	EXPECT_STR(limits.limit[0].text, "+2");
	EXPECT_STR(limits.limit[1].event, "calls");
	EXPECT(limits.limit[1].how == AP_GATE_SAME);
	ap_gate_limits_fini(&limits);
}

static void nonsense_is_refused(void)
{
	static const char *const bad[] = { "",	     "x",	    "x=",
					   "=+1",    "x=1%",	    "x=+",
					   "x=%",    "x=+%",	    "x=+.5%",
					   "x=+5.%", "x=+1.5",	    "x=++1",
					   "x=-",    "x=1",	    "x=+1 ",
					   "x=+1,",  ",x=+1",	    "x=+1,x=+2",
					   "x=+-1",  "x=+1000001%", "x=+9223372036854775808" };

	for (size_t i = 0; i < AP_ARRAY_SIZE(bad); i++) {
		struct ap_gate_limits limits = { 0 };

		why[0] = '\0';
		EXPECT(ap_gate_limits_add(&limits, bad[i], why) < 0);
		EXPECT(why[0] && !strchr(why, '\n'));
		ap_gate_limits_fini(&limits);
	}
}

/* It is no lack of memory: JSON's integers are signed. */
static void a_count_that_no_file_can_hold_is_told(void)
{
	struct ap_gate_event event = { .name = (char *)"loads", .kind = (char *)"exact" };
	const struct ap_gate_counts g = { .version = (char *)"1",
					  .command = (char *)"x",
					  .machine = (char *)"zen4",
					  .machine_id = (char *)"0",
					  .cpu = (char *)"x",
					  .runs = 1,
					  .event = &event,
					  .nevents = 1 };
	FILE *out = tmpfile();

	REQUIRE(out);
	event.count = INT64_MAX;
	EXPECT_U64(-ap_gate_write(&g, out), 0);
	event.count++;
	EXPECT_U64(-ap_gate_write(&g, out), ERANGE);
	fclose(out);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(percents_are_exact),
						 TAP(large_counts_do_not_overflow),
						 TAP(nothing_has_no_percents),
						 TAP(terms_keep_their_commas),
						 TAP(nonsense_is_refused),
						 TAP(a_count_that_no_file_can_hold_is_told),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
