/* SPDX-License-Identifier: MIT */
/*
 * PR_SET_SYSCALL_USER_DISPATCH: calls from outside a range of addresses become SIGSYS where a byte of the program's says so.
 * The kernel judges by the address of the syscall instruction, which is the engine's for all calls.  So it only says whether it
 * knows such a thing, and the engine judges, by the rules of kernel/entry/syscall_user_dispatch.c.
 * A thread's alone: clones, forks and images begin without.
 */
#include "engine/signal.h"
#include "engine/task.h"

#define SYSCALL_LEN	  2
#define SYS_USER_DISPATCH 2

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
	};
	if (c->a[1] == MODE_INCLUSIVE) { /* all else is the range from where calls are made */
		t->dispatch.offset += t->dispatch.len;
		t->dispatch.len = -t->dispatch.len;
	}
	return 0;
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
