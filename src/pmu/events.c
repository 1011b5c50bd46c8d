/* SPDX-License-Identifier: MIT */
/*
 * The tables that are the same on every CPU, and the resolution of an attr.  Errors are those of
 * x86 Linux with a PMU: numbers out of range are EINVAL, whatever is well-formed and not counted
 * ENOENT.
 */
#include "pmu/events.h"

#include "abi/errno.h"

#define K(k) AP_KIND_BIT(AP_KIND_##k)

#define FP_ALL                                                                                     \
	(K(FP_SCALAR_DOUBLE) | K(FP_SCALAR_SINGLE) | K(FP_128_DOUBLE) | K(FP_128_SINGLE) |         \
	 K(FP_256_DOUBLE) | K(FP_256_SINGLE) | K(FP_512_DOUBLE) | K(FP_512_SINGLE))

#define GENERIC(id, n, a, k, q, t)                                                                 \
	[AP_PERF_COUNT_HW_##id] = { .name = (n),                                                   \
				    .alias = (a),                                                  \
				    .config = AP_PERF_COUNT_HW_##id,                               \
				    .sum = { .plus = (k) },                                        \
				    .quality = (q),                                                \
				    .text = (t) }
#define HW(id, n, a, k, t)    GENERIC(id, n, a, k, AP_PMU_EXACT, t)
#define MODEL(id, n, a, k, t) GENERIC(id, n, a, k, AP_PMU_MODELLED, t)

#define OURS(num, n, a, p, m, q, t)                                                                \
	{                                                                                          \
		.name = (n), .alias = (a), .config1 = (num), .sum = { .plus = (p), .minus = (m) }, \
		.quality = (q), .text = (t)                                                        \
	}
#define OWN_MEM(num, n, p, t)                                                                      \
	{                                                                                          \
		.name = (n), .config1 = (num), .sum = { .plus = (p) }, .quality = AP_PMU_MODELLED, \
		.has_ldlat = true, .text = (t)                                                     \
	}
/* What L2 does not have it asks the last level for: on a machine with an L2. */
#define OWN_OF_L2(num, n, p, t)                                                                    \
	{                                                                                          \
		.name = (n), .config1 = (num), .sum = { .plus = (p), .of = K(L2_LOAD) },           \
		.quality = AP_PMU_MODELLED, .text = (t)                                            \
	}
/* No kind of its own: the engine has as many as a word has bits. */
#define OWN_LOCKED(num, n, t)                                                                      \
	{                                                                                          \
		.name = (n), .config1 = (num), .sum = { .plus = K(LOAD), .is_locked = true },      \
		.quality = AP_PMU_EXACT, .text = (t)                                               \
	}
#define OWN(num, n, a, p, m, t)	   OURS(num, n, a, p, m, AP_PMU_EXACT, t)
#define OWN_MODEL(num, n, a, p, t) OURS(num, n, a, p, 0, AP_PMU_MODELLED, t)

#define MISPREDICTED (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))

/* clang-format off */
const struct ap_pmu_desc ap_pmu_generic[AP_PERF_COUNT_HW_MAX] = {
	MODEL(CPU_CYCLES, "cpu-cycles", "cycles", K(CYCLES), "cycles that the code would take on the modelled machine"),
	HW(INSTRUCTIONS, "instructions", NULL, K(INSTR), "retired user instructions"),
	MODEL(CACHE_REFERENCES, "cache-references", NULL, K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), "requests to the last cache, without prefetches"),
	MODEL(CACHE_MISSES, "cache-misses", NULL, K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS), "of them those that it did not have"),
	HW(BRANCH_INSTRUCTIONS, "branch-instructions", "branches", K(BRANCH),
	   "near jcc, jrcxz, loop, jmp, call and ret"),
	MODEL(BRANCH_MISSES, "branch-misses", NULL, MISPREDICTED, "branches whose direction or target was predicted wrongly"),
	MODEL(BUS_CYCLES, "bus-cycles", NULL, K(BUS_CYCLES), "cycles by the bus clock"),
	MODEL(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend", K(STALL_FRONT), "cycles that waited for instructions"),
	MODEL(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend", K(STALL_BACK), "cycles that waited for data or units"),
	MODEL(REF_CPU_CYCLES, "ref-cycles", NULL, K(REF_CYCLES), "cycles by the reference clock"),
};

/* The numbers are an ABI: programs and scripts may have them.  Never give one twice. */
const struct ap_pmu_desc ap_pmu_own[] = {
	OWN(1, "instructions", NULL, K(INSTR), 0, "retired user instructions"),
	OWN(2, "branch-instructions", "branches", K(BRANCH), 0, "near jcc, jrcxz, loop, jmp, call and ret"),
	OWN(3, "cond-branches", "conditional-branches", K(COND), 0, "jcc, jrcxz and loop, taken or not"),
	OWN(4, "taken-branches", NULL, K(TAKEN), 0, "branches of any class that transferred"),
	OWN(5, "calls", NULL, K(CALL), 0, "near calls, direct and indirect"),
	OWN(6, "returns", NULL, K(RET), 0, "near returns"),
	OWN(7, "indirect-branches", NULL, K(IND), 0, "indirect jmp and call, not ret"),
	/*
	 * not "syscalls": perf would take the name of sysfs for the PMU's in
	 * syscalls:sys_enter_read
	 */
	OWN(8, "syscall-instructions", "syscalls", K(SYSCALL), 0, "system call instructions"),
	OWN(9, "loads", NULL, K(LOAD), 0, "instructions that read memory"),
	OWN(10, "stores", NULL, K(STORE), 0, "instructions that write memory"),
	OWN(11, "mem-ops", NULL, K(MEM), 0, "instructions that read or write memory"),
	OWN(12, "rep-iterations", NULL, K(REP_ITER), 0, "iterations of string instructions with rep"),
	OWN(13, "not-taken-branches", NULL, K(BRANCH), K(TAKEN), "conditional branches that did not transfer"),
	OWN(14, "fp-ops", NULL, FP_ALL, 0, "SSE and AVX arithmetic of any width, FMA twice"),
	OWN(15, "fp-scalar-double", NULL, K(FP_SCALAR_DOUBLE), 0, "scalar double arithmetic, FMA twice"),
	OWN(16, "fp-scalar-single", NULL, K(FP_SCALAR_SINGLE), 0, "scalar single arithmetic, FMA twice"),
	OWN(17, "fp-128-double", NULL, K(FP_128_DOUBLE), 0, "128-bit packed double arithmetic, FMA twice"),
	OWN(18, "fp-128-single", NULL, K(FP_128_SINGLE), 0, "128-bit packed single arithmetic, FMA twice"),
	OWN(19, "fp-256-double", NULL, K(FP_256_DOUBLE), 0, "256-bit packed double arithmetic, FMA twice"),
	OWN(20, "fp-256-single", NULL, K(FP_256_SINGLE), 0, "256-bit packed single arithmetic, FMA twice"),
	OWN(21, "fp-512-double", NULL, K(FP_512_DOUBLE), 0, "512-bit packed double arithmetic, FMA twice"),
	OWN(22, "fp-512-single", NULL, K(FP_512_SINGLE), 0, "512-bit packed single arithmetic, FMA twice"),
	OWN_MODEL(23, "cpu-cycles", "cycles", K(CYCLES), "cycles that the code would take"),
	OWN_MODEL(24, "ref-cycles", NULL, K(REF_CYCLES), "cycles by the reference clock"),
	OWN_MODEL(25, "bus-cycles", NULL, K(BUS_CYCLES), "cycles by the bus clock"),
	OWN_MODEL(26, "stalled-cycles-frontend", NULL, K(STALL_FRONT), "cycles that waited for instructions"),
	OWN_MODEL(27, "stalled-cycles-backend", NULL, K(STALL_BACK), "cycles that waited for data or units"),
	OWN_MODEL(28, "branch-misses", NULL, MISPREDICTED, "branches predicted wrongly"),
	OWN_MODEL(29, "cond-branch-misses", NULL, K(COND_MISS), "conditional ones, by direction"),
	OWN_MODEL(30, "indirect-branch-misses", NULL, K(INDIRECT_MISS), "indirect jmp and call, by target"),
	OWN_MODEL(31, "return-misses", NULL, K(RETURN_MISS), "returns, by target"),
	OWN_MODEL(32, "btb-misses", NULL, K(BTB_MISS), "direct branches that the decoder had to find"),
	OWN_MODEL(33, "cache-references", NULL, K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), "requests to the last cache, without prefetches"),
	OWN_MODEL(34, "cache-misses", NULL, K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS), "of them those that it does not have"),
	OWN_MODEL(35, "l1d-load-misses", NULL, K(L1D_LOAD_MISS), "loads that L1D does not have"),
	OWN_MODEL(36, "l1d-store-misses", NULL, K(L1D_STORE_MISS), "stores that L1D does not have"),
	OWN_MODEL(37, "l1i-loads", NULL, K(L1I_LOAD), "lines of code that are fetched"),
	OWN_MODEL(38, "l1i-load-misses", NULL, K(L1I_LOAD_MISS), "lines of code that L1I does not have"),
	OWN_MODEL(39, "l2-references", NULL, K(L2_LOAD) | K(L2_STORE) | K(L2_CODE), "requests to L2, without prefetches"),
	OWN_OF_L2(40, "l2-misses", K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), "of them those that it does not have"),
	OWN_MODEL(41, "l2-loads", NULL, K(L2_LOAD), "loads that L2 is asked for"),
	OWN_OF_L2(42, "l2-load-misses", K(LLC_LOAD), "of them those that it does not have"),
	OWN_MODEL(43, "llc-loads", NULL, K(LLC_LOAD), "loads that the last cache is asked for"),
	OWN_MODEL(44, "llc-load-misses", NULL, K(LLC_LOAD_MISS), "of them those that it does not have"),
	OWN_MODEL(45, "dtlb-load-misses", NULL, K(DTLB_LOAD_MISS), "loads whose page the first TLB does not have"),
	OWN_MODEL(46, "dtlb-store-misses", NULL, K(DTLB_STORE_MISS), "stores whose page the first TLB does not have"),
	OWN_MODEL(47, "dtlb-load-walks", NULL, K(DTLB_LOAD_WALK), "of them loads that take a page walk"),
	OWN_MODEL(48, "dtlb-store-walks", NULL, K(DTLB_STORE_WALK), "of them stores that take a page walk"),
	OWN_MODEL(49, "itlb-misses", NULL, K(ITLB_MISS), "lines of code whose page the first TLB does not have"),
	OWN_MODEL(50, "itlb-walks", NULL, K(ITLB_WALK), "of them those that take a page walk"),
	OWN_MODEL(51, "split-loads", NULL, K(SPLIT_LOAD), "loads over two lines"),
	OWN_MODEL(52, "split-stores", NULL, K(SPLIT_STORE), "stores over two lines"),
	OWN_MODEL(53, "hitm-loads", NULL, K(HITM_LOAD), "loads of lines that another thread has modified"),
	OWN_MEM(54, "mem-loads", K(L1D_LOAD_MISS), "loads that L1D does not have; samples of those that take ldlat cycles"),
	OWN_MEM(55, "mem-stores", K(L1D_STORE_MISS), "stores that L1D does not have"),
	OWN_MODEL(56, "llc-code-misses", NULL, K(LLC_CODE_MISS), "lines of code that no cache has"),
	OWN(57, "flops", NULL, K(FLOPS), 0, "floating point operations: fp-ops, each element of a vector once"),
	OWN_MODEL(58, "llc-prefetch-misses", NULL, K(LLC_PREFETCH_MISS), "lines that prefetchers bring from memory"),
	OWN_MODEL(59, "llc-writebacks", NULL, K(LLC_WRITEBACK), "modified lines that go back to memory"),
	OWN_MODEL(60, "memory-lines", NULL, K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS) | K(LLC_PREFETCH_MISS) | K(LLC_WRITEBACK), "lines between the last cache and memory, both ways"),
	OWN_MODEL(61, "stalled-cycles-l1d-miss", NULL, K(STALL_L1D_MISS), "of stalled-cycles-backend those with a load under way that L1D does not have"),
	OWN_MODEL(62, "stalled-cycles-l2-miss", NULL, K(STALL_L2_MISS), "with one that L2 does not have"),
	OWN_MODEL(63, "stalled-cycles-llc-miss", NULL, K(STALL_LLC_MISS), "with one that no cache has"),
	OWN_MODEL(64, "load-l2-hits", NULL, K(LOAD_L2_HIT), "of loads those that L2 answers"),
	OWN_MODEL(65, "load-llc-hits", NULL, K(LOAD_LLC_HIT), "of loads those that the last cache answers, or another core's"),
	OWN_MODEL(66, "load-memory", NULL, K(LOAD_LLC_MISS), "of loads those that memory answers"),
	OWN_LOCKED(67, "locked-instructions", "instructions that lock what they access: lock prefix, xchg with memory"),
};
/* clang-format on */
const u32 ap_pmu_nown = AP_ARRAY_SIZE(ap_pmu_own);

static const struct ap_pmu_format other_format[] = { { "anyperf", "config1:0-7" },
						     { "ldlat", AP_PMU_LDLAT_FORMAT },
						     { NULL, NULL } };

/* A CPU whose codes are not known: generic events and our own. */
static const struct ap_pmu_arch other = {
	.name = "anyperf",
	.select = 0xffff,
	.format = other_format,
};

const struct ap_pmu_arch *ap_pmu_arch(enum ap_cpu cpu)
{
	switch (cpu) {
	case AP_CPU_SKYLAKE:
		return &ap_pmu_skylake;
	case AP_CPU_ICELAKE:
		return &ap_pmu_icelake;
	case AP_CPU_ZEN:
		return &ap_pmu_zen;
	default:
		return &other;
	}
}

static int take(const struct ap_pmu_desc *d, struct ap_pmu_sum *out)
{
	if (d->quality == AP_PMU_UNCOUNTED)
		return -AP_ENOENT;
	*out = d->sum;
	return 0;
}

bool ap_pmu_is_own(const struct ap_pmu_desc *own, u64 config1)
{
	return own->config1 == (own->has_ldlat ? AP_PMU_OWN_NUMBER(config1) : config1) &&
	       !(config1 >> 24);
}

static int resolve_own(u64 config1, struct ap_pmu_sum *out)
{
	u32 i;

	for (i = 0; i < ap_pmu_nown; i++) {
		if (ap_pmu_is_own(&ap_pmu_own[i], config1))
			return take(&ap_pmu_own[i], out);
	}
	return -AP_ENOENT;
}

/*
 * Unit masks that add up, as those of FP_ARITH_INST_RETIRED do: each bit must be a row's, and no
 * instruction may be in two of them, which rows with `adds` promise.
 */
static int resolve_mix(const struct ap_pmu_arch *arch, u64 config, struct ap_pmu_sum *out)
{
	u64 umask = config & 0xff00, left = umask;
	u32 i;

	*out = (struct ap_pmu_sum){ 0 };
	for (i = 0; i < arch->nraw; i++) {
		const struct ap_pmu_desc *d = &arch->raw[i];

		if (!d->adds || d->quality == AP_PMU_UNCOUNTED || d->sum.minus ||
		    ((d->config ^ config) & ~0xff00ULL) || (d->config & ~umask & 0xff00))
			continue;
		out->plus |= d->sum.plus;
		left &= ~d->config;
	}
	return umask && !left ? 0 : -AP_ENOENT;
}

const struct ap_pmu_desc *ap_pmu_raw_find(const struct ap_pmu_arch *arch, u64 config)
{
	u32 i;

	config &= arch->select | arch->refused;
	for (i = 0; i < arch->nraw; i++) {
		if (arch->raw[i].config == config)
			return &arch->raw[i];
	}
	return NULL;
}

static int resolve_raw(const struct ap_pmu_arch *arch, u64 config, struct ap_pmu_sum *out)
{
	const struct ap_pmu_desc *row = ap_pmu_raw_find(arch, config);

	if (row)
		return take(row, out);
	if (config & arch->refused)
		return -AP_ENOENT;
	return resolve_mix(arch, config & arch->select, out);
}

static int resolve_cache(u64 config, struct ap_pmu_sum *out)
{
	u64 id = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
	const struct ap_pmu_desc *d;

	if (id >= AP_PERF_COUNT_HW_CACHE_MAX || op >= AP_PERF_COUNT_HW_CACHE_OP_MAX ||
	    result >= AP_PERF_COUNT_HW_CACHE_RESULT_MAX)
		return -AP_EINVAL;
	/* Nothing writes through L1I, ITLB and the branch unit, nor prefetches into these two. */
	if (id == AP_PERF_COUNT_HW_CACHE_L1I && op == AP_PERF_COUNT_HW_CACHE_OP_WRITE)
		return -AP_EINVAL;
	if ((id == AP_PERF_COUNT_HW_CACHE_ITLB || id == AP_PERF_COUNT_HW_CACHE_BPU) &&
	    op != AP_PERF_COUNT_HW_CACHE_OP_READ)
		return -AP_EINVAL;
	/* x86 does not look at what is above the three */
	d = ap_pmu_cache_find(config & 0xffffff);
	return d ? take(d, out) : -AP_ENOENT;
}

int ap_pmu_resolve(const struct ap_pmu_arch *arch, u32 type, u64 config, u64 config1,
		   struct ap_pmu_sum *out)
{
	switch (type) {
	case AP_PERF_TYPE_HARDWARE:
	case AP_PERF_TYPE_HW_CACHE:
		/*
		 * the upper half names a PMU where there are several: here is one, with no other
		 * name
		 */
		if (config >> 32)
			return -AP_ENOENT;
		if (type == AP_PERF_TYPE_HW_CACHE)
			return resolve_cache(config, out);
		if (config >= AP_PERF_COUNT_HW_MAX)
			return -AP_EINVAL;
		return take(&ap_pmu_generic[config], out);
	case AP_PERF_TYPE_RAW:
		if (!(config & (arch->select | arch->refused)) && config1)
			return resolve_own(config1, out);
		return resolve_raw(arch, config, out);
	default:
		return -AP_ENOENT;
	}
}
