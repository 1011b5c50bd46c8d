/* SPDX-License-Identifier: MIT */
/*
 * Raw codes of Intel's cores, event | unit mask << 8, as the SDM's and perfmon's lists name them.
 * What counts is defined in docs/counting.md; a code whose definition there differs, or that needs
 * time or caches, is named and not counted.  Bits that Linux itself drops from a raw config (user,
 * os, interrupt, enable) are dropped: programs such as rr pass them.
 */
#include "pmu/event_rows.h"

#define WHY_UOPS  "no model of the pipeline counts micro-operations yet"
#define WHY_CACHE "no model of caches and TLBs counts here yet"
#define WHY_BPRED "which of the mispredicted were taken is not told apart"
#define WHY_FAR	  "the engine follows no far branch"
#define WHY_HIT                                                                                    \
	"loads are counted as they retire, and those that miss when the models hear of them: the difference is too much meanwhile"
#define WHY_FILL  "a line that is missed is there at once: no later load waits for it to come"
#define WHY_WALKS "walks are counted, and not the cycles in which one is under way"
#define WHY_MSR	  "a request and its answers are chosen by a register of the CPU's own"
#define WHY_AHEAD "what prefetchers ask for and L2 has is not counted"

/* constraint: the counters that the event fits on in the hardware */
#define ON(n, c, k, on, t)                                                                         \
	{                                                                                          \
		.name = (n), .config = (c), .sum = { .plus = (k), .constraint = (on) },            \
		.quality = AP_PMU_EXACT, .text = (t)                                               \
	}
#define LOCKED(n, c, t)                                                                            \
	{                                                                                          \
		.name = (n), .config = (c),                                                        \
		.sum = { .plus = K(LOAD), .constraint = 0xf, .is_locked = true },                  \
		.quality = AP_PMU_EXACT, .text = (t)                                               \
	}
#define FP(n, bit, k, t)                                                                           \
	{                                                                                          \
		.name = "FP_ARITH_INST_RETIRED." n, .config = 0xc7 | (bit) << 8,                   \
		.sum = { .plus = (k) }, .quality = AP_PMU_EXACT, .adds = true, .text = (t)         \
	}

/* Loads that missed, each instruction once. */
#define ANSWERED (K(LOAD_L2_HIT) | K(LOAD_LLC_HIT) | K(LOAD_LLC_MISS))

/* Cycles beyond a threshold, of events that count none: by their own names alone. */
#define CMASK(n) ((u64)(n) << 24)

/* clang-format off */

/* The same codes mean the same in both generations. */
#define COMMON \
	EXACT("INST_RETIRED.ANY_P", "INSTRUCTION_RETIRED", 0x00c0, K(INSTR), "retired instructions"), \
	EXACT("BR_INST_RETIRED.ALL_BRANCHES", "BRANCH_INSTRUCTIONS_RETIRED", 0x00c4, K(BRANCH), "near branches: far ones are not followed"), \
	EXACT("BR_INST_RETIRED.NEAR_CALL", NULL, 0x02c4, K(CALL), "near calls, direct and indirect"), \
	EXACT("BR_INST_RETIRED.NEAR_RETURN", NULL, 0x08c4, K(RET), "near returns"), \
	EXACT("BR_INST_RETIRED.NEAR_TAKEN", NULL, 0x20c4, K(TAKEN), "near branches that transferred"), \
	NOT("BR_INST_RETIRED.FAR_BRANCH", NULL, 0x40c4, WHY_FAR), \
	ON("MEM_INST_RETIRED.ALL_LOADS", 0x81d0, K(LOAD), 0xf, "instructions that read memory"), \
	ON("MEM_INST_RETIRED.ALL_STORES", 0x82d0, K(STORE), 0xf, "instructions that write memory"), \
	ON("MEM_INST_RETIRED.ANY", 0x83d0, K(MEM), 0xf, "instructions that read or write memory"), \
	MODEL("MEM_INST_RETIRED.STLB_MISS_LOADS", NULL, 0x11d0, K(DTLB_LOAD_WALK), "loads that take a page walk"), \
	MODEL("MEM_INST_RETIRED.STLB_MISS_STORES", NULL, 0x12d0, K(DTLB_STORE_WALK), "stores that take a page walk"), \
	LOCKED("MEM_INST_RETIRED.LOCK_LOADS", 0x21d0, "instructions that lock what they access: lock prefix, xchg with memory"), \
	MODEL("MEM_INST_RETIRED.SPLIT_LOADS", NULL, 0x41d0, K(SPLIT_LOAD), "loads over two lines"), \
	MODEL("MEM_INST_RETIRED.SPLIT_STORES", NULL, 0x42d0, K(SPLIT_STORE), "stores over two lines"), \
	FP("SCALAR_DOUBLE", 0x01, K(FP_SCALAR_DOUBLE), "scalar double arithmetic, FMA twice"), \
	FP("SCALAR_SINGLE", 0x02, K(FP_SCALAR_SINGLE), "scalar single arithmetic, FMA twice"), \
	FP("128B_PACKED_DOUBLE", 0x04, K(FP_128_DOUBLE), "128-bit packed double arithmetic, FMA twice"), \
	FP("128B_PACKED_SINGLE", 0x08, K(FP_128_SINGLE), "128-bit packed single arithmetic, FMA twice"), \
	FP("256B_PACKED_DOUBLE", 0x10, K(FP_256_DOUBLE), "256-bit packed double arithmetic, FMA twice"), \
	FP("256B_PACKED_SINGLE", 0x20, K(FP_256_SINGLE), "256-bit packed single arithmetic, FMA twice"), \
	FP("512B_PACKED_DOUBLE", 0x40, K(FP_512_DOUBLE), "512-bit packed double arithmetic, FMA twice"), \
	FP("512B_PACKED_SINGLE", 0x80, K(FP_512_SINGLE), "512-bit packed single arithmetic, FMA twice"), \
	MODEL("CPU_CLK_UNHALTED.THREAD_P", "UNHALTED_CORE_CYCLES", 0x003c, K(CYCLES), "cycles that the code would take"), \
	MODEL("CPU_CLK_UNHALTED.REF_XCLK", NULL, 0x013c, K(BUS_CYCLES), "cycles by the crystal clock"), \
	MODEL("UNHALTED_REFERENCE_CYCLES", NULL, 0x0300, K(REF_CYCLES), "cycles by the reference clock"), \
	MODEL("BR_MISP_RETIRED.ALL_BRANCHES", "MISPREDICTED_BRANCH_RETIRED", 0x00c5, K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS), "branches predicted wrongly"), \
	NOT("BR_MISP_RETIRED.NEAR_TAKEN", NULL, 0x20c5, WHY_BPRED), \
	MODEL("LONGEST_LAT_CACHE.MISS", NULL, 0x412e, K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS), "requests that the last level does not have"), \
	NOT("MEM_LOAD_RETIRED.L1_HIT", NULL, 0x01d1, WHY_HIT), \
	MODEL("MEM_LOAD_RETIRED.L1_MISS", NULL, 0x08d1, ANSWERED, "loads that L1D does not have"), \
	NOT("MEM_LOAD_RETIRED.FB_HIT", NULL, 0x40d1, WHY_FILL), \
	MODEL("MEM_LOAD_RETIRED.L2_HIT", NULL, 0x02d1, K(LOAD_L2_HIT), "loads that L2 answers"), \
	MODEL("MEM_LOAD_RETIRED.L3_HIT", NULL, 0x04d1, K(LOAD_LLC_HIT), "loads that the last level answers"), \
	MODEL("MEM_LOAD_RETIRED.L3_MISS", NULL, 0x20d1, K(LOAD_LLC_MISS), "loads that no cache answers"), \
	OF_L2("MEM_LOAD_RETIRED.L2_MISS", 0x10d1, K(LOAD_LLC_HIT) | K(LOAD_LLC_MISS), "loads that neither L1D nor L2 has"), \
	MODEL("MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM", NULL, 0x04d2, K(HITM_LOAD), "loads of lines that another core has modified"), \
	/* by lines, as L2 sees the requests: a reference over two lines may bring in both */ \
	OF_L2("L1D.REPLACEMENT", 0x0151, K(L2_LOAD) | K(L2_STORE) | K(L1D_PREFETCH), "lines that L1D takes in, for prefetches as well"), \
	HITS("L2_RQSTS.DEMAND_DATA_RD_HIT", NULL, 0xc124, K(L2_LOAD), K(LLC_LOAD), "loads that L2 has"), \
	HITS("L2_RQSTS.RFO_HIT", NULL, 0xc224, K(L2_STORE), K(LLC_STORE), "lines for stores that L2 has"), \
	HITS("L2_RQSTS.CODE_RD_HIT", NULL, 0xc424, K(L2_CODE), K(LLC_CODE), "lines of code that L2 has"), \
	OF_L2("L2_RQSTS.DEMAND_DATA_RD_MISS", 0x2124, K(LLC_LOAD), "loads that L2 does not have"), \
	MODEL("L2_RQSTS.ALL_DEMAND_DATA_RD", NULL, 0xe124, K(L2_LOAD), "loads that L2 is asked for"), \
	MODEL("L2_RQSTS.ALL_RFO", NULL, 0xe224, K(L2_STORE), "lines for stores that L2 is asked for"), \
	OF_L2("L2_RQSTS.RFO_MISS", 0x2224, K(LLC_STORE), "of them those that it does not have"), \
	MODEL("L2_RQSTS.ALL_CODE_RD", NULL, 0xe424, K(L2_CODE), "lines of code that L2 is asked for"), \
	OF_L2("L2_RQSTS.CODE_RD_MISS", 0x2424, K(LLC_CODE), "of them those that it does not have"), \
	OF_L2("L2_RQSTS.ALL_DEMAND_MISS", 0x2724, K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), "requests without prefetches that L2 does not have"), \
	MODEL("L2_RQSTS.ALL_DEMAND_REFERENCES", NULL, 0xe724, K(L2_LOAD) | K(L2_STORE) | K(L2_CODE), "requests to L2 without prefetches"), \
	MODEL("DTLB_LOAD_MISSES.WALK_COMPLETED", NULL, 0x0e08, K(DTLB_LOAD_WALK), "loads that take a page walk"), \
	MODEL("DTLB_STORE_MISSES.WALK_COMPLETED", NULL, 0x0e49, K(DTLB_STORE_WALK), "stores that take a page walk"), \
	MODEL("ITLB_MISSES.WALK_COMPLETED", NULL, 0x0e85, K(ITLB_WALK), "lines of code that take a page walk"), \
	NOT("DTLB_LOAD_MISSES.WALK_PENDING", NULL, 0x1008, WHY_WALKS), \
	NOT("DTLB_STORE_MISSES.WALK_PENDING", NULL, 0x1049, WHY_WALKS), \
	NOT("ITLB_MISSES.WALK_PENDING", NULL, 0x1085, WHY_WALKS), \
	NOT("DTLB_LOAD_MISSES.WALK_ACTIVE", NULL, 0x1008 | CMASK(1), WHY_WALKS), \
	NOT("DTLB_STORE_MISSES.WALK_ACTIVE", NULL, 0x1049 | CMASK(1), WHY_WALKS), \
	NOT("ITLB_MISSES.WALK_ACTIVE", NULL, 0x1085 | CMASK(1), WHY_WALKS), \
	HITS("DTLB_LOAD_MISSES.STLB_HIT", NULL, 0x2008, K(DTLB_LOAD_MISS), K(DTLB_LOAD_WALK), "loads whose page the second TLB has"), \
	HITS("DTLB_STORE_MISSES.STLB_HIT", NULL, 0x2049, K(DTLB_STORE_MISS), K(DTLB_STORE_WALK), "stores whose page the second TLB has"), \
	HITS("ITLB_MISSES.STLB_HIT", NULL, 0x2085, K(ITLB_MISS), K(ITLB_WALK), "lines of code whose page the second TLB has"), \
	MODEL("BACLEARS.ANY", NULL, 0x01e6, K(BTB_MISS), "direct branches that the decoder had to find"), \
	NOT("OFFCORE_RESPONSE", "OCR", 0x01b7, WHY_MSR), \
	OF_L2("OFFCORE_REQUESTS.DEMAND_DATA_RD", 0x01b0, K(LLC_LOAD), "loads that go beyond L2"), \
	OF_L2("OFFCORE_REQUESTS.DEMAND_RFO", 0x04b0, K(LLC_STORE), "lines for stores that go beyond L2"), \
	MODEL("OFFCORE_REQUESTS.L3_MISS_DEMAND_DATA_RD", NULL, 0x10b0, K(LLC_LOAD_MISS), "loads that go to memory"), \
	MODEL("CYCLE_ACTIVITY.STALLS_TOTAL", NULL, 0x04a3 | CMASK(4), K(STALL_FRONT) | K(STALL_BACK), "cycles in which nothing was issued"), \
	MODEL("CYCLE_ACTIVITY.STALLS_L1D_MISS", NULL, 0x0ca3 | CMASK(12), K(STALL_L1D_MISS), "of STALLS_MEM_ANY those with a load under way that L1D does not have"), \
	MODEL("CYCLE_ACTIVITY.STALLS_L2_MISS", NULL, 0x05a3 | CMASK(5), K(STALL_L2_MISS), "with one that L2 does not have"), \
	MODEL("CYCLE_ACTIVITY.STALLS_L3_MISS", NULL, 0x06a3 | CMASK(6), K(STALL_LLC_MISS), "with one that no cache has"), \
	MODEL("CYCLE_ACTIVITY.STALLS_MEM_ANY", NULL, 0x14a3 | CMASK(20), K(STALL_BACK), "cycles in which the back end took nothing: misses, but for long chains"), \
	MODEL("LONGEST_LAT_CACHE.REFERENCE", NULL, 0x4f2e, K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), "requests to the last level")

static const struct ap_pmu_desc skylake[] = {
	COMMON,
	ON("INST_RETIRED.PREC_DIST", 0x01c0, K(INSTR), 1 << 1, "retired instructions, on the second counter only"),
	EXACT("BR_INST_RETIRED.CONDITIONAL", "BR_INST_RETIRED.COND", 0x01c4, K(COND), "conditional branches, taken or not"),
	EXACT("BR_INST_RETIRED.ALL_BRANCHES_PEBS", NULL, 0x04c4, K(BRANCH), "near branches"),
	LESS("BR_INST_RETIRED.NOT_TAKEN", NULL, 0x10c4, K(BRANCH), K(TAKEN), "conditional branches that did not transfer"),
	MODEL("BR_MISP_RETIRED.CONDITIONAL", NULL, 0x01c5, K(COND_MISS), "conditional branches predicted wrongly"),
	MODEL("RESOURCE_STALLS.ANY", NULL, 0x01a2, K(STALL_BACK), "cycles in which the back end took nothing"),
	OF_L2("OFFCORE_REQUESTS.DEMAND_CODE_RD", 0x02b0, K(LLC_CODE), "lines of code that go beyond L2"),
	/* walks are completed whenever they are begun */
	MODEL("DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", NULL, 0x0108, K(DTLB_LOAD_WALK), "loads that take a page walk"),
	MODEL("DTLB_STORE_MISSES.MISS_CAUSES_A_WALK", NULL, 0x0149, K(DTLB_STORE_WALK), "stores that take a page walk"),
	MODEL("ITLB_MISSES.MISS_CAUSES_A_WALK", NULL, 0x0185, K(ITLB_WALK), "lines of code that take a page walk"),
	/* a prefetch that L2 does not have is one that the last level is asked for */
	OF_L2("L2_RQSTS.PF_MISS", 0x3824, K(LLC_PREFETCH), "lines that prefetchers ask for and L2 does not have"),
	OF_L2("L2_RQSTS.MISS", 0x3f24, K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE) | K(LLC_PREFETCH), "requests that L2 does not have, with prefetches"),
	NOT("L2_RQSTS.REFERENCES", NULL, 0xff24, WHY_AHEAD),
	NOT("UOPS_RETIRED.ALL", NULL, 0x01c2, WHY_UOPS),
	NOT("UOPS_RETIRED.RETIRE_SLOTS", NULL, 0x02c2, WHY_UOPS),
	NOT("LONGEST_LAT_CACHE.PREFETCH", NULL, 0x102e, WHY_CACHE),
};

static const struct ap_pmu_desc icelake[] = {
	COMMON,
	/* an encoding of its own, for the first fixed counter */
	EXACT("INST_RETIRED.PREC_DIST", NULL, 0x0100, K(INSTR), "retired instructions"),
	EXACT("BR_INST_RETIRED.COND", NULL, 0x11c4, K(COND), "conditional branches, taken or not"),
	LESS("BR_INST_RETIRED.COND_TAKEN", NULL, 0x01c4, K(TAKEN) | K(COND), K(BRANCH), "conditional branches that transferred"),
	LESS("BR_INST_RETIRED.COND_NTAKEN", NULL, 0x10c4, K(BRANCH), K(TAKEN), "conditional branches that did not transfer"),
	EXACT("BR_INST_RETIRED.INDIRECT", NULL, 0x80c4, K(IND), "indirect jmp and call, not ret"),
	MODEL("BR_MISP_RETIRED.COND", NULL, 0x11c5, K(COND_MISS), "conditional branches predicted wrongly"),
	NOT("BR_MISP_RETIRED.COND_TAKEN", NULL, 0x01c5, WHY_BPRED),
	NOT("BR_MISP_RETIRED.COND_NTAKEN", NULL, 0x10c5, WHY_BPRED),
	MODEL("BR_MISP_RETIRED.INDIRECT", NULL, 0x80c5, K(INDIRECT_MISS), "indirect jmp and call predicted wrongly, not ret"),
	/* the code of the fixed counter, then that of the others */
	SLOTS("TOPDOWN.SLOTS", 0x0400, "slots of the issue stage: cycles by the machine's width"),
	SLOTS("TOPDOWN.SLOTS_P", 0x01a4, "slots of the issue stage, on any counter"),
	NOT("UOPS_RETIRED.SLOTS", NULL, 0x02c2, WHY_UOPS),
};

static const struct ap_pmu_format formats[] = {
	{ "event", "config:0-7" },
	{ "umask", "config:8-15" },
	{ "edge", "config:18" },
	{ "any", "config:21" },
	{ "inv", "config:23" },
	{ "cmask", "config:24-31" },
	{ "in_tx", "config:32" },
	{ "in_tx_cp", "config:33" },
	{ "anyperf", "config1:0-7" },
	{ "ldlat", AP_PMU_LDLAT_FORMAT },
	{ NULL, NULL },
};

/* As x86 Linux maps the generic events of these cores. */
#define GENERIC \
	[AP_PERF_COUNT_HW_CPU_CYCLES] = 0x003c, \
	[AP_PERF_COUNT_HW_INSTRUCTIONS] = 0x00c0, \
	[AP_PERF_COUNT_HW_CACHE_REFERENCES] = 0x4f2e, \
	[AP_PERF_COUNT_HW_CACHE_MISSES] = 0x412e, \
	[AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x00c4, \
	[AP_PERF_COUNT_HW_BRANCH_MISSES] = 0x00c5, \
	[AP_PERF_COUNT_HW_BUS_CYCLES] = 0x013c, \
	[AP_PERF_COUNT_HW_REF_CPU_CYCLES] = 0x0300
/* clang-format on */

/*
 * Thresholds, edges and their inverse count cycles, `any` a sibling's work: nobody counts those,
 * but for rows that are thresholds.  Counting inside transactions: none is ever begun
 * (docs/limits.md), so in_tx would count nothing on a CPU that has it, and is ignored by Linux on
 * one that has not.  For in_tx_cp the two are one.
 */
#define REFUSED (AP_RAW_EDGE | AP_RAW_ANY | AP_RAW_INV | AP_RAW_CMASK | AP_RAW_IN_TX)

const struct ap_pmu_arch ap_pmu_skylake = {
	.name = "skylake",
	.select = 0xffff,
	.refused = REFUSED,
	.generic = { GENERIC },
	.raw = skylake,
	.nraw = AP_ARRAY_SIZE(skylake),
	.format = formats,
};

const struct ap_pmu_arch ap_pmu_icelake = {
	.name = "icelake",
	.select = 0xffff,
	.refused = REFUSED,
	.generic = { GENERIC },
	.raw = icelake,
	.nraw = AP_ARRAY_SIZE(icelake),
	.format = formats,
};
