/* SPDX-License-Identifier: MIT */
/*
 * What CPU this is, by CPUID: vendor, family and model choose a row, and with it the driver's
 * procedures.  A CPU that no row knows is generic if it has a TSC.  On a P4 with two threads per
 * core the second of each is forbidden: both share one set of counters.
 * Sources: CPUID in Intel's SDM and AMD's 25481; the data books of Cyrix's MII, Centaur's WinChip
 * and VIA's C3.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "perfctr/x86_family.h"

#define EDX_TSC	 (1u << 4)
#define EDX_MSR	 (1u << 5)
#define EDX_APIC (1u << 9)
#define EDX_HTT	 (1u << 28)

#define MODELS(from, to) ((from) << 8 | (to))
#define ANY		 MODELS(0u, 255u)

struct cpu_row {
	char vendor[13];
	u32 family;
	u32 models; /* first << 8 | last */
	u32 type;
	const char *name;
	const struct ap_x86ctr_family *driver;
};

/* clang-format off */
static const struct cpu_row rows[] = {
	{ "GenuineIntel", 6, MODELS(0u, 2u), AP_CTR_X86_P6, "Intel Pentium Pro", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(3u, 6u), AP_CTR_X86_PII, "Intel Pentium II", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(7u, 8u), AP_CTR_X86_PIII, "Intel Pentium III", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(9u, 9u), AP_CTR_X86_PENTM, "Intel Pentium M", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(10u, 11u), AP_CTR_X86_PIII, "Intel Pentium III", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(13u, 13u), AP_CTR_X86_PENTM, "Intel Pentium M", &ap_x86ctr_p6 },
	{ "GenuineIntel", 6, MODELS(15u, 15u), AP_CTR_X86_CORE2, "Intel Core 2", &ap_x86ctr_core2 },
	{ "GenuineIntel", 6, MODELS(22u, 23u), AP_CTR_X86_CORE2, "Intel Core 2", &ap_x86ctr_core2 },
	{ "GenuineIntel", 6, MODELS(29u, 29u), AP_CTR_X86_CORE2, "Intel Core 2", &ap_x86ctr_core2 },
	{ "GenuineIntel", 6, MODELS(26u, 26u), AP_CTR_X86_NEHALEM, "Intel Nehalem", &ap_x86ctr_nehalem },
	{ "GenuineIntel", 6, MODELS(30u, 30u), AP_CTR_X86_NEHALEM, "Intel Nehalem", &ap_x86ctr_nehalem },
	{ "GenuineIntel", 6, MODELS(46u, 46u), AP_CTR_X86_NEHALEM, "Intel Nehalem", &ap_x86ctr_nehalem },
	{ "GenuineIntel", 6, MODELS(37u, 37u), AP_CTR_X86_WESTMERE, "Intel Westmere", &ap_x86ctr_nehalem },
	{ "GenuineIntel", 6, MODELS(44u, 44u), AP_CTR_X86_WESTMERE, "Intel Westmere", &ap_x86ctr_nehalem },
	{ "GenuineIntel", 5, MODELS(0u, 3u), AP_CTR_X86_P5, "Intel Pentium", &ap_x86ctr_p5 },
	{ "GenuineIntel", 5, MODELS(4u, 4u), AP_CTR_X86_P5MMX, "Intel Pentium MMX", &ap_x86ctr_p5mmx },
	{ "GenuineIntel", 5, MODELS(5u, 7u), AP_CTR_X86_P5, "Intel Pentium", &ap_x86ctr_p5 },
	{ "GenuineIntel", 5, MODELS(8u, 8u), AP_CTR_X86_P5MMX, "Intel Pentium MMX", &ap_x86ctr_p5mmx },
	{ "GenuineIntel", 15, MODELS(0u, 1u), AP_CTR_X86_P4, "Intel Pentium 4", &ap_x86ctr_p4 },
	{ "GenuineIntel", 15, MODELS(2u, 2u), AP_CTR_X86_P4M2, "Intel Pentium 4 Model 2", &ap_x86ctr_p4 },
	{ "GenuineIntel", 15, MODELS(3u, 6u), AP_CTR_X86_P4M3, "Intel Pentium 4 Model 3", &ap_x86ctr_p4 },
	{ "CyrixInstead", 6, ANY, AP_CTR_X86_CYRIX_MII, "Cyrix 6x86MX/MII/III", &ap_x86ctr_cyrix },
	{ "CentaurHauls", 5, MODELS(4u, 4u), AP_CTR_X86_WINCHIP_C6, "WinChip C6", &ap_x86ctr_centaur },
	{ "CentaurHauls", 5, MODELS(8u, 9u), AP_CTR_X86_WINCHIP_2, "WinChip 2/3", &ap_x86ctr_centaur },
	{ "CentaurHauls", 6, MODELS(6u, 9u), AP_CTR_X86_C3, "VIA C3", &ap_x86ctr_c3 },
	{ "AuthenticAMD", 6, ANY, AP_CTR_X86_K7, "AMD K7", &ap_x86ctr_k7 },
	{ "AuthenticAMD", 15, ANY, AP_CTR_X86_K8, "AMD K8", &ap_x86ctr_k7 },
};
/* clang-format on */

static void identify(const struct ap_x86ctr *drv, char vendor[13], u32 *family, u32 *model,
		     u32 *edx)
{
	u32 regs[4];

	drv->ops->cpuid(drv->host, 0, regs);
	for (u32 i = 0; i < 12; i++) {
		static const u8 order[] = { 1, 3, 2 };

		vendor[i] = (char)(regs[order[i / 4]] >> (i % 4 * 8));
	}
	vendor[12] = '\0';
	drv->ops->cpuid(drv->host, 1, regs);
	*family = regs[0] >> 8 & 15;
	*model = regs[0] >> 4 & 15;
	if (*family == 15 || *family == 6)
		*model |= regs[0] >> 12 & 0xf0;
	if (*family == 15)
		*family += regs[0] >> 20 & 0xff;
	*edx = regs[3];
}

static const struct cpu_row *find_row(const char *vendor, u32 family, u32 model)
{
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		const struct cpu_row *row = &rows[i];

		if (memcmp(row->vendor, vendor, 12) == 0 && row->family == family &&
		    model >= row->models >> 8 && model <= (row->models & 255))
			return row;
	}
	return NULL;
}

/* K8's revision C, by models and steppings: events differ, registers do not. */
static bool is_k8c(const struct ap_x86ctr *drv)
{
	u32 regs[4];

	drv->ops->cpuid(drv->host, 1, regs);
	return drv->ctr.type == AP_CTR_X86_K8 &&
	       (drv->model > 5 || (drv->model >= 4 && (regs[0] & 15) >= 8));
}

/* On each CPU: the lowest bit of its APIC's number is the thread's number in the core. */
static void note_thread(void *arg)
{
	struct ap_x86ctr *drv = arg;
	u32 regs[4];

	drv->ops->cpuid(drv->host, 1, regs);
	if (!(regs[1] >> 24 & 1))
		return;
	drv->forbidden |= 1ULL << drv->ops->this_cpu(drv->host);
}

static void find_threads(struct ap_x86ctr *drv, u32 edx)
{
	u32 regs[4];

	drv->ops->cpuid(drv->host, 1, regs);
	if (!(edx & EDX_HTT) || (regs[1] >> 16 & 255) < 2)
		return;
	drv->is_ht = true;
	drv->ops->on_each_cpu(drv->host, note_thread, drv);
}

int ap_x86ctr_detect(struct ap_x86ctr *drv)
{
	const struct cpu_row *row;
	char vendor[13];
	u32 family, model, edx;

	identify(drv, vendor, &family, &model, &edx);
	row = edx & EDX_MSR ? find_row(vendor, family, model) : NULL;
	drv->model = model;
	drv->family = row ? row->driver : &ap_x86ctr_generic;
	drv->ctr.type = row ? row->type : AP_CTR_X86_GENERIC;
	drv->ctr.name = row ? row->name : "Generic x86 with TSC";
	if (!row && !(edx & EDX_TSC))
		return -AP_ENODEV;
	if (is_k8c(drv)) {
		drv->ctr.type = AP_CTR_X86_K8C;
		drv->ctr.name = "AMD K8 Revision C";
	}
	if (!drv->family->no_tsc)
		drv->ctr.features |= AP_CTR_FEATURE_RDTSC;
	if (drv->family->read == ap_x86ctr_rdpmc)
		drv->ctr.features |= AP_CTR_FEATURE_RDPMC;
	if (drv->family->has_lvtpc && edx & EDX_APIC && drv->ops->apic_write)
		drv->ctr.features |= AP_CTR_FEATURE_PCINT;
	drv->lvtpc_trips = drv->family->nfixed || drv->ctr.type == AP_CTR_X86_PENTM ||
			   drv->ctr.type == AP_CTR_X86_P4 || drv->ctr.type == AP_CTR_X86_P4M2 ||
			   drv->ctr.type == AP_CTR_X86_P4M3;
	if (drv->ctr.type == AP_CTR_X86_P4 || drv->ctr.type == AP_CTR_X86_P4M2 ||
	    drv->ctr.type == AP_CTR_X86_P4M3)
		find_threads(drv, edx);
	return 0;
}
