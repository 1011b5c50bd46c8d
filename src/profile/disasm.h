/* SPDX-License-Identifier: MIT */
/*
 * Instructions as text, by Zydis.  The library is opened when the first one is asked for: a command that
 * shows none does not load it (docs/design/profile.md).
 */
#ifndef AP_PROFILE_DISASM_H
#define AP_PROFILE_DISASM_H

#include "base/types.h"

struct ap_disasm;

/* NULL: the library is not there; why says so. */
struct ap_disasm *ap_disasm_new(bool intel, char *why, size_t size);
void ap_disasm_free(struct ap_disasm *d);

/*
 * The instruction at code: its length, 0 where it is none.  *target: where it goes or what it refers to
 * relative to itself; 0: nothing.
 */
u32 ap_disasm_next(struct ap_disasm *d, const u8 *code, size_t size, u64 addr, char *text,
		   size_t room, u64 *target);

#endif
