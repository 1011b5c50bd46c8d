/* SPDX-License-Identifier: MIT */
/*
 * Models of the P5 and of its clones, of VIA's C3, and of an x86 that has a TSC and no counters.
 *
 * A P5's CESR has for each counter six bits of event, two of privilege, one for clocks in place of
 * events and one for a pin; Cyrix adds a bit of event (10), Centaur has eight bits of event and
 * nothing else, so its counters always count.  So does a C3's, with nine.
 *
 * Widths: 40 bits (Intel), 48 (Cyrix), 40 (Centaur, whose data book does not say), 32 (C3).  Events by
 * Intel's SDM volume 3 ("Pentium Processor Performance-Monitoring Events") and the data books of
 * the MII, the WinChip C6 and the C3.
 */
#include "perfctr/model/x86_family.h"

#define K(k) AP_X86MODEL_K(k)

#define CESR_USER   0x0080u
#define CESR_CPL    0x00c0u
#define CESR_CLOCKS 0x0100u

#define WHY_ACCESSES "counts each access, and the engine instructions that make some"

/* clang-format off */
static const struct ap_x86model_event p5_events[] = {
	{ 0x16, K(INSTR), "INSTRUCTIONS_EXECUTED", NULL },
	{ 0x12, K(BRANCH), "BRANCHES", NULL },
	{ 0x03, K(L1D_LOAD_MISS), "DATA_READ_MISS", NULL },
	{ 0x04, K(L1D_STORE_MISS), "DATA_WRITE_MISS", NULL },
	{ 0x29, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS), "DATA_READ_MISS_OR_WRITE_MISS", NULL },
	{ 0x0c, K(L1I_LOAD), "CODE_READ", NULL },
	{ 0x0e, K(L1I_LOAD_MISS), "CODE_CACHE_MISS", NULL },
	{ 0x0d, K(ITLB_MISS), "CODE_TLB_MISS", NULL },
	{ 0x02, K(DTLB_LOAD_MISS) | K(DTLB_STORE_MISS), "DATA_TLB_MISS", NULL },
	{ 0x00, 0, "DATA_READ", WHY_ACCESSES },
	{ 0x01, 0, "DATA_WRITE", WHY_ACCESSES },
	{ 0x28, 0, "DATA_READ_OR_WRITE", WHY_ACCESSES },
	{ 0x14, 0, "TAKEN_BRANCH_OR_BTB_HIT", "taken branches and hits of the BTB in one number" },
};

static const struct ap_x86model_event centaur_events[] = {
	{ 0x00, K(CYCLES), "INTERNAL_CLOCKS", NULL },
	{ 0x02, K(INSTR), "X86_INSTRUCTIONS", NULL },
	{ 0x47, K(L1D_LOAD_MISS), "DATA_READ_CACHE_MISSES", NULL },
	{ 0x4a, K(L1D_STORE_MISS), "DATA_WRITE_CACHE_MISSES", NULL },
	{ 0x63, K(L1I_LOAD_MISS), "INSTRUCTION_FETCH_CACHE_MISSES", NULL },
};

static const struct ap_x86model_event c3_events[] = {
	{ 0x079, K(CYCLES), "INTERNAL_CLOCKS", NULL },
	{ 0x0c0, K(INSTR), "INSTRUCTIONS_EXECUTED", NULL },
};

#define CTRS(width) { AP_MSR_P5_CTR0, 2, (1ULL << (width)) - 1, 0, AP_X86MODEL_CTR }, { 0 }

static const struct ap_x86model_range p5_ranges[] = {
	{ AP_MSR_P5_CESR, 1, 0x03ff03ff, 0, AP_X86MODEL_CTL }, CTRS(40),
};

static const struct ap_x86model_range cyrix_ranges[] = {
	{ AP_MSR_P5_CESR, 1, 0x07ff07ff, 0, AP_X86MODEL_CTL }, CTRS(48),
};

static const struct ap_x86model_range centaur_ranges[] = {
	{ AP_MSR_P5_CESR, 1, 0x00ff00ff, 0, AP_X86MODEL_CTL }, CTRS(40),
};

/* PERFCTR0 is the TSC: it is none of the counters that can be programmed. */
static const struct ap_x86model_range c3_ranges[] = {
	{ AP_MSR_P6_EVNTSEL0 + 1, 1, 0x1ff, 0, AP_X86MODEL_CTL },
	{ AP_MSR_P6_CTR0, 2, 0xffffffff, 0, AP_X86MODEL_CTR },
	{ 0 },
};

static const struct ap_x86model_range no_ranges[] = { { 0 } };
/* clang-format on */

static u64 event_counts(const struct ap_x86model_event *event, const char **why)
{
	if (!event || !event->kinds)
		*why = event && event->why ? event->why : ap_x86model_unknown;
	return event ? event->kinds : 0;
}

static u64 p5_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		     const char **why)
{
	u32 cesr = (u32)ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, 0) >> 16 * i & 0xffff;

	if (!(cesr & CESR_USER)) {
		*why = cesr & CESR_CPL ? ap_x86model_kernel : ap_x86model_disabled;
		return 0;
	}
	if (cesr & CESR_CLOCKS) {
		*why = "the clocks that an event takes are not modelled";
		return 0;
	}
	/* Bit 10 is Cyrix': its further events are none of the engine's. */
	return event_counts(ap_x86model_event(p5_events, AP_ARRAY_SIZE(p5_events), cesr & 0x43f),
			    why);
}

static u64 centaur_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu,
			  unsigned i, const char **why)
{
	u32 cesr = (u32)ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, 0) >> 16 * i & 0xff;

	return event_counts(ap_x86model_event(centaur_events, AP_ARRAY_SIZE(centaur_events), cesr),
			    why);
}

static u64 c3_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		     const char **why)
{
	u32 evntsel = (u32)ap_x86model_get(m->family, cpu, AP_X86MODEL_CTL, 0);

	if (i != 1) {
		*why = "the TSC's";
		return 0;
	}
	return event_counts(ap_x86model_event(c3_events, AP_ARRAY_SIZE(c3_events), evntsel), why);
}

#define LIKE_P5(n, maker, eax, edx, width, pmc, regs, by, table, in_user)                          \
	{                                                                                          \
		.name = (n), .vendor = (maker), .signature = (eax), .features = (edx),             \
		.nrctrs = 2, .bits = (width), .has_rdpmc = (pmc), .ranges = (regs),                \
		.counts = (by), .events = (table), .nevents = AP_ARRAY_SIZE(table),                \
		.user = (in_user)                                                                  \
	}

/* clang-format off */
const struct ap_x86model_family ap_x86model_p5s[] = {
	LIKE_P5("p5", "GenuineIntel", 0x052c, 0x000001bf, 40, false, p5_ranges, p5_counts, p5_events, CESR_USER),
	LIKE_P5("p5mmx", "GenuineIntel", 0x0543, 0x008001bf, 40, true, p5_ranges, p5_counts, p5_events, CESR_USER),
	LIKE_P5("mii", "CyrixInstead", 0x0601, 0x0080a135, 48, true, cyrix_ranges, p5_counts, p5_events, CESR_USER),
	LIKE_P5("c6", "CentaurHauls", 0x0541, 0x008001a5, 40, true, centaur_ranges, centaur_counts, centaur_events, 0),
	LIKE_P5("winchip2", "CentaurHauls", 0x0587, 0x008001b5, 40, true, centaur_ranges, centaur_counts, centaur_events, 0),
	LIKE_P5("c3", "CentaurHauls", 0x0673, 0x00803035, 32, true, c3_ranges, c3_counts, c3_events, 0),
	{ .name = "generic", .vendor = "GenuineTMx86", .signature = 0x0543, .features = 0x0080893f, .bits = 32, .ranges = no_ranges },
	{ 0 },
};
/* clang-format on */
