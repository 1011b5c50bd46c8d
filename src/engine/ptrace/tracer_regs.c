/* SPDX-License-Identifier: MIT */
/* Registers of a traced task, as the program has them: in its thread, or on the boot page of an image that has not begun. */
#include "engine/ptrace/tracer.h"

#include <linux/ptrace.h>
#include <stddef.h>

#include "inject/kcall.h"

#define SYSCALL_LEN 2
#define ARCH_X86_64 0xc000003eU
#define INFO_NONE   24 /* bytes of struct ptrace_syscall_info, by what it tells */
#define INFO_ENTRY  80
#define INFO_EXIT   33
#define INFO_DATA   4 /* more, of a filter */
#define MAX_ERRNO   4095
#define WORD_OP	    0
#define WORD_IP	    1
#define WORD_SP	    2
#define WORD_NR	    3
#define WORD_IS_ERR 4
#define WORD_DATA   10

/* struct ap_thread and struct ap_boot have the %gs base behind the registers. */
struct words {
	struct ap_regs regs;
	u64 gs_base;
};

static u64 place_of(const struct ap_tracee *e)
{
	if (e->kind == AP_TRACEE_NEW)
		return e->boot + offsetof(struct ap_boot, regs);
	return ap_tracee_field(e, offsetof(struct ap_thread, regs));
}

static bool is_at_call(const struct ap_tracee *e)
{
	return e->kind == AP_TRACEE_MARK &&
	       (e->traced.stop == AP_TRACED_ENTRY || e->traced.stop == AP_TRACED_EXIT);
}

/* In rax rcx rdx rbx rsp rbp rsi rdi r8..r15. */
#define REGS_OF(r)                                                                                 \
	{                                                                                          \
		&(r)->rax, &(r)->rcx, &(r)->rdx, &(r)->rbx, &(r)->rsp, &(r)->rbp, &(r)->rsi,       \
			&(r)->rdi, &(r)->r8, &(r)->r9, &(r)->r10, &(r)->r11, &(r)->r12, &(r)->r13, \
			&(r)->r14, &(r)->r15                                                       \
	}

s64 ap_tracee_regs(const struct ap_tracee *e, struct user_regs_struct *r)
{
	unsigned long long *to[16] = REGS_OF(r);
	s64 ret = ap_task_get_regs((pid_t)e->tid, r);
	u64 rax = r->rax;
	struct words w;

	if (ret || e->kind == AP_TRACEE_OTHER)
		return ret;
	if (ap_task_read((pid_t)e->tid, place_of(e), &w, sizeof(w)))
		return -AP_ESRCH;
	for (u32 i = 0; i < 16; i++)
		*to[i] = w.regs.gpr[i];
	r->rip = w.regs.rip;
	r->eflags = w.regs.rflags;
	r->gs_base = w.gs_base;
	if (e->kind == AP_TRACEE_RAW) {
		/* in a call: t->regs stand before it */
		r->rip += SYSCALL_LEN;
		r->rcx = r->rip;
		r->r11 = r->eflags;
		r->rax = rax;
	} else if (e->kind == AP_TRACEE_NEW) {
		r->orig_rax = e->nr;
	} else {
		r->orig_rax = is_at_call(e) ? e->traced.nr : (u64)-1;
	}
	return 0;
}

s64 ap_tracee_set_regs(struct ap_tracee *e, const struct user_regs_struct *r)
{
	struct user_regs_struct own = *r;
	unsigned long long *from[16] = REGS_OF(&own);
	struct user_regs_struct now;
	struct words w;
	s64 ret;

	if (e->kind == AP_TRACEE_OTHER)
		return ap_task_set_regs((pid_t)e->tid, r);
	ret = ap_task_get_regs((pid_t)e->tid, &now);
	if (ret)
		return ret;
	for (u32 i = 0; i < 16; i++)
		w.regs.gpr[i] = *from[i];
	w.regs.rip = r->rip;
	w.regs.rflags = r->eflags;
	w.gs_base = r->gs_base;
	if (e->kind == AP_TRACEE_RAW) {
		w.regs.rip -= SYSCALL_LEN;
		w.regs.gpr[0] = r->orig_rax;
		now.rax = r->rax;
	}
	if (ap_task_write((pid_t)e->tid, place_of(e), &w, sizeof(w)))
		return -AP_ESRCH;
	if (is_at_call(e)) {
		e->traced.nr = r->orig_rax;
		(void)!ap_task_write((pid_t)e->tid,
				     ap_tracee_field(e, offsetof(struct ap_thread, traced.nr)),
				     &e->traced.nr, sizeof(e->traced.nr));
	}
	now.fs_base = r->fs_base;
	return ap_task_set_regs((pid_t)e->tid, &now);
}

static s64 fill_entry(u64 *w, u32 op, const struct user_regs_struct *r)
{
	w[WORD_OP] |= op;
	w[WORD_NR] = r->orig_rax;
	w[WORD_NR + 1] = r->rdi;
	w[WORD_NR + 2] = r->rsi;
	w[WORD_NR + 3] = r->rdx;
	w[WORD_NR + 4] = r->r10;
	w[WORD_NR + 5] = r->r8;
	w[WORD_NR + 6] = r->r9;
	return INFO_ENTRY;
}

s64 ap_tracee_call_info(const struct ap_tracee *e, void *out)
{
	struct user_regs_struct r;
	u64 *w = out;
	s64 ret = ap_tracee_regs(e, &r);

	if (ret)
		return ret;
	w[WORD_OP] = (u64)ARCH_X86_64 << 32;
	w[WORD_IP] = r.rip;
	w[WORD_SP] = r.rsp;
	if (e->kind == AP_TRACEE_RAW && ap_wait_event(e->status) == PTRACE_EVENT_SECCOMP) {
		unsigned long data = 0;

		(void)!ap_task_event_msg((pid_t)e->tid, &data);
		w[WORD_DATA] = (u32)data;
		return fill_entry(w, PTRACE_SYSCALL_INFO_SECCOMP, &r) + INFO_DATA;
	}
	if (!is_at_call(e) && !e->is_cut)
		return INFO_NONE;
	if (e->is_cut || e->traced.stop == AP_TRACED_EXIT) {
		w[WORD_OP] |= PTRACE_SYSCALL_INFO_EXIT;
		w[WORD_NR] = r.rax;
		w[WORD_IS_ERR] = r.rax >= (u64)-MAX_ERRNO;
		return INFO_EXIT;
	}
	return fill_entry(w, PTRACE_SYSCALL_INFO_ENTRY, &r);
}
