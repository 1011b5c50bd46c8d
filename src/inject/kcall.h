/* SPDX-License-Identifier: MIT */
/*
 * System calls for the code that works on another task.  Everything here speaks to the kernel
 * without a libc and its errno: the helper tracer inside a counted process is built from the same
 * files.  Values are the kernel's own, negative errno included.
 */
#ifndef AP_INJECT_KCALL_H
#define AP_INJECT_KCALL_H

#include <asm/unistd.h>

#include "base/rawsys.h"
#include "base/types.h"

static inline s64 ap_k_open(const char *path, int flags)
{
	return ap_rawsys(__NR_open, (u64)(uintptr_t)path, (u64)flags, 0, 0, 0, 0);
}

static inline s64 ap_k_read(int fd, void *buf, u64 n)
{
	return ap_rawsys(__NR_read, (u64)fd, (u64)(uintptr_t)buf, n, 0, 0, 0);
}

static inline s64 ap_k_pwrite(int fd, const void *buf, u64 n, u64 off)
{
	return ap_rawsys(__NR_pwrite64, (u64)fd, (u64)(uintptr_t)buf, n, off, 0, 0);
}

static inline s64 ap_k_close(int fd)
{
	return ap_rawsys(__NR_close, (u64)fd, 0, 0, 0, 0, 0);
}

static inline s64 ap_k_ptrace(u64 req, s32 pid, u64 addr, u64 data)
{
	return ap_rawsys(__NR_ptrace, req, (u64)(s64)pid, addr, data, 0, 0);
}

/* info is a siginfo_t */
static inline s64 ap_k_waitid(s32 pid, void *info, int options)
{
	return ap_rawsys(__NR_waitid, 1 /* P_PID */, (u64)(s64)pid, (u64)(uintptr_t)info,
			 (u64)options, 0, 0);
}

#endif
