/* SPDX-License-Identifier: MIT */
/* Segments that were not folded yet, and the processes behind them.  What follows from their ends is in run/tracks.c. */
#ifndef AP_LINUX_SEGMENT_H
#define AP_LINUX_SEGMENT_H

#include <sys/types.h>

#include "base/types.h"

struct ap_supervisor;

/* Who has got a number takes its segment at once; numbers that were passed over are nobody's. */
#define AP_TRACK_TAKING_NS 10000000000ULL

/* A segment that was not folded yet. */
struct ap_track {
	u32 seg, parent; /* parent: as its memory said at the last look */
	pid_t pid;	 /* 0 while unknown */
	int pidfd;	 /* -1: no descriptor left, or no such process any more */
	bool is_gone;	 /* the process ended; others may still use its memory */
	bool is_named;	 /* a seg.pid was there and has been tried */
	bool is_owner;	 /* the kernel says that it has the segment (owner.c) */
	bool is_free;	 /* in reserve: no process has begun to use it */
	bool is_taken; /* by somebody, as its memory says; else its number was given out or passed over */
	u32 uid;       /* of its folder in /proc then */
	u64 start_time; /* likewise: as in struct ap_proc_stat */
	u64 since_ns;	/* when the segment was first seen */
};

/*
 * New segments get their tracks, no more.  A loop over all segments calls it first, and goes by sv->ntracks as it is: what it
 * does for one segment may give others their tracks.
 */
void ap_tracks_learn(struct ap_supervisor *sv);
/* The track of a segment; NULL: it has none, or none any more. */
struct ap_track *ap_track_of(const struct ap_supervisor *sv, u32 seg);
/* The process of a segment, pinned as long as the track says so.  False: there is none, or its party is over. */
bool ap_track_name(struct ap_supervisor *sv, struct ap_track *t, pid_t pid);
void ap_track_unpin(struct ap_track *t);
/* It has no process any more. */
void ap_track_gone(struct ap_track *t);
/* So many slots of its segment are worth a look, whatever it says: of one that no process is known to count in a few. */
u32 ap_track_slots(const struct ap_track *t);

/* bounds.c: gives up parties that have taken more memory or numbers than a party has use for. */
void ap_tracks_bound(struct ap_supervisor *sv);

/* It is over: it is given up, or no process of the party has been known for long. */
bool ap_track_party_is_over(const struct ap_supervisor *sv, u32 party);
void ap_tracks_fini(struct ap_supervisor *sv);

#endif
