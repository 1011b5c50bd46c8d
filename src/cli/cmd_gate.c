/* SPDX-License-Identifier: MIT */
/*
 * `anyperf gate`: the counts of a command against those of a baseline, with an exit status for CI.  It counts as
 * `anyperf stat` does (stat_run.c); the file, the limits and the verdict are profile/gate/gate.h's.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/evlist.h"
#include "cli/gate_profile.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/outfile.h"
#include "cli/stat.h"
#include "cli/stat_count.h"
#include "cli/version.h"
#include "linux/run/run.h"
#include "print/print.h"
#include "profile/data/origin.h"
#include "profile/gate/gate.h"

#define DEFAULT_EVENTS "instructions,branches,loads,stores"
#define FUNCTIONS      10
#define SAMPLES                                                                                    \
	8000 /* about so many of a run, for functions: a ring buffer has room for twice as many */
#define EXIT_EXCEEDED 1
#define SUMMARY_VAR   "GITHUB_STEP_SUMMARY"

struct gate_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_evlist events;
	struct ap_stat_count_options count;
	struct ap_gate_limits limits;
	const char *machine; /* as it was typed */
	const char *baseline, *json, *markdown, *summary_path;
	unsigned int repeat, functions;
	bool record, not_deterministic, ignore_status, any_command, summary;
};

static int opt_events(void *args, const char *value, char *why)
{
	struct gate_args *a = args;

	return ap_evlist_parse(&a->events, value, why, AP_OPT_WHY);
}

static int opt_max(void *args, const char *value, char *why)
{
	struct gate_args *a = args;

	return ap_gate_limits_add(&a->limits, value, why);
}

static int opt_machine(void *args, const char *value, char *why)
{
	struct gate_args *a = args;

	a->machine = value;
	return ap_engine_opt_machine(args, value, why);
}

static int opt_functions(void *args, const char *value, char *why)
{
	struct gate_args *a = args;
	unsigned long n = value ? 0 : FUNCTIONS;
	char *end;

	if (value && value[0] >= '0' && value[0] <= '9') {
		n = strtoul(value, &end, 10);
		if (*end || n > 1000000)
			n = 0;
	}
	if (!n) {
		snprintf(why, AP_OPT_WHY, "needs a number from 1 to 1000000, or none");
		return -EINVAL;
	}
	a->functions = (unsigned int)n;
	return 0;
}

static int opt_repeat(void *args, const char *value, char *why)
{
	struct gate_args *a = args;
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < 1 || n > 1000000) {
		snprintf(why, AP_OPT_WHY, "needs a number from 1 to 1000000");
		return -EINVAL;
	}
	a->repeat = (unsigned int)n;
	return 0;
}

#define OPT_ARGS struct gate_args

/* clang-format off */
static const struct ap_opt gate_opts[] = {
	GROUP("Limits"),
	STR('b', "baseline", baseline, "file", "the counts to hold against; 'gate record' writes it"),
	CALL('m', "max", opt_max, "limits", "event=limit,...: +0.5%, +1000, 0 (no change), -1% (must improve)"),
	{ 0, "functions", AP_OPT_MAYBE, 0, opt_functions, "n", "name the functions that changed most (10); with record: prepare for it", false },
	FLAG(0, "any-command", any_command, "compare with a baseline that is of another command, too"),
	GROUP("What is counted"),
	CALL('e', "event", opt_events, "event", "with record: events to count (default " DEFAULT_EVENTS ")"),
	FLAG('i', "no-inherit", run.no_inherit, "count the first process only, not its children"),
	GROUP("The run"),
	CALL('r', "repeat", opt_repeat, "n", "repeat the command, and take the means"),
	FLAG(0, "ignore-status", ignore_status, "a command that ends with another status than 0 counts too"),
	CALL(0, "env", ap_engine_opt_env, "name=value", "set this in the command's environment, not in ours"),
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the command after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the command"),
	GROUP("Output"),
	STR(0, "json", json, "file", "write the verdict as JSON (-: to standard output)"),
	STR(0, "markdown", markdown, "file", "write the verdict as Markdown (-: to standard output)"),
	FLAG(0, "github-summary", summary, "add the Markdown to the file that $" SUMMARY_VAR " names"),
	GROUP("Engine and models"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	CODE_CACHE,
	DETERMINISTIC,
	FLAG(0, "no-deterministic", not_deterministic, "random addresses and bytes, as programs have them"),
	FIRST(0, "machine", opt_machine, "name", "model this machine (default: the baseline's); see 'anyperf help stat'"),
	FLAG(0, "model-thread", run.model_thread, "have idle CPUs read the models' logs, with a helper for each thread"),
	{ 0 }
};

const struct ap_opt_spec ap_spec_gate = {
	"anyperf gate", "[record] --baseline <file> [options] [--] command [args]", gate_opts,
	{ { "record --baseline perf.json -- ./bench", "write down what the command counts now" },
	  { "--baseline perf.json --max instructions=+0.5% -- ./bench", "fail when it grows by more than half a percent" } },
};
/* clang-format on */

static int usage(const char *text)
{
	(void)ap_opts_wrong(&ap_spec_gate, text, NULL);
	return -1;
}

/* One line that says why nothing was decided. */
static int fail(const char *what, const char *why)
{
	ap_print(stderr, "anyperf gate: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	return AP_EXIT_FAILURE;
}

/* --- measuring */

static int add_row(struct ap_gate_counts *g, const struct ap_stat_row *row)
{
	char kind[32];
	struct ap_gate_event event = { .name = row->sel->name, .kind = kind };

	snprintf(kind, sizeof(kind), "%s", ap_stat_row_tag(row));
	if (ap_stat_row_state(row) != AP_STAT_COUNTED) {
		ap_print(stderr, "anyperf gate: %s cannot be counted: %s\n", row->sel->name,
			 ap_stat_row_why(row));
		return -EINVAL;
	}
	event.deviation = ap_agg_stddev_pct(&row->agg);
	/* the last is exact above 2^53, and the mean of equals */
	event.count = row->agg.m2 > 0 ? (u64)(row->agg.mean + 0.5) : row->agg.last;
	if (ap_gate_find(g, event.name)) {
		ap_print(stderr, "anyperf gate: %s is asked for twice\n", event.name);
		return -EINVAL;
	}
	if (ap_gate_add_event(g, &event))
		ap_die("out of memory");
	return 0;
}

static void add_note(struct ap_gate_counts *g, const char *text)
{
	if (ap_gate_add_note(g, text))
		ap_die("out of memory");
}

static void describe(const struct gate_args *args, const struct ap_stat *st,
		     struct ap_gate_counts *g)
{
	char name[64], cpu[512];
	u64 id = ap_run_machine_id(&args->run, name, sizeof(name));

	g->version = ap_xstrdup(ap_version);
	g->command = ap_xstrndup(st->title + 1, strlen(st->title) - 2); /* without its quotes */
	g->machine = ap_xstrdup(args->machine ? args->machine : name);
	g->machine_id = ap_xasprintf("%016" PRIx64, id);
	g->cpu = ap_xstrdup(ap_origin_cpu(cpu, sizeof(cpu)) ? cpu : "unknown");
	g->deterministic = args->run.deterministic;
	g->fixed_tsc = args->run.fixed_tsc;
	g->runs = st->runs;
}

/* Without numbers in them: the same lines are to be the same texts in each run. */
static int take(const struct gate_args *args, const struct ap_stat *st, struct ap_gate_counts *g)
{
	describe(args, st, g);
	for (size_t i = 0; i < st->nrows; i++)
		if (add_row(g, &st->row[i]))
			return AP_EXIT_FAILURE;
	for (size_t i = 0; i < st->nnotes; i++)
		add_note(g, st->note[i].text);
	if (st->tasks_running)
		add_note(g, "not counted: what ran on after the command's end (see --wait-all)");
	if (st->tasks_short)
		add_note(g, "not counted: the last instructions of tasks that were killed");
	return 0;
}

static int check_status(const struct gate_args *args, const struct ap_stat_runs *runs)
{
	const char *so = args->record ? "no baseline was written" : "nothing was decided";

	if (runs->timed_out) {
		ap_print(stderr, "anyperf gate: the command ran longer than --timeout %u ms, %s\n",
			 args->run.timeout_ms, so);
		return AP_EXIT_FAILURE;
	}
	if (!runs->status || (args->ignore_status && !runs->signal))
		return 0;
	if (runs->signal)
		return fail("the command was ended by a signal", so);
	ap_print(stderr,
		 "anyperf gate: the command failed with status %d, %s (--ignore-status counts it "
		 "all the same)\n",
		 runs->status, so);
	return AP_EXIT_FAILURE;
}

/* 0 and what was counted in *g, or an exit status. */
static int measure(struct gate_args *args, struct ap_gate_counts *g)
{
	struct ap_stat_runs runs = { .repeat = args->repeat,
				     .until_failure = !args->ignore_status };
	struct ap_run_client client;
	struct ap_stat st;
	struct ap_stat_count c = { .opts = &args->count, .run = &args->run, .st = &st };
	int ret;

	args->count.events = &args->events;
	args->count.no_inherit = args->run.no_inherit;
	args->run.client = &client;
	ap_stat_choose_instruments(&args->run, &args->events);
	ap_stat_init(&st, &args->events, ap_stat_command_title(args->run.argv));
	ap_stat_count_init(&c, &client);
	ret = ap_stat_run(&c, &runs);
	if (!ret)
		ret = check_status(args, &runs);
	if (!ret)
		ret = take(args, &st, g);
	ap_stat_count_fini(&c);
	ap_stat_fini(&st);
	return ret;
}

/* --- what comes out of it */

typedef int write_fn(const void *what, FILE *out);

static int write_baseline(const void *what, FILE *out)
{
	return ap_gate_write(what, out);
}

static int write_json(const void *what, FILE *out)
{
	return ap_gate_write_json(what, out);
}

static int write_markdown(const void *what, FILE *out)
{
	ap_gate_print_markdown(what, out);
	return 0;
}

static int write_undecided(const void *what, FILE *out)
{
	return ap_gate_write_undecided(*(const int *)what, out);
}

static int write_undecided_markdown(const void *what, FILE *out)
{
	fprintf(out, "### Performance gate: nothing was decided (exit status %d)\n",
		*(const int *)what);
	return 0;
}

static int write_table(const void *what, FILE *out)
{
	ap_gate_print(what, out);
	return 0;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Puts it together, and then where it belongs: path NULL: standard error; -: standard output. */
static int put(write_fn *write, const void *what, const char *path, bool append)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (!out)
		ap_die("out of memory");
	ret = write(what, out);
	if (fclose(out) || (ret && ret != -ERANGE))
		ap_die("out of memory");
	if (ret)
		ap_die("a count is above 2^63 - 1: a baseline cannot hold it");
	if (!path)
		ret = ap_outfile_print(stderr, text, size, stderr);
	else if (is_stdout(path))
		ret = ap_outfile_print(stdout, text, size, stderr);
	else if (append)
		ret = ap_outfile_append(path, text, size, stderr);
	else
		ret = ap_outfile_write(path, text, size, stderr);
	free(text);
	return ret;
}

static int profile(const struct gate_args *args, struct ap_gate_counts *g)
{
	const struct ap_gate_command command = { .argv = args->run.argv,
						 .env = args->run.env,
						 .nenv = args->run.nenv,
						 .deterministic = args->run.deterministic,
						 .fixed_tsc = args->run.fixed_tsc,
						 .no_inherit = args->run.no_inherit,
						 .wait_all = args->run.wait_all,
						 .ignore_status = args->ignore_status };

	return ap_gate_profile(&command, g);
}

static int record(struct gate_args *args)
{
	struct ap_gate_counts now = { 0 };
	const struct ap_gate_event *instructions;
	int ret = measure(args, &now);

	if (!ret && args->functions) {
		instructions = ap_gate_find(&now, "instructions");
		now.period = instructions ? instructions->count / SAMPLES + 1 : 100003;
		ret = profile(args, &now);
	}
	if (!ret && put(write_baseline, &now, args->baseline, false))
		ret = AP_EXIT_FAILURE;
	if (!ret)
		ap_gate_print_counts(&now, args->baseline, stderr);
	ap_gate_counts_fini(&now);
	return ret;
}

static int publish(const struct gate_args *args, const struct ap_gate_result *result)
{
	int ret = put(write_table, result, NULL, false);

	if (args->json && put(write_json, result, args->json, false))
		ret = -EIO;
	if (args->markdown && put(write_markdown, result, args->markdown, false))
		ret = -EIO;
	if (args->summary_path && put(write_markdown, result, args->summary_path, true))
		ret = -EIO;
	if (ret)
		return AP_EXIT_FAILURE;
	return result->exceeded ? EXIT_EXCEEDED : 0;
}

/* So that nobody takes the verdict of a run before this one for this one's. */
static int publish_undecided(const struct gate_args *args, int status)
{
	if (args->json)
		(void)!put(write_undecided, &status, args->json, false);
	if (args->markdown)
		(void)!put(write_undecided_markdown, &status, args->markdown, false);
	if (args->summary_path)
		(void)!put(write_undecided_markdown, &status, args->summary_path, true);
	return status;
}

/* The counts of another command say nothing of this one. */
static int check_command(const struct gate_args *args, const struct ap_gate_counts *before)
{
	char *title, *why;
	int ret = 0;

	if (args->any_command)
		return 0;
	title = ap_stat_command_title(args->run.argv);
	if (strlen(title) != strlen(before->command) + 2 ||
	    strncmp(title + 1, before->command, strlen(before->command)) != 0) {
		why = ap_xasprintf(
			"it is of another command, '%s'; --any-command compares all the same",
			before->command);
		ret = fail(args->baseline, why);
		free(why);
	}
	free(title);
	return ret;
}

/* A limit of what the baseline lacks may be misspelt, and no event at all. */
static int check_limits(const struct gate_args *args, const struct ap_gate_counts *before)
{
	char why[AP_GATE_WHY], unknown[AP_OPT_WHY];

	for (size_t i = 0; i < args->limits.n; i++) {
		const char *name = args->limits.limit[i].event;
		struct ap_evlist list = { 0 };
		int ret;

		if (ap_gate_find(before, name))
			continue;
		ret = ap_evlist_parse(&list, name, unknown, sizeof(unknown));
		ap_evlist_fini(&list);
		if (ret) {
			fail("--max", unknown);
			return AP_EXIT_USAGE;
		}
	}
	return ap_gate_check(before, &args->limits, why) ? fail(args->baseline, why) : 0;
}

/* Counts what the baseline has, on the machine that it has. */
static int prepare(struct gate_args *args, const struct ap_gate_counts *before)
{
	char why[AP_GATE_WHY];
	int ret = check_limits(args, before);

	if (ret)
		return ret;
	if (!args->machine && ap_gate_has_modelled(before)) {
		args->machine = before->machine;
		if (ap_engine_opt_machine(args, before->machine, why))
			return fail("--machine of the baseline", why);
	}
	for (size_t i = 0; i < before->nevents; i++)
		if (ap_evlist_parse(&args->events, before->event[i].name, why, sizeof(why)))
			return fail(args->baseline, why);
	if (args->events.n != before->nevents)
		return fail(args->baseline, "damaged: it has an event without a name of its own");
	if (args->functions && !before->period)
		return fail(args->baseline,
			    "it has no functions: 'gate record --functions' adds them");
	return check_command(args, before);
}

/* Which functions it is in, if that was asked. */
static int attribute(const struct gate_args *args, struct ap_gate_result *result,
		     struct ap_gate_counts *now)
{
	int ret;

	if (!args->functions)
		return 0;
	now->period = result->before->period;
	ret = profile(args, now);
	if (!ret && ap_gate_compare_functions(result, args->functions))
		ap_die("out of memory");
	return ret;
}

static int check(struct gate_args *args)
{
	struct ap_gate_counts before, now = { 0 };
	struct ap_gate_result result = { 0 };
	char why[AP_GATE_WHY];
	int ret;

	ret = ap_gate_read(&before, args->baseline, why);
	if (ret == -ENOENT)
		ret = fail(args->baseline,
			   "No such file or directory ('anyperf gate record' makes one)");
	else if (ret)
		ret = fail(args->baseline, why);
	if (!ret)
		ret = prepare(args, &before);
	if (!ret)
		ret = measure(args, &now);
	if (!ret && ap_gate_compare(&result, &before, &now, &args->limits, why))
		ret = fail("not comparable", why);
	else if (!ret)
		ret = attribute(args, &result, &now);
	ret = ret ? publish_undecided(args, ret) : publish(args, &result);
	ap_gate_result_fini(&result);
	ap_gate_counts_fini(&now);
	ap_gate_counts_fini(&before);
	return ret;
}

/* --- what was asked for */

static int check_options(struct gate_args *args)
{
	bool reports = args->json || args->markdown || args->summary;

	/* options end where the command begins, and a mistyped "record" is a command */
	if (!args->baseline && args->run.argv)
		return ap_opts_wrong(&ap_spec_gate, "needs --baseline before the command",
				     args->run.argv[0]),
		       -1;
	if (!args->baseline)
		return usage("needs --baseline");
	if (is_stdout(args->baseline))
		return usage("--baseline needs the name of a file");
	if (is_stdout(args->json) && is_stdout(args->markdown))
		return usage("one of --json and --markdown may be -");
	if (!args->run.argv)
		return usage("no command to count");
	if (args->record && (args->limits.n || reports))
		return usage("--max, --json, --markdown and --github-summary are not for record");
	if (!args->record && args->events.n)
		return usage("-e is for record: the baseline says what is counted");
	if (!args->record && !args->limits.n)
		return usage("needs --max, such as --max instructions=+0.5%");
	return 0;
}

static int check_files(struct gate_args *args)
{
	if (args->record && ap_outfile_check(args->baseline, 0, stderr))
		return -1;
	if (args->summary) {
		args->summary_path = secure_getenv(SUMMARY_VAR);
		if (!args->summary_path || !*args->summary_path) {
			fail("--github-summary", "$" SUMMARY_VAR " names no file");
			return -1;
		}
		if (ap_outfile_check(args->summary_path, AP_OUT_APPEND, stderr))
			return -1;
	}
	if (args->json && !is_stdout(args->json) && ap_outfile_check(args->json, 0, stderr))
		return -1;
	if (args->markdown && !is_stdout(args->markdown))
		return ap_outfile_check(args->markdown, 0, stderr);
	return 0;
}

/* Fills args; returns 0 when there is something to run, else sets *status. */
static int parse(struct gate_args *args, int argc, char **argv, int *status)
{
	char why[AP_OPT_WHY];
	int rest;

	args->record = argc > 1 && !strcmp(argv[1], "record");
	argc -= args->record;
	argv += args->record;
	if (!ap_opts_begin(&ap_spec_gate, args, argc, argv, &rest, status))
		return -1;
	*status = AP_EXIT_USAGE;
	args->run.argv = rest < argc ? argv + rest : NULL;
	args->run.deterministic = !args->not_deterministic;
	args->run.fixed_tsc &= args->run.deterministic;
	if (check_options(args))
		return -1;
	if (args->record && !args->events.n &&
	    ap_evlist_parse(&args->events, DEFAULT_EVENTS, why, sizeof(why)))
		ap_die("%s", why);
	*status = AP_EXIT_FAILURE;
	return check_files(args);
}

int ap_cmd_gate(int argc, char **argv)
{
	struct gate_args args = { .run = { .err = stderr, .perf = { .paranoid = 2 } },
				  .repeat = 1 };
	int status;

	if (!parse(&args, argc, argv, &status))
		status = args.record ? record(&args) : check(&args);
	ap_gate_limits_fini(&args.limits);
	ap_evlist_fini(&args.events);
	return status;
}
