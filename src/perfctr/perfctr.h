/* SPDX-License-Identifier: MIT */
/*
 * What the low-level counter drivers of all architectures share: the layout of a counter's state,
 * the cstatus word that packs which parts of a state are on, a driver's life (init, which user has the
 * counters, ids of controls, exit), the numbers of the overflow signal and of features and CPU types.  Numbers and layouts are those of perfctr 2.6, so that a state can be
 * mapped by programs that were built for it.
 */
#ifndef AP_PERFCTR_PERFCTR_H
#define AP_PERFCTR_PERFCTR_H

#include "base/types.h"

/* si_code of an overflow signal as programs see it; the kernel's own has a class in the high half. */
#define AP_SI_PMC_OVF	     'P'
#define AP_SI_PMC_OVF_KERNEL ((3 << 16) | AP_SI_PMC_OVF)

#define AP_CTR_FEATURE_RDPMC 0x01 /* programs may read counters themselves */
#define AP_CTR_FEATURE_RDTSC 0x02
#define AP_CTR_FEATURE_PCINT 0x04 /* counters interrupt when they overflow */

enum ap_ctr_type {
	AP_CTR_X86_GENERIC = 0,
	AP_CTR_X86_P5 = 1,
	AP_CTR_X86_P5MMX = 2,
	AP_CTR_X86_P6 = 3,
	AP_CTR_X86_PII = 4,
	AP_CTR_X86_PIII = 5,
	AP_CTR_X86_CYRIX_MII = 6,
	AP_CTR_X86_WINCHIP_C6 = 7,
	AP_CTR_X86_WINCHIP_2 = 8,
	AP_CTR_X86_K7 = 9,
	AP_CTR_X86_C3 = 10,
	AP_CTR_X86_P4 = 11,
	AP_CTR_X86_P4M2 = 12,
	AP_CTR_X86_K8 = 13,
	AP_CTR_X86_PENTM = 14,
	AP_CTR_X86_K8C = 15,
	AP_CTR_X86_P4M3 = 16,
	AP_CTR_X86_CORE2 = 18,
	AP_CTR_X86_NEHALEM = 21,
	AP_CTR_X86_WESTMERE = 22
};

/* map: the number that reads the counter; start: what it read when the period began. */
struct ap_ctr_pmc {
	u32 map;
	u32 start;
	u64 sum;
};

/*
 * cstatus: bit 31 says that the TSC is on, bits 16.. have the number of interrupting counters, bits
 * 8.. of all, bits 0.. of accumulating ones.  0 is a state that is off.
 */
static inline u32 ap_ctr_mk_cstatus(u32 tsc_on, u32 nractrs, u32 nrictrs)
{
	return (u32)(tsc_on != 0) << 31 | nrictrs << 16 | (nractrs + nrictrs) << 8 | nractrs;
}

static inline u32 ap_ctr_cstatus_enabled(u32 cstatus)
{
	return cstatus;
}

static inline int ap_ctr_cstatus_has_tsc(u32 cstatus)
{
	return cstatus >> 31 != 0;
}

static inline u32 ap_ctr_cstatus_nractrs(u32 cstatus)
{
	return cstatus & 0x7f;
}

static inline u32 ap_ctr_cstatus_nrctrs(u32 cstatus)
{
	return cstatus >> 8 & 0x7f;
}

static inline u32 ap_ctr_cstatus_has_ictrs(u32 cstatus)
{
	return cstatus >> 16 & 0x7f;
}

/* A period ends and the next begins: the counter reads `now`. */
static inline void ap_ctr_pmc_add(struct ap_ctr_pmc *pmc, u32 now)
{
	pmc->sum += now - pmc->start;
	pmc->start = now;
}

/* Runs in the interrupt, on the CPU whose counter overflowed. */
typedef void (*ap_ctr_ihandler)(void *arg, unsigned long pc);

struct ap_ctr;

/* What an architecture brings to the life of its driver. */
struct ap_ctr_arch {
	u32 cache_size; /* of what is known of a CPU; it begins with the id */
	u32 max_cpus;
	int (*detect)(struct ap_ctr *ctr);     /* fills in name, type and features */
	int (*exercise)(struct ap_ctr *ctr);   /* every procedure once, on a state of nobody's */
	void (*open_cpus)(struct ap_ctr *ctr); /* clears the counters of all, lets them interrupt */
	void (*close_cpus)(struct ap_ctr *ctr);
};

/* The part of a driver that is the same on all architectures, and its first member. */
struct ap_ctr {
	const struct ap_ctr_arch *arch;
	const char *name; /* of the CPU; NULL before init and after exit */
	u32 type;	  /* enum ap_ctr_type; enum ap_ppcctr_type */
	u32 features;
	u32 last_id;
	u32 ncpus;
	void *caches;	     /* borrowed from init to exit, one per CPU */
	const char *service; /* that has the counters, or NULL */
	ap_ctr_ihandler ihandler;
	void *ihandler_arg;
};

/* -EINVAL: more CPUs than the architecture's drivers know; else what detection says. */
AP_MUST_CHECK int ap_ctr_init(struct ap_ctr *ctr, const struct ap_ctr_arch *arch, void *caches,
			      unsigned ncpus);
void ap_ctr_exit(struct ap_ctr *ctr);
/* NULL, or the service that has the counters. */
AP_MUST_CHECK const char *ap_ctr_reserve(struct ap_ctr *ctr, const char *service);
/* Of their holder; nothing otherwise. */
void ap_ctr_release(struct ap_ctr *ctr, const char *service);
void ap_ctr_set_ihandler(struct ap_ctr *ctr, ap_ctr_ihandler handler, void *arg);
/* A control's name; never 0, and none that a CPU may remember as another's. */
u32 ap_ctr_new_id(struct ap_ctr *ctr);

#endif
