/* SPDX-License-Identifier: MIT */
/*
 * The low-level perfctr driver for 32-bit PowerPC: 604, 604e, 750, 7400, 7410, 745x, and any that has a
 * timebase.  The same protocol as on x86 (docs/design/perfctr.md), with three control registers
 * for all counters, and without interrupts: there are no i-mode counters.
 */
#ifndef AP_PERFCTR_PPC_H
#define AP_PERFCTR_PPC_H

#include "perfctr/perfctr.h"

#define AP_PPCCTR_MAX  8
#define AP_PPCCTR_CPUS 64

#define AP_SPR_TBL   268
#define AP_SPR_PVR   287
#define AP_SPR_MMCR2 944
#define AP_SPR_PMC5  945
#define AP_SPR_PMC6  946
#define AP_SPR_BAMR  951
#define AP_SPR_MMCR0 952
#define AP_SPR_PMC1  953
#define AP_SPR_PMC2  954
#define AP_SPR_MMCR1 956
#define AP_SPR_PMC3  957
#define AP_SPR_PMC4  958

#define AP_MMCR0_FC	    0x80000000u /* freeze counters */
#define AP_MMCR0_PMXE	    0x04000000u /* interrupt */
#define AP_MMCR0_FCECE	    0x02000000u /* freeze when a counter turns negative */
#define AP_MMCR0_TRIGGER    0x00002000u /* the others wait for PMC1 to */
#define AP_MMCR0_SELECTS    0x00001fffu
#define AP_MMCR2_THRESHMULT 0x80000000u

enum ap_ppcctr_type {
	AP_CTR_PPC_GENERIC = 0,
	AP_CTR_PPC_604 = 1,
	AP_CTR_PPC_604E = 2,
	AP_CTR_PPC_750 = 3,
	AP_CTR_PPC_7400 = 4,
	AP_CTR_PPC_7450 = 5
};

struct ap_ppcctr_sum {
	u64 tsc;
	u64 pmc[AP_PPCCTR_MAX];
};

struct ap_ppcctr_control {
	u32 tsc_on;
	u32 nractrs;
	u32 nrictrs; /* 0 */
	u32 pmc_map[AP_PPCCTR_MAX];
	u32 evntsel[AP_PPCCTR_MAX];
	s32 ireset[AP_PPCCTR_MAX]; /* not negative, had i-mode counters a use */
	struct {
		u32 mmcr0; /* without the selectors of PMC1 and PMC2 */
		u32 mmcr2;
	} ppc;
	u32 reserved[4];
};
_Static_assert(sizeof(struct ap_ppcctr_control) == 132 &&
		       offsetof(struct ap_ppcctr_control, evntsel) == 44 &&
		       offsetof(struct ap_ppcctr_control, ireset) == 76 &&
		       offsetof(struct ap_ppcctr_control, ppc) == 108,
	       "the layout that programs know");

struct ap_ppcctr_state {
	u32 cstatus;
	struct {
		u32 id;
		s32 isuspend_cpu;
	} k1;
	u32 tsc_start;
	u64 tsc_sum;
	struct ap_ctr_pmc pmc[AP_PPCCTR_MAX];
	/* Programs see what is above. */
	u32 ppc_mmcr[3];
	struct ap_ppcctr_control control;
};
_Static_assert(offsetof(struct ap_ppcctr_state, pmc) == 24 &&
		       offsetof(struct ap_ppcctr_state, ppc_mmcr) == 152,
	       "the layout that programs map");

struct ap_ppcctr_ops {
	u32 (*mfspr)(void *host, u32 spr); /* also the timebase's lower half */
	void (*mtspr)(void *host, u32 spr, u32 val);
	u32 (*timebase_hz)(void *host); /* 0: none, or nobody knows */
	unsigned (*this_cpu)(void *host);
	void (*on_each_cpu)(void *host, void (*fn)(void *arg), void *arg);
};

struct ap_ppcctr_cache {
	u32 id;
	u32 mmcr[3];
};

struct ap_ppcctr_family;

struct ap_ppcctr {
	struct ap_ctr ctr;
	const struct ap_ppcctr_ops *ops;
	void *host;
	const struct ap_ppcctr_family *family;
	u32 timebase_hz;
};

/* Each as its namesake in x86.h. */
AP_MUST_CHECK int ap_ppcctr_init(struct ap_ppcctr *drv, const struct ap_ppcctr_ops *ops, void *host,
				 struct ap_ppcctr_cache *caches, unsigned ncpus);
static inline void ap_ppcctr_exit(struct ap_ppcctr *drv)
{
	ap_ctr_exit(&drv->ctr);
}

AP_MUST_CHECK static inline const char *ap_ppcctr_reserve(struct ap_ppcctr *drv,
							  const char *service)
{
	return ap_ctr_reserve(&drv->ctr, service);
}

static inline void ap_ppcctr_release(struct ap_ppcctr *drv, const char *service)
{
	ap_ctr_release(&drv->ctr, service);
}

/* is_global says nothing here. */
AP_MUST_CHECK int ap_ppcctr_update_control(struct ap_ppcctr *drv, struct ap_ppcctr_state *state,
					   int is_global);
void ap_ppcctr_suspend(struct ap_ppcctr *drv, struct ap_ppcctr_state *state);
void ap_ppcctr_resume(struct ap_ppcctr *drv, struct ap_ppcctr_state *state);
void ap_ppcctr_sample(struct ap_ppcctr *drv, struct ap_ppcctr_state *state);
static inline void ap_ppcctr_set_ihandler(struct ap_ppcctr *drv, ap_ctr_ihandler handler, void *arg)
{
	ap_ctr_set_ihandler(&drv->ctr, handler, arg);
}

/* No counter interrupts: none has. */
u32 ap_ppcctr_identify_overflow(struct ap_ppcctr *drv, struct ap_ppcctr_state *state);
void ap_ppcctr_ireload(struct ap_ppcctr *drv, struct ap_ppcctr_state *state);
unsigned ap_ppcctr_nrctrs(const struct ap_ppcctr *drv);

#endif
