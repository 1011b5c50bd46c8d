/* SPDX-License-Identifier: MIT */
/* Among the rig's files: children under ptrace. */
#ifndef AP_TESTS_ENGINE_CHILD_H
#define AP_TESTS_ENGINE_CHILD_H

#include "rig.h"

enum {
	RIG_STEPPED = 0,  /* by one instruction, or by one iteration of one */
	RIG_ENDED = -1,	  /* as *status says */
	RIG_ENTERED = -2, /* a handler's frame was made, and nothing executed */
			  /* else the signal that it is about to get */
};

/* Stopped, with rig.regs but for rip, which is what entry() returns in the child. */
pid_t rig_child_new(u64 (*entry)(void *arg), void *arg);
void rig_child_regs(pid_t pid, struct ap_regs *regs);
void rig_child_set(pid_t pid, const struct ap_regs *regs);
/* Each with a signal for it, or 0. */
int rig_child_step(pid_t pid, int sig, int *status);
int rig_child_go(pid_t pid, int sig, int *status);
void rig_child_end_steps(pid_t pid); /* before it goes on otherwise */
int rig_child_finish(pid_t pid,
		     int sig); /* to its end, with all signals that come; returns its status */
u8 rig_child_poke(pid_t pid, u64 at, u8 byte); /* returns what was there */
/* Steps through it to its end. */
int rig_child_trace(pid_t pid, struct rig_trace *t);

#endif
