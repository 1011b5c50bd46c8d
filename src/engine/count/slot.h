/* SPDX-License-Identifier: MIT */
/*
 * Slots of the session file, in which threads count, among those that begin and end threads and processes.
 */
#ifndef AP_ENGINE_SLOT_H
#define AP_ENGINE_SLOT_H

#include "engine/runtime/engine.h"

/* What is mapped of the party's file, for forsake.c; lock held. */
typedef void (*ap_range_fn)(void *at, u64 size);
void ap_slot_each_seg(ap_range_fn fn);

/* segment.c.  Lock held.  The next one, in the window until the next call; NULL when there is none. */
struct ap_seg *ap_segment_new(u32 *index);
AP_MUST_CHECK s64 ap_segment_map(void *at, u32 seg);
/* Another thread may have had the window: the segment is in it again. */
AP_MUST_CHECK s64 ap_segment_show(u32 seg);
void ap_segment_drop_window(void);
void ap_segment_window_each(ap_range_fn fn);

/* slot.c.  Lock held. */
AP_MUST_CHECK s64 ap_slot_map_file(void *at, u64 size, u64 off);
/* Maps a slot that nobody had yet at an address; ap_thread.slot_index in *slot. */
AP_MUST_CHECK int ap_slot_take(void *at, u32 *slot);
void ap_slot_init(struct ap_slot *slot, u32 gen);
AP_MUST_CHECK int ap_slot_fork_child(struct ap_thread *t);
/* Is there another segment than the process' own? */
bool ap_slot_has_more(void);
/* An area's slot in the segment that is the process' by now, which has counted nothing; renew: a linked thread's. */
AP_MUST_CHECK int ap_slot_map_anew(struct ap_thread *t, u32 index);
AP_MUST_CHECK int ap_slot_renew(struct ap_thread *t);
/* The same where the segment and the slot are mapped already. */
void ap_slot_begin_child(struct ap_thread *t);
/* An area with a slot where nothing can be mapped any more (cradle.h). */
AP_MUST_CHECK int ap_slot_take_cradle(struct ap_thread **out);
/* The segment that a thread's slot lies in; *seg and *slot are indices for the supervisor. */
struct ap_seg *ap_slot_place(const struct ap_thread *t, u32 *seg, u32 *slot);
void ap_slot_set_mute(bool mute); /* of all segments of the process */
/* ap_seg.kinds_ack, lanes_ack, of all segments; lock held */
void ap_slot_acknowledge(u64 kinds, u32 nlanes);
void ap_slot_set_carry(u32 carry);			 /* ap_seg.carry, likewise */
void ap_slot_acknowledge_watches(u32 gen, u32 data_gen); /* likewise watch_ack, data_ack */
void ap_slot_set_state(u32 state); /* enum ap_seg_state, of all segments of the process */

#endif
