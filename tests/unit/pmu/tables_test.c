/* SPDX-License-Identifier: MIT */
/* The tables of events: no holes, no doubles, and what a code resolves to. */
#include <string.h>

#include "abi/errno.h"
#include "pmu/events.h"
#include "pmu/software.h"
#include "tap/tap.h"

static const enum ap_cpu cpus[] = { AP_CPU_OTHER, AP_CPU_SKYLAKE, AP_CPU_ICELAKE, AP_CPU_ZEN };

#define K(k) AP_KIND_BIT(AP_KIND_##k)

/* Every kind that raw.h names. */
#define KINDS_ALL (~0ULL)

static void check_row(const struct ap_pmu_desc *d)
{
	bool ok = d->name && *d->name && d->text && *d->text;

	ok = ok && (!d->sum.plus == (d->quality == AP_PMU_UNCOUNTED));
	ok = ok && !((d->sum.plus | d->sum.minus) & ~KINDS_ALL) && !(d->sum.plus & d->sum.minus);
	/*
	 * Exact and modelled kinds are not mixed, as those are live and these behind by the log: a difference would be too much
	 * meanwhile.  And the table says which they are.
	 */
	ok = ok && (d->sum.plus & AP_KINDS_MODEL ? !((d->sum.plus | d->sum.minus) & ~AP_KINDS_MODEL)
						 : !(d->sum.minus & AP_KINDS_MODEL));
	ok = ok && (d->quality == AP_PMU_MODELLED) == ((d->sum.plus & AP_KINDS_MODEL) != 0);
	if (!EXPECT(ok))
		tap_note("row %s", d->name ? d->name : "without a name");
}

static bool is_name_of(const struct ap_pmu_desc *d, const char *name)
{
	return name && (!strcmp(d->name, name) || (d->alias && !strcmp(d->alias, name)));
}

static void check_table(const struct ap_pmu_desc *t, u32 n)
{
	u32 i, j;

	for (i = 0; i < n; i++) {
		check_row(&t[i]);
		if (t[i].alias && !EXPECT(strcmp(t[i].name, t[i].alias)))
			tap_note("row %s", t[i].name);
		for (j = 0; j < i; j++) {
			bool same = is_name_of(&t[j], t[i].name) || is_name_of(&t[j], t[i].alias);

			same = same || (t[i].config == t[j].config && t[i].config1 == t[j].config1);
			if (!EXPECT(!same))
				tap_note("rows %s and %s", t[i].name, t[j].name);
		}
	}
}

static void tables_are_well_formed(void)
{
	u32 c, i;

	check_table(ap_pmu_generic, AP_PERF_COUNT_HW_MAX);
	check_table(ap_pmu_own, ap_pmu_nown);
	for (i = 0; i < ap_pmu_nown; i++) {
		/* format "anyperf": eight bits, and 0 means none */
		EXPECT(ap_pmu_own[i].config1 > 0 && ap_pmu_own[i].config1 < 256);
		EXPECT_U64(ap_pmu_own[i].config, 0);
	}
	for (c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		const struct ap_pmu_arch *arch = ap_pmu_arch(cpus[c]);

		check_table(arch->raw, arch->nraw);
		EXPECT_U64(arch->select & arch->refused, 0);
		for (i = 0; i < arch->nraw; i++) {
			EXPECT_U64(arch->raw[i].config & ~(arch->select | AP_RAW_CMASK), 0);
			EXPECT(arch->raw[i].config != 0);
			EXPECT_U64(arch->raw[i].config1, 0);
		}
	}
	for (i = 0; i < AP_PERF_COUNT_SW_MAX; i++)
		EXPECT(ap_pmu_soft[i].name && ap_pmu_soft[i].text);
}

/* A generic event and the CPU's code for it must count the same, or both nothing. */
static void generic_events_are_the_cpus_own(void)
{
	struct ap_pmu_sum a, b;
	u32 c, i;

	for (c = 1; c < AP_ARRAY_SIZE(cpus); c++) {
		const struct ap_pmu_arch *arch = ap_pmu_arch(cpus[c]);

		for (i = 0; i < AP_PERF_COUNT_HW_MAX; i++) {
			int want = ap_pmu_resolve(arch, AP_PERF_TYPE_HARDWARE, i, 0, &a), got;

			/* the others have codes of ours only */
			if (!arch->generic[i])
				continue;
			got = ap_pmu_resolve(arch, AP_PERF_TYPE_RAW, arch->generic[i], 0, &b);

			if (!EXPECT_U64(got, want))
				tap_note("%s, event %u", arch->name, i);
			if (!want) {
				EXPECT_U64(a.plus, b.plus);
				EXPECT_U64(a.minus, b.minus);
			}
		}
	}
}

static void errors_are_those_of_x86(void)
{
	const struct ap_pmu_arch *skl = ap_pmu_arch(AP_CPU_SKYLAKE);
	static const struct {
		u32 type;
		u64 config;
		int err;
	} rows[] = {
		{ AP_PERF_TYPE_HARDWARE, 0, 0 },
		{ AP_PERF_TYPE_HARDWARE, 1, 0 },
		{ AP_PERF_TYPE_HARDWARE, 4, 0 },
		{ AP_PERF_TYPE_HARDWARE, 9, 0 },
		{ AP_PERF_TYPE_HARDWARE, 10, -AP_EINVAL },
		{ AP_PERF_TYPE_HARDWARE, 99, -AP_EINVAL },
		{ AP_PERF_TYPE_HARDWARE, 1 | 4ULL << 32, -AP_ENOENT },
		{ AP_PERF_TYPE_HW_CACHE, 0, 0 },
		{ AP_PERF_TYPE_HW_CACHE, 0x10000, 0 },
		{ AP_PERF_TYPE_HW_CACHE, 6, 0 },
		{ AP_PERF_TYPE_HW_CACHE, 0x10006, 0 },
		{ AP_PERF_TYPE_HW_CACHE, 0x203, -AP_ENOENT }, /* prefetches of pages */
		{ AP_PERF_TYPE_HW_CACHE, 7, -AP_EINVAL },
		{ AP_PERF_TYPE_HW_CACHE, 0x300, -AP_EINVAL },
		{ AP_PERF_TYPE_HW_CACHE, 0x20000, -AP_EINVAL },
		{ AP_PERF_TYPE_HW_CACHE, 0x101, -AP_EINVAL }, /* L1I writes */
		{ AP_PERF_TYPE_HW_CACHE, 0x104, -AP_EINVAL }, /* ITLB writes */
		{ AP_PERF_TYPE_HW_CACHE, 0x205, -AP_EINVAL }, /* prefetches into the branch unit */
		{ AP_PERF_TYPE_HW_CACHE, 0x103, 0 },	      /* DTLB writes */
		{ AP_PERF_TYPE_RAW, 0, -AP_ENOENT },
		{ AP_PERF_TYPE_RAW, 0xc0, 0 },
		{ AP_PERF_TYPE_RAW, 0x2c0, -AP_ENOENT },
		{ AP_PERF_TYPE_RAW, 0x5101c4, 0 }, /* as rr opens it: user, interrupt, enable */
		{ AP_PERF_TYPE_RAW, 0x2005101c4ULL, 0 },	  /* and in_tx_cp */
		{ AP_PERF_TYPE_RAW, 0x1000000c0ULL, -AP_ENOENT }, /* in_tx */
		{ AP_PERF_TYPE_RAW, 0x10000c0, -AP_ENOENT },	  /* cmask */
		{ AP_PERF_TYPE_RAW, 0x45304a3, 0 },	     /* of CYCLE_ACTIVITY.STALLS_TOTAL, */
		{ AP_PERF_TYPE_RAW, 0x55304a3, -AP_ENOENT }, /* another one, */
		{ AP_PERF_TYPE_RAW, 0x4a3, -AP_ENOENT },     /* none, */
		{ AP_PERF_TYPE_RAW, 0x4d304a3, -AP_ENOENT }, /* and its inverse */
		{ AP_PERF_TYPE_RAW, 0x8000c0, -AP_ENOENT },  /* inv */
		{ AP_PERF_TYPE_RAW, 0x400c0, -AP_ENOENT },   /* edge */
		{ AP_PERF_TYPE_RAW, 0x2000c0, -AP_ENOENT },  /* any */
		{ AP_PERF_TYPE_RAW, 0x3c, 0 },
		{ AP_PERF_TYPE_RAW, 0x40c4, -AP_ENOENT },
		{ AP_PERF_TYPE_RAW, 0x01d1, -AP_ENOENT }, /* hits of L1 */
		{ AP_PERF_TYPE_RAW, 0x40d1, -AP_ENOENT }, /* of fill buffers */
		{ AP_PERF_TYPE_RAW, 0xff24, -AP_ENOENT }, /* all requests to L2 */
		{ AP_PERF_TYPE_RAW, 0xc7, -AP_ENOENT },
		{ AP_PERF_TYPE_RAW, 0x4064, -AP_ENOENT }, /* the example of 2009: cycles of a bus */
		{ AP_PERF_TYPE_RAW, 1ULL << 63 | 0xc0, 0 },
		{ AP_PERF_TYPE_SOFTWARE, 0, -AP_ENOENT },
		{ 999, 0, -AP_ENOENT },
	};
	struct ap_pmu_sum sum;
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		if (!EXPECT_U64(ap_pmu_resolve(skl, rows[i].type, rows[i].config, 0, &sum),
				rows[i].err))
			tap_note("type %u config %llx", rows[i].type,
				 (unsigned long long)rows[i].config);
	}
}

/* The matrix of cache events as Linux has it for Intel's cores: -1 is EINVAL, what nobody counts ENOENT. */
static void the_cache_matrix_is_that_of_x86(void)
{
	/* L1D, L1I, LL, DTLB, ITLB, BPU, NODE by read, write, prefetch: bit 0 may exist, accesses, misses counted */
	static const u8 exists[7][3] = { { 7, 7, 3 }, { 7, 0, 1 }, { 7, 7, 7 }, { 7, 7, 1 },
					 { 7, 0, 0 }, { 7, 0, 0 }, { 7, 7, 1 } };
	struct ap_pmu_sum sum;

	for (u32 config = 0; config < 4 << 16; config++) {
		u32 id = config & 0xff, op = config >> 8 & 0xff, result = config >> 16;
		u32 bits = id < 7 && op < 3 && result < 2 ? exists[id][op] : 0;

		if (!EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(AP_CPU_SKYLAKE), AP_PERF_TYPE_HW_CACHE,
					       config, 0, &sum),
				!bits		      ? -AP_EINVAL
				: bits & 2U << result ? 0
						      : -AP_ENOENT)) {
			tap_note("config %x", config);
			break;
		}
	}
	/* bits 24 to 31 are nobody's */
	EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(AP_CPU_SKYLAKE), AP_PERF_TYPE_HW_CACHE, 0xff000000, 0,
				  &sum),
		   0);
	check_table(ap_pmu_cache, ap_pmu_ncache);
}

/* Of the generalized events two are exact, the others modelled, on every CPU. */
static void generalized_events_are_counted(void)
{
	struct ap_pmu_sum sum;

	for (u32 c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		for (u32 i = 0; i < 10; i++) {
			int r = ap_pmu_resolve(ap_pmu_arch(cpus[c]), AP_PERF_TYPE_HARDWARE, i, 0,
					       &sum);

			if (!EXPECT_U64(r, 0))
				tap_note("event %u", i);
			EXPECT_U64(sum.minus, 0);
			if (i == 1 || i == 4)
				EXPECT_U64(sum.plus, i == 1 ? K(INSTR) : K(BRANCH));
			else
				EXPECT(sum.plus & AP_KINDS_MODEL && !(sum.plus & ~AP_KINDS_MODEL));
		}
	}
}

static void expect_sum(enum ap_cpu cpu, u64 config, u64 config1, u64 plus, u64 minus)
{
	struct ap_pmu_sum sum = { 0 };

	EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(cpu), AP_PERF_TYPE_RAW, config, config1, &sum), 0);
	if (!EXPECT_U64(sum.plus, plus) || !EXPECT_U64(sum.minus, minus))
		tap_note("config %llx", (unsigned long long)config);
}

/* All raw codes of event and unit mask: nothing is counted that no row and no mix of rows says. */
static void few_codes_are_counted(void)
{
	static const u32 counted[] = { 0, 59, 56,
				       26 }; /* without the mixes of FP_ARITH and thresholds */
	u32 c, n, mixes;
	u64 config;

	for (c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		const struct ap_pmu_arch *arch = ap_pmu_arch(cpus[c]);

		n = mixes = 0;
		for (config = 0; config < 0x10000; config++) {
			struct ap_pmu_sum sum = { 0 };

			if (ap_pmu_resolve(arch, AP_PERF_TYPE_RAW, config, 0, &sum))
				continue;
			EXPECT(sum.plus && !(sum.plus & ~KINDS_ALL));
			if ((config & 0xff) == 0xc7)
				mixes++;
			else
				n++;
		}
		EXPECT_U64(n, counted[c]);
		EXPECT_U64(mixes, c == 1 || c == 2 ? 255 : 0);
		for (config = 0x100000000ULL; config < 0x100010000ULL; config++) {
			struct ap_pmu_sum sum;

			EXPECT(ap_pmu_resolve(arch, AP_PERF_TYPE_RAW, config, 0, &sum) < 0);
		}
	}
}

/* Written again by hand from the vendors' documents. */
static void codes_mean_what_their_cpu_means(void)
{
	expect_sum(AP_CPU_SKYLAKE, 0x01c4, 0, K(COND), 0);
	expect_sum(AP_CPU_ICELAKE, 0x01c4, 0, K(TAKEN) | K(COND), K(BRANCH));
	expect_sum(AP_CPU_ICELAKE, 0x11c4, 0, K(COND), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x10c4, 0, K(BRANCH), K(TAKEN));
	expect_sum(AP_CPU_ICELAKE, 0x80c4, 0, K(IND), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x00c4, 0, K(BRANCH), 0);
	expect_sum(AP_CPU_ZEN, 0x00c4, 0, K(TAKEN), 0);
	expect_sum(AP_CPU_ZEN, 0x00c2, 0, K(BRANCH), 0);
	expect_sum(AP_CPU_ZEN, 0x5100d1, 0, K(COND), 0);
	/* what PAPI asks of Zen 3 for L1_DCM, L2_DCM, L2_ICM and TLB_DM */
	expect_sum(AP_CPU_ZEN, 0xe860, 0, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), 0);
	expect_sum(AP_CPU_ZEN, 0x0864, 0, K(LLC_LOAD) | K(LLC_STORE), 0);
	expect_sum(AP_CPU_ZEN, 0x0164, 0, K(LLC_CODE), 0);
	expect_sum(AP_CPU_ZEN, 0xff45, 0, K(DTLB_LOAD_MISS) | K(DTLB_STORE_MISS), 0);
	/* and for TLB_IM, L2_ICR, L2_ICH, L2_DCH, L1_DCA */
	expect_sum(AP_CPU_ZEN, 0x0084, 0, K(ITLB_MISS), K(ITLB_WALK));
	expect_sum(AP_CPU_ZEN, 0x0f85, 0, K(ITLB_WALK), 0);
	expect_sum(AP_CPU_ZEN, 0x1060, 0, K(L2_CODE), 0);
	for (u32 c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		bool is_zen = cpus[c] == AP_CPU_ZEN;
		struct ap_pmu_sum sum = { 0 };

		if (cpus[c] == AP_CPU_OTHER)
			continue;
		EXPECT_U64(ap_pmu_resolve(ap_pmu_arch(cpus[c]), AP_PERF_TYPE_RAW,
					  is_zen ? 0x510825 : 0x21d0, 0, &sum),
			   0);
		EXPECT(sum.is_locked);
	}
	expect_sum(AP_CPU_ZEN, 0x0664, 0, K(L2_CODE), K(LLC_CODE));
	expect_sum(AP_CPU_ZEN, 0xf064, 0, K(L2_LOAD) | K(L2_STORE), K(LLC_LOAD) | K(LLC_STORE));
	expect_sum(AP_CPU_ZEN, 0x0729, 0, K(MEM), 0);
	/* of Intel's for L1_DCM, L2_ICH, L2_DCW, TLB_DM and TLB_IM */
	expect_sum(AP_CPU_ICELAKE, 0x0151, 0, K(L2_LOAD) | K(L2_STORE) | K(L1D_PREFETCH), 0);
	expect_sum(AP_CPU_ICELAKE, 0xc424, 0, K(L2_CODE), K(LLC_CODE));
	expect_sum(AP_CPU_SKYLAKE, 0xc224, 0, K(L2_STORE), K(LLC_STORE));
	expect_sum(AP_CPU_SKYLAKE, 0x0108, 0, K(DTLB_LOAD_WALK), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x0149, 0, K(DTLB_STORE_WALK), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x0185, 0, K(ITLB_WALK), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x83d0, 0, K(MEM), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x0fc7, 0,
		   K(FP_SCALAR_DOUBLE) | K(FP_SCALAR_SINGLE) | K(FP_128_DOUBLE) | K(FP_128_SINGLE),
		   0);
	expect_sum(AP_CPU_ICELAKE, 0x60c7, 0, K(FP_256_SINGLE) | K(FP_512_DOUBLE), 0);
	/* STALLS_L1D_MISS, STALLS_L2_MISS, STALLS_L3_MISS, by their thresholds */
	expect_sum(AP_CPU_SKYLAKE, 0xc530ca3, 0, K(STALL_L1D_MISS), 0);
	expect_sum(AP_CPU_SKYLAKE, 0x55305a3, 0, K(STALL_L2_MISS), 0);
	expect_sum(AP_CPU_ICELAKE, 0x65306a3, 0, K(STALL_LLC_MISS), 0);
	expect_sum(AP_CPU_ICELAKE, 0x0400, 0, K(CYCLES), 0);
	expect_sum(AP_CPU_ICELAKE, 0x01a4, 0, K(CYCLES), 0);
	/* config1 selects where config selects nothing, on every CPU, and nowhere else */
	expect_sum(AP_CPU_OTHER, 0, 9, K(LOAD), 0);
	expect_sum(AP_CPU_ZEN, 0, 9, K(LOAD), 0);
	expect_sum(AP_CPU_ZEN, 0xc0, 9, K(INSTR), 0);
}

static void cpuid_says_what_the_table_has(void)
{
	/* architectural events by bit, and the generic event that each is */
	static const u8 arch_event[] = {
		AP_PERF_COUNT_HW_CPU_CYCLES,	 AP_PERF_COUNT_HW_INSTRUCTIONS,
		AP_PERF_COUNT_HW_REF_CPU_CYCLES, AP_PERF_COUNT_HW_CACHE_REFERENCES,
		AP_PERF_COUNT_HW_CACHE_MISSES,	 AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		AP_PERF_COUNT_HW_BRANCH_MISSES
	};
	struct ap_cpuid r = { 0x08300805, 0, 0, 0x603 };
	u32 i;

	EXPECT_U64(AP_ARRAY_SIZE(arch_event), AP_CPUID_A_EVENTS);
	for (i = 0; i < AP_CPUID_A_EVENTS; i++)
		EXPECT_U64(AP_CPUID_A_MISSING >> i & 1,
			   ap_pmu_generic[arch_event[i]].quality == AP_PMU_UNCOUNTED);
	ap_cpuid_pmu(AP_CPU_SKYLAKE, 4, 0xa, &r);
	EXPECT_U64(r.eax, 0x07300402);
	EXPECT_U64(r.ebx, 0);
	EXPECT_U64(r.ecx, 0);
	EXPECT_U64(r.edx, 0x8000);
	ap_cpuid_pmu(AP_CPU_ICELAKE, 0, 0xa, &r);
	EXPECT_U64(r.eax >> 8 & 0xff, 64);
	ap_cpuid_pmu(AP_CPU_ZEN, 4, 0xa, &r);
	EXPECT_U64(r.eax | r.ebx | r.ecx | r.edx, 0);
	ap_cpuid_pmu(AP_CPU_ZEN, 6, 0x80000022, &r);
	EXPECT_U64(r.eax, 1);
	EXPECT_U64(r.ebx, 6);
	r.eax = 0x80000021;
	ap_cpuid_pmu(AP_CPU_ICELAKE, 6, 0x80000000, &r);
	EXPECT_U64(r.eax, 0x80000021);
	ap_cpuid_pmu(AP_CPU_ZEN, 6, 0x80000000, &r);
	EXPECT_U64(r.eax, 0x80000022);
	r.eax = 0x80000026;
	ap_cpuid_pmu(AP_CPU_ZEN, 6, 0x80000000, &r);
	EXPECT_U64(r.eax, 0x80000026);
	r.ecx = 1;
	ap_cpuid_pmu(AP_CPU_ZEN, 6, 0x80000001, &r);
	EXPECT_U64(r.ecx, 0x800001);
	ap_cpuid_pmu(AP_CPU_ZEN, 6, 1, &r);
	EXPECT_U64(r.ecx, 0x800001);
}

static void cpus_are_known_by_signature(void)
{
	static const struct {
		const char *vendor; /* as CPUID gives it: ebx, edx, ecx */
		u32 signature;
		enum ap_cpu cpu;
	} rows[] = {
		{ "GenuineIntel", 0x000506e3, AP_CPU_SKYLAKE }, /* i7-6700 */
		{ "GenuineIntel", 0x00050654, AP_CPU_SKYLAKE }, /* Xeon 61xx */
		{ "GenuineIntel", 0x000606a6, AP_CPU_ICELAKE }, /* Xeon 83xx */
		{ "GenuineIntel", 0x000806f8, AP_CPU_ICELAKE }, /* Xeon 84xx */
		{ "GenuineIntel", 0x00090672, AP_CPU_ICELAKE }, /* i9-12900K */
		{ "GenuineIntel", 0x000106a5, AP_CPU_OTHER },	/* Nehalem */
		{ "GenuineIntel", 0x00000f29, AP_CPU_OTHER },	/* Pentium 4 */
		{ "AuthenticAMD", 0x00800f11, AP_CPU_ZEN },	/* Ryzen 1700X */
		{ "AuthenticAMD", 0x00a20f10, AP_CPU_ZEN },	/* Ryzen 5900X */
		{ "AuthenticAMD", 0x00b00f21, AP_CPU_ZEN },	/* Zen 5 */
		{ "AuthenticAMD", 0x00600f20, AP_CPU_OTHER },	/* Piledriver */
		{ "HygonGenuine", 0x00900f02, AP_CPU_ZEN },
		{ "CentaurHauls", 0x000506e3, AP_CPU_OTHER },
	};
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		const u8 *v = (const u8 *)rows[i].vendor;
		struct ap_cpuid r = { 0 };

		r.ebx = v[0] | v[1] << 8 | v[2] << 16 | (u32)v[3] << 24;
		r.edx = v[4] | v[5] << 8 | v[6] << 16 | (u32)v[7] << 24;
		r.ecx = v[8] | v[9] << 8 | v[10] << 16 | (u32)v[11] << 24;
		if (!EXPECT_U64(ap_cpu_of(&r, rows[i].signature), rows[i].cpu))
			tap_note("%s %x", rows[i].vendor, rows[i].signature);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(tables_are_well_formed),	      TAP(generic_events_are_the_cpus_own),
		TAP(errors_are_those_of_x86),	      TAP(the_cache_matrix_is_that_of_x86),
		TAP(generalized_events_are_counted),  TAP(few_codes_are_counted),
		TAP(codes_mean_what_their_cpu_means), TAP(cpuid_says_what_the_table_has),
		TAP(cpus_are_known_by_signature),     { 0 }
	};
	return tap_main(tests, argc, argv);
}
