/* SPDX-License-Identifier: MIT */
/*
 * Tasks that another program of the session traces: what a traced thread and the engine of its tracer tell each other.
 * docs/design/traced.md has the protocol.
 *
 * The tracer's engine reads and writes struct ap_traced, and the thread's registers, in the stopped task's memory; both
 * have the same image, so they agree on where it is.  What it finds there is the task's own word for itself.
 */
#ifndef AP_ENGINE_TRACED_H
#define AP_ENGINE_TRACED_H

#include "base/types.h"

/* ap_traced.how: 0, or AP_TRACED and what its tracer wants to see. */
#define AP_TRACED	1u
#define AP_TRACED_CALLS 2u  /* stops at the entry to a system call and at its exit */
#define AP_TRACED_STEP	4u  /* ... when one instruction has been executed */
#define AP_TRACED_COME	8u  /* ... as soon as its registers are the program's */
#define AP_TRACED_FLUSH 16u /* its code has been changed */

#define AP_TRACED_BLIND                                                                            \
	32u /* its tracer is not told of an exec, and so cannot put an engine into the image */
#define AP_TRACED_LOOK (AP_TRACED_STEP | AP_TRACED_COME | AP_TRACED_FLUSH) /* in the dispatcher */

/* Why a thread stands at the engine's trap instruction. */
enum ap_traced_stop {
	AP_TRACED_RUNS,
	AP_TRACED_LOST,	  /* nobody has seen it: there is no tracer any more */
	AP_TRACED_ENTRY,  /* of the call nr; t->regs are those that a tracer expects then */
	AP_TRACED_EXIT,	  /* of it */
	AP_TRACED_SIGNAL, /* an instruction of the program's raised what is in t->pend_* */
	AP_TRACED_STEPPED,
	AP_TRACED_CAME
};

struct ap_traced {
	u64 mark;      /* behind the trap instruction, where it stands then */
	u64 nr;	       /* orig_rax */
	u32 how;       /* AP_TRACED_* */
	u32 opts;      /* PTRACE_O_*, by which children are traced, too */
	u32 stop;      /* enum ap_traced_stop */
	u32 seg;       /* made for its next image */
	u8 deliver;    /* the tracer wants it to have the signal that it stopped for */
	bool entered;  /* the tracer knows of the entry to a call, and not yet of its exit */
	bool calls;    /* it is in a call of the program's */
	bool again;    /* the call that a nudge meets is to be made again, and its entry told */
	bool steps;    /* the one instruction has been started */
	bool by_other; /* PTRACE_TRACEME, and the tracer is not of the session */
	u32 party; /* the tracer's, where it says AP_TRACED_FLUSH: what it changed is on its own board */
};

struct ap_seg;
struct ap_slot;
struct ap_call;
struct ap_thread;

/* traced.c: the traced side */
void ap_traced_begin(struct ap_thread *t); /* of an image: as the boot page says */
/* The thread has called PTRACE_TRACEME. */
void ap_traced_by_parent(struct ap_thread *t);
/* A child is traced by the same tracer from its birth on, if that wants it; k: CLONE_* of the call. */
void ap_traced_child(struct ap_thread *child, const struct ap_traced *parent, u64 clone_flags);
/* False: the call at pc is not to be made; *ret is its result. */
AP_MUST_CHECK bool ap_traced_entry(struct ap_thread *t, u64 pc, s64 *ret);
/* t->regs are those of after the call, but where it is to be made again: why is what the kernel shows then, else 0. */
void ap_traced_exit(struct ap_thread *t, u64 pc, s64 why);
/*
 * The exec follows; exec_* of the slot are there.  Makes the new image's segment, by which the tracer's engine knows.  False:
 * there is no tracer of the session, or not any more.
 */
AP_MUST_CHECK bool ap_traced_execs(struct ap_thread *t);
/* Its number, where the task has made one: head and first slot are read; else UINT32_MAX. */
u32 ap_traced_find_exec(u32 pid, struct ap_seg *head, struct ap_slot *slot);
void ap_traced_set_state(u32 seg, u32 state); /* enum ap_seg_state */
void ap_traced_exec_failed(struct ap_thread *t);
/* False: the signal that is about to be delivered is not to be. */
AP_MUST_CHECK bool ap_traced_signal(struct ap_thread *t);
/* In the dispatcher, before code is entered; may start one instruction, and not return. */
void ap_traced_look(struct ap_thread *t);
/* In the master handler: the trap of a stop that no tracer saw. */
bool ap_traced_is_lost(struct ap_thread *t, u32 sig, u64 pc);

/* traced_gate.S */
void ap_traced_trap(void);
extern const u8 ap_traced_mark[];
extern const u8 ap_task_cloned[]; /* task_gate.S */

/* tracer.c: the tracing side */
s64 ap_call_wait(struct ap_thread *t, struct ap_call *c);
s64 ap_call_ptrace(struct ap_thread *t, struct ap_call *c);
void ap_tracer_in_child(void); /* what the parent traces a fork's child does not */

#endif
