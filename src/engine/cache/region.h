/* SPDX-License-Identifier: MIT */
/*
 * region.c: what of the address space is executable, from boot ranges and system calls.  Process lock
 * held throughout.
 */
#ifndef AP_ENGINE_REGION_H
#define AP_ENGINE_REGION_H

#include "abi/boot.h"
#include "base/types.h"

struct ap_range *ap_region_find(u64 pc); /* executable range that contains pc, or NULL */
/* The first executable part of [start, end); false where there is none. */
bool ap_region_next(u64 start, u64 end, u64 *lo, u64 *hi);
/* It can be read: was it missed, and is it executable after all?  Reads /proc/self/maps. */
bool ap_region_discover(u64 pc);
/* All that there is, in a process that ran before the engine came. */
void ap_region_attach(void);
/* Reads them all again from /proc/self/maps; nothing may be write-protected. */
void ap_region_mend(void);
void ap_region_set(u64 start, u64 end, u32 range_flags, bool executable);
/*
 * After a call that may have changed a part of [start, end), or more: asks the kernel.  Where it cannot be asked, as under
 * a filter that knows no open, what was known stays: what has gone is found to be so when it is executed.
 */
void ap_region_reload(u64 start, u64 end);

#endif
