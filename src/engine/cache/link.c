/* SPDX-License-Identifier: MIT */
/*
 * Direct links between blocks: one rel32 per exit, patched by one aligned store while other threads
 * may be executing it.  Unlinked it leads to the exit's stub and so to the dispatcher.
 */
#include "abi/switches.h"
#include "engine/cache/unit.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"

void ap_link(struct ap_exit *x, struct ap_block *to)
{
	s64 rel;

	if (!x->site || x->to || x->from->plain != to->plain ||
	    (ap_is_stressed(ap_proc.session, AP_STRESS_UNLINKED)) || ap_feed_is_watched())
		return;
	rel = (s64)(to->code - (x->site + 4));
	if (!ap_fits_s32(rel))
		return; /* another neighbourhood: through the dispatcher each time */
	x->to = to;	/* before the site is patched: see ap_unlink_exits */
	x->next_in = to->in;
	to->in = x;
	ap_patch_rel32(x->site, to->code);
}

void ap_unlink_incoming(struct ap_block *b)
{
	struct ap_exit *x = b->in;

	while (x) {
		struct ap_exit *next = x->next_in;

		ap_patch_rel32(x->site, x->stub);
		x->to = NULL;
		x->next_in = NULL;
		x = next;
	}
	b->in = NULL;
}

void ap_unlink_outgoing(struct ap_block *b)
{
	for (u32 k = 0; k < b->nexits; k++) {
		struct ap_exit *x = &b->exits[k];
		struct ap_exit **link;

		if (!x->to)
			continue;
		for (link = &x->to->in; *link; link = &(*link)->next_in)
			if (*link == x) {
				*link = x->next_in;
				break;
			}
		ap_patch_rel32(x->site, x->stub);
		x->to = NULL;
		x->next_in = NULL;
	}
}

/* Holds for lists that a killed task left half written: a patched site has x->to at all times. */
void ap_unlink_exits(struct ap_block *b)
{
	for (u32 k = 0; k < b->nexits; k++) {
		struct ap_exit *x = &b->exits[k];

		if (!x->to)
			continue;
		ap_patch_rel32(x->site, x->stub);
		x->to = NULL;
		x->next_in = NULL;
	}
}
