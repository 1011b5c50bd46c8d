/* SPDX-License-Identifier: MIT */
/*
 * The slow halves of the locks, and the end of their holders.
 *
 * Waits have a time limit, because a wake can be lost with a task that was killed between giving
 * the word back and waking, or between being woken and taking the lock; or never be made, by one
 * whose seccomp filter does not let it, and that does not sleep itself either.  They are not private futexes:
 * the kernel wakes as if the word were shared.
 */
#include "engine/runtime/lock.h"

#include "abi/switches.h"
#include "base/str.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/proc.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define FUTEX_WAKE	  1
#define WAIT_NS		  50000000
#define PTRACE_SINGLESTEP 9
#define PTRACE_CONT	  7
#define P_PID		  1
#define WNOHANG		  1ULL
#define WSTOPPED	  2ULL
#define WNOWAIT		  0x01000000ULL
#define WALL		  0x40000000ULL
#define STOPPED		  0x7f /* as WIFSTOPPED */
#define SIGTRAP		  5
#define SIGSTOP		  19
#define BRIEFLY_NS	  500000 /* where a holder that gives it back may not be able to say so */

/* As the kernel reads it: linux/futex.h, struct robust_list_head. */
static struct {
	u64 next;
	u64 offset;
	u64 pending;
} robust;

/* Before there are threads one name is as good as another. */
static u32 self(void)
{
	u32 id = ap_proc.threads ? ap_self()->lock_id : 0;

	return id ? id : 1;
}

static bool is_tid(u32 owner)
{
	return owner && owner < ap_lock_name(0);
}

static bool change(struct ap_lock *l, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&l->word, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void wake(struct ap_lock *l)
{
	ap_sys3(AP_NR_futex, (u64)&l->word, FUTEX_WAKE, 1);
}

/*
 * A process that is killed beside a vfork child of its own leaves no mark: its threads' robust
 * lists are the program's.  Its numbers are free soon.
 */
static void look_for_owner(struct ap_lock *l, u32 v, u32 me)
{
	u32 owner = v & AP_LOCK_OWNER;

	if (is_tid(owner) && is_tid(me) && ap_sys2(AP_NR_tkill, owner, 0) == -AP_ESRCH)
		(void)change(l, v, AP_LOCK_DIED | AP_LOCK_WAITERS);
}

/* The lender is in the kernel: it holds the lock or not, but does not take it. */
static void look_for_loan(struct ap_lock *l, u32 v)
{
	u32 lender = __atomic_load_n(&l->lender, __ATOMIC_ACQUIRE);

	if (lender && lender == (v & AP_LOCK_OWNER) && __atomic_load_n(l->done, __ATOMIC_ACQUIRE))
		(void)change(l, v, AP_LOCK_WAITERS);
}

/* The signal of a stop that the program has not heard of yet; 0: none. */
static u32 unheard(u32 tid)
{
	u32 info[32] = { 0 }; /* siginfo: the status is behind pid and uid */
	const u64 look = WNOHANG | WSTOPPED | WNOWAIT | WALL;

	if (ap_sys5(AP_NR_waitid, P_PID, tid, (u64)info, look, 0) || info[4] != tid)
		return 0;
	return info[6] & 0x7f;
}

/* What it stops with is given to it, but for a SIGSTOP, which its tracer is to hear of; false: it does not stop. */
static bool step_over(u32 tid, u32 *sig, bool *owes_stop)
{
	u32 status = 0;
	s64 ret;

	*owes_stop |= *sig == SIGSTOP;
	if (*sig == SIGSTOP || *sig == SIGTRAP)
		*sig = 0;
	if (ap_sys4(AP_NR_ptrace, PTRACE_SINGLESTEP, tid, 0, *sig))
		return false;
	do
		ret = ap_sys4(AP_NR_wait4, tid, (u64)&status, WALL, 0);
	while (ret == -AP_EINTR);
	*sig = status >> 8 & 0x7f;
	return ret == tid && (status & 0xff) == STOPPED;
}

/*
 * A task that shares our memory may have stopped the owner by ptrace, as LeakSanitizer does with all threads, and may need the lock to
 * go on.  Only that tracer's calls succeed here: it has the owner go on, an instruction at a time, to where it gives
 * the lock back.  A SIGSTOP that nobody has heard of yet comes again.
 */
static void look_for_stopped(struct ap_lock *l, u32 v)
{
	u32 owner = v & AP_LOCK_OWNER, sig;
	bool owes_stop = false;

	if (!is_tid(owner))
		return;
	sig = unheard(owner);
	while ((__atomic_load_n(&l->word, __ATOMIC_ACQUIRE) & AP_LOCK_OWNER) == owner)
		if (!step_over(owner, &sig, &owes_stop))
			return;
	owes_stop |= sig == SIGSTOP;
	if (!owes_stop)
		return;
	ap_sys2(AP_NR_tkill, owner, SIGSTOP);
	ap_sys4(AP_NR_ptrace, PTRACE_CONT, owner, 0, 0);
}

static void wait(struct ap_lock *l, u32 me)
{
	const u64 ns = ap_filter_any ? BRIEFLY_NS : WAIT_NS;
	u32 v;

	for (;;) {
		v = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
		if (!(v & AP_LOCK_OWNER)) {
			if (!change(l, v, me | AP_LOCK_WAITERS))
				continue;
			if (v & AP_LOCK_DIED && l->mend)
				l->mend();
			return;
		}
		if (!(v & AP_LOCK_WAITERS) && !change(l, v, v | AP_LOCK_WAITERS))
			continue;
		v |= AP_LOCK_WAITERS;
		ap_own_wait(&l->word, v, ns);
		if (__atomic_load_n(&l->word, __ATOMIC_RELAXED) != v)
			continue;
		look_for_stopped(l, v);
		look_for_loan(l, v);
		look_for_owner(l, v, me);
	}
}

#if defined(AP_TEST_SWITCHES) || !defined(AP_BLOB)
/* With plain calls: nothing of the engine is at rest. */
AP_NORETURN static void out_of_order(const struct ap_lock *l, const struct ap_lock *held)
{
	char buf[128];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, "anyperf: the lock \"");
	ap_str_add(&s, l->name);
	ap_str_add(&s, "\" is taken by a holder of \"");
	ap_str_add(&s, held->name);
	ap_str_add(&s, "\"\n");
	ap_rawsys(AP_NR_write, 2, (u64)s.buf, s.len, 0, 0, 0);
	for (;;)
		ap_rawsys(AP_NR_exit_group, 134, 0, 0, 0, 0, 0);
}

/* After a fault of the engine's own the thread may hold anything, and gives up. */
static void check_rank(const struct ap_lock *l, u32 me)
{
	const struct ap_lock *held;

	if (ap_proc.threads && ap_self()->in_handler_depth)
		return;
	for (u64 at = robust.next; at && at != (u64)&robust; at = held->next) {
		held = (const struct ap_lock *)at;
		if ((__atomic_load_n(&held->word, __ATOMIC_RELAXED) & AP_LOCK_OWNER) == me &&
		    held->rank >= l->rank)
			out_of_order(l, held);
	}
}
#else
static void check_rank(const struct ap_lock *l, u32 me)
{
	(void)l;
	(void)me;
}
#endif

void ap_lock_take(struct ap_lock *l)
{
	u32 me = self();

	check_rank(l, me);
	if (!change(l, 0, me))
		wait(l, me);
}

bool ap_lock_try(struct ap_lock *l)
{
	return change(l, 0, self());
}

void ap_lock_drop(struct ap_lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) & AP_LOCK_WAITERS)
		wake(l);
}

bool ap_lock_is_own(const struct ap_lock *l)
{
	return (__atomic_load_n(&l->word, __ATOMIC_RELAXED) & AP_LOCK_OWNER) == self();
}

void ap_lock_lend(struct ap_lock *l, const u32 *done)
{
	l->done = done;
	__atomic_store_n(&l->lender, self(), __ATOMIC_RELEASE);
}

bool ap_lock_end_loan(struct ap_lock *l)
{
	u32 me = self(), lender = me;

	/* another may have lent it meanwhile */
	__atomic_compare_exchange_n(&l->lender, &lender, 0, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return ap_lock_is_own(l);
}

bool ap_lock_reset(struct ap_lock *l)
{
	u32 v = l->word, owner = v & AP_LOCK_OWNER;

	l->lender = 0;
	__atomic_store_n(&l->word, 0, __ATOMIC_RELAXED);
	return v & AP_LOCK_DIED || (owner && owner != self());
}

void ap_lock_add(struct ap_lock *l, enum ap_lock_rank rank, const char *name, void (*mend)(void))
{
	l->rank = rank;
	l->name = name;
	robust.offset = (u64)&l->word - (u64)l;
	l->mend = mend;
	l->next = robust.next ? robust.next : (u64)&robust;
	robust.next = (u64)l;
}

bool ap_lock_register(void)
{
	return !ap_sys2(AP_NR_set_robust_list, (u64)&robust, sizeof(robust));
}

void ap_lock_disown(u32 owner)
{
	struct ap_lock *l;
	u32 v;

	for (u64 at = robust.next; at && at != (u64)&robust; at = l->next) {
		l = (struct ap_lock *)at;
		v = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
		while ((v & AP_LOCK_OWNER) == owner) {
			if (change(l, v, AP_LOCK_DIED | AP_LOCK_WAITERS)) {
				wake(l);
				break;
			}
			v = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
		}
	}
}
