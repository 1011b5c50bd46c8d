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

#include "cli/options.h"
#include "linux/run.h"

#define TIMEOUT_MIN 10

int ap_engine_opt_timeout(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	char *end;
	long n;

	errno = 0;
	n = strtol(value, &end, 10);
	if (errno || end == value || *end || n < TIMEOUT_MIN || n > 0x7fffffff) {
		snprintf(why, AP_OPT_WHY, "needs milliseconds, %d at least", TIMEOUT_MIN);
		return -EINVAL;
	}
	run->timeout_ms = (unsigned int)n;
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

int ap_engine_opt_machine(void *args, const char *value, char *why)
{
	return ap_run_machine(args, value, why, AP_OPT_WHY);
}

int ap_engine_opt_cpu_id(void *args, const char *value, char *why)
{
	(void)args;
	return ap_run_cpu_id(value, why, AP_OPT_WHY);
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

int ap_engine_opt_range(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	unsigned long long lo, hi = 0;
	char *end;

	errno = 0;
	lo = strtoull(value, &end, 16);
	if (*end == '-' && end != value)
		hi = strtoull(end + 1, &end, 16);
	if (errno || *end || lo >= hi || strchr(value, ' ')) {
		snprintf(why, AP_OPT_WHY, "needs LO-HI, two hexadecimal addresses");
		return -EINVAL;
	}
	run->range_lo = lo;
	run->range_hi = hi;
	return 0;
}

/* sample=PERIOD[:KINDS][+]: kinds in hexadecimal, instructions where none are given; +: branches. */
static bool add_sample(struct ap_run_options *run, const char *word, size_t len)
{
	static const char sample[] = "sample=";
	char *end;

	if (len < sizeof(sample) || strncmp(word, sample, sizeof(sample) - 1))
		return false;
	run->stress |= AP_STRESS_SAMPLE;
	run->stress_period = strtoull(word + sizeof(sample) - 1, &end, 10);
	run->stress_lane = AP_KIND_BIT(AP_KIND_INSTR);
	if (*end == ':')
		run->stress_lane = strtoull(end + 1, &end, 16);
	run->stress_branches = *end == '+';
	end += run->stress_branches;
	return run->stress_period && run->stress_lane && end == word + len;
}

/* The words of --stress that are one bit each. */
static const struct {
	const char *word;
	u32 bit;
} stresses[] = {
	{ "evict", AP_STRESS_EVICT },	{ "unlinked", AP_STRESS_UNLINKED },
	{ "shapes", AP_STRESS_SHAPES }, { "requests", AP_STRESS_REQUESTS },
	{ "checks", AP_STRESS_CHECKS }, { "helper", AP_STRESS_HELPER },
	{ "gaps", AP_STRESS_GAPS },	{ "no-fsgsbase", AP_STRESS_NO_FSGSBASE },
	{ "behind", AP_STRESS_BEHIND }, { "frames", AP_STRESS_FRAMES },
	{ "far", AP_STRESS_FAR },
};

/* One word of --stress, len letters; false where there is no such word. */
static bool add_stress(struct ap_run_options *run, const char *word, size_t len)
{
	static const char fault[] = "fault=";
	char *end;

	for (size_t i = 0; i < AP_ARRAY_SIZE(stresses); i++) {
		if (strlen(stresses[i].word) == len && !strncmp(word, stresses[i].word, len)) {
			run->stress |= stresses[i].bit;
			return true;
		}
	}
	if (add_sample(run, word, len))
		return true;
	if (len < sizeof(fault) || strncmp(word, fault, sizeof(fault) - 1))
		return false;
	run->stress |= AP_STRESS_FAULT;
	run->stress_fault = (u32)strtoul(word + sizeof(fault) - 1, &end, 10);
	return end == word + len;
}

int ap_engine_opt_stress(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	size_t len;

	for (;; value += len + 1) {
		len = strcspn(value, ",");
		if (!add_stress(run, value, len)) {
			snprintf(
				why, AP_OPT_WHY,
				"needs evict, unlinked, shapes, requests, checks, helper, gaps, no-fsgsbase, "
				"fault=N or sample=N[:KINDS][+]");
			return -EINVAL;
		}
		if (!value[len])
			return 0;
	}
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
