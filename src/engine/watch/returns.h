/* SPDX-License-Identifier: MIT */
/*
 * returns.c: returns of functions whose entry has a return probe (uretprobes).  The kernel puts another return address on the
 * program's stack; here the stack stays as it is, and the thread comes to the dispatcher where such a call returns to.
 */
#ifndef AP_ENGINE_RETURNS_H
#define AP_ENGINE_RETURNS_H

#include "base/types.h"

struct ap_thread;

/* Of which file an instruction is, and where in it.  ino 0: of none. */
struct ap_file_place {
	u64 pc, dev, ino, off;
};

/* The thread is about to execute the first instruction of what has a return probe. */
void ap_returns_enter(struct ap_thread *t, const struct ap_file_place *entry);
/* It has not: a signal goes first. */
void ap_returns_undo(struct ap_thread *t);
/* Does any call return to this address?  Lock held. */
bool ap_returns_is_at(u64 pc);
/*
 * The thread is at this address: the entry of a call that has returned to it.  Called until it says false, as functions that
 * were reached by a jump return where their callers do.
 */
AP_MUST_CHECK bool ap_returns_take(struct ap_thread *t, u64 pc, struct ap_file_place *entry);
/* A child that goes on with the parent's stack. */
void ap_returns_inherit(struct ap_thread *child, const struct ap_thread *parent);

#endif
