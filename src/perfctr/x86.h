/* SPDX-License-Identifier: MIT */
/*
 * The low-level perfctr driver for x86: one state's control and counts, and the procedures that put
 * it on a CPU and take it off.  docs/design/perfctr.md has the protocol; the layouts of control and
 * state (up to pmc[]) are those that perfctr's programs know.
 *
 * The driver sees hardware through struct ap_x86ctr_ops only.  It allocates nothing and takes no
 * lock: suspend, resume, sample, identify_overflow and ireload run on the CPU that they are about,
 * which must not change under them; init, exit, reserve, release and update_control are one
 * caller's at a time.
 */
#ifndef AP_PERFCTR_X86_H
#define AP_PERFCTR_X86_H

#include "perfctr/perfctr.h"

#define AP_X86CTR_MAX  18
#define AP_X86CTR_CPUS 64 /* of one driver: bits of the mask of forbidden CPUs */

struct ap_x86ctr_sum {
	u64 tsc;
	u64 pmc[AP_X86CTR_MAX];
};

struct ap_x86ctr_control {
	u32 tsc_on;
	u32 nractrs; /* accumulating counters: the first of the arrays */
	u32 nrictrs; /* interrupting counters: those behind them */
	u32 pmc_map[AP_X86CTR_MAX];
	u32 evntsel[AP_X86CTR_MAX];
	struct {
		u32 escr[AP_X86CTR_MAX];
		u32 pebs_enable;
		u32 pebs_matrix_vert;
	} p4;
	s32 ireset[AP_X86CTR_MAX]; /* negative */
	u32 reserved[4];
};
_Static_assert(sizeof(struct ap_x86ctr_control) == 324 &&
		       offsetof(struct ap_x86ctr_control, evntsel) == 84 &&
		       offsetof(struct ap_x86ctr_control, p4) == 156 &&
		       offsetof(struct ap_x86ctr_control, ireset) == 236,
	       "the layout that programs know");

struct ap_x86ctr_state {
	u32 cstatus;
	struct {
		u32 id;		  /* names the control; 0 is nobody's */
		s32 isuspend_cpu; /* whose i-mode counters still hold this state's values */
	} k1;
	u32 tsc_start; /* not in a struct with tsc_sum: that would be padded */
	u64 tsc_sum;
	struct ap_ctr_pmc pmc[AP_X86CTR_MAX];
	/* Programs see what is above. */
	struct ap_x86ctr_control control;
	u32 p4_escr_map[AP_X86CTR_MAX]; /* MSR of each counter's ESCR */
};
_Static_assert(offsetof(struct ap_x86ctr_state, tsc_sum) == 16 &&
		       offsetof(struct ap_x86ctr_state, pmc) == 24 &&
		       offsetof(struct ap_x86ctr_state, control) == 312,
	       "the layout that programs map");

/* All act on the CPU that calls, but for on_each_cpu. */
struct ap_x86ctr_ops {
	void (*cpuid)(void *host, u32 leaf, u32 regs[4]); /* eax, ebx, ecx, edx */
	u64 (*rdmsr)(void *host, u32 msr);
	void (*wrmsr)(void *host, u32 msr, u64 val);
	u64 (*rdpmc)(void *host, u32 counter);
	u64 (*rdtsc)(void *host);
	unsigned (*this_cpu)(void *host);
	void (*on_each_cpu)(void *host, void (*fn)(void *arg), void *arg);
	/* The local APIC's registers; NULL where there is none to be had: no i-mode counters then. */
	void (*apic_write)(void *host, u32 reg, u32 val);
};

#define AP_X86CTR_ESCRS 0x42 /* MSRs 0x3a0 to 0x3e1 */

/* What is in a CPU's registers: zero is what clear() leaves there. */
struct ap_x86ctr_cache {
	u32 id;
	u32 ctl[AP_X86CTR_MAX]; /* EVNTSEL or CCCR by hardware counter; [0] is CESR on a P5 */
	u32 escr[AP_X86CTR_ESCRS];
	u32 pebs_enable;
	u32 pebs_matrix_vert;
};

struct ap_x86ctr_family;

struct ap_x86ctr {
	struct ap_ctr ctr;
	const struct ap_x86ctr_ops *ops;
	void *host;
	const struct ap_x86ctr_family *family;
	u32 model; /* of P4: decides what ESCRs there are */
	bool is_ht;
	bool lvtpc_trips; /* the APIC's entry masks itself at each interrupt */
	u64 forbidden;	  /* CPUs whose threads must not touch the counters */
};

/*
 * Finds out what CPU it is.  -ENODEV: one without counters and without a TSC; -EINVAL: more CPUs
 * than a driver knows.
 */
AP_MUST_CHECK int ap_x86ctr_init(struct ap_x86ctr *drv, const struct ap_x86ctr_ops *ops, void *host,
				 struct ap_x86ctr_cache *caches, unsigned ncpus);
static inline void ap_x86ctr_exit(struct ap_x86ctr *drv)
{
	ap_ctr_exit(&drv->ctr);
}

/* NULL, or the service that has the counters.  Clears them and lets them interrupt. */
AP_MUST_CHECK static inline const char *ap_x86ctr_reserve(struct ap_x86ctr *drv,
							  const char *service)
{
	return ap_ctr_reserve(&drv->ctr, service);
}

/* Of their holder; nothing otherwise.  Clears them and shuts the interrupt off. */
static inline void ap_x86ctr_release(struct ap_x86ctr *drv, const char *service)
{
	ap_ctr_release(&drv->ctr, service);
}

/*
 * Takes state->control into use: -EPERM for bits that are reserved and for i-mode counters that
 * cannot interrupt, -EINVAL for all else that is wrong; the state is off then.  No i-mode counter of
 * the state may be running.  is_global: not of one process, may watch both threads of a P4.
 */
AP_MUST_CHECK int ap_x86ctr_update_control(struct ap_x86ctr *drv, struct ap_x86ctr_state *state,
					   int is_global);
void ap_x86ctr_suspend(struct ap_x86ctr *drv, struct ap_x86ctr_state *state);
void ap_x86ctr_resume(struct ap_x86ctr *drv, struct ap_x86ctr_state *state);
/* As suspend and resume, but only reads. */
void ap_x86ctr_sample(struct ap_x86ctr *drv, struct ap_x86ctr_state *state);

/* After reserve, before a state is on. */
static inline void ap_x86ctr_set_ihandler(struct ap_x86ctr *drv, ap_ctr_ihandler handler, void *arg)
{
	ap_ctr_set_ihandler(&drv->ctr, handler, arg);
}

/* The vector's entry. */
void ap_x86ctr_interrupt(struct ap_x86ctr *drv, unsigned long pc);
/* Of a suspended state: which counters (bits of indexes) overflowed.  They start over. */
u32 ap_x86ctr_identify_overflow(struct ap_x86ctr *drv, struct ap_x86ctr_state *state);
/* Before resume: have it load the counters whatever it believes is in them. */
void ap_x86ctr_ireload(struct ap_x86ctr *drv, struct ap_x86ctr_state *state);

unsigned ap_x86ctr_nrctrs(const struct ap_x86ctr *drv);

#endif
