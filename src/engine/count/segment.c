/* SPDX-License-Identifier: MIT */
/*
 * Segments of the party's file, taken one after the other by whoever needs one.  None is used again.
 *
 * Process lock held throughout.
 */
#include "engine/count/slot.h"

/* A view of the segment that is being prepared; stays mapped for the next fork.  Process lock. */
static struct ap_seg *window;

s64 ap_segment_map(void *at, u32 seg)
{
	return ap_slot_map_file(at, AP_SLOTS_OFF, AP_SEG_OFF(seg));
}

/* Nobody tells the supervisor of forks: before there are so many that their numbers are not believed, it shall look. */
static void say_how_many(u32 seg)
{
	if (AP_SEG_LOCAL(seg) - ap_segs_known(ap_proc.session, AP_PARTY_OF(seg)) >=
		    AP_SEGS_AHEAD / 2 &&
	    !(seg % (AP_SEGS_AHEAD / 16)))
		ap_supervisor_wake();
}

struct ap_seg *ap_segment_new(u32 *index)
{
	u32 seg, none;

	if (!window)
		window = ap_mem_map(0, AP_SLOTS_OFF);
	if (!window)
		return NULL;
	for (seg = ap_segs_first(ap_proc.session, AP_PARTY_OF(ap_proc.seg_index));;
	     seg = ap_segs_after(ap_proc.session, seg)) {
		if (!ap_segs_has(ap_proc.session, seg) || ap_segment_map(window, seg))
			return NULL;
		none = 0;
		if (__atomic_compare_exchange_n(&window->taken, &none, 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			break;
	}
	window->parent_seg = ap_proc.seg_index;
	window->mute = ap_proc.seg->mute;
	say_how_many(seg);
	*index = seg;
	return window;
}

s64 ap_segment_show(u32 seg)
{
	return ap_segment_map(window, seg);
}

void ap_segment_drop_window(void)
{
	if (window)
		ap_mem_unmap(window, AP_SLOTS_OFF);
	window = NULL;
}

void ap_segment_window_each(ap_range_fn fn)
{
	if (window)
		fn(window, AP_SLOTS_OFF);
}
