/* SPDX-License-Identifier: MIT */
/*
 * The traced side: a thread whose tracer is a program of the session stops for it where its registers are the
 * program's, and says why (traced.h).  The stop is a breakpoint instruction of the engine's: it cannot be blocked, costs no
 * system call of which a tracer could hear, and where there is no tracer any more its signal comes to the master handler,
 * which forgets about it.
 */
#include "engine/ptrace/traced.h"

#include <stddef.h>

#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"
#include "inject/proc.h"

#define RAX 0
#define RCX 1
#define R11 11

#define SYSCALL_LEN 2
#define TRAP_SIGNAL 5

#define O_TRACEFORK  2u
#define O_TRACEVFORK 4u
#define O_TRACECLONE 8u
#define O_TRACEEXEC  16u

/* False where nobody has seen it. */
static bool stop(struct ap_thread *t, u32 why)
{
	__atomic_store_n(&t->traced.stop, why, __ATOMIC_SEQ_CST);
	ap_traced_trap();
	if (__atomic_load_n(&t->traced.stop, __ATOMIC_SEQ_CST) == AP_TRACED_LOST) {
		t->traced.how = 0;
		return false;
	}
	t->traced.stop = AP_TRACED_RUNS;
	return true;
}

bool ap_traced_is_lost(struct ap_thread *t, u32 sig, u64 pc)
{
	if (ap_likely(pc != (u64)ap_traced_mark) || sig != TRAP_SIGNAL ||
	    t->traced.stop <= AP_TRACED_LOST)
		return false;
	t->traced.stop = AP_TRACED_LOST;
	return true;
}

/* The exit of the exec is what a tracer sees first of the new image, if it looks at calls. */
void ap_traced_begin(struct ap_thread *t)
{
	const struct ap_boot *boot = ap_proc.boot;

	t->traced.how = boot->traced;
	t->traced.opts = boot->traced_opts;
	if (!(t->traced.how & AP_TRACED_CALLS))
		return;
	t->traced.nr = boot->traced_nr;
	t->traced.entered = 1;
	ap_traced_exit(t, 0, 0);
}

static bool read_seg(u32 seg, u64 at, void *to, u64 size)
{
	return ap_sys4(AP_NR_pread64, (u64)ap_fd(ap_self()), (u64)to, size, AP_SEG_OFF(seg) + at) ==
	       (s64)size;
}

static void write_seg(u32 seg, u64 at, const void *from, u64 size)
{
	(void)ap_sys4(AP_NR_pwrite64, (u64)ap_fd(ap_self()), (u64)from, size, AP_SEG_OFF(seg) + at);
}

void ap_traced_set_state(u32 seg, u32 state)
{
	write_seg(seg, offsetof(struct ap_seg, state), &state, sizeof(state));
}

/* The newest of a process in that state, as it is called here. */
static u32 find_seg(u32 pid, u32 state, struct ap_seg *head)
{
	const u32 party = AP_PARTY_OF(ap_proc.seg_index);

	for (u32 i = ap_segs_end(ap_proc.session, party); i-- > party << AP_PARTY_SHIFT;) {
		if (!read_seg(i, 0, head, sizeof(*head)))
			break;
		if (head->state == state && head->ns_pid == pid &&
		    head->pidns == ap_proc.seg->pidns)
			return i;
	}
	return UINT32_MAX;
}

u32 ap_traced_find_exec(u32 pid, struct ap_seg *head, struct ap_slot *slot)
{
	u32 seg = find_seg(pid, AP_SEG_INIT, head);

	return seg != UINT32_MAX && read_seg(seg, AP_SLOTS_OFF, slot, sizeof(*slot)) ? seg
										     : UINT32_MAX;
}

/* Its engine has not left it either. */
static bool is_of_session(u32 pid)
{
	struct ap_seg head;
	u32 seg = find_seg(pid, AP_SEG_LIVE, &head), native;

	if (seg == UINT32_MAX)
		return false;
	for (u32 i = 0; i < head.nslots && i < AP_SLOT_MAX; i++)
		if (!read_seg(seg, AP_SLOT_OFF(i) + offsetof(struct ap_slot, native), &native,
			      sizeof(native)) ||
		    native)
			return false;
	return true;
}

void ap_traced_by_parent(struct ap_thread *t)
{
	if (is_of_session((u32)ap_sys0(AP_NR_getppid)))
		t->traced.how = AP_TRACED;
	else
		t->traced.by_other = 1;
}

static bool is_traced_from_birth(const struct ap_traced *parent, u64 clone_flags)
{
	u32 wanted = O_TRACEFORK;

	if (clone_flags & AP_CLONE_VFORK)
		wanted = O_TRACEVFORK;
	else if (clone_flags & (AP_CLONE_VM | AP_CLONE_THREAD))
		wanted = O_TRACECLONE;
	return parent->how && parent->opts & wanted;
}

void ap_traced_child(struct ap_thread *child, const struct ap_traced *parent, u64 clone_flags)
{
	/* a fork's child has stopped before it came here, and its tracer told it how it is to go on */
	u32 how = parent == &child->traced ? parent->how
					   : AP_TRACED | (parent->how & AP_TRACED_BLIND);
	u32 opts = parent->opts;

	if (!is_traced_from_birth(parent, clone_flags))
		how = opts = 0;
	child->traced = (struct ap_traced){ .mark = (u64)ap_traced_mark,
					    .how = how,
					    .opts = opts,
					    .calls = how && parent != &child->traced };
}

bool ap_traced_entry(struct ap_thread *t, u64 pc, s64 *ret)
{
	u64 *gpr = t->regs.gpr;

	t->traced.nr = gpr[RAX];
	t->traced.entered = 1;
	gpr[RAX] = (u64)-AP_ENOSYS;
	gpr[RCX] = t->regs.rip = pc + SYSCALL_LEN;
	gpr[R11] = t->regs.rflags;
	(void)stop(t, AP_TRACED_ENTRY);
	t->regs.rip = pc;
	*ret = (s64)gpr[RAX];
	gpr[RAX] = t->traced.nr;
	return (s64)t->traced.nr >= 0;
}

void ap_traced_exit(struct ap_thread *t, u64 pc, s64 why)
{
	u64 rax = t->regs.gpr[RAX];

	t->traced.calls = 0;
	if (!t->traced.entered)
		return;
	t->traced.entered = 0;
	if (!(t->traced.how & AP_TRACED_CALLS))
		return;
	if (why) {
		t->regs.gpr[RAX] = (u64)why;
		t->regs.rip = pc + SYSCALL_LEN;
	}
	(void)stop(t, AP_TRACED_EXIT);
	if (why) {
		t->regs.gpr[RAX] = rax;
		t->regs.rip = pc;
	}
}

/* It may have died, which lets its tracees go. */
static bool has_tracer(void)
{
	char text[4096];
	const char *at;
	s64 fd = ap_sys3(AP_NR_open, (u64) "/proc/self/status", AP_O_CLOEXEC, 0), n;

	if (fd < 0)
		return false;
	n = ap_sys3(AP_NR_read, (u64)fd, (u64)text, sizeof(text) - 1);
	ap_sys1(AP_NR_close, (u64)fd);
	text[n > 0 ? n : 0] = 0;
	at = ap_status_find(text, "TracerPid");
	return at && ap_text_u64(&at, 10);
}

static bool make_segment(struct ap_thread *t)
{
	const struct ap_slot *own = ap_thread_slot(t);
	/* nobody's yet */
	const struct ap_slot first = { .exec_random = own->exec_random,
				       .exec_sigmask = own->exec_sigmask,
				       .exec_fd = own->exec_fd,
				       .exec_head = own->exec_head,
				       .exec_nofile = own->exec_nofile,
				       .exec_limits = own->exec_limits,
				       .exec_ptracer = own->exec_ptracer,
				       .exec_cwd = own->exec_cwd,
				       .exec_secluded = own->exec_secluded };
	struct ap_seg *seg;
	u32 former, slot;

	ap_slot_place(t, &former, &slot);
	ap_lock_take(&ap_proc.lock);
	seg = ap_segment_new(&t->traced.seg);
	if (seg) {
		seg->root = own->exec_root;
		seg->parent_seg = former;
		seg->nshapes = 0;
		seg->pidns = ap_proc.seg->pidns;
		seg->ns_pid = t->pid;
		write_seg(t->traced.seg, AP_SLOTS_OFF, &first, sizeof(first));
		__atomic_store_n(&seg->state, AP_SEG_INIT, __ATOMIC_RELEASE);
	}
	ap_lock_drop(&ap_proc.lock);
	return seg;
}

/* By an event, or by a SIGTRAP behind the exec, which does not come where it is blocked. */
static bool is_told(const struct ap_thread *t)
{
	return t->traced.opts & O_TRACEEXEC ||
	       !(t->traced.how & AP_TRACED_BLIND || t->virt_mask & AP_SIG_BIT(AP_SIGTRAP));
}

bool ap_traced_execs(struct ap_thread *t)
{
	if (!t->traced.how)
		return false;
	if (is_told(t) && has_tracer() && make_segment(t))
		return true;
	t->traced.how = 0;
	return false;
}

void ap_traced_exec_failed(struct ap_thread *t)
{
	ap_traced_set_state(t->traced.seg, AP_SEG_EXECED);
}

/* What others send stops the thread in the kernel's way; what it raises itself only the engine can tell from its own. */
bool ap_traced_signal(struct ap_thread *t)
{
	const struct ap_siginfo *info = (const struct ap_siginfo *)t->pend_info;

	if (info->code <= 0 || !(AP_SIG_SYNC & AP_SIG_BIT(t->pend_sig)))
		return true;
	return !stop(t, AP_TRACED_SIGNAL) || t->traced.deliver;
}

void ap_traced_look(struct ap_thread *t)
{
	struct ap_traced *tr = &t->traced;

	while (tr->how & AP_TRACED_LOOK) {
		if (t->pending)
			return;
		if (tr->how & AP_TRACED_FLUSH) {
			tr->how &= ~AP_TRACED_FLUSH;
			/* where that was is on a board that cannot be read here */
			if (tr->party != AP_PARTY_OF(ap_proc.seg_index))
				ap_smc_poked(0, UINT64_MAX);
			ap_smc_serialize();
		} else if (tr->how & AP_TRACED_COME) {
			tr->how &= ~AP_TRACED_COME;
			(void)stop(t, AP_TRACED_CAME);
		} else if (!tr->steps) {
			tr->steps = 1;
			ap_dispatch_one_shot(t);
		} else {
			tr->steps = 0;
			tr->how &= ~AP_TRACED_STEP;
			(void)stop(t, AP_TRACED_STEPPED);
		}
	}
}
