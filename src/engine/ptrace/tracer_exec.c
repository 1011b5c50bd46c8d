/* SPDX-License-Identifier: MIT */
/*
 * A traced task stands in its new image, and its tracer is this program: so it is this program's engine that puts the engine
 * in, by the steps of any exec (docs/design/injection.md) and from its own image, as a task's own helper does.
 */
#include "engine/ptrace/tracer.h"

#include <linux/ptrace.h>
#include <stddef.h>

#include "base/str.h"
#include "inject/inject.h"
#include "inject/kcall.h"
#include "inject/proc.h"
#include "service/service.h"

#define O_SYSGOOD 1u

/* Makes the segment the task's: what it could not know itself before its exec. */
static void name_segment(const struct ap_tracee *e, u32 index)
{
	char path[AP_PROC_PATH];
	struct ap_proc_stat st;
	struct ap_seg seg = { .start_time = ap_stat_read((pid_t)e->tid, &st) ? 0 : st.start_time };
	const s32 fd = ap_fd(ap_self());
	s64 n;

	n = ap_sys3(AP_NR_readlink, (u64)ap_proc_path(path, (pid_t)e->tid, "exe"), (u64)seg.comm,
		    sizeof(seg.comm) - 1);
	seg.comm[n > 0 ? n : 0] = 0;
	if (!ap_proc.seg->pidns || ap_proc.seg->pidns == ap_proc.session->pidns)
		seg.pid = e->tid;
	ap_sys4(AP_NR_pwrite64, (u64)fd, (u64)&seg.start_time, sizeof(seg.start_time),
		AP_SEG_OFF(index) + offsetof(struct ap_seg, start_time));
	ap_sys4(AP_NR_pwrite64, (u64)fd, (u64)seg.comm, sizeof(seg.comm),
		AP_SEG_OFF(index) + offsetof(struct ap_seg, comm));
	ap_sys4(AP_NR_pwrite64, (u64)fd, (u64)&seg.pid, sizeof(seg.pid),
		AP_SEG_OFF(index) + offsetof(struct ap_seg, pid));
}

/* A vfork child's was its parent's, which goes on. */
static void retire_former(u32 former, u32 pid)
{
	struct ap_seg head;

	if (AP_PARTY_OF(former) == AP_PARTY_OF(ap_proc.seg_index) &&
	    ap_segs_has(ap_proc.session, former) &&
	    ap_sys4(AP_NR_pread64, (u64)ap_fd(ap_self()), (u64)&head, sizeof(head),
		    AP_SEG_OFF(former)) == sizeof(head) &&
	    head.state == AP_SEG_LIVE && head.ns_pid == pid)
		ap_traced_set_state(former, AP_SEG_EXECED);
}

static void note(const struct ap_tracee *e, const char *why)
{
	char path[AP_PROC_PATH], name[64];
	s64 n = ap_sys3(AP_NR_readlink, (u64)ap_proc_path(path, (pid_t)e->tid, "exe"), (u64)name,
			sizeof(name) - 1);

	name[n > 0 ? n : 0] = 0;
	ap_note_exec(name, why);
}

/* What the program will ask of this stop is what was true before the calls that are made in the task's name. */
static void keep(struct ap_tracee *e, bool at_trap)
{
	struct user_regs_struct r;

	if (ap_task_get_regs((pid_t)e->tid, &r))
		return;
	e->nr = r.orig_rax;
	if (at_trap) {
		e->has_info = !ap_k_ptrace(PTRACE_GETSIGINFO, (s32)e->tid, 0, (u64)&e->info);
		/* the call is over: nothing of it is left to be waited for */
		r.orig_rax = (u64)-1;
		(void)!ap_task_set_regs((pid_t)e->tid, &r);
		return;
	}
	e->has_msg = !ap_task_event_msg((pid_t)e->tid, &e->msg);
}

bool ap_tracee_put_in(struct ap_tracee *e, bool at_trap)
{
	struct ap_slot slot;
	struct ap_seg head;
	struct ap_inject in = { .seg = ap_traced_find_exec(e->tid, &head, &slot) };
	const char *why;
	int ret;

	if (in.seg == UINT32_MAX)
		return false;
	in.tid = (pid_t)e->tid;
	in.blob = (const u8 *)ap_proc.blob_lo;
	in.blob_bytes = ap_proc.blob_hi - ap_proc.blob_lo;
	in.session_fd = slot.exec_fd;
	in.head_fd = slot.exec_head;
	in.image_bytes = ap_proc.session->image_bytes;
	in.flags = ap_proc.flags;
	in.nofile_share = slot.exec_nofile;
	in.limit_shares = slot.exec_limits;
	in.ptracer = slot.exec_ptracer;
	in.cwd = slot.exec_cwd;
	in.store_key[0] = slot.exec_secluded ? AP_STORE_SECLUDED : 0;
	in.random = slot.exec_random;
	in.sigmask = slot.exec_sigmask;
	in.has_sigmask = true;
	in.is_watched = true;
	keep(e, at_trap);
	e->kind = AP_TRACEE_OTHER;
	e->thread = 0;
	retire_former(head.parent_seg, e->tid);
	name_segment(e, in.seg);
	ap_k_ptrace(PTRACE_SETOPTIONS, (s32)e->tid, 0, e->opts | O_SYSGOOD);
	ret = ap_inject(&in, &why);
	ap_k_ptrace(PTRACE_SETOPTIONS, (s32)e->tid, 0, e->opts);
	if (ret)
		ap_traced_set_state(in.seg, AP_SEG_EXECED);
	ap_service_traced_exec(e->tid, ret ? UINT32_MAX : in.seg, head.parent_seg);
	if (ret) {
		note(e, why);
		return true;
	}
	e->boot = in.boot_at;
	e->kind = AP_TRACEE_NEW;
	if (in.had_stop)
		ap_rawsys(__NR_tkill, e->tid, AP_SIGSTOP, 0, 0, 0, 0);
	return true;
}
