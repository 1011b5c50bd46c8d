/* SPDX-License-Identifier: MIT */
/*
 * Tracepoint ids: what the `id` files of the generated tracefs say and attr.config of a tracepoint
 * event names.  A kernel numbers its tracepoints as it finds them, from 1 on; ours are fixed, so
 * that host and engine need no table to know what is meant, and where no kernel gets to, as both
 * are in one tracefs.  They fit the 16 bits that records have for them.
 *
 * An event whose filter was set (PERF_EVENT_IOC_SET_FILTER) counts in words of its own: those of
 * the session's filters, which have ids as tracepoints do, and which no program can ask for.
 */
#ifndef AP_ABI_TRACE_H
#define AP_ABI_TRACE_H

#include "abi/trace_expr.h"
#include "base/types.h"

#define AP_TRACE_BASE 61440U
enum ap_trace_id {
	AP_TRACE_NONE = 0,
	AP_TRACE_RAW_SYS_ENTER = AP_TRACE_BASE + 1,
	AP_TRACE_RAW_SYS_EXIT,
	AP_TRACE_SIGNAL_GENERATE,
	AP_TRACE_SIGNAL_DELIVER,
	AP_TRACE_SCHED_FORK,
	AP_TRACE_SCHED_EXEC,
	AP_TRACE_SCHED_EXIT,
	AP_TRACE_FILTERED = AP_TRACE_BASE + 512, /* of the n-th filter of the session */
	/* then enter and exit of each system call, by its number */
	AP_TRACE_SYSCALL_BASE = AP_TRACE_BASE + 1024
};

/* Both are of x86-64 system calls; which of them exist is in pmu/tracepoint.h. */
static inline u32 ap_trace_sys_enter(u32 nr)
{
	return AP_TRACE_SYSCALL_BASE + nr * 2;
}

static inline u32 ap_trace_sys_exit(u32 nr)
{
	return AP_TRACE_SYSCALL_BASE + nr * 2 + 1;
}

/* Where a thread counts it (abi/session.h): two pages of words; AP_TRACE_N: nowhere. */
#define AP_TRACE_N	 1024U
#define AP_TRACE_FIRST	 8U  /* of those of system calls; others are below */
#define AP_TRACE_FILTERS 64U /* behind them; one bit of a word for each */
#define AP_TRACE_NR_MAX	 ((AP_TRACE_N - AP_TRACE_FILTERS - AP_TRACE_FIRST) / 2)
_Static_assert(AP_TRACE_SYSCALL_BASE + 2 * AP_TRACE_NR_MAX <= 0xffff, "common_type has 16 bits");

/* The filter's number; AP_TRACE_FILTERS or more: it is a tracepoint's id. */
static inline u64 ap_trace_filter_number(u64 id)
{
	return id - AP_TRACE_FILTERED;
}

static inline u32 ap_trace_index(u64 id)
{
	if (id - AP_TRACE_BASE < AP_TRACE_FIRST)
		return (u32)(id - AP_TRACE_BASE);
	if (ap_trace_filter_number(id) < AP_TRACE_FILTERS)
		return AP_TRACE_N - AP_TRACE_FILTERS + (u32)ap_trace_filter_number(id);
	if (id < AP_TRACE_SYSCALL_BASE || id >= AP_TRACE_SYSCALL_BASE + 2 * AP_TRACE_NR_MAX)
		return AP_TRACE_N;
	return AP_TRACE_FIRST + (u32)(id - AP_TRACE_SYSCALL_BASE);
}

/* How each record of a tracepoint begins: the fields common_type to common_pid. */
struct ap_trace_common {
	u16 type;
	u8 flags, preempt_count;
	s32 pid;
};

/* Written by the supervisor before anybody counts by it (ap_session.trace_filter). */
#define AP_TRACE_FILTER_NODES 63U
struct ap_trace_filter {
	u32 id;	   /* the tracepoint's */
	u32 n;	   /* nodes */
	u32 users; /* events that count by it; the supervisor's */
	u32 reserved;
	struct ap_trace_node node[AP_TRACE_FILTER_NODES];
};

#endif
