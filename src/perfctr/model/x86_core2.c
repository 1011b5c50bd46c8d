/* SPDX-License-Identifier: MIT */
/*
 * Models of Core 2, Nehalem and Westmere: two or four counters as of a P6, whose writes take 32 bits and
 * extend them, and three of fixed events, whose control is four bits each of one register: ring 0, other
 * rings, any thread (Nehalem), interrupt.  Each has a bit in the register that enables all, in the one that says
 * which have wrapped, and in the one that clears those.  Flags of PEBS and of a changed state (62, 63) are never set.
 *
 * Events by the tables of Intel's SDM volume 3 ("Performance Monitoring Events for Intel Core
 * Microarchitecture", "... Nehalem ..."), those that are architectural first.
 */
#include "perfctr/model/x86_family.h"

#define EVNTSEL_SHAPE 0xff840000u /* threshold, inverse, edge */
#define EVNTSEL_EVENT 0x0000ffffu

#define FIXED_USER 2U
#define FIXED_ON   3U
#define FIXED_PMI  8U

#define K(k)	     AP_X86MODEL_K(k)
#define MISPREDICTED (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))
#define LLC	     (K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE))
#define LLC_MISSES   (K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS))

/* clang-format off */
static const struct ap_x86model_event core2_events[] = {
	{ 0x00c0, K(INSTR), "INST_RETIRED_ANY_P", NULL },
	{ 0x00c4, K(BRANCH), "BR_INST_RETIRED_ANY", NULL },
	{ 0x0cc4, K(TAKEN), "BR_INST_RETIRED_TAKEN", NULL },
	{ 0x00c5, MISPREDICTED, "BR_INST_RETIRED_MISPRED", NULL },
	{ 0x003c, K(CYCLES), "CPU_CLK_UNHALTED_CORE_P", NULL },
	{ 0x4f2e, LLC, "LAST_LEVEL_CACHE_REFERENCES", NULL },
	{ 0x412e, LLC_MISSES, "LAST_LEVEL_CACHE_MISSES", NULL },
	{ 0x0f45, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "L1D_REPL", NULL },
	{ 0x0080, K(L1I_LOAD), "L1I_READS", NULL },
	{ 0x0081, K(L1I_LOAD_MISS), "L1I_MISSES", NULL },
	{ 0x01c0, K(LOAD), "INST_RETIRED_LOADS", NULL },
	{ 0x02c0, K(STORE), "INST_RETIRED_STORES", NULL },
	{ 0x00c2, 0, "UOPS_RETIRED", "no model of the pipeline counts operations" },
	{ 0xfec1, 0, "X87_OPS_RETIRED_ANY", "counts operations of the x87, which the engine does not tell apart" },
};

static const struct ap_x86model_event nehalem_events[] = {
	{ 0x00c0, K(INSTR), "INSTRUCTION_RETIRED", NULL },
	{ 0x01c0, K(INSTR), "INST_RETIRED_ANY_P", NULL },
	{ 0x00c4, K(BRANCH), "BRANCH_INSTRUCTIONS_RETIRED", NULL },
	{ 0x04c4, K(BRANCH), "BR_INST_RETIRED_ALL_BRANCHES", NULL },
	{ 0x01c4, K(COND), "BR_INST_RETIRED_CONDITIONAL", NULL },
	{ 0x02c4, K(CALL), "BR_INST_RETIRED_NEAR_CALL", NULL },
	{ 0x00c5, MISPREDICTED, "MISPREDICTED_BRANCH_RETIRED", NULL },
	{ 0x003c, K(CYCLES), "CPU_CLK_UNHALTED_THREAD_P", NULL },
	{ 0x4f2e, LLC, "LLC_REFERENCES", NULL },
	{ 0x412e, LLC_MISSES, "LLC_MISSES", NULL },
	{ 0x010b, K(LOAD), "MEM_INST_RETIRED_LOADS", NULL },
	{ 0x020b, K(STORE), "MEM_INST_RETIRED_STORES", NULL },
	{ 0x0151, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "L1D_REPL", NULL },
	{ 0x0380, K(L1I_LOAD), "L1I_READS", NULL },
	{ 0x0280, K(L1I_LOAD_MISS), "L1I_MISSES", NULL },
	{ 0x0208, K(DTLB_LOAD_WALK), "DTLB_LOAD_MISSES_WALK_COMPLETED", NULL },
	{ 0x0249, K(DTLB_LOAD_WALK) | K(DTLB_STORE_WALK), "DTLB_MISSES_WALK_COMPLETED", NULL },
	{ 0x0285, K(ITLB_WALK), "ITLB_MISSES_WALK_COMPLETED", NULL },
	{ 0x01c2, 0, "UOPS_RETIRED_ANY", "no model of the pipeline counts operations" },
	{ 0x01b7, 0, "OFF_CORE_RESPONSE_0", "no model of what is beyond the core's caches" },
	{ 0xff10, 0, "FP_COMP_OPS_EXE_ANY", "counts what is executed, retired or not" },
};

/* INST_RETIRED.ANY, CPU_CLK_UNHALTED.CORE, CPU_CLK_UNHALTED.REF */
static const u64 fixed_kinds[] = { K(INSTR), K(CYCLES), K(REF_CYCLES) };

/* Core 2 knows no "any thread", and faults on bits 40 and up of a fixed counter. */
static const struct ap_x86model_range core2_ranges[] = {
	{ AP_MSR_P6_EVNTSEL0, 2, 0xffdfffff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_P6_CTR0, 2, 0xffffffff, ~0ULL, AP_X86MODEL_CTR },
	{ AP_MSR_FIXED_CTR0, 3, 0xffffffffff, 0, AP_X86MODEL_CTR },
	{ AP_MSR_FIXED_CTRL, 1, 0xbbb, 0, AP_X86MODEL_CTL },
	{ AP_MSR_GLOBAL_CTRL, 1, 7ULL << 32 | 3, 0, AP_X86MODEL_CTL },
	{ AP_MSR_GLOBAL_STATUS, 1, 0, 0, AP_X86MODEL_STATUS },
	{ AP_MSR_GLOBAL_OVF_CTRL, 1, 3ULL << 62 | 7ULL << 32 | 3, 0, AP_X86MODEL_ACK },
	{ 0 },
};

static const struct ap_x86model_range nehalem_ranges[] = {
	{ AP_MSR_P6_EVNTSEL0, 4, 0xffffffff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_P6_CTR0, 4, 0xffffffff, ~0ULL, AP_X86MODEL_CTR },
	{ AP_MSR_FIXED_CTR0, 3, 0xffffffffffff, 0, AP_X86MODEL_CTR },
	{ AP_MSR_FIXED_CTRL, 1, 0xfff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_GLOBAL_CTRL, 1, 7ULL << 32 | 15, 0, AP_X86MODEL_CTL },
	{ AP_MSR_GLOBAL_STATUS, 1, 0, 0, AP_X86MODEL_STATUS },
	{ AP_MSR_GLOBAL_OVF_CTRL, 1, 3ULL << 62 | 7ULL << 32 | 15, 0, AP_X86MODEL_ACK },
	{ AP_MSR_OFFCORE_RSP0, 1, 0xf7ff, 0, AP_X86MODEL_PEBS },
	{ 0 },
};
/* clang-format on */

static u32 first_fixed(const struct ap_x86model_family *family)
{
	return family->nrctrs - family->nfixed;
}

static u32 fixed_control(const struct ap_x86model_cpu *cpu, const struct ap_x86model_family *family,
			 unsigned i)
{
	u64 all = ap_x86model_get_msr(family, cpu, AP_MSR_FIXED_CTRL);

	return (u32)(all >> (i - first_fixed(family)) * 4) & 15;
}

static u64 fixed_counts(u32 control, unsigned event, const char **why)
{
	if (!(control & FIXED_ON))
		*why = ap_x86model_disabled;
	else if (!(control & FIXED_USER))
		*why = ap_x86model_kernel;
	return *why ? 0 : fixed_kinds[event];
}

static u64 event_counts(const struct ap_x86model_family *family, u32 evntsel, const char **why)
{
	const struct ap_x86model_event *event =
		ap_x86model_event(family->events, family->nevents, evntsel & EVNTSEL_EVENT);

	if (!(evntsel & AP_EVNTSEL_ENABLE) || !(evntsel & AP_EVNTSEL_CPL))
		*why = ap_x86model_disabled;
	else if (!(evntsel & AP_EVNTSEL_USER))
		*why = ap_x86model_kernel;
	else if (evntsel & EVNTSEL_SHAPE)
		*why = "thresholds and edges count cycles";
	else if (!event || !event->kinds)
		*why = event && event->why ? event->why : ap_x86model_unknown;
	return *why ? 0 : event->kinds;
}

static u64 counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		  const char **why)
{
	const struct ap_x86model_family *family = m->family;
	u32 first = first_fixed(family);
	u64 on = ap_x86model_get_msr(family, cpu, AP_MSR_GLOBAL_CTRL);

	if (!(on >> (i < first ? i : 32 + i - first) & 1)) {
		*why = ap_x86model_disabled;
		return 0;
	}
	return i < first ? event_counts(family,
					(u32)ap_x86model_get(family, cpu, AP_X86MODEL_CTL, i), why)
			 : fixed_counts(fixed_control(cpu, family, i), i - first, why);
}

static bool wants(const struct ap_x86model_family *family, const struct ap_x86model_cpu *cpu,
		  unsigned i)
{
	if (i >= first_fixed(family))
		return fixed_control(cpu, family, i) & FIXED_PMI;
	return ap_x86model_get(family, cpu, AP_X86MODEL_CTL, i) & AP_EVNTSEL_INT;
}

static bool core2_wants_interrupt(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return wants(&ap_x86model_core2s[0], cpu, i);
}

static bool nehalem_wants_interrupt(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return wants(&ap_x86model_core2s[1], cpu, i);
}

#define NEHALEM(n, eax)                                                                            \
	{                                                                                          \
		.name = (n), .vendor = "GenuineIntel", .signature = (eax), .features = 0xbfebfbff, \
		.nrctrs = 7, .nfixed = 3, .bits = 48, .sign_extends = true, .has_rdpmc = true,     \
		.events = nehalem_events, .nevents = AP_ARRAY_SIZE(nehalem_events),                \
		.user = 0x410000, .lvtpc_trips = true, .ranges = nehalem_ranges, .counts = counts, \
		.wants_interrupt = nehalem_wants_interrupt                                         \
	}

const struct ap_x86model_family ap_x86model_core2s[] = {
	{ .name = "core2",
	  .vendor = "GenuineIntel",
	  .signature = 0x06f6,
	  .features = 0xbfebfbff,
	  .nrctrs = 5,
	  .nfixed = 3,
	  .bits = 40,
	  .sign_extends = true,
	  .has_rdpmc = true,
	  .events = core2_events,
	  .nevents = AP_ARRAY_SIZE(core2_events),
	  .user = 0x410000,
	  .lvtpc_trips = true,
	  .ranges = core2_ranges,
	  .counts = counts,
	  .wants_interrupt = core2_wants_interrupt },
	NEHALEM("nehalem", 0x106a5),
	NEHALEM("westmere", 0x20652),
	{ 0 },
};
