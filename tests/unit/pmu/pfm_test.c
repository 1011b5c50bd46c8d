/* SPDX-License-Identifier: MIT */
/* LIBS: -lpfm */
/*
 * The raw codes of the tables against libpfm4, whose authors took them from the vendors' lists: each row
 * by its name, as libpfm spells it, must be encoded as ours.
 */
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/events.h"
#include "tap/tap.h"

#define ZEN1_FLOPS                                                                                  \
	"RETIRED_SSE_AVX_OPERATIONS:DP_MULT_ADD_FLOPS:DP_DIV_FLOPS:DP_MULT_FLOPS:DP_ADD_SUB_FLOPS:" \
	"SP_MULT_ADD_FLOPS:SP_DIV_FLOPS:SP_MULT_FLOPS:SP_ADD_SUB_FLOPS"

/* Names that libpfm4 4.13 has not, or not for all of these CPUs; codes from the SDM and the PPRs. */
static const char *const unknown[] = {
	"skl::BR_INST_RETIRED:ALL_BRANCHES_PEBS",
	"skl::LONGEST_LAT_CACHE:PREFETCH",
	/* there it is one event a register, of so many masks */
	"skl::OFFCORE_RESPONSE",
	"icl::OFFCORE_RESPONSE",
	"icl::LONGEST_LAT_CACHE:REFERENCE",
	"amd64_fam17h_zen1::RETIRED_OPS",
	"amd64_fam17h_zen2::RETIRED_OPS",
	"amd64_fam17h_zen1::RETIRED_INDIRECT_BRANCH_INSTRUCTIONS",
	"amd64_fam17h_zen2::RETIRED_INDIRECT_BRANCH_INSTRUCTIONS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:MULT_FLOPS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:DIV_FLOPS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:MAC_FLOPS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS",
	"amd64_fam17h_zen1::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS:BFLOAT_MAC_FLOPS",
	"amd64_fam17h_zen2::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS:BFLOAT_MAC_FLOPS",
	"amd64_fam19h_zen3::RETIRED_SSE_AVX_FLOPS:ADD_SUB_FLOPS:MULT_FLOPS:DIV_FLOPS:MAC_FLOPS:BFLOAT_MAC_FLOPS",
	"amd64_fam17h_zen2::" ZEN1_FLOPS,
	"amd64_fam19h_zen3::" ZEN1_FLOPS,
	"amd64_fam19h_zen4::" ZEN1_FLOPS,
	"amd64_fam17h_zen1::L1_ITLB_MISS_L2_ITLB_MISS:COALESCED4K:IF1G:IF2M:IF4K",
	"amd64_fam17h_zen2::L1_ITLB_MISS_L2_ITLB_MISS:COALESCED4K:IF1G:IF2M:IF4K",
	"amd64_fam17h_zen2::LOCKS:SPEC_LOCK_MAP_COMMIT",
	"amd64_fam17h_zen2::LOCKS:BUS_LOCK:NON_SPEC_LOCK:SPEC_LOCK:SPEC_LOCK_MAP_COMMIT",
	"amd64_fam19h_zen3::LOCKS:SPEC_LOCK_MAP_COMMIT",
	"amd64_fam19h_zen3::LOCKS:BUS_LOCK:NON_SPEC_LOCK:SPEC_LOCK:SPEC_LOCK_MAP_COMMIT",
	"amd64_fam19h_zen4::LOCKS:SPEC_LOCK_MAP_COMMIT",
	"amd64_fam19h_zen4::LOCKS:BUS_LOCK:NON_SPEC_LOCK:SPEC_LOCK:SPEC_LOCK_MAP_COMMIT",
	/* all of its masks, which it has one by one */
	"amd64_fam17h_zen1::L1_DTLB_MISS:ALL",
	"amd64_fam17h_zen2::L1_DTLB_MISS:ALL",
	"amd64_fam19h_zen3::L1_DTLB_MISS:ALL",
	"amd64_fam19h_zen4::L1_DTLB_MISS:ALL",
};

static bool is_unknown(const char *name)
{
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(unknown); i++) {
		if (!strcmp(unknown[i], name))
			return true;
	}
	return false;
}

static int encode(const char *name, u64 *config)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	int err;

	memset(&attr, 0, sizeof(attr));
	err = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	*config = attr.config;
	return err;
}

static u32 compare_name(const char *pmu, const char *own, u64 config)
{
	char name[240], *dot;
	u64 got;
	int err;

	snprintf(name, sizeof(name), "%s::%s", pmu, own);
	dot = strchr(name, '.');
	if (dot)
		*dot = ':';
	err = encode(name, &got);
	if (err) {
		if (!EXPECT(is_unknown(name)))
			tap_note("%s: %s", name, pfm_strerror(err));
		return 0;
	}
	if (!EXPECT(!is_unknown(name)) || !EXPECT_U64(got, config))
		tap_note("%s", name);
	return 1;
}

static void compare(const char *pmu, enum ap_cpu cpu, u32 at_least)
{
	const struct ap_pmu_arch *arch = ap_pmu_arch(cpu);
	u32 i, n = 0;

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	REQUIRE(pfm_initialize() == PFM_SUCCESS);
	for (i = 0; i < arch->nraw; i++)
		n += compare_name(pmu, arch->raw[i].name, arch->raw[i].config);
	tap_note("%u of %u rows compared with %s", n, arch->nraw, pmu);
	EXPECT(n >= at_least);
}

static void skylake_codes_are_libpfms(void)
{
	compare("skl", AP_CPU_SKYLAKE, 30);
	EXPECT_U64(compare_name("skl", "INSTRUCTION_RETIRED", 0xc0), 1);
	EXPECT_U64(compare_name("skl", "BRANCH_INSTRUCTIONS_RETIRED", 0xc4), 1);
	EXPECT_U64(compare_name("skl", "BR_INST_RETIRED:COND", 0x1c4), 1);
}

static void icelake_codes_are_libpfms(void)
{
	compare("icl", AP_CPU_ICELAKE, 30);
}

static void zen_codes_are_libpfms(void)
{
	compare("amd64_fam17h_zen1", AP_CPU_ZEN, 10);
	compare("amd64_fam17h_zen2", AP_CPU_ZEN, 15);
	compare("amd64_fam19h_zen3", AP_CPU_ZEN, 15);
	compare("amd64_fam19h_zen4", AP_CPU_ZEN, 15);
}

/* Names of the vendors' events that a mix of unit masks serves. */
static void mixed_masks_are_libpfms(void)
{
	static const char *const names[] = { "icl::FP_ARITH_INST_RETIRED:SCALAR",
					     "icl::FP_ARITH_INST_RETIRED:4_FLOPS",
					     "icl::FP_ARITH_INST_RETIRED:8_FLOPS",
					     "icl::FP_ARITH_INST_RETIRED:VECTOR",
					     "skl::FP_ARITH:SCALAR_DOUBLE:256B_PACKED_DOUBLE" };
	struct ap_pmu_sum sum;
	u64 config;
	size_t i;

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	REQUIRE(pfm_initialize() == PFM_SUCCESS);
	for (i = 0; i < AP_ARRAY_SIZE(names); i++) {
		EXPECT_U64(encode(names[i], &config), PFM_SUCCESS);
		EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(AP_CPU_ICELAKE), AP_PERF_TYPE_RAW, config, 0,
					  &sum),
			   0);
		EXPECT_U64(sum.plus, config >> 8 << AP_KIND_FP_SCALAR_DOUBLE);
	}
}

/* Some cycles of libpfm's are thresholds on events that are counted: no plausible number for them. */
static void thresholds_are_not_counted(void)
{
	static const char *const names[] = { "skl::INST_RETIRED:TOTAL_CYCLES",
					     "skl::INST_RETIRED:ANY_P:c=1",
					     "skl::INST_RETIRED:ANY_P:i",
					     "skl::INST_RETIRED:ANY_P:e:c=1",
					     "skl::INST_RETIRED:ANY_P:t" };
	struct ap_pmu_sum sum;
	u64 config;
	size_t i;

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	REQUIRE(pfm_initialize() == PFM_SUCCESS);
	for (i = 0; i < AP_ARRAY_SIZE(names); i++) {
		if (!EXPECT_U64(encode(names[i], &config), PFM_SUCCESS))
			tap_note("%s", names[i]);
		EXPECT(ap_pmu_resolve(ap_pmu_arch(AP_CPU_SKYLAKE), AP_PERF_TYPE_RAW, config, 0,
				      &sum) < 0);
	}
}

/* What PAPI's presets are made of, as its table names it: docs/counting.md says that they count. */
static const char *const presets[] = {
	"skl::CPU_CLK_THREAD_UNHALTED:THREAD_P",
	"skl::INST_RETIRED:ANY_P",
	"skl::UNHALTED_REFERENCE_CYCLES",
	"skl::MEM_UOPS_RETIRED:ALL_LOADS",
	"skl::MEM_UOPS_RETIRED:ALL_STORES",
	"skl::L1D:REPLACEMENT",
	"skl::L2_RQSTS:ALL_CODE_RD",
	"skl::L2_RQSTS:ALL_DEMAND_REFERENCES",
	"skl::L2_RQSTS:ALL_DEMAND_DATA_RD",
	"skl::L2_RQSTS:ALL_RFO",
	"skl::L2_RQSTS:CODE_RD_HIT",
	"skl::L2_RQSTS:CODE_RD_MISS",
	"skl::L2_RQSTS:DEMAND_DATA_RD_MISS",
	"skl::L2_RQSTS:DEMAND_RFO_HIT",
	"skl::L2_RQSTS:DEMAND_RFO_MISS",
	"skl::L2_RQSTS:RFO_HIT",
	"skl::L2_RQSTS:PF_MISS",
	"skl::OFFCORE_REQUESTS:DEMAND_DATA_RD",
	"skl::OFFCORE_REQUESTS:DEMAND_RFO",
	"skl::MEM_LOAD_RETIRED:L3_MISS",
	"skl::DTLB_LOAD_MISSES:MISS_CAUSES_A_WALK",
	"skl::DTLB_STORE_MISSES:MISS_CAUSES_A_WALK",
	"skl::ITLB_MISSES:MISS_CAUSES_A_WALK",
	"skl::RESOURCE_STALLS:ANY",
	"icx::CPU_CLK_UNHALTED:THREAD_P",
	"icx::MEM_INST_RETIRED:ALL_LOADS",
	"icx::MEM_INST_RETIRED:ALL_STORES",
	"icx::L1D:REPLACEMENT",
	"icx::L2_RQSTS:ALL_CODE_RD",
	"icx::L2_RQSTS:ALL_DEMAND_REFERENCES",
	"icx::L2_RQSTS:CODE_RD_HIT",
	"icx::L2_RQSTS:CODE_RD_MISS",
	"icx::L2_RQSTS:DEMAND_DATA_RD_MISS",
	"icx::OFFCORE_REQUESTS:DEMAND_DATA_RD",
	"icx::MEM_LOAD_RETIRED:L3_MISS",
	"icx::BR_INST_RETIRED:COND_TAKEN",
	"icx::BR_MISP_RETIRED:COND",
	"amd64_fam19h_zen3::LS_DISPATCH:LD_ST_DISPATCH:STORE_DISPATCH:LD_DISPATCH",
	"amd64_fam19h_zen3::REQUESTS_TO_L2_GROUP1:CACHEABLE_IC_READ",
	"amd64_fam19h_zen3::L1_ITLB_MISS_L2_ITLB_HIT",
	"amd64_fam19h_zen3::L1_ITLB_MISS_L2_ITLB_MISS:COALESCED4K:IF1G:IF2M:IF4K",
	"amd64_fam19h_zen3::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:IC_FILL_HIT_X:IC_FILL_HIT_S",
	"amd64_fam19h_zen3::CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C_S:LS_RD_BLK_L_HIT_X:LS_RD_BLK_L_HIT_S:LS_RD_BLK_X",
};

static void presets_of_papi_are_counted(void)
{
	struct ap_pmu_sum sum;
	u64 config;

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	REQUIRE(pfm_initialize() == PFM_SUCCESS);
	for (size_t i = 0; i < AP_ARRAY_SIZE(presets); i++) {
		enum ap_cpu cpu = presets[i][0] == 's'	 ? AP_CPU_SKYLAKE
				  : presets[i][0] == 'i' ? AP_CPU_ICELAKE
							 : AP_CPU_ZEN;

		if (!EXPECT_U64(encode(presets[i], &config), PFM_SUCCESS) ||
		    !EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(cpu), AP_PERF_TYPE_RAW, config, 0, &sum),
				0))
			tap_note("%s", presets[i]);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(skylake_codes_are_libpfms),
						 TAP(icelake_codes_are_libpfms),
						 TAP(zen_codes_are_libpfms),
						 TAP(mixed_masks_are_libpfms),
						 TAP(presets_of_papi_are_counted),
						 TAP(thresholds_are_not_counted),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
