/* SPDX-License-Identifier: MIT */
/*
 * What of a block's code depends on where it stands and on whose it is, noted while it is written, for the store of
 * translated code (translate/keep.c).  A block of which something is written that none of the kinds describes is refused, and
 * not kept.  One instance, guarded by the process lock.
 */
#ifndef AP_ENGINE_FIX_H
#define AP_ENGINE_FIX_H

#include "base/types.h"

enum ap_fix_kind {
	AP_FIX_REL,    /* rel32 to the program's memory */
	AP_FIX_ABS32,  /* an address of the program's, below 2 GB */
	AP_FIX_ABS64,  /* any */
	AP_FIX_NEG32,  /* its negative */
	AP_FIX_NEG64,  /* arg of all these: the anchor */
	AP_FIX_SHAPE,  /* displacement of a counter; arg: which of the vectors */
	AP_FIX_BRANCH, /* where in its unit an indirect branch stands */
	AP_FIX_TABLE,  /* displacement of the table of indirect branches */
	AP_FIX_STUB,   /* rel32 to an exit's stub; arg: which exit */
	AP_FIX_KINDS
};

#define AP_FIX_MAX	  512
#define AP_FIX_PEEKS	  64
#define AP_FIX_LITS	  72
#define AP_FIX_PEEK_BYTES 16

struct ap_fixes {
	bool on, refused;
	u8 anchor; /* of what is chosen or written at present: so many guesses are before it */
	u32 n, npeeks;
	struct {
		const u8 *at;
		u8 kind, arg;
	} fix[AP_FIX_MAX];
	struct {
		u64 pc;
		u8 len, anchor;
		u8 bytes[AP_FIX_PEEK_BYTES];
	} peek[AP_FIX_PEEKS];	    /* code that was only looked at */
	u8 lit_anchor[AP_FIX_LITS]; /* of return addresses, by their numbers */
};
extern struct ap_fixes ap_fixes;

void ap_fix_add(enum ap_fix_kind kind, const u8 *at, u32 arg);
void ap_fix_add_peek(u64 pc, const u8 *bytes, u32 len);

static inline void ap_fix_refuse(void)
{
	ap_fixes.refused = true;
}

/* A field that is relative to the present anchor. */
static inline void ap_fix(enum ap_fix_kind kind, const u8 *at)
{
	if (ap_unlikely(ap_fixes.on))
		ap_fix_add(kind, at, ap_fixes.anchor);
}

/* To where the guess leads that is written now. */
static inline void ap_fix_guess(enum ap_fix_kind kind, const u8 *at)
{
	if (ap_unlikely(ap_fixes.on))
		ap_fix_add(kind, at, ap_fixes.anchor + 1U);
}

/* The counter's displacement ends there; by: what is added. */
static inline void ap_fix_counter(const u8 *end, u32 by)
{
	if (ap_unlikely(ap_fixes.on) && by == 1)
		ap_fix_add(AP_FIX_SHAPE, end - 4, 0);
	else if (by != 1)
		ap_fix_refuse();
}

static inline void ap_fix_peek(u64 pc, const u8 *bytes, u32 len)
{
	if (ap_unlikely(ap_fixes.on))
		ap_fix_add_peek(pc, bytes, len);
}

/* A block is chosen from here on; is it to be kept? */
static inline void ap_fix_begin(bool on)
{
	ap_fixes.on = on;
	ap_fixes.refused = false;
	ap_fixes.anchor = 0;
	ap_fixes.n = ap_fixes.npeeks = 0;
}

#endif
