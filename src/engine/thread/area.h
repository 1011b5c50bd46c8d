/* SPDX-License-Identifier: MIT */
/*
 * The areas of threads, among those that begin and end threads and processes.
 */
#ifndef AP_ENGINE_AREA_H
#define AP_ENGINE_AREA_H

#include "engine/count/slot.h"

/* thread.c */
/* The area of a thread that goes on running until it has exited. */
void ap_thread_retire(struct ap_thread *t);
/* Forgets, in a fork's only thread, all others; its slot is slot 0 of the new segment. */
AP_MUST_CHECK int ap_thread_fork_child(struct ap_thread *t);
/* All areas' slots are in another segment, of the same numbers.  All threads but the caller are still. */
AP_MUST_CHECK int ap_thread_renew_all(void);
void ap_thread_move(struct ap_thread *t, struct ap_thread *to);
void ap_thread_guard(struct ap_thread *t);
/* The last of a linked thread that is gone without having said so.  Lock held. */
void ap_thread_bury(struct ap_thread *t);
/* Is the thread that was given this serial still linked?  Lock held. */
struct ap_thread *ap_thread_by_serial(u64 serial);
/* Frees the area of a retired thread that is gone.  Lock held. */
void ap_thread_reap(u64 serial);
void ap_thread_each_slot(ap_range_fn fn);

#endif
