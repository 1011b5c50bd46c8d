/* SPDX-License-Identifier: MIT */
/*
 * Models of Intel's P6 and of its clones from AMD, K7 and K8.
 *
 * P6: bit 22 of EVNTSEL0 enables both counters and is reserved in EVNTSEL1, bit 21 is reserved in
 * both; a counter has 40 bits, a write takes 32 and extends bit 31.  K7: four counters of 48 bits,
 * each with its enable bit; what is written above bit 47 is dropped.
 *
 * Events by the tables of Intel's SDM volume 3 ("P6 Family Processors Performance-Monitoring
 * Events") and AMD's 22007 (Athlon) and 26094 (K8).  A threshold (bits 24-31), its inverse (23)
 * and edges (18) make an event count cycles or changes, which the engine does not see.
 */
#include "perfctr/model/x86_family.h"

#define EVNTSEL_SHAPE 0xff840000u /* threshold, inverse, edge */
#define EVNTSEL_USER  0x00010000u
#define EVNTSEL_EVENT 0x0000ffffu

#define K(k) AP_X86MODEL_K(k)

/* clang-format off */
static const struct ap_x86model_event p6_events[] = {
	{ 0x00c0, K(INSTR), "INST_RETIRED", NULL },
	{ 0x00c4, K(BRANCH), "BR_INST_RETIRED", NULL },
	{ 0x00c9, K(TAKEN), "BR_TAKEN_RETIRED", NULL },
	{ 0x00c5, K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS), "BR_MISS_PRED_RETIRED", NULL },
	{ 0x0079, K(CYCLES), "CPU_CLK_UNHALTED", NULL },
	{ 0x0045, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "DCU_LINES_IN", NULL },
	{ 0x0080, K(L1I_LOAD), "IFU_IFETCH", NULL },
	{ 0x0081, K(L1I_LOAD_MISS), "IFU_IFETCH_MISS", NULL },
	{ 0x0085, K(ITLB_MISS), "ITLB_MISS", NULL },
	{ 0x0f28, K(L2_CODE), "L2_IFETCH", NULL },
	{ 0x0f29, K(L2_LOAD), "L2_LD", NULL },
	{ 0x0f2a, K(L2_STORE), "L2_ST", NULL },
	{ 0x0043, 0, "DATA_MEM_REFS", "counts each reference, and the engine instructions that make some" },
	{ 0x00c2, 0, "UOPS_RETIRED", "no model of the pipeline counts operations" },
	{ 0x00c1, 0, "FLOPS", "counts operations by arithmetic, and the engine instructions by width" },
	{ 0x00e0, 0, "BR_INST_DECODED", "counts what is decoded, retired or not" },
};

static const struct ap_x86model_event k7_events[] = {
	{ 0x00c0, K(INSTR), "RETIRED_INSTRUCTIONS", NULL },
	{ 0x00c2, K(BRANCH), "RETIRED_BRANCHES", NULL },
	{ 0x00c3, K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS), "RETIRED_BRANCHES_MISPREDICTED", NULL },
	{ 0x00c4, K(TAKEN), "RETIRED_TAKEN_BRANCHES", NULL },
	{ 0x0076, K(CYCLES), "CYCLES_PROCESSOR_IS_RUNNING", NULL },
	{ 0x0041, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "DATA_CACHE_MISSES", NULL },
	{ 0x0046, K(DTLB_LOAD_WALK) | K(DTLB_STORE_WALK), "L1_AND_L2_DTLB_MISSES", NULL },
	{ 0x0080, K(L1I_LOAD), "INSTRUCTION_CACHE_FETCHES", NULL },
	{ 0x0081, K(L1I_LOAD_MISS), "INSTRUCTION_CACHE_MISSES", NULL },
	{ 0x0085, K(ITLB_WALK), "L1_AND_L2_ITLB_MISSES", NULL },
	{ 0x00c1, 0, "RETIRED_OPS", "no model of the pipeline counts operations" },
	{ 0x00c6, 0, "RETIRED_FAR_CONTROL_TRANSFERS", "the engine follows no far transfer" },
	{ 0x0040, 0, "DATA_CACHE_ACCESSES", "counts each access, and the engine instructions that make some" },
};

static const struct ap_x86model_range p6_ranges[] = {
	{ AP_MSR_P6_EVNTSEL0, 1, 0xffdfffff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_P6_EVNTSEL0 + 1, 1, 0xff9fffff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_P6_CTR0, 2, 0xffffffff, ~0ULL, AP_X86MODEL_CTR },
	{ 0 },
};

static const struct ap_x86model_range k7_ranges[] = {
	{ AP_MSR_K7_EVNTSEL0, 4, 0xffdfffff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_K7_CTR0, 4, 0xffffffffffff, ~0ULL, AP_X86MODEL_CTR },
	{ 0 },
};
/* clang-format on */

static u64 event_counts(const struct ap_x86model_event *events, u32 n, u32 evntsel,
			const char **why)
{
	const struct ap_x86model_event *event;

	if (!(evntsel & EVNTSEL_USER)) {
		*why = ap_x86model_kernel;
		return 0;
	}
	if (evntsel & EVNTSEL_SHAPE) {
		*why = "thresholds and edges count cycles";
		return 0;
	}
	event = ap_x86model_event(events, n, evntsel & EVNTSEL_EVENT);
	if (!event || !event->kinds)
		*why = event && event->why ? event->why : ap_x86model_unknown;
	return event ? event->kinds : 0;
}

static u64 p6_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		     const char **why)
{
	u32 evntsel = (u32)ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, i);

	if (!(ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, 0) & AP_EVNTSEL_ENABLE) ||
	    !(evntsel & AP_EVNTSEL_CPL)) {
		*why = ap_x86model_disabled;
		return 0;
	}
	return event_counts(p6_events, AP_ARRAY_SIZE(p6_events), evntsel, why);
}

static u64 k7_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		     const char **why)
{
	u32 evntsel = (u32)ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, i);

	if (!(evntsel & AP_EVNTSEL_ENABLE) || !(evntsel & AP_EVNTSEL_CPL)) {
		*why = ap_x86model_disabled;
		return 0;
	}
	return event_counts(k7_events, AP_ARRAY_SIZE(k7_events), evntsel, why);
}

static bool p6_wants_interrupt(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return ap_x86model_get(ap_x86model_p6s, cpu, AP_X86MODEL_CTL, i) & AP_EVNTSEL_INT;
}

static bool k7_wants_interrupt(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return ap_x86model_get(ap_x86model_k7s, cpu, AP_X86MODEL_CTL, i) & AP_EVNTSEL_INT;
}

#define P6(n, eax, edx, trips)                                                                     \
	{                                                                                          \
		.name = (n), .vendor = "GenuineIntel", .signature = (eax), .features = (edx),      \
		.nrctrs = 2, .bits = 40, .sign_extends = true, .has_rdpmc = true,                  \
		.events = p6_events, .nevents = AP_ARRAY_SIZE(p6_events), .user = 0x410000,        \
		.lvtpc_trips = (trips), .ranges = p6_ranges, .counts = p6_counts,                  \
		.wants_interrupt = p6_wants_interrupt                                              \
	}
#define K7(n, eax)                                                                                 \
	{                                                                                          \
		.name = (n), .vendor = "AuthenticAMD", .signature = (eax), .features = 0x0183fbff, \
		.nrctrs = 4, .bits = 48, .has_rdpmc = true, .ranges = k7_ranges,                   \
		.events = k7_events, .nevents = AP_ARRAY_SIZE(k7_events), .user = 0x410000,        \
		.counts = k7_counts, .wants_interrupt = k7_wants_interrupt                         \
	}

/* clang-format off */
const struct ap_x86model_family ap_x86model_p6s[] = {
	P6("p6", 0x0619, 0x0000fbff, false),
	P6("pii", 0x0652, 0x0183fbff, false),
	P6("piii", 0x0683, 0x0383fbff, false),
	P6("pentium-m", 0x0695, 0xa7e9fbff, true),
	{ 0 },
};

const struct ap_x86model_family ap_x86model_k7s[] = {
	K7("k7", 0x0642),
	K7("k8", 0x0f51),
	K7("k8c", 0x0f48),
	{ 0 },
};
/* clang-format on */
