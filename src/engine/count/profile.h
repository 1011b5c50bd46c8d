/* SPDX-License-Identifier: MIT */
/* profile.c: numbers for ways out of blocks, and counts beside those of the ways.  All of it does nothing without AP_F_PROFILE. */
#ifndef AP_ENGINE_PROFILE_H
#define AP_ENGINE_PROFILE_H

#include "abi/profile.h"
#include "engine/runtime/proc.h"
#include "engine/runtime/thread.h"

/* Of a way, from %gs:0. */
#define AP_T_PROFILE_OFF AP_T_AREA_SIZE

static inline bool ap_profile_is_on(void)
{
	return ap_unlikely(ap_proc.profile);
}

/* How far apart threads' areas are. */
static inline u64 ap_thread_area_size(void)
{
	return AP_T_AREA_SIZE + (ap_profile_is_on() ? AP_PROFILE_WAYS_SIZE : 0);
}

static inline u32 ap_profile_way_at(u32 way)
{
	return (u32)(AP_T_PROFILE_OFF + way * 8ULL);
}

/* At the start of an image: maps the region of its segment where the session wants a profile.  -errno. */
AP_MUST_CHECK int ap_profile_begin(void);
/* A region for a child to come; NULL: none. */
AP_MUST_CHECK struct ap_profile *ap_profile_map(u32 seg);
/* A fork's child has taken a segment: its region lies where its parent's did, or at `at`. */
AP_MUST_CHECK int ap_profile_fork_child(u32 seg, struct ap_profile *at);
/* The ways of slot k are behind the area that `slot` lies in. */
AP_MUST_CHECK int ap_profile_map_ways(void *slot, u32 seg, u32 k);
/* A further segment of this process: at NULL it is mapped for that. */
AP_MUST_CHECK int ap_profile_join(u32 seg, struct ap_profile *at);
bool ap_profile_owns(u64 start);

/*
 * The block's description, all but its numbers and its time, which this fills in: those that it had before, or new ones.  False:
 * there is no room.  Lock held.
 */
bool ap_profile_number(struct ap_profile_block *b);

/* Mappings of code have changed: what is made from now on is made under others. */
void ap_profile_mapped(void);

/* So many times the first n instructions of the block with this first part.  Async-safe. */
void ap_profile_add_part(u32 first_part, u32 n, u64 times);
/* So many times the instruction at pc. */
void ap_profile_add(u64 pc, s64 times);

#endif
