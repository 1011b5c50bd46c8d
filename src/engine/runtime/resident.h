/* SPDX-License-Identifier: MIT */
/*
 * resident.c: reading the program's memory with the process lock held.  Process lock held, where nothing else is said.
 */
#ifndef AP_ENGINE_RESIDENT_H
#define AP_ENGINE_RESIDENT_H

#include "base/types.h"

/* ap_safe_copy() that waits for nobody: -EFAULT also where a page would have to be brought in. */
AP_MUST_CHECK int ap_resident_copy(void *dst, u64 src, u64 n);
/* The page has been brought in. */
void ap_resident_touched(u64 addr);
/* What is there may be something else, or nothing. */
void ap_resident_forget(u64 start, u64 end);

/* The process has a userfaultfd, or can have one by its parent: takes no lock. */
void ap_resident_has_uffd(void);
bool ap_resident_is_served(void);

#endif
