/* SPDX-License-Identifier: MIT */
/*
 * The tracer that a task forks for itself where the supervisor cannot serve it: gone, of another
 * user, in another pid namespace.  It is a copy of the task, so it has its credentials, and the
 * blob and the session are at hand: the image that it injects is its own, which has no initialised
 * data (blob.lds sees to that), so what is written of it is as pristine as the file.
 *
 * Its exit sends no signal, and wait() does not find it without __WCLONE or __WALL.  The new
 * image's engine reaps it before the program's first instruction; after a failed exec it is killed,
 * which makes the kernel detach it.
 */
#include <linux/ptrace.h>
#include <linux/wait.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/task/task.h"
#include "inject/inject.h"
#include "inject/proc.h"
#include "inject/task.h"

#define SLICE_NS 50000000
#define WCLONE	 0x80000000ULL

/* What it takes to be a tracer. */
static const u16 calls[] = { AP_NR_clone,  AP_NR_wait4,	  AP_NR_waitid,	 AP_NR_exit_group,
			     AP_NR_ptrace, AP_NR_getppid, AP_NR_kill,	 AP_NR_open,
			     AP_NR_read,   AP_NR_close,	  AP_NR_pwrite64 };

/* 1 yes, 0 no, negative where nobody can tell. */
static int pidns_of_children_differs(void)
{
	struct ap_kstat own, children;
	const u64 cwd = (u64)AP_AT_FDCWD;

	if (ap_sys4(AP_NR_newfstatat, cwd, (u64) "/proc/self/ns/pid", (u64)&own, 0) ||
	    ap_sys4(AP_NR_newfstatat, cwd, (u64) "/proc/self/ns/pid_for_children", (u64)&children,
		    0))
		return -AP_ENOENT;
	return own.ino != children.ino;
}

bool ap_task_children_are_near(void)
{
	return !pidns_of_children_differs();
}

static void answer(struct ap_slot *slot, u32 req)
{
	__atomic_store_n(&slot->req, req, __ATOMIC_RELEASE);
	ap_sys3(AP_NR_futex, (u64)&slot->req, AP_FUTEX_WAKE, 1);
}

/* Waits while req is as given; false when the other process is gone. */
static bool wait_change(struct ap_slot *slot, u32 req, bool (*lives)(s64 pid), s64 pid)
{
	while (__atomic_load_n(&slot->req, __ATOMIC_ACQUIRE) == req) {
		if (!lives(pid))
			return false;
		ap_own_wait(&slot->req, req, SLICE_NS);
	}
	return true;
}

static bool helper_lives(s64 pid)
{
	u32 info[32] = { 0 };

	return !ap_sys5(AP_NR_waitid, P_PID, (u64)pid, (u64)info,
			WEXITED | WNOHANG | WNOWAIT | WCLONE, 0) &&
	       !info[0];
}

static bool parent_lives(s64 pid)
{
	return ap_sys0(AP_NR_getppid) == pid;
}

/*
 * The task, our parent, as the mounted /proc calls it: that may be of a pid namespace further out
 * than ours.
 */
static pid_t proc_name(pid_t pid)
{
	char link[16];
	const char *p = link;
	struct ap_proc_stat st;
	s64 n = ap_sys3(AP_NR_readlink, (u64) "/proc/self", (u64)link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = 0;
	if (n <= 0 || ap_stat_read((pid_t)ap_text_u64(&p, 10), &st) || !st.ppid)
		return pid;
	return st.ppid;
}

/* The new image's segment, with the counts' root that the old one asked for. */
static int new_segment(pid_t pid, pid_t name, const struct ap_slot *slot, u32 *index)
{
	char path[AP_PROC_PATH];
	struct ap_proc_stat st;
	struct ap_seg *seg = ap_segment_new(index);
	s64 n;

	if (!seg)
		return -AP_EAGAIN;
	seg->root = slot->exec_root;
	seg->nshapes = 0;
	seg->start_time = ap_stat_read(name, &st) ? 0 : st.start_time;
	n = ap_sys3(AP_NR_readlink, (u64)ap_proc_path(path, name, "exe"), (u64)seg->comm,
		    sizeof(seg->comm) - 1);
	seg->comm[n > 0 ? n : 0] = 0;
	if (!ap_proc.session->pidns || ap_task_pidns() == ap_proc.session->pidns)
		seg->pid = (u32)pid;
	__atomic_store_n(&seg->state, AP_SEG_INIT, __ATOMIC_RELEASE);
	return 0;
}

/* The task stands in its new image. */
static void at_exec(pid_t pid, const struct ap_slot *slot)
{
	struct ap_inject in = { .tid = pid,
				.proc_pid = proc_name(pid),
				.blob = (const u8 *)ap_proc.blob_lo,
				.blob_bytes = ap_proc.blob_hi - ap_proc.blob_lo,
				.session_fd = slot->exec_fd,
				.head_fd = slot->exec_head,
				.image_bytes = ap_proc.session->image_bytes,
				.flags = ap_proc.flags,
				.nofile_share = slot->exec_nofile,
				.limit_shares = slot->exec_limits,
				.ptracer = slot->exec_ptracer,
				.cwd = slot->exec_cwd,
				.store_key = { slot->exec_secluded ? AP_STORE_SECLUDED : 0 },
				.random = slot->exec_random,
				.helper_pid = (u32)ap_sys0(AP_NR_getpid),
				.sigmask = slot->exec_sigmask,
				.has_sigmask = true };
	const char *why = "the session is full";
	char name[64];
	s64 n;

	if (slot->pid == ap_proc.seg->ns_pid)
		__atomic_store_n(&ap_proc.seg->state, AP_SEG_EXECED, __ATOMIC_RELEASE);
	if (new_segment(pid, in.proc_pid, slot, &in.seg) || ap_inject(&in, &why)) {
		n = ap_sys3(AP_NR_readlink, (u64)ap_proc_path(name, in.proc_pid, "exe"), (u64)name,
			    sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		ap_note_exec(name, why);
	}
	(void)ap_inject_release(&in);
}

static bool is_stopped(int status)
{
	return (status & 0xff) == 0x7f;
}

static void serve(const struct ap_slot *slot)
{
	int status;
	s64 pid;

	for (;;) {
		pid = ap_sys4(AP_NR_wait4, UINT64_MAX, (u64)&status, __WALL, 0);
		if (pid == -AP_EINTR)
			continue;
		if (pid < 0 || !is_stopped(status))
			return;
		if (ap_wait_event(status) == PTRACE_EVENT_EXEC) {
			at_exec((pid_t)pid, slot);
			return;
		}
		(void)ap_task_resume((pid_t)pid, status);
	}
}

/*
 * The slot is copied while the task waits for the answer: a vfork child's goes to others as soon as
 * its exec lets the parent go on.
 */
AP_NORETURN static void helper(struct ap_slot *slot, s64 parent, u32 tid)
{
	const struct ap_slot copy = *slot;

	ap_mem_fork_child();
	ap_lock_reset(&ap_proc.lock);
	if (wait_change(slot, AP_REQ_NONE, parent_lives, parent)) {
		if (ap_task_seize((pid_t)tid)) {
			answer(slot, AP_REQ_EXEC_NAK);
		} else {
			answer(slot, AP_REQ_EXEC_ACK);
			serve(&copy);
		}
	}
	for (;;)
		ap_sys1(AP_NR_exit_group, 0);
}

s64 ap_exec_helper_start(struct ap_thread *t, bool *was_hidden, const char **why)
{
	struct ap_slot *slot = ap_thread_slot(t);
	const bool is_served = ap_resident_is_served(); /* as in fork.c */
	s64 pid;

	*was_hidden = false;
	*why = "its supervisor cannot trace it, and its children are in another pid namespace";
	if (pidns_of_children_differs() > 0)
		return 0;
	*why = "its supervisor cannot trace it, and its seccomp filter lets no tracer of its own";
	for (u32 i = 0; i < AP_ARRAY_SIZE(calls); i++)
		if (!ap_filter_allows_nr(calls[i]))
			return 0;
	*why = "its supervisor cannot trace it, and it cannot fork";
	__atomic_store_n(&slot->req, AP_REQ_NONE, __ATOMIC_RELEASE);
	if (!is_served) {
		ap_lock_take(&ap_proc.lock);
		ap_mem_fork_begin();
	}
	/* a tracer of the task traces its children, perhaps */
	pid = ap_sys5(AP_NR_clone, AP_CLONE_UNTRACED, 0, 0, 0, 0);
	if (!pid)
		helper(slot, t->pid, t->tid);
	if (!is_served) {
		ap_mem_fork_end();
		ap_lock_drop(&ap_proc.lock);
	}
	if (pid < 0)
		return 0;
	/*
	 * Who gave privileges up is hidden from ptrace even by his own kind.  That ends with the exec
	 * in any case.
	 */
	if (!ap_sys2(AP_NR_prctl, AP_PR_GET_DUMPABLE, 0))
		*was_hidden = !ap_sys2(AP_NR_prctl, AP_PR_SET_DUMPABLE, 1);
	ap_sys2(AP_NR_prctl, AP_PR_SET_PTRACER, (u64)pid);
	answer(slot, AP_REQ_HELPER);
	if (wait_change(slot, AP_REQ_HELPER, helper_lives, pid) && slot->req == AP_REQ_EXEC_ACK)
		return pid;
	*why = "ptrace is refused (does another program trace it?)";
	ap_exec_helper_cancel(pid, *was_hidden);
	return 0;
}

void ap_exec_helper_cancel(s64 pid, bool was_hidden)
{
	ap_sys2(AP_NR_kill, (u64)pid, AP_SIGKILL);
	ap_exec_helper_end(pid);
	if (was_hidden)
		ap_sys2(AP_NR_prctl, AP_PR_SET_DUMPABLE, 0);
}

void ap_exec_helper_end(s64 pid)
{
	while (ap_sys4(AP_NR_wait4, (u64)pid, 0, WCLONE, 0) == -AP_EINTR)
		;
}
