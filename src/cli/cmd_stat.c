/* SPDX-License-Identifier: MIT */
/*
 * `anyperf stat`: options, the runs, and where the report goes.  Counting is stat_count.c's, what the
 * numbers look like stat_print.c's, stat_csv.c's and stat_json.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cgroups.h"
#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/evfilter.h"
#include "cli/evlist.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/outfile.h"
#include "cli/stat.h"
#include "cli/stat_count.h"
#include "cli/stat_metrics.h"
#include "cli/stat_record.h"
#include "cli/stat_regions.h"
#include "cli/targets.h"
#include "linux/run/run.h"
#include "print/print.h"

/* As perf's; and without what models say, for which a program runs many times longer. */
#define DEFAULT_EVENTS                                                                             \
	"task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branches,"     \
	"branch-misses"
#define EXACT_EVENTS "task-clock,context-switches,cpu-migrations,page-faults,instructions,branches"

/* What -d adds, -d -d, -d -d -d: as perf. */
static const char *const detail_events[] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

struct stat_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_evlist events;
	size_t newest; /* the first event of the last -e */
	struct ap_stat_format format;
	struct ap_stat_count_options count;
	struct ap_targets targets;
	struct ap_stat_metrics metrics;
	struct ap_stat_regions regions;
	const char *metric_names, *metric_file;
	unsigned int topdown_level;
	bool topdown;
	s32 *cpus;
	const char *cpu_list, *pids, *tids; /* as they were typed, for the title */
	const char *control;
	const char *cgroups, *for_each_cgroup;
	const char *output;
	const char *recording; /* stat record: the perf.data, which is what -o is then */
	char *const *argv;     /* the command line */
	unsigned int repeat;
	unsigned int detail;  /* -d so many times */
	unsigned int nsplits; /* how many of -A, --per-core ... */
	int log_fd;	      /* -1: none */
	FILE *log;	      /* of that, else standard error */
	bool big_num, taken;  /* of no effect: it is so */
	bool no_big_num, no_scale, grouped, all_user, all_kernel, clear, no_csv_summary, table;
	bool null_run, append, all_cpus, no_aggr, per_thread, json, sync, exact;
	bool per_core, per_die, per_socket, per_node;
	const char *pre, *post;
};

static int opt_events(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	a->newest = a->events.n;
	return ap_evlist_parse(&a->events, value, why, AP_OPT_WHY);
}

static int opt_filter(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	return ap_evlist_filter(&a->events, a->newest, value, why);
}

static int number(const char *value, long min, long max, long *n, char *why)
{
	char *end;

	errno = 0;
	*n = strtol(value, &end, 10);
	if (!errno && end != value && !*end && *n >= min && *n <= max)
		return 0;
	snprintf(why, AP_OPT_WHY, "needs a number from %ld to %ld", min, max);
	return -EINVAL;
}

static int opt_repeat(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
	long n = 0;
	int ret = number(value, 0, 1000000, &n, why);

	a->repeat = (unsigned int)n;
	return ret;
}

static int opt_separator(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	(void)why;
	a->format.style = AP_STAT_CSV;
	a->format.separator = strcmp(value, "\\t") ? value : "\t";
	return 0;
}

static int opt_detail(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	(void)value;
	(void)why;
	a->detail++;
	return 0;
}

static int opt_delay(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
	long n = 0;
	int ret = number(value, -1, INT_MAX, &n, why);

	if (ret)
		snprintf(why, AP_OPT_WHY, "needs milliseconds, or -1 to begin disabled");
	a->count.delay_ms = n;
	return ret;
}

static int opt_interval(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
	long n = 0;
	int ret = number(value, 1, INT_MAX, &n, why);

	a->count.interval_ms = (u32)n;
	return ret;
}

static int opt_interval_count(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
	long n = 0;
	int ret = number(value, 1, INT_MAX, &n, why);

	a->count.interval_count = (u32)n;
	return ret;
}

static int opt_pid(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	a->pids = value;
	return ap_targets_add(&a->targets, value, false, why, AP_OPT_WHY);
}

static int opt_tid(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	a->tids = value;
	return ap_targets_add(&a->targets, value, true, why, AP_OPT_WHY);
}

static int opt_cpus(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	free(a->cpus);
	a->cpu_list = value;
	return ap_cpus_parse(value, &a->cpus, &a->count.ncpus, why, AP_OPT_WHY);
}

static int opt_log_fd(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
	long n = 0;
	int ret = number(value, 0, INT_MAX, &n, why);

	if (ret)
		return ret;
	a->log_fd = (int)n;
	ret = fcntl(a->log_fd, F_GETFL);
	if (ret >= 0 && (ret & O_ACCMODE) != O_RDONLY)
		return 0;
	snprintf(why, AP_OPT_WHY, "descriptor %ld is not open for writing", n);
	return -EINVAL;
}

#define REFUSAL(name, reason)                                                                      \
	static int opt_##name(void *args, const char *value, char *why)                            \
	{                                                                                          \
		(void)args;                                                                        \
		(void)value;                                                                       \
		snprintf(why, AP_OPT_WHY, "%s", reason);                                           \
		return -EINVAL;                                                                    \
	}

REFUSAL(transaction, "transactional memory always takes its fallback path under the engine")
REFUSAL(cputype, "CPUs of several types are one PMU here, 'cpu'")
REFUSAL(iostat, "devices are not counted")
REFUSAL(smi_cost, "what firmware does is not seen from user mode")
REFUSAL(percore_thread, "an event of a CPU is never of its whole core: --per-core adds them up")

#define OPT_ARGS struct stat_args

/* clang-format off */
static const struct ap_opt stat_opts[] = {
	GROUP("Events"),
	CALL('e', "event", opt_events, "event", "events to count, separated by commas, {} around groups; see 'anyperf list'"),
	FLAG(0, "exact", exact, "without -e: the default table without cycles and branch-misses, which are modelled and take time"),
	CALL('d', "detailed", opt_detail, NULL, "count caches as well; twice: TLBs and code, three times: prefetches"),
	STR('M', "metrics", metric_names, "metric", "compute these metrics, or groups of them, and count what they need; see 'anyperf list metrics'"),
	STR(0, "metric-file", metric_file, "file", "read more metrics"),
	FLAG(0, "topdown", topdown, "show what became of the slots of the modelled machine"),
	{ 0, "td-level", AP_OPT_UINT, offsetof(struct stat_args, topdown_level), NULL, "n", "with --topdown: in 1 or 2 levels of detail (default 1)", false },
	FLAG('g', "group", grouped, "all events are one group"),
	CALL(0, "filter", opt_filter, "expression", "of the tracepoints of the -e before it only what matches"),
	FLAG(0, "all-user", all_user, "user mode only: as :u behind each event"),
	FLAG(0, "all-kernel", all_kernel, "kernel mode only, which is not counted"),
	FLAG('n', "null", null_run, "count nothing but what -e asks for, only measure times"),
	GROUP("What is counted"),
	CALL('p', "pid", opt_pid, "pid", "count running processes, until the command ends or they do"),
	CALL('t', "tid", opt_tid, "tid", "count running threads"),
	FLAG('a', "all-cpus", all_cpus, "count by CPUs what the command makes (one number: their sum)"),
	CALL('C', "cpu", opt_cpus, "cpus", "the same as -a on these CPUs: 0-2,5"),
	STR('G', "cgroup", cgroups, "names", "with -a or -C: the cgroup of each event, or one for all"),
	STR(0, "for-each-cgroup", for_each_cgroup, "names", "with -a or -C: all events, for each of these cgroups"),
	FLAG('i', "no-inherit", run.no_inherit, "count the first process only, not its children"),
	GROUP("The run"),
	CALL('r', "repeat", opt_repeat, "n", "repeat the command, print means and deviations; 0: for ever, each run by itself"),
	STR(0, "pre", pre, "command", "run this in a shell before each run"),
	STR(0, "post", post, "command", "run this in a shell after each run"),
	FLAG('S', "sync", sync, "call sync(2) before each run"),
	CALL('D', "delay", opt_delay, "ms", "begin to count after so many milliseconds; -1: when --control says so"),
	{ 0, "control", AP_OPT_STR, offsetof(struct stat_args, control), NULL, "fd:ctl[,ack]", "take commands (enable, disable, ...); or fifo:ctl[,ack]", false },
	CALL(0, "env", ap_engine_opt_env, "name=value", "set this in the command's environment, not in ours"),
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the command after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the command"),
	GROUP("Rows"),
	FLAG('A', "no-aggr", no_aggr, "with -a or -C: a row for each CPU"),
	FLAG(0, "per-core", per_core, "with -a or -C: a row for each core"),
	FLAG(0, "per-socket", per_socket, "with -a or -C: a row for each socket"),
	FLAG(0, "per-die", per_die, "with -a or -C: a row for each die"),
	FLAG(0, "per-node", per_node, "with -a or -C: a row for each NUMA node"),
	FLAG(0, "per-thread", per_thread, "a row for each thread of the command, or of -p and -t"),
	FLAG(0, "no-scale", no_scale, "what counted a part of the time is shown as it was read"),
	GROUP("Output"),
	{ 'o', "output", AP_OPT_STR, offsetof(struct stat_args, output), NULL, "file", "write the report to this file", false },
	FLAG(0, "append", append, "with -o: add to the file"),
	CALL(0, "log-fd", opt_log_fd, "n", "write the report to this descriptor"),
	CALL('x', "field-separator", opt_separator, "sep", "print fields with this separator (CSV)"),
	FLAG('j', "json-output", json, "print lines of JSON"),
	CALL('I', "interval-print", opt_interval, "ms", "print what was counted since the last time"),
	CALL(0, "interval-count", opt_interval_count, "n", "with -I: end after so many"),
	FLAG(0, "interval-clear", clear, "with -I: clear the screen before each"),
	FLAG(0, "summary", count.has_summary, "with -I: at the end a report of all"),
	FLAG(0, "regions", regions.are_wanted, "a table of the regions that the program names (anyperf/region.h, callgrind's macros)"),
	FLAG(0, "table", table, "with -r: the time of each run"),
	FLAG(0, "metric-only", metrics.only, "show metrics side by side, and no counts"),
	FLAG('B', "big-num", big_num, "group digits as the locale does (the default)"),
	FLAG(0, "no-big-num", no_big_num, "do not group digits"),
	FLAG(0, "no-csv-summary", no_csv_summary, "do not put 'summary' before the lines of --summary -x"),
	FLAG(0, "quiet", count.is_quiet, "print no report"),
	FLAG('v', "verbose", format.verbose, "say why events are not supported"),
	GROUP("Engine and models"),
	FLAG(0, "client-requests", run.client_requests, "answer valgrind's client requests, and those of anyperf/region.h"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	CODE_CACHE,
	CPU_ID,
	DETERMINISTIC,
	FIRST(0, "machine", ap_engine_opt_machine, "name", "model skylake, icelake, sapphirerapids, zen3, zen4, cachegrind, host or a file's"),
	CALL(0, "model-sample", ap_engine_opt_model_sample, "n", "have the models see one part in n of the run, and estimate the rest (default 24; with --deterministic 1)"),
	FLAG(0, "model-thread", run.model_thread, "have idle CPUs read the models' logs, with a helper for each thread"),
	AP_TEST_OPTIONS
	/* no two PMUs have events of one name, metrics share what they need and make no groups */
	TAKEN_FLAG(0, "scale"),
	TAKEN_FLAG(0, "no-merge"),
	TAKEN_FLAG(0, "hybrid-merge"),
	TAKEN_FLAG(0, "metric-no-group"),
	TAKEN_FLAG(0, "metric-no-merge"),
	{ 'T', "transaction", AP_OPT_CALL, 0, opt_transaction, NULL, "refused: says why", true },
	{ 0, "cputype", AP_OPT_CALL, 0, opt_cputype, "type", "refused: says why", true },
	{ 0, "iostat", AP_OPT_MAYBE, 0, opt_iostat, "what", "refused: says why", true },
	{ 0, "smi-cost", AP_OPT_CALL, 0, opt_smi_cost, NULL, "refused: says why", true },
	{ 0, "percore-show-thread", AP_OPT_CALL, 0, opt_percore_thread, NULL, "refused: says why", true },
	{ 0 }
};

const struct ap_opt_spec ap_spec_stat = {
	"anyperf stat", "[record] [options] [--] command [args]", stat_opts,
	{ { "-- make", "count what make and all that it starts execute" },
	  { "-r 5 -e instructions,branches -- ./bench", "five runs, their means and deviations" } },
};
/* clang-format on */

/* --- the report */

/* Text that is going to be written in one piece, or not at all. */
struct stat_text {
	char *text;
	size_t size;
	FILE *out;
};

static FILE *text_begin(struct stat_text *t)
{
	*t = (struct stat_text){ 0 };
	t->out = open_memstream(&t->text, &t->size);
	if (!t->out)
		ap_die("out of memory");
	return t->out;
}

static void text_end(struct stat_text *t)
{
	if (fclose(t->out))
		ap_die("out of memory");
}

/* What -I has printed so far: to a file it goes in one piece, with the rest. */
struct shown {
	const struct stat_args *args;
	struct stat_text kept;
	struct ap_stat_recorder *recorder; /* NULL: not `stat record` */
	bool has_failed;
};

static void show_interval(struct ap_stat_count *c, u64 ns, unsigned int nth)
{
	struct shown *shown = c->arg;
	const struct stat_args *args = shown->args;
	struct stat_text part;
	FILE *out;

	if (shown->recorder)
		ap_stat_recorder_round(shown->recorder, c, ns, c->is_last);
	if (args->count.is_quiet)
		return;
	if (args->output) {
		ap_stat_print_interval(c->st, &args->format, ns, nth, shown->kept.out);
		return;
	}
	out = text_begin(&part);
	if (args->clear)
		fputs("\033[H\033[2J", out);
	/* what is cleared has its head again */
	ap_stat_print_interval(c->st, &args->format, ns,
			       args->clear && args->format.style == AP_STAT_TABLE ? 0 : nth, out);
	text_end(&part);
	if (!shown->has_failed)
		shown->has_failed = ap_outfile_print(args->log, part.text, part.size, stderr);
	free(part.text);
}

static void print_report(const struct stat_args *args, const struct ap_stat *st, FILE *out)
{
	if (args->count.interval_ms && !args->count.has_summary)
		ap_stat_print_notes(st, &args->format, out);
	else
		ap_stat_print(st, &args->format, out);
	ap_stat_regions_print(&args->regions, &args->format, out);
}

/* One of endless runs. */
static bool show_run(struct ap_stat_count *c)
{
	struct shown *shown = c->arg;
	const struct stat_args *args = shown->args;
	struct stat_text part;

	if (args->count.is_quiet || args->count.interval_ms)
		return true;
	if (args->output) {
		print_report(args, c->st, shown->kept.out);
	} else {
		print_report(args, c->st, text_begin(&part));
		text_end(&part);
		if (!shown->has_failed)
			shown->has_failed =
				ap_outfile_print(args->log, part.text, part.size, stderr);
		free(part.text);
	}
	ap_stat_restart(c->st);
	c->st->tasks_short = 0;
	c->st->short_by = 0;
	return !shown->has_failed;
}

static int report(const struct stat_args *args, const struct ap_stat *st, struct shown *shown)
{
	struct stat_text text;
	time_t now = time(NULL);
	FILE *out;
	int ret;

	if (args->count.is_quiet)
		return 0;
	out = text_begin(&text);
	if (args->output && args->format.style != AP_STAT_JSON)
		ap_print(out, "# started on %.24s\n\n", ctime(&now)); /* without its own line end */
	fwrite(shown->kept.text, 1, shown->kept.size, out);	      /* raw: was printed */
	if (args->repeat)
		print_report(args, st, out);
	text_end(&text);
	if (!args->output)
		ret = shown->has_failed ? -EIO
					: ap_outfile_print(args->log, text.text, text.size, stderr);
	else if (args->append)
		ret = ap_outfile_append(args->output, text.text, text.size, stderr);
	else
		ret = ap_outfile_write(args->output, text.text, text.size, stderr);
	free(text.text);
	return ret;
}

/* --- measuring */

static char *title_of(const struct stat_args *args)
{
	if (args->pids || args->tids)
		return ap_xasprintf("%s id '%s'", args->pids ? "process" : "thread",
				    args->pids ? args->pids : args->tids);
	if (args->cpu_list)
		return ap_xasprintf("'CPU(s) %s'", args->cpu_list);
	if (args->all_cpus)
		return ap_xstrdup("'system wide' (what the command makes)");
	return ap_stat_command_title(args->run.argv);
}

/* The rest of the file, after the run. */
static int finish_recording(struct shown *shown, const struct ap_stat_count *c)
{
	if (!shown->recorder)
		return 0;
	if (!c->opts->interval_ms)
		ap_stat_recorder_round(shown->recorder, c, c->last_ns - c->zero_ns, true);
	return ap_stat_recorder_finish(shown->recorder, c);
}

static int count(struct stat_args *args, struct ap_stat *st, struct ap_control *control)
{
	struct shown shown = { .args = args };
	struct ap_stat_count c = { .opts = &args->count,
				   .run = &args->run,
				   .st = st,
				   .control = control,
				   .interval = show_interval,
				   .arg = &shown };
	struct ap_stat_runs runs = { .repeat = args->repeat,
				     .sync = args->sync,
				     .pre = args->pre,
				     .post = args->post,
				     .show = args->repeat ? NULL : show_run };
	struct ap_run_client client;
	int ret;

	ap_stat_count_init(&c, &client);
	args->run.client = &client;
	if (args->count.interval_ms && args->run.model_sample > 1)
		ap_stat_set_estimated(st, args->run.model_sample);
	if (args->recording)
		shown.recorder = ap_stat_recorder_new(args->recording, args->argv);
	text_begin(&shown.kept);
	ret = ap_stat_run(&c, &runs);
	text_end(&shown.kept);
	if (!ret) {
		int failed = report(args, st, &shown);

		if (finish_recording(&shown, &c) || failed || runs.post_failed ||
		    (!runs.status && ap_stat_regions_are_wrong(&args->regions)))
			ret = AP_EXIT_FAILURE;
		else
			ret = runs.status;
	}
	free(shown.kept.text);
	ap_stat_recorder_free(shown.recorder);
	ap_stat_count_fini(&c);
	return ret;
}

static int measure(struct stat_args *args)
{
	struct ap_control control;
	char why[AP_OPT_WHY];
	struct ap_stat st;
	int ret;

	if (args->control && ap_control_open(&control, args->control, why)) {
		ap_print(stderr, "anyperf: --control: %s\n", why);
		return AP_EXIT_USAGE;
	}
	if (args->format.style == AP_STAT_TABLE && !args->no_big_num)
		ap_stat_group_digits();
	ap_stat_choose_instruments(&args->run, &args->events);
	if (args->run.client_requests)
		args->run.no_engine = false;
	/* the kernel does not tell what each thread of a tree has counted */
	if (args->per_thread && !args->run.ntargets && args->events.n) {
		args->run.perf.is_wanted = true;
		args->run.no_engine = false;
	}
	ap_stat_init(&st, &args->events, title_of(args));
	st.has_engine = !args->run.no_engine;
	st.regions = args->regions.are_wanted ? &args->regions : NULL;
	st.metrics = args->metrics.n || args->metrics.only ? &args->metrics : NULL;
	if (args->metrics.only && !ap_stat_has_columns(&st))
		ap_stat_add_note(&st, "no metric is made of these events (-M chooses metrics)");
	st.is_unscaled = args->no_scale;
	st.has_table = args->table;
	st.of_intervals = args->count.interval_ms != 0;
	st.has_times = !args->run.ntargets && !args->count.is_of_cpus;
	ret = count(args, &st, args->control ? &control : NULL);
	ap_stat_fini(&st);
	if (args->control)
		ap_control_close(&control);
	return ret;
}

/* --- what was asked for */

static int usage(const char *text)
{
	(void)ap_opts_wrong(&ap_spec_stat, text, NULL);
	return -1;
}

static int check_output(const struct stat_args *args)
{
	if (args->clear && !args->count.interval_ms)
		return usage("--interval-clear needs -I");
	if (args->table && args->repeat < 2)
		return usage("--table needs -r");
	if (args->count.has_summary && args->count.interval_ms && args->repeat != 1)
		return usage("--summary and -r do not go together");
	if (args->log_fd >= 0 && args->output)
		return usage("-o and --log-fd do not go together");
	if (args->all_user && args->all_kernel)
		return usage("--all-user and --all-kernel do not go together");
	return 0;
}

/* Options that go together, and that do not. */
static int check(struct stat_args *args)
{
	bool by_cpu = args->all_cpus || args->cpus;

	if (args->pids && args->tids)
		return usage("-p and -t do not go together");
	if (by_cpu && args->run.ntargets) {
		fputs("anyperf: PID/TID switch overriding SYSTEM or CPU\n", stderr);
		by_cpu = args->all_cpus = false;
		args->cpu_list = NULL;
	}
	if (args->no_aggr && !by_cpu)
		return usage("-A needs -a or -C");
	if (args->nsplits && !by_cpu)
		return usage("--per-core, --per-die, --per-socket and --per-node need -a or -C");
	if (args->nsplits + args->no_aggr > 1)
		return usage(
			"rows are of one kind: -A, --per-core, --per-die, --per-socket or --per-node");
	if (args->per_thread && by_cpu)
		return usage("--per-thread does not go together with -a and -C");
	if (args->per_thread && args->count.interval_ms && !args->run.ntargets)
		return usage("--per-thread and -I go together with -p or -t only");
	if (args->per_thread && args->repeat != 1)
		return usage("--per-thread and -r do not go together");
	if (args->regions.are_wanted && args->repeat != 1)
		return usage("--regions and -r do not go together");
	if (args->run.ntargets && args->repeat != 1 && !args->run.argv)
		return usage("-r needs a command");
	if (args->count.interval_count && !args->count.interval_ms)
		return usage("--interval-count needs -I");
	if (args->null_run && (args->metric_names || args->topdown || args->metrics.only))
		return usage("-n counts nothing that a metric could be made of");
	if (args->json && args->format.separator)
		return usage("-j and -x do not go together");
	if (check_output(args))
		return -1;
	args->count.is_of_cpus = by_cpu;
	args->count.cpus = by_cpu ? args->cpus : NULL;
	return 0;
}

/* Code that is never left for the models need not count till then. */
static void choose_models(struct stat_args *args)
{
	bool is_modelled = false;

	for (size_t i = 0; i < args->events.n; i++)
		is_modelled |= (args->events.sel[i].kinds & AP_KINDS_MODEL) != 0;
	if (!args->run.model_sample && (!is_modelled || args->regions.are_wanted))
		args->run.model_sample = 1;
	ap_engine_set_models(&args->run);
}

/* Which metrics, and the events that they need. */
static int choose_metrics(struct stat_args *args, char *why, size_t size)
{
	struct ap_stat_metrics *m = &args->metrics;
	int ret = 0;

	m->run = &args->run;
	if (!args->metric_names && !args->topdown && !args->metric_file)
		return 0;
	ret = ap_metrics_builtin(&m->table, why, size);
	if (!ret && args->metric_file)
		ret = ap_metrics_file(&m->table, args->metric_file, why, size);
	if (!ret && args->topdown)
		ret = ap_stat_metrics_choose(
			m, args->topdown_level == 2 ? "TopdownL1,TopdownL2" : "TopdownL1", why,
			size);
	if (!ret && args->metric_names)
		ret = ap_stat_metrics_choose(m, args->metric_names, why, size);
	m->only |= args->topdown;
	return ret ? ret : ap_stat_metrics_events(m, &args->events, why, size);
}

static void settle(struct stat_args *args)
{
	if (args->json)
		args->format.style = AP_STAT_JSON;
	if (args->output && !strcmp(args->output, "-")) /* standard error, as in perf */
		args->output = NULL;
	args->count.events = &args->events;
	args->count.no_inherit = args->run.no_inherit;
	args->count.split = args->no_aggr      ? AP_STAT_CPUS
			    : args->per_core   ? AP_STAT_CORES
			    : args->per_die    ? AP_STAT_DIES
			    : args->per_socket ? AP_STAT_SOCKETS
			    : args->per_node   ? AP_STAT_NODES
			    : args->per_thread ? AP_STAT_THREADS
					       : AP_STAT_ALL;
	args->format.is_summary = args->count.has_summary && !args->no_csv_summary;
	args->log = stderr;
}

/* Of events that have been chosen. */
static int choose_cgroups(struct stat_args *args, char *why, size_t size)
{
	const char *names = args->cgroups ? args->cgroups : args->for_each_cgroup;

	if (!names)
		return 0;
	*why = 0;
	if (args->cgroups && args->for_each_cgroup)
		snprintf(why, size, "-G and --for-each-cgroup do not go together");
	else if (!args->count.is_of_cpus)
		snprintf(why, size, "cgroups need -a or -C");
	else if (args->metrics.n)
		snprintf(why, size, "cgroups and metrics do not go together");
	if (*why)
		return -EINVAL;
	return args->cgroups ? ap_cgroups_assign(&args->events, names, why, size)
			     : ap_cgroups_for_each(&args->events, names, why, size);
}

/* Is the word one of our own?  A program of that name has -- before it. */
static bool is_word(int argc, char **argv, int rest, const char *word)
{
	return rest < argc && !strcmp(argv[rest], word) && strcmp(argv[rest - 1], "--") != 0;
}

/* Options may stand before and behind `record`. */
static bool parse_options(struct stat_args *args, int argc, char **argv, int *rest, int *status)
{
	int behind;

	if (!ap_opts_begin(&ap_spec_stat, args, argc, argv, rest, status))
		return false;
	if (!is_word(argc, argv, *rest, "record"))
		return true;
	if (!ap_opts_begin(&ap_spec_stat, args, argc - *rest, argv + *rest, &behind, status))
		return false;
	*rest += behind;
	args->recording = args->output ? args->output : "perf.data";
	args->output = NULL;
	return true;
}

/* Hands over to `report`, the word at `at`, with the options before it, too. */
static int run_report(int argc, char **argv, int at)
{
	char **words = ap_xgrow(NULL, (size_t)argc + 1, sizeof(*words));
	int n = 0, status;

	words[n++] = argv[at];
	for (int i = 1; i < argc; i++)
		if (i != at)
			words[n++] = argv[i];
	words[n] = NULL;
	status = ap_cmd_stat_report(n, words);
	free(words);
	return status;
}

/* What does not go into a perf.data. */
static int check_recording(const struct stat_args *args)
{
	if (args->repeat != 1)
		return usage("record and -r do not go together"); /* as with perf */
	if (args->regions.are_wanted)
		return usage("record and --regions do not go together");
	if (args->append)
		return usage("record and --append do not go together");
	return 0;
}

/* Fills args; returns 0 when there is something to run, else sets *status. */
static int parse(struct stat_args *args, int argc, char **argv, int *status)
{
	char why[AP_OPT_WHY];
	int rest;

	if (!parse_options(args, argc, argv, &rest, status))
		return -1;
	if (!args->recording && is_word(argc, argv, rest, "report")) {
		*status = run_report(argc, argv, rest);
		return -1;
	}
	*status = AP_EXIT_USAGE;
	args->run.targets = args->targets.target;
	args->run.ntargets = args->targets.n;
	args->run.is_beside = args->targets.n != 0;
	args->nsplits =
		(unsigned int)args->per_core + args->per_die + args->per_socket + args->per_node;
	args->run.argv = rest < argc ? argv + rest : NULL;
	if (!args->run.argv && !args->targets.n)
		return usage("no command to count");
	if (check(args) || (args->recording && check_recording(args)))
		return -1;
	if (args->topdown_level > 2)
		return usage("--td-level is 1 or 2");
	if (choose_metrics(args, why, sizeof(why)))
		return usage(why);
	if (!args->null_run && !args->events.n &&
	    ap_evlist_parse(&args->events, args->exact ? EXACT_EVENTS : DEFAULT_EVENTS, why,
			    sizeof(why)))
		ap_die("%s", why);
	for (unsigned int i = 0; i < args->detail && i < AP_ARRAY_SIZE(detail_events); i++)
		if (ap_evlist_parse(&args->events, detail_events[i], why, sizeof(why)))
			ap_die("%s", why);
	choose_models(args);
	if (ap_stat_regions_choose(&args->regions, &args->run, &args->events, why, sizeof(why)))
		return usage(why);
	if (args->grouped)
		ap_evlist_group(&args->events);
	if (args->all_user || args->all_kernel)
		ap_evlist_modify(&args->events, args->all_user ? "u" : "k");
	if (choose_cgroups(args, why, sizeof(why)))
		return usage(why);
	settle(args);
	*status = AP_EXIT_FAILURE;
	if (args->log_fd >= 0) {
		args->log = fdopen(args->log_fd, "w");
		if (!args->log)
			ap_die("--log-fd: %s", strerror(errno));
	}
	if (args->recording && strcmp(args->recording, "-") != 0)
		return ap_outfile_check(args->recording, AP_OUT_PRIVATE, stderr);
	return args->output
		       ? ap_outfile_check(args->output, args->append ? AP_OUT_APPEND : 0, stderr)
		       : 0;
}

int ap_cmd_stat(int argc, char **argv)
{
	char **all = ap_stat_command_line(argc, argv);
	struct stat_args args = { .run = { .err = stderr, .perf = { .paranoid = 2 } },
				  .repeat = 1,
				  .log_fd = -1,
				  .argv = all };
	int status;

	if (!parse(&args, argc, argv, &status))
		status = measure(&args);
	ap_evlist_fini(&args.events);
	ap_stat_metrics_fini(&args.metrics);
	ap_stat_regions_fini(&args.regions);
	ap_targets_fini(&args.targets);
	free(args.cpus);
	free(all);
	return status;
}
