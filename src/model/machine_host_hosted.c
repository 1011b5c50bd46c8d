/* SPDX-License-Identifier: MIT */
/*
 * The CPU at hand, as its CPUID describes it: caches (leaf 4, AMD's 8000001Dh; where a hypervisor
 * leaves them empty sysfs, then 80000005h and 80000006h), TLBs (18h; 80000005h, 80000006h),
 * counters (Ah; 80000022h), frequencies (16h).  Intel SDM volume 2A "CPUID"; AMD APM volume 3
 * appendix E.  What it says is taken only where the models can have it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/machine.h"

#define GUEST_SHARE (4U << 20) /* for a CPU */

struct cpuid_source {
	void (*cpuid)(void *arg, u32 leaf, u32 subleaf, u32 regs[4]);
	void *arg;
	u32 max, max_extended;
};

enum { EAX, EBX, ECX, EDX };

/* All 0 for a leaf that the CPU does not have. */
static void ask(const struct cpuid_source *s, u32 leaf, u32 subleaf, u32 regs[4])
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

static const char *nearest(const struct cpuid_source *s, bool amd)
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

/*
 * What a guest has of a last level that n of its CPUs share: the host's size says nothing of that.
 */
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

/*
 * A server's memory, and a page walk through the host's tables as well (Intel SDM volume 3 "EPT",
 * AMD APM volume 2 "Nested paging").
 */
static void as_guest(struct ap_machine *m)
{
	m->memory += m->memory / 2;
	m->remote += m->remote / 2;
	m->walk_step *= 3;
}

/* A cache as any of the sources tells it. */
struct found_cache {
	u32 level, line, ways; /* ways 0: not told */
	u64 size;
	u32 sharers; /* CPUs */
	bool is_code, is_inclusive;
};

static bool take_cache(struct ap_machine *m, const struct found_cache *x, bool is_guest)
{
	struct ap_machine changed = *m;
	struct ap_cache_spec *c;
	u64 sets;

	if (x->level == 1)
		c = x->is_code ? &changed.l1i : &changed.l1d;
	else if (x->level == 2 || x->level == 3)
		c = x->level == 2 ? &changed.l2 : &changed.llc;
	else
		return false;
	if (x->line != m->line || !x->size || x->size > 0xffffffff)
		return false;
	c->size = (u32)x->size;
	c->ways = x->ways ? x->ways : c->ways;
	c->slices = 1;
	sets = x->size / (c->ways * x->line);
	/* an odd factor cannot be of sets: slices */
	if (x->level == 3 && sets)
		c->slices = (u32)(sets / (sets & -sets));
	if (c->policy == AP_POLICY_PLRU && (c->ways & (c->ways - 1)))
		c->policy = AP_POLICY_LRU;
	if (x->is_inclusive)
		c->inclusion = AP_INCLUSIVE;
	if (x->level == 3 && is_guest)
		take_share(c, x->line, x->sharers);
	keep_if_good(m, &changed);
	return true;
}

/* Leaf 4, AMD's 8000001Dh; false: it says nothing. */
static bool leaf_caches(struct ap_machine *m, const struct cpuid_source *s, u32 leaf, bool is_guest)
{
	u32 regs[4], i;

	for (i = 0; i < 16; i++) {
		struct found_cache x = { 0 };

		ask(s, leaf, i, regs);
		if (!bits(regs[EAX], 0, 5))
			break;
		x.level = bits(regs[EAX], 5, 3);
		x.is_code = bits(regs[EAX], 0, 5) == 2;
		x.line = bits(regs[EBX], 0, 12) + 1;
		x.ways = (regs[EBX] >> 22) + 1;
		x.size = ((u64)regs[ECX] + 1) * x.ways * x.line * (bits(regs[EBX], 12, 10) + 1);
		x.sharers = bits(regs[EAX], 14, 12) + 1;
		x.is_inclusive = x.level == 3 && regs[EDX] & 2;
		take_cache(m, &x, is_guest);
	}
	return i;
}

/* --- the kernel's sysfs */

static bool read_line(const char *folder, u32 index, const char *name, char text[256])
{
	char path[512];
	FILE *f;
	bool some;

	snprintf(path, sizeof(path), "%s/index%u/%s", folder, index, name);
	f = fopen(path, "re");
	some = f && fgets(text, 256, f);
	if (f)
		fclose(f);
	return some;
}

static u64 read_number(const char *folder, u32 index, const char *name)
{
	char text[256], *end;
	u64 n;

	if (!read_line(folder, index, name, text))
		return 0;
	n = strtoull(text, &end, 10);
	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

/* Of a list like 0-3,8. */
static u32 count_cpus(const char *list)
{
	u32 n = 0;

	while (*list >= '0' && *list <= '9') {
		char *end;
		u64 first = strtoull(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoull(end + 1, &end, 10);
		n += (u32)(last - first + 1);
		list = *end == ',' ? end + 1 : end;
	}
	return n ? n : 1;
}

static bool sysfs_caches(struct ap_machine *m, const char *folder, bool is_guest)
{
	bool any = false;
	char text[256];

	for (u32 i = 0; i < 16 && folder && read_line(folder, i, "type", text); i++) {
		struct found_cache x = { .is_code = *text == 'I', .sharers = 1 };

		x.level = (u32)read_number(folder, i, "level");
		x.line = (u32)read_number(folder, i, "coherency_line_size");
		x.ways = (u32)read_number(folder, i, "ways_of_associativity");
		x.size = read_number(folder, i, "size");
		if (read_line(folder, i, "shared_cpu_list", text))
			x.sharers = count_cpus(text);
		any |= take_cache(m, &x, is_guest);
	}
	return any;
}

/* --- AMD's older leaves */

/* Ways by code; 0: asked for elsewhere, 255: all. */
static u32 amd_ways(u32 code)
{
	static const u8 ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 255 };

	return ways[code];
}

static void old_caches(struct ap_machine *m, const struct cpuid_source *s, bool is_guest)
{
	u32 l1[4], l2[4], cpus[4];

	ask(s, 0x80000005, 0, l1);
	ask(s, 0x80000006, 0, l2);
	ask(s, 0x80000008, 0, cpus);
	for (u32 k = 0; k < 2; k++) {
		u32 word = l1[k ? EDX : ECX];

		take_cache(m,
			   &(struct found_cache){ .level = 1,
						  .is_code = k,
						  .line = bits(word, 0, 8),
						  .ways = bits(word, 16, 8),
						  .size = (u64)bits(word, 24, 8) << 10 },
			   is_guest);
	}
	take_cache(m,
		   &(struct found_cache){ .level = 2,
					  .line = bits(l2[ECX], 0, 8),
					  .ways = amd_ways(bits(l2[ECX], 12, 4)),
					  .size = (u64)bits(l2[ECX], 16, 16) << 10 },
		   is_guest);
	take_cache(m,
		   &(struct found_cache){ .level = 3,
					  .line = bits(l2[EDX], 0, 8),
					  .ways = amd_ways(bits(l2[EDX], 12, 4)),
					  .size = (u64)bits(l2[EDX], 18, 14) << 19,
					  .sharers = bits(cpus[ECX], 0, 8) + 1 },
		   is_guest);
}

static void caches(struct ap_machine *m, const struct cpuid_source *s, bool amd, const char *folder,
		   bool is_guest)
{
	if (leaf_caches(m, s, amd ? 0x8000001d : 4, is_guest) || sysfs_caches(m, folder, is_guest))
		return;
	if (amd)
		old_caches(m, s, is_guest);
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

static void intel_tlbs(struct ap_machine *m, const struct cpuid_source *s)
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

static void amd_tlbs(struct ap_machine *m, const struct cpuid_source *s)
{
	u32 regs[4], b;

	ask(s, 0x80000005, 0, regs);
	b = regs[EBX];
	amd_tlb(m, offsetof(struct ap_machine, itlb), bits(b, 0, 8), bits(b, 8, 8));
	amd_tlb(m, offsetof(struct ap_machine, dtlb), bits(b, 16, 8), bits(b, 24, 8));
	ask(s, 0x80000006, 0, regs);
	b = regs[EBX];
	amd_tlb(m, offsetof(struct ap_machine, istlb), bits(b, 0, 12), amd_ways(bits(b, 12, 4)));
	amd_tlb(m, offsetof(struct ap_machine, stlb), bits(b, 16, 12), amd_ways(bits(b, 28, 4)));
}

static void intel_rest(struct ap_machine *m, const struct cpuid_source *s)
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
		     void (*cpuid)(void *arg, u32 leaf, u32 subleaf, u32 regs[4]), void *arg,
		     const char *folder)
{
	struct cpuid_source s = { .cpuid = cpuid, .arg = arg };
	u32 regs[4];
	bool amd, is_guest;

	cpuid(arg, 0, 0, regs);
	s.max = regs[EAX];
	/* AuthenticAMD, HygonGenuine */
	amd = regs[EBX] == 0x68747541 || regs[EBX] == 0x6f677948;
	cpuid(arg, 0x80000000, 0, regs);
	s.max_extended = regs[EAX] & 0x80000000 ? regs[EAX] : 0;
	*m = *ap_machine_find(nearest(&s, amd));
	ask(&s, 1, 0, regs);
	is_guest = regs[ECX] >> 31;
	if (is_guest)
		as_guest(m);
	memset(m->name, 0, sizeof(m->name));
	memcpy(m->name, "host", 4);
	caches(m, &s, amd, folder, is_guest);
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
