/* SPDX-License-Identifier: MIT */
/*
 * What a family of x86 CPUs brings to the driver, and the registers by number.  Private to src/perfctr.
 * The pointers are set once, when the CPU is known: what perfctr did by patching its call sites.
 */
#ifndef AP_PERFCTR_X86_FAMILY_H
#define AP_PERFCTR_X86_FAMILY_H

#include "perfctr/x86.h"

#define AP_MSR_P5_CESR	       0x11
#define AP_MSR_P5_CTR0	       0x12
#define AP_MSR_P6_CTR0	       0xc1
#define AP_MSR_P6_EVNTSEL0     0x186
#define AP_MSR_OFFCORE_RSP0    0x1a6
#define AP_MSR_FIXED_CTR0      0x309
#define AP_MSR_FIXED_CTRL      0x38d
#define AP_MSR_GLOBAL_STATUS   0x38e
#define AP_MSR_GLOBAL_CTRL     0x38f
#define AP_MSR_GLOBAL_OVF_CTRL 0x390
#define AP_MSR_K7_EVNTSEL0     0xc0010000
#define AP_MSR_K7_CTR0	       0xc0010004
#define AP_MSR_P4_CTR0	       0x300
#define AP_MSR_P4_CCCR0	       0x360
#define AP_MSR_P4_ESCR0	       0x3a0
#define AP_MSR_P4_PEBS	       0x3f1
#define AP_MSR_P4_PEBS_PMV     0x3f2

#define AP_EVNTSEL_CPL	  0x00030000
#define AP_EVNTSEL_USER	  0x00010000
#define AP_EVNTSEL_OS	  0x00020000
#define AP_EVNTSEL_INT	  0x00100000
#define AP_EVNTSEL_ENABLE 0x00400000

#define AP_PMC_FIXED	 0x40000000u
#define AP_P4_FAST_RDPMC 0x80000000u

#define AP_APIC_EOI	  0xb0
#define AP_APIC_LVTPC	  0x340
#define AP_APIC_MASKED	  0x10000
#define AP_PERFCTR_VECTOR 0xee /* LOCAL_PERFCTR_VECTOR */

struct ap_x86ctr_family {
	unsigned nrctrs;
	unsigned nfixed; /* the last of them: of fixed events, mapped from AP_PMC_FIXED */
	bool has_offcore;
	u32 pmc_flags;	/* bits that pmc_map may have beside the number */
	u32 ctl0;	/* MSR of the first control register */
	u32 ctr0;	/* MSR of the first counter */
	u64 write_mask; /* of what is written to a counter */
	u64 fixed_mask; /* likewise */
	bool has_lvtpc; /* can interrupt */
	bool no_tsc;
	u32 reserved; /* bits of an evntsel */
	u32 cpl;      /* bits of an evntsel of which one must be set; 0: it has none */

	/* All of these on an empty control as well; they find pmc_map and counts right. */
	int (*check)(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global);
	void (*write_control)(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			      const struct ap_x86ctr_state *state);
	u64 (*read)(const struct ap_x86ctr *drv, u32 map);
	/* NULL, or what else it takes when these hardware counters, a mask, were loaded. */
	void (*loaded)(const struct ap_x86ctr *drv, u32 pmcs);
	/* Zeroes the CPU's registers. */
	void (*clear)(const struct ap_x86ctr *drv);
};

extern const struct ap_x86ctr_family ap_x86ctr_p5, ap_x86ctr_p5mmx, ap_x86ctr_cyrix,
	ap_x86ctr_centaur;
extern const struct ap_x86ctr_family ap_x86ctr_p6, ap_x86ctr_k7;
extern const struct ap_x86ctr_family ap_x86ctr_core2, ap_x86ctr_nehalem;
extern const struct ap_x86ctr_family ap_x86ctr_c3;
extern const struct ap_x86ctr_family ap_x86ctr_p4;
extern const struct ap_x86ctr_family ap_x86ctr_generic;

/* Shared by families. */
u64 ap_x86ctr_rdpmc(const struct ap_x86ctr *drv, u32 map);
void ap_x86ctr_load(const struct ap_x86ctr *drv, u32 *cached, u32 msr, u32 val);
void ap_x86ctr_clear_msrs(const struct ap_x86ctr *drv, u32 first, unsigned n);
void ap_x86ctr_write_evntsels(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			      const struct ap_x86ctr_state *state);

/* Each counter's own register has its enable bit (K7 and later). */
int ap_x86ctr_check_each_enabled(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state,
				 int is_global);

/* The hardware counter of a number that programs use; nrctrs or more: there is none. */
static inline u32 ap_x86ctr_number(u32 map, u32 flags, u32 nrctrs, u32 nfixed)
{
	u32 first = nrctrs - nfixed;

	if (!nfixed)
		return map & ~flags;
	if (!(map & AP_PMC_FIXED))
		return map < first ? map : nrctrs;
	return (map & ~AP_PMC_FIXED) < nfixed ? first + (map & ~AP_PMC_FIXED) : nrctrs;
}

static inline u32 ap_x86ctr_pmc(const struct ap_x86ctr *drv, u32 map)
{
	const struct ap_x86ctr_family *family = drv->family;

	return ap_x86ctr_number(map, family->pmc_flags, family->nrctrs, family->nfixed);
}

static inline bool ap_x86ctr_is_fixed(const struct ap_x86ctr *drv, u32 pmc)
{
	return pmc >= drv->family->nrctrs - drv->family->nfixed;
}

/* Names the CPU: family, type, features.  0 or -ENODEV. */
int ap_x86ctr_detect(struct ap_x86ctr *drv);

#endif
