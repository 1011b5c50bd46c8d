/* SPDX-License-Identifier: MIT */
/*
 * The code that logs: stores at the log's position, which a spilled register holds meanwhile.
 *
 *	mov gs:[feed_spill], X ; mov X, gs:[feed_pos]
 *	mov [X + 8 * (1 + word)], reg ...
 *	at an exit: mov qword [X], id ; lea X, [X + length] ; mov gs:[feed_pos], X
 *	mov X, gs:[feed_spill]
 *
 * Behind the log is a page that nobody may write to: feed.c does what is to be done where a store meets
 * it, finds X in the store's encoding, and lets it happen again.
 */
#include "engine/access/feed.h"

/* A register that the group does not store, and that needs no SIB byte as a base. */
static u8 scratch(const struct ap_feed_group *g)
{
	static const u8 order[] = { AP_RCX, AP_RDX, AP_RAX, AP_RBX, AP_RSI, AP_RDI, 8,
				    9,	    10,	    11,	    13,	    14,	    15,	    AP_RBP };
	u32 used = 0;

	for (u32 k = 0; k < g->n; k++)
		used |= 1U << g->reg[k];
	for (u32 k = 0; k < sizeof(order); k++)
		if (!(used & 1U << order[k]))
			return order[k];
	return AP_RBP; /* cannot be: feed_plan.c leaves one */
}

/* REX.W op reg, [base + disp] */
static void emit_mem(struct ap_emit *e, u8 op, u8 reg, u8 base, u32 disp)
{
	const u8 b[3] = { (u8)(0x48 | (reg >= 8 ? 4 : 0) | (base >= 8 ? 1 : 0)), op,
			  (u8)((disp < 128 ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7)) };

	ap_emit_bytes(e, b, 3);
	if (disp < 128)
		ap_emit8(e, (u8)disp);
	else
		ap_emit32(e, disp);
}

static u8 emit_begin(struct ap_emit *e, const struct ap_feed_group *g)
{
	u8 x = scratch(g);

	ap_emit_gs_store(e, x, AP_T_FEED_SPILL);
	ap_emit_gs_load(e, x, AP_T_FEED_POS);
	for (u32 k = 0; k < g->n; k++)
		emit_mem(e, 0x89, g->reg[k], x, 8U * (1U + g->word[k]));
	return x;
}

void ap_feed_emit_store(struct ap_emit *e, const struct ap_feed_group *g)
{
	u8 x = emit_begin(e, g);

	ap_emit_gs_load(e, x, AP_T_FEED_SPILL);
}

void ap_feed_emit_exit(struct ap_emit *e, const struct ap_feed_exit *exit)
{
	static const struct ap_feed_group none = { 0 };
	u8 x = emit_begin(e, exit->id ? &exit->pending : &none);

	emit_mem(e, 0xc7, 0, x, 0);
	ap_emit32(e, exit->id);
	emit_mem(e, 0x8d, x, x, 8U * (1U + (exit->id ? exit->way.nwords : 0)));
	ap_emit_gs_store(e, x, AP_T_FEED_POS);
	ap_emit_gs_load(e, x, AP_T_FEED_SPILL);
}
