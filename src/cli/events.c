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
#include "linux/client/client.h"
#include "linux/run/run.h"

#define WHY_CACHE "no model here counts it"
#define WHY_BPF	  "the kernel's own programs make it, and it counts nothing"

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
/* i: the first of its kinds */
#define MODEL(n, a, i, m)                                                                          \
	{                                                                                          \
		.name = (n), .alias = { (a) }, .kind = AP_KIND_MODELLED, .from = AP_FROM_RAW,      \
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
	EXACT("flops", NULL, AP_KIND_FLOPS, "operations of all these on each element"),

	MODEL("cycles", "cpu-cycles", AP_KIND_CYCLES, "CPU cycles"),
	MODEL("ref-cycles", NULL, AP_KIND_REF_CYCLES, "CPU cycles at the nominal frequency"),
	MODEL("bus-cycles", NULL, AP_KIND_BUS_CYCLES, "cycles of the bus"),
	MODEL("stalled-cycles-frontend", "idle-cycles-frontend", AP_KIND_STALL_FRONT, "cycles that waited for instructions"),
	MODEL("stalled-cycles-backend", "idle-cycles-backend", AP_KIND_STALL_BACK, "cycles that waited for resources"),
	MODEL("branch-misses", NULL, AP_KIND_COND_MISS, "mispredicted branches"),
	MODEL("cache-references", NULL, AP_KIND_LLC_LOAD, "accesses to the last level cache"),
	MODEL("cache-misses", NULL, AP_KIND_LLC_LOAD_MISS, "misses in the last level cache"),

	SW("task-clock", NULL, AP_SW_TASK_CLOCK, "msec", "time on a CPU, user and kernel"),
	SW("cpu-clock", NULL, AP_SW_TASK_CLOCK, "msec", "the same: the command is all that is measured"),
	SW("context-switches", "cs", AP_SW_CONTEXT_SWITCHES, "", "times that a task left its CPU"),
	SW("cpu-migrations", "migrations", AP_SW_CPU_MIGRATIONS, "", "moves of a task to another CPU"),
	SW("page-faults", "faults", AP_SW_PAGE_FAULTS, "", "page faults, minor and major"),
	SW("minor-faults", NULL, AP_SW_MINOR_FAULTS, "", "page faults that needed no I/O"),
	SW("major-faults", NULL, AP_SW_MAJOR_FAULTS, "", "page faults that needed I/O"),
	SW("alignment-faults", NULL, AP_SW_N, "", "unaligned accesses that the kernel repaired"),
	SW("emulation-faults", NULL, AP_SW_N, "", "instructions that the kernel emulated"),
	SW("cgroup-switches", NULL, AP_SW_N, "", "switches to a task of another cgroup"),
	{ .name = "dummy", .kind = AP_KIND_EXACT, .from = AP_FROM_SW, .index = AP_SW_DUMMY, .unit = "",
	  .meaning = "0; perf's carrier of records about tasks" },
	TIME("duration_time", AP_TIME_WALL, "wall clock time"),
	TIME("user_time", AP_TIME_USER, "CPU time in user mode"),
	TIME("system_time", AP_TIME_SYS, "CPU time in the kernel"),

	NO_PMU("bpf-output", NULL, "samples made by BPF programs", WHY_BPF),
};
/* clang-format on */
const size_t ap_nevents = AP_ARRAY_SIZE(ap_events);

const char ap_event_why_absent[] = "the modelled machine has no such thing";

/* What a name of a generic cache event, or of a raw one, finds. */
static const struct ap_event_desc cache_event =
	NO_PMU("cache event", NULL, "accesses or misses of a cache, TLB or predictor", WHY_CACHE);
static const struct ap_event_desc raw_event =
	NO_PMU("raw event", NULL, "event by its number", "no counter here counts this code");

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
	if (ap_client_is_cache_event(name, len))
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
