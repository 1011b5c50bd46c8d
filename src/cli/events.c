/* SPDX-License-Identifier: MIT */
/*
 * The table of events.  docs/counting.md defines the exact ones per class of instructions; the
 * meanings here are their short form.  A name that perf knows and we do not count stands here
 * too, so that scripts get "<not supported>" with a reason and not a syntax error.
 */
#include "cli/events.h"

#include <stdio.h>
#include <string.h>

#include "abi/session.h"
#include "linux/run.h"

#define WHY_CYCLES "no model of the pipeline counts time yet"
#define WHY_CACHE  "no model of caches and TLBs counts here yet"
#define WHY_BPRED  "no model of branch prediction counts here yet"
#define WHY_KERNEL "the kernel alone could count it, and anyperf does not ask"

#define NO_PMU(n, a, m, w)                                                                         \
	{                                                                                          \
		.name = (n), .alias = { (a) }, .kind = AP_KIND_UNSUPPORTED, .unit = "",            \
		.meaning = (m), .why = (w)                                                         \
	}
#define EXACT(n, a, i, m)                                                                          \
	{                                                                                          \
		.name = (n), .alias = { (a) }, .kind = AP_KIND_EXACT, .from = AP_FROM_RAW,         \
		.index = (i), .unit = "", .meaning = (m)                                           \
	}
#define SW(n, a, i, u, m)                                                                          \
	{                                                                                          \
		.name = (n), .alias = { (a) }, .kind = AP_KIND_KERNEL, .from = AP_FROM_SW,         \
		.index = (i), .unit = (u), .meaning = (m)                                          \
	}
#define TIME(n, i, m)                                                                              \
	{                                                                                          \
		.name = (n), .kind = AP_KIND_KERNEL, .from = AP_FROM_TIME, .index = (i),           \
		.unit = "ns", .meaning = (m)                                                       \
	}

/* clang-format off */
const struct ap_event_desc ap_events[] = {
	EXACT("instructions", NULL, AP_KIND_INSTR, "retired user instructions"),
	EXACT("branches", "branch-instructions", AP_KIND_BRANCH, "near jcc, jrcxz, loop, jmp, call and ret"),
	EXACT("cond-branches", "conditional-branches", AP_KIND_COND, "jcc, jrcxz and loop, taken or not"),
	EXACT("taken-branches", NULL, AP_KIND_TAKEN, "branches of any class that transferred"),
	EXACT("calls", NULL, AP_KIND_CALL, "near calls, direct and indirect"),
	EXACT("returns", NULL, AP_KIND_RET, "near returns"),
	EXACT("indirect-branches", NULL, AP_KIND_IND, "indirect jmp and call, not ret"),
	EXACT("syscalls", NULL, AP_KIND_SYSCALL, "system call instructions"),
	EXACT("loads", NULL, AP_KIND_LOAD, "instructions that read memory"),
	EXACT("stores", NULL, AP_KIND_STORE, "instructions that write memory"),
	EXACT("mem-ops", NULL, AP_KIND_MEM, "instructions that do either, each once"),
	EXACT("rep-iterations", NULL, AP_KIND_REP_ITER, "iterations of rep string instructions"),
	EXACT("fp-scalar-double", NULL, AP_KIND_FP_SCALAR_DOUBLE, "arithmetic on a double; fused ones 2"),
	EXACT("fp-scalar-single", NULL, AP_KIND_FP_SCALAR_SINGLE, "arithmetic on a float"),
	EXACT("fp-128-double", NULL, AP_KIND_FP_128_DOUBLE, "arithmetic on vectors of 128 bits of doubles"),
	EXACT("fp-128-single", NULL, AP_KIND_FP_128_SINGLE, "of floats"),
	EXACT("fp-256-double", NULL, AP_KIND_FP_256_DOUBLE, "arithmetic on vectors of 256 bits of doubles"),
	EXACT("fp-256-single", NULL, AP_KIND_FP_256_SINGLE, "of floats"),
	EXACT("fp-512-double", NULL, AP_KIND_FP_512_DOUBLE, "arithmetic on vectors of 512 bits of doubles"),
	EXACT("fp-512-single", NULL, AP_KIND_FP_512_SINGLE, "of floats"),

	SW("task-clock", NULL, AP_SW_TASK_CLOCK, "msec", "time on a CPU, user and kernel"),
	SW("cpu-clock", NULL, AP_SW_TASK_CLOCK, "msec", "the same: the command is all that is measured"),
	SW("context-switches", "cs", AP_SW_CONTEXT_SWITCHES, "", "times that a task left its CPU"),
	SW("cpu-migrations", "migrations", AP_SW_CPU_MIGRATIONS, "", "moves of a task to another CPU"),
	SW("page-faults", "faults", AP_SW_PAGE_FAULTS, "", "page faults, minor and major"),
	SW("minor-faults", NULL, AP_SW_MINOR_FAULTS, "", "page faults that needed no I/O"),
	SW("major-faults", NULL, AP_SW_MAJOR_FAULTS, "", "page faults that needed I/O"),
	{ .name = "dummy", .kind = AP_KIND_EXACT, .from = AP_FROM_SW, .index = AP_SW_DUMMY, .unit = "",
	  .meaning = "0; perf's carrier of records about tasks" },
	TIME("duration_time", AP_TIME_WALL, "wall clock time"),
	TIME("user_time", AP_TIME_USER, "CPU time in user mode"),
	TIME("system_time", AP_TIME_SYS, "CPU time in the kernel"),

	NO_PMU("cycles", "cpu-cycles", "CPU cycles", WHY_CYCLES),
	NO_PMU("ref-cycles", NULL, "CPU cycles at the nominal frequency", WHY_CYCLES),
	NO_PMU("bus-cycles", NULL, "cycles of the bus", WHY_CYCLES),
	NO_PMU("stalled-cycles-frontend", "idle-cycles-frontend", "cycles that waited for instructions", WHY_CYCLES),
	NO_PMU("stalled-cycles-backend", "idle-cycles-backend", "cycles that waited for resources", WHY_CYCLES),
	NO_PMU("branch-misses", NULL, "mispredicted branches", WHY_BPRED),
	NO_PMU("cache-references", NULL, "accesses to the last level cache", WHY_CACHE),
	NO_PMU("cache-misses", NULL, "misses in the last level cache", WHY_CACHE),
	NO_PMU("alignment-faults", NULL, "unaligned accesses that the kernel repaired", WHY_KERNEL),
	NO_PMU("emulation-faults", NULL, "instructions that the kernel emulated", WHY_KERNEL),
	NO_PMU("cgroup-switches", NULL, "switches to a task of another cgroup", WHY_KERNEL),
	NO_PMU("bpf-output", NULL, "samples made by BPF programs", WHY_KERNEL),
};
/* clang-format on */
const size_t ap_nevents = AP_ARRAY_SIZE(ap_events);

/* What a name of a generic cache event, or of a raw one, finds. */
static const struct ap_event_desc cache_event =
	NO_PMU("cache event", NULL, "accesses or misses of a cache, TLB or predictor", WHY_CACHE);
static const struct ap_event_desc raw_event =
	NO_PMU("raw event", NULL, "event by its number", "no counter here counts this code");

#define OP_LOAD	    (1u << 0)
#define OP_STORE    (1u << 1)
#define OP_PREFETCH (1u << 2)
#define IS_MISS	    (1u << 8)
#define IS_ACCESS   (1u << 9)

static const struct cache_type {
	const char *name[5]; /* the first is canonical */
	unsigned int ops;
} cache_types[] = {
	{ { "L1-dcache", "L1-data", "l1-d", "l1d" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "L1-icache", "L1-instruction", "l1-i", "l1i" }, OP_LOAD | OP_PREFETCH },
	{ { "LLC", "L2" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "dTLB", "Data-TLB", "d-tlb" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "iTLB", "Instruction-TLB", "i-tlb" }, OP_LOAD },
	{ { "branch", "bpu", "btb", "bpc" }, OP_LOAD },
	{ { "node" }, OP_LOAD | OP_STORE | OP_PREFETCH },
};

static const struct cache_word {
	const char *word;
	unsigned int means;
} cache_words[] = {
	{ "loads", OP_LOAD },
	{ "load", OP_LOAD },
	{ "read", OP_LOAD },
	{ "stores", OP_STORE },
	{ "store", OP_STORE },
	{ "write", OP_STORE },
	{ "prefetches", OP_PREFETCH },
	{ "prefetch", OP_PREFETCH },
	{ "speculative-read", OP_PREFETCH },
	{ "speculative-load", OP_PREFETCH },
	{ "misses", IS_MISS },
	{ "miss", IS_MISS },
	{ "refs", IS_ACCESS },
	{ "Reference", IS_ACCESS },
	{ "ops", IS_ACCESS },
	{ "access", IS_ACCESS },
};

/* Length of word when s begins with it and a dash or the end follows, else 0. */
static size_t begins(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	if (n > len || strncmp(s, word, n) || (n < len && s[n] != '-'))
		return 0;
	return n;
}

/* What follows the type: an operation that it has and a result, in either order, or less. */
static bool is_cache_rest(const char *s, size_t len, unsigned int ops)
{
	unsigned int seen = 0;
	size_t i;

	while (len) {
		size_t n = 0;

		for (i = 0; i < AP_ARRAY_SIZE(cache_words) && !n; i++)
			n = begins(s + 1, len - 1, cache_words[i].word);
		if (!n)
			return false;
		seen |= cache_words[i - 1].means;
		s += n + 1;
		len -= n + 1;
	}
	if ((seen & IS_MISS && seen & IS_ACCESS) || (seen & 0xff & ~ops))
		return false;
	seen &= 0xff;
	return !(seen & (seen - 1));
}

static bool is_cache_event(const char *name, size_t len)
{
	size_t t, a, n;

	for (t = 0; t < AP_ARRAY_SIZE(cache_types); t++) {
		const struct cache_type *type = &cache_types[t];

		for (a = 0; a < AP_ARRAY_SIZE(type->name) && type->name[a]; a++) {
			n = begins(name, len, type->name[a]);
			if (n && is_cache_rest(name + n, len - n, type->ops))
				return true;
		}
	}
	return false;
}

/* rNNN, up to 16 hexadecimal digits */
static bool is_raw_event(const char *name, size_t len)
{
	return len > 1 && len <= 17 && name[0] == 'r' &&
	       strspn(name + 1, "0123456789abcdefABCDEF") >= len - 1;
}

static bool is_named(const struct ap_event_desc *ev, const char *name, size_t len)
{
	const char *own = ev->name;
	unsigned int a = 0;

	for (;;) {
		if (strlen(own) == len && !memcmp(own, name, len))
			return true;
		if (a == AP_EVENT_ALIASES || !ev->alias[a])
			return false;
		own = ev->alias[a++];
	}
}

const struct ap_event_desc *ap_event_find(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ap_nevents; i++) {
		if (is_named(&ap_events[i], name, len))
			return &ap_events[i];
	}
	if (is_cache_event(name, len))
		return &cache_event;
	return is_raw_event(name, len) ? &raw_event : NULL;
}

const char *ap_event_kind_name(enum ap_event_kind kind)
{
	static const char *const names[] = {
		[AP_KIND_EXACT] = "exact",
		[AP_KIND_MODELLED] = "modelled",
		[AP_KIND_KERNEL] = "kernel",
		[AP_KIND_UNSUPPORTED] = "unsupported",
	};

	return names[kind];
}

bool ap_cache_event_name(unsigned int i, char *name, size_t size)
{
	static const char *const ops[] = { "load", "store", "prefetch" };
	unsigned int t, op;

	for (t = 0; t < AP_ARRAY_SIZE(cache_types); t++) {
		for (op = 0; op < AP_ARRAY_SIZE(ops); op++) {
			if (!(cache_types[t].ops & (1u << op)))
				continue;
			if (i > 1) {
				i -= 2;
				continue;
			}
			snprintf(name, size, "%s-%s%s", cache_types[t].name[0], ops[op],
				 i	   ? "-misses"
				 : op == 2 ? "es"
					   : "s");
			return true;
		}
	}
	return false;
}
