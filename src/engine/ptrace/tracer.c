/* SPDX-License-Identifier: MIT */
/*
 * The tracing side: what wait() says of tasks that the program traces and that have an engine.  The kernel tells of every
 * stop, also of those that are the engine's own affair; these are dealt with here, and the task goes on.  Of the others the
 * program hears as if there were no engine.  docs/design/traced.md.
 */
#include "engine/ptrace/tracer.h"

#include <linux/ptrace.h>
#include <linux/wait.h>
#include <stddef.h>

#include "inject/kcall.h"

#define O_SYSGOOD 1u
#define SYSGOOD	  0x80

#define SI_REQUEUED (AP_NUDGE_CODE - 1) /* si_code of what is sent to a tracee for a second time */

/* As wait4 has it, and siginfo's si_code. */
#define CONTINUED     0xffff
#define CLD_TRAPPED   4
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

static u32 stop_signal(int status)
{
	return (u32)status >> 8 & 0xff;
}

static int stop_code(u32 what)
{
	return (int)(what << 8 | 0x7f);
}

static struct ap_tracee *tracees; /* [AP_TRACEES_MAX]; NULL before the first */
static u32 ntracees; /* so many places have ever been used: most programs trace nobody */

struct ap_tracee *ap_tracee_find(u32 tid)
{
	u32 n = __atomic_load_n(&ntracees, __ATOMIC_ACQUIRE);

	for (u32 i = 0; tid && i < n && i < AP_TRACEES_MAX; i++)
		if (__atomic_load_n(&tracees[i].tid, __ATOMIC_ACQUIRE) == tid)
			return &tracees[i];
	return NULL;
}

/* Two threads may come at once. */
static bool make_tracees(void)
{
	struct ap_tracee *none = NULL, *made;

	if (__atomic_load_n(&tracees, __ATOMIC_ACQUIRE))
		return true;
	made = ap_mem_map(0, AP_TRACEES_MAX * sizeof(*made));
	if (made && !__atomic_compare_exchange_n(&tracees, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
		ap_mem_unmap(made, AP_TRACEES_MAX * sizeof(*made));
	return made != NULL;
}

static struct ap_tracee *new_tracee(void)
{
	u32 n = __atomic_load_n(&ntracees, __ATOMIC_ACQUIRE), none;

	if (!make_tracees())
		return NULL;

	for (u32 i = 0; i < n && i < AP_TRACEES_MAX; i++) {
		none = 0;
		if (__atomic_compare_exchange_n(&tracees[i].tid, &none, UINT32_MAX, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return &tracees[i];
	}
	/* nobody else has it, and it is found by its number only when it has one */
	n = n < AP_TRACEES_MAX ? __atomic_fetch_add(&ntracees, 1, __ATOMIC_ACQ_REL) : n;
	return n < AP_TRACEES_MAX ? &tracees[n] : NULL;
}

struct ap_tracee *ap_tracee_get(u32 tid)
{
	struct ap_tracee *e = ap_tracee_find(tid);

	if (e || !tid)
		return e;
	e = new_tracee();
	if (!e)
		return NULL;
	__atomic_store_n(&e->tid, UINT32_MAX, __ATOMIC_RELAXED);
	memset((char *)e + sizeof(e->tid), 0, sizeof(*e) - sizeof(e->tid));
	e->code_gen = __atomic_load_n(&ap_proc.board->code_gen, __ATOMIC_ACQUIRE);
	__atomic_store_n(&e->tid, tid, __ATOMIC_RELEASE);
	return e;
}

void ap_tracee_drop(u32 tid)
{
	struct ap_tracee *e = ap_tracee_find(tid);

	if (e)
		__atomic_store_n(&e->tid, 0, __ATOMIC_RELEASE);
}

void ap_tracer_in_child(void)
{
	for (u32 i = 0; i < ntracees && i < AP_TRACEES_MAX; i++)
		tracees[i].tid = 0;
	ntracees = 0;
}

static s64 let_go(const struct ap_tracee *e, u32 sig)
{
	return ap_k_ptrace(e->awaits_call ? PTRACE_SYSCALL : PTRACE_CONT, (s32)e->tid, 0, sig);
}

static void write_word(const struct ap_tracee *e, u64 offset, u32 v)
{
	(void)!ap_task_write((pid_t)e->tid, ap_tracee_field(e, offset), &v, sizeof(v));
}

#define WRITE(e, field, v) write_word(e, offsetof(struct ap_thread, traced.field), v)

static bool read_thread(struct ap_tracee *e, u64 at)
{
	u64 self;

	e->thread = 0;
	if (!at || at % AP_PAGE_SIZE || ap_task_read((pid_t)e->tid, at, &self, sizeof(self)) ||
	    self != at ||
	    ap_task_read((pid_t)e->tid, self + offsetof(struct ap_thread, traced), &e->traced,
			 sizeof(e->traced)) ||
	    !e->traced.mark)
		return false;
	e->thread = self;
	return true;
}

/* Is it a thread of an engine's?  Its %gs leads to it; to its parent, where it has just been born to the same memory. */
static bool find_thread(struct ap_tracee *e, const struct user_regs_struct *r)
{
	if (!read_thread(e, r->gs_base))
		return false;
	if (r->rip == e->traced.mark + (u64)(ap_task_cloned - ap_traced_mark) && !r->rax)
		return read_thread(e, r->r9);
	return true;
}

/* The kernel has it, in a call of the program's. */
static bool is_in_kernel(const struct ap_tracee *e)
{
	u32 in_call = 0;

	return !ap_task_read((pid_t)e->tid, ap_tracee_field(e, AP_T_IN_CALL), &in_call,
			     sizeof(in_call)) &&
	       in_call;
}

/* In the program's call: what the thread has in t->regs is what it was called with. */
static bool is_in_call(const struct ap_tracee *e)
{
	return e->traced.calls || is_in_kernel(e);
}

static bool restarts(const struct user_regs_struct *r)
{
	s64 ret = (s64)r->rax;

	return ret <= -AP_ERESTARTSYS && ret >= -AP_ERESTART_RESTARTBLOCK;
}

/* The tracer waits for the exit of the program's call, which the kernel has made, or the engine is making of its own. */
static bool awaits_exit(const struct ap_tracee *e, const struct user_regs_struct *r)
{
	if (!e->traced.entered || !(e->traced.how & AP_TRACED_CALLS))
		return false;
	switch (e->traced.nr) {
	case AP_NR_fork:
	case AP_NR_clone:
	case AP_NR_clone3: /* the child's end may come while the engine does its part */
		return r->orig_rax == e->traced.nr || !is_in_kernel(e);
	default:
		return r->orig_rax == e->traced.nr;
	}
}

/* The signal has cut the call short. */
static bool is_cut_short(const struct user_regs_struct *r)
{
	return restarts(r) || (s64)r->rax == -AP_EINTR;
}

/*
 * What the tracer is told first is the exit of a call that was cut short.  The engine may have to make it again, so the task stays where it
 * is: the signal is told by a stop of its own, when the task goes on.
 */
static int tell_exit(struct ap_tracee *e)
{
	e->is_cut = true;
	return stop_code(AP_SIGTRAP | (e->opts & O_SYSGOOD ? SYSGOOD : 0));
}

static bool is_sync(u32 sig)
{
	return sig < AP_NSIG && AP_SIG_SYNC & AP_SIG_BIT(sig);
}

/* The handler of one that was told blocks the others of its kind; the kernel puts those back, and tells of them later. */
static bool is_blocked(const struct ap_tracee *e, u32 sig)
{
	u64 mask = 0;

	return !ap_k_ptrace(PTRACE_GETSIGMASK, (s32)e->tid, sizeof(mask), (u64)&mask) &&
	       mask & AP_SIG_BIT(sig);
}

/* *back: the signal that it is given back, where it is told of none. */
static int take_kept(struct ap_tracee *e, u32 *back)
{
	struct ap_kept k = e->kept[0];

	if (!e->nkept)
		return 0;
	e->nkept--;
	memmove(&e->kept[0], &e->kept[1], e->nkept * sizeof(e->kept[0]));
	if (k.has_info && !ap_wait_event(k.status) && is_blocked(e, stop_signal(k.status))) {
		ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)&k.info);
		*back = stop_signal(k.status);
		if (e->nkept)
			WRITE(e, how, e->traced.how | AP_TRACED_COME);
		return 0;
	}
	e->info = k.info;
	e->has_info = k.has_info;
	return k.status;
}

/*
 * A signal that meets the task at the stop of a call's entry is to be there when the kernel makes the call: whether and how it ends that
 * only the kernel knows.  So it is taken away, the task goes on to the kernel's own entry, and is sent it there.
 */
static bool meets_entry(const struct ap_tracee *e, const struct user_regs_struct *r)
{
	return r->rip == e->traced.mark && e->traced.entered && (s64)e->traced.nr >= 0 &&
	       e->nkept < AP_KEPT_MAX;
}

static int keep_for_call(struct ap_tracee *e, int status, const struct ap_siginfo *info)
{
	struct ap_kept *k = &e->kept[e->nkept++];

	*k = (struct ap_kept){ .status = status, .has_info = true, .info = *info };
	e->awaits_call = true;
	return let_go(e, 0) ? status : 0;
}

static bool is_call_stop(const struct ap_tracee *e, int status)
{
	u32 sig = stop_signal(status);
	struct ap_siginfo info;

	if (ap_wait_event(status) || (sig != AP_SIGTRAP && sig != (AP_SIGTRAP | SYSGOOD)))
		return false;
	return sig != AP_SIGTRAP || (!ap_k_ptrace(PTRACE_GETSIGINFO, (s32)e->tid, 0, (u64)&info) &&
				     info.code == AP_SIGTRAP);
}

/* What it was about to be told comes once more, as the next thing that it stops for. */
void ap_tracee_send_anew(struct ap_tracee *e, const struct ap_siginfo *info)
{
	struct ap_siginfo sent = *info;
	u32 pid;

	if (e->nqueued == AP_KEPT_MAX) /* some were lost: one of their kind was pending */
		e->nqueued = 0;
	e->queued[e->nqueued++] = *info;
	sent.code = SI_REQUEUED;
	if (ap_task_read((pid_t)e->tid, ap_tracee_field(e, offsetof(struct ap_thread, pid)), &pid,
			 sizeof(pid)) ||
	    ap_rawsys(AP_NR_rt_tgsigqueueinfo, pid, e->tid, (u64)info->signo, (u64)&sent, 0, 0))
		ap_rawsys(AP_NR_tkill, e->tid, (u64)info->signo, 0, 0, 0, 0);
}

/* The kernel's stop at a call: at others of the engine's it goes on. */
static void at_call(struct ap_tracee *e, const struct user_regs_struct *r)
{
	if (is_in_kernel(e) && (s64)r->rax == -AP_ENOSYS) {
		e->nqueued = 0;
		for (u32 k = 0; k < e->nkept; k++)
			ap_tracee_send_anew(e, &e->kept[k].info);
		e->nkept = 0;
		e->awaits_call = false;
	}
	(void)let_go(e, 0);
}

/* One that was sent anew has its own siginfo again. */
static void look_for_queued(struct ap_tracee *e, u32 sig, struct ap_siginfo *info)
{
	u32 k = 0;

	if (info->code != SI_REQUEUED)
		return;
	while (k < e->nqueued && (u32)e->queued[k].signo != sig)
		k++;
	if (k == e->nqueued)
		return;
	*info = e->queued[k];
	e->nqueued--;
	memmove(&e->queued[k], &e->queued[k + 1], (e->nqueued - k) * sizeof(e->queued[0]));
	ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)info);
}

/* What it tells by its stop at the mark; 0: nothing that concerns the program. */
static int told(struct ap_tracee *e, u32 *back)
{
	u32 sig;

	e->kind = AP_TRACEE_MARK;
	switch (e->traced.stop) {
	case AP_TRACED_ENTRY:
	case AP_TRACED_EXIT:
		return stop_code(AP_SIGTRAP | (e->opts & O_SYSGOOD ? SYSGOOD : 0));
	case AP_TRACED_SIGNAL:
		if (ap_task_read((pid_t)e->tid,
				 ap_tracee_field(e, offsetof(struct ap_thread, pend_sig)), &sig,
				 sizeof(sig)) ||
		    ap_task_read((pid_t)e->tid,
				 ap_tracee_field(e, offsetof(struct ap_thread, pend_info)),
				 &e->info, sizeof(e->info)) ||
		    sig >= AP_NSIG)
			return 0;
		e->has_info = true;
		return stop_code(sig);
	case AP_TRACED_STEPPED:
		memset(&e->info, 0, sizeof(e->info));
		e->info.signo = AP_SIGTRAP;
		e->info.code = AP_TRAP_TRACE;
		e->has_info = true;
		return stop_code(AP_SIGTRAP);
	case AP_TRACED_CAME:
		e->awaits_call = false;
		return take_kept(e, back);
	default:
		return 0;
	}
}

/*
 * In code, or in the engine on the way to it or from it: its registers are the program's a little later.  The signal that
 * stopped it gives its place to the nudge; in a group stop there is none.
 */
static int call_out(struct ap_tracee *e, int status)
{
	struct ap_siginfo nudge = { .signo = AP_SIGTRAP, .code = AP_NUDGE_CODE };
	const u64 magic = AP_SESSION_MAGIC;
	struct ap_kept *k = &e->kept[e->nkept];
	u32 pid;

	if (e->nkept == AP_KEPT_MAX)
		return status;
	e->nkept++;
	memcpy(nudge.rest, &magic, sizeof(magic));
	k->status = status;
	k->has_info = !ap_k_ptrace(PTRACE_GETSIGINFO, (s32)e->tid, 0, (u64)&k->info);
	WRITE(e, how, e->traced.how | AP_TRACED | AP_TRACED_COME);
	if (!ap_wait_event(status) && k->has_info) {
		ap_k_ptrace(PTRACE_SETSIGINFO, (s32)e->tid, 0, (u64)&nudge);
		return let_go(e, AP_SIGTRAP) ? status : 0;
	}
	if (!ap_task_read((pid_t)e->tid, ap_tracee_field(e, offsetof(struct ap_thread, pid)), &pid,
			  sizeof(pid)))
		ap_rawsys(AP_NR_rt_tgsigqueueinfo, pid, e->tid, AP_SIGTRAP, (u64)&nudge, 0, 0);
	return let_go(e, 0) ? status : 0;
}

/* The kernel has executed an instruction with a uprobe for it: that it says by a signal without a sender (probed.c). */
static bool ends_visit(const struct ap_tracee *e, const struct ap_siginfo *info)
{
	u32 on_trial;

	return info->signo == AP_SIGTRAP && info->code == AP_SI_USER &&
	       !ap_task_read((pid_t)e->tid,
			     ap_tracee_field(e, offsetof(struct ap_thread, on_trial)), &on_trial,
			     sizeof(on_trial)) &&
	       on_trial == AP_TRIAL_PROBED;
}

/* The kernel stopped it for something. */
static int stopped(struct ap_tracee *e, int status, const struct user_regs_struct *r)
{
	u32 sig = stop_signal(status), event = ap_wait_event(status);
	struct ap_siginfo info;
	bool has_info;

	e->kind = AP_TRACEE_RAW;
	has_info = !event && !ap_k_ptrace(PTRACE_GETSIGINFO, (s32)e->tid, 0, (u64)&info);
	if (has_info)
		look_for_queued(e, sig, &info);
	if (has_info && is_sync(sig) &&
	    (info.code > 0 || ap_sig_is_nudge(sig, &info) || ends_visit(e, &info))) {
		/* the engine's own, or the program's: which of them only the engine can tell, and will */
		(void)let_go(e, sig);
		return 0;
	}
	if (!(e->traced.how & AP_TRACED))
		WRITE(e, how, AP_TRACED);
	if (event == PTRACE_EVENT_SECCOMP && !is_in_kernel(e)) { /* a call of the engine's */
		(void)let_go(e, 0);
		return 0;
	}
	if (event && (event != PTRACE_EVENT_STOP || sig != AP_SIGTRAP))
		return status;
	e->restarts = has_info && is_in_kernel(e) && restarts(r);
	if (r->rip == 0 || (is_in_call(e) && (event || !awaits_exit(e, r))))
		return status;
	if (has_info && is_in_kernel(e) && is_cut_short(r)) {
		e->cut = info;
		return tell_exit(e);
	}
	if (has_info && meets_entry(e, r))
		return keep_for_call(e, status, &info);
	e->awaits_call = false;
	return call_out(e, status);
}

/* A signal that kills strikes a second time, where the engine has given all registers back. */
static bool is_dying(const struct ap_tracee *e, int status)
{
	u32 sig = stop_signal(status);

	return e->thread && !ap_wait_event(status) && sig == e->given &&
	       (is_sync(sig) || ap_sig_dumps_core(sig));
}

/* At the exec's own stop, or behind it, where it raises a signal in place of one. */
static bool is_new_image(const struct user_regs_struct *r, int status)
{
	u32 event = ap_wait_event(status);

	return !r->gs_base && (r->orig_rax == AP_NR_execve || r->orig_rax == AP_NR_execveat) &&
	       (event == PTRACE_EVENT_EXEC || (!event && stop_signal(status) == AP_SIGTRAP));
}

/* A thread of this very memory, whose registers peek.c tells: it may hold what its tracer needs, and is not sent anywhere. */
static bool is_beside_us(const struct ap_tracee *e, const struct user_regs_struct *r)
{
	const struct ap_thread *o = __atomic_load_n(&ap_proc.threads, __ATOMIC_ACQUIRE);

	while (o && (o->tid != e->tid || (u64)o != r->gs_base))
		o = __atomic_load_n(&o->next, __ATOMIC_ACQUIRE);
	return o && !o->is_vfork_child;
}

/* A stop of a task: what the program is told of it; 0 nothing, and it goes on. */
static int judge(struct ap_tracee *e, int status)
{
	u32 event = ap_wait_event(status), sig = stop_signal(status), back = 0;
	struct user_regs_struct r;

	if (e->status == status && e->kind == AP_TRACEE_NEW)
		return status; /* it was looked at, and not taken */
	e->has_info = e->has_msg = e->restarts = e->is_cut = false;
	if (ap_task_get_regs((pid_t)e->tid, &r))
		return status;
	if (is_new_image(&r, status) && ap_tracee_put_in(e, !event)) {
		e->given = 0;
		return status;
	}
	if (is_dying(e, status) && r.gs_base != e->thread) {
		(void)let_go(e, sig);
		return 0;
	}
	if (is_beside_us(e, &r) || !find_thread(e, &r)) {
		e->kind = AP_TRACEE_OTHER;
		return status;
	}
	if (!e->knows_opts) { /* traced from its birth on, as its parent is; or our own image is a new one */
		e->opts = e->traced.opts;
		e->is_seized = e->traced.how & AP_TRACED_BLIND;
	}
	e->knows_opts = true;
	if (!event && sig == AP_SIGTRAP && r.rip == e->traced.mark &&
	    e->traced.stop > AP_TRACED_LOST) {
		status = told(e, &back);
		if (!status) {
			WRITE(e, stop, AP_TRACED_RUNS);
			(void)let_go(e, back);
		}
		return status;
	}
	if (e->awaits_call && is_call_stop(e, status)) {
		at_call(e, &r);
		return 0;
	}
	return stopped(e, status, &r);
}

/* Of a stop that wait() told of.  Signals are held off: what is asked of the task, and of the session, is not cut short. */
static int look(struct ap_thread *t, u32 tid, int status)
{
	struct ap_tracee *e;
	bool held;
	u64 mask;

	if (!ap_tracee_find(tid) && ap_k_ptrace(PTRACE_GETEVENTMSG, (s32)tid, 0, (u64)&mask))
		return status; /* stopped by job control, or another thread's tracee */
	e = ap_tracee_get(tid);
	if (!e)
		return status;
	held = ap_call_block(t, &mask);
	status = judge(e, status);
	e->status = status;
	if (status)
		e->awaits_call = false;
	if (held)
		ap_sig_set_mask(mask);
	return status;
}

/* --- wait4 and waitid */

/* Words of a siginfo; wait4's status is in a place of its own. */
enum { INFO_SIGNO, INFO_CODE = 2, INFO_PID = 4, INFO_STATUS = 6, INFO_WORDS };

/* What the kernel answered. */
struct answer {
	s32 info[32]; /* a siginfo_t */
	s32 status;   /* wait4's */
};

static bool is_wait4(const struct ap_call *c)
{
	return c->nr == AP_NR_wait4;
}

/* The task that it tells of; 0: of none. */
static u32 tid_of(const struct ap_call *c, s64 ret, const struct answer *a)
{
	if (is_wait4(c))
		return ret > 0 ? (u32)ret : 0;
	return ret == 0 ? (u32)a->info[INFO_PID] : 0;
}

/* Its status if that is a stop, else 0. */
static int stop_of(const struct ap_call *c, const struct answer *a)
{
	if (is_wait4(c))
		return (a->status & 0xff) == 0x7f ? a->status : 0;
	if (a->info[INFO_CODE] != CLD_TRAPPED && a->info[INFO_CODE] != CLD_STOPPED)
		return 0;
	return stop_code((u32)a->info[INFO_STATUS]);
}

static s64 tell(const struct ap_call *c, s64 ret, const struct answer *a)
{
	const void *from = is_wait4(c) ? (const void *)&a->status : a->info;
	u64 to = c->a[is_wait4(c) ? 1 : 2];
	u64 size = is_wait4(c) ? sizeof(a->status) : INFO_WORDS * sizeof(a->info[0]);

	if (to && (!is_wait4(c) || ret > 0) && ap_safe_copy((void *)to, from, size))
		return -AP_EFAULT;
	return ret;
}

static void set_stop(struct answer *a, int status)
{
	a->status = status;
	a->info[INFO_STATUS] = status >> 8;
}

/* The kernel has told of a stop of the engine's, and not taken it. */
static void take(const struct ap_call *c, u32 tid)
{
	s32 si[32];

	if (!is_wait4(c) && c->a[3] & WNOWAIT)
		(void)ap_k_waitid((s32)tid, si, WSTOPPED | WNOHANG | __WALL);
}

s64 ap_call_wait(struct ap_thread *t, struct ap_call *c)
{
	struct ap_call own = *c;
	struct answer a;
	int status;
	s64 ret;
	u32 tid;

	ap_call_give_back(c);
	own.a[is_wait4(c) ? 1 : 2] = is_wait4(c) ? (u64)&a.status : (u64)a.info;
	for (;;) {
		memset(a.info, 0, sizeof(a.info));
		ret = ap_call_pass(t, &own);
		if (AP_CALL_OVER(ret))
			return ret;
		tid = tid_of(c, ret, &a);
		status = tid ? stop_of(c, &a) : 0;
		if (tid && !status &&
		    !(is_wait4(c) ? a.status == CONTINUED
				  : a.info[INFO_CODE] == CLD_CONTINUED || c->a[3] & WNOWAIT))
			ap_tracee_drop(tid);
		if (!status)
			return tell(c, ret, &a);
		status = look(t, tid, status);
		if (status) {
			set_stop(&a, status);
			return tell(c, ret, &a);
		}
		take(c, tid);
	}
}
