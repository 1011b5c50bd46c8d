/* SPDX-License-Identifier: MIT */
/*
 * What the CPU is and has: pmc.c.
 */
#ifndef AP_ENGINE_PMC_H
#define AP_ENGINE_PMC_H

#include "abi/cpuid.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"

/* What the session has asked, or the CPU. */
struct ap_cpuid ap_cpu_ask(u32 leaf, u32 subleaf);
/* The one that the session is of. */
enum ap_cpu ap_cpu_this(void);

/*
 * rdpmc, with the flags kept or not.  slow: the rel32 of jumps to where the dispatcher does it, which
 * begins with what ap_pmc_emit_slow writes.
 */
#define AP_PMC_SLOW 4
struct ap_pmc_jumps {
	u32 n;
	u8 *site[AP_PMC_SLOW];
};
void ap_pmc_emit(struct ap_emit *e, bool keep_flags, struct ap_pmc_jumps *slow);
void ap_pmc_emit_slow(struct ap_emit *e, bool keep_flags, const struct ap_pmc_jumps *slow);

#endif
