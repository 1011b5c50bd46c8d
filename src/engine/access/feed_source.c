/* SPDX-License-Identifier: MIT */
/*
 * What became of a reference, in the words of union perf_mem_data_src: where it hit, who else had the line, the TLB.  All but
 * the operation, which the service knows.
 */
#include "engine/access/feed_mark.h"

#define MEM_LOCK_SHIFT	 24
#define MEM_LVL_SHIFT	 5
#define MEM_LVL_HIT	 0x2ULL
#define MEM_SNOOP_SHIFT	 19
#define MEM_SNOOP_NONE	 0x2ULL
#define MEM_SNOOP_HIT	 0x4ULL
#define MEM_SNOOP_HITM	 0x10ULL
#define MEM_LOCKED	 0x2ULL
#define MEM_TLB_SHIFT	 26
#define MEM_TLB_HIT	 0x2ULL
#define MEM_TLB_MISS	 0x4ULL
#define MEM_TLB_L1	 0x8ULL
#define MEM_TLB_L2	 0x10ULL
#define MEM_TLB_WALK	 0x20ULL
#define MEM_LVLNUM_SHIFT 33
#define MEM_REMOTE_SHIFT 37

/* What the models say of it: where it hit, and at what price. */
static u64 level_of(u32 result)
{
	static const struct {
		u64 level, number; /* PERF_MEM_LVL_*, PERF_MEM_LVLNUM_* */
	} by[] = {
		[0] = { 0x1, 0xf },
		[AP_MEM_L1] = { 0x8, 1 },
		[AP_MEM_L2] = { 0x20, 2 },
		[AP_MEM_LLC] = { 0x40, 3 },
		[AP_MEM_SNOOP] = { 0x40, 3 },
		[AP_MEM_NODE] = { 0x80, 0xd },
		[AP_MEM_REMOTE] = { 0x100, 0xd },
		[7] = { 0x1, 0xf },
	};
	u32 l = AP_MEM_LEVEL(result);

	return (by[l].level | (l ? MEM_LVL_HIT : 0)) << MEM_LVL_SHIFT |
	       by[l].number << MEM_LVLNUM_SHIFT | (u64)(l == AP_MEM_REMOTE) << MEM_REMOTE_SHIFT;
}

u64 ap_feed_data_src(u32 result, bool is_locked)
{
	u64 snoop = result & AP_MEM_HITM	? MEM_SNOOP_HITM
		    : result & AP_MEM_HIT_OTHER ? MEM_SNOOP_HIT
						: MEM_SNOOP_NONE;
	u64 tlb = result & AP_MEM_WALK	 ? MEM_TLB_MISS | MEM_TLB_WALK
		  : result & AP_MEM_STLB ? MEM_TLB_HIT | MEM_TLB_L2
					 : MEM_TLB_HIT | MEM_TLB_L1;

	return level_of(result) | snoop << MEM_SNOOP_SHIFT | tlb << MEM_TLB_SHIFT |
	       (is_locked ? MEM_LOCKED << MEM_LOCK_SHIFT : 0);
}
