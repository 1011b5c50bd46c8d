/* SPDX-License-Identifier: MIT */
/*
 * The CPU at hand, as its CPUID describes it: caches (leaf 4, AMD's 8000001Dh), TLBs (18h; 80000005h,
 * 80000006h), counters (Ah; 80000022h), frequencies (16h).  Intel SDM volume 2A "CPUID"; AMD APM volume 3
 * appendix E.  What it says is taken only where the models can have it.
 */
#include "base/mem.h"
#include "model/machine.h"

#define GUEST_SHARE (4U << 20) /* for a CPU */

struct source {
	void (*cpuid)(void *arg, u32 leaf, u32 subleaf, u32 regs[4]);
	void *arg;
	u32 max, max_extended;
};

enum { EAX, EBX, ECX, EDX };

/* All 0 for a leaf that the CPU does not have. */
static void ask(const struct source *s, u32 leaf, u32 subleaf, u32 regs[4])
{
	memset(regs, 0, 4 * sizeof(u32));
	if (leaf <= (leaf & 0x80000000 ? s->max_extended : s->max))
		s->cpuid(s->arg, leaf, subleaf, regs);
}

static u32 bits(u32 word, unsigned low, unsigned n)
{
	return word >> low & ((1U << n) - 1);
}

static const char *nearest_intel(u32 family, u32 model)
{
	static const u8 skylake[] = { 0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6 };
	static const u8 icelake[] = { 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7 };

	if (family != 6 || model < 0x4e)
		return "skylake";
	for (unsigned i = 0; i < AP_ARRAY_SIZE(skylake); i++)
		if (model == skylake[i])
			return "skylake";
	for (unsigned i = 0; i < AP_ARRAY_SIZE(icelake); i++)
		if (model == icelake[i])
			return "icelake";
	return "sapphirerapids";
}

static const char *nearest(const struct source *s, bool amd)
{
	u32 regs[4], family, model;

	ask(s, 1, 0, regs);
	family = bits(regs[EAX], 8, 4);
	model = bits(regs[EAX], 4, 4) | bits(regs[EAX], 16, 4) << 4;
	if (family == 15)
		family += bits(regs[EAX], 20, 8);
	ask(s, 7, 0, regs);
	/* whatever model number a hypervisor shows, AMX is of Golden Cove and later */
	if (!amd && bits(regs[EDX], 24, 1))
		return "sapphirerapids";
	if (!amd)
		return nearest_intel(family, model);
	/* 19h: 00h-0Fh, 20h-5Fh are Zen 3 */
	if (family < 0x19 || (family == 0x19 && (model < 0x10 || (model >= 0x20 && model < 0x60))))
		return "zen3";
	return "zen4";
}

/* Takes the machine with a change, if it is still one that the models can have. */
static void keep_if_good(struct ap_machine *m, const struct ap_machine *changed)
{
	if (!ap_machine_check(changed))
		*m = *changed;
}

/* What a guest has of a last level that n of its CPUs share: the host's size says nothing of that. */
static void take_share(struct ap_cache_spec *c, u32 line, u32 n)
{
	u64 sets = 1, most = (u64)n * GUEST_SHARE / (c->ways * line);

	if (c->size <= (u64)n * GUEST_SHARE)
		return;
	while (2 * sets <= most)
		sets *= 2;
	c->size = (u32)(sets * c->ways * line);
	c->slices = 1;
}

/* A server's memory, and a page walk through the host's tables as well (Intel SDM volume 3 "EPT", AMD APM volume 2 "Nested paging"). */
static void as_guest(struct ap_machine *m)
{
	m->memory += m->memory / 2;
	m->remote += m->remote / 2;
	m->walk_step *= 3;
}

static void one_cache(struct ap_machine *m, const u32 regs[4], bool is_guest)
{
	u32 type = bits(regs[EAX], 0, 5), level = bits(regs[EAX], 5, 3);
	u32 line = bits(regs[EBX], 0, 12) + 1, ways = (regs[EBX] >> 22) + 1;
	u64 sets = (u64)regs[ECX] + 1, size = sets * ways * line * (bits(regs[EBX], 12, 10) + 1);
	struct ap_machine changed = *m;
	struct ap_cache_spec *c;

	if (level == 1)
		c = type == 1 ? &changed.l1d : &changed.l1i;
	else if (level == 2 || level == 3)
		c = level == 2 ? &changed.l2 : &changed.llc;
	else
		return;
	if (line != m->line || size > 0xffffffff)
		return;
	c->size = size;
	c->ways = ways;
	c->slices = 1;
	/* an odd factor cannot be of sets: slices */
	if (level == 3)
		c->slices = sets / (sets & -sets);
	if (c->policy == AP_POLICY_PLRU && (ways & (ways - 1)))
		c->policy = AP_POLICY_LRU;
	if (level == 3 && regs[EDX] & 2)
		c->inclusion = AP_INCLUSIVE;
	if (level == 3 && is_guest)
		take_share(c, line, bits(regs[EAX], 14, 12) + 1);
	keep_if_good(m, &changed);
}

static void caches(struct ap_machine *m, const struct source *s, u32 leaf)
{
	u32 regs[4];
	bool is_guest;

	ask(s, 1, 0, regs);
	is_guest = regs[ECX] >> 31;
	for (u32 i = 0; i < 16; i++) {
		ask(s, leaf, i, regs);
		if (!bits(regs[EAX], 0, 5))
			break;
		one_cache(m, regs, is_guest);
	}
}

static struct ap_tlb_spec *intel_tlb(struct ap_machine *m, const u32 regs[4])
{
	u32 type = bits(regs[EDX], 0, 5), level = bits(regs[EDX], 5, 3);
	bool small = regs[EBX] & 1, large = regs[EBX] & 2;

	if (level == 2)
		return small && type != 2 ? &m->stlb : NULL;
	if (level != 1 || !(small || large))
		return NULL;
	if (type == 2)
		return small ? &m->itlb : &m->itlb_2m;
	if (type == 5)
		return small ? &m->dtlb_store : NULL;
	return small ? &m->dtlb : &m->dtlb_2m;
}

static void intel_tlbs(struct ap_machine *m, const struct source *s)
{
	struct ap_machine changed;
	struct ap_tlb_spec *t;
	u32 regs[4], last;

	ask(s, 0x18, 0, regs);
	last = regs[EAX] < 32 ? regs[EAX] : 32;
	for (u32 i = 0; i <= last; i++) {
		ask(s, 0x18, i, regs);
		changed = *m;
		t = intel_tlb(&changed, regs);
		if (!t || !bits(regs[EDX], 0, 5))
			continue;
		t->entries = (regs[EBX] >> 16) * regs[ECX];
		t->ways = regs[EDX] & 0x100 ? t->entries : regs[EBX] >> 16;
		keep_if_good(m, &changed);
	}
}

static void amd_tlb(struct ap_machine *m, size_t offset, u32 entries, u32 ways)
{
	struct ap_machine changed = *m;
	struct ap_tlb_spec *t = (struct ap_tlb_spec *)((char *)&changed + offset);

	t->entries = entries;
	t->ways = ways == 255 ? entries : ways;
	if (entries && ways)
		keep_if_good(m, &changed);
}

static void amd_tlbs(struct ap_machine *m, const struct source *s)
{
	/* ways by code; 9: ask elsewhere */
	static const u8 ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 255 };
	u32 regs[4], b;

	ask(s, 0x80000005, 0, regs);
	b = regs[EBX];
	amd_tlb(m, offsetof(struct ap_machine, itlb), bits(b, 0, 8), bits(b, 8, 8));
	amd_tlb(m, offsetof(struct ap_machine, dtlb), bits(b, 16, 8), bits(b, 24, 8));
	ask(s, 0x80000006, 0, regs);
	b = regs[EBX];
	amd_tlb(m, offsetof(struct ap_machine, istlb), bits(b, 0, 12), ways[bits(b, 12, 4)]);
	amd_tlb(m, offsetof(struct ap_machine, stlb), bits(b, 16, 12), ways[bits(b, 28, 4)]);
}

static void intel_rest(struct ap_machine *m, const struct source *s)
{
	u32 regs[4];

	ask(s, 0xa, 0, regs);
	if (bits(regs[EAX], 8, 8)) {
		m->counters = bits(regs[EAX], 8, 8);
		m->counter_bits = bits(regs[EAX], 16, 8);
		m->fixed = bits(regs[EDX], 0, 5);
	}
	ask(s, 0x16, 0, regs);
	if (bits(regs[EAX], 0, 16)) {
		m->mhz = m->ref_mhz = bits(regs[EAX], 0, 16);
		if (bits(regs[ECX], 0, 16))
			m->bus_mhz = bits(regs[ECX], 0, 16);
	}
}

void ap_machine_host(struct ap_machine *m,
		     void (*cpuid)(void *arg, u32 leaf, u32 subleaf, u32 regs[4]), void *arg)
{
	struct source s = { .cpuid = cpuid, .arg = arg };
	u32 regs[4];
	bool amd;

	cpuid(arg, 0, 0, regs);
	s.max = regs[EAX];
	/* AuthenticAMD, HygonGenuine */
	amd = regs[EBX] == 0x68747541 || regs[EBX] == 0x6f677948;
	cpuid(arg, 0x80000000, 0, regs);
	s.max_extended = regs[EAX] & 0x80000000 ? regs[EAX] : 0;
	*m = *ap_machine_find(nearest(&s, amd));
	ask(&s, 1, 0, regs);
	if (regs[ECX] >> 31)
		as_guest(m);
	memset(m->name, 0, sizeof(m->name));
	memcpy(m->name, "host", 4);
	caches(m, &s, amd ? 0x8000001d : 4);
	if (amd) {
		amd_tlbs(m, &s);
		ask(&s, 0x80000022, 0, regs);
		if (bits(regs[EBX], 0, 4))
			m->counters = bits(regs[EBX], 0, 4);
	} else {
		intel_tlbs(m, &s);
		intel_rest(m, &s);
	}
}
