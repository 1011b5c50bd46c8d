/* SPDX-License-Identifier: MIT */
/*
 * Products of 128 bits: 32-bit machines, for which the portable layers are built as well (make
 * check-ports), have no type of that width.
 */
#ifndef AP_BASE_MUL_H
#define AP_BASE_MUL_H

#include "base/types.h"

/* a times b, its lower half; *high is the upper one. */
static inline u64 ap_mul_wide(u64 a, u64 b, u64 *high)
{
	u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32;
	u64 low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (u32)mid;

	*high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
	return mid2 << 32 | (u32)low;
}

/* a times b, shifted right by 1 to 63 bits; what is above 64 bits then is cut off. */
static inline u64 ap_mul_shift(u64 a, u64 b, u32 shift)
{
	u64 high, low = ap_mul_wide(a, b, &high);

	return high << (64 - shift) | low >> shift;
}

#endif
