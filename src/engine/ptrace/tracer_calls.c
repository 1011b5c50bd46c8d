/* SPDX-License-Identifier: MIT */
/*
 * ptrace() of a program whose tracees have engines: requests about registers, signals and how a task goes on are answered
 * from what tracer.c knows of its stop; all others are the kernel's.  A task whose stop was not looked at (another thread of
 * the program waits for it, or the table is full) is the kernel's altogether.
 */
#include "engine/ptrace/tracer.h"

#include <linux/ptrace.h>
#include <linux/uio.h>
#include <stddef.h>

#include "engine/cache/smc.h"
#include "inject/kcall.h"

#define NT_PRSTATUS 1
#define USER_REGS   sizeof(struct user_regs_struct)

static s64 put(u64 to, const void *from, u64 size)
{
	return ap_safe_copy((void *)to, from, size) ? -AP_EFAULT : 0;
}

/* --- how it goes on */

static u32 how_of(u64 request)
{
	switch (request) {
	case PTRACE_SYSCALL:
		return AP_TRACED | AP_TRACED_CALLS;
	case PTRACE_SINGLESTEP:
		return AP_TRACED | AP_TRACED_STEP;
	case PTRACE_DETACH:
		return 0;
	default:
		return AP_TRACED;
	}
}

/* What the thread goes by from here on. */
static void tell_thread(struct ap_tracee *e, u32 how, u32 sig)
{
	u64 at = ap_tracee_field(e, offsetof(struct ap_thread, traced));
	struct ap_traced *tr = &e->traced;
	u32 gen = __atomic_load_n(&ap_proc.board->code_gen, __ATOMIC_ACQUIRE);
	struct user_regs_struct r;

	if (ap_task_read((pid_t)e->tid, at, tr, sizeof(*tr)))
		return;
	/* by POKETEXT, /proc/PID/mem, process_vm_writev: it minds that when it goes on */
	if (how && e->nkept)
		how |= AP_TRACED_COME;
	tr->how = how | (gen != e->code_gen ? AP_TRACED_FLUSH : 0);
	tr->party = AP_PARTY_OF(ap_proc.seg_index);
	e->code_gen = gen;
	/* behind a filter's stop the next is the exit, as the entry has been */
	if (how & AP_TRACED_CALLS && ap_wait_event(e->status) == PTRACE_EVENT_SECCOMP &&
	    !ap_task_get_regs((pid_t)e->tid, &r)) {
		tr->entered = true;
		tr->nr = r.orig_rax;
	}
	if (e->is_cut)
		tr->entered = false;
	tr->again = e->restarts && how & AP_TRACED_CALLS && !sig;
	if (how && e->is_seized)
		tr->how |= AP_TRACED_BLIND;
	tr->opts = how ? e->opts : 0;
	/* what meets it where it stands is another stop: a nudge there must not look like a trap that nobody saw */
	if (e->kind == AP_TRACEE_MARK)
		tr->stop = AP_TRACED_RUNS;
	tr->by_other = 0;
	if (!(how & AP_TRACED_STEP))
		tr->steps = 0;
	(void)!ap_task_write((pid_t)e->tid, at, tr, sizeof(*tr));
}

static void tell_boot(const struct ap_tracee *e, u32 how)
{
	const u32 words[3] = { how, how ? e->opts : 0, (u32)e->nr };

	(void)!ap_task_write((pid_t)e->tid, e->boot + offsetof(struct ap_boot, traced), words,
			     sizeof(words));
}

/* The signal that it was to be told next, which it has all the same. */
static u32 answer_kept(struct ap_tracee *e)
{
	ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)&e->kept[0].info);
	return (u32)e->kept[0].status >> 8 & 0xff;
}

/* At the engine's trap instruction there is a AP_SIGTRAP to be replaced; it stopped for another signal, or for none. */
static u32 answer_mark(struct ap_tracee *e, u32 sig)
{
	u8 same;

	if (e->traced.stop == AP_TRACED_SIGNAL) {
		same = (u32)e->info.signo == sig;
		e->traced.deliver = same;
		(void)!ap_task_write((pid_t)e->tid,
				     ap_tracee_field(e, offsetof(struct ap_thread, traced.deliver)),
				     &same, sizeof(same));
		if (same)
			(void)!ap_task_write(
				(pid_t)e->tid,
				ap_tracee_field(e, offsetof(struct ap_thread, pend_info)), &e->info,
				sizeof(e->info));
		return same ? 0 : sig;
	}
	if (sig && e->has_info && (u32)e->info.signo == sig)
		ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)&e->info);
	return sig;
}

/* The call was cut short, and its exit told: the signal is what comes next. */
static u32 answer_cut(struct ap_tracee *e, u32 sig, bool ends)
{
	if (ends)
		return (u32)e->cut.signo;
	ap_tracee_send_anew(e, &e->cut);
	if (sig)
		ap_rawsys(AP_NR_tkill, e->tid, sig, 0, 0, 0, 0);
	return 0;
}

/* The kernel would make the call again, and the program see its entry: so the engine does. */
static u32 make_again(const struct ap_tracee *e)
{
	struct ap_siginfo nudge = { .signo = AP_SIGTRAP, .code = AP_NUDGE_CODE };
	const u64 magic = AP_SESSION_MAGIC;

	memcpy(nudge.rest, &magic, sizeof(magic));
	ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)&nudge);
	return AP_SIGTRAP;
}

static s64 go_on(struct ap_tracee *e, const struct ap_call *c)
{
	u32 how = how_of(c->a[0]), sig = (u32)c->a[3], native = sig;
	bool ends = c->a[0] == PTRACE_DETACH, is_kept;
	s64 ret;

	if (e->kind == AP_TRACEE_OTHER)
		return 1;
	if (c->a[3] > AP_NSIG - 1)
		return -AP_EIO;
	if (e->kind == AP_TRACEE_NEW) {
		tell_boot(e, how & ~AP_TRACED_STEP);
	} else {
		is_kept = e->nkept && e->kept[0].has_info && !sig;
		tell_thread(e, how, sig);
		if (e->kind == AP_TRACEE_MARK)
			native = is_kept && ends ? answer_kept(e) : answer_mark(e, sig);
		else if (e->is_cut)
			native = answer_cut(e, sig, ends);
		else if (e->traced.again)
			native = make_again(e);
	}
	e->given = sig;
	e->is_cut = false;
	e->status = 0;
	ret = ap_k_ptrace(ends ? PTRACE_DETACH : PTRACE_CONT, (s32)e->tid, 0, native);
	if (!ret && ends)
		ap_tracee_drop(e->tid);
	return ret;
}

/* --- what it is asked */

static s64 regs(struct ap_tracee *e, const struct ap_call *c)
{
	struct user_regs_struct r;
	s64 ret;

	if (c->a[0] == PTRACE_SETREGS) {
		if (ap_safe_copy(&r, (const void *)c->a[3], sizeof(r)))
			return -AP_EFAULT;
		return ap_tracee_set_regs(e, &r);
	}
	ret = ap_tracee_regs(e, &r);
	return ret ? ret : put(c->a[3], &r, sizeof(r));
}

static s64 regset(struct ap_tracee *e, const struct ap_call *c)
{
	struct user_regs_struct r;
	struct iovec iov;
	s64 ret;

	if (c->a[2] != NT_PRSTATUS)
		return 1;
	if (ap_safe_copy(&iov, (const void *)c->a[3], sizeof(iov)))
		return -AP_EFAULT;
	if (iov.iov_len % sizeof(u64))
		return -AP_EINVAL;
	if (iov.iov_len > sizeof(r))
		iov.iov_len = sizeof(r);
	ret = ap_tracee_regs(e, &r);
	if (ret)
		return ret;
	if (c->a[0] == PTRACE_GETREGSET) {
		ret = put((u64)iov.iov_base, &r, iov.iov_len);
	} else {
		if (ap_safe_copy(&r, iov.iov_base, iov.iov_len))
			return -AP_EFAULT;
		ret = ap_tracee_set_regs(e, &r);
	}
	return ret ? ret : put(c->a[3], &iov, sizeof(iov));
}

/* A word of struct user: its registers are virtual, its debug registers the kernel's. */
static s64 user_word(struct ap_tracee *e, const struct ap_call *c)
{
	struct user_regs_struct r;
	u64 *word;
	s64 ret;

	if (c->a[2] >= USER_REGS || c->a[2] % sizeof(u64))
		return 1;
	ret = ap_tracee_regs(e, &r);
	if (ret)
		return ret;
	word = (u64 *)&r + c->a[2] / sizeof(u64);
	if (c->a[0] == PTRACE_PEEKUSR)
		return put(c->a[3], word, sizeof(*word));
	*word = c->a[3];
	return ap_tracee_set_regs(e, &r);
}

static s64 info(struct ap_tracee *e, const struct ap_call *c)
{
	if (!e->has_info)
		return e->kind == AP_TRACEE_MARK || e->kind == AP_TRACEE_NEW ? -AP_EINVAL : 1;
	if (c->a[0] == PTRACE_GETSIGINFO)
		return put(c->a[3], &e->info, sizeof(e->info));
	return ap_safe_copy(&e->info, (const void *)c->a[3], sizeof(e->info)) ? -AP_EFAULT : 0;
}

/* Of a stop in a call its siginfo is a AP_SIGTRAP that the kernel makes up. */
static void make_up_info(struct ap_tracee *e)
{
	if (e->has_info || (e->kind != AP_TRACEE_MARK && !e->is_cut))
		return;
	memset(&e->info, 0, sizeof(e->info));
	e->info.signo = AP_SIGTRAP;
	e->info.code = e->status >> 8 & 0xff;
	e->has_info = true;
}

static s64 call_info(struct ap_tracee *e, const struct ap_call *c)
{
	u64 out[12] = { 0 };
	s64 size = ap_tracee_call_info(e, out);

	if (size < 0)
		return size;
	return put(c->a[3], out, c->a[2] < (u64)size ? c->a[2] : (u64)size) ?: size;
}

/* 1: the kernel shall answer. */
static s64 ask(struct ap_tracee *e, const struct ap_call *c)
{
	if (e->kind == AP_TRACEE_OTHER)
		return 1;
	switch (c->a[0]) {
	case PTRACE_GETREGS:
	case PTRACE_SETREGS:
		return regs(e, c);
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		return regset(e, c);
	case PTRACE_PEEKUSR:
	case PTRACE_POKEUSR:
		return user_word(e, c);
	case PTRACE_GETSIGINFO:
	case PTRACE_SETSIGINFO:
		make_up_info(e);
		return info(e, c);
	case PTRACE_GET_SYSCALL_INFO:
		return call_info(e, c);
	case PTRACE_GETEVENTMSG:
		return e->has_msg ? put(c->a[3], &e->msg, sizeof(e->msg)) : 1;
	default:
		return 1;
	}
}

/* --- all of them */

static void set_opts(struct ap_tracee *e, u32 opts)
{
	if (!e)
		return;
	e->opts = opts;
	e->knows_opts = true;
}

/* The kernel has done it. */
static void note(struct ap_thread *t, struct ap_tracee *e, const struct ap_call *c)
{
	switch (c->a[0]) {
	case PTRACE_TRACEME:
		ap_traced_by_parent(t);
		break;
	case PTRACE_SEIZE:
		e = ap_tracee_get((u32)c->a[1]);
		set_opts(e, (u32)c->a[3]);
		if (e)
			e->is_seized = true;
		break;
	case PTRACE_ATTACH:
		set_opts(ap_tracee_get((u32)c->a[1]), 0);
		break;
	case PTRACE_SETOPTIONS:
		set_opts(e, (u32)c->a[3]);
		break;
	case PTRACE_DETACH:
		ap_tracee_drop((u32)c->a[1]);
		break;
	default:
		break;
	}
}

static bool goes_on(u64 request)
{
	return request == PTRACE_CONT || request == PTRACE_SYSCALL ||
	       request == PTRACE_SINGLESTEP || request == PTRACE_DETACH;
}

s64 ap_call_ptrace(struct ap_thread *t, struct ap_call *c)
{
	struct ap_tracee *e = c->a[0] == PTRACE_TRACEME ? NULL : ap_tracee_find((u32)c->a[1]);
	s64 ret = 1;
	bool held;
	u64 mask;

	if (e && e->status) {
		held = ap_call_block(t, &mask);
		ret = goes_on(c->a[0]) ? go_on(e, c) : ask(e, c);
		if (held)
			ap_sig_set_mask(mask);
	}
	if (ret <= 0 || (e && c->a[0] == PTRACE_GET_SYSCALL_INFO && ret > 1))
		return ret;
	ret = ap_call_pass(t, c);
	if (!ret)
		note(t, e, c);
	return ret;
}
