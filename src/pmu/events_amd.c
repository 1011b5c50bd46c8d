/* SPDX-License-Identifier: MIT */
/*
 * Raw codes of AMD's Zen cores, event[7:0] | unit mask << 8 | event[11:8] << 32, as the PPRs number
 * and libpfm4 names them; the alias is perf's name.  Only retired-instruction events whose
 * definition is that of docs/counting.md are counted:
 *   - LS_DISPATCH counts operations when they are dispatched, also those that never retire: of all
 *     of them together, which PAPI asks for, those that do are counted;
 *   - RETIRED_SSE_AVX_FLOPS counts operations on each element of a vector, by their arithmetic,
 *     which the engine does not tell apart: all of it together is counted. The codes are those of
 *     Zen 2 and 3, of Zen 4, and, of all single and double ones, of Zen 1; on that the first is of
 *     single ones alone (docs/limits.md);
 *   - whether RETIRED_INDIRECT_BRANCH_INSTRUCTIONS has returns among them no document says.
 */
#include "pmu/event_rows.h"

#define WHY_OPS	  "no model of the pipeline counts operations yet"
#define WHY_BPRED "which of the mispredicted were taken is not told apart"
#define WHY_FLOPS "counts elements by arithmetic, which the engine does not tell apart"
#define WHY_SPEC  "counts what is dispatched, retired or not"
#define WHY_FAR	  "the engine follows no far transfer"
#define WHY_CLASS "no such class of instructions is counted"

#define LOCKED(n, c, t)                                                                            \
	{                                                                                          \
		.name = (n), .config = (c), .sum = { .plus = K(LOAD), .is_locked = true },         \
		.quality = AP_PMU_EXACT, .text = (t)                                               \
	}

/* clang-format off */
static const struct ap_pmu_desc zen[] = {
	EXACT("RETIRED_INSTRUCTIONS", "ex_ret_instr", 0xc0, K(INSTR), "retired instructions"),
	EXACT("RETIRED_BRANCH_INSTRUCTIONS", "ex_ret_brn", 0xc2, K(BRANCH), "near branches: far ones are not followed"),
	EXACT("RETIRED_TAKEN_BRANCH_INSTRUCTIONS", "ex_ret_brn_tkn", 0xc4, K(TAKEN), "near branches that transferred"),
	EXACT("RETIRED_NEAR_RETURNS", "ex_ret_near_ret", 0xc8, K(RET), "near returns"),
	EXACT("RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS", "ex_ret_cond", 0xd1, K(COND), "conditional branches, taken or not"),

	MODEL("CYCLES_NOT_IN_HALT", "ls_not_halted_cyc", 0x76, K(CYCLES), "cycles that the code would take"),
	/*
	 * the sums of unit masks that PAPI's presets ask for; the CPU's first two have prefetches
	 * among them
	 */
	MODEL("REQUESTS_TO_L2_GROUP1.RD_BLK_L:RD_BLK_X:LS_RD_BLK_C_S:CHANGE_TO_X", NULL, 0xe860, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "loads and stores that L1D does not have, without prefetches"),
	OF_L2("CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS.LS_RD_BLK_C", 0x0864, K(LLC_LOAD) | K(LLC_STORE), "of them those that L2 does not have"),
	OF_L2("CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS.IC_FILL_MISS", 0x0164, K(LLC_CODE), "lines of code that L2 does not have"),
	MODEL("REQUESTS_TO_L2_GROUP1.RD_BLK_L", NULL, 0x8060, K(L2_LOAD), "loads that L2 is asked for, without prefetches"),
	MODEL("REQUESTS_TO_L2_GROUP1.CACHEABLE_IC_READ", NULL, 0x1060, K(L2_CODE), "lines of code that L2 is asked for"),
	HITS("CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS.LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X", NULL, 0xf064, K(L2_LOAD) | K(L2_STORE), K(LLC_LOAD) | K(LLC_STORE), "loads and lines for stores that L2 has"),
	HITS("CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS.IC_FILL_HIT_X:IC_FILL_HIT_S", NULL, 0x0664, K(L2_CODE), K(LLC_CODE), "lines of code that L2 has"),
	HITS("L1_ITLB_MISS_L2_ITLB_HIT", NULL, 0x0084, K(ITLB_MISS), K(ITLB_WALK), "lines of code whose page the second TLB has"),
	/* all sizes of pages together: Zen 3's mask, and that of older ones */
	MODEL("L1_ITLB_MISS_L2_ITLB_MISS.COALESCED4K:IF1G:IF2M:IF4K", NULL, 0x0f85, K(ITLB_WALK), "lines of code that take a page walk"),
	MODEL("L1_ITLB_MISS_L2_ITLB_MISS.IF1G:IF2M:IF4K", NULL, 0x0785, K(ITLB_WALK), "the same, by the mask of Zen 1 and 2"),
	MODEL("L1_DTLB_MISS.ALL", NULL, 0xff45, K(DTLB_LOAD_MISS) | K(DTLB_STORE_MISS), "loads and stores whose page the first TLB does not have"),
	NOT("RETIRED_OPS", "ex_ret_ops", 0xc1, WHY_OPS),
	MODEL("RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", "ex_ret_brn_misp", 0xc3, K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS), "branches predicted wrongly"),
	NOT("RETIRED_TAKEN_BRANCH_INSTRUCTIONS_MISPREDICTED", "ex_ret_brn_tkn_misp", 0xc5, WHY_BPRED),
	NOT("RETIRED_FAR_CONTROL_TRANSFERS", "ex_ret_brn_far", 0xc6, WHY_FAR),
	MODEL("RETIRED_NEAR_RETURNS_MISPREDICTED", "ex_ret_near_ret_mispred", 0xc9, K(RETURN_MISS), "returns predicted wrongly"),
	MODEL("RETIRED_INDIRECT_BRANCH_INSTRUCTIONS_MISPREDICTED", "ex_ret_brn_ind_misp", 0xca, K(INDIRECT_MISS), "indirect jmp and call predicted wrongly"),
	NOT("RETIRED_MMX_FP_INSTRUCTIONS.X87_INSTR", NULL, 0x01cb, WHY_CLASS),
	NOT("RETIRED_MMX_FP_INSTRUCTIONS.MMX_INSTR", NULL, 0x02cb, WHY_CLASS),
	NOT("RETIRED_MMX_FP_INSTRUCTIONS.SSE_INSTR", NULL, 0x04cb, WHY_CLASS),
	NOT("RETIRED_INDIRECT_BRANCH_INSTRUCTIONS", "ex_ret_ind_brch_instr", 0xcc, "with or without returns: no document says"),
	NOT("RETIRED_SSE_AVX_FLOPS.ADD_SUB_FLOPS", NULL, 0x0103, WHY_FLOPS),
	NOT("RETIRED_SSE_AVX_FLOPS.MULT_FLOPS", NULL, 0x0203, WHY_FLOPS),
	NOT("RETIRED_SSE_AVX_FLOPS.DIV_FLOPS", NULL, 0x0403, WHY_FLOPS),
	NOT("RETIRED_SSE_AVX_FLOPS.MAC_FLOPS", NULL, 0x0803, WHY_FLOPS),
	EXACT("RETIRED_SSE_AVX_FLOPS.ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS", "fp_ret_sse_avx_ops.all", 0x0f03, K(FLOPS), "floating point operations on each element, fused ones twice"),
	EXACT("RETIRED_SSE_AVX_FLOPS.ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS:BFLOAT_MAC_FLOPS", NULL, 0x1f03, K(FLOPS), "the same, by the mask of Zen 4"),
	EXACT("RETIRED_SSE_AVX_OPERATIONS.DP_MULT_ADD_FLOPS:DP_DIV_FLOPS:DP_MULT_FLOPS:DP_ADD_SUB_FLOPS:SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:SP_MULT_FLOPS:SP_ADD_SUB_FLOPS", NULL, 0xff03, K(FLOPS), "the same, by the mask of Zen 1"),
	/*
	 * nothing is dispatched here that does not retire: all of it together is each such
	 * instruction once
	 */
	EXACT("LS_DISPATCH.LD_ST_DISPATCH:STORE_DISPATCH:LD_DISPATCH", NULL, 0x0729, K(MEM), "instructions that read or write memory"),
	/*
	 * Zen 1's names; later ones have the codes.  None here is of another sort than the one that
	 * commits to what it has speculated
	 */
	LOCKED("LOCKS.SPEC_LOCK_MAP_COMMIT", 0x0825, "instructions that lock what they access: lock prefix, xchg with memory"),
	LOCKED("LOCKS.BUS_LOCK:NON_SPEC_LOCK:SPEC_LOCK:SPEC_LOCK_MAP_COMMIT", 0x0f25, "the same"),
	NOT("LS_DISPATCH.LD_DISPATCH", "ls_dispatch.ld_dispatch", 0x0129, WHY_SPEC),
	NOT("LS_DISPATCH.STORE_DISPATCH", "ls_dispatch.store_dispatch", 0x0229, WHY_SPEC),
	NOT("LS_DISPATCH.LD_ST_DISPATCH", "ls_dispatch.ld_st_dispatch", 0x0429, WHY_SPEC),
};

static const struct ap_pmu_format formats[] = {
	{ "event", "config:0-7,32-35" },
	{ "umask", "config:8-15" },
	{ "edge", "config:18" },
	{ "inv", "config:23" },
	{ "cmask", "config:24-31" },
	{ "anyperf", "config1:0-7" },
	{ "ldlat", AP_PMU_LDLAT_FORMAT },
	{ NULL, NULL },
};
/* clang-format on */

const struct ap_pmu_arch ap_pmu_zen = {
	.name = "zen",
	.select = 0xf0000ffffULL,
	/* thresholds, edges and their inverse count cycles */
	.refused = AP_RAW_EDGE | AP_RAW_INV | AP_RAW_CMASK,
	.generic = { [AP_PERF_COUNT_HW_CPU_CYCLES] = 0x0076,
		     [AP_PERF_COUNT_HW_INSTRUCTIONS] = 0x00c0,
		     [AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x00c2,
		     [AP_PERF_COUNT_HW_BRANCH_MISSES] = 0x00c3 },
	.raw = zen,
	.nraw = AP_ARRAY_SIZE(zen),
	.format = formats,
};
