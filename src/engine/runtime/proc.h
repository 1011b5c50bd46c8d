/* SPDX-License-Identifier: MIT */
/*
 * State of one counted process (address space), shared by its threads.  One static instance in the
 * blob; a fork's child has its own copy by nature.
 */
#ifndef AP_ENGINE_PROC_H
#define AP_ENGINE_PROC_H

#include "abi/boot.h"
#include "abi/session.h"
#include "base/types.h"
#include "engine/runtime/lock.h"
#include "engine/runtime/thread.h"

#define AP_NSIG 65

/* The program's view of a signal's disposition, as it passed it to rt_sigaction. */
struct ap_sigaction {
	u64 handler;
	u64 flags;
	u64 restorer;
	u64 mask;
};

struct ap_proc {
	struct ap_boot *boot;
	const struct ap_session *session; /* first pages of the head, to be read */
	struct ap_board *board;		  /* behind them, of the party's file */
	struct ap_seg *seg;		  /* this address space's segment header, shared */
	u64 *shapes;			  /* seg's shape table: shape id -> vector */
	struct ap_profile *profile;	  /* the segment's region; NULL: none is wanted */
	u32 seg_index;
	s32 session_fd;		/* the party's file, */
	s32 head_fd;		/* and the session's head */
	u32 flags;		/* AP_F_* */
	u64 kinds;		/* what code counts that is translated from here on; lock */
	u64 direct;		/* of them those counted by an add of their own; lock */
	u32 kinds_epoch;	/* code of earlier epochs may count less; lock */
	u64 lanes[AP_LANE_MAX]; /* ap_session.lanes that code takes down; lock */
	u32 lane_margin[AP_LANE_MAX];
	u32 nlanes;
	u32 lane_gen;	      /* ap_session.lane_gen of .lanes */
	bool lanes_more;      /* some are of kinds beside the base ones */
	u32 carry;	      /* ap_seg.carry; lock */
	u64 blob_lo, blob_hi; /* the engine's own code and data, and its first memory */
	u64 code_hi;	      /* its code ends here */

	struct ap_lock lock;	   /* translation, links, tables, threads, regions */
	struct ap_thread *threads; /* all of this address space; lock */
	u32 nthreads;
	u32 epoch;	   /* incremented when code memory is retired; lock */
	bool native;	   /* the engine gave up: nothing is translated or protected; native.c */
	u32 still;	   /* 1: a thread has all others wait; still.c */
	bool forsaken;	   /* it has none of the session's memory any more; forsake.c */
	bool dying;	   /* of a signal that leaves a core; dump.c */
	u32 watch_gen;	   /* ap_session.watch_gen when the cache was last flushed for it; lock */
	u32 counters;	   /* ap_seg.counters as they are raised; lock */
	u32 watch_epoch;   /* code of earlier epochs minds less of the watches; lock */
	u32 data_gen;	   /* ap_session.data_gen when the maps were last made; lock */
	bool data;	   /* code is checked for accesses of watched data, at present; lock */
	bool has_fsgsbase; /* rdfsbase and wrgsbase may be used */
	bool cpuid_faults; /* a thread had CPUID forbidden: the CPU decides */
	u32 ptracer;	   /* what the program set by PR_SET_PTRACER */
	u64 random;	   /* random.c; atomic */

	struct ap_sigaction sigactions[AP_NSIG]; /* signal.c; lock */
};

extern struct ap_proc ap_proc;

/* Does code log for the models? */
static inline bool ap_feed_is_on(void)
{
	return ap_unlikely(ap_proc.kinds & AP_KINDS_MODEL);
}

/*
 * A filter of the program's may not allow the return from a handler: there blocks are not linked, and the
 * dispatcher keeps the logs from getting full.
 */
static inline bool ap_feed_is_watched(void)
{
	return ap_feed_is_on() && ap_proc.seg->mute;
}

static inline bool ap_in_blob(u64 pc)
{
	return pc >= ap_proc.blob_lo && pc < ap_proc.code_hi;
}

#endif
