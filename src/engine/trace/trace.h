/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints that the engine passes: counted per thread, in its slot, while anybody wants any.
 * docs/design/tracepoints.md.
 */
#ifndef AP_ENGINE_TRACE_H
#define AP_ENGINE_TRACE_H

#include "engine/runtime/engine.h"

static inline bool ap_trace_is_on(void)
{
	return ap_unlikely(__atomic_load_n(&ap_proc.session->trace_on, __ATOMIC_RELAXED));
}

/* These are to be called while tracing is on only. */
void ap_trace_enter(struct ap_thread *t, u64 nr);
/* After one that has been made, also where it will be made again; with what it returns. */
void ap_trace_exit(struct ap_thread *t, u64 nr, u64 ret);
/* rt_sigreturn, by whose end nobody knows its number. */
void ap_trace_exit_unnamed(struct ap_thread *t, u64 ret);

/* The call that was entered has not been made; tracing may be on or off. */
void ap_trace_untouched(struct ap_thread *t);
/* One of the others, n times. */
void ap_trace_add(struct ap_thread *t, enum ap_trace_id id, s64 n);

#endif
