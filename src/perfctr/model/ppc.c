/* SPDX-License-Identifier: MIT */
/*
 * Models of the performance monitors of 604, 750 and 74xx.  A counter counts the event that its
 * selector names unless MMCR0 freezes it: always (FC), in user mode (FCP), for processes that are
 * not marked (FCM0), or until PMC1 turns negative (TRIGGER, for the others).  A counter that turns
 * negative, and whose condition is enabled, ends TRIGGER and with FCECE freezes all.
 *
 * Events by the user's manuals of the PowerPC 604, MPC604e, MPC750, MPC7400 and MPC7450 ("Performance Monitor"): 1 and 2 are cycles and
 * completed instructions on PMC1 to PMC4 of all.  Of the others those are here that the engine counts the same of.  A miss in a
 * TLB is one that a table is searched for; a 750's L2 and a 7450's L3 are the last level of the machine that is modelled, and what
 * a 7450's L2 misses is what the last level is asked for.  What a CPU counts as it is processed, and not as it completes, has no
 * count here: speculation is not modelled.
 */
#include "perfctr/model/ppc.h"
#include "base/mem.h"

#define K(kind) AP_KIND_BIT(AP_KIND_##kind)

#define MMCR0_FCP    0x20000000u
#define MMCR0_FCM0   0x08000000u
#define MMCR0_PMC1CE 0x00008000u
#define MMCR0_PMCNCE 0x00004000u

struct ap_ppcmodel_family {
	const char *name;
	u32 pvr;
	u8 npmcs;
	u32 mmcr[3]; /* bits that there are */
	bool has_bamr;
	const struct ap_ppcmodel_listed
		*events; /* beside those of all, up to a row without a name */
};

#define MISPREDICTED (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))
#define DTLB_WALKS   (K(DTLB_LOAD_WALK) | K(DTLB_STORE_WALK))
#define DATA_MISSES  (K(LLC_LOAD_MISS) | K(LLC_STORE_MISS))

/* clang-format off */
static const struct ap_ppcmodel_listed of_all[] = {
	{ "PROCESSOR_CYCLES", 0xf, 1, K(CYCLES) },
	{ "INSTRUCTIONS_COMPLETED", 0xf, 2, K(INSTR) },
	{ NULL, 0, 0, 0 }
};
/* Its misses in the instruction cache are those of speculative fetches. */
#define OF_604 \
	{ "DTLB_MISSES", 0x1, 6, DTLB_WALKS }, \
	{ "BRANCH_MISPREDICT_CORRECTION", 0x1, 7, MISPREDICTED }, \
	{ "DATA_CACHE_MISSES", 0x2, 6, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS) }, \
	{ "ITLB_MISSES", 0x2, 7, K(ITLB_WALK) }, \
	{ "BRANCHES_COMPLETED", 0x2, 8, K(BRANCH) }, \
	{ "LOADS_COMPLETED", 0x2, 18, K(LOAD) }
static const struct ap_ppcmodel_listed of_604[] = {
	OF_604,
	{ NULL, 0, 0, 0 }
};
static const struct ap_ppcmodel_listed of_604e[] = {
	OF_604,
	{ "SYSTEM_CALLS", 0x4, 11, K(SYSCALL) },
	{ "INSTRUCTION_TABLE_SEARCH_COUNT", 0x4, 17, K(ITLB_WALK) },
	{ "DATA_TABLE_SEARCH_COUNT", 0x4, 18, DTLB_WALKS },
	{ NULL, 0, 0, 0 }
};
/* As a 750 in few: its misses in caches are those of attempts that may be speculative. */
static const struct ap_ppcmodel_listed of_7400[] = {
	{ "ITLB_MISSES", 0x2, 6, K(ITLB_WALK) },
	{ "LOADS_COMPLETED", 0x2, 11, K(LOAD) },
	{ "BRANCHES_TAKEN", 0x4, 5, K(TAKEN) },
	{ "DTLB_MISSES", 0x4, 6, DTLB_WALKS },
	{ "MISPREDICTED_BRANCHES", 0x8, 5, MISPREDICTED },
	{ NULL, 0, 0, 0 }
};
static const struct ap_ppcmodel_listed of_750[] = {
	{ "L1_INSTRUCTION_CACHE_MISSES", 0x2, 5, K(L1I_LOAD_MISS) },
	{ "ITLB_MISSES", 0x2, 6, K(ITLB_WALK) },
	{ "L2_INSTRUCTION_MISSES", 0x2, 7, K(LLC_CODE_MISS) },
	{ "LOADS_AND_STORES_COMPLETED", 0x2, 11, K(MEM) },
	{ "L1_DATA_CACHE_MISSES", 0x4, 5, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS) },
	{ "DTLB_MISSES", 0x4, 6, DTLB_WALKS },
	{ "L2_DATA_MISSES", 0x4, 7, DATA_MISSES },
	{ "MISPREDICTED_BRANCHES", 0x8, 8, MISPREDICTED },
	{ NULL, 0, 0, 0 }
};
static const struct ap_ppcmodel_listed of_7450[] = {
	{ "STORE_INSTRUCTIONS_COMPLETED", 0x3, 20, K(STORE) },
	{ "L1_INSTRUCTION_CACHE_MISSES", 0x3, 21, K(L1I_LOAD_MISS) },
	{ "BRANCHES_COMPLETED", 0x1, 34, K(BRANCH) },
	{ "SC_INSTRUCTIONS_COMPLETED", 0x1, 37, K(SYSCALL) },
	{ "L1_INSTRUCTION_CACHE_ACCESSES", 0x1, 41, K(L1I_LOAD) },
	{ "L1_DATA_TOTAL_MISSES", 0x6, 23, K(L1D_LOAD_MISS) | K(L1D_STORE_MISS) },
	{ "LSU_INSTRUCTIONS_COMPLETED", 0x2, 25, K(MEM) },
	{ "LOAD_INSTRUCTIONS_COMPLETED", 0x2, 26, K(LOAD) },
	{ "ITLB_NON_SPECULATIVE_MISSES", 0x2, 35, K(ITLB_WALK) },
	{ "L1_DATA_LOAD_ACCESS_MISSES", 0x2, 37, K(L1D_LOAD_MISS) },
	{ "L1_DATA_STORE_MISSES", 0x2, 39, K(L1D_STORE_MISS) },
	{ "DTLB_MISSES", 0x4, 18, DTLB_WALKS },
	{ "MISPREDICTED_BRANCHES", 0x8, 28, MISPREDICTED },
	{ "L3_INSTRUCTION_CACHE_MISSES", 0x30, 5, K(LLC_CODE_MISS) },
	{ "L2_DATA_CACHE_MISSES", 0x30, 6, K(LLC_LOAD) | K(LLC_STORE) },
	{ "L3_DATA_CACHE_MISSES", 0x30, 7, DATA_MISSES },
	{ "L3_CACHE_MISSES", 0x10, 20, DATA_MISSES | K(LLC_CODE_MISS) },
	{ NULL, 0, 0, 0 }
};
/* clang-format on */

#define MMCR1_4 0xffc00000u
#define MMCR1_6 0xfffff800u

/* clang-format off */
static const struct ap_ppcmodel_family families[] = {
	{ "604", 0x00040303, 2, { ~0u, 0, 0 }, false, of_604 },
	{ "604e", 0x00090204, 4, { ~0u, MMCR1_4, 0 }, false, of_604e },
	{ "604ev", 0x000a0100, 4, { ~0u, MMCR1_4, 0 }, false, of_604e },
	{ "750", 0x00080200, 4, { ~0u, MMCR1_4, 0 }, false, of_750 },
	{ "750fx", 0x70000203, 4, { ~0u, MMCR1_4, 0 }, false, of_750 },
	{ "750gx", 0x70020102, 4, { ~0u, MMCR1_4, 0 }, false, of_750 },
	{ "7400", 0x000c0209, 4, { ~0u, MMCR1_4, 0x80000000 }, true, of_7400 },
	{ "7410", 0x800c1104, 4, { ~0u, MMCR1_4, 0x80000000 }, true, of_7400 },
	{ "7450", 0x80000203, 6, { ~0u, MMCR1_6, 0x80000000 }, true, of_7450 },
	{ "7455", 0x80010303, 6, { ~0u, MMCR1_6, 0x80000000 }, true, of_7450 },
	{ "7457", 0x80020101, 6, { ~0u, MMCR1_6, 0x80000000 }, true, of_7450 },
	{ "ppc", 0x00030001, 0, { 0, 0, 0 }, false, &of_all[2] }, /* a 603 */
};
/* clang-format on */

const char *ap_ppcmodel_name(unsigned i)
{
	return i < AP_ARRAY_SIZE(families) ? families[i].name : NULL;
}

bool ap_ppcmodel_listed(const struct ap_ppcmodel_family *family, unsigned i,
			struct ap_ppcmodel_listed *out)
{
	const unsigned ncommon = AP_ARRAY_SIZE(of_all) - 1;
	const struct ap_ppcmodel_listed *row = of_all;
	unsigned k = i;

	if (i >= ncommon) {
		row = family->events;
		k -= ncommon;
	}
	for (; k && row->name; k--)
		row++;
	if (!row->name || !family->npmcs)
		return false;
	*out = *row;
	out->pmcs &= (1u << family->npmcs) - 1;
	return true;
}

const struct ap_ppcmodel_family *ap_ppcmodel_find(const char *name)
{
	for (u32 i = 0; i < AP_ARRAY_SIZE(families); i++) {
		if (strcmp(families[i].name, name) == 0)
			return &families[i];
	}
	return NULL;
}

void ap_ppcmodel_init(struct ap_ppcmodel *m, const struct ap_ppcmodel_family *family,
		      struct ap_ppcmodel_cpu *cpus, unsigned ncpus)
{
	memset(m, 0, sizeof(*m));
	memset(cpus, 0, ncpus * sizeof(*cpus));
	m->family = family;
	m->cpus = cpus;
	m->ncpus = ncpus;
	m->timebase_hz = 25000000;
}

/* --- registers */

/* NULL: none that can be written, or a bit of val that it has not. */
static u32 *find_spr(const struct ap_ppcmodel *m, u32 spr, u32 val)
{
	static const u16 mmcr[3] = { 952, 956, 944 };
	static const u16 pmc[6] = { 953, 954, 957, 958, 945, 946 };
	struct ap_ppcmodel_cpu *cpu = &m->cpus[m->cpu];

	for (u32 i = 0; i < 3; i++) {
		if (spr == mmcr[i] && m->family->mmcr[i])
			return val & ~m->family->mmcr[i] ? NULL : &cpu->mmcr[i];
	}
	for (u32 i = 0; i < m->family->npmcs; i++) {
		if (spr == pmc[i])
			return &cpu->pmc[i];
	}
	return spr == 951 && m->family->has_bamr ? &cpu->bamr : NULL;
}

static void note(struct ap_ppcmodel *m, bool is_write, u32 spr, u32 val, bool faulted)
{
	if (m->log && m->nlogged < m->log_size)
		m->log[m->nlogged] = (struct ap_ppcmodel_access){ .is_write = is_write,
								  .faulted = faulted,
								  .cpu = (u8)m->cpu,
								  .spr = spr,
								  .val = val };
	m->nlogged++;
	m->nfaults += faulted;
}

static u32 model_mfspr(void *host, u32 spr)
{
	struct ap_ppcmodel *m = host;
	const u32 *reg = find_spr(m, spr, 0);
	bool is_known = reg || spr == 268 || spr == 287;
	u32 val = reg ? *reg : 0;

	if (spr == 268)
		val = m->cpus[m->cpu].tb;
	else if (spr == 287)
		val = m->family->pvr;
	note(m, false, spr, val, !is_known);
	return val;
}

static void model_mtspr(void *host, u32 spr, u32 val)
{
	struct ap_ppcmodel *m = host;
	u32 *reg = find_spr(m, spr, val);

	note(m, true, spr, val, !reg);
	if (reg)
		*reg = val;
}

static u32 model_timebase_hz(void *host)
{
	const struct ap_ppcmodel *m = host;

	return m->timebase_hz;
}

static unsigned model_this_cpu(void *host)
{
	const struct ap_ppcmodel *m = host;

	return m->cpu;
}

static void model_on_each_cpu(void *host, void (*fn)(void *arg), void *arg)
{
	struct ap_ppcmodel *m = host;
	unsigned cpu = m->cpu;

	for (m->cpu = 0; m->cpu < m->ncpus; m->cpu++)
		fn(arg);
	m->cpu = cpu;
}

const struct ap_ppcctr_ops ap_ppcmodel_ops = {
	.mfspr = model_mfspr,
	.mtspr = model_mtspr,
	.timebase_hz = model_timebase_hz,
	.this_cpu = model_this_cpu,
	.on_each_cpu = model_on_each_cpu,
};

/* --- counting */

static u32 selector(const struct ap_ppcmodel_cpu *cpu, unsigned i)
{
	switch (i) {
	case 0:
		return cpu->mmcr[0] >> 6 & 127;
	case 1:
		return cpu->mmcr[0] & 63;
	case 2:
		return cpu->mmcr[1] >> 27;
	case 3:
		return cpu->mmcr[1] >> 22 & 31;
	case 4:
		return cpu->mmcr[1] >> 17 & 31;
	default:
		return cpu->mmcr[1] >> 11 & 63;
	}
}

static const char *why_frozen(const struct ap_ppcmodel_cpu *cpu, unsigned i)
{
	if (cpu->mmcr[0] & AP_MMCR0_FC)
		return "the counters are frozen";
	if (cpu->mmcr[0] & (MMCR0_FCP | MMCR0_FCM0))
		return "only user mode is counted, of processes without a mark";
	return i && cpu->mmcr[0] & AP_MMCR0_TRIGGER ? "PMC1 has not triggered" : NULL;
}

u64 ap_ppcmodel_counts(const struct ap_ppcmodel *m, unsigned i, const char **why)
{
	const struct ap_ppcmodel_cpu *cpu = &m->cpus[m->cpu];
	struct ap_ppcmodel_listed row;
	u32 event;

	*why = i < m->family->npmcs ? why_frozen(cpu, i) : "the CPU has no such counter";
	if (*why)
		return 0;
	event = selector(cpu, i);
	for (unsigned k = 0; ap_ppcmodel_listed(m->family, k, &row); k++) {
		if (row.event == event && row.pmcs >> i & 1)
			return row.kinds;
	}
	*why = event ? "no count of the engine means this event" : "no event is selected";
	return 0;
}

/* Counter i has turned negative. */
static void turn(struct ap_ppcmodel_cpu *cpu, unsigned i)
{
	if (!(cpu->mmcr[0] & (i ? MMCR0_PMCNCE : MMCR0_PMC1CE)))
		return;
	if (cpu->mmcr[0] & AP_MMCR0_FCECE)
		cpu->mmcr[0] |= AP_MMCR0_FC;
	cpu->mmcr[0] &= ~AP_MMCR0_TRIGGER;
}

void ap_ppcmodel_count(struct ap_ppcmodel *m, const u64 kinds[AP_KIND_N], u64 ticks)
{
	struct ap_ppcmodel_cpu *cpu = &m->cpus[m->cpu];
	u32 turned = 0;

	cpu->tb += (u32)ticks;
	for (unsigned i = 0; i < m->family->npmcs; i++) {
		const char *why;
		u64 set = ap_ppcmodel_counts(m, i, &why), n = 0;
		u32 was = cpu->pmc[i];

		for (unsigned k = 0; k < AP_KIND_N; k++)
			n += set >> k & 1 ? kinds[k] : 0;
		cpu->pmc[i] += (u32)n;
		if (!(was >> 31) && cpu->pmc[i] >> 31)
			turned |= 1u << i;
	}
	for (unsigned i = 0; turned >> i; i++) {
		if (turned >> i & 1)
			turn(cpu, i);
	}
}
