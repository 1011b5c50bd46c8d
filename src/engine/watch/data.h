/* SPDX-License-Identifier: MIT */
/*
 * Data watches (docs/design/access.md): data.c knows what is watched and counts, check.c writes the
 * checks that translated code has where anything is.
 */
#ifndef AP_ENGINE_DATA_H
#define AP_ENGINE_DATA_H

#include "base/types.h"
#include "engine/emit/emit.h"
#include "engine/runtime/thread.h"
#include "x86/access.h"

struct ap_sb_insn;
struct ap_unit;

/*
 * In ap_low_maps(), by the low 16 bits of an address: not 0 where an access of up to 8 bytes, of up to 64, that begins
 * there may touch a watched one.
 */
#define AP_DATA_MAP 65536U

/*
 * Lock held: the session's list has changed; the flavour goes on where anything is watched.  forget: it
 * goes off where nothing is, before a flush.
 */
void ap_data_switch(void);
void ap_data_forget(void);
/* It accesses size bytes at an address, as *a does. */
void ap_data_note(struct ap_thread *t, const struct ap_access *a, u64 at, u32 size);
/* vector.c: notes what of *a, whose common part is at, masks and vectors let it access. */
void ap_data_look_vector(struct ap_thread *t, const struct ap_access *a, const struct ap_insn *i,
			 const u8 *code, u64 at);

enum ap_check_kind {
	AP_CHECK_NONE,
	AP_CHECK_INLINE,
	AP_CHECK_ALONE, /* no check can tell: always by way of the dispatcher */
};

enum ap_check_kind ap_check_kind(const struct ap_insn *i, const u8 *code);

/* Hooks of the client: client.h. */
void ap_check_begin(void);
void ap_check_before(struct ap_emit *e, const struct ap_sb_insn *in);
void ap_check_end(struct ap_emit *e, const struct ap_unit *u);

/* vector.c: what it wants to know of the CPU, before CPUID is forbidden. */
void ap_vector_ask(void);

#endif
