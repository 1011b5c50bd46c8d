/* SPDX-License-Identifier: MIT */
/*
 * Instructions as text, as objdump writes them: by objdump where it is installed, else by Zydis,
 * whose library is opened when it is needed (docs/design/profile.md).
 */
#ifndef AP_PROFILE_DISASM_H
#define AP_PROFILE_DISASM_H

#include "base/types.h"

struct ap_disasm;

struct ap_disasm_opts {
	bool intel;
	const char *objdump; /* --objdump: the tool, or NULL: look for it */
};

/* NULL: nobody here can do it; why says so. */
struct ap_disasm *ap_disasm_new(const struct ap_disasm_opts *opts, char *why, size_t size);
void ap_disasm_free(struct ap_disasm *d);

/* The code of the function that is gone through next; it must stay until then. */
void ap_disasm_begin(struct ap_disasm *d, const u8 *code, size_t size, u64 vaddr);

/*
 * The instruction at an offset: its length, 0 where it is none.  *target: where it goes or what it
 * refers to relative to itself; 0: nothing.
 */
u32 ap_disasm_next(struct ap_disasm *d, size_t off, char *text, size_t room, u64 *target);
/* Of such a text: the first operand, behind prefixes and mnemonic. */
const char *ap_disasm_operand(const char *text);
/* It is a call. */
bool ap_disasm_is_call(const char *text);

#endif
