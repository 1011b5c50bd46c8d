/* SPDX-License-Identifier: MIT */
/*
 * The tracepoints that a session produces itself, as data: names, ids and the text of their
 * `format` files.  Ids are fixed (abi/trace.h).
 */
#ifndef AP_PMU_TRACEPOINT_H
#define AP_PMU_TRACEPOINT_H

#include "abi/trace.h"
#include "base/str.h"
#include "base/types.h"

struct ap_syscall_desc {
	const char *name; /* NULL: no such call */
	const char *args; /* C declarations, separated by commas */
};
extern const struct ap_syscall_desc ap_syscalls[];
extern const u32 ap_nsyscalls;

struct ap_tracepoint {
	u32 id;
	const char *system; /* "syscalls" */
	char name[48];	    /* "sys_enter_openat" */
};

/*
 * Entry or exit of a system call, of any or of one; and how many arguments an entry has recorded.
 */
bool ap_tracepoint_is_of_call(u32 id);
u32 ap_tracepoint_args(u32 id);

/* The n-th of all; false past the last. */
bool ap_tracepoint_get(u32 n, struct ap_tracepoint *out);
/* "system:name"; 0 where there is none. */
u32 ap_tracepoint_find(const char *name, size_t len);
bool ap_tracepoint_exists(u64 id);
/* Kernel code passes it; the others are passed with the registers of the program. */
bool ap_tracepoint_is_kernel(u32 id);
/*
 * Of its format: what a filter asks for.  Only of tracepoints of calls is it known when they are
 * counted.
 */
enum ap_trace_field_kind ap_tracepoint_field(u32 id, const char *name, size_t len,
					     struct ap_trace_field *out);
/* The text of its format file, as Linux writes it; false where there is no such id. */
bool ap_tracepoint_format(u32 id, struct ap_str *out);

#endif
