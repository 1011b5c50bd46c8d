/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls for the code that works on another task.  Everything under ptrace/ and proc/
 * speaks to the kernel through this header only, without a libc and its errno: the helper tracer
 * inside a counted process is to be built from the same files.  Values are the kernel's own,
 * negative errno included.
 */
#ifndef AP_LINUX_PTRACE_KCALL_H
#define AP_LINUX_PTRACE_KCALL_H

#include <asm/unistd.h>

#include "base/types.h"

static inline s64 ap_kcall6(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
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

static inline s64 ap_k_open(const char *path, int flags)
{
	return ap_kcall6(__NR_open, (u64)(uintptr_t)path, (u64)flags, 0, 0, 0, 0);
}

static inline s64 ap_k_read(int fd, void *buf, u64 n)
{
	return ap_kcall6(__NR_read, (u64)fd, (u64)(uintptr_t)buf, n, 0, 0, 0);
}

static inline s64 ap_k_pwrite(int fd, const void *buf, u64 n, u64 off)
{
	return ap_kcall6(__NR_pwrite64, (u64)fd, (u64)(uintptr_t)buf, n, off, 0, 0);
}

static inline s64 ap_k_close(int fd)
{
	return ap_kcall6(__NR_close, (u64)fd, 0, 0, 0, 0, 0);
}

static inline s64 ap_k_ptrace(u64 req, s32 pid, u64 addr, u64 data)
{
	return ap_kcall6(__NR_ptrace, req, (u64)(s64)pid, addr, data, 0, 0);
}

/* info is a siginfo_t */
static inline s64 ap_k_waitid(s32 pid, void *info, int options)
{
	return ap_kcall6(__NR_waitid, 1 /* P_PID */, (u64)(s64)pid, (u64)(uintptr_t)info,
			 (u64)options, 0, 0);
}

#endif
