/* SPDX-License-Identifier: MIT */
/*
 * Instructions that the dispatcher does: emulate.c.
 */
#ifndef AP_ENGINE_EMULATE_H
#define AP_ENGINE_EMULATE_H

#include "engine/runtime/engine.h"

/* The instruction at pc; t->regs go on past it, or into its fault. */
void ap_emulate_cpuid(struct ap_thread *t, u64 pc);
void ap_emulate_rdpmc(struct ap_thread *t, u64 pc);
void ap_emulate_random(struct ap_thread *t, u64 pc);
void ap_emulate_tsc(struct ap_thread *t, u64 pc);

#endif
