/* SPDX-License-Identifier: MIT */
/*
 * Options that builds for tests have beside all others (abi/switches.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/switches.h"
#include "cli/engine_opts.h"
#include "cli/options.h"
#include "linux/run/run.h"

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
	run->switches.lo = lo;
	run->switches.hi = hi;
	return 0;
}

/* sample=PERIOD[:KINDS][+]: kinds in hexadecimal, instructions where none are given; +: branches. */
static bool add_sample(struct ap_switches *s, const char *word, size_t len)
{
	static const char sample[] = "sample=";
	char *end;

	if (len < sizeof(sample) || strncmp(word, sample, sizeof(sample) - 1))
		return false;
	s->stress |= AP_STRESS_SAMPLE;
	s->period = strtoull(word + sizeof(sample) - 1, &end, 10);
	s->lane = AP_KIND_BIT(AP_KIND_INSTR);
	if (*end == ':')
		s->lane = strtoull(end + 1, &end, 16);
	s->has_branches = *end == '+';
	end += s->has_branches;
	return s->period && s->lane && end == word + len;
}

/* The words of --stress that are one bit each. */
static const struct {
	const char *word;
	u32 bit;
} stresses[] = {
	{ "evict", AP_STRESS_EVICT },	  { "unlinked", AP_STRESS_UNLINKED },
	{ "shapes", AP_STRESS_SHAPES },	  { "requests", AP_STRESS_REQUESTS },
	{ "checks", AP_STRESS_CHECKS },	  { "helper", AP_STRESS_HELPER },
	{ "gaps", AP_STRESS_GAPS },	  { "no-fsgsbase", AP_STRESS_NO_FSGSBASE },
	{ "behind", AP_STRESS_BEHIND },	  { "frames", AP_STRESS_FRAMES },
	{ "far", AP_STRESS_FAR },	  { "narrow", AP_STRESS_NARROW },
	{ "emitted", AP_STRESS_EMITTED }, { "store", AP_STRESS_STORE },
};

/* NAME=N of --stress; false where it is not that. */
static bool take_number(const char *name, u32 *n, const char *word, size_t len)
{
	size_t before = strlen(name);
	char *end;

	if (len <= before || strncmp(word, name, before))
		return false;
	*n = (u32)strtoul(word + before, &end, 10);
	return end == word + len;
}

/* One word of --stress, len letters; false where there is no such word. */
static bool add_stress(struct ap_switches *s, const char *word, size_t len)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(stresses); i++) {
		if (strlen(stresses[i].word) == len && !strncmp(word, stresses[i].word, len)) {
			s->stress |= stresses[i].bit;
			return true;
		}
	}
	if (add_sample(s, word, len))
		return true;
	if (take_number("log=", &s->log, word, len)) {
		s->has_log = true;
		return true;
	}
	if (!take_number("fault=", &s->fault, word, len))
		return false;
	s->stress |= AP_STRESS_FAULT;
	return true;
}

int ap_engine_opt_stress(void *args, const char *value, char *why)
{
	struct ap_run_options *run = args;
	size_t len;

	for (;; value += len + 1) {
		len = strcspn(value, ",");
		if (!add_stress(&run->switches, value, len)) {
			snprintf(
				why, AP_OPT_WHY,
				"needs evict, unlinked, shapes, requests, checks, helper, gaps, no-fsgsbase, "
				"far, narrow, emitted, fault=N, log=FD or sample=N[:KINDS][+]");
			return -EINVAL;
		}
		if (!value[len])
			return 0;
	}
}
