/* SPDX-License-Identifier: MIT */
/* ways.c: a block as exact profiles describe it. */
#ifndef AP_ENGINE_WAYS_H
#define AP_ENGINE_WAYS_H

#include "base/types.h"

struct ap_sb;

/* The numbers of its side exits in their order, then of its guards, then of its end; first_way 0: none are counted. */
struct ap_ways {
	u32 first_way, first_part;
	u32 nsides, nguards;
};

/* ap_vec.way of its k-th side exit, of its k-th guard, of its end. */
static inline u32 ap_ways_side(const struct ap_ways *w, u32 k)
{
	return w->first_way ? w->first_way + k : 0;
}

static inline u32 ap_ways_guard(const struct ap_ways *w, u32 k)
{
	return w->first_way ? w->first_way + w->nsides + k : 0;
}

static inline u32 ap_ways_end(const struct ap_ways *w)
{
	return ap_ways_guard(w, w->nguards);
}

/* Gives that of its end.  Lock held. */
u32 ap_ways_take(const struct ap_sb *sb, bool is_counted, struct ap_ways *ways);

#endif
