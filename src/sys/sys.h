/* SPDX-License-Identifier: MIT */
/*
 * System calls of the engine itself, and the numbers and constants of the x86-64 Linux ABI that it
 * needs (linux/... headers are not for a freestanding blob: they drag libc types in).
 * All return the kernel's value, negative errno included.
 */
#ifndef AP_SYS_SYS_H
#define AP_SYS_SYS_H

#include "abi/errno.h"
#include "base/rawsys.h"
#include "base/types.h"

#define AP_NR_read		0
#define AP_NR_write		1
#define AP_NR_open		2
#define AP_NR_close		3
#define AP_NR_mmap		9
#define AP_NR_mprotect		10
#define AP_NR_munmap		11
#define AP_NR_brk		12
#define AP_NR_rt_sigaction	13
#define AP_NR_rt_sigprocmask	14
#define AP_NR_rt_sigpending	127
#define AP_NR_rt_sigreturn	15
#define AP_NR_sched_yield	24
#define AP_NR_mremap		25
#define AP_NR_madvise		28
#define AP_NR_getpid		39
#define AP_NR_clone		56
#define AP_NR_fork		57
#define AP_NR_vfork		58
#define AP_NR_execve		59
#define AP_NR_exit		60
#define AP_NR_sigaltstack	131
#define AP_NR_prctl		157
#define AP_NR_arch_prctl	158
#define AP_NR_gettid		186
#define AP_NR_futex		202
#define AP_NR_getdents64	217
#define AP_NR_exit_group	231
#define AP_NR_tgkill		234
#define AP_NR_rt_tgsigqueueinfo 297
#define AP_NR_rseq		334
#define AP_NR_clone3		435

#define AP_PROT_R	       1
#define AP_MADV_HUGEPAGE       14
#define AP_MADV_NOHUGEPAGE     15
#define AP_MADV_POPULATE_WRITE 23
#define AP_PROT_W	       2
#define AP_PROT_X	       4
#define AP_MAP_SHARED	       1
#define AP_MAP_PRIVATE	       2
#define AP_MAP_FIXED	       0x10
#define AP_MAP_ANON	       0x20
#define AP_MAP_NORESERVE       0x4000
#define AP_MAP_POPULATE	       0x8000
#define AP_MAP_FIXED_NOREPLACE 0x100000

struct ap_iovec { /* of readv(2) and its kin */
	u64 base, len;
};

/*
 * -EPERM without a call where a seccomp filter of the program's does not allow it (filter.h).  The program's
 * own calls are made by ap_syscall_do and ap_rawsys.
 */
s64 ap_own_sys(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);
/* A wait for another value of *word, at most so long.  By looking, where futexes are not allowed. */
void ap_own_wait(const u32 *word, u32 is, u64 ns);

#define ap_sys6(nr, a, b, c, d, e, f) ap_own_sys(nr, a, b, c, d, e, f)
#define ap_sys0(nr)		      ap_sys6(nr, 0, 0, 0, 0, 0, 0)
#define ap_sys1(nr, a)		      ap_sys6(nr, a, 0, 0, 0, 0, 0)
#define ap_sys2(nr, a, b)	      ap_sys6(nr, a, b, 0, 0, 0, 0)
#define ap_sys3(nr, a, b, c)	      ap_sys6(nr, a, b, c, 0, 0, 0)
#define ap_sys4(nr, a, b, c, d)	      ap_sys6(nr, a, b, c, d, 0, 0)
#define ap_sys5(nr, a, b, c, d, e)    ap_sys6(nr, a, b, c, d, e, 0)

static inline bool ap_is_err(s64 v)
{
	return v < 0 && v >= -4095;
}

#endif
