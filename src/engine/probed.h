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

/* code: what is in memory at pc.  If it is such a breakpoint, it becomes the instruction's first byte.  Lock held. */
void ap_probed_look(u64 pc, u8 *code);
/* The same of what has been looked at before, by whoever reads code. */
void ap_probed_fix(u64 pc, u8 *code);
bool ap_probed_is_at(u64 pc); /* lock held */
/* Code goes, or changes.  Lock held. */
void ap_probed_forget(u64 start, u64 end);
/*
 * The thread is at such an instruction: the CPU and the kernel execute it, and the thread comes back by a signal.  Returns where
 * that cannot be: false, the breakpoint is gone; true, the instruction is to be executed without it.
 */
AP_MUST_CHECK bool ap_probed_visit(struct ap_thread *t, u64 pc);
/* It is back, with the registers that it has: counts what it has executed.  From the handler as well. */
void ap_probed_back(struct ap_thread *t);
/* Calls by which the program may ask the kernel for breakpoints in its text: code that is there is read again. */
s64 ap_call_probing(struct ap_thread *t, struct ap_call *c);

#endif
