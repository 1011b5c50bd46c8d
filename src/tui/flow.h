/* SPDX-License-Identifier: MIT */
/*
 * Where the instructions of a function go: what arrows, offsets and short operands are drawn from.
 */
#ifndef AP_TUI_FLOW_H
#define AP_TUI_FLOW_H

#include "profile/hist/listing.h"
#include "tui/view.h"

#define AP_FLOW_NOWHERE (~0U)

struct ap_flow {
	u32 n; /* lines of the listing */
	u32 *to; /* of each line: the line of the instruction that it jumps to, else AP_FLOW_NOWHERE */
	u32 *from; /* how many lines jump to it */
};

/* Which lines have their offset before them when operands are short. */
enum ap_flow_offsets { AP_FLOW_TARGETS, AP_FLOW_CALLS, AP_FLOW_ALL, AP_FLOW_N };

void ap_flow_make(struct ap_flow *f, const struct ap_listing *l);
void ap_flow_fini(struct ap_flow *f);

/* The piece of the arrow of line at that passes line i, as text of three columns. */
const char *ap_flow_arrow(const struct ap_flow *f, u32 at, u32 i);
bool ap_flow_has_offset(const struct ap_flow *f, const struct ap_listing *l, u32 i,
			enum ap_flow_offsets which);
/* The instruction with the offset or the name in place of the address that it goes to. */
void ap_flow_put_short(const struct ap_flow *f, const struct ap_listing *l, u32 i,
		       struct ap_row *out);

#endif
