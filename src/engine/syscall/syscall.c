/* SPDX-License-Identifier: MIT */
/*
 * The system call layer: what the program's syscall instruction does.  Most calls go to the kernel
 * as they stand; those that would show or disturb the engine go through the groups in sys_*.c and
 * their neighbours.
 *
 * Counting follows the hardware: an instruction that the kernel makes the program execute again
 * after a signal has retired, one that a signal came before has not.
 */
#include "base/mem.h"
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/count/lane.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/signal/signal.h"
#include "engine/task/party.h"
#include "engine/task/task.h"
#include "engine/thread/still.h"
#include "service/service.h"

#define RCX 1
#define R11 11

/*
 * Tracepoints at a call's ends: what they sample are the registers as the kernel has them, behind the instruction, and rax
 * is ENOSYS until there is something else to return.
 */
static void trace(struct ap_thread *t, const struct ap_call *c, u64 rax, bool is_exit)
{
	struct ap_regs *r = &t->regs;
	const u64 was[] = { r->gpr[0], r->gpr[RCX], r->gpr[R11], r->rip };

	r->gpr[0] = rax;
	r->gpr[RCX] = r->rip = c->pc + 2;
	r->gpr[R11] = r->rflags;
	if (is_exit)
		ap_clients_call_ends(t, c->nr, rax);
	else
		ap_clients_call_begins(t, c->nr);
	r->gpr[0] = was[0];
	r->gpr[RCX] = was[1];
	r->gpr[R11] = was[2];
	r->rip = was[3];
}

/* The one whose instruction is at pc, as the registers have it. */
static struct ap_call call_at(const struct ap_thread *t, u64 pc)
{
	const u64 *gpr = t->regs.gpr;

	return (struct ap_call){
		.nr = gpr[0],
		.a = { gpr[7], gpr[6], gpr[2], gpr[10], gpr[8], gpr[9] },
		.pc = pc,
	};
}

/* False: the call is not made; *ret is what comes of it. */
static bool enter_traced(struct ap_thread *t, struct ap_call *c, s64 *ret)
{
	*ret = AP_SYSCALL_UNTOUCHED;
	if (t->pending)
		return false;
	if (t->traced.how & AP_TRACED_CALLS && !ap_traced_entry(t, c->pc, ret))
		return false;
	/* a signal at the entry's stop; the call might wait for it */
	if (t->traced.how & AP_TRACED_COME) {
		*ret = AP_SYSCALL_UNTOUCHED;
		return false;
	}
	*c = call_at(t, c->pc);
	t->traced.calls = 1;
	return true;
}

static s64 execute(struct ap_thread *t, u64 pc)
{
	struct ap_call c = call_at(t, pc);
	u64 *gpr = t->regs.gpr;
	s64 ret;

	ap_count_kind(t, AP_RAW_SYSCALL, 1);
	ap_clients_call_counted(t, pc);
	if (ap_tracepoints_are_on())
		trace(t, &c, (u64)-AP_ENOSYS, false);
	if (ap_unlikely(t->traced.how) && !enter_traced(t, &c, &ret))
		(void)0;
	else if (ap_unlikely(t->filters) && ap_filter_refuses(t->filters, c.nr, c.a, pc + 2))
		ret = ap_call_pass(t, &c);
	else if (ap_fd_is_hidden(t, &c))
		ret = -AP_EBADF;
	else if (ap_unlikely(ap_service_wants(ap_proc.session, c.nr)))
		ret = ap_call_serve(t, &c, ap_call_route);
	else
		ret = ap_call_route(t, &c);
	if (ap_unlikely(ret == AP_SYSCALL_UNTOUCHED)) {
		ap_count_kind(t, AP_RAW_SYSCALL, -1);
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_insn(t, pc, -1);
		ap_clients_call_untouched(t);
		ap_traced_exit(t, pc, -AP_ERESTARTNOINTR);
		return ret;
	}
	if (ap_tracepoints_are_on())
		trace(t, &c, (u64)ret, true);
	gpr[RCX] = pc + 2;
	gpr[R11] = t->regs.rflags;
	if (ap_unlikely(ret == AP_SYSCALL_INTERRUPTED)) {
		ap_traced_exit(t, pc, -AP_ERESTARTSYS);
		return ret;
	}
	gpr[0] = (u64)ret;
	t->regs.rip = pc + 2;
	ap_traced_exit(t, pc, 0);
	return ret;
}

void ap_syscall(struct ap_thread *t, u64 pc)
{
	if (ap_unlikely(ap_proc.forsaken))
		ap_native_park(t);
	ap_clients_settle(t); /* whoever reads counts does it in or after a call */
	if (ap_unlikely(t->dispatch.is_on) && ap_user_dispatch_takes(t, pc))
		return;
	if (ap_unlikely(ap_filter_by_address) && ap_filter_takes(t, pc))
		return;
	if (ap_unlikely(ap_proc.session->flags & AP_F_MODEL_THREAD)) {
		const struct ap_call c = call_at(t, pc);

		ap_clients_before_call(&c);
	}
	(void)execute(t, pc);
	ap_clients_after_call(t);
}

/* What a handler is about to see of a call that the kernel wants restarted for this reason. */
static bool is_ended_by(struct ap_thread *t, u32 sig, s64 why)
{
	struct ap_sigaction a;

	if (why == -AP_ERESTARTNOHAND || why == -AP_ERESTART_RESTARTBLOCK)
		return true;
	ap_sig_lookup(t, sig, &a);
	return why == -AP_ERESTARTSYS && !(a.flags & AP_SA_RESTART);
}

/*
 * It has retired before we came, so it counts no more.  A signal that came meanwhile ends it as it
 * would have ended it natively, where the call had been waiting all the time.
 */
void ap_syscall_resume(struct ap_thread *t, s64 why)
{
	u64 pc = t->regs.rip;

	ap_count_kind(t, AP_RAW_SYSCALL, -1);
	if (execute(t, pc) != AP_SYSCALL_UNTOUCHED)
		return;
	ap_count_kind(t, AP_RAW_SYSCALL, 1);
	if (ap_proc.flags & AP_F_COUNT)
		ap_count_insn(t, pc, 1);
	if (!is_ended_by(t, t->pend_sig, why))
		return;
	t->regs.gpr[0] = (u64)-AP_EINTR;
	t->regs.gpr[RCX] = pc + 2;
	t->regs.gpr[R11] = t->regs.rflags;
	t->regs.rip = pc + 2;
}
