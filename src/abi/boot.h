/* SPDX-License-Identifier: MIT */
/*
 * What an injector tells the engine about the task it stands in.  The injector fills one
 * struct ap_boot inside the blob (symbol ap_boot_page, page aligned, found through the blob's
 * header) and sets rip to the blob's entry with the program's registers otherwise untouched:
 * the engine uses rsp only to leave it alone.
 */
#ifndef AP_ABI_BOOT_H
#define AP_ABI_BOOT_H

#include "base/types.h"

/*
 * What a limit on memory that is set inside a session is enlarged by: code, tables and thread areas at
 * their most; only address space, so generous costs nothing.
 */
#define AP_LIMIT_SHARE (256ULL << 20)

#define AP_BOOT_MAGIC  0x746f6f6266726570ULL
#define AP_BOOT_RANGES 64

/* x86 register numbers as encoded: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8.. */
struct ap_regs {
	u64 gpr[16];
	u64 rip;
	u64 rflags;
};

/* ap_boot.store_key: it has none, nor will what it executes. */
#define AP_STORE_SECLUDED (~0ULL)

#define AP_RANGE_X	(1u << 0)
#define AP_RANGE_W	(1u << 1)
#define AP_RANGE_SHARED (1u << 2) /* what is mapped can change behind the mapping's back */
#define AP_RANGE_GROWS	(1u << 3) /* its first page may have to grow down */
#define AP_RANGE_FILE	(1u << 4) /* mapped from a file */

struct ap_range {
	u64 start, end;
	u64 flags; /* AP_RANGE_* */
};

/* What the kernel puts in rax of a call that it will restart; only tracers see it. */
#define AP_ERESTARTSYS		 512
#define AP_ERESTARTNOINTR	 513
#define AP_ERESTARTNOHAND	 514
#define AP_ERESTART_RESTARTBLOCK 516

/*
 * A thread of a process that runs already (docs/design/injection.md, "A running process"): its
 * state when it was stopped.
 */
struct ap_boot_thread {
	u64 thread; /* the engine's struct ap_thread, filled in by the first thread */
	struct ap_regs regs;
	u64 gs_base, sigmask;
	s64 restart; /* it was in a system call: the kernel's -ERESTART*; rip is the instruction */
	u64 rseq;    /* its rseq area, which is no longer registered; 0 none */
	u32 rseq_size, rseq_sig;
	/* A thread that is to leave the engine: its alternate stack, as sigaltstack has it. */
	u64 altstack[3];
	u64 dispatch
		[4]; /* of its system call user dispatch: mode, 0 none, selector, offset, len, as ptrace has them */
	/* From the task that was borrowed for AP_LEAVE_RESTORE: what the engine has mapped beside its image. */
	u64 maps;  /* struct ap_range[nmaps] */
	u32 nmaps; /* with keeps_maps unset all of it, and the image, may be unmapped */
	u32 keeps_maps;
};

/* ap_seg.leave: whether the process' threads are to park. */
enum ap_leaving {
	AP_LEAVING = 1,	   /* and are taken out when all have */
	AP_LEAVING_NOT = 2 /* nobody takes them out any more */
};

/* What the supervisor asks of a thread of a process that is to run natively again. */
enum ap_leave {
	AP_LEAVE_FLUSH = 1,  /* every thread comes to the dispatcher */
	AP_LEAVE_RESTORE = 2 /* all are parked: dispositions, protection of code */
};

struct ap_boot {
	u64 magic;
	struct ap_regs regs; /* the program's, at the stop */
	u64 gs_base;
	u64 sigmask;	/* the program's; the engine installs it when it is ready */
	s32 session_fd; /* descriptor of the party's file in this task, */
	s32 head_fd;	/* and of the session's head */
	u32 seg;	/* segment that the injector allocated (state INIT) */
	u32 flags;	/* AP_F_* */
	u32 host_pid;	/* in the supervisor's namespace, 0 unknown */
	u64 blob_base, blob_size;
	u64 hwcap2;	 /* AT_HWCAP2: bit 1 says rdgsbase/wrgsbase may be used */
	u64 minsigstksz; /* AT_MINSIGSTKSZ, 0 where the kernel gives none */
	u64 random;	 /* where its random numbers begin (AP_F_DETERMINISTIC) */
	u64 store_key
		[2];   /* of its party's translated code; 0: it has none of it; AP_STORE_SECLUDED */
	u64 vdso;      /* AT_SYSINFO_EHDR */
	u64 brk_start; /* end of the exe's bss: where the heap will grow */
	u32 nofile_share; /* the launcher could not enlarge RLIMIT_NOFILE: 0, else what it added */
	u32 limit_shares; /* ap_slot.exec_limits of the last image */
	u32 helper_pid;	  /* tracer that the task forked itself, to be reaped; 0 none */
	u32 ptracer; /* what the program set by PR_SET_PTRACER, which the exec's tracer replaced */
	u32 cwd;     /* ap_service_begins_in */
	u32 traced, traced_opts; /* ap_traced.how, opts: by a program of the session */
	u32 traced_nr; /* the call that executed the image, whose exit its tracer may wait for */
	u32 nthreads;  /* of a running process, the first one included; 0 at an exec */
	u64 threads;   /* struct ap_boot_thread[nthreads] */
	u32 nranges;   /* executable mappings from /proc/PID/maps */
	struct ap_range ranges[AP_BOOT_RANGES];
};

/* At offset 0 of the blob image as mapped. */
struct ap_blob_header {
	u64 magic;	/* AP_BOOT_MAGIC */
	u64 entry;	/* offset of the first instruction */
	u64 boot;	/* offset of struct ap_boot */
	u64 image_size; /* bytes to map, bss included, page multiple */
	u64 file_size;	/* bytes to copy; the rest is zero */
	u64 attach;	/* offset where further threads start: rdi is their struct ap_boot_thread */
	u64 call;	/* of the syscall instruction that makes the program's calls */
	u64 leave;  /* a thread stopped there goes on here, to park; rdi: not 0, restart_syscall */
	u64 borrow; /* a thread is borrowed for what concerns all, rdi: enum ap_leave; and parks */
	u64 parked; /* of the syscall instruction in which it waits; rbx: struct ap_boot_thread */
	u64 early;  /* offset of what is the engine's first memory, up to image_size */
};

#endif
