/* SPDX-License-Identifier: MIT */
/*
 * Segments for children that cannot map theirs.  A fork's child sees them at the same addresses, so it and
 * its parent may want the same one: how many are taken is in memory that both share.  None is used
 * again: the supervisor has no second look at a segment.
 */
#include "engine/thread/cradle.h"

#include "engine/count/profile.h"
#include "engine/runtime/filter.h"
#include "engine/thread/area.h"

#define CRADLES 64

static AP_ROOMY struct ap_cradle cradles[CRADLES];
static u32 ncradles;
static u32 *taken; /* so many of them */

static bool make(struct ap_cradle *c)
{
	struct ap_seg *seg = ap_mem_map(0, AP_SLOTS_OFF);
	struct ap_thread *area = ap_mem_map(0, ap_thread_area_size());
	u64 off;

	if (seg && area && ap_segment_new(&c->index)) {
		off = AP_SEG_OFF(c->index);
		c->seg = seg;
		c->area = area;
		if (!ap_slot_map_file(seg, AP_SLOTS_OFF, off) &&
		    !ap_slot_map_file(ap_thread_slot(area), AP_SLOT_SIZE, off + AP_SLOT_OFF(0)) &&
		    !ap_profile_map_ways(ap_thread_slot(area), c->index, 0)) {
			c->profile = ap_profile_is_on() ? ap_profile_map(c->index) : NULL;
			ap_thread_guard(area);
			return c->profile || !ap_profile_is_on();
		}
	}
	if (seg)
		ap_mem_unmap(seg, AP_SLOTS_OFF);
	if (area)
		ap_mem_unmap(area, ap_thread_area_size());
	return false;
}

/* A page that children share with their parent. */
static bool share_count(void)
{
	void *page = taken ? NULL : ap_mem_map(0, AP_PAGE_SIZE);

	if (!page)
		return taken;
	if (ap_is_err(ap_sys6(AP_NR_mmap, (u64)page, AP_PAGE_SIZE, AP_PROT_R | AP_PROT_W,
			      AP_MAP_SHARED | AP_MAP_ANON | AP_MAP_FIXED, (u64)-1, 0)))
		ap_mem_unmap(page, AP_PAGE_SIZE);
	else
		taken = page;
	return taken;
}

void ap_cradle_reserve(u32 n)
{
	if (!share_count())
		return;
	n += __atomic_load_n(taken, __ATOMIC_RELAXED);
	while (ncradles < n && ncradles < CRADLES && make(&cradles[ncradles]))
		ncradles++;
}

void ap_cradle_each(ap_range_fn fn)
{
	for (u32 i = 0; i < ncradles; i++) {
		fn(cradles[i].seg, AP_SLOTS_OFF);
		fn(ap_thread_slot(cradles[i].area), AP_SLOT_SIZE);
	}
}

/* Those that lie in another party's file are nobody's here. */
void ap_cradle_drop(void)
{
	for (u32 i = 0; i < ncradles; i++) {
		ap_mem_unmap(cradles[i].seg, AP_SLOTS_OFF);
		ap_mem_unmap(cradles[i].area, ap_thread_area_size());
	}
	ncradles = 0;
	if (taken)
		ap_mem_unmap(taken, AP_PAGE_SIZE);
	taken = NULL;
}

bool ap_cradle_is_needed(void)
{
	return ncradles && !ap_filter_allows_share();
}

const struct ap_cradle *ap_cradle_take(void)
{
	u32 i = __atomic_load_n(taken, __ATOMIC_RELAXED);

	do {
		if (i >= ncradles)
			return NULL;
	} while (!__atomic_compare_exchange_n(taken, &i, i + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	__atomic_store_n(&cradles[i].seg->state, AP_SEG_INIT, __ATOMIC_RELEASE);
	return &cradles[i];
}
