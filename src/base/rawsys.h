/* SPDX-License-Identifier: MIT */
/*
 * The system call instruction, for code that has no libc and no errno.  The value is the kernel's
 * own, negative errno included.
 */
#ifndef AP_BASE_RAWSYS_H
#define AP_BASE_RAWSYS_H

#include "base/types.h"

static inline s64 ap_rawsys(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	s64 ret;
	register u64 r10 __asm__("r10") = d;
	register u64 r8 __asm__("r8") = e;
	register u64 r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
