/* SPDX-License-Identifier: MIT */
/*
 * Which handler a system call goes to: a number's group, and what each group does.  (A table of functions would need relocations,
 * which the engine's image has none of.)
 */
#include "engine/client.h"
#include "engine/runtime/resident.h"
#include "engine/signal/signal.h"
#include "engine/task/party.h"
#include "engine/task/task.h"

enum group {
	TO_KERNEL, /* as it stands */
	/* memory and files */
	TO_MEMORY,
	TO_MLOCK,
	TO_WRITE,
	TO_READ,
	TO_MASKED,
	TO_FD,
	TO_GETDENTS,
	TO_RLIMIT,
	TO_OPEN,
	TO_TRUNCATE,
	TO_OPEN_BY_HANDLE,
	TO_RANGE,
	TO_PROCESS_MADVISE,
	TO_IOCTL,
	/* signals, tasks, and the engine's own registers */
	TO_SIG_ACTION,
	TO_SIG_PROCMASK,
	TO_SIG_ALTSTACK,
	TO_SIG_RETURN,
	TO_CLONE,
	TO_EXEC,
	TO_EXIT,
	TO_UNSHARE,
	TO_IDENTITY,
	TO_ARCH_PRCTL,
	TO_PRCTL,
	TO_SECCOMP,
	TO_ROBUST,
	TO_SEND,
	TO_POKE,
	TO_WAIT,
	TO_MEMBARRIER,
	TO_RSEQ,
	TO_GETRANDOM,
	TO_UFFD,
	TO_PROBING,
	TO_SECLUDE,
};

/* clang-format off */
static const u8 groups[] = {
	[AP_NR_mmap] = TO_MEMORY, [AP_NR_munmap] = TO_MEMORY, [AP_NR_mprotect] = TO_MEMORY,
	[AP_NR_pkey_mprotect] = TO_MEMORY, [AP_NR_mremap] = TO_MEMORY, [AP_NR_madvise] = TO_MEMORY,
	[AP_NR_brk] = TO_MEMORY, [AP_NR_shmat] = TO_MEMORY, [AP_NR_shmdt] = TO_MEMORY,
	[AP_NR_remap_file_pages] = TO_MEMORY,
	[AP_NR_mlock] = TO_MLOCK, [AP_NR_mlock2] = TO_MLOCK, [AP_NR_munlock] = TO_MLOCK,
	[AP_NR_mlockall] = TO_MLOCK, [AP_NR_munlockall] = TO_MLOCK,
	[AP_NR_write] = TO_WRITE, [AP_NR_pwrite64] = TO_WRITE, [AP_NR_writev] = TO_WRITE,
	[AP_NR_pwritev] = TO_WRITE, [AP_NR_pwritev2] = TO_WRITE, [AP_NR_sendfile] = TO_WRITE,
	[AP_NR_splice] = TO_WRITE, [AP_NR_copy_file_range] = TO_WRITE, [AP_NR_ftruncate] = TO_WRITE,
	[AP_NR_fallocate] = TO_WRITE,
	[AP_NR_read] = TO_READ, [AP_NR_readv] = TO_READ, [AP_NR_pread64] = TO_READ,
	[AP_NR_preadv] = TO_READ, [AP_NR_preadv2] = TO_READ,
	[AP_NR_rt_sigsuspend] = TO_MASKED, [AP_NR_ppoll] = TO_MASKED, [AP_NR_pselect6] = TO_MASKED,
	[AP_NR_epoll_pwait] = TO_MASKED, [AP_NR_epoll_pwait2] = TO_MASKED,
	[AP_NR_io_pgetevents] = TO_MASKED, [AP_NR_io_uring_enter] = TO_MASKED,
	[AP_NR_close] = TO_FD, [AP_NR_dup2] = TO_FD, [AP_NR_dup3] = TO_FD,
	[AP_NR_close_range] = TO_FD,
	[AP_NR_getdents] = TO_GETDENTS, [AP_NR_getdents64] = TO_GETDENTS,
	[AP_NR_getrlimit] = TO_RLIMIT, [AP_NR_setrlimit] = TO_RLIMIT, [AP_NR_prlimit64] = TO_RLIMIT,
	[AP_NR_open] = TO_OPEN, [AP_NR_openat] = TO_OPEN, [AP_NR_openat2] = TO_OPEN,
	[AP_NR_creat] = TO_OPEN,
	[AP_NR_truncate] = TO_TRUNCATE,
	[AP_NR_open_by_handle_at] = TO_OPEN_BY_HANDLE,
	[AP_NR_mbind] = TO_RANGE, [AP_NR_set_mempolicy_home_node] = TO_RANGE,
	[AP_NR_mseal] = TO_RANGE,
	[AP_NR_process_madvise] = TO_PROCESS_MADVISE,
	[AP_NR_ioctl] = TO_IOCTL,
	[AP_NR_rt_sigaction] = TO_SIG_ACTION,
	[AP_NR_rt_sigprocmask] = TO_SIG_PROCMASK,
	[AP_NR_sigaltstack] = TO_SIG_ALTSTACK,
	[AP_NR_rt_sigreturn] = TO_SIG_RETURN,
	[AP_NR_clone] = TO_CLONE, [AP_NR_clone3] = TO_CLONE, [AP_NR_fork] = TO_CLONE,
	[AP_NR_vfork] = TO_CLONE,
	[AP_NR_execve] = TO_EXEC, [AP_NR_execveat] = TO_EXEC,
	[AP_NR_exit] = TO_EXIT, [AP_NR_exit_group] = TO_EXIT,
	[AP_NR_unshare] = TO_UNSHARE,
	[AP_NR_setuid] = TO_IDENTITY, [AP_NR_setgid] = TO_IDENTITY, [AP_NR_setreuid] = TO_IDENTITY,
	[AP_NR_setregid] = TO_IDENTITY, [AP_NR_setresuid] = TO_IDENTITY,
	[AP_NR_setresgid] = TO_IDENTITY, [AP_NR_setgroups] = TO_IDENTITY,
	[AP_NR_setfsuid] = TO_IDENTITY, [AP_NR_setfsgid] = TO_IDENTITY, [AP_NR_capset] = TO_IDENTITY,
	[AP_NR_setns] = TO_IDENTITY,
	[AP_NR_arch_prctl] = TO_ARCH_PRCTL,
	[AP_NR_prctl] = TO_PRCTL,
	[AP_NR_seccomp] = TO_SECCOMP,
	[AP_NR_set_robust_list] = TO_ROBUST, [AP_NR_get_robust_list] = TO_ROBUST,
	[AP_NR_kill] = TO_SEND, [AP_NR_tkill] = TO_SEND, [AP_NR_tgkill] = TO_SEND,
	[AP_NR_rt_sigqueueinfo] = TO_SEND, [AP_NR_rt_tgsigqueueinfo] = TO_SEND,
	[AP_NR_pidfd_send_signal] = TO_SEND,
	[AP_NR_ptrace] = TO_POKE, [AP_NR_process_vm_writev] = TO_POKE,
	[AP_NR_wait4] = TO_WAIT, [AP_NR_waitid] = TO_WAIT,
	[AP_NR_membarrier] = TO_MEMBARRIER,
	[AP_NR_rseq] = TO_RSEQ,
	[AP_NR_getrandom] = TO_GETRANDOM,
	[AP_NR_userfaultfd] = TO_UFFD,
	[AP_NR_perf_event_open] = TO_PROBING, [AP_NR_bpf] = TO_PROBING,
	[AP_NR_landlock_restrict_self] = TO_SECLUDE,
};
/* clang-format on */

static s64 may_change_text(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_pass(t, c);

	ap_clients_text_changed(c, ret);
	return ret;
}

static s64 to_task(struct ap_thread *t, struct ap_call *c, enum group group)
{
	switch (group) {
	case TO_SIG_ACTION:
		return ap_sig_action(t, c->a);
	case TO_SIG_PROCMASK:
		return ap_sig_procmask(t, c->a);
	case TO_SIG_ALTSTACK:
		return ap_sig_altstack(t, c->a);
	case TO_SIG_RETURN:
		ap_sig_return(t);
	case TO_CLONE:
		return ap_call_clone(t, c);
	case TO_EXEC:
		return ap_call_exec(t, c);
	case TO_EXIT:
		ap_call_exit(t, c);
	case TO_UNSHARE:
		return ap_call_unshare(t, c);
	case TO_IDENTITY:
		return ap_call_identity(t, c);
	case TO_ARCH_PRCTL:
		return ap_call_arch_prctl(t, c);
	case TO_PRCTL:
		return ap_call_prctl(t, c);
	case TO_SECCOMP:
		return ap_call_seccomp(t, c);
	case TO_ROBUST:
		return ap_call_robust(t, c);
	case TO_SEND:
		return ap_call_send(t, c);
	case TO_POKE:
		return ap_call_poke(t, c);
	case TO_WAIT:
		return ap_call_wait(t, c);
	case TO_MEMBARRIER:
		return ap_call_membarrier(t, c);
	case TO_RSEQ:
		return ap_call_rseq(t, c);
	case TO_GETRANDOM:
		return ap_call_getrandom(t, c);
	case TO_UFFD:
		ap_resident_has_uffd();
		return ap_call_pass(t, c);
	case TO_PROBING:
		return may_change_text(t, c);
	case TO_SECLUDE:
		return ap_call_seclude(t, c);
	default:
		return ap_call_pass(t, c);
	}
}

s64 ap_call_route(struct ap_thread *t, struct ap_call *c)
{
	enum group group = c->nr < sizeof(groups) ? groups[c->nr] : TO_KERNEL;

	switch (group) {
	case TO_MEMORY:
		return ap_call_memory(t, c);
	case TO_MLOCK:
		return ap_call_mlock(t, c);
	case TO_WRITE:
		return ap_call_write(t, c);
	case TO_READ:
		return ap_call_read(t, c);
	case TO_MASKED:
		return ap_call_masked(t, c);
	case TO_FD:
		return ap_call_fd(t, c);
	case TO_GETDENTS:
		return ap_call_getdents(t, c);
	case TO_RLIMIT:
		return ap_call_rlimit(t, c);
	case TO_OPEN:
		return ap_call_open(t, c);
	case TO_TRUNCATE:
		return ap_call_truncate(t, c);
	case TO_OPEN_BY_HANDLE:
		return ap_call_open_by_handle(t, c);
	case TO_RANGE:
		return ap_call_range(t, c);
	case TO_PROCESS_MADVISE:
		return ap_call_process_madvise(t, c);
	case TO_IOCTL:
		return ap_call_ioctl(t, c);
	default:
		return to_task(t, c, group);
	}
}
