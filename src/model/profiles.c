/* SPDX-License-Identifier: MIT */
/*
 * The built-in machines.  docs/machines.md says where each figure is from.  What manufacturers do
 * not publish (replacement, predictor tables, paging-structure caches of Intel) is assumed, and
 * said so there: choices that are plain, deterministic and close to what public measurements agree
 * on.
 */
#include "base/mem.h"
#include "model/machine.h"

#define KB 1024U
#define MB (1024U * KB)

/* No manufacturer publishes its predictors: TAGE of the size that a 32 to 64 KB budget gives. */
#define TAGE_SMALL                                                                                 \
	.kind = AP_BP_TAGE, .tables = 3, .table_bits = 12, .tag_bits = 10, .min_history = 6,       \
	.max_history = 32, .bias_bits = 16, .loops = 64, .target_bits = 9, .target_tables = 3,     \
	.target_table_bits = 8

#define TAGE_LARGE                                                                                 \
	.kind = AP_BP_TAGE, .tables = 3, .table_bits = 13, .tag_bits = 11, .min_history = 6,       \
	.max_history = 40, .bias_bits = 16, .loops = 64, .target_bits = 11, .target_tables = 3,    \
	.target_table_bits = 10

/* clang-format off */
static const struct ap_machine machines[] = {
{
	.name = "skylake",
	.line = 64,
	.mhz = 3400, .ref_mhz = 3400, .bus_mhz = 100,
	.vendor = AP_VENDOR_INTEL, .counters = 4, .fixed = 3, .counter_bits = 48,
	.nodes = 1, .memory = 220, .remote = 220, .snoop = 75,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_PLRU },
	.l1d = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_PLRU,
		 .prefetch = AP_PREFETCH_STRIDE },
	.l2 = { .size = 256 * KB, .ways = 4, .latency = 12, .policy = AP_POLICY_PLRU,
		.inclusion = AP_NONINCLUSIVE, .prefetch = AP_PREFETCH_STRIDE, .degree = 4 },
	.llc = { .size = 8 * MB, .ways = 16, .slices = 4, .latency = 44, .policy = AP_POLICY_RRIP,
		 .inclusion = AP_INCLUSIVE },
	.itlb = { 128, 8, 0 }, .itlb_2m = { 8, 8, 0 },
	.dtlb = { 64, 4, 0 }, .dtlb_2m = { 32, 4, 0 },
	.stlb = { 1536, 12, 9 },
	.walk_pde = 32, .walk_pdpte = 4, .walk_pml4e = 2, .walk_step = 12,
	.bp = { TAGE_SMALL, .btb_entries = 4096, .btb_ways = 4, .returns = 16,
		.penalty = 16, .btb_penalty = 8 },
	.pipe = { .issue = 4, .retire = 4, .rob = 224, .load_buffer = 72,
		  .store_buffer = 56, .fill_buffers = 12, .forward = 4, .forward_block = 12,
		  .split = 6, .page_split = 14, .string = 32 },
},
{
	.name = "icelake",
	.line = 64,
	.mhz = 2300, .ref_mhz = 2300, .bus_mhz = 100,
	.vendor = AP_VENDOR_INTEL, .counters = 8, .fixed = 4, .counter_bits = 48,
	.nodes = 1, .memory = 200, .remote = 200, .snoop = 75,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 5, .policy = AP_POLICY_PLRU },
	.l1d = { .size = 48 * KB, .ways = 12, .latency = 5, .policy = AP_POLICY_LRU,
		 .prefetch = AP_PREFETCH_STRIDE },
	.l2 = { .size = 512 * KB, .ways = 8, .latency = 13, .policy = AP_POLICY_PLRU,
		.inclusion = AP_NONINCLUSIVE, .prefetch = AP_PREFETCH_STRIDE, .degree = 4 },
	.llc = { .size = 8 * MB, .ways = 16, .slices = 4, .latency = 42, .policy = AP_POLICY_RRIP,
		 .inclusion = AP_INCLUSIVE },
	.itlb = { 128, 8, 0 }, .itlb_2m = { 16, 16, 0 },
	.dtlb = { 64, 4, 0 }, .dtlb_2m = { 32, 4, 0 },
	.dtlb_store = { 16, 16, 0 },
	.stlb = { 2048, 16, 7 },
	.walk_pde = 32, .walk_pdpte = 4, .walk_pml4e = 2, .walk_step = 13,
	.bp = { TAGE_LARGE, .btb_entries = 5120, .btb_ways = 5, .returns = 16,
		.penalty = 17, .btb_penalty = 8 },
	.pipe = { .issue = 5, .retire = 8, .rob = 352, .load_buffer = 128,
		  .store_buffer = 72, .fill_buffers = 12, .forward = 5, .forward_block = 13,
		  .split = 6, .page_split = 14, .string = 64 },
},
{
	.name = "sapphirerapids",
	.line = 64,
	.mhz = 2900, .ref_mhz = 2900, .bus_mhz = 100,
	.vendor = AP_VENDOR_INTEL, .counters = 8, .fixed = 4, .counter_bits = 48,
	.nodes = 1, .memory = 330, .remote = 550, .snoop = 150,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 5, .policy = AP_POLICY_PLRU },
	.l1d = { .size = 48 * KB, .ways = 12, .latency = 5, .policy = AP_POLICY_LRU,
		 .prefetch = AP_PREFETCH_STRIDE },
	.l2 = { .size = 2 * MB, .ways = 16, .latency = 15, .policy = AP_POLICY_PLRU,
		.inclusion = AP_NONINCLUSIVE, .prefetch = AP_PREFETCH_STRIDE, .degree = 4 },
	.llc = { .size = 12 * 1920 * KB, .ways = 15, .slices = 12, .latency = 70,
		 .policy = AP_POLICY_RRIP, .inclusion = AP_EXCLUSIVE },
	.itlb = { 256, 8, 0 }, .itlb_2m = { 32, 8, 0 },
	.dtlb = { 96, 6, 0 }, .dtlb_2m = { 32, 4, 0 },
	.dtlb_store = { 16, 16, 0 },
	.stlb = { 2048, 16, 7 },
	.walk_pde = 32, .walk_pdpte = 4, .walk_pml4e = 2, .walk_step = 15,
	.bp = { TAGE_LARGE, .btb_entries = 12288, .btb_ways = 12, .returns = 24,
		.penalty = 17, .btb_penalty = 8 },
	.pipe = { .issue = 6, .retire = 8, .rob = 512, .load_buffer = 192,
		  .store_buffer = 114, .fill_buffers = 16, .forward = 5, .forward_block = 13,
		  .split = 6, .page_split = 14, .rename_memory = 1, .string = 64 },
},
{
	.name = "zen3",
	.line = 64,
	.mhz = 3800, .ref_mhz = 3800, .bus_mhz = 100,
	.vendor = AP_VENDOR_AMD, .counters = 6, .fixed = 0, .counter_bits = 48,
	.nodes = 1, .memory = 290, .remote = 290, .snoop = 90,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_LRU },
	.l1d = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_LRU,
		 .prefetch = AP_PREFETCH_STRIDE },
	.l2 = { .size = 512 * KB, .ways = 8, .latency = 12, .policy = AP_POLICY_PLRU,
		.inclusion = AP_INCLUSIVE, .prefetch = AP_PREFETCH_STRIDE, .degree = 4 },
	.llc = { .size = 32 * MB, .ways = 16, .slices = 8, .latency = 46, .policy = AP_POLICY_RRIP,
		 .inclusion = AP_EXCLUSIVE },
	.itlb = { 64, 64, 0 }, .dtlb = { 64, 64, 0 },
	.stlb = { 2048, 8, 7 }, .istlb = { 512, 8, 7 },
	.walk_pde = 64, .walk_pdpte = 8, .walk_pml4e = 4, .walk_step = 12,
	.bp = { TAGE_LARGE, .btb_entries = 6656, .btb_ways = 13, .returns = 32,
		.penalty = 13, .btb_penalty = 8 },
	.pipe = { .issue = 6, .retire = 8, .rob = 256, .load_buffer = 72,
		  .store_buffer = 64, .fill_buffers = 24, .forward = 7, .forward_block = 14,
		  .split = 1, .page_split = 14, .rename_memory = 1, .string = 32 },
},
{
	.name = "zen4",
	.line = 64,
	.mhz = 4500, .ref_mhz = 4500, .bus_mhz = 100,
	.vendor = AP_VENDOR_AMD, .counters = 6, .fixed = 0, .counter_bits = 48,
	.nodes = 1, .memory = 340, .remote = 340, .snoop = 95,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_LRU },
	.l1d = { .size = 32 * KB, .ways = 8, .latency = 4, .policy = AP_POLICY_LRU,
		 .prefetch = AP_PREFETCH_STRIDE },
	.l2 = { .size = 1 * MB, .ways = 8, .latency = 14, .policy = AP_POLICY_PLRU,
		.inclusion = AP_INCLUSIVE, .prefetch = AP_PREFETCH_STRIDE, .degree = 4 },
	.llc = { .size = 32 * MB, .ways = 16, .slices = 8, .latency = 50, .policy = AP_POLICY_RRIP,
		 .inclusion = AP_EXCLUSIVE },
	.itlb = { 64, 64, 0 }, .dtlb = { 72, 72, 0 },
	.stlb = { 3072, 24, 7 }, .istlb = { 512, 8, 7 },
	.walk_pde = 64, .walk_pdpte = 8, .walk_pml4e = 4, .walk_step = 14,
	.bp = { TAGE_LARGE, .btb_entries = 7168, .btb_ways = 14, .returns = 32,
		.penalty = 13, .btb_penalty = 8 },
	.pipe = { .issue = 6, .retire = 8, .rob = 320, .load_buffer = 88,
		  .store_buffer = 64, .fill_buffers = 24, .forward = 7, .forward_block = 14,
		  .split = 1, .page_split = 14, .rename_memory = 1, .string = 32 },
},
{
	/* as cachegrind's manual describes its simulator; no TLBs, evictions are free */
	.name = "cachegrind",
	.line = 64,
	.mhz = 1000, .ref_mhz = 1000, .bus_mhz = 100,
	.vendor = AP_VENDOR_INTEL, .counters = 8, .fixed = 3, .counter_bits = 48,
	.nodes = 1, .memory = 100, .remote = 100, .snoop = 100, .whole_split = 1,
	.l1i = { .size = 32 * KB, .ways = 8, .latency = 1, .policy = AP_POLICY_LRU },
	.l1d = { .size = 32 * KB, .ways = 8, .latency = 1, .policy = AP_POLICY_LRU },
	.llc = { .size = 8 * MB, .ways = 16, .latency = 10, .policy = AP_POLICY_LRU,
		 .no_allocate = 1 },
	.bp = { .kind = AP_BP_GSHARE, .base_bits = 14, .history = 7, .target_bits = 9,
		.returns = 256, .penalty = 10 },
	.pipe = { .issue = 1, .retire = 1, .rob = 1, .store_buffer = 0 },
},
};
/* clang-format on */

const struct ap_machine *ap_machine_find(const char *name)
{
	for (unsigned i = 0; i < AP_ARRAY_SIZE(machines); i++)
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	return NULL;
}

const struct ap_machine *ap_machine_at(unsigned n)
{
	return n < AP_ARRAY_SIZE(machines) ? &machines[n] : NULL;
}
