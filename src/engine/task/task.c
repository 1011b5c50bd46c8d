/* SPDX-License-Identifier: MIT */
/*
 * How tasks begin and end.
 *
 * A child that shares memory (a thread, a vfork or posix_spawn child) gets an area and a slot of
 * its own and starts on its own engine stack; the program's stack for it is just a register.  A
 * vfork child is another process that runs in this address space until it execs or exits; its
 * parent, which the kernel holds until then, clears up after it.
 */
#include "engine/task/task.h"
#include "base/mem.h"
#include "engine/client.h"
#include "engine/runtime/filter.h"
#include "engine/sample/lane.h"
#include "engine/task/party.h"
#include "engine/thread/still.h"
#include "service/service.h"

/* struct clone_args by index */
enum { ARG_FLAGS, ARG_CHILD_TID = 2, ARG_PARENT_TID, ARG_STACK = 5, ARG_STACK_SIZE, ARG_TLS };

#define CLONE_ARGS_MIN 64
#define CSIGNAL	       0xffULL
#define PARENT_SETTID  0x00100000ULL
#define CHILD_SETTID   0x01000000ULL

/* Reads clone3's struct as the kernel does: what is beyond our knowledge must be zero. */
static s64 read_args(struct ap_clone *k, u64 from, u64 size)
{
	u64 n = size < sizeof(k->args) ? size : sizeof(k->args), word;

	if (size < CLONE_ARGS_MIN)
		return -AP_EINVAL;
	if (size > AP_PAGE_SIZE)
		return -AP_E2BIG;
	memset(k->args, 0, sizeof(k->args));
	if (ap_safe_copy(k->args, (const void *)from, n))
		return -AP_EFAULT;
	for (u64 at = n; at < size; at += 8) {
		word = 0;
		if (ap_safe_copy(&word, (const void *)(from + at), size - at < 8 ? size - at : 8))
			return -AP_EFAULT;
		if (word)
			return -AP_E2BIG;
	}
	if (!k->args[ARG_STACK] != !k->args[ARG_STACK_SIZE])
		return -AP_EINVAL;
	k->flags = k->args[ARG_FLAGS];
	k->tid_at = k->flags & CHILD_SETTID    ? k->args[ARG_CHILD_TID]
		    : k->flags & PARENT_SETTID ? k->args[ARG_PARENT_TID]
					       : 0;
	k->sp = k->args[ARG_STACK] + k->args[ARG_STACK_SIZE];
	k->raw[0] = (u64)k->args;
	k->raw[1] = n;
	return 0;
}

static s64 read_call(struct ap_clone *k, const struct ap_call *c)
{
	memset(k, 0, sizeof(*k));
	k->nr = AP_NR_clone;
	switch (c->nr) {
	case AP_NR_fork:
		k->nr = c->nr;
		k->raw[0] = AP_SIGCHLD;
		break;
	case AP_NR_vfork:
		k->nr = c->nr;
		k->raw[0] = AP_CLONE_VM | AP_CLONE_VFORK | AP_SIGCHLD;
		break;
	case AP_NR_clone:
		memcpy(k->raw, c->a, sizeof(k->raw));
		k->sp = c->a[1];
		break;
	default:
		k->nr = AP_NR_clone3;
		return read_args(k, c->a[0], c->a[1]);
	}
	k->flags = k->raw[0] & 0xffffffff & ~CSIGNAL;
	k->tid_at = k->flags & CHILD_SETTID ? k->raw[3] : k->flags & PARENT_SETTID ? k->raw[2] : 0;
	return 0;
}

/* The child as it will find itself: the parent after the call, but for rax and rsp. */
static void init_child(struct ap_thread *t, struct ap_thread *child, const struct ap_clone *k,
		       const struct ap_call *c, u64 mask)
{
	child->regs = t->regs;
	child->regs.gpr[0] = 0;
	child->regs.gpr[1] = c->pc + 2;
	child->regs.gpr[11] = t->regs.rflags;
	child->regs.rip = c->pc + 2;
	if (k->sp)
		child->regs.gpr[4] = k->sp;
	child->app_gs_base = t->app_gs_base;
	child->next_root = t->next_root;
	child->start_mask = mask;
	child->sig_depth = 1; /* until it has its mask */
	child->sig_outer = mask;
	child->start_flags = k->flags;
	child->tid_at = k->tid_at;
	child->filters = t->filters;
	child->pid = k->flags & AP_CLONE_THREAD ? t->pid : 0;
	child->is_vfork_child = k->flags & AP_CLONE_THREAD ? t->is_vfork_child : 1;
	child->process = k->flags & AP_CLONE_THREAD ? t->process : child->serial;
	child->lock_id = ap_lock_name(child->serial);
	child->foreign = t->foreign;
	child->own_fd = k->flags & AP_CLONE_FILES ? t->own_fd : (u32)ap_fd(t) + 1;
	child->own_head = k->flags & AP_CLONE_FILES ? t->own_head : (u32)ap_head_fd(t) + 1;
	ap_thread_slot(child)->call = c->nr + 1;
	if (k->flags & AP_CLONE_VFORK)
		ap_clients_inherit_stack(child, t);
	ap_traced_child(child, &t->traced, k->flags);
	ap_signal_new_task(t, child, k->flags);
	ap_thread_link(child);
}

/* A child that was not made, or that is gone from this memory: nobody is to wait for it.  Its area may be another's. */
static void never_comes(u64 serial)
{
	struct ap_thread *child;

	ap_lock_take(&ap_proc.lock);
	child = ap_thread_by_serial(serial);
	if (child)
		child->is_still = 1;
	ap_lock_drop(&ap_proc.lock);
}

static s64 raw_clone(struct ap_thread *t, struct ap_clone *k, struct ap_thread *child)
{
	const u64 serial = child->serial;
	s64 ret;

	if (k->nr == AP_NR_clone3) {
		k->args[ARG_FLAGS] &= ~AP_CLONE_CLEAR_SIGHAND;
		k->args[ARG_STACK] = (u64)child + AP_T_STACK_OFF;
		k->args[ARG_STACK_SIZE] = AP_T_STACK_SIZE;
	} else {
		k->raw[1] = child->engine_sp;
	}
	t->in_call = 1; /* until a vfork child execs or ends, if it is one */
	ret = ap_task_clone(k->nr, k->raw, child);
	if (ret < 0 || k->flags & AP_CLONE_VFORK)
		never_comes(serial);
	t->in_call = 0;
	if (ap_still_is_wanted(t))
		ap_still_wait(t);
	if (ret > 0 && ap_task_is_told_tid(child) && !(k->flags & AP_CLONE_VFORK))
		__atomic_store_n(&child->told_tid, (u32)ret, __ATOMIC_RELEASE);
	return ret;
}

/*
 * The child will run no more, or never did.  If it was killed with a lock in its hands the kernel has
 * said so, but for one that the kernel does not know.
 */
static void clear_up(u64 serial, bool ran)
{
	struct ap_thread *child;
	u32 seg, slot;

	ap_lock_disown(ap_lock_name(serial));
	ap_lock_take(&ap_proc.lock);
	child = ap_thread_by_serial(serial);
	if (child) {
		ap_slot_place(child, &seg, &slot);
		if (ran)
			ap_service_buries(ap_thread_slot(child), seg, slot);
		ap_thread_bury(child);
	} else {
		ap_thread_reap(serial);
	}
	ap_lock_drop(&ap_proc.lock);
}

static s64 clone_shared(struct ap_thread *t, struct ap_clone *k, const struct ap_call *c)
{
	bool is_thread = k->flags & AP_CLONE_THREAD, leaves, told;
	struct ap_thread *child;
	u64 mask, serial;
	u32 seg, slot;
	s64 ret;

	if (!ap_call_block(t, &mask))
		return AP_SYSCALL_UNTOUCHED;
	ap_lock_take(&ap_proc.lock);
	leaves = !is_thread && !ap_party_join(t);
	ret = ap_thread_new(&child);
	if (!ret)
		init_child(t, child, k, c, mask);
	if (!ret && leaves)
		ap_party_leave(child); /* its next image does */
	ap_lock_drop(&ap_proc.lock);
	if (ret) {
		ap_sig_set_mask(mask);
		return ap_proc.forsaken ? AP_SYSCALL_UNTOUCHED : -AP_EAGAIN;
	}
	serial = child->serial;
	ap_slot_place(child, &seg, &slot);
	told = ap_service_forks(seg, slot, is_thread);
	ret = raw_clone(t, k, child);
	if (told && ret < 0)
		ap_service_fork_failed(seg, slot, is_thread);
	if (ret < 0 || k->flags & AP_CLONE_VFORK)
		clear_up(serial, ret >= 0);
	ap_sig_set_mask(mask);
	return ret;
}

static s64 call_once(struct ap_thread *t, struct ap_call *c, u64 *random)
{
	struct ap_clone k;
	s64 ret = read_call(&k, c);

	if (ret)
		return ret;
	k.random = random;
	return k.flags & AP_CLONE_VM ? clone_shared(t, &k, c) : ap_task_fork(t, &k);
}

/*
 * Counted before the call, so that it is when the child runs, and taken back where there is none.  RLIMIT_NPROC and
 * pids.max count helpers.
 */
s64 ap_call_clone(struct ap_thread *t, struct ap_call *c)
{
	bool traced = ap_tracepoints_are_on();
	u64 random = 0;
	s64 ret;

	ap_party_look(t);
	if (traced)
		ap_clients_tracepoint(t, AP_TRACE_SCHED_FORK, 1);
	ret = call_once(t, c, &random);
	if (ret == -AP_EAGAIN && ap_clients_make_way())
		ret = call_once(t, c, &random);
	if (traced && ret < 0)
		ap_clients_tracepoint(t, AP_TRACE_SCHED_FORK, -1);
	return ret;
}

/*
 * Its name in locks: the kernel marks what it holds at its end, if it may register for that.  In
 * another pid namespace its number is not its own.
 */
static void name_for_locks(struct ap_thread *t)
{
	if (t->is_vfork_child && !ap_sys0(AP_NR_getppid))
		t->foreign = 1;
	if (!t->foreign && (!t->is_vfork_child || ap_lock_register()))
		t->lock_id = t->tid;
}

/*
 * Does it need its parent for that?  The parent asks too, before the child can have ended: for that it
 * needs the number.
 */
bool ap_task_is_told_tid(const struct ap_thread *t)
{
	return ap_unlikely(t->filters) && !t->tid_at && !ap_filter_allows_nr(AP_NR_gettid);
}

/* Its own number, 0 where there is no way to know: a vfork child's whose filter lets it not ask. */
u32 ap_task_tid(struct ap_thread *t)
{
	s64 tid = ap_sys0(AP_NR_gettid);
	u32 told = 0;

	if (tid > 0)
		return (u32)tid;
	if (t->tid_at)
		return ap_safe_copy(&told, (const void *)t->tid_at, sizeof(told)) ? 0 : told;
	while (!(t->start_flags & AP_CLONE_VFORK) &&
	       !(told = __atomic_load_n(&t->told_tid, __ATOMIC_ACQUIRE)))
		__builtin_ia32_pause();
	return told;
}

u32 ap_task_pid(const struct ap_thread *t)
{
	s64 pid = ap_sys0(AP_NR_getpid);

	return pid > 0 ? (u32)pid : t->pid ? t->pid : t->tid;
}

void ap_task_child(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);

	ap_thread_set_gs(t);
	t->tid = ap_task_tid(t);
	t->pid = ap_task_pid(t);
	name_for_locks(t);
	slot->tid = t->tid;
	slot->pid = t->pid;
	ap_thread_init_kernel(t);
	t->traced.calls = 0;
	ap_service_begins();
	if (ap_tracepoints_are_on())
		ap_clients_call_ends(t, slot->call - 1, 0);
	slot->call = 0;
	if (t->start_flags & AP_CLONE_CLEAR_SIGHAND)
		ap_signal_clear_handlers(t);
	if (t->is_vfork_child && ap_proc.flags & AP_F_NO_INHERIT) {
		ap_sig_give_back(t);
		ap_sig_go_native(t);
	}
	ap_sig_set_mask(t->start_mask);
	ap_redispatch(t);
}

/* Lock held. */
static bool is_last(const struct ap_thread *t)
{
	for (const struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o != t && o->process == t->process)
			return false;
	return true;
}

/* Lock held: the others are cut off where they are. */
static void end_process(struct ap_thread *t)
{
	u32 n = 0;

	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		n += o != t && o->process == t->process && ap_thread_slot(o)->in_code;
	ap_proc.seg->short_tasks += n;
	ap_clients_end_tasks();
	ap_slot_set_state(AP_SEG_EXITED);
}

void ap_call_exit(struct ap_thread *t, struct ap_call *c)
{
	/* a filter may know no call but the end itself; what comes then waits for this thread's way back */
	if (!ap_proc.seg->mute)
		(void)ap_sig_block_all();
	ap_clients_settle_last(t);
	ap_service_exits(c->nr == AP_NR_exit_group); /* the last counts are taken */
	ap_lock_take(&ap_proc.lock);
	ap_stop_end(t);
	if (!t->is_vfork_child && (c->nr == AP_NR_exit_group || is_last(t))) {
		end_process(t);
	} else {
		ap_thread_fini_slot(t);
		ap_thread_unlink(t);
		ap_thread_retire(t);
	}
	ap_lock_drop(&ap_proc.lock);
	for (;;)
		ap_rawsys(c->nr, c->a[0], 0, 0, 0, 0, 0);
}
