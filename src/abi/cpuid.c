/* SPDX-License-Identifier: MIT */
/*
 * CPUID's answers of another CPU than the host's (docs/design/cpu-id.md).  Feature bits, topology
 * and sizes of caches stay the host's, as programs choose by them the code that runs here.  The
 * vendors have leaves of their own for caches: those of the other vendor are filled from what the
 * host says in its own.  Intel SDM volume 2A, "CPUID"; AMD APM volume 3, appendix E.
 */
#include "abi/cpuid.h"

#include "base/mem.h"

#define AMD_CACHES   0x8000001dU /* in the format of Intel's leaf 4 */
#define LAST_COMMON  0x80000008U /* what lies beyond is AMD's, or Intel's alone */
#define LAST_BASIC   0xdU
#define CACHE_LEVELS 8U

static bool is_amd(u32 vendor)
{
	return vendor == AP_CPU_EBX_AMD || vendor == AP_CPU_EBX_HYGON;
}

static u32 caches_leaf(u32 vendor)
{
	return is_amd(vendor) ? AMD_CACHES : 4;
}

struct cache {
	u32 bytes, ways, line;
};

/* The host's, of a level; type 1 data, 2 code, 3 both.  None: bytes is 0. */
static struct cache cache_of(ap_cpuid_ask *ask, u32 leaf, u32 level, u32 type)
{
	struct cache c = { 0 };

	for (u32 i = 0; i < CACHE_LEVELS; i++) {
		struct ap_cpuid r = ask(leaf, i);
		u32 parts;

		if (!(r.eax & 31))
			break;
		if ((r.eax & 31) != type || (r.eax >> 5 & 7) != level)
			continue;
		c.line = (r.ebx & 0xfff) + 1;
		parts = (r.ebx >> 12 & 0x3ff) + 1;
		c.ways = (r.ebx >> 22) + 1;
		c.bytes = c.line * parts * c.ways * (r.ecx + 1);
		break;
	}
	return c;
}

/* As leaf 80000006h has a number of ways: the next lower one that has a code. */
static u32 ways_code(u32 ways)
{
	static const u8 of_code[] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128 };
	u32 code = 0;

	for (u32 i = 1; i < AP_ARRAY_SIZE(of_code); i++)
		if (of_code[i] && of_code[i] <= ways)
			code = i;
	return code;
}

/* AMD's older leaves: L1 in KiB, line and ways; L2 in KiB, L3 in units of 512 KiB. */
static struct ap_cpuid old_caches(ap_cpuid_ask *ask, u32 from, bool is_first)
{
	struct ap_cpuid r = { 0 };
	struct cache a = cache_of(ask, from, is_first ? 1 : 2, is_first ? 1 : 3);
	struct cache b = cache_of(ask, from, is_first ? 1 : 3, is_first ? 2 : 3);

	if (is_first) {
		r.ecx = (a.bytes >> 10) << 24 | (a.ways & 0xff) << 16 | 1U << 8 | (a.line & 0xff);
		r.edx = (b.bytes >> 10) << 24 | (b.ways & 0xff) << 16 | 1U << 8 | (b.line & 0xff);
	} else {
		r.ecx = (a.bytes >> 10) << 16 | ways_code(a.ways) << 12 | 1U << 8 | (a.line & 0xff);
		r.edx = (b.bytes >> 19) << 18 | ways_code(b.ways) << 12 | 1U << 8 | (b.line & 0xff);
	}
	return r;
}

/* Of another vendor than the host's. */
static void as_vendor(u32 vendor, u32 host, u32 leaf, u32 subleaf, ap_cpuid_ask *ask,
		      struct ap_cpuid *r)
{
	bool amd = is_amd(vendor);

	if (leaf == caches_leaf(vendor))
		*r = ask(caches_leaf(host), subleaf);
	else if (leaf == 2) /* "leaf 4 has it" */
		*r = (struct ap_cpuid){ .eax = amd ? 0 : 0x00feff01 };
	else if (leaf == 4 || (leaf >= 0x14 && leaf <= 0x1e) ||
		 (leaf > LAST_COMMON && leaf < 0x90000000U) || (!amd && leaf == 0x80000005U))
		*r = (struct ap_cpuid){ 0 };
	else if (leaf == 0x80000005U || (leaf == 0x80000006U && amd))
		*r = old_caches(ask, caches_leaf(host), leaf == 0x80000005U);
	else if (leaf == 0x80000006U)
		*r = (struct ap_cpuid){ .ecx = r->ecx };
	else if (leaf == 0x80000000U)
		r->eax = amd ? AMD_CACHES : LAST_COMMON;
}

void ap_cpuid_as(const struct ap_cpu_id *id, u32 leaf, u32 subleaf, ap_cpuid_ask *ask,
		 struct ap_cpuid *r)
{
	struct ap_cpuid leaf0 = ask(0, 0);

	/* AMD and Hygon describe everything alike */
	if (is_amd(id->vendor[0]) != is_amd(leaf0.ebx))
		as_vendor(id->vendor[0], leaf0.ebx, leaf, subleaf, ask, r);
	if (leaf == 0) {
		if (r->eax < LAST_BASIC)
			r->eax = LAST_BASIC;
		r->ebx = id->vendor[0];
		r->ecx = id->vendor[1];
		r->edx = id->vendor[2];
	} else if (leaf == 1) {
		r->eax = id->signature;
	} else if (leaf == 0x80000001U && is_amd(id->vendor[0])) {
		r->eax = id->signature;
	} else if (leaf >= 0x80000002U && leaf <= 0x80000004U) {
		memcpy(r, id->brand + (leaf - 0x80000002U) * sizeof(*r), sizeof(*r));
	}
}

/* --- what is the same on all CPUs */

#define STATES_LEAF  0xdU
#define FEATURES     1U
#define HYPERVISOR   (1U << 31) /* ecx of FEATURES */
#define EXTENDED     7U
#define HYBRID	     (1U << 15) /* edx of EXTENDED */
#define FIRST_BEYOND 0x80000000U
#define STATES	     62 /* of XCR0, from bit 2 on */

/* Does ecx choose among several answers?  Elsewhere it may be anything. */
static bool has_subleaves(u32 leaf)
{
	return leaf == 4 || leaf == EXTENDED || leaf == STATES_LEAF || leaf == 0x14 ||
	       leaf == AMD_CACHES;
}

struct cpuid_list {
	ap_cpuid_ask *ask;
	struct ap_cpuid_row *rows;
	u32 n;
};

static struct ap_cpuid add(struct cpuid_list *l, u32 leaf, u32 subleaf)
{
	struct ap_cpuid r = l->ask(leaf, subleaf);

	if (l->n < AP_CPUID_ROWS)
		l->rows[l->n++] = (struct ap_cpuid_row){ leaf, subleaf, r };
	return r;
}

static void add_caches(struct cpuid_list *l, u32 leaf)
{
	for (u32 i = 0; i < CACHE_LEVELS; i++)
		if (!(add(l, leaf, i).eax & 31))
			break;
}

static void add_states(struct cpuid_list *l)
{
	struct ap_cpuid r = add(l, STATES_LEAF, 0);
	u64 states = (u64)r.edx << 32 | r.eax;

	add(l, STATES_LEAF, 1);
	for (u32 i = 2; i < STATES; i++)
		if (states >> i & 1)
			add(l, STATES_LEAF, i);
}

/* Not leaf 1 and those of the topology: they name the CPU that one is on. */
u32 ap_cpuid_list(ap_cpuid_ask *ask, struct ap_cpuid_row rows[AP_CPUID_ROWS])
{
	static const u32 beyond[] = { 0x80000001, 0x80000005, 0x80000006, 0x80000007, 0x80000008 };
	struct cpuid_list l = { .ask = ask, .rows = rows };
	struct ap_cpuid leaf0, leaf7, first;

	if (!(ask(FEATURES, 0).ecx & HYPERVISOR))
		return 0;
	leaf0 = add(&l, 0, 0);
	if (leaf0.eax < STATES_LEAF)
		return 0;
	leaf7 = add(&l, EXTENDED, 0);
	if (leaf7.edx & HYBRID)
		return 0;
	add(&l, EXTENDED, 1);
	if (!is_amd(leaf0.ebx)) {
		add(&l, 2, 0);
		add_caches(&l, 4);
	}
	add_states(&l);
	if (leaf0.eax >= 0x14)
		add(&l, 0x14, 0);
	if (leaf0.eax >= 0x19)
		add(&l, 0x19, 0);
	first = add(&l, FIRST_BEYOND, 0);
	for (u32 i = 0; i < AP_ARRAY_SIZE(beyond); i++)
		if (first.eax >= beyond[i])
			add(&l, beyond[i], 0);
	if (is_amd(leaf0.ebx) && first.eax >= AMD_CACHES)
		add_caches(&l, AMD_CACHES);
	return l.n;
}

const struct ap_cpuid *ap_cpuid_find(const struct ap_cpuid_row *rows, u32 n, u32 leaf, u32 subleaf)
{
	bool any = !has_subleaves(leaf);

	for (u32 i = 0; i < n && i < AP_CPUID_ROWS; i++)
		if (rows[i].leaf == leaf && (any || rows[i].subleaf == subleaf))
			return &rows[i].is;
	return NULL;
}
