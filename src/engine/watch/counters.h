/* SPDX-License-Identifier: MIT */
/*
 * counters.c: reference counters of probes (USDT semaphores).  A program's probe is only worth its arguments while somebody
 * listens: a number in the program's data says how many do, which the kernel increments while the event is open.
 */
#ifndef AP_ENGINE_COUNTERS_H
#define AP_ENGINE_COUNTERS_H

#include "engine/runtime/proc.h"

struct ap_call;

/* The supervisor wants others of them raised than are.  Lock held. */
void ap_counters_switch(void);
static inline bool ap_counters_are_stale(void)
{
	return __atomic_load_n(&ap_proc.seg->counters, __ATOMIC_RELAXED) != ap_proc.counters;
}
/* A call that changes mappings has been made: a file may be there now that has some.  Lock not held. */
void ap_counters_mapped(const struct ap_call *c, s64 ret);

#endif
