/* SPDX-License-Identifier: MIT */
/*
 * The event table is walked for holes and duplicates; event strings are read as perf reads them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/session.h"
#include "cli/evlist.h"
#include "cli/nearest.h"
#include "linux/client/client.h"
#include "linux/run/run.h"
#include "tap/tap.h"

static const struct ap_event_desc *find(const char *name)
{
	return ap_event_find(name, strlen(name));
}

static bool has_limit(const struct ap_event_desc *ev)
{
	switch (ev->from) {
	case AP_FROM_RAW:
		return ev->index < AP_RAW_N;
	case AP_FROM_SW:
		return ev->index <= AP_SW_N;
	case AP_FROM_TIME:
		return ev->index <= AP_TIME_SYS;
	case AP_FROM_NOTHING:
		return ev->kind == AP_KIND_UNSUPPORTED;
	}
	return false;
}

static void every_row_is_complete_and_finds_itself(void)
{
	size_t i, a;

	for (i = 0; i < ap_nevents; i++) {
		const struct ap_event_desc *ev = &ap_events[i];
		bool ok = ev->name && ev->unit && ev->meaning && ev->meaning[0] && has_limit(ev);

		ok = ok && (ev->kind == AP_KIND_UNSUPPORTED) == (ev->why != NULL);
		ok = ok && find(ev->name) == ev && !strpbrk(ev->name, ":,{}/ ");
		for (a = 0; ok && a < AP_EVENT_ALIASES && ev->alias[a]; a++)
			ok = find(ev->alias[a]) == ev;
		if (!EXPECT(ok))
			tap_note("row %zu: %s", i, ev->name);
	}
}

static void every_cache_event_is_known(void)
{
	struct ap_client_name cache;
	unsigned int n;

	for (n = 0; ap_client_name(AP_NAMES_CACHE, n, &cache); n++)
		if (!EXPECT(find(cache.name) && cache.meaning[0] && cache.is_counted))
			tap_note("%s", cache.name);
	EXPECT_U64(n, 25);
}

static void cache_events_are_spelled_as_perf_spells_them(void)
{
	static const char *const good[] = {
		"L1-dcache",
		"l1d-loads",
		"L1-dcache-misses-loads",
		"L1-dcache-prefetches-misses",
		"btb-loads",
		"LLC-load",
		"node-loads-ops",
		"L1-icache-speculative-read",
		"dTLB-store-misses",
	};
	static const char *const bad[] = {
		"iTLB-stores", "branch-stores",		 "L1-icache-stores", "branches-load-misses",
		"L1-dcache-",  "L1-dcache-loads-stores", "L1-dcachex",	     "LLC-bogus",
		"-loads",      "L1-dcache-loads-",	 "L1-dcache--loads",
	};
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(good); i++) {
		if (!EXPECT(find(good[i]) != NULL))
			tap_note("%s", good[i]);
	}
	for (i = 0; i < AP_ARRAY_SIZE(bad); i++) {
		if (!EXPECT(find(bad[i]) == NULL))
			tap_note("%s", bad[i]);
	}
}

static void raw_events_are_known_and_not_supported(void)
{
	EXPECT(find("r1a8") && find("r1a8")->why);
	EXPECT(find("rffffffffffffffff") != NULL);
	EXPECT(find("r") == NULL);
	EXPECT(find("r1g") == NULL);
	EXPECT(find("r10000000000000000") == NULL);
}

/* The events of one string, as "name=why name=-", or the error line. */
static const char *parsed(const char *spec)
{
	static char text[1000];
	struct ap_evlist list = { 0 };
	char why[400] = "";
	size_t i, n = 0;

	text[0] = 0;
	if (ap_evlist_parse(&list, spec, why, sizeof(why)))
		snprintf(text, sizeof(text), "%s", why);
	else
		for (i = 0; i < list.n; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%s", i ? " " : "",
					      list.sel[i].name,
					      list.sel[i].why ? list.sel[i].why : "-");
	ap_evlist_fini(&list);
	return text;
}

static void lists_keep_order_and_spelling(void)
{
	EXPECT_STR(parsed("instructions,faults,branch-instructions,instructions"),
		   "instructions=- faults=- branch-instructions=- instructions=-");
}

static void user_space_is_what_is_counted(void)
{
	EXPECT_STR(parsed("instructions:u"), "instructions:u=-");
	EXPECT_STR(parsed("instructions:uhH"), "instructions:uhH=-");
	EXPECT_STR(parsed("branches:upp"), "branches:upp=-");
	EXPECT_STR(parsed("branches:P"), "branches:P=-");
	EXPECT_STR(parsed("calls:"), "calls:=-");
	EXPECT_STR(parsed("task-clock:u"), "task-clock:u=-");
	EXPECT_STR(parsed("user_time:u"), "user_time:u=-");
}

static void kernel_mode_is_not_supported_and_says_why(void)
{
	EXPECT_STR(parsed("instructions:k"), "instructions:k=kernel-mode work is never counted");
	EXPECT_STR(parsed("instructions:uk"), "instructions:uk=kernel-mode work is never counted");
	EXPECT_STR(parsed("task-clock:k"), "task-clock:k=kernel-mode work is never counted");
	EXPECT_STR(parsed("calls:h"), "calls:h=guests and hypervisors are never counted");
	EXPECT_STR(parsed("calls:G"), "calls:G=guests and hypervisors are never counted");
	EXPECT_STR(parsed("calls:GH"), "calls:GH=-");
}

static void the_kernels_events_are_told_of_modes(void)
{
	static const u64 u = AP_PERF_EXCLUDE_USER, k = AP_PERF_EXCLUDE_KERNEL;
	const struct {
		const char *spec;
		u64 flags;
	} rows[] = {
		{ "page-faults", 0 },	    { "page-faults:u", k },    { "page-faults:k", u },
		{ "page-faults:uk", 0 },    { "minor-faults:u", k },   { "context-switches:u", k },
		{ "migrations:k", u },	    { "cpu-migrations:u", k }, { "{page-faults}:u", k },
		{ "{page-faults:k}:u", 0 }, /* as perf adds them up */
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct ap_evlist list = { 0 };
		char why[400];

		REQUIRE(!ap_evlist_parse(&list, rows[i].spec, why, sizeof(why)));
		REQUIRE(list.n == 1);
		if (!EXPECT(!list.sel[0].why) ||
		    !EXPECT_U64(list.sel[0].attr.flags & (u | k), rows[i].flags))
			tap_note("%s", rows[i].spec);
		ap_evlist_fini(&list);
	}
}

/* Those of one system, of several, of nothing; what follows the pattern is of each. */
static void patterns_are_all_tracepoints_that_match(void)
{
	static const struct {
		const char *spec, *first, *last;
		size_t n;
	} rows[] = {
		{ "raw_syscalls:*", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", 2 },
		{ "raw_*:sys_e?it:u", "raw_syscalls:sys_exit:u", "raw_syscalls:sys_exit:u", 1 },
		{ "*:*_openat", "syscalls:sys_enter_openat", "syscalls:sys_exit_openat", 2 },
		{ "syscalls:sys_enter_[pq]read6*", "syscalls:sys_enter_pread64",
		  "syscalls:sys_enter_pread64", 1 },
		{ "calls,{raw_syscalls:*,loads}", "calls", "loads", 4 },
	};
	struct ap_evlist list = { 0 };
	char why[400];

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		REQUIRE(!ap_evlist_parse(&list, rows[i].spec, why, sizeof(why)));
		EXPECT_U64(list.n, rows[i].n);
		REQUIRE(list.n);
		EXPECT_STR(list.sel[0].name, rows[i].first);
		EXPECT_STR(list.sel[list.n - 1].name, rows[i].last);
		ap_evlist_fini(&list);
	}
	REQUIRE(!ap_evlist_parse(&list, "{raw_syscalls:*}", why, sizeof(why)));
	EXPECT_U64(list.sel[1].leader, 0);
	ap_evlist_fini(&list);
}

static void wrong_strings_get_one_line(void)
{
	static const char *const no_tracepoints[] = { "syscalls:sys_enter_nosuch",
						      "raw_syscalls:nosuch", "sched:nosuch",
						      "nosuch:*", "syscalls:nosuch_*" };

	EXPECT_STR(parsed("bogus"), "no event is called 'bogus' ('anyperf list' names all)");
	EXPECT_STR(parsed("task-clock,brnaches"),
		   "no event is called 'brnaches', did you mean 'branches'? "
		   "('anyperf list' names all)");
	EXPECT_STR(parsed("L1-dcache-load-mises"),
		   "no event is called 'L1-dcache-load-mises', did you mean "
		   "'L1-dcache-load-misses'? ('anyperf list' names all)");
	EXPECT_STR(parsed("syscalls:sys_enter_opnat"),
		   "no event is called 'syscalls:sys_enter_opnat', did you mean "
		   "'syscalls:sys_enter_openat'? ('anyperf list' names all)");
	EXPECT_STR(parsed("foo"), "no event is called 'foo' ('anyperf list' names all)");
	EXPECT_STR(parsed("a,,b"), "no event is called 'a' ('anyperf list' names all)");
	EXPECT_STR(parsed("calls,"), "event syntax error: 'calls,': an event is missing");
	EXPECT_STR(parsed(""), "event syntax error: '': an event is missing");
	EXPECT_STR(parsed("calls:kk"), "event syntax error: 'calls:kk': bad modifier 'kk'");
	EXPECT_STR(parsed("calls:pppp"), "event syntax error: 'calls:pppp': bad modifier 'pppp'");
	EXPECT_STR(parsed("calls:u:k"), "event syntax error: 'calls:u:k': bad modifier 'u:k'");
	for (size_t i = 0; i < AP_ARRAY_SIZE(no_tracepoints); i++) {
		char want[200];

		snprintf(want, sizeof(want),
			 "no tracepoint is called '%s' ('anyperf list tracepoint' names all)",
			 no_tracepoints[i]);
		EXPECT_STR(parsed(no_tracepoints[i]), want);
	}
	EXPECT_STR(parsed("raw_syscalls:*:q"),
		   "event syntax error: 'raw_syscalls:sys_enter:q': bad modifier 'q'");
	EXPECT_STR(parsed("cpu/bogus/"), "'cpu/bogus/': no such PMU, or no such terms of it");
	EXPECT_STR(parsed("gpu/calls/"), "'gpu/calls/': no such PMU, or no such terms of it");
	EXPECT_STR(parsed("gpu/period=1/"), "'gpu/period=1/': no such PMU, or no such terms of it");
	EXPECT_STR(
		parsed("cpu/no-overwrite/"),
		"event syntax error: 'cpu/no-overwrite/': the term 'no-overwrite' is not taken here, "
		"it wants no --overwrite, for all events");
	EXPECT_STR(parsed("cpu/bogus=1,names=2/"),
		   "'cpu/bogus=1,names=2/': no such PMU, or no such terms of it");
	EXPECT_STR(parsed("{calls,returns"),
		   "event syntax error: '{calls,returns': a group is not closed");
	EXPECT_STR(parsed("{}"), "event syntax error: '{}': an event is missing");
	EXPECT_STR(parsed("{calls,}"), "event syntax error: '{calls,}': an event is missing");
	EXPECT_STR(parsed("{calls}returns"),
		   "event syntax error: '{calls}returns': an event is missing");
	EXPECT_STR(parsed("{calls}:q"), "event syntax error: bad modifier 'q' of a group");
}

static void groups_have_a_leader_and_their_modifiers(void)
{
	struct ap_evlist list = { 0 };
	char why[400];

	REQUIRE(!ap_evlist_parse(&list, "cs,{calls,returns:u}:D,{loads,stores:k}:u,stores", why,
				 sizeof(why)));
	REQUIRE(list.n == 6);
	EXPECT(list.sel[0].leader == AP_EVSEL_ALONE && list.sel[5].leader == AP_EVSEL_ALONE);
	EXPECT(list.sel[1].leader == 1 && list.sel[2].leader == 1);
	EXPECT(list.sel[3].leader == 3 && list.sel[4].leader == 3);
	EXPECT_STR(list.sel[2].name, "returns:u");
	/* pinned is the leader's alone */
	EXPECT(list.sel[1].attr.flags & AP_PERF_PINNED);
	EXPECT(!(list.sel[2].attr.flags & AP_PERF_PINNED));
	EXPECT(!list.sel[3].why && list.sel[4].why);
	ap_evlist_fini(&list);
}

/* As Debian's perf calls them. */
static void terms_of_perfs_own_are_no_event(void)
{
	static const struct {
		const char *spec, *name, *of_user;
	} rows[] = {
		{ "cpu/instructions,name=foo bar/u", "foo bar", "foo bar:u" },
		{ "instructions/period=1000,name='a,b'/", "a,b", "a,b:u" },
		{ "instructions/period=1000/u", "instructions:u", NULL },
		{ "instructions//", "instructions", "instructions:u" },
		{ "cpu/instructions,period=7/", "cpu/instructions,period=7/",
		  "cpu/instructions,period=7/u" },
		{ "sched:sched_process_exi[t]/name=x/", "x", "x:u" },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct ap_evlist list = { 0 };
		char why[400], *name;

		REQUIRE(!ap_evlist_parse(&list, rows[i].spec, why, sizeof(why)));
		REQUIRE(list.n == 1);
		EXPECT_STR(list.sel[0].name, rows[i].name);
		name = ap_evsel_user_name(&list.sel[0]);
		if (rows[i].of_user)
			EXPECT_STR(name, rows[i].of_user);
		free(name);
		/* what it says of recordings is no part of what is counted */
		EXPECT_U64(list.sel[0].attr.sample_period, 0);
		ap_evlist_fini(&list);
	}
}

static void events_of_the_pmu_are_found(void)
{
	struct ap_evlist list = { 0 };
	char why[400];

	/* a comma among the terms of a PMU separates no events */
	REQUIRE(!ap_evlist_parse(&list, "cpu/anyperf=5,config=0/u,mem:0x601040/8:x:u,instructions",
				 why, sizeof(why)));
	REQUIRE(list.n == 3);
	EXPECT_U64(list.sel[0].attr.type, AP_PERF_TYPE_RAW);
	EXPECT_U64(list.sel[0].kinds, AP_KIND_BIT(AP_KIND_CALL));
	EXPECT_U64(list.sel[1].attr.type, AP_PERF_TYPE_BREAKPOINT);
	EXPECT_U64(list.sel[1].attr.config1, 0x601040);
	EXPECT_U64(list.sel[2].attr.type, AP_PERF_TYPE_HARDWARE);
	EXPECT_U64(list.sel[2].kinds, AP_KIND_BIT(AP_KIND_INSTR));
	EXPECT(list.sel[2].attr.flags & AP_PERF_EXCLUDE_KERNEL);
	for (size_t i = 0; i < list.n; i++)
		EXPECT(!list.sel[i].why);
	ap_evlist_fini(&list);
}

static void only_supported_events_need_anything(void)
{
	struct ap_evlist list = { 0 };
	char why[400];

	REQUIRE(!ap_evlist_parse(&list, "task-clock,instructions:k,bpf-output", why, sizeof(why)));
	EXPECT(!ap_evlist_needs(&list, AP_FROM_RAW));
	EXPECT(ap_evlist_needs(&list, AP_FROM_SW));
	REQUIRE(!ap_evlist_parse(&list, "syscalls", why, sizeof(why)));
	EXPECT(ap_evlist_needs(&list, AP_FROM_RAW));
	ap_evlist_fini(&list);
}

static void suggestions_are_for_typing_errors(void)
{
	struct ap_nearest near;

	EXPECT_U64(ap_edit_distance("", "abc"), 3);
	EXPECT_U64(ap_edit_distance("abc", "abc"), 0);
	EXPECT_U64(ap_edit_distance("sttat", "stat"), 1);
	EXPECT_U64(ap_edit_distance("satt", "stat"), 1);
	EXPECT_U64(ap_edit_distance("stta", "stat"), 1);
	ap_nearest_init(&near, "lst");
	ap_nearest_offer(&near, "stat");
	ap_nearest_offer(&near, "list");
	EXPECT_STR(near.name, "list");
	ap_nearest_init(&near, "record");
	ap_nearest_offer(&near, "stat");
	EXPECT(near.name == NULL);
	ap_nearest_init(&near, "foo");
	ap_nearest_offer(&near, "top");
	EXPECT(near.name == NULL);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(every_row_is_complete_and_finds_itself),
						 TAP(every_cache_event_is_known),
						 TAP(cache_events_are_spelled_as_perf_spells_them),
						 TAP(raw_events_are_known_and_not_supported),
						 TAP(lists_keep_order_and_spelling),
						 TAP(user_space_is_what_is_counted),
						 TAP(kernel_mode_is_not_supported_and_says_why),
						 TAP(the_kernels_events_are_told_of_modes),
						 TAP(patterns_are_all_tracepoints_that_match),
						 TAP(wrong_strings_get_one_line),
						 TAP(groups_have_a_leader_and_their_modifiers),
						 TAP(terms_of_perfs_own_are_no_event),
						 TAP(events_of_the_pmu_are_found),
						 TAP(only_supported_events_need_anything),
						 TAP(suggestions_are_for_typing_errors),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
