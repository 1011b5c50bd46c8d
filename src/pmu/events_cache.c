/* SPDX-License-Identifier: MIT */
/*
 * perf's generic cache events: a cache, an operation, a result.  What is counted is the reference
 * exactly and the miss as a model has it; what Intel's cores do not count is ENOENT here as well.
 *
 * A miss of a TLB is what no TLB knows, as on Intel.  iTLB-loads are lookups.  Of a machine without
 * a TLB there are no events of it but those that are exact: they are the references themselves.
 */
#include "pmu/events.h"

#include "abi/errno.h"
#include "base/mem.h"

#define K(k) AP_KIND_BIT(AP_KIND_##k)

#define ID(id, op, result)                                                                         \
	(AP_PERF_COUNT_HW_CACHE_##id | AP_PERF_COUNT_HW_CACHE_OP_##op << 8 |                       \
	 AP_PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define ROW(n, id, op, result, k, q, t)                                                            \
	{                                                                                          \
		.name = (n), .config = ID(id, op, result), .sum = { .plus = (k) }, .quality = (q), \
		.text = (t)                                                                        \
	}
#define EXACT(n, id, op, k, t)	       ROW(n, id, op, ACCESS, k, AP_PMU_EXACT, t)
#define MODEL(n, id, op, result, k, t) ROW(n, id, op, result, k, AP_PMU_MODELLED, t)

/* clang-format off */
const struct ap_pmu_desc ap_pmu_cache[] = {
	EXACT("L1-dcache-loads", L1D, READ, K(LOAD), "instructions that read memory"),
	MODEL("L1-dcache-load-misses", L1D, READ, MISS, K(L1D_LOAD_MISS), "loads that L1D does not have"),
	EXACT("L1-dcache-stores", L1D, WRITE, K(STORE), "instructions that write memory"),
	MODEL("L1-dcache-store-misses", L1D, WRITE, MISS, K(L1D_STORE_MISS), "stores that L1D does not have"),
	/*
	 * as on AMD's CPUs: lines that were there already are none, and there are no misses of them
	 */
	MODEL("L1-dcache-prefetches", L1D, PREFETCH, ACCESS, K(L1D_PREFETCH), "lines that prefetchers bring into L1D"),
	MODEL("L1-icache-loads", L1I, READ, ACCESS, K(L1I_LOAD), "lines of code that are fetched"),
	MODEL("L1-icache-load-misses", L1I, READ, MISS, K(L1I_LOAD_MISS), "lines of code that L1I does not have"),
	MODEL("LLC-loads", LL, READ, ACCESS, K(LLC_LOAD), "loads that the last level is asked for"),
	MODEL("LLC-load-misses", LL, READ, MISS, K(LLC_LOAD_MISS), "of them those that it does not have"),
	MODEL("LLC-stores", LL, WRITE, ACCESS, K(LLC_STORE), "lines for stores that the last level is asked for"),
	MODEL("LLC-store-misses", LL, WRITE, MISS, K(LLC_STORE_MISS), "of them those that it does not have"),
	MODEL("LLC-prefetches", LL, PREFETCH, ACCESS, K(LLC_PREFETCH), "lines that prefetchers ask the last level for"),
	MODEL("LLC-prefetch-misses", LL, PREFETCH, MISS, K(LLC_PREFETCH_MISS), "of them those that it does not have"),
	EXACT("dTLB-loads", DTLB, READ, K(LOAD), "instructions that read memory"),
	MODEL("dTLB-load-misses", DTLB, READ, MISS, K(DTLB_LOAD_WALK), "loads that take a page walk"),
	EXACT("dTLB-stores", DTLB, WRITE, K(STORE), "instructions that write memory"),
	MODEL("dTLB-store-misses", DTLB, WRITE, MISS, K(DTLB_STORE_WALK), "stores that take a page walk"),
	/* no kind of its own: each line that is fetched is looked up, where there is a TLB */
	{ .name = "iTLB-loads", .config = ID(ITLB, READ, ACCESS), .sum = { .plus = K(L1I_LOAD), .of = K(ITLB_MISS) },
	  .quality = AP_PMU_MODELLED, .text = "lines of code whose page is looked up" },
	MODEL("iTLB-load-misses", ITLB, READ, MISS, K(ITLB_WALK), "lines of code that take a page walk"),
	EXACT("branch-loads", BPU, READ, K(BRANCH), "near branches"),
	MODEL("branch-load-misses", BPU, READ, MISS, K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS), "branches predicted wrongly"),
	MODEL("node-loads", NODE, READ, ACCESS, K(LLC_LOAD_MISS), "loads from memory"),
	MODEL("node-load-misses", NODE, READ, MISS, K(NODE_LOAD_MISS), "of them those from another node's"),
	MODEL("node-stores", NODE, WRITE, ACCESS, K(LLC_STORE_MISS), "lines for stores from memory"),
	MODEL("node-store-misses", NODE, WRITE, MISS, K(NODE_STORE_MISS), "of them those from another node's"),
};
/* clang-format on */
const u32 ap_pmu_ncache = AP_ARRAY_SIZE(ap_pmu_cache);

const struct ap_pmu_desc *ap_pmu_cache_find(u64 config)
{
	for (u32 i = 0; i < ap_pmu_ncache; i++)
		if (ap_pmu_cache[i].config == config)
			return &ap_pmu_cache[i];
	return NULL;
}

/* --- names: a cache, then an operation and a result in either order, or less */

#define OP_LOAD	    (1U << AP_PERF_COUNT_HW_CACHE_OP_READ)
#define OP_STORE    (1U << AP_PERF_COUNT_HW_CACHE_OP_WRITE)
#define OP_PREFETCH (1U << AP_PERF_COUNT_HW_CACHE_OP_PREFETCH)
#define IS_MISS	    (1U << 8)
#define IS_ACCESS   (1U << 9)

static const struct cache_type {
	const char *name[4]; /* the first is canonical */
	u32 ops;
} types[AP_PERF_COUNT_HW_CACHE_MAX] = {
	{ { "L1-dcache", "L1-data", "l1-d", "l1d" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "L1-icache", "L1-instruction", "l1-i", "l1i" }, OP_LOAD | OP_PREFETCH },
	{ { "LLC", "L2" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "dTLB", "Data-TLB", "d-tlb" }, OP_LOAD | OP_STORE | OP_PREFETCH },
	{ { "iTLB", "Instruction-TLB", "i-tlb" }, OP_LOAD },
	{ { "branch", "bpu", "btb", "bpc" }, OP_LOAD },
	{ { "node" }, OP_LOAD | OP_STORE | OP_PREFETCH },
};

static const struct cache_word {
	const char *word;
	u32 means;
} words[] = {
	{ "loads", OP_LOAD },
	{ "load", OP_LOAD },
	{ "read", OP_LOAD },
	{ "stores", OP_STORE },
	{ "store", OP_STORE },
	{ "write", OP_STORE },
	{ "prefetches", OP_PREFETCH },
	{ "prefetch", OP_PREFETCH },
	{ "speculative-read", OP_PREFETCH },
	{ "speculative-load", OP_PREFETCH },
	{ "misses", IS_MISS },
	{ "miss", IS_MISS },
	{ "refs", IS_ACCESS },
	{ "Reference", IS_ACCESS },
	{ "ops", IS_ACCESS },
	{ "access", IS_ACCESS },
};

/* Length of word when s begins with it and a dash or the end follows, else 0. */
static size_t begins(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	if (n > len || memcmp(s, word, n) != 0 || (n < len && s[n] != '-'))
		return 0;
	return n;
}

/* What follows the type, as bits; 0 where it is not well-formed. */
static u32 read_words(const char *s, size_t len, u32 ops)
{
	u32 seen = 0, op;

	while (len) {
		size_t n = 0, i;

		for (i = 0; i < AP_ARRAY_SIZE(words) && !n; i++)
			n = begins(s + 1, len - 1, words[i].word);
		if (!n)
			return 0;
		seen |= words[i - 1].means;
		s += n + 1;
		len -= n + 1;
	}
	op = seen & 0xff;
	if ((seen & IS_MISS && seen & IS_ACCESS) || op & ~ops || op & (op - 1))
		return 0;
	return op ? seen : seen | OP_LOAD;
}

bool ap_pmu_cache_name(const char *name, size_t len, u64 *config)
{
	for (u32 t = 0; t < AP_ARRAY_SIZE(types); t++) {
		for (u32 a = 0; a < AP_ARRAY_SIZE(types[t].name) && types[t].name[a]; a++) {
			size_t n = begins(name, len, types[t].name[a]);
			u32 seen = n ? read_words(name + n, len - n, types[t].ops) : 0;

			if (!seen)
				continue;
			*config = t | (u64)(u32)__builtin_ctz(seen) << 8 |
				  (seen & IS_MISS ? 1ULL << 16 : 0);
			return true;
		}
	}
	return false;
}
