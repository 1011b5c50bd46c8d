/* SPDX-License-Identifier: MIT */
/*
 * A system call of the program's, and how the engine makes it in its place.
 *
 * A handler returns what the program shall find in rax, or AP_SYSCALL_INTERRUPTED or
 * AP_SYSCALL_UNTOUCHED where the program has to execute the instruction again.  A handler that
 * changes more registers than the kernel's contract says does so in t->regs.
 */
#ifndef AP_ENGINE_CALL_H
#define AP_ENGINE_CALL_H

#include "base/types.h"
#include "engine/runtime/engine.h"
#include "sys/nr.h"

struct ap_call {
	u64 nr;
	u64 a[6];
	u64 pc; /* of the instruction */
};

#define AP_CALL_OVER(ret) ((ret) == AP_SYSCALL_INTERRUPTED || (ret) == AP_SYSCALL_UNTOUCHED)

typedef s64 (*ap_call_fn)(struct ap_thread *t, struct ap_call *c);

/* call.c */
/* The call as it stands, with signals let in. */
s64 ap_call_pass(struct ap_thread *t, struct ap_call *c);
/*
 * Blocks all signals for a call that must not meet one.  False: one is waiting already; the handler
 * returns AP_SYSCALL_UNTOUCHED and it is delivered first.  Else *mask is the program's.
 */
AP_MUST_CHECK bool ap_call_block(struct ap_thread *t, u64 *mask);
/* What the call's arguments point to may be written to; done by ap_call_pass. */
void ap_call_give_back(const struct ap_call *c);
/* A string of the program's: its length, or -EFAULT, or -ENAMETOOLONG. */
s64 ap_call_str(char *dst, u64 src, u64 cap);

#endif
