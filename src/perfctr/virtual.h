/* SPDX-License-Identifier: MIT */
/*
 * Virtual counters: the state object of one thread, its lifetime, the hooks by which a kernel tells
 * what happens to the thread, and the operations of programs on it.  docs/design/perfctr.md.
 *
 * The port keeps one pointer per thread and asks "does it have one?" before it calls a hook; it
 * serialises all calls about one thread.  Suspend, resume, sample and interrupt run on the CPU whose
 * registers struct ap_vctr.drv sees.  Operations of another thread (a monitor) are for an owner that
 * stands still, which ops.may_access says: the port has it suspended meanwhile.
 */
#ifndef AP_PERFCTR_VIRTUAL_H
#define AP_PERFCTR_VIRTUAL_H

#include "perfctr/x86.h"

/* control.flags */
#define AP_VCTR_CLOEXEC	  1U /* an exec ends the state */
#define AP_VCTR_FROM_EXEC 2U /* sums begin anew at the next exec */

/* What programs pass, in the layout that they know. */
struct ap_vctr_control {
	s32 si_signo;
	struct ap_x86ctr_control cpu_control;
	u32 preserve; /* bit i: the sum of counter i goes on */
	u32 flags;
	u32 reserved[3];
};
_Static_assert(sizeof(struct ap_vctr_control) == 348 &&
		       offsetof(struct ap_vctr_control, preserve) == 328,
	       "the layout that programs know");

struct ap_vctr;

/* Threads are the port's: pointers that it knows, compared and handed back. */
struct ap_vctr_ops {
	/* One for the thread: zeroed, with .drv the CPUs on which it is to run.  0 or -errno. */
	int (*make)(void *world, void *thread, struct ap_vctr **v);
	void (*free)(void *world, struct ap_vctr *v);
	/* Where the thread's pointer is. */
	struct ap_vctr **(*slot)(void *world, void *thread);
	/* 0: caller traces owner, which is stopped.  -ESRCH, as ptrace(2) has it; also other errors. */
	int (*may_access)(void *world, void *caller, void *owner);
	/* To the owner: si_code AP_SI_PMC_OVF and the mask of counters; SIGILL comes with mask 0. */
	void (*signal)(void *world, void *owner, s32 signo, u32 mask);
	/* Takes CPUs from those on which the owner may run; -EINVAL if none would be left. */
	int (*forbid)(void *world, void *owner, u64 cpus);
	/* The state has changed: what programs map of it is to follow.  May be NULL. */
	void (*publish)(void *world, struct ap_vctr *v);
	u32 sample_ticks; /* so many ap_vctr_sample_thread() until the counters are read */
};

struct ap_vctr {
	struct ap_x86ctr_state cpu_state;
	const struct ap_vctr_ops *ops;
	void *world;
	struct ap_x86ctr *drv;
	void *owner;	   /* NULL: it is unlinked, or its thread has ended */
	u32 nrefs;	   /* the owner's, and one of each descriptor and mapping */
	bool is_on;	   /* its counters run on a CPU */
	bool has_bad_cpus; /* the owner has been moved to a forbidden CPU */
	s32 si_signo;
	u32 preserve, flags;
	u32 iresume_cstatus; /* what goes on after an overflow; 0: none has come */
	u32 ticks;	     /* until it is sampled */
};

/* --- operations.  caller and owner are threads of the port; v has one reference more after open */

/*
 * creat: -EEXIST if the thread has one.  Else *out may be NULL: a handle on a thread without a state,
 * whose operations are all -EINVAL.
 */
AP_MUST_CHECK int ap_vctr_open(const struct ap_vctr_ops *ops, void *world, void *caller,
			       void *owner, bool creat, struct ap_vctr **out);
void ap_vctr_get(struct ap_vctr *v);
void ap_vctr_put(struct ap_vctr *v);

/* -ESRCH: no owner any more.  What was refused has stopped the counters and kept their sums. */
AP_MUST_CHECK int ap_vctr_control(struct ap_vctr *v, void *caller,
				  const struct ap_vctr_control *control);
/* Either may be NULL.  The owner sees its counters as they stand. */
AP_MUST_CHECK int ap_vctr_read(struct ap_vctr *v, void *caller, struct ap_x86ctr_sum *sum,
			       struct ap_vctr_control *control);
AP_MUST_CHECK int ap_vctr_unlink(struct ap_vctr *v, void *caller);
/* -EPERM: no overflow has suspended it. */
AP_MUST_CHECK int ap_vctr_iresume(struct ap_vctr *v, void *caller);

/* --- hooks */

/* The thread leaves its CPU; is on one again. */
void ap_vctr_suspend_thread(struct ap_vctr *v);
void ap_vctr_resume_thread(struct ap_vctr *v);
/* Now and then while it runs, well before a counter has done 2^32 events. */
void ap_vctr_sample_thread(struct ap_vctr *v);
/* The CPU on which it runs was interrupted. */
void ap_vctr_interrupt(struct ap_vctr *v);
void ap_vctr_exec_thread(struct ap_vctr *v);
/* The counters stop, the state is nobody's; a holder of a descriptor reads the sums. */
void ap_vctr_exit_thread(struct ap_vctr *v);
/* fork: what the child's pointer is to be. */
static inline struct ap_vctr *ap_vctr_copy_thread(void)
{
	return NULL;
}
/* May be called while the owner runs: it takes effect when it is resumed. */
void ap_vctr_set_cpus_allowed(struct ap_vctr *v, u64 cpus);

#endif
