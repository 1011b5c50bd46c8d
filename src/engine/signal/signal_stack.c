/* SPDX-License-Identifier: MIT */
/*
 * The program's alternate signal stack.  The kernel's is the engine's, so all that the kernel does
 * with one is done here; as in kernel/signal.c, do_sigaltstack.
 */
#include "engine/signal/signal.h"

#include "sys/nr.h"

#define MIN_SIZE 2048 /* MINSIGSTKSZ: what x86 asks for unless told strict_sas_size */

/* With SS_AUTODISARM one is never on it, as far as the kernel can tell. */
bool ap_sig_on_altstack(const struct ap_thread *t, u64 sp)
{
	const struct ap_altstack *s = &t->altstack;

	return !(s->flags & AP_SS_AUTODISARM) && sp > s->sp && sp - s->sp <= s->size;
}

s64 ap_sig_altstack_set(struct ap_thread *t, const struct ap_altstack *ss, u64 sp)
{
	u32 mode = ss->flags & ~AP_SS_AUTODISARM;

	if (ap_sig_on_altstack(t, sp))
		return -AP_EPERM;
	if (mode != 0 && mode != AP_SS_DISABLE && mode != AP_SS_ONSTACK)
		return -AP_EINVAL;
	if (mode == AP_SS_DISABLE) {
		t->altstack = (struct ap_altstack){ .flags = ss->flags };
		return 0;
	}
	if (ss->size < MIN_SIZE)
		return -AP_ENOMEM;
	t->altstack = (struct ap_altstack){ ss->sp, ss->flags, ss->size };
	return 0;
}

s64 ap_sig_altstack(struct ap_thread *t, const u64 args[6])
{
	struct ap_altstack set, old;
	u64 sp = t->regs.gpr[4];
	s64 r = 0;

	memset(&old, 0, sizeof(old));
	old.sp = t->altstack.sp;
	old.size = t->altstack.size;
	old.flags = t->altstack.flags & AP_SS_AUTODISARM;
	if (!old.size)
		old.flags |= AP_SS_DISABLE;
	else if (ap_sig_on_altstack(t, sp))
		old.flags |= AP_SS_ONSTACK;
	if (args[0]) {
		if (ap_safe_copy(&set, (const void *)args[0], sizeof(set)))
			return -AP_EFAULT;
		r = ap_sig_altstack_set(t, &set, sp);
	}
	if (r == 0 && args[1] && ap_safe_copy((void *)args[1], &old, sizeof(old)))
		return -AP_EFAULT;
	return r;
}
