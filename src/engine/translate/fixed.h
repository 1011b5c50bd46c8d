/* SPDX-License-Identifier: MIT */
/*
 * Instructions whose answers --deterministic holds still: which they are, and what they do.
 */
#ifndef AP_ENGINE_FIXED_H
#define AP_ENGINE_FIXED_H

#include "engine/cache/cache.h"
#include "x86/insn.h"

struct ap_thread;

/* AP_SPECIAL_NONE, or what the instruction at pc ends its block for. */
enum ap_special ap_fixed_special(const struct ap_insn *i, const u8 *bytes, u64 pc);
/* Those do the instruction at pc. */
void ap_fixed_random(struct ap_thread *t, u64 pc);
void ap_fixed_tsc(struct ap_thread *t, u64 pc);

#endif
