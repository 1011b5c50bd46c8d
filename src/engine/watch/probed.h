/* SPDX-License-Identifier: MIT */
/*
 * probed.c: instructions of the program in whose place the kernel has put a breakpoint (uprobes of other tools, and those that
 * the program opens where no session serves them).
 */
#ifndef AP_ENGINE_PROBED_H
#define AP_ENGINE_PROBED_H

#include "base/types.h"

struct ap_thread;
struct ap_call;

/* code: what is in memory at pc.  Is it an int3 of which ap_probed_visit() is to find out whose it is?  Lock held. */
bool ap_probed_is_unknown(u64 pc, u8 code);
/* An int3 that is the kernel's becomes the instruction's first byte.  By whoever reads code. */
void ap_probed_fix(u64 pc, u8 *code);
bool ap_probed_is_at(u64 pc); /* without the lock it may be gone, which the visit finds */
/* Code goes, or changes.  Lock held. */
void ap_probed_forget(u64 start, u64 end);
/*
 * The thread is at such an instruction: the CPU and the kernel execute it, and the thread comes back by a signal.  Returns where
 * that cannot be: false, the code is to be read again, as the breakpoint is gone, or is known now; true, the instruction is to be
 * executed without it.
 */
AP_MUST_CHECK bool ap_probed_visit(struct ap_thread *t, u64 pc);
/* It is back, with the registers that it has: counts what it has executed.  From the handler as well. */
void ap_probed_back(struct ap_thread *t);
/* The kernel has functions that are probed return to code of its own, which no one can read and the CPU executes step by step. */
bool ap_probed_is_trampoline(u64 pc); /* as far as is known */
/*
 * Was it an instruction of that which has led from pc to `to`?  false also where one of the program's has been executed behind it,
 * as the kernel went there in the middle of a step.  Lock not held.
 */
AP_MUST_CHECK bool ap_probed_returns(u64 pc, u64 to);
/* Calls by which the program may ask the kernel for breakpoints in its text: code that is there is read again. */
s64 ap_call_probing(struct ap_thread *t, struct ap_call *c);

#endif
