/* SPDX-License-Identifier: MIT */
/*
 * Filters that look at seccomp_data.instruction_pointer.  In the kernel that is the engine's syscall instruction for each call.  So
 * such a filter is installed behind a few instructions that let all calls of the blob pass, and the engine, which has a copy,
 * judges the program's calls by their own addresses and does what the kernel would do.
 * Not so where it may hand a call over to a listener or a tracer: that only the kernel can.
 */
#include "engine/count/lane.h"
#include "engine/runtime/filter.h"

#include "base/mem.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"
#include "sys/nr.h"

#define INSNS_MAX   4096
#define SYSCALL_LEN 2
#define ERRNO_MAX   4095
#define AT_PC	    8 /* of struct seccomp_data */
#define AT_PC_HIGH  12

/* linux/filter.h */
#define LD_ABS	0x20
#define LD_IMM	0x00
#define RET	0x06
#define CLASS	0x07
#define RET_A	0x10
#define LD_MODE 0xe7 /* class and mode */

#define BEFORE_MAX (2 * AP_FILTER_PART + 1)

bool ap_filter_can_wrap(const struct ap_filter *f)
{
	bool looks = false;

	for (u32 k = 0; k < f->n; k++) {
		const struct ap_filter_insn *i = &f->insn[k];
		u32 action = i->k & AP_FILTER_ACTION;

		looks |= (i->code & LD_MODE) == LD_ABS && (i->k == AT_PC || i->k == AT_PC_HIGH);
		if ((i->code & CLASS) == RET &&
		    (i->code & RET_A || action == AP_FILTER_NOTIF || action == AP_FILTER_TRACE))
			return false;
	}
	return looks && f->n + BEFORE_MAX <= INSNS_MAX;
}

s64 ap_filter_install_wrapped(struct ap_thread *t, const struct ap_call *c,
			      const struct ap_filter *f)
{
	const struct ap_filter_insn as_it_begins = { LD_IMM, 0, 0, 0 };
	u64 size = (BEFORE_MAX + f->n) * sizeof(f->insn[0]);
	struct ap_filter_insn *insn = ap_mem_map(0, size);
	struct {
		u16 len;
		const void *insn;
	} prog = { 0, insn };
	struct ap_call call = *c;
	s64 ret;

	if (!insn)
		return -AP_ENOMEM;
	prog.len = (u16)ap_filter_let_pass(insn, ap_proc.blob_lo, ap_proc.blob_hi);
	insn[prog.len++] = as_it_begins;
	memcpy(insn + prog.len, f->insn, f->n * sizeof(f->insn[0]));
	prog.len = (u16)(prog.len + f->n);
	call.a[2] = (u64)&prog;
	ret = ap_call_pass(t, &call);
	ap_mem_unmap(insn, size);
	return ret;
}

/* The thread alone: a process with one is ended. */
AP_NORETURN static void kill_thread(struct ap_thread *t)
{
	struct ap_call end = { .nr = AP_NR_exit, .a = { AP_SIGSYS } };

	if (ap_proc.nthreads == 1)
		ap_signal_exit(t, AP_SIGSYS);
	ap_call_exit(t, &end);
}

bool ap_filter_takes(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr, data;
	const u64 a[6] = { gpr[7], gpr[6], gpr[2], gpr[10], gpr[8], gpr[9] };
	u32 ret = ap_filter_at_address(t->filters, gpr[0], a, pc + SYSCALL_LEN);

	data = ret & AP_FILTER_DATA;
	switch (ret & AP_FILTER_ACTION) {
	case AP_FILTER_ALLOW:
	case AP_FILTER_LOG:
		return false;
	case AP_FILTER_ERRNO:
		ap_count_kind(t, AP_RAW_SYSCALL, 1);
		gpr[0] = -(data < ERRNO_MAX ? data : ERRNO_MAX);
		t->regs.rip = gpr[1] = pc + SYSCALL_LEN;
		gpr[11] = t->regs.rflags;
		return true;
	case AP_FILTER_TRAP:
		ap_signal_sys(t, pc, AP_SYS_SECCOMP, (s32)data);
		return true;
	case AP_FILTER_KILL:
		kill_thread(t);
	default: /* the process, and what the kernel does not know */
		ap_signal_exit(t, AP_SIGSYS);
	}
}
