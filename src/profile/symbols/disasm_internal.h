/* SPDX-License-Identifier: MIT */
/*
 * Between disasm.c (which of both to ask), disasm_objdump.c (the tool) and disasm_zydis.c (the
 * library).
 */
#ifndef AP_PROFILE_DISASM_INTERNAL_H
#define AP_PROFILE_DISASM_INTERNAL_H

#include "profile/hist/hist_internal.h"
#include "profile/symbols/disasm.h"

/* What objdump said of one function. */
struct ap_objdump {
	struct ap_objdump_line {
		u64 vaddr;
		const char *text;
	} * line;
	u32 n;
	struct ap_arena texts;
};

/*
 * Where the tool is, into path: named, it is taken as it is; else the first of PATH that nobody but
 * root and the user can have put there.
 */
AP_MUST_CHECK bool ap_objdump_find(const char *named, char *path, size_t size);
/* All instructions of the code; false: the tool does not do it. */
AP_MUST_CHECK bool ap_objdump_run(struct ap_objdump *o, const char *tool, bool intel,
				  const u8 *code, size_t size, u64 vaddr);
void ap_objdump_fini(struct ap_objdump *o);

struct ap_zydis;

/* NULL: the library is not there. */
struct ap_zydis *ap_zydis_new(bool intel);
void ap_zydis_free(struct ap_zydis *z);
/* As ap_disasm_next(). */
u32 ap_zydis_next(struct ap_zydis *z, const u8 *code, size_t size, u64 vaddr, char *text,
		  size_t room, u64 *target);

#endif
