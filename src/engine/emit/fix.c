/* SPDX-License-Identifier: MIT */
/* The list of what depends on where a block stands; what does not fit has the block refused. */
#include "engine/emit/fix.h"

#include "base/mem.h"

struct ap_fixes ap_fixes;

void ap_fix_add(enum ap_fix_kind kind, const u8 *at, u32 arg)
{
	u32 n = ap_fixes.n;

	if (n == AP_FIX_MAX || arg > 255) {
		ap_fixes.refused = true;
		return;
	}
	ap_fixes.fix[n].at = at;
	ap_fixes.fix[n].kind = (u8)kind;
	ap_fixes.fix[n].arg = (u8)arg;
	ap_fixes.n = n + 1;
}

void ap_fix_add_peek(u64 pc, const u8 *bytes, u32 len)
{
	u32 n = ap_fixes.npeeks;

	if (n == AP_FIX_PEEKS || len > AP_FIX_PEEK_BYTES) {
		ap_fixes.refused = true;
		return;
	}
	ap_fixes.peek[n].pc = pc;
	ap_fixes.peek[n].len = (u8)len;
	ap_fixes.peek[n].anchor = ap_fixes.anchor;
	memcpy(ap_fixes.peek[n].bytes, bytes, len);
	ap_fixes.npeeks = n + 1;
}
