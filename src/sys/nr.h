/* SPDX-License-Identifier: MIT */
/*
 * Numbers and constants of the x86-64 Linux ABI that only the system call layer needs, beyond
 * sys/sys.h.
 */
#ifndef AP_SYS_NR_H
#define AP_SYS_NR_H

#include "abi/errno.h"

#define AP_NR_stat		4
#define AP_NR_fstat		5
#define AP_NR_lstat		6
#define AP_NR_poll		7
#define AP_NR_lseek		8
#define AP_NR_ioctl		16
#define AP_NR_pread64		17
#define AP_NR_pwrite64		18
#define AP_NR_readv		19
#define AP_NR_writev		20
#define AP_NR_access		21
#define AP_NR_select		23
#define AP_NR_msync		26
#define AP_NR_mincore		27
#define AP_NR_shmat		30
#define AP_NR_shmctl		31
#define AP_NR_dup		32
#define AP_NR_dup2		33
#define AP_NR_pause		34
#define AP_NR_sendfile		40
#define AP_NR_connect		42
#define AP_NR_accept		43
#define AP_NR_sendto		44
#define AP_NR_recvfrom		45
#define AP_NR_sendmsg		46
#define AP_NR_recvmsg		47
#define AP_NR_shutdown		48
#define AP_NR_bind		49
#define AP_NR_listen		50
#define AP_NR_getsockname	51
#define AP_NR_getpeername	52
#define AP_NR_setsockopt	54
#define AP_NR_getsockopt	55
#define AP_NR_wait4		61
#define AP_NR_kill		62
#define AP_NR_shmdt		67
#define AP_NR_fcntl		72
#define AP_NR_flock		73
#define AP_NR_fsync		74
#define AP_NR_fdatasync		75
#define AP_NR_truncate		76
#define AP_NR_ftruncate		77
#define AP_NR_creat		85
#define AP_NR_getdents		78
#define AP_NR_getcwd		79
#define AP_NR_chdir		80
#define AP_NR_fchdir		81
#define AP_NR_mkdir		83
#define AP_NR_readlink		89
#define AP_NR_fchmod		91
#define AP_NR_fchown		93
#define AP_NR_getrlimit		97
#define AP_NR_getrusage		98
#define AP_NR_ptrace		101
#define AP_NR_getuid		102
#define AP_NR_getgid		104
#define AP_NR_setuid		105
#define AP_NR_setgid		106
#define AP_NR_geteuid		107
#define AP_NR_getegid		108
#define AP_NR_getppid		110
#define AP_NR_setsid		112
#define AP_NR_setreuid		113
#define AP_NR_setregid		114
#define AP_NR_setgroups		116
#define AP_NR_setresuid		117
#define AP_NR_setresgid		119
#define AP_NR_rt_sigtimedwait	128
#define AP_NR_rt_sigqueueinfo	129
#define AP_NR_rt_sigsuspend	130
#define AP_NR_getpgid		121
#define AP_NR_setfsuid		122
#define AP_NR_setfsgid		123
#define AP_NR_getsid		124
#define AP_NR_capset		126
#define AP_NR_personality	135
#define AP_NR_statfs		137
#define AP_NR_fstatfs		138
#define AP_NR_capget		125
#define AP_NR_mlock		149
#define AP_NR_munlock		150
#define AP_NR_mlockall		151
#define AP_NR_munlockall	152
#define AP_NR_setrlimit		160
#define AP_NR_chroot		161
#define AP_NR_readahead		187
#define AP_NR_fsetxattr		190
#define AP_NR_getxattr		191
#define AP_NR_lgetxattr		192
#define AP_NR_fgetxattr		193
#define AP_NR_listxattr		194
#define AP_NR_llistxattr	195
#define AP_NR_flistxattr	196
#define AP_NR_fremovexattr	199
#define AP_NR_tkill		200
#define AP_NR_remap_file_pages	216
#define AP_NR_fadvise64		221
#define AP_NR_epoll_wait	232
#define AP_NR_epoll_ctl		233
#define AP_NR_mbind		237
#define AP_NR_waitid		247
#define AP_NR_openat		257
#define AP_NR_mkdirat		258
#define AP_NR_mknodat		259
#define AP_NR_fchownat		260
#define AP_NR_futimesat		261
#define AP_NR_newfstatat	262
#define AP_NR_unlinkat		263
#define AP_NR_linkat		265
#define AP_NR_readlinkat	267
#define AP_NR_fchmodat		268
#define AP_NR_faccessat		269
#define AP_NR_pselect6		270
#define AP_NR_ppoll		271
#define AP_NR_unshare		272
#define AP_NR_set_robust_list	273
#define AP_NR_get_robust_list	274
#define AP_NR_splice		275
#define AP_NR_tee		276
#define AP_NR_sync_file_range	277
#define AP_NR_vmsplice		278
#define AP_NR_utimensat		280
#define AP_NR_epoll_pwait	281
#define AP_NR_fallocate		285
#define AP_NR_accept4		288
#define AP_NR_signalfd4		289
#define AP_NR_dup3		292
#define AP_NR_preadv		295
#define AP_NR_pwritev		296
#define AP_NR_recvmmsg		299
#define AP_NR_pipe2		293
#define AP_NR_perf_event_open	298
#define AP_NR_prlimit64		302
#define AP_NR_open_by_handle_at 304
#define AP_NR_sendmmsg		307
#define AP_NR_setns		308
#define AP_NR_process_vm_readv	310
#define AP_NR_process_vm_writev 311
#define AP_NR_seccomp		317
#define AP_NR_getrandom		318
#define AP_NR_memfd_create	319
#define AP_NR_bpf		321
#define AP_NR_userfaultfd	323
#define AP_NR_execveat		322
#define AP_NR_membarrier	324
#define AP_NR_copy_file_range	326
#define AP_NR_preadv2		327
#define AP_NR_pwritev2		328
#define AP_NR_mlock2		325
#define AP_NR_pkey_mprotect	329
#define AP_NR_statx		332
#define AP_NR_io_pgetevents	333
#define AP_NR_pidfd_send_signal 424
#define AP_NR_io_uring_enter	426
#define AP_NR_close_range	436
#define AP_NR_openat2		437
#define AP_NR_faccessat2	439
#define AP_NR_process_madvise	440
#define AP_NR_epoll_pwait2	441
#define AP_NR_mseal		462

#define AP_MAP_TYPE	       0x0f
#define AP_MAP_SHARED_VALIDATE 3

#define AP_NR_landlock_restrict_self  446
#define AP_NR_set_mempolicy_home_node 450

#define AP_AT_FDCWD	       (-100)
#define AP_AT_SYMLINK_NOFOLLOW 0x100
#define AP_AT_EACCESS	       0x200
#define AP_AT_EMPTY_PATH       0x1000

#define AP_O_CLOEXEC   02000000
#define AP_O_DIRECTORY 0200000
#define AP_O_PATH      010000000
#define AP_O_NONBLOCK  04000
#define AP_O_NOCTTY    0400

#define AP_F_DUPFD	   0
#define AP_F_GETFD	   1
#define AP_F_SETFD	   2
#define AP_F_SETFL	   4
#define AP_F_DUPFD_CLOEXEC 1030
#define AP_FD_CLOEXEC	   1

#define AP_CLONE_VM	       0x100ULL
#define AP_CLONE_FILES	       0x400ULL
#define AP_CLONE_SIGHAND       0x800ULL
#define AP_CLONE_VFORK	       0x4000ULL
#define AP_CLONE_THREAD	       0x10000ULL
#define AP_CLONE_SETTLS	       0x80000ULL
#define AP_CLONE_UNTRACED      0x00800000ULL
#define AP_CLONE_NEWUSER       0x10000000ULL
#define AP_CLONE_NEWPID	       0x20000000ULL
#define AP_CLONE_CLEAR_SIGHAND 0x100000000ULL

#define AP_SIGKILL 9
#define AP_SIGCHLD 17

#define AP_FUTEX_WAIT 0
#define AP_FUTEX_WAKE 1

#define AP_RLIMIT_DATA	  2
#define AP_RLIMIT_NOFILE  7
#define AP_RLIMIT_FSIZE	  1
#define AP_RLIMIT_MEMLOCK 8
#define AP_RLIMIT_AS	  9

#define AP_PR_SET_DUMPABLE     4
#define AP_PR_GET_DUMPABLE     3
#define AP_PR_GET_NO_NEW_PRIVS 39
#define AP_PR_SET_PTRACER      0x59616d61

#define AP_TASK_SIZE 0x7ffffffff000ULL /* where addresses of programs end */

/* struct stat of x86-64 */
struct ap_kstat {
	u64 dev, ino, nlink;
	u32 mode, uid, gid, pad;
	u64 rdev, size, rest[11];
};

struct ap_timespec {
	s64 sec, nsec;
};

#endif
