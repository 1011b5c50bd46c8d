/* SPDX-License-Identifier: MIT */
/*
 * `anyperf stat`: options, the runs, and where the report goes.  What the numbers look like is
 * stat_print.c's and stat_csv.c's; how they come about is behind linux/run.h.
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/evlist.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "cli/stat.h"
#include "linux/run.h"

#define DEFAULT_EVENTS                                                                             \
	"task-clock,context-switches,cpu-migrations,page-faults,instructions,branches"

struct stat_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_evlist events;
	struct ap_stat_format format;
	const char *output;
	unsigned int repeat;
	bool null_run;
};

static int opt_events(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	return ap_evlist_parse(&a->events, value, why, AP_OPT_WHY);
}

static int opt_repeat(void *args, const char *value, char *why)
{
	struct stat_args *a = args;
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

static int opt_separator(void *args, const char *value, char *why)
{
	struct stat_args *a = args;

	(void)why;
	a->format.separator = strcmp(value, "\\t") ? value : "\t";
	return 0;
}

#define FLAG(l, n, f, h)                                                                           \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_FLAG,                                   \
		.offset = offsetof(struct stat_args, f), .help = (h)                               \
	}
#define CALL(l, n, c, v, h)                                                                        \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_CALL, .call = (c), .value = (v),        \
		.help = (h)                                                                        \
	}

/* clang-format off */
static const struct ap_opt stat_opts[] = {
	CALL('e', "event", opt_events, "event", "events to count, separated by commas; see 'anyperf list'"),
	FLAG('i', "no-inherit", run.no_inherit, "count the first process only, not its children"),
	FLAG('n', "null", null_run, "count nothing, only measure times"),
	{ 'o', "output", AP_OPT_STR, offsetof(struct stat_args, output), NULL, "file", "write the report to this file", false },
	CALL('r', "repeat", opt_repeat, "n", "repeat the command, print means and deviations"),
	FLAG('v', "verbose", format.verbose, "say why events are not supported"),
	CALL('x', "field-separator", opt_separator, "sep", "print fields with this separator (CSV)"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	FLAG(0, "deterministic", run.deterministic, "fixed addresses and random bytes: runs count alike"),
	CALL(0, "range", ap_engine_opt_range, "lo-hi", "translate only code at these addresses (for bisecting)"),
	{ 0, "stress", AP_OPT_CALL, 0, ap_engine_opt_stress, "what", "injected trouble for tests: evict,unlinked,shapes,requests,checks,fault=N", true },
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the command after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the command"),
	{ 0 }
};
/* clang-format on */

static const struct ap_opt_spec stat_spec = { "anyperf stat", "[options] [--] command [args]",
					      stat_opts };

/* The report as text: in one piece, or not at all. */
static char *format_report(const struct stat_args *args, const struct ap_stat *st, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	time_t now = time(NULL);

	if (!out)
		ap_die("out of memory");
	if (args->format.separator)
		setlocale(LC_NUMERIC, "C");
	if (args->output)
		fprintf(out, "# started on %s\n", ctime(&now));
	ap_stat_print(st, &args->format, out);
	if (fclose(out))
		ap_die("out of memory");
	return text;
}

static int report(const struct stat_args *args, const struct ap_stat *st)
{
	size_t size;
	char *text = format_report(args, st, &size);
	int ret = 0;

	if (args->output)
		ret = ap_outfile_write(args->output, text, size, stderr);
	else
		ret = ap_outfile_print(stderr, text, size, stderr);
	free(text);
	return ret;
}

/*
 * Only what the events need: no engine for the kernel's, no counters for system calls.  To wait for
 * descendants one must know them, which takes the engine.
 */
static void choose_instruments(struct stat_args *args)
{
	const struct ap_evlist *events = &args->events;
	size_t i;

	args->run.no_engine = !ap_evlist_needs(events, AP_FROM_RAW) && !args->run.wait_all;
	args->run.sw_events = events->n ? 1u << AP_SW_TASK_CLOCK : 0;
	for (i = 0; i < events->n; i++) {
		const struct ap_evsel *sel = &events->sel[i];

		if (sel->why)
			continue;
		if (sel->desc->from == AP_FROM_SW)
			args->run.sw_events |= 1u << sel->desc->index;
		if (sel->desc->from == AP_FROM_RAW && sel->desc->index != AP_KIND_SYSCALL) {
			args->run.count = true;
			args->run.kinds |= AP_KIND_BIT(sel->desc->index);
		}
	}
}

/* Runs the command as often as was asked; *status is the last run's. */
static int run_all(const struct stat_args *args, struct ap_stat *st, int *status)
{
	unsigned int i;

	for (i = 0; i < args->repeat; i++) {
		struct ap_run_result res;
		int ret, sig;

		memset(&res, 0, sizeof(res));
		ret = ap_run(&args->run, &res);
		if (ret)
			return ret;
		*status = ap_engine_exit_status(res.wait_status);
		sig = WIFSIGNALED(res.wait_status) ? WTERMSIG(res.wait_status) : 0;
		ap_stat_add(st, &res);
		ap_run_result_fini(&res);
		if (sig)
			fprintf(stderr, "%s: %s\n", args->run.argv[0], strsignal(sig));
		/* Ctrl-C is meant for the measurement too, not for one run of many. */
		if (sig == SIGINT || sig == SIGQUIT || res.is_given_up)
			break;
	}
	return 0;
}

static int measure(struct stat_args *args)
{
	struct ap_stat st;
	int ret, status = 0;

	choose_instruments(args);
	ap_stat_init(&st, &args->events, args->run.argv);
	if (args->run.range_hi && !args->run.no_engine)
		ap_stat_add_note(&st, "not counted: code outside of --range");
	ret = run_all(args, &st, &status);
	if (!ret)
		ret = report(args, &st) ? AP_EXIT_FAILURE : status;
	ap_stat_fini(&st);
	return ret;
}

/* Fills args; returns 0 when there is something to run, else sets *status. */
static int parse(struct stat_args *args, int argc, char **argv, int *status)
{
	char why[AP_OPT_WHY];
	int rest;

	*status = AP_EXIT_USAGE;
	switch (ap_opts_parse(&stat_spec, args, argc, argv, &rest, stderr)) {
	case AP_OPTS_HELP:
		ap_opts_help(&stat_spec, stdout);
		*status = 0;
		return -1;
	case AP_OPTS_ERROR:
		return -1;
	case AP_OPTS_OK:
		break;
	}
	if (rest >= argc) {
		fputs("anyperf stat: no command to count\n", stderr);
		ap_opts_usage(&stat_spec, stderr);
		return -1;
	}
	if (args->null_run)
		ap_evlist_fini(&args->events);
	else if (!args->events.n &&
		 ap_evlist_parse(&args->events, DEFAULT_EVENTS, why, sizeof(why)))
		ap_die("%s", why);
	args->run.argv = argv + rest;
	*status = AP_EXIT_FAILURE;
	return args->output ? ap_outfile_check(args->output, stderr) : 0;
}

int ap_cmd_stat(int argc, char **argv)
{
	struct stat_args args = { .run.err = stderr, .repeat = 1 };
	int status;

	if (!parse(&args, argc, argv, &status))
		status = measure(&args);
	ap_evlist_fini(&args.events);
	return status;
}
