/* SPDX-License-Identifier: MIT */
/*
 * The words of `anyperf record`'s options that are more than a flag.
 */
#include "cli/record_opts.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/memory.h"
#include "cli/options.h"

#define LEVEL_MAX 22

static int bad(char *why, const char *text)
{
	snprintf(why, AP_OPT_WHY, "%s", text);
	return -EINVAL;
}

static bool number(const char *value, u64 *n, char **end)
{
	if (value[0] < '0' || value[0] > '9')
		return false;
	errno = 0;
	*n = strtoull(value, end, 10);
	return !errno;
}

/* A number and one of the letters, each with its factor; *letter is 0 where there is none. */
static bool scaled(const char *value, const char *letters, const u64 *factors, u64 *n, char *letter)
{
	const char *at;
	char *end;

	*letter = '\0';
	if (!number(value, n, &end))
		return false;
	if (!*end)
		return true;
	at = strchr(letters, *end);
	if (!at || end[1] || *n > ~0ULL / factors[at - letters])
		return false;
	*letter = *end;
	*n *= factors[at - letters];
	return true;
}

static const u64 size_factors[] = { 1, 1ULL << 10, 1ULL << 20, 1ULL << 30 };

int record_opt_event(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	o->newest = o->events.n;
	return ap_evlist_parse(&o->events, value, why, AP_OPT_WHY);
}

int record_opt_count(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char *end;

	if (number(value, &o->count, &end) && !*end && o->count && !(o->count >> 63))
		return 0;
	return bad(why, "needs a period, 1 at least");
}

int record_opt_freq(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char *end;

	o->is_freq_max = !strcmp(value, "max");
	if (o->is_freq_max || (number(value, &o->freq, &end) && !*end && o->freq))
		return 0;
	return bad(why, "needs samples per second, or max");
}

/* --- callchains and branches */

static int dwarf_size(struct record_opts *o, const char *value, char *why)
{
	u64 n = AP_EVTERM_STACK_DEFAULT;
	char *end;

	if (value && (!number(value, &n, &end) || *end || !n || n > AP_EVTERM_STACK_MAX))
		return bad(why, "the size of a stack is 1 to 65528 bytes");
	o->stack_size = (u32)AP_ALIGN_UP(n, 8);
	return 0;
}

int record_opt_chain(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	const char *comma = strchr(value, ',');
	size_t len = comma ? (size_t)(comma - value) : strlen(value);
	enum ap_evchain chain;

	if (!ap_evchain_of(value, len, &chain) || (comma && chain != AP_EVCHAIN_DWARF))
		return bad(why, "needs fp, dwarf[,size], lbr or no");
	o->chain = chain;
	return chain == AP_EVCHAIN_DWARF ? dwarf_size(o, comma ? comma + 1 : NULL, why) : 0;
}

int record_opt_graph(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	(void)value;
	(void)why;
	if (o->chain == AP_EVCHAIN_NONE)
		o->chain = AP_EVCHAIN_FP;
	return 0;
}

static const struct {
	const char *name;
	u64 bits;
} branch_words[] = {
	{ "u", 1ULL << 0 },	    { "k", 1ULL << 1 },	       { "hv", 1ULL << 2 },
	{ "any", 1ULL << 3 },	    { "any_call", 1ULL << 4 }, { "any_ret", 1ULL << 5 },
	{ "ind_call", 1ULL << 6 },  { "abort_tx", 1ULL << 7 }, { "in_tx", 1ULL << 8 },
	{ "no_tx", 1ULL << 9 },	    { "cond", 1ULL << 10 },    { "stack", 1ULL << 11 },
	{ "ind_jmp", 1ULL << 12 },  { "call", 1ULL << 13 },    { "save_type", 1ULL << 16 },
	{ "hw_index", 1ULL << 17 }, { "priv", 1ULL << 18 },
};

#define BRANCH_ANY   (1ULL << 3)
#define BRANCH_KINDS 0x3c78ULL

static bool branch_word(const char *word, size_t len, u64 *bits)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(branch_words); i++) {
		if (strlen(branch_words[i].name) == len &&
		    !strncmp(branch_words[i].name, word, len)) {
			*bits |= branch_words[i].bits;
			return true;
		}
	}
	return false;
}

int record_opt_filter(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	const char *p = value;
	u64 bits = 0;

	for (;;) {
		size_t len = strcspn(p, ",");

		if (!branch_word(p, len, &bits)) {
			snprintf(
				why, AP_OPT_WHY,
				"'%.*s': needs any, any_call, any_ret, call, cond, ind_call, ind_jmp, "
				"stack, u, k, save_type ..., separated by commas",
				(int)len, p);
			return -EINVAL;
		}
		if (!p[len])
			break;
		p += len + 1;
	}
	/* a privilege alone is all branches of it */
	o->branches |= bits & BRANCH_KINDS ? bits : bits | BRANCH_ANY;
	return 0;
}

int record_opt_any_branch(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	(void)value;
	(void)why;
	o->branches |= BRANCH_ANY;
	return 0;
}

/* --- which tasks, when, how much */

static int add_targets(struct record_opts *o, const char *value, bool threads, char *why)
{
	int ret = ap_targets_add(&o->targets, value, threads, why, AP_OPT_WHY);

	o->run.targets = o->targets.target;
	o->run.ntargets = o->targets.n;
	return ret;
}

int record_opt_pid(void *args, const char *value, char *why)
{
	return add_targets(args, value, false, why);
}

int record_opt_tid(void *args, const char *value, char *why)
{
	return add_targets(args, value, true, why);
}

int record_opt_delay(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char *end;
	u64 n;

	if (!strcmp(value, "-1")) {
		o->delay_ms = -1;
		return 0;
	}
	if (!number(value, &n, &end) || *end || n > INT_MAX)
		return bad(why, "needs milliseconds, or -1 to begin disabled");
	o->delay_ms = (s64)n;
	return 0;
}

int record_opt_pages(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	u64 page = (u64)sysconf(_SC_PAGESIZE), n;
	char letter;

	if (!scaled(value, "BKMG", size_factors, &n, &letter) || !n || n > 1ULL << 40)
		return bad(why, "needs pages, or a size with B, K, M or G");
	if (letter)
		n = (n + page - 1) / page;
	for (o->pages = 1; o->pages < n;)
		o->pages *= 2;
	return 0;
}

int record_opt_level(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char *end;
	u64 n = 1;

	if (value && (!number(value, &n, &end) || *end || n > LEVEL_MAX))
		return bad(why, "needs a level of zstd, 1 to 22");
	o->level = (unsigned int)n;
	return 0;
}

int record_opt_max_size(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char letter;

	if (scaled(value, "BKMG", size_factors, &o->max_size, &letter) && o->max_size)
		return 0;
	return bad(why, "needs a size in bytes; B, K, M or G may follow");
}

int record_opt_switch(void *args, const char *value, char *why)
{
	static const u64 seconds[] = { 1, 60, 3600, 86400 };
	struct record_opts *o = args;
	char letter;
	u64 n;

	o->do_switch = true;
	if (!value || !strcmp(value, "signal"))
		return 0;
	if (scaled(value, "BKMG", size_factors, &n, &letter) && letter && n) {
		o->switch_size = n;
		return 0;
	}
	if (scaled(value, "smhd", seconds, &n, &letter) && letter && n && n < ~0ULL / 1000000000) {
		o->switch_ns = n * 1000000000;
		return 0;
	}
	return bad(why, "needs signal, a size (with B, K, M or G) or a time (with s, m, h or d)");
}

/* --- what is in a sample, of which clock */

int record_opt_clock(void *args, const char *value, char *why)
{
	static const struct {
		const char *name;
		s32 clock;
	} clocks[] = { { "realtime", AP_CLOCK_REALTIME },
		       { "real", AP_CLOCK_REALTIME },
		       { "monotonic", AP_CLOCK_MONOTONIC },
		       { "mono", AP_CLOCK_MONOTONIC },
		       { "monotonic_raw", AP_CLOCK_MONOTONIC_RAW },
		       { "raw", AP_CLOCK_MONOTONIC_RAW },
		       { "boottime", AP_CLOCK_BOOTTIME },
		       { "boot", AP_CLOCK_BOOTTIME },
		       { "tai", AP_CLOCK_TAI } };
	struct record_opts *o = args;

	if (!strncasecmp(value, "CLOCK_", 6))
		value += 6;
	for (size_t i = 0; i < AP_ARRAY_SIZE(clocks); i++) {
		if (strcasecmp(value, clocks[i].name))
			continue;
		o->has_clock = true;
		o->clock = clocks[i].clock;
		return 0;
	}
	return bad(why, "needs realtime, monotonic, monotonic_raw, boottime or tai");
}

/* --- registers */

/* By their numbers in the kernel's masks. */
static const char *const registers[] = { "AX", "BX",	"CX",  "DX",  "SI",  "DI",  "BP",  "SP",
					 "IP", "FLAGS", "CS",  "SS",  "DS",  "ES",  "FS",  "GS",
					 "R8", "R9",	"R10", "R11", "R12", "R13", "R14", "R15" };

static int registers_of(const char *list, u64 *mask, char *why)
{
	size_t len, i;

	if (!list)
		*mask = RECORD_ALL_REGS;
	for (; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < AP_ARRAY_SIZE(registers); i++) {
			if (strlen(registers[i]) == len && !strncasecmp(registers[i], list, len))
				break;
		}
		if (i == AP_ARRAY_SIZE(registers) || !(RECORD_ALL_REGS >> i & 1))
			return bad(why,
				   "needs registers of AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 "
				   "to R15, separated by commas");
		*mask |= 1ULL << i;
	}
	return 0;
}

int record_opt_intr_regs(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	return registers_of(value, &o->intr_regs, why);
}

int record_opt_user_regs(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	return registers_of(value, &o->user_regs, why);
}

int record_opt_priority(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	char *end;
	u64 n;

	if (!number(value, &n, &end) || *end || !n || n > (u64)sched_get_priority_max(SCHED_FIFO))
		return bad(why, "needs a priority, 1 to 99");
	o->priority = (unsigned int)n;
	return 0;
}

int record_opt_synth(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	size_t len;

	o->no_tasks = o->no_mappings = o->no_cgroups = true;
	for (; *value; value += len + (value[len] == ',')) {
		len = strcspn(value, ",");
		if (len == 3 && !strncmp(value, "all", 3))
			o->no_tasks = o->no_mappings = o->no_cgroups = false;
		else if (len == 4 && !strncmp(value, "task", 4))
			o->no_tasks = false;
		else if (len == 4 && !strncmp(value, "mmap", 4))
			o->no_mappings = false;
		else if (len == 6 && !strncmp(value, "cgroup", 6))
			o->no_cgroups = false;
		else if (len != 2 || strncmp(value, "no", 2))
			return bad(why, "needs no, all, or of task, mmap, cgroup");
	}
	return 0;
}

int record_opt_affinity(void *args, const char *value, char *why)
{
	(void)args;
	if (!strcmp(value, "node") || !strcmp(value, "cpu") || !strcmp(value, "sys"))
		return 0;
	return bad(why, "needs node, cpu or sys");
}

int record_opt_any_number(void *args, const char *value, char *why)
{
	char *end;
	u64 n;

	(void)args;
	return number(value, &n, &end) && !*end ? 0 : bad(why, "needs a number");
}

/* perf's, for which there is nothing here: why, and what there is. */
int record_opt_uid(void *args, const char *value, char *why)
{
	(void)args;
	(void)value;
	return bad(why, "is of all tasks of a user; -p samples running processes");
}

int record_opt_snapshot(void *args, const char *value, char *why)
{
	(void)args;
	(void)value;
	return bad(why, "is of AUX areas; --overwrite keeps the newest samples");
}

int record_opt_ignored(void *args, const char *value, char *why)
{
	(void)args;
	(void)value;
	(void)why;
	return 0;
}
