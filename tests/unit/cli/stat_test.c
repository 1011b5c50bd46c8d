/* SPDX-License-Identifier: MIT */
/*
 * What `anyperf stat` prints for given numbers: means and deviations, the table, CSV and notes.
 * The strings here are perf 6.1's own, up to what anyperf adds; perf_test.c holds them to a perf
 * where there is one.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "cli/stat_metrics.h"
#include "sample.h"
#include "tap/tap.h"

static struct capture cap;

static const char *printed(const struct sample *s, const char *separator, bool verbose)
{
	struct ap_stat_format fmt = { .style = separator ? AP_STAT_CSV : AP_STAT_TABLE,
				      .separator = separator,
				      .verbose = verbose };

	ap_stat_print(&s->st, &fmt, capture_begin(&cap));
	return capture_end(&cap);
}

static void mean_and_deviation_are_perfs(void)
{
	struct ap_agg agg = { 0 };

	ap_agg_add(&agg, 10);
	EXPECT(ap_agg_stddev(&agg) == 0);
	ap_agg_add(&agg, 12);
	ap_agg_add(&agg, 14);
	/* variance 4, of the mean 4/3 */
	EXPECT(agg.mean == 12);
	EXPECT(ap_agg_stddev(&agg) > 1.1547 && ap_agg_stddev(&agg) < 1.1548);
	EXPECT(ap_agg_stddev_pct(&agg) > 9.622 && ap_agg_stddev_pct(&agg) < 9.623);
}

static void nothing_deviates_from_zero(void)
{
	struct ap_agg agg = { 0 };

	ap_agg_add(&agg, 0);
	ap_agg_add(&agg, 0);
	EXPECT(ap_agg_stddev_pct(&agg) == 0);
}

static void the_table_is_perfs_with_the_kind_after_the_comment(void)
{
	struct sample s;

	sample_init(&s, "task-clock,context-switches,instructions,bpf-output,duration_time");
	sample_of(&s, "context-switches")->source = AP_SRC_KERNEL;
	sample_of(&s, "context-switches")->count = 3;
	sample_of(&s, "instructions")->count = 123456;
	sample_run(&s);
	EXPECT_STR(
		printed(&s, NULL, false),
		"\n Performance counter stats for 'prog -x':\n\n"
		"              1.00 msec task-clock                       #    0.500 CPUs utilized"
		"           # rusage\n"
		"                 3      context-switches                 #    3.000 K/sec        "
		"           # kernel\n"
		"            123456      instructions                     #  123.456 M/sec        "
		"           # exact\n"
		"   <not supported>      bpf-output\n"
		"           2000000 ns   duration_time                                            "
		"           # kernel\n"
		"\n"
		"       0.002000000 seconds time elapsed\n\n"
		"       0.000700000 seconds user\n"
		"       0.000300000 seconds sys\n\n\n");
	sample_fini(&s);
}

static void repeated_runs_show_means_and_deviations(void)
{
	struct sample s;

	sample_init(&s, "task-clock,instructions,branches");
	sample_of(&s, "instructions")->count = 2000;
	sample_of(&s, "branches")->count = 10;
	sample_run(&s);
	sample_of(&s, "branches")->count = 12;
	s.times.wall_ns = 2200000;
	sample_run(&s);
	EXPECT_STR(
		printed(&s, NULL, false),
		"\n Performance counter stats for 'prog -x' (2 runs):\n\n"
		"              1.00 msec task-clock                       #    0.476 CPUs utilized"
		"           # rusage\n"
		"              2000      instructions                     #    2.000 M/sec        "
		"           # exact\n"
		"                11      branches                         #   11.000 K/sec        "
		"           # exact     ( +-  9.09% )\n"
		"\n"
		"          0.002100 +- 0.000100 seconds time elapsed  ( +-  4.76% )\n\n\n");
	sample_fini(&s);
}

static void rates_need_a_clock_among_the_events(void)
{
	struct sample s;

	sample_init(&s, "instructions");
	sample_of(&s, "instructions")->count = 42;
	sample_run(&s);
	EXPECT_STR(printed(&s, ",", false), "42,,instructions,1000000,100.00,,,exact\n");
	sample_fini(&s);
}

static void csv_has_perfs_columns_and_one_more(void)
{
	struct sample s;

	sample_init(&s, "task-clock,page-faults,instructions:u,branches:k,bpf-output,user_time");
	sample_of(&s, "page-faults")->count = 48;
	sample_of(&s, "instructions:u")->count = 18446744073709551615ULL;
	sample_run(&s);
	EXPECT_STR(
		printed(&s, ",", false),
		"1.00,msec,task-clock,1000000,100.00,0.500,CPUs utilized,kernel\n"
		"48,,page-faults,1000000,100.00,48.000,K/sec,kernel\n"
		"18446744073709551615,,instructions:u,1000000,100.00,18446744073709.551,G/sec,exact\n"
		"<not supported>,,branches:k,0,100.00,,,\n"
		"<not supported>,,bpf-output,0,100.00,,,\n"
		"700000,ns,user_time,700000,100.00,,,kernel\n");
	sample_fini(&s);
}

static void csv_of_repeated_runs_has_the_deviation(void)
{
	struct sample s;

	sample_init(&s, "branches,bpf-output");
	sample_of(&s, "branches")->count = 10;
	sample_run(&s);
	sample_of(&s, "branches")->count = 12;
	sample_run(&s);
	EXPECT_STR(printed(&s, ";", false), "11;;branches;9.09%;1000000;100.00;;;exact\n"
					    "<not supported>;;bpf-output;0.00%;0;100.00;;;\n");
	sample_fini(&s);
}

static void what_did_not_count_all_the_time_is_scaled_and_says_so(void)
{
	struct sample s;

	sample_init(&s, "instructions,branches");
	sample_of(&s, "instructions")->count = 1000;
	sample_of(&s, "instructions")->running = 250000;
	sample_of(&s, "branches")->count = 7;
	sample_run(&s);
	EXPECT_STR(printed(&s, ",", false), "4000,,instructions,250000,25.00,,,scaled\n"
					    "7,,branches,1000000,100.00,,,exact\n");
	EXPECT(strstr(printed(&s, NULL, false), " # scaled  (25.00%)\n"));
	sample_fini(&s);
}

static void json_lines_have_perfs_keys(void)
{
	struct ap_stat_format fmt = { .style = AP_STAT_JSON };
	struct sample s;

	sample_init(&s, "task-clock,instructions,bpf-output");
	sample_of(&s, "instructions")->count = 9007199254740993ULL;
	sample_run(&s);
	ap_stat_add_note(&s.st, "not counted: \"a\\b\"");
	ap_stat_print(&s.st, &fmt, capture_begin(&cap));
	EXPECT_STR(
		capture_end(&cap),
		"{\"counter-value\" : \"1.000000\", \"unit\" : \"msec\", \"event\" : \"task-clock\", "
		"\"event-runtime\" : 1000000, \"pcnt-running\" : 100.00, \"metric-value\" : 0.500000, "
		"\"metric-unit\" : \"CPUs utilized\", \"kind\" : \"rusage\"}\n"
		"{\"counter-value\" : \"9007199254740993.000000\", \"unit\" : \"\", "
		"\"event\" : \"instructions\", \"event-runtime\" : 1000000, "
		"\"pcnt-running\" : 100.00, \"metric-value\" : 9007199254.740992, "
		"\"metric-unit\" : \"G/sec\", \"kind\" : \"exact\"}\n"
		"{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"bpf-output\", "
		"\"event-runtime\" : 0, \"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, "
		"\"metric-unit\" : \"\", \"kind\" : \"\"}\n"
		"{\"note\" : \"not counted: \\\"a\\\\b\\\"\"}\n");
	sample_fini(&s);
}

static void rows_of_cpus_and_threads_stand_below_their_event(void)
{
	static const struct ap_stat_place cpus[] = { { .cpu = 0 }, { .cpu = 12 } };
	static const struct ap_stat_place threads[] = { { .cpu = -1, .thread = "a-b-7" },
							{ .cpu = -1, .thread = "worker-12345" } };
	struct sample s;

	sample_init(&s, "page-faults");
	s.reading[1] = s.reading[0];
	s.reading[0].count = 5;
	s.reading[1].count = 6;
	ap_stat_set_places(&s.st, &s.list, AP_STAT_CPUS, cpus, 2);
	sample_run(&s);
	EXPECT(strstr(printed(&s, NULL, false),
		      "\nCPU0                        5      page-faults  "));
	EXPECT(strstr(printed(&s, NULL, false),
		      "\nCPU12                       6      page-faults  "));
	EXPECT_STR(printed(&s, ",", false), "CPU0,5,,page-faults,1000000,100.00,,,kernel\n"
					    "CPU12,6,,page-faults,1000000,100.00,,,kernel\n");
	ap_stat_set_places(&s.st, &s.list, AP_STAT_THREADS, threads, 2);
	s.st.runs = 0;
	sample_run(&s);
	/* the larger one first */
	EXPECT_STR(printed(&s, ",", false), "worker-12345,6,,page-faults,1000000,100.00,,,kernel\n"
					    "a-b-7,5,,page-faults,1000000,100.00,,,kernel\n");
	EXPECT(strstr(printed(&s, NULL, false),
		      "\n          worker-12345                     6      page-faults  "));
	EXPECT(strstr(printed(&s, NULL, false),
		      "\n             a-b-7                         5      page-faults  "));
	sample_fini(&s);
}

static void rows_of_parts_name_them_and_their_cpus(void)
{
	static const struct {
		enum ap_stat_split split;
		struct ap_stat_place place[2];
		const char *table, *csv;
	} want[] = {
		{ AP_STAT_CORES,
		  { { .part = "S0-D0-C7", .ncpus = 2 }, { .part = "S1-D0-C12", .ncpus = 64 } },
		  "\nS0-D0-C7           2                  5      page-faults  ",
		  "S1-D0-C12,64,6,," },
		{ AP_STAT_DIES,
		  { { .part = "S0-D0", .ncpus = 2 }, { .part = "S0-D-1", .ncpus = 1 } },
		  "\nS0-D0           2                  5      page-faults  ",
		  "S0-D-1,1,6,," },
		{ AP_STAT_SOCKETS,
		  { { .part = "S0", .ncpus = 2 }, { .part = "S10", .ncpus = 1234 } },
		  "\nS0        2                  5      page-faults  ",
		  "S10,1234,6,," },
		{ AP_STAT_NODES,
		  { { .part = "N0", .ncpus = 2 }, { .part = "N1", .ncpus = 2 } },
		  "\nN0        2                  5      page-faults  ",
		  "N1,2,6,," },
	};
	struct sample s;

	sample_init(&s, "page-faults");
	s.reading[1] = s.reading[0];
	s.reading[0].count = 5;
	s.reading[1].count = 6;
	for (size_t i = 0; i < AP_ARRAY_SIZE(want); i++) {
		ap_stat_set_places(&s.st, &s.list, want[i].split, want[i].place, 2);
		s.st.runs = 0;
		sample_run(&s);
		EXPECT(strstr(printed(&s, NULL, false), want[i].table));
		EXPECT(strstr(printed(&s, ",", false), want[i].csv));
	}
	sample_fini(&s);
}

/* Each CPU is in one of them, and they are counted as they come. */
static void parts_of_this_machine_have_all_its_cpus(void)
{
	static const enum ap_stat_split splits[] = { AP_STAT_CORES, AP_STAT_DIES, AP_STAT_SOCKETS,
						     AP_STAT_NODES };
	static const s32 cpus[] = { 0, 0, 0 };
	struct ap_stat_place place[3];
	u32 of[3];

	for (size_t i = 0; i < AP_ARRAY_SIZE(splits); i++) {
		EXPECT_U64(ap_stat_parts(NULL, splits[i], cpus, 3, place, of), 1);
		EXPECT_U64(place[0].ncpus, 3);
		EXPECT_U64(of[0] + of[1] + of[2], 0);
	}
}

static void numbers_are_not_scaled_on_demand(void)
{
	struct sample s;

	sample_init(&s, "page-faults");
	s.st.is_unscaled = true;
	s.reading[0].count = 50;
	s.reading[0].enabled = 1000;
	s.reading[0].running = 500;
	sample_run(&s);
	EXPECT_STR(printed(&s, ",", false), "50,,page-faults,500,50.00,,,kernel\n");
	s.st.is_unscaled = false;
	ap_stat_restart(&s.st);
	sample_run(&s);
	EXPECT_STR(printed(&s, ",", false), "100,,page-faults,500,50.00,,,scaled\n");
	ap_stat_restart(&s.st);
	s.reading[0].running = 1000;
	sample_run(&s);
	EXPECT_STR(printed(&s, ",", false), "50,,page-faults,1000,100.00,,,kernel\n");
	sample_fini(&s);
}

/* 100.0 * m / m is less than 100 for the mean m of these. */
static void what_always_ran_shows_no_part_of_the_time(void)
{
	static const u64 ns[] = { 28034063, 86397250, 18470054 };
	struct sample s;

	sample_init(&s, "page-faults");
	for (size_t i = 0; i < AP_ARRAY_SIZE(ns); i++) {
		s.reading[0].enabled = s.reading[0].running = ns[i];
		sample_run(&s);
	}
	EXPECT(ap_stat_row_ran(&s.st.row[0]) == 100);
	EXPECT(!strstr(printed(&s, NULL, false), "(100.00%)"));
	sample_fini(&s);
}

static void a_table_has_the_time_of_each_run(void)
{
	static const u64 ns[] = { 1000000000, 2000000000, 3000000000 };
	struct sample s;

	sample_init(&s, "page-faults");
	s.st.has_table = true;
	for (size_t i = 0; i < AP_ARRAY_SIZE(ns); i++) {
		const struct ap_stat_times times = { .wall_ns = ns[i] };

		ap_stat_add(&s.st, s.reading, &times);
	}
	/* 100 % of the first, 0, 33 % of the third */
	EXPECT(strstr(printed(&s, NULL, false),
		      "\n             # Table of individual measurements:\n"
		      "             1.000 (-1.000) #####################\n"
		      "             2.000 (+0.000) #\n"
		      "             3.000 (+1.000) #######\n\n"
		      "             # Final result:\n"
		      "             2.000 +- 0.577 seconds time elapsed  ( +- 28.87% )\n"));
	sample_fini(&s);
}

static void bars_of_runs_end(void)
{
	static const u64 ns[] = { 1000000, 90000000000ULL };
	struct sample s;
	size_t longest = 0;

	sample_init(&s, "page-faults");
	s.st.has_table = true;
	for (size_t i = 0; i < AP_ARRAY_SIZE(ns); i++) {
		const struct ap_stat_times times = { .wall_ns = ns[i] };

		ap_stat_add(&s.st, s.reading, &times);
	}
	for (const char *at = printed(&s, NULL, false); *at; at++)
		longest = strspn(at, "#") > longest ? strspn(at, "#") : longest;
	EXPECT_U64(longest, 60);
	sample_fini(&s);
}

static void intervals_have_their_time_in_front(void)
{
	struct ap_stat_format table = { .style = AP_STAT_TABLE };
	struct ap_stat_format csv = { .style = AP_STAT_CSV, .separator = "," };
	struct sample s;

	sample_init(&s, "page-faults");
	s.reading[0].count = 5;
	sample_run(&s);
	ap_stat_print_interval(&s.st, &table, 1050095882ULL, 0, capture_begin(&cap));
	EXPECT_STR(capture_end(&cap),
		   "#           time             counts unit events\n"
		   "     1.050095882                  5      page-faults                         "
		   "                                # rusage\n");
	ap_stat_print_interval(&s.st, &csv, 50095882ULL, 1, capture_begin(&cap));
	EXPECT_STR(capture_end(&cap), "     0.050095882,5,,page-faults,1000000,100.00,,,kernel\n");
	ap_stat_restart(&s.st);
	s.reading[0].running = 0;
	sample_run(&s);
	ap_stat_print_interval(&s.st, &csv, 50095882ULL, 1, capture_begin(&cap));
	EXPECT_STR(capture_end(&cap), "     0.050095882,<not counted>,,page-faults,0,100.00,,,\n");
	sample_fini(&s);
}

static void a_command_outside_of_the_engine_is_not_counted(void)
{
	struct sample s;

	sample_init(&s, "instructions,major-faults");
	sample_of(&s, "instructions")->enabled = sample_of(&s, "instructions")->running = 0;
	sample_of(&s, "major-faults")->is_open = false;
	sample_run(&s);
	EXPECT_STR(
		printed(&s, ",", true),
		"<not counted>,,instructions,0,100.00,,,\n"
		"<not supported>,,major-faults,0,100.00,,,\n"
		"# instructions: <not counted>: nothing ran under the engine while it was enabled\n"
		"# major-faults: <not supported>: this kernel lets nobody count it\n");
	sample_fini(&s);
}

static void the_kernels_events_do_not_blame_the_engine(void)
{
	struct sample s;

	sample_init(&s, "page-faults");
	s.reading[0].enabled = 1000;
	s.reading[0].running = 0;
	sample_run(&s);
	EXPECT_STR(
		printed(&s, ",", true),
		"<not counted>,,page-faults,0,100.00,,,\n"
		"# page-faults: <not counted>: nothing of the program ran while it was enabled\n");
	sample_fini(&s);
}

static void kernel_numbers_beside_exact_ones_include_the_engine(void)
{
	static const char said[] = "# kernel: what the kernel saw, the engine's own work included; "
				   "asked for alone, its events are counted without the engine\n";
	static const struct {
		const char *events;
		bool is_said;
	} cases[] = { { "task-clock,instructions", true },
		      { "instructions,user_time", true },
		      { "task-clock,page-faults", false },
		      { "instructions,branches", false },
		      { "cycles,instructions", false } };
	struct sample s;
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(cases); i++) {
		sample_init(&s, cases[i].events);
		sample_run(&s);
		EXPECT(!!strstr(printed(&s, ",", true), said) == cases[i].is_said);
		EXPECT(!strstr(printed(&s, ",", false), said));
		sample_fini(&s);
	}
}

static void notes_are_said_once_with_their_number(void)
{
	static struct ap_note_line notes[] = { { .text = "not counted: /usr/bin/sudo: set-uid" },
					       { .text = "not counted: /x: 32-bit" },
					       { .text = "not counted: /usr/bin/sudo: set-uid" } };
	struct sample s;
	const char *text;

	sample_init(&s, NULL);
	s.res.notes = notes;
	s.res.nnotes = 3;
	s.res.tasks_running = 1;
	s.res.tasks_short = 2;
	s.res.max_short = 64;
	sample_run(&s);
	text = printed(&s, NULL, false);
	EXPECT_STR(text + strlen(text) - strlen(strstr(text, "not counted")),
		   "not counted: /usr/bin/sudo: set-uid (2 times)\n"
		   "not counted: /x: 32-bit\n"
		   "1 task still running\n"
		   "killed: up to 128 instructions are missing in the counts (2 tasks)\n\n");
	sample_fini(&s);
}

static void a_null_run_has_times_only(void)
{
	struct sample s;

	sample_init(&s, NULL);
	sample_run(&s);
	EXPECT_STR(printed(&s, NULL, false), "\n Performance counter stats for 'prog -x':\n\n"
					     "       0.002000000 seconds time elapsed\n\n"
					     "       0.000700000 seconds user\n"
					     "       0.000300000 seconds sys\n\n\n");
	EXPECT_STR(printed(&s, ",", false), "");
	sample_fini(&s);
}

static void thousands_are_separated_as_the_locale_says(void)
{
	static const char *const names[] = { "en_US.UTF-8", "en_US.utf8", "en_GB.UTF-8",
					     "de_DE.UTF-8" };
	const struct lconv *conv;
	struct sample s;
	char want[40];
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(names) && !setlocale(LC_NUMERIC, names[i]); i++)
		;
	if (i == AP_ARRAY_SIZE(names))
		tap_lack("no locale with thousands separators is installed");
	conv = localeconv();
	snprintf(want, sizeof(want), "1%s234%s567      instructions", conv->thousands_sep,
		 conv->thousands_sep);
	sample_init(&s, "instructions");
	sample_of(&s, "instructions")->count = 1234567;
	sample_run(&s);
	EXPECT(strstr(printed(&s, NULL, false), want));
	sample_fini(&s);
}

/* What a row of instructions and the metric ipc say of so many instructions and cycles. */
static void expect_ipc(u64 instructions, u64 cycles, bool of_intervals, const char *of_row,
		       const char *of_metric)
{
	struct ap_stat_metrics metrics = { 0 };
	char why[200];
	const char *text;
	struct sample s;

	EXPECT(!ap_metrics_parse(&metrics.table, "ipc | | instructions / cycles | G | t", "x", why,
				 sizeof(why)));
	EXPECT(!ap_stat_metrics_choose(&metrics, "ipc", why, sizeof(why)));
	sample_init(&s, "instructions,cycles");
	sample_of(&s, "instructions")->count = instructions;
	sample_of(&s, "cycles")->count = cycles;
	sample_run(&s);
	s.st.metrics = &metrics;
	s.st.of_intervals = of_intervals;
	text = printed(&s, ",", false);
	if (!strstr(text, of_row) || !strstr(text, of_metric))
		EXPECT_STR(text, of_row);
	sample_fini(&s);
	ap_stat_metrics_fini(&metrics);
}

static void a_model_read_an_interval_late_makes_no_ratio(void)
{
	expect_ipc(0, 31181, true, "0,,instructions,1000000,100.00,,,exact\n", ",,,,,,ipc,\n");
	expect_ipc(0, 31181, false, ",0.000,insn per cycle (modelled),exact\n",
		   ",,,,,0,ipc,modelled\n");
	expect_ipc(5000000, 10000000, true, ",0.500,insn per cycle (modelled),exact\n",
		   ",,,,,0.5,ipc,modelled\n");
	expect_ipc(500, 0, true, "500,,instructions,1000000,100.00,,,exact\n", ",,,,,,ipc,\n");
}

/* The models are behind by so much of a run: of less an interval says nothing of both together, and the whole run does. */
static void a_short_interval_makes_no_ratio_of_an_exact_and_a_modelled_count(void)
{
	expect_ipc(1 << 20, 1 << 21, true, ",0.500,insn per cycle (modelled),exact\n",
		   ",,,,,0.5,ipc,modelled\n");
	expect_ipc((1 << 20) - 1, 1 << 21, true, "1048575,,instructions,1000000,100.00,,,exact\n",
		   ",,,,,,ipc,\n");
	expect_ipc(500, 1000, false, ",0.500,insn per cycle (modelled),exact\n",
		   ",,,,,0.5,ipc,modelled\n");
}

/* The row's count is exact; what stands behind it is as good as the cycles are. */
static void a_ratio_to_an_estimate_says_so(void)
{
	struct sample s;

	sample_init(&s, "instructions,cycles");
	sample_of(&s, "instructions")->count = 500;
	sample_of(&s, "cycles")->count = 1000;
	sample_run(&s);
	for (size_t i = 0; i < s.st.nrows; i++)
		s.st.row[i].is_estimated = true;
	EXPECT(strstr(printed(&s, ",", false), ",0.500,insn per cycle (estimated),exact\n") !=
	       NULL);
	sample_fini(&s);
}

/* What a row of misses says beside so many branches of an interval, of which the models see one part. */
static void expect_misses(const char *events, u64 branches, u64 misses, u32 part, const char *want)
{
	const char *text;
	struct sample s;

	sample_init(&s, events);
	sample_of(&s, "branches")->count = branches;
	sample_of(&s, "branch-misses")->count = misses;
	if (strstr(events, "instructions"))
		sample_of(&s, "instructions")->count = 100000000;
	if (part)
		ap_stat_set_estimated(&s.st, part);
	sample_run(&s);
	s.st.of_intervals = true;
	text = printed(&s, ",", false);
	if (!strstr(text, want))
		EXPECT_STR(text, want);
	sample_fini(&s);
}

static void how_short_is_told_by_what_was_counted_exactly_and_how_far_models_are_behind(void)
{
	expect_misses("branches,branch-misses", 100, 289, 0,
		      "289,,branch-misses,1000000,100.00,,,modelled\n");
	expect_misses("branches,branch-misses", 1 << 18, 1 << 17, 0,
		      ",50.000,% of all branches,modelled\n");
	expect_misses("branches,branch-misses", (1 << 18) - 1, 1, 0,
		      "1,,branch-misses,1000000,100.00,,,modelled\n");
	/* few branches in many instructions are no short interval */
	expect_misses("branches,branch-misses,instructions", 1000, 500, 0,
		      ",50.000,% of all branches,modelled\n");
	/* half a gap of 24 parts */
	expect_misses("branches,branch-misses", 25 << 18, 25 << 17, 24,
		      ",50.000,% of all branches,,estimated\n");
	expect_misses("branches,branch-misses", (25 << 18) - 1, 1, 24,
		      "1,,branch-misses,1000000,100.00,,,,estimated\n");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(mean_and_deviation_are_perfs),
		TAP(nothing_deviates_from_zero),
		TAP(the_table_is_perfs_with_the_kind_after_the_comment),
		TAP(repeated_runs_show_means_and_deviations),
		TAP(what_always_ran_shows_no_part_of_the_time),
		TAP(rates_need_a_clock_among_the_events),
		TAP(csv_has_perfs_columns_and_one_more),
		TAP(csv_of_repeated_runs_has_the_deviation),
		TAP(what_did_not_count_all_the_time_is_scaled_and_says_so),
		TAP(json_lines_have_perfs_keys),
		TAP(rows_of_cpus_and_threads_stand_below_their_event),
		TAP(rows_of_parts_name_them_and_their_cpus),
		TAP(parts_of_this_machine_have_all_its_cpus),
		TAP(numbers_are_not_scaled_on_demand),
		TAP(a_table_has_the_time_of_each_run),
		TAP(bars_of_runs_end),
		TAP(intervals_have_their_time_in_front),
		TAP(a_command_outside_of_the_engine_is_not_counted),
		TAP(the_kernels_events_do_not_blame_the_engine),
		TAP(kernel_numbers_beside_exact_ones_include_the_engine),
		TAP(notes_are_said_once_with_their_number),
		TAP(a_null_run_has_times_only),
		TAP(a_model_read_an_interval_late_makes_no_ratio),
		TAP(a_ratio_to_an_estimate_says_so),
		TAP(a_short_interval_makes_no_ratio_of_an_exact_and_a_modelled_count),
		TAP(how_short_is_told_by_what_was_counted_exactly_and_how_far_models_are_behind),
		TAP(thousands_are_separated_as_the_locale_says),
		{ 0 }
	};

	return tap_main(tests, argc, argv);
}
