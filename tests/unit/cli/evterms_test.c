/* SPDX-License-Identifier: MIT */
/*
 * perf's own terms are taken out of an event, and what is left is what a PMU is asked for.
 */
#include "cli/evterms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "tap/tap.h"

static char why[200];

static struct ap_evterms take(const char *event, const char *want)
{
	struct ap_evterms terms;
	char *rest;

	REQUIRE(!ap_evterms_take(event, &rest, &terms, why, sizeof(why)));
	EXPECT_STR(rest, want);
	free(rest);
	return terms;
}

static const char *refused(const char *event)
{
	struct ap_evterms terms;
	char *rest;

	EXPECT(ap_evterms_take(event, &rest, &terms, why, sizeof(why)) == -EINVAL);
	return why;
}

static void what_is_left_is_the_event(void)
{
	take("instructions:u", "instructions:u");
	take("instructions//u", "instructions:u");
	take("instructions//", "instructions");
	take("instructions/period=5/:u", "instructions:u");
	take("cpu/config=1/u", "cpu/config=1/u");
	take("cpu/period=1,config=1,inherit,config1=0x2/u", "cpu/config=1,config1=0x2/u");
	take("sched:sched_switch/max-stack=3/", "sched:sched_switch");
	/* slashes of breakpoints, and one alone, begin no terms */
	take("mem:0x1000/8:x/u", "mem:0x1000/8:x/u");
	take("a/b", "a/b");
	/* a term of a PMU may begin as one of ours, or end so */
	take("cpu/names=1,prefix-name=2,freqs/", "cpu/names=1,prefix-name=2,freqs/");
}

static void values_are_taken(void)
{
	struct ap_evterms t =
		take("cycles/period=0x10,time=0,stack-size=1021,max-stack=7/", "cycles");

	EXPECT_U64(t.period, 16);
	EXPECT_U64(t.freq, 0);
	EXPECT(t.time == AP_EVTERM_NO && t.inherit == AP_EVTERM_UNSAID && !t.has_chain);
	EXPECT_U64(t.stack_size, 1024);
	EXPECT_U64(t.max_stack, 7);
	t = take("cycles/period=9,freq=99,call-graph=dwarf,no-inherit,time=1/", "cycles");
	EXPECT_U64(t.period, 0);
	EXPECT_U64(t.freq, 99);
	EXPECT(t.has_chain && t.chain == AP_EVCHAIN_DWARF);
	EXPECT(t.time == AP_EVTERM_YES && t.inherit == AP_EVTERM_NO);
	t = take("cycles/call-graph=no,inherit/", "cycles");
	EXPECT(t.has_chain && t.chain == AP_EVCHAIN_NONE && t.inherit == AP_EVTERM_YES);
	t = take("cycles/call-graph=fp/", "cycles");
	EXPECT(t.chain == AP_EVCHAIN_FP);
	t = take("cycles/call-graph=lbr/", "cycles");
	EXPECT(t.chain == AP_EVCHAIN_LBR);
}

static void names_may_be_quoted(void)
{
	static const struct {
		const char *event, *name;
	} rows[] = {
		{ "cycles/name=foo/", "foo" },
		{ "cycles/name='a,b c',period=3/", "a,b c" },
		{ "cycles/name=\"it's\"/", "it's" },
		{ "cycles/name=one,name=two/", "two" },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct ap_evterms t = take(rows[i].event, "cycles");

		EXPECT_STR(t.name, rows[i].name);
		free(t.name);
	}
}

static void bad_values_say_what_is_needed(void)
{
	static const char *const bad[] = {
		"cycles/period=0/",	"cycles/period=/",	    "cycles/period/",
		"cycles/period=1k/",	"cycles/freq=-1/",	    "cycles/freq=4294967296/",
		"cycles/time=2/",	"cycles/call-graph/",	    "cycles/call-graph=dwarf2/",
		"cycles/stack-size=0/", "cycles/stack-size=65529/", "cycles/max-stack=65536/",
		"cycles/inherit=1/",	"cycles/no-inherit=0/",	    "cycles/name=/",
		"cycles/name=''/",
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(bad); i++)
		EXPECT(strstr(refused(bad[i]), " needs "));
	EXPECT_STR(
		refused("cycles/name=x,period=0/u"),
		"event syntax error: 'cycles/name=x,period=0/u': the term 'period' needs a number of "
		"events, 1 at least");
}

static void terms_that_are_not_ours_say_what_there_is(void)
{
	EXPECT_STR(
		refused("cycles/overwrite/"),
		"event syntax error: 'cycles/overwrite/': the term 'overwrite' is not taken here, it "
		"wants --overwrite, for all events");
	EXPECT(strstr(refused("cpu/config=1,branch_type=any/"), "'branch_type' is not taken here"));
	EXPECT(strstr(refused("cpu/percore/"), "'percore' is not taken here"));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(what_is_left_is_the_event),
						 TAP(values_are_taken),
						 TAP(names_may_be_quoted),
						 TAP(bad_values_say_what_is_needed),
						 TAP(terms_that_are_not_ours_say_what_there_is),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
