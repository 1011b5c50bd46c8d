/* SPDX-License-Identifier: MIT */
/*
 * The machinery that all x86 models share: finding a register and taking a write as it takes it,
 * the log of accesses, counting, overflow and the way of an interrupt through the APIC's entry.
 */
#include "base/mem.h"
#include "perfctr/model/x86_family.h"

const char ap_x86model_disabled[] = "the counter is not enabled";
const char ap_x86model_unknown[] = "no count of the engine means this event";
const char ap_x86model_kernel[] = "only user mode is counted";

static const struct ap_x86model_family *const families[] = { ap_x86model_p5s, ap_x86model_p6s,
							     ap_x86model_k7s, ap_x86model_p4s,
							     ap_x86model_core2s };

static const struct ap_x86model_family *family_at(unsigned i)
{
	for (u32 f = 0; f < AP_ARRAY_SIZE(families); f++) {
		for (const struct ap_x86model_family *at = families[f]; at->name; at++) {
			if (!i--)
				return at;
		}
	}
	return NULL;
}

const char *ap_x86model_name(unsigned i)
{
	const struct ap_x86model_family *family = family_at(i);

	return family ? family->name : NULL;
}

const struct ap_x86model_family *ap_x86model_find(const char *name)
{
	const struct ap_x86model_family *family;

	for (unsigned i = 0; (family = family_at(i)); i++) {
		if (strcmp(family->name, name) == 0)
			return family;
	}
	return NULL;
}

void ap_x86model_init(struct ap_x86model *m, const struct ap_x86model_family *family,
		      struct ap_x86model_cpu *cpus, unsigned ncpus)
{
	memset(m, 0, sizeof(*m));
	memset(cpus, 0, ncpus * sizeof(*cpus));
	m->family = family;
	m->cpus = cpus;
	m->ncpus = ncpus;
	for (unsigned i = 0; i < ncpus; i++)
		cpus[i].lvtpc = AP_APIC_MASKED;
}

/* --- registers */

/* Both threads of a core have the first one's. */
static struct ap_x86model_cpu *core_of(const struct ap_x86model *m)
{
	return &m->cpus[m->has_threads ? m->cpu & ~1u : m->cpu];
}

static u64 *find_msr(const struct ap_x86model_family *family, struct ap_x86model_cpu *cpu, u32 msr,
		     const struct ap_x86model_range **found)
{
	u32 at = 0;

	for (const struct ap_x86model_range *range = family->ranges; range->what; range++) {
		if (msr - range->first < range->n) {
			*found = range;
			return &cpu->regs[at + msr - range->first];
		}
		at += range->n;
	}
	return NULL;
}

u64 *ap_x86model_reg(const struct ap_x86model_family *family, struct ap_x86model_cpu *cpu,
		     enum ap_x86model_what what, unsigned i)
{
	u32 at = 0;

	for (const struct ap_x86model_range *range = family->ranges; range->what; range++) {
		if (range->what == what) {
			if (i < range->n)
				return &cpu->regs[at + i];
			i -= range->n;
		}
		at += range->n;
	}
	return NULL;
}

u64 ap_x86model_get(const struct ap_x86model_family *family, const struct ap_x86model_cpu *cpu,
		    enum ap_x86model_what what, unsigned i)
{
	const u64 *reg = ap_x86model_reg(family, (struct ap_x86model_cpu *)cpu, what, i);

	return reg ? *reg : 0;
}

u64 ap_x86model_get_msr(const struct ap_x86model_family *family, const struct ap_x86model_cpu *cpu,
			u32 msr)
{
	const struct ap_x86model_range *range;
	const u64 *reg = find_msr(family, (struct ap_x86model_cpu *)cpu, msr, &range);

	return reg ? *reg : 0;
}

static u64 width(const struct ap_x86model_family *family)
{
	return (1ULL << family->bits) - 1;
}

static void note(struct ap_x86model *m, u8 op, u32 reg, u64 val, bool faulted)
{
	struct ap_x86model_access access = {
		.op = op, .cpu = (u8)m->cpu, .faulted = faulted, .reg = reg, .val = val
	};

	if (m->log && m->nlogged < m->log_size)
		m->log[m->nlogged] = access;
	m->nlogged++;
	m->nfaults += faulted;
	m->nwrites += op == AP_X86MODEL_WRMSR;
}

static u64 model_rdmsr(void *host, u32 msr)
{
	struct ap_x86model *m = host;
	const struct ap_x86model_range *range;
	const u64 *reg = find_msr(m->family, core_of(m), msr, &range);
	u64 val = reg ? *reg : 0;

	note(m, AP_X86MODEL_RDMSR, msr, val, !reg);
	return val;
}

static void model_wrmsr(void *host, u32 msr, u64 val)
{
	struct ap_x86model *m = host;
	const struct ap_x86model_range *range = NULL;
	u64 *reg = find_msr(m->family, core_of(m), msr, &range);
	bool faults = !reg || range->what == AP_X86MODEL_STATUS ||
		      val & ~(range->writable | range->ignored);
	unsigned ctl = 0;

	note(m, AP_X86MODEL_WRMSR, msr, val, faults);
	if (faults)
		return;
	if (range->what == AP_X86MODEL_ACK) {
		*ap_x86model_reg(m->family, core_of(m), AP_X86MODEL_STATUS, 0) &= ~val;
		return;
	}
	if (range->what == AP_X86MODEL_CTR && m->family->sign_extends && !(range->writable >> 32))
		val = (u64)(s64)(s32)(u32)val & width(m->family);
	*reg = val & (range->what == AP_X86MODEL_CTR ? width(m->family) : range->writable);
	if (range->what != AP_X86MODEL_CTL || !m->family->written)
		return;
	while (ap_x86model_reg(m->family, core_of(m), AP_X86MODEL_CTL, ctl) != reg)
		ctl++;
	m->family->written(core_of(m), ctl);
}

static u64 model_rdpmc(void *host, u32 counter)
{
	struct ap_x86model *m = host;
	u32 i = ap_x86model_number(m, counter);
	bool faults = !m->family->has_rdpmc || i >= m->family->nrctrs;
	u64 val = faults ? 0 : ap_x86model_get(m->family, core_of(m), AP_X86MODEL_CTR, i);

	/* The fast way reads 32 bits. */
	if (counter & m->family->rdpmc_flags)
		val &= 0xffffffff;
	note(m, AP_X86MODEL_RDPMC, counter, val, faults);
	return val;
}

static u64 model_rdtsc(void *host)
{
	struct ap_x86model *m = host;
	bool faults = !(m->family->features & 1u << 4);
	u64 val = faults ? 0 : m->cpus[m->cpu].tsc;

	note(m, AP_X86MODEL_RDTSC, 0, val, faults);
	return val;
}

static void model_cpuid(void *host, u32 leaf, u32 regs[4])
{
	const struct ap_x86model *m = host;
	static const u8 order[] = { 1, 3, 2 };

	memset(regs, 0, 4 * sizeof(*regs));
	if (leaf == 0) {
		regs[0] = 1;
		for (u32 i = 0; i < 12; i++)
			regs[order[i / 4]] |= (u32)(u8)m->family->vendor[i] << (i % 4 * 8);
	} else if (leaf == 1) {
		regs[0] = m->family->signature;
		regs[1] = m->cpu << 24 | (m->has_threads ? 2u : 1u) << 16;
		regs[3] = m->family->features | (m->has_threads ? 1u << 28 : 0);
	}
}

static unsigned model_this_cpu(void *host)
{
	const struct ap_x86model *m = host;

	return m->cpu;
}

static void model_on_each_cpu(void *host, void (*fn)(void *arg), void *arg)
{
	struct ap_x86model *m = host;
	unsigned cpu = m->cpu;

	for (m->cpu = 0; m->cpu < m->ncpus; m->cpu++)
		fn(arg);
	m->cpu = cpu;
}

static void model_apic_write(void *host, u32 reg, u32 val)
{
	struct ap_x86model *m = host;
	bool faults =
		(reg != AP_APIC_LVTPC && reg != AP_APIC_EOI) || !(m->family->features & 1u << 9);

	note(m, AP_X86MODEL_APIC, reg, val, faults);
	if (!faults && reg == AP_APIC_LVTPC)
		m->cpus[m->cpu].lvtpc = val;
}

const struct ap_x86ctr_ops ap_x86model_ops = {
	.cpuid = model_cpuid,
	.rdmsr = model_rdmsr,
	.wrmsr = model_wrmsr,
	.rdpmc = model_rdpmc,
	.rdtsc = model_rdtsc,
	.this_cpu = model_this_cpu,
	.on_each_cpu = model_on_each_cpu,
	.apic_write = model_apic_write,
};

/* --- counting */

const struct ap_x86model_event *ap_x86model_event(const struct ap_x86model_event *events, u32 n,
						  u32 code)
{
	for (u32 i = 0; i < n; i++) {
		if (events[i].code == code)
			return &events[i];
	}
	return NULL;
}

u64 ap_x86model_counts(const struct ap_x86model *m, unsigned i, const char **why)
{
	*why = i < m->family->nrctrs ? NULL : "the CPU has no such counter";
	return *why ? 0 : m->family->counts(m, core_of(m), i, why);
}

u64 ap_x86model_counter(const struct ap_x86model *m, unsigned i)
{
	return ap_x86model_get(m->family, core_of(m), AP_X86MODEL_CTR, i);
}

void ap_x86model_pmc_shape(const struct ap_x86model *m, struct ap_pmcs *shape)
{
	shape->flags = m->family->rdpmc_flags;
	shape->bits = m->family->bits;
	shape->n = m->family->nrctrs;
	shape->nfixed = m->family->nfixed;
}

u32 ap_x86model_number(const struct ap_x86model *m, u32 counter)
{
	const struct ap_x86model_family *family = m->family;

	return ap_x86ctr_number(counter, family->rdpmc_flags, family->nrctrs, family->nfixed);
}

/* True if it wrapped: from all ones to zero. */
static bool add(const struct ap_x86model_family *family, u64 *counter, u64 n)
{
	u64 room = width(family) - *counter;

	*counter = (*counter + n) & width(family);
	return n > room;
}

static void flag(const struct ap_x86model_family *family, struct ap_x86model_cpu *cpu, unsigned i)
{
	u64 *status = ap_x86model_reg(family, cpu, AP_X86MODEL_STATUS, 0);
	unsigned first = family->nrctrs - family->nfixed;

	if (status)
		*status |= 1ULL << (i < first ? i : 32 + i - first);
}

void ap_x86model_count(struct ap_x86model *m, const u64 kinds[AP_KIND_N], u64 ticks)
{
	const struct ap_x86model_family *family = m->family;
	struct ap_x86model_cpu *cpu = core_of(m);
	bool interrupts = false;
	u32 wrapped = 0;

	m->cpus[m->cpu].tsc += ticks;
	for (unsigned i = 0; i < family->nrctrs; i++) {
		const char *why;
		u64 set = ap_x86model_counts(m, i, &why), n = 0;

		for (unsigned k = 0; k < AP_KIND_N; k++)
			n += set >> k & 1 ? kinds[k] : 0;
		if (n && add(family, ap_x86model_reg(family, cpu, AP_X86MODEL_CTR, i), n))
			wrapped |= 1u << i;
		else if (n && family->forces && family->forces(cpu, i))
			wrapped |= 1u << i;
	}
	for (unsigned i = 0; wrapped >> i; i++) {
		if (!(wrapped >> i & 1))
			continue;
		flag(family, cpu, i);
		interrupts |= family->wants_interrupt && family->wants_interrupt(cpu, i);
		if (family->overflow)
			family->overflow(cpu, i);
	}
	if (!interrupts || m->cpus[m->cpu].lvtpc != AP_PERFCTR_VECTOR || !m->interrupt)
		return;
	if (family->lvtpc_trips)
		m->cpus[m->cpu].lvtpc |= AP_APIC_MASKED;
	m->interrupt(m->interrupt_arg);
}

u64 ap_x86model_room(const struct ap_x86model *m, unsigned kind)
{
	const struct ap_x86model_family *family = m->family;
	const struct ap_x86model_cpu *cpu = core_of(m);
	u64 room = ~0ULL;

	for (unsigned i = 0; i < family->nrctrs; i++) {
		const char *why;
		u64 left;

		if (!(ap_x86model_counts(m, i, &why) >> kind & 1) || !family->wants_interrupt ||
		    !family->wants_interrupt(cpu, i))
			continue;
		left = width(family) - ap_x86model_get(family, cpu, AP_X86MODEL_CTR, i) + 1;
		if (family->forces && family->forces(cpu, i))
			left = 1;
		if (left < room)
			room = left;
	}
	return room;
}
