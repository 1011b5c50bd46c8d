/* SPDX-License-Identifier: MIT */
/*
 * Options of the engine, which all commands that start a program have in common.
 */
#include "cli/engine_opts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/memory.h"
#include "cli/options.h"
#include "linux/run/run.h"

#define TIMEOUT_MIN 10
#define TIMEOUT_MAX 2147483647

int ap_engine_opt_timeout(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < TIMEOUT_MIN || n > TIMEOUT_MAX) {
		snprintf(why, AP_OPT_WHY, "needs milliseconds, from %d to %d", TIMEOUT_MIN,
			 TIMEOUT_MAX);
		return -EINVAL;
	}
	run->timeout_ms = (unsigned int)n;
	return 0;
}

int ap_engine_opt_env(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	const char **env = (const char **)(uintptr_t)run->env;

	if (*value == '=' || !strchr(value, '=')) {
		snprintf(why, AP_OPT_WHY, "needs NAME=VALUE");
		return -EINVAL;
	}
	env = ap_xgrow(env, run->nenv + 1, sizeof(*env));
	env[run->nenv++] = value;
	run->env = env;
	return 0;
}

int ap_engine_opt_deterministic(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;

	if (value && strcmp(value, "time") != 0) {
		snprintf(why, AP_OPT_WHY, "needs nothing or =time");
		return -EINVAL;
	}
	run->deterministic = true;
	run->fixed_tsc = value;
	return 0;
}

int ap_engine_opt_cache_limit(void *args, const char *value, char *why)
{
	static const char suffixes[] = "KMG";
	struct ap_run_options *run = args;
	const char *suffix;
	unsigned int shift;
	char *end;
	u64 n;

	errno = 0;
	n = strtoull(value, &end, 10);
	suffix = *end ? strchr(suffixes, *end & ~0x20) : NULL;
	shift = suffix ? 10 * (unsigned int)(suffix - suffixes + 1) : 0;
	if (value[0] < '0' || value[0] > '9' || errno || !n || (*end && (!suffix || end[1])) ||
	    n > (~0ULL >> 1) >> shift) {
		snprintf(why, AP_OPT_WHY, "needs a size in bytes, K, M or G may follow");
		return -EINVAL;
	}
	if (n << shift < AP_CACHE_LIMIT_MIN) {
		snprintf(why, AP_OPT_WHY, "needs at least 64K");
		return -EINVAL;
	}
	run->cache_limit = n << shift;
	return 0;
}

int ap_engine_opt_code_cache(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;

	if (strcmp(value, "off") && strcmp(value, "session")) {
		snprintf(why, AP_OPT_WHY, "needs off or session");
		return -EINVAL;
	}
	run->shares_code = !strcmp(value, "session");
	return 0;
}

int ap_engine_opt_machine(void *args, const char *value, char *why)
{
	return ap_run_machine(args, value, why, AP_OPT_WHY);
}

int ap_engine_opt_cpu_id(void *args, const char *value, char *why)
{
	(void)args;
	return ap_run_cpu_id(value, why, AP_OPT_WHY);
}

void ap_engine_set_models(struct ap_run_options *run)
{
	/* helpers are for logs that are all read */
	if (!run->model_sample)
		run->model_sample = run->deterministic || run->model_thread ? 1 : AP_MODEL_SAMPLE;
}

int ap_engine_opt_model_sample(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < 1 || n > AP_MODEL_SAMPLE_MAX) {
		snprintf(why, AP_OPT_WHY, "needs a number from 1 (all is modelled) to %u",
			 AP_MODEL_SAMPLE_MAX);
		return -EINVAL;
	}
	run->model_sample = (u32)n;
	return 0;
}

static bool is_interrupted; /* the last command, by SIGINT */

int ap_engine_exit_status(int wait_status)
{
	is_interrupted = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT;
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/*
 * A shell ends its script or loop at Ctrl-C only if what it waits for was killed by it: a status of 130
 * would say that the command took the signal and went on.
 */
void ap_engine_die_as_command(int status)
{
	sigset_t set;

	if (!is_interrupted || status != 128 + SIGINT)
		return;
	signal(SIGINT, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	raise(SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
