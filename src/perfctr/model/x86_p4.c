/* SPDX-License-Identifier: MIT */
/*
 * Models of the P4.  A counter counts what the ESCR that its CCCR selects says, while the CCCR is
 * enabled or after its partner (two further in the group) has overflowed into it: cascading.  An
 * overflow sets a flag in the CCCR and may interrupt; with FORCE_OVF each count is one.  Cascading
 * by the extended bit is not modelled: such a counter stands still and says so.
 *
 * Up to model 2 there are 45 ESCRs, later two less.  Reserved: bit 31 of an ESCR, bits 0 to 10, 28 and 29 of a
 * CCCR, on model 0 and 1 also what is for extended cascading and for a second thread.
 * Events: Intel SDM volume 3, "Performance-Monitoring Events for NetBurst", and its table of
 * replay tags.
 */
#include "perfctr/model/x86_family.h"

#define K(k) AP_X86MODEL_K(k)

#define CCCR_EXTENDED	  (1u << 11)
#define CCCR_ENABLE	  (1u << 12)
#define CCCR_ANY_THREAD	  (3u << 16)
#define CCCR_SHAPE	  0x01fc0000u /* compare, complement, threshold, edge */
#define CCCR_FORCE_OVF	  (1u << 25)
#define CCCR_OVF_PMI_T0	  (1u << 26)
#define CCCR_CASCADE	  (1u << 30)
#define CCCR_OVF	  (1u << 31)
#define ESCR_TAGGED	  (1u << 4)
#define ESCR_USER(thread) ((thread) ? 1u : 1u << 2)

#define MISSES (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))

/* ESCR's first twin from 0x3a0, event, mask. */
#define EVENT(escr, event, mask) ((((escr)-0x3a0u) << 22) | (event) << 16 | (mask))
#define REPLAY			 EVENT(0x3cc, 0x09, 1)

/* clang-format off */
static const struct ap_x86model_event p4_events[] = {
	{ EVENT(0x3b8, 0x02, 0x1), K(INSTR), "instr_retired", NULL },
	{ EVENT(0x3cc, 0x06, 0xf), K(BRANCH), "branch_retired", NULL },
	{ EVENT(0x3cc, 0x06, 0xc), K(TAKEN), "branch_retired (taken)", NULL },
	{ EVENT(0x3cc, 0x06, 0xa), MISSES, "branch_retired (mispredicted)", NULL },
	{ EVENT(0x3b8, 0x03, 0x1), MISSES, "mispred_branch_retired", NULL },
	{ EVENT(0x3a2, 0x13, 0x1), K(CYCLES), "global_power_events", NULL },
	{ EVENT(0x3b8, 0x01, 0x1), 0, "uops_retired", "no model of the pipeline counts operations" },
	{ EVENT(0x3b8, 0x01, 0x3), 0, "uops_retired", "no model of the pipeline counts operations" },
};

/* What a replay tag marks: PEBS_ENABLE without UOP_TAG << 8 | PEBS_MATRIX_VERT. */
static const struct ap_x86model_event replays[] = {
	{ 0x101, K(LOAD_L2_HIT) | K(LOAD_LLC_HIT) | K(LOAD_LLC_MISS), "1st level cache load miss retired", NULL },
	{ 0x201, K(LOAD_LLC_HIT) | K(LOAD_LLC_MISS), "2nd level cache load miss retired", NULL },
};

#define BEFORE_ESCRS(extra) \
	{ AP_MSR_P4_CCCR0, 18, 0xc7fff000 | (extra), 0, AP_X86MODEL_CTL }, \
	{ AP_MSR_P4_CTR0, 18, 0xffffffffff, 0, AP_X86MODEL_CTR }
#define AFTER_ESCRS(bits) \
	{ 0x3bc, 3, (bits), 0, AP_X86MODEL_ESCR }, { 0x3c0, 6, (bits), 0, AP_X86MODEL_ESCR }, \
	{ 0x3c8, 6, (bits), 0, AP_X86MODEL_ESCR }, { 0x3e0, 2, (bits), 0, AP_X86MODEL_ESCR }, \
	{ AP_MSR_P4_PEBS, 1, 0x07001fff, 0, AP_X86MODEL_PEBS }, \
	{ AP_MSR_P4_PEBS_PMV, 1, 0x00001fff, 0, AP_X86MODEL_PEBS }, { 0 }

static const struct ap_x86model_range m0_ranges[] = {
	BEFORE_ESCRS(0), { 0x3a0, 28, 0x7ffffffc, 0, AP_X86MODEL_ESCR }, AFTER_ESCRS(0x7ffffffc),
};

static const struct ap_x86model_range m2_ranges[] = {
	BEFORE_ESCRS(0x08000800), { 0x3a0, 28, 0x7fffffff, 0, AP_X86MODEL_ESCR }, AFTER_ESCRS(0x7fffffff),
};

static const struct ap_x86model_range m3_ranges[] = {
	BEFORE_ESCRS(0x08000800), { 0x3a0, 26, 0x7fffffff, 0, AP_X86MODEL_ESCR }, AFTER_ESCRS(0x7fffffff),
};

/* By group of counters and a CCCR's select: as the SDM's table lists them, name by name. */
static const u16 bpu[8] = { 0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2, 0x3a0 };
static const u16 ms[8] = { 0x3c0, 0x3c4, 0x3c2 };
static const u16 flame[8] = { 0x3a6, 0x3a4, 0x3ae, 0x3b0, 0, 0x3a8 };
static const u16 iq[8] = { 0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0 };
static const u16 *const groups[18] = {
	bpu, bpu, bpu, bpu, ms, ms, ms, ms, flame, flame, flame, flame, iq, iq, iq, iq, iq, iq,
};
static const u8 twin[18] = { 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1 };
/* clang-format on */

static u32 get_cccr(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return (u32)ap_x86model_get(ap_x86model_p4s, cpu, AP_X86MODEL_CTL, i);
}

static const struct ap_x86model_event *find_replay(const struct ap_x86model *m,
						   const struct ap_x86model_cpu *cpu)
{
	u32 tags = (u32)ap_x86model_get_msr(m->family, cpu, AP_MSR_P4_PEBS);
	u32 pmv = (u32)ap_x86model_get_msr(m->family, cpu, AP_MSR_P4_PEBS_PMV);

	if (!(tags & 1u << 24))
		return NULL;
	return ap_x86model_event(replays, AP_ARRAY_SIZE(replays), (tags & 0xffff) << 8 | pmv);
}

static const char *why_still(const struct ap_x86model_cpu *cpu, u32 cccr, unsigned i)
{
	if (cccr & CCCR_EXTENDED)
		return "extended cascading is not modelled";
	if (!(cccr & CCCR_ENABLE) && !(cpu->cascaded >> i & 1))
		return ap_x86model_disabled;
	if ((cccr & CCCR_ANY_THREAD) != CCCR_ANY_THREAD)
		return "how many threads of a core are busy is not modelled";
	return cccr & CCCR_SHAPE ? "thresholds and edges count cycles" : NULL;
}

static u64 p4_counts(const struct ap_x86model *m, const struct ap_x86model_cpu *cpu, unsigned i,
		     const char **why)
{
	u32 cccr = get_cccr(cpu, i), first = groups[i][cccr >> 13 & 7], escr, code;
	bool second_thread = m->has_threads && m->cpu & 1;
	const struct ap_x86model_event *event;

	*why = why_still(cpu, cccr, i);
	if (*why)
		return 0;
	escr = (u32)ap_x86model_get_msr(m->family, cpu, first + twin[i]);
	if (!(escr & ESCR_USER(second_thread)))
		*why = ap_x86model_kernel;
	else if (escr & ESCR_TAGGED)
		*why = "tags of single operations are not modelled";
	if (*why)
		return 0;
	code = EVENT(first, escr >> 25 & 63, escr >> 9 & 0xffff);
	event = code == REPLAY ? find_replay(m, cpu)
			       : ap_x86model_event(p4_events, AP_ARRAY_SIZE(p4_events), code);
	if (!event || !event->kinds)
		*why = event && event->why ? event->why : ap_x86model_unknown;
	return event ? event->kinds : 0;
}

static bool p4_wants_interrupt(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return get_cccr(cpu, i) & CCCR_OVF_PMI_T0;
}

static bool p4_forces(const struct ap_x86model_cpu *cpu, unsigned i)
{
	return get_cccr(cpu, i) & CCCR_FORCE_OVF;
}

static void p4_overflow(struct ap_x86model_cpu *cpu, unsigned i)
{
	*ap_x86model_reg(ap_x86model_p4s, cpu, AP_X86MODEL_CTL, i) |= CCCR_OVF;
	if (i < 16 && get_cccr(cpu, i ^ 2) & CCCR_CASCADE)
		cpu->cascaded |= 1u << (i ^ 2);
}

static void p4_written(struct ap_x86model_cpu *cpu, unsigned i)
{
	cpu->cascaded &= ~(1u << i);
}

#define P4(n, eax, regs)                                                                           \
	{                                                                                          \
		.name = (n), .vendor = "GenuineIntel", .signature = (eax), .features = 0x2febfbff, \
		.nrctrs = 18, .bits = 40, .has_rdpmc = true, .lvtpc_trips = true,                  \
		.rdpmc_flags = AP_P4_FAST_RDPMC, .ranges = (regs), .counts = p4_counts,            \
		.wants_interrupt = p4_wants_interrupt, .forces = p4_forces,                        \
		.overflow = p4_overflow, .written = p4_written                                     \
	}

/* All have their CCCRs first, so that one serves to find them in any. */
const struct ap_x86model_family ap_x86model_p4s[] = {
	P4("p4", 0x0f12, m0_ranges),
	P4("p4m2", 0x0f24, m2_ranges),
	P4("p4m3", 0x0f34, m3_ranges),
	{ 0 },
};
