/* SPDX-License-Identifier: MIT */
/*
 * PR_SET_SYSCALL_USER_DISPATCH: calls from outside a range of addresses become SIGSYS where a byte of the program's says so.
 * The kernel judges by the address of the syscall instruction, which is the engine's for all calls.  So it only says whether it
 * knows such a thing, and the engine judges, by the rules of kernel/entry/syscall_user_dispatch.c.
 * A thread's alone: clones, forks and images begin without.
 */
#include "engine/runtime/filter.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"

#define SYSCALL_LEN	  2
#define SYS_USER_DISPATCH 2

#define PR_SET_SYSCALL_USER_DISPATCH 59

#define EFL_NONE 0x202
#define BELOW	 152 /* what ap_gate_native takes of the program's stack */

enum { RAX, RDX = 2, RBX, RSP, RSI = 6, RDI, R8, R10 = 10 };
enum { MODE_OFF, MODE_EXCLUSIVE, MODE_INCLUSIVE };
enum { SELECTOR_ALLOW, SELECTOR_BLOCK };

/* No address: the last thing that the kernel looks at. */
#define NO_SELECTOR UINT64_MAX

static s64 ask_kernel(struct ap_thread *t, const struct ap_call *c)
{
	struct ap_call asked = *c;
	s64 ret;

	if (c->a[1] == MODE_OFF)
		return ap_call_pass(t, &asked);
	asked.a[4] = NO_SELECTOR;
	ret = ap_call_pass(t, &asked);
	if (ret != -AP_EFAULT)
		return ret;
	return c->a[4] >= AP_TASK_SIZE ? -AP_EFAULT : 0;
}

s64 ap_call_user_dispatch(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ask_kernel(t, c);

	if (ret)
		return ret;
	t->dispatch = (struct ap_user_dispatch){
		.selector = c->a[4],
		.offset = c->a[2],
		.len = c->a[3],
		.is_on = c->a[1] != MODE_OFF,
		.is_inclusive = c->a[1] == MODE_INCLUSIVE,
	};
	if (c->a[1] == MODE_INCLUSIVE) { /* all else is the range from where calls are made */
		t->dispatch.offset += t->dispatch.len;
		t->dispatch.len = -t->dispatch.len;
	}
	return 0;
}

bool ap_user_dispatch_config(const struct ap_thread *t, u64 config[4])
{
	const struct ap_user_dispatch *d = &t->dispatch;
	const bool other = d->is_inclusive;

	config[0] = !d->is_on ? MODE_OFF : other ? MODE_INCLUSIVE : MODE_EXCLUSIVE;
	config[1] = d->selector;
	config[2] = other ? d->offset + d->len : d->offset;
	config[3] = other ? -d->len : d->len;
	return d->is_on;
}

bool ap_user_dispatch_hand_over(const struct ap_thread *t, struct ap_regs *r)
{
	u64 a[6] = { PR_SET_SYSCALL_USER_DISPATCH }, config[4];
	bool is_on = ap_user_dispatch_config(t, config);

	a[1] = config[0];
	a[2] = config[2];
	a[3] = config[3];
	a[4] = config[1];
	if (ap_likely(!is_on) || !ap_filter_allows(AP_NR_prctl, a))
		return false;
	*r = (struct ap_regs){
		.gpr = { [RAX] = AP_NR_prctl,
			 [RBX] = (u64)t,
			 [RSP] = t->regs.gpr[RSP] - BELOW,
			 [RDI] = a[0],
			 [RSI] = a[1],
			 [RDX] = a[2],
			 [R10] = a[3],
			 [R8] = a[4] },
		.rip = (u64)ap_gate_native_call,
		.rflags = EFL_NONE,
	};
	return true;
}

bool ap_user_dispatch_takes(struct ap_thread *t, u64 pc)
{
	const struct ap_user_dispatch *d = &t->dispatch;
	u8 state = SELECTOR_BLOCK;

	if (pc + SYSCALL_LEN - d->offset < d->len)
		return false;
	if (d->selector && ap_safe_copy(&state, (const void *)d->selector, sizeof(state)))
		ap_signal_exit(t, AP_SIGSEGV);
	if (state == SELECTOR_ALLOW)
		return false;
	if (state != SELECTOR_BLOCK)
		ap_signal_exit(t, AP_SIGSYS);
	ap_signal_sys(t, pc, SYS_USER_DISPATCH, 0);
	return true;
}
