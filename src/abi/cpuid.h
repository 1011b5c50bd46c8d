/* SPDX-License-Identifier: MIT */
/*
 * Which CPU's raw event codes a session speaks, and what CPUID tells programs of its counters.
 * Clients (libpfm4, PAPI, rr) choose their event tables by CPUID, so the codes follow the host's CPU;
 * engine and host ask the same functions and need to agree on nothing else.
 */
#ifndef AP_ABI_CPUID_H
#define AP_ABI_CPUID_H

#include "base/types.h"

enum ap_cpu {
	AP_CPU_OTHER,	/* none whose codes are known here */
	AP_CPU_SKYLAKE, /* Intel cores from Sandy Bridge to Comet Lake, as to what is counted */
	AP_CPU_ICELAKE, /* and from Ice Lake on, whose branch events have other unit masks */
	AP_CPU_ZEN	/* AMD and Hygon, families 17h to 1Ah */
};

struct ap_cpuid {
	u32 eax, ebx, ecx, edx;
};

/* Whether one of models is this one: ends with 0. */
static inline bool ap_cpu_is_one_of(u32 model, const u8 *models)
{
	for (; *models; models++) {
		if (*models == model)
			return true;
	}
	return false;
}

/* leaf0: CPUID's answer to leaf 0; signature: eax of leaf 1. */
static inline enum ap_cpu ap_cpu_of(const struct ap_cpuid *leaf0, u32 signature)
{
	static const u8 skylake[] = { 0x2a, 0x2d, 0x3a, 0x3c, 0x3d, 0x3e, 0x3f,
				      0x45, 0x46, 0x47, 0x4e, 0x4f, 0x55, 0x56,
				      0x5e, 0x66, 0x8e, 0x9e, 0xa5, 0xa6, 0 };
	static const u8 icelake[] = { 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0x8f, 0x97,
				      0x9a, 0xa7, 0xaa, 0xac, 0xad, 0xae, 0xb5, 0xb7,
				      0xba, 0xbd, 0xbf, 0xc5, 0xc6, 0xcf, 0 };
	u32 family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;

	if (family == 6 || family == 0xf)
		model |= signature >> 12 & 0xf0;
	if (family == 0xf)
		family += signature >> 20 & 0xff;
	if (leaf0->ebx == 0x756e6547) { /* GenuineIntel */
		if (family == 6 && ap_cpu_is_one_of(model, skylake))
			return AP_CPU_SKYLAKE;
		if (family == 6 && ap_cpu_is_one_of(model, icelake))
			return AP_CPU_ICELAKE;
	} else if (leaf0->ebx == 0x68747541 || leaf0->ebx == 0x6f677948) {
		/* AuthenticAMD, HygonGenuine */
		if (family >= 0x17 && family <= 0x1a)
			return AP_CPU_ZEN;
	}
	return AP_CPU_OTHER;
}

/*
 * Architectural events by bit of leaf 0xa's ebx, where a set bit means that it is NOT there: core
 * cycles, instructions, reference cycles, last level cache references and misses, branches, branch
 * misses.  tests/unit/pmu holds it to the table of events.
 */
#define AP_CPUID_A_MISSING 0U
#define AP_CPUID_A_EVENTS  7U
#define AP_CPUID_PMC_WIDTH 48U
#define AP_CPUID_PMC_MAX   64U /* said where there are as many as anybody asks for */

/*
 * Makes the CPU's answer to a leaf (and subleaf 0) that of the session's PMU; other leaves stay.
 * counters: ap_session.counters, 0 for unlimited.
 */
static inline void ap_cpuid_pmu(enum ap_cpu cpu, u32 counters, u32 leaf, struct ap_cpuid *r)
{
	u32 n = counters && counters < AP_CPUID_PMC_MAX ? counters : AP_CPUID_PMC_MAX;

	switch (leaf) {
	case 0x80000000: /* the highest of these leaves; older CPUs and some VMs end before ours */
		if (cpu == AP_CPU_ZEN && r->eax < 0x80000022)
			r->eax = 0x80000022;
		break;
	case 0xa: /* AMD's CPUs have nothing there */
		*r = (struct ap_cpuid){ 0 };
		if (cpu != AP_CPU_SKYLAKE && cpu != AP_CPU_ICELAKE)
			break;
		/* version 2, no fixed counters, and none that counts a sibling's work (edx 15) */
		r->eax = 2 | n << 8 | AP_CPUID_PMC_WIDTH << 16 | AP_CPUID_A_EVENTS << 24;
		r->ebx = AP_CPUID_A_MISSING;
		r->edx = 1U << 15;
		break;
	case 0x80000001: /* PerfCtrExtCore: six counters and not four */
		if (cpu == AP_CPU_ZEN)
			r->ecx |= 1U << 23;
		break;
	case 0x80000022: /* PerfMonV2, and how many, in four bits */
		if (cpu == AP_CPU_ZEN)
			*r = (struct ap_cpuid){ .eax = 1, .ebx = n < 15 ? n : 15 };
		break;
	}
}

#endif
