/* SPDX-License-Identifier: MIT */
/*
 * Stubs: the code by which an exit leads to the dispatcher as long as it is not linked, or a budget is used up there.
 * The dispatcher has all that it asks of most exits in the stub, whose cache line the thread has fetched just now;
 * the exit itself is likely to be far away in memory.
 *
 *	mov qword gs:[exit_id], id
 *	jmp unit gate
 *	.byte way			enum way
 *	.long place - stub		what way says
 *	.quad exit			aligned
 */
#include "engine/cache/unit.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"

#define CODE_SIZE 18
#define WAY	  CODE_SIZE /* 1 byte, then one that is free */
#define PLACE	  20	    /* 4 bytes */
#define EXIT	  24	    /* 8 bytes */

/* Where the thread goes on if it left for a budget's sake alone. */
enum way {
	NOWHERE,
	LINKED, /* where the link's rel32 at the place leads */
	MIDDLE, /* at the place */
};

static void fill(const struct ap_unit *u, struct ap_exit *x, enum way way, const u8 *place)
{
	static const u8 mov_gs[5] = { 0x65, 0x48, 0xc7, 0x04, 0x25 };
	struct ap_emit e = { x->stub, x->stub + AP_STUB_SIZE, false };
	u32 off = (u32)(x->stub - u->base);
	u8 *site;

	ap_emit_bytes(&e, mov_gs, 5);
	ap_emit32(&e, AP_T_EXIT_ID);
	ap_emit32(&e, (u32)(u - ap_units) << AP_UNIT_OFF_BITS | off);
	site = ap_emit_jmp32(&e);
	ap_patch_rel32(site, u->base + AP_UNIT_GATE);
	e.p = x->stub + WAY;
	ap_emit8(&e, (u8)way);
	e.p = x->stub + PLACE;
	ap_emit32(&e, place ? (u32)(place - x->stub) : 0);
	e.p = x->stub + EXIT;
	ap_emit64(&e, (u64)x);
}

void ap_stub_write(const struct ap_unit *u, struct ap_exit *x)
{
	fill(u, x, x->site ? LINKED : NOWHERE, x->site);
}

void ap_stub_write_middle(const struct ap_unit *u, struct ap_exit *x, const u8 *place)
{
	fill(u, x, MIDDLE, place);
}

struct ap_exit *ap_stub_exit(const u8 *stub)
{
	return *(struct ap_exit *const *)(stub + EXIT);
}

const u8 *ap_stub_way_on(const u8 *stub, bool *middle)
{
	const u8 *place = stub + *(const s32 *)(stub + PLACE);

	*middle = stub[WAY] == MIDDLE;
	if (stub[WAY] != LINKED)
		return *middle ? place : NULL;
	place += 4 + __atomic_load_n((const s32 *)place, __ATOMIC_RELAXED);
	return place == stub ? NULL : place;
}
