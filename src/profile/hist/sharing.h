/* SPDX-License-Identifier: MIT */
/*
 * Which lines of memory threads take from each other, from samples of references: each line with
 * the places in it, by which thread and from where they are used.
 */
#ifndef AP_PROFILE_SHARING_H
#define AP_PROFILE_SHARING_H

#include <stdio.h>

#include "profile/symbols/session.h"

/* What one instruction of one thread did with one place of a line; counts are sums of periods. */
struct ap_share_use {
	u64 line, offset;
	u32 tid;
	const char *comm;
	struct ap_place at, data;
	bool is_store;
	u64 hitm, refs; /* another had modified the line; all that were sampled */
	u64 cycles;	/* sum of weights, */
	u64 timed;	/* of so many samples: those of exact events have none */
};

static inline u64 ap_share_mean(const struct ap_share_use *u)
{
	return u->timed ? u->cycles / u->timed : 0;
}

struct ap_share_line {
	u64 line, hitm, loads, stores; /* loads, stores: of hitm */
	u32 first, n;		       /* its uses */
	u32 threads;		       /* that met HITM there */
	bool is_false;		       /* nobody uses what another stores to */
	bool is_unknown;	       /* several use one place, and no store was sampled */
};

struct ap_sharing {
	struct ap_share_use *use; /* by line, offset, thread, instruction */
	u32 nuses, room;
	struct ap_share_line
		*line;	 /* that two threads at least took from each other, the worst first */
	u32 nlines, all; /* all: lines of which there are samples */
	u64 hitm, refs, samples, damaged, without; /* without: samples that say nothing of data */
};

/* Reads all of the file; size: bytes of a line, a power of two. */
void ap_sharing_read(struct ap_sharing *sh, struct ap_profile_session *s, struct ap_data *d,
		     u64 size);
void ap_sharing_fini(struct ap_sharing *sh);

#endif
