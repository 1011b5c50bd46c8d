/* SPDX-License-Identifier: MIT */
/*
 * `anyperf run`: a program with a perf_event_open(2) of its own.  It prints no counts: what there is to
 * say of them the program says, but for what was not counted, which it cannot know.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "linux/run/run.h"
#include "print/print.h"

#define RATE_MAX     1000000000
#define COUNTERS_MAX 64 /* a group has to fit a word of counters */

struct run_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_run_target target;
	bool verbose;
};

static int number(const char *value, long min, long max, long *n)
{
	char *end;

	errno = 0;
	*n = strtol(value, &end, 10);
	return errno || end == value || *end || *n < min || *n > max ? -EINVAL : 0;
}

static int opt_counters(void *args, const char *value, char *why)
{
	struct run_args *a = args;
	long n;

	if (number(value, 1, COUNTERS_MAX, &n)) {
		snprintf(why, AP_OPT_WHY, "needs a number from 1 to %d", COUNTERS_MAX);
		return -EINVAL;
	}
	a->run.perf.counters = (u32)n;
	return 0;
}

static int opt_paranoid(void *args, const char *value, char *why)
{
	struct run_args *a = args;
	long n;

	if (number(value, -1, 3, &n)) {
		snprintf(why, AP_OPT_WHY, "needs a number from -1 to 3");
		return -EINVAL;
	}
	a->run.perf.paranoid = (s32)n;
	a->run.perf.is_paranoid_given = true;
	return 0;
}

static int opt_cpu(void *args, const char *value, char *why)
{
	struct run_args *a = args;

	return ap_run_perfctr_cpu(&a->run.perf, value, why, AP_OPT_WHY);
}

static int opt_max_sample_rate(void *args, const char *value, char *why)
{
	struct run_args *a = args;
	long n;

	if (number(value, 1, RATE_MAX, &n)) {
		snprintf(why, AP_OPT_WHY, "needs a number from 1 to %d", RATE_MAX);
		return -EINVAL;
	}
	a->run.perf.max_sample_rate = (u32)n;
	return 0;
}

static int opt_attach(void *args, const char *value, char *why)
{
	struct run_args *a = args;
	long n;

	if (number(value, 1, INT_MAX, &n)) {
		snprintf(why, AP_OPT_WHY, "needs the number of a process");
		return -EINVAL;
	}
	a->target.pid = (pid_t)n;
	a->run.targets = &a->target;
	a->run.ntargets = 1;
	return 0;
}

#define OPT_ARGS struct run_args

/* clang-format off */
static const struct ap_opt run_opts[] = {
	GROUP("The run"),
	FLAG('i', "no-inherit", run.no_inherit, "follow the first process only, not its children"),
	CALL(0, "attach", opt_attach, "pid", "bring a running process in; without a program, until it ends"),
	CALL(0, "env", ap_engine_opt_env, "name=value", "set this in the program's environment, not in ours"),
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the program after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the program"),
	FLAG('v', "verbose", verbose, "say how it was counted as well, not only what was not"),
	GROUP("What programs find"),
	CALL(0, "cpu", opt_cpu, "name", "CPU that programs of perfctr find: p5 p6 piii k7 k8 p4 c3 core2 nehalem generic ... (default k8)"),
	FIRST(0, "cpu-id", ap_engine_opt_cpu_id, "name", "programs see this CPU, and its raw events: skylake, icelake, sapphirerapids, zen3, zen4 ..."),
	CALL(0, "counters", opt_counters, "n", "counters of the cpu PMU per task (default: as many as asked for)"),
	CALL(0, "max-sample-rate", opt_max_sample_rate, "n", "perf_event_max_sample_rate; fixed periods are throttled as well"),
	CALL(0, "paranoid", opt_paranoid, "n", "perf_event_paranoid, for the session's owner as well (-1 to 3)"),
	FLAG(0, "user-only", run.perf.user_only, "accept events of kernel mode too, and count user mode"),
	GROUP("Engine and models"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	CODE_CACHE,
	DETERMINISTIC,
	FIRST(0, "machine", ap_engine_opt_machine, "name", "model skylake, icelake, sapphirerapids, zen3, zen4, cachegrind, host or a file's"),
	CALL(0, "model-sample", ap_engine_opt_model_sample, "n", "have the models see one part in n of the run, and estimate the rest (default 24; with --deterministic 1)"),
	FLAG(0, "model-thread", run.model_thread, "have idle CPUs read the models' logs, with a helper for each thread"),
	AP_TEST_OPTIONS
	{ 0 }
};

const struct ap_opt_spec ap_spec_run = {
	"anyperf run", "[options] [--] program [args]", run_opts,
	{ { "-- perf stat -e instructions:u -- ls", "have perf count with events that the machine does not have" },
	  { "-- ./program-with-PAPI", "a program that counts itself" } },
};
/* clang-format on */

/* As stat's, which come behind its table. */
static void print_notes(const struct ap_run_result *res, bool is_verbose)
{
	char text[300];

	if (is_verbose && ap_cpu_is_unknown_to_pfm(text, sizeof(text)))
		ap_print(stderr, "anyperf: %s\n", text);
	for (unsigned int i = 0; i < res->nnotes; i++)
		if (is_verbose || res->notes[i].kind != AP_NOTE_INFO)
			ap_print(stderr, "anyperf: %s\n", res->notes[i].text);
}

static int run(struct run_args *args)
{
	struct ap_run_result res;
	int ret;

	if (args->run.perf.user_only)
		fputs("anyperf: kernel mode is not counted: events that ask for it count user mode\n",
		      stderr);
	memset(&res, 0, sizeof(res));
	ap_engine_set_models(&args->run);
	ret = ap_run(&args->run, &res);
	if (ret)
		return ret;
	print_notes(&res, args->verbose);
	if (res.model_sample)
		fprintf(stderr,
			"anyperf: modelled counts are estimated: the models saw one part in %u of the run; --model-sample 1 has them see all of it\n",
			res.model_sample);
	ret = ap_engine_exit_status(res.wait_status);
	ap_run_result_fini(&res);
	return ret;
}

int ap_cmd_run(int argc, char **argv)
{
	struct run_args args = { .run = { .err = stderr,
					  .count = true,
					  .perf = { .is_served = true, .paranoid = 2 } } };
	int rest, status;

	if (!ap_opts_begin(&ap_spec_run, &args, argc, argv, &rest, &status))
		return status;
	if (rest >= argc && !args.run.ntargets)
		return ap_opts_wrong(&ap_spec_run, "no program to run", NULL);
	args.run.argv = rest < argc ? argv + rest : NULL;
	return run(&args);
}
