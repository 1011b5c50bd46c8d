/* SPDX-License-Identifier: MIT */
/*
 * Filters of tracepoints, in the kernel's words (Documentation/trace/events.rst, "Event filtering";
 * PERF_EVENT_IOC_SET_FILTER of perf_event_open(2)): "count > 100 && (fd == 1 || !(fd & 2))".
 * Parsed where an event or a file is at hand, held against what a tracepoint records in the thread
 * that passes it, or in a reader of the file.
 *
 * Numbers are compared as what the field is, == != < <= > >= and & (some bit in common), && before
 * ||, ! before what follows.  Strings are not compared.
 */
#ifndef AP_ABI_TRACE_EXPR_H
#define AP_ABI_TRACE_EXPR_H

#include "base/str.h"
#include "base/types.h"

enum ap_trace_op {
	AP_TRACE_AND = 1,
	AP_TRACE_OR,
	AP_TRACE_NOT,
	AP_TRACE_EQ, /* this and all behind it: a field and a number */
	AP_TRACE_NE,
	AP_TRACE_LE,
	AP_TRACE_GE,
	AP_TRACE_LT,
	AP_TRACE_GT,
	AP_TRACE_BITS
};

struct ap_trace_node {
	u8 op;	 /* enum ap_trace_op */
	u8 size; /* of the field: 1, 2, 4 or 8 */
	u8 is_signed;
	u8 reserved;
	u16 a, b;  /* operands: earlier nodes; of a comparison a is the field's offset */
	u64 value; /* as wide as the field */
};

#define AP_TRACE_NODES_MAX 1024U

/* Where a field is. */
struct ap_trace_field {
	u32 offset, size;
	bool is_signed;
};

enum ap_trace_field_kind { AP_TRACE_FIELD_NONE, AP_TRACE_FIELD_NO_NUMBER, AP_TRACE_FIELD_NUMBER };

typedef enum ap_trace_field_kind ap_trace_find(void *arg, const char *name, size_t len,
					       struct ap_trace_field *out);

/* How many nodes, of which the last one is the whole; 0 with the reason in *why, one line. */
AP_MUST_CHECK u32 ap_trace_expr_parse(const char *text, ap_trace_find *find, void *arg,
				      struct ap_trace_node *nodes, u32 max, struct ap_str *why);
/* False as well where a field lies behind the end of raw. */
bool ap_trace_expr_match(const struct ap_trace_node *nodes, u32 n, const u8 *raw, u32 size);
/* Its lower `size` bytes, as the number that they are. */
u64 ap_trace_widened(u64 v, u32 size, bool is_signed);

#endif
