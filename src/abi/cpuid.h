/* SPDX-License-Identifier: MIT */
/*
 * Which CPU's raw event codes a session speaks, and what CPUID tells programs of it.  Clients
 * (libpfm4, PAPI, rr) choose their event tables by CPUID, so codes and CPUID are of one CPU: the
 * host's, or one that the user has named (docs/design/cpu-id.md).  Engine and host ask the same
 * functions.
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

/* Who a CPU says that it is; what it can do is not part of that. */
#define AP_CPU_BRAND 48 /* bytes of its name, ended by a zero where it is shorter */
struct ap_cpu_id {
	u32 signature; /* eax of leaf 1; 0: this is nobody, the host's holds */
	u32 vendor[3]; /* ebx, ecx and edx of leaf 0 */
	char brand[AP_CPU_BRAND];
};

#define AP_CPU_EBX_INTEL 0x756e6547U /* "Genu" */
#define AP_CPU_EBX_AMD	 0x68747541U /* "Auth" */
#define AP_CPU_EBX_HYGON 0x6f677948U /* "Hygo" */

static inline u32 ap_cpu_family(u32 signature)
{
	u32 family = signature >> 8 & 0xf;

	return family == 0xf ? family + (signature >> 20 & 0xff) : family;
}

static inline u32 ap_cpu_model(u32 signature)
{
	u32 family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;

	return family == 6 || family == 0xf ? model | (signature >> 12 & 0xf0) : model;
}

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
	u32 family = ap_cpu_family(signature), model = ap_cpu_model(signature);

	if (leaf0->ebx == AP_CPU_EBX_INTEL) {
		if (family == 6 && ap_cpu_is_one_of(model, skylake))
			return AP_CPU_SKYLAKE;
		if (family == 6 && ap_cpu_is_one_of(model, icelake))
			return AP_CPU_ICELAKE;
	} else if (leaf0->ebx == AP_CPU_EBX_AMD || leaf0->ebx == AP_CPU_EBX_HYGON) {
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

/*
 * cpuid.c.  Makes the host's answer to a leaf the one of the CPU that id says: vendor, signature,
 * name, and what follows from the vendor alone, such as which leaf describes caches.  ask is the
 * host.
 */
typedef struct ap_cpuid ap_cpuid_ask(u32 leaf, u32 subleaf);
void ap_cpuid_as(const struct ap_cpu_id *id, u32 leaf, u32 subleaf, ap_cpuid_ask *ask,
		 struct ap_cpuid *r);

/*
 * In a virtual machine CPUID is a trip to the hypervisor, some microseconds, and a C library starts
 * with some forty.  So a session asks once for what is the same on all CPUs; rows of which n are
 * filled.  Returns n: 0 where the CPU is real, or its cores may differ.
 */
#define AP_CPUID_ROWS 48
struct ap_cpuid_row {
	u32 leaf, subleaf;
	struct ap_cpuid is;
};
u32 ap_cpuid_list(ap_cpuid_ask *ask, struct ap_cpuid_row rows[AP_CPUID_ROWS]);
/* NULL: the CPU has to be asked. */
const struct ap_cpuid *ap_cpuid_find(const struct ap_cpuid_row *rows, u32 n, u32 leaf, u32 subleaf);

#endif
