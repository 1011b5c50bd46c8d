/* SPDX-License-Identifier: MIT */
/*
 * A helper's life, and whose turn it is to read.  docs/design/helper.md.
 *
 * The helper runs in this memory as a process of its own, with the thread's %gs and a copy of its dispositions: so it
 * makes its system calls plainly, takes no lock, and replaces the handlers of its own faults first.
 */
#include "engine/access/feed_helper.h"
#include "abi/switches.h"

#include "base/mem.h"
#include "engine/runtime/filter.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define SPINS	 400 /* some microseconds */
#define SLICE_NS 20000000
#define SLICES	 500	    /* ten seconds: it was stopped */
#define IDLE_NS	 1000000000 /* then it looks whether it still has a parent */
#define WCLONE	 0x80000000ULL
#define WALL	 0x40000000ULL

#define NR_sched_setscheduler 144
#define NR_sched_getscheduler 145
#define NR_sched_setaffinity  203
#define CLONE_FILES	      0x00000400ULL
#define CLONE_UNTRACED	      0x00800000ULL
#define CLONE_CHILD_CLEARTID  0x00200000ULL
#define CLONE_CHILD_SETTID    0x01000000ULL
#define UNSHARE		      2 /* close_range */
#define PDEATHSIG	      1 /* prctl */
#define SET_NAME	      15
#define SET_SECCOMP	      22
#define SET_MODE_FILTER	      1 /* seccomp */
#define SIG_SETMASK	      2
#define SA_RESTORER	      0x04000000U

bool ap_helpers_any;
static bool banned; /* for good; lock */
static u32 held;    /* lock */

/* --- turns */

static u32 word(const u32 *at)
{
	return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static void wake(u32 *at)
{
	ap_rawsys(AP_NR_futex, (u64)at, AP_FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

static void wait(u32 *at, u32 is, u64 ns)
{
	const u64 time[2] = { ns / 1000000000, ns % 1000000000 };

	ap_rawsys(AP_NR_futex, (u64)at, AP_FUTEX_WAIT, is, (u64)time, 0, 0);
}

static bool claim(struct ap_helper *h, u32 who)
{
	u32 none = AP_CLAIM_NONE;

	return __atomic_compare_exchange_n(&h->claim, &none, who, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static void release(struct ap_helper *h)
{
	__atomic_store_n(&h->claim, AP_CLAIM_NONE, __ATOMIC_SEQ_CST);
}

static void ring(struct ap_helper *h)
{
	__atomic_fetch_add(&h->bell, 1, __ATOMIC_SEQ_CST);
	if (word(&h->is_asleep))
		wake(&h->bell);
}

void ap_helper_hand(struct ap_helper *h, const struct ap_helper_log *log)
{
	h->log[h->handed % AP_HELPER_LOGS] = *log;
	__atomic_store_n(&h->handed, h->handed + 1, __ATOMIC_SEQ_CST);
	ring(h);
}

/* With the lock, as it may be waited for by others, and its number be another's then. */
static void kill_stopped(struct ap_helper *h)
{
	bool is_own = ap_lock_is_own(&ap_proc.lock);

	if (!is_own && !ap_lock_try(&ap_proc.lock))
		return;
	if (h->pid && word(&h->tid))
		ap_rawsys(AP_NR_kill, h->pid, AP_SIGKILL, 0, 0, 0, 0);
	if (!is_own)
		ap_lock_drop(&ap_proc.lock);
}

/* While the helper has the claim.  It is told of by the kernel if it dies; one that is stopped is killed. */
static bool wait_for_helper(struct ap_helper *h)
{
	u32 done = word(&h->done);

	for (u32 n = 0; n < SPINS; n++) {
		if (word(&h->claim) != AP_CLAIM_HELPER)
			return true;
		__builtin_ia32_pause();
	}
	for (u32 slices = 0; word(&h->claim) == AP_CLAIM_HELPER; slices++) {
		if (word(&h->done) != done)
			return true;
		if (!word(&h->tid))
			return word(&h->claim) != AP_CLAIM_HELPER;
		if (slices >= SLICES)
			kill_stopped(h);
		__atomic_store_n(&h->is_waiting, 1, __ATOMIC_SEQ_CST);
		wait(&h->claim, AP_CLAIM_HELPER, SLICE_NS);
		__atomic_store_n(&h->is_waiting, 0, __ATOMIC_RELAXED);
	}
	return true;
}

enum ap_helper_turn ap_helper_turn(struct ap_helper *h)
{
	u32 done = word(&h->done);

	for (;;) {
		if (word(&h->done) != done)
			return AP_TURN_READ;
		if (!claim(h, AP_CLAIM_OWNER)) {
			if (wait_for_helper(h))
				continue;
			__atomic_store_n(&h->claim, AP_CLAIM_OWNER, __ATOMIC_SEQ_CST);
			return AP_TURN_TORN;
		}
		if (word(&h->done) == done)
			return AP_TURN_OURS;
		release(h);
	}
}

void ap_helper_did(struct ap_helper *h)
{
	__atomic_store_n(&h->done, h->done + 1, __ATOMIC_SEQ_CST);
	release(h);
}

/* --- the helper */

AP_NORETURN static void end_self(void)
{
	for (;;)
		ap_rawsys(AP_NR_exit_group, 0, 0, 0, 0, 0, 0);
}

static bool read_one(struct ap_helper *h)
{
	bool has;

	if (word(&h->handed) == word(&h->done) || !claim(h, AP_CLAIM_HELPER))
		return false;
	/* the owner may have read it meanwhile */
	has = word(&h->handed) != word(&h->done);
	if (has) {
		ap_feed_read_for(h->thread, &h->log[h->done % AP_HELPER_LOGS]);
		if (ap_unlikely(ap_is_stressed(ap_proc.session, AP_STRESS_HELPER)) &&
		    h->done % 8 == 7)
			end_self();
		__atomic_store_n(&h->done, h->done + 1, __ATOMIC_SEQ_CST);
		if (ap_unlikely(ap_is_stressed(ap_proc.session, AP_STRESS_HELPER)) &&
		    h->done % 8 == 4)
			end_self();
	}
	release(h);
	if (word(&h->is_waiting))
		wake(&h->claim);
	return has;
}

static bool is_orphan(const struct ap_helper *h)
{
	return (u64)ap_rawsys(AP_NR_getppid, 0, 0, 0, 0, 0, 0) != h->parent;
}

/* Faults of its own end it, and not by a core of the memory that it is in. */
static void mind_faults(void)
{
	static const u8 faults[] = { AP_SIGSEGV, AP_SIGBUS, AP_SIGILL, AP_SIGFPE };
	u64 handler = (u64)end_self;
	struct ap_sigaction a = { .flags = SA_RESTORER };
	u64 mask = ~0ULL;

	/* a constant with its address would be a relocation */
	__asm__ volatile("" : "+r"(handler));
	a.handler = handler;
	for (u32 i = 0; i < sizeof(faults); i++) {
		ap_rawsys(AP_NR_rt_sigaction, faults[i], (u64)&a, 0, 8, 0, 0);
		mask &= ~AP_SIG_BIT(faults[i]);
	}
	ap_rawsys(AP_NR_rt_sigprocmask, SIG_SETMASK, (u64)&mask, 0, 8, 0, 0);
}

/* It lets go of what the program would notice that it has, and takes any CPU. */
static bool be_nobody(const struct ap_helper *h)
{
	u64 cpus[128], policy;

	mind_faults();
	if (ap_rawsys(AP_NR_close_range, 0, ~0U, UNSHARE, 0, 0, 0))
		return false;
	ap_rawsys(AP_NR_setsid, 0, 0, 0, 0, 0, 0);
	ap_rawsys(AP_NR_chdir, (u64) "/", 0, 0, 0, 0, 0);
	ap_rawsys(AP_NR_prctl, SET_NAME, (u64) "anyperf-models", 0, 0, 0, 0);
	memset(cpus, 0xff, sizeof(cpus));
	ap_rawsys(NR_sched_setaffinity, 0, sizeof(cpus), (u64)cpus, 0, 0, 0);
	policy = (u64)ap_rawsys(NR_sched_getscheduler, 0, 0, 0, 0, 0, 0) & 0xff;
	if (policy == 1 || policy == 2) { /* of real time */
		u32 none = 0;

		ap_rawsys(NR_sched_setscheduler, 0, 0, (u64)&none, 0, 0, 0);
	}
	ap_rawsys(AP_NR_prctl, PDEATHSIG, AP_SIGKILL, 0, 0, 0, 0);
	return !is_orphan(h);
}

/* task_gate.S calls it, on its own stack. */
AP_NORETURN void ap_helper_main(struct ap_helper *h);
AP_NORETURN void ap_helper_main(struct ap_helper *h)
{
	bool is_nobody = be_nobody(h);
	u32 bell, idle = 0;

	__atomic_store_n(&h->is_ready, 1, __ATOMIC_SEQ_CST);
	wake(&h->is_ready);
	while (is_nobody) {
		bell = word(&h->bell);
		if (word(&h->quit))
			break;
		if (read_one(h)) {
			idle = 0;
			continue;
		}
		if (idle++ < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		__atomic_store_n(&h->is_asleep, 1, __ATOMIC_SEQ_CST);
		wait(&h->bell, bell, IDLE_NS);
		__atomic_store_n(&h->is_asleep, 0, __ATOMIC_RELAXED);
		idle = 0;
		if (is_orphan(h))
			break;
	}
	end_self();
}

/* --- its beginning */

bool ap_helper_may_be(const struct ap_thread *t)
{
	return (ap_proc.session->flags & AP_F_MODEL_THREAD) && ap_proc.session->model_sample <= 1 &&
	       !banned && !held && !ap_proc.native && !ap_proc.seg->mute && !t->filters &&
	       !t->is_vfork_child && !t->foreign && !ap_proc.boot->nthreads;
}

s64 ap_helper_clone(u64 flags, u8 *stack, struct ap_helper *h, u32 *tid);

static void reap(struct ap_helper *h)
{
	if (!h->pid)
		return;
	while (ap_rawsys(AP_NR_wait4, h->pid, 0, WCLONE, 0, 0, 0) == -AP_EINTR)
		;
	h->pid = 0;
}

void ap_helper_begin(struct ap_helper *h, struct ap_thread *t, u8 *stack)
{
	s64 pid;

	if (!word(&h->tid))
		reap(h);
	if (h->pid || !ap_helper_may_be(t) || !ap_task_children_are_near()) {
		h->full = 0;
		return;
	}
	if (word(&h->handed) == word(&h->done))
		release(h); /* the last one may have died between both words */
	h->thread = t;
	h->parent = t->pid;
	h->quit = h->is_ready = h->is_asleep = 0;
	h->tid = ~0U; /* until it says its own */
	ap_helpers_any = true;
	pid = ap_helper_clone(AP_CLONE_VM | CLONE_FILES | CLONE_UNTRACED | CLONE_CHILD_CLEARTID |
				      CLONE_CHILD_SETTID,
			      stack + AP_HELPER_STACK, h, &h->tid);
	if (pid < 0) {
		h->tid = 0;
		h->full = 0; /* many more before the next attempt */
		return;
	}
	h->pid = (u32)pid;
	h->full = 0;
	while (!word(&h->is_ready) && word(&h->tid))
		wait(&h->is_ready, 0, SLICE_NS);
}

void ap_helper_forget(struct ap_helper *h)
{
	h->tid = h->pid = h->quit = h->full = 0;
	h->done = h->handed;
	h->kept_for = 0;
	h->nwarm = 0;
	release(h);
	ap_helpers_any = false;
	held = 0;
}

/* --- its end */

static void ask(struct ap_helper *h)
{
	__atomic_store_n(&h->quit, 1, __ATOMIC_SEQ_CST);
	ring(h);
}

/* It ends behind the log that it reads.  One that was stopped does not. */
static void wait_for_end(struct ap_helper *h)
{
	for (u32 slices = 0; word(&h->tid); slices++) {
		if (slices >= SLICES)
			kill_stopped(h);
		wait(&h->tid, word(&h->tid), SLICE_NS);
	}
	reap(h);
	h->full = 0;
}

/* Of this process: others' in this memory are not its children. */
static struct ap_helper *of(const struct ap_thread *o)
{
	struct ap_helper *h = o->process == ap_self()->process ? ap_feed_helper(o) : NULL;

	return h && h->pid ? h : NULL;
}

void ap_helper_end(struct ap_helper *h)
{
	if (ap_likely(!h->pid))
		return;
	ask(h);
	wait_for_end(h);
}

void ap_helpers_end(void)
{
	if (ap_likely(!ap_helpers_any))
		return;
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (of(o))
			ask(of(o));
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (of(o))
			wait_for_end(of(o));
}

void ap_helpers_ban(void)
{
	banned = true;
	ap_helpers_end();
}

void ap_helpers_hold(void)
{
	held++;
	ap_helpers_end();
}

void ap_helpers_let(void)
{
	held--;
}

bool ap_helpers_make_way(void)
{
	bool were_there;

	if (ap_likely(!ap_helpers_any) || ap_self()->is_vfork_child)
		return false;
	ap_lock_take(&ap_proc.lock);
	were_there = !banned;
	ap_helpers_ban();
	ap_lock_drop(&ap_proc.lock);
	return were_there;
}

/* They would be shown, would stand in the way, or could not be made again. */
static bool bans(u64 nr, u64 a0, u64 a2, u64 a3)
{
	switch (nr) {
	case AP_NR_wait4:
		return a2 & (WALL | WCLONE);
	case AP_NR_waitid:
		return a3 & (WALL | WCLONE);
	case AP_NR_unshare:
	case AP_NR_setns:
		return true;
	case AP_NR_seccomp:
		return a0 <= SET_MODE_FILTER;
	case AP_NR_prctl:
		return a0 == SET_SECCOMP;
	default:
		return false;
	}
}

void ap_helpers_before_call(u64 nr, u64 a0, u64 a2, u64 a3)
{
	if (ap_self()->is_vfork_child || !bans(nr, a0, a2, a3))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_helpers_ban();
	ap_lock_drop(&ap_proc.lock);
}
