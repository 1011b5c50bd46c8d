/* SPDX-License-Identifier: MIT */
/*
 * What a sample of a probe by name has as RAW, as steps that the thread takes at the probe: the
 * arguments that uprobe_events has for it, each a value that is made of registers and memory.  The
 * supervisor writes them (linux/host/probe_form.c), service/probe_raw.c takes them.
 */
#ifndef AP_ABI_PROBE_H
#define AP_ABI_PROBE_H

#include "base/types.h"

#define AP_PROBE_FORMS	    16U
#define AP_PROBE_STEPS	    60U
#define AP_PROBE_FORMS_SIZE 8192ULL

enum ap_probe_op {
	AP_PROBE_END,
	AP_PROBE_REG,	/* the value is a register, of enum perf_event_x86_regs; */
	AP_PROBE_STACK, /* the n-th word on the stack; */
	AP_PROBE_IMM,	/* a constant; */
	AP_PROBE_DEREF, /* the word at the value and so many bytes */
	AP_PROBE_FILE,	/* where the probe is, and so many bytes: a place in its file; */
	/* then what the argument is: */
	AP_PROBE_PUT,	  /* the value's lower bytes, */
	AP_PROBE_PUT_AT,  /* or what is at the value and so many bytes, */
	AP_PROBE_STRING,  /* the string there, */
	AP_PROBE_STRINGS, /* strings, whose addresses are there, */
	AP_PROBE_COMM,	  /* the task's name; */
	/* then what has it changed or repeated: */
	AP_PROBE_BITS, /* shifted left and right, AP_PROBE_SHIFTS */
	AP_PROBE_TIMES /* an array, of so many */
};

#define AP_PROBE_ARRAY_MAX 64U
/* All arguments of a record, as in the kernel: longer strings are cut. */
#define AP_PROBE_DATA_MAX 4096U

#define AP_PROBE_SHIFTS(left, right) ((left) | (right) << 8)

#define AP_PROBE_STEP(op, size, arg) ((u64)(op) | (u64)(size) << 8 | (u64)(arg) << 16)
#define AP_PROBE_OP(step)	     ((step)&0xff)
#define AP_PROBE_SIZE(step)	     ((u32)((step) >> 8 & 0xff))
#define AP_PROBE_ARG(step)	     ((s64)(step) >> 16)

struct ap_probe_form {
	u32 id; /* of the tracepoint; 0: of an event that has no name */
	u32 is_return;
	u32 users; /* events; the supervisor's */
	u32 unused;
	u64 step[AP_PROBE_STEPS];
};

_Static_assert(AP_PROBE_FORMS * sizeof(struct ap_probe_form) <= AP_PROBE_FORMS_SIZE, "they fit");

#endif
