/* SPDX-License-Identifier: MIT */
/*
 * Where the program has pages of 2 MB or more, for the models of TLBs: what it mapped with MAP_HUGETLB, by the system
 * calls that change mappings.  Transparent ones come and go as the kernel likes, and counts of one program would differ
 * from run to run by that.  Larger pages than 2 MB are taken for as many of 2 MB, the largest that the models have.
 */
#include "engine/runtime/huge.h"

#include "engine/runtime/ranges.h"
#include "sys/nr.h"

#define MAP_HUGETLB 0x40000
#define PAGE_SHIFT  21 /* the least that there is on x86 */

static struct ap_range v[AP_HUGE_MAX];
static struct ap_ranges huge; /* of them, from the first one on: the blob has no initialised data */
static bool is_short;	      /* of what there was no room for */
static u32 gen;

static void changed(void)
{
	__atomic_store_n(&gen, gen + 1, __ATOMIC_RELAXED);
}

bool ap_huge_is_asked(u64 flags)
{
	return flags & MAP_HUGETLB;
}

u64 ap_huge_len(u64 flags, u64 len)
{
	u32 shift = flags >> 26 & 63;

	if (!ap_huge_is_asked(flags))
		return len;
	return AP_ALIGN_UP(len, 1ULL << (shift ? shift : PAGE_SHIFT));
}

u64 ap_huge_len_at(u64 addr, u64 len)
{
	return ap_huge_is_at(addr) ? AP_ALIGN_UP(len, 1ULL << PAGE_SHIFT) : len;
}

void ap_huge_map(u64 start, u64 len)
{
	huge.v = v;
	if (huge.n + 2 <= AP_HUGE_MAX)
		ap_ranges_set(&huge, start, start + AP_ALIGN_UP(len, 1ULL << PAGE_SHIFT), 0);
	else
		is_short = true;
	changed();
}

void ap_huge_unmap(u64 start, u64 end)
{
	u32 k = ap_ranges_at(&huge, start);
	struct ap_range *r = &v[k];

	if (start >= end || k == huge.n || r->start >= end)
		return;
	/* cut in two where there is no room for both: the upper one is small pages from now on */
	if (huge.n == AP_HUGE_MAX && r->start < start && r->end > end) {
		r->end = start;
		is_short = true;
	}
	ap_ranges_clear(&huge, start, end);
	changed();
}

bool ap_huge_is_at(u64 addr)
{
	u32 k = ap_ranges_at(&huge, addr);

	return k < huge.n && v[k].start <= addr;
}

void ap_huge_mend(void)
{
	huge.n = 0;
	changed();
}

u32 ap_huge_gen(void)
{
	return __atomic_load_n(&gen, __ATOMIC_RELAXED);
}

bool ap_huge_list(struct ap_huge_table *to)
{
	to->n = huge.n;
	for (u32 k = 0; k < huge.n; k++)
		to->range[k] = (struct ap_huge){ v[k].start, v[k].end };
	return !is_short;
}
