/* SPDX-License-Identifier: MIT */
/*
 * Instructions whose answers --deterministic holds still: which they are.
 */
#ifndef AP_ENGINE_FIXED_H
#define AP_ENGINE_FIXED_H

#include "engine/cache/cache.h"
#include "x86/insn.h"

/* AP_SPECIAL_NONE, or what the instruction at pc ends its block for. */
enum ap_special ap_fixed_special(const struct ap_insn *i, const u8 *bytes, u64 pc);
#endif
