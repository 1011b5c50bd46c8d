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

/*
 * By the low 16 bits of an address: not 0 where an access of up to 8 bytes, of up to 64, that begins
 * there may touch a watched one.
 */
#define AP_DATA_MAP  65536U
#define AP_DATA_MAPS (2ULL * AP_DATA_MAP)

u8 *ap_data_maps(void);	  /* lookup.c: below 2 GB, unless the program wants all of that */
void ap_data_moved(void); /* to new maps, which are empty */

/*
 * Lock held: the session's list has changed; the flavour goes on where anything is watched.  forget: it
 * goes off where nothing is, before a flush.
 */
void ap_data_switch(void);
void ap_data_forget(void);
/* The instruction at pc is about to run alone, with t->regs: what will it touch? */
void ap_data_look(struct ap_thread *t, u64 pc);
/*
 * The thread is back.  has_run: by a way out that says so; else it has where its pc has moved on, or,
 * of a rep instruction, as often as rcx says.
 */
void ap_data_settle(struct ap_thread *t, bool has_run);

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

/* A check in the making: where it stands, and the rel32 of its ways out. */
struct ap_check {
	u8 *at;
	u8 *out[AP_ACCESS_MAX];
	u32 n;
};

void ap_check_emit(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_check *c);
/* The way out; place as in ap_thread.exit_id, gate: of its unit. */
void ap_check_emit_out(struct ap_emit *e, const struct ap_check *c, u32 place, const u8 *gate);

/* What these want to know of the CPU, before CPUID is forbidden. */
void ap_data_ask(void);
void ap_vector_ask(void);

#endif
