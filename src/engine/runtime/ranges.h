/* SPDX-License-Identifier: MIT */
/*
 * A sorted array of disjoint address ranges; neighbours with equal flags are one.  The owner
 * provides the array and sees to room for two more entries before each change.
 */
#ifndef AP_ENGINE_RANGES_H
#define AP_ENGINE_RANGES_H

#include "abi/boot.h"
#include "base/types.h"

struct ap_ranges {
	struct ap_range *v;
	u32 n, cap;
};

/* Index of the first range that ends beyond addr; n where there is none. */
u32 ap_ranges_at(const struct ap_ranges *r, u64 addr);
void ap_ranges_clear(struct ap_ranges *r, u64 start, u64 end);
void ap_ranges_set(struct ap_ranges *r, u64 start, u64 end, u64 flags);

#endif
