/* SPDX-License-Identifier: MIT */
/*
 * The calls that install seccomp filters.  What a filter would not let the engine do afterwards is done
 * before: pages of code that are write-protected are given back, for good, and where it lets no memory be
 * had, there is some for threads that begin and for what is kept of code.  Code itself has what room it has.
 */
#include "base/mem.h"
#include "engine/cache/cache.h"
#include "engine/cache/smc.h"
#include "engine/cache/store.h"
#include "engine/client.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/task/party.h"
#include "engine/task/task.h"
#include "engine/thread/cradle.h"
#include "service/service.h"

#define SET_MODE_STRICT 0
#define SET_MODE_FILTER 1
#define MODE_STRICT	1 /* prctl's name for it */
#define FLAG_TSYNC	1
#define FLAG_LISTENER	8 /* the call returns a descriptor */
#define FLAGS_KNOWN	0x3fULL
#define INSNS_MAX	4096
#define NEWBORN_NS	1000000
#define NEWBORN_WAITS	2000
#define AREAS		32
#define CRADLES		64
#define HEAP		(1U << 20)

static const struct ap_filter strict = { .is_strict = true };

static bool is_strict(const struct ap_call *c)
{
	return c->nr == AP_NR_prctl ? c->a[1] == MODE_STRICT : c->a[0] == SET_MODE_STRICT;
}

static bool is_for_all(const struct ap_call *c)
{
	return c->nr == AP_NR_seccomp && c->a[0] == SET_MODE_FILTER && c->a[1] & FLAG_TSYNC;
}

/* --- copies: all that are or may be in use, and what can be used again.  Process lock. */

static struct ap_filter *all, *unused;

static struct ap_filter *take(struct ap_filter **list, const struct ap_filter *f)
{
	struct ap_filter **p = list;

	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	return (struct ap_filter *)(u64)f;
}

static void put(struct ap_filter **list, struct ap_filter *f)
{
	f->next = *list;
	*list = f;
}

static struct ap_filter *take_unused(u32 n)
{
	struct ap_filter *f = unused;
	u64 size = AP_ALIGN_UP(sizeof(*f) + n * sizeof(f->insn[0]), AP_PAGE_SIZE);

	while (f && f->room < n)
		f = f->next;
	if (f)
		return take(&unused, f);
	f = ap_mem_map(0, size);
	if (f)
		f->room = (u32)((size - sizeof(*f)) / sizeof(f->insn[0]));
	return f;
}

static struct ap_filter *find_same(const struct ap_filter *f)
{
	struct ap_filter *o = all;

	while (o && (o->before != f->before || o->n != f->n ||
		     memcmp(o->insn, f->insn, f->n * sizeof(f->insn[0]))))
		o = o->next;
	return o;
}

/* As the kernel reads it. */
struct program {
	u16 len;
	u64 insn;
};

static void touch(u64 start, u64 len)
{
	for (u64 at = start; at < start + len; at = (at & AP_PAGE_MASK) + AP_PAGE_SIZE) {
		if (ap_touch(at))
			return;
		ap_lock_take(&ap_proc.lock);
		ap_resident_touched(at);
		ap_lock_drop(&ap_proc.lock);
	}
}

/* What is read with the lock held waits for nobody. */
static void bring_in(const struct ap_call *c)
{
	struct program prog;

	if (is_strict(c))
		return;
	touch(c->a[2], sizeof(prog));
	if (ap_safe_copy(&prog, (const void *)c->a[2], sizeof(prog)))
		return;
	touch(prog.insn, prog.len * sizeof(u64));
}

/*
 * A copy, the one that there is where the same has been asked for before; where there is no memory for it
 * the strictest that there is.  What cannot be read fails.
 */
static const struct ap_filter *copy(const struct ap_call *c, const struct ap_filter *before)
{
	struct program prog;
	struct ap_filter *f, *same;

	if (is_strict(c))
		return &strict;
	if (ap_resident_copy(&prog, c->a[2], sizeof(prog)) || !prog.len || prog.len > INSNS_MAX)
		return before;
	f = take_unused(prog.len);
	if (!f)
		return &strict;
	f->n = prog.len;
	f->before = before;
	f->by_address = false;
	if (ap_resident_copy(f->insn, prog.insn, prog.len * sizeof(f->insn[0]))) {
		put(&unused, f);
		return before;
	}
	f->by_address = ap_filter_can_wrap(f);
	ap_filter_by_address |= f->by_address;
	same = find_same(f);
	put(same ? &unused : &all, f);
	if (!same)
		f->uses = 0;
	else
		f = same;
	f->uses++;
	return f;
}

/* Is it f, or one before it? */
static bool is_behind(const struct ap_filter *one, const struct ap_filter *f)
{
	while (f && f != one)
		f = f->before;
	return f == one;
}

/*
 * The kernel did not take it.  One that was put on all may be asked just now, and stays: whoever tries
 * again gets it again.
 */
static void give_up(const struct ap_filter *f, bool is_for_all)
{
	if (f != &strict && f->uses == 1 && !is_for_all)
		put(&unused, take(&all, f));
}

/*
 * All but t, whose call it is, have f.  Who has a filter that t did not have keeps it: the kernel
 * refuses the call for that.
 */
static void give_to_all(const struct ap_thread *t, const struct ap_filter *former,
			const struct ap_filter *f)
{
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o != t && o->process == t->process && is_behind(o->filters, former))
			o->filters = f;
}

/* What they had they may have had less of: that is on the safe side. */
static void take_from_all(const struct ap_thread *t, const struct ap_filter *former)
{
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o != t && o->process == t->process && o->filters == t->filters &&
		    o->filters != &strict)
			o->filters = former;
}

/* By any of the calls that make a process. */
static bool may_fork(const struct ap_filter *f)
{
	static const u16 calls[] = { AP_NR_fork, AP_NR_clone, AP_NR_clone3 };
	const u64 a[6] = { AP_SIGCHLD };
	u32 i = 0;

	while (i < AP_ARRAY_SIZE(calls) && ap_filter_judge(f, calls[i], a, 0) != AP_FILTER_ALLOW)
		i++;
	return i < AP_ARRAY_SIZE(calls);
}

/* Would a task that is made under t's new filter have no %gs of its own?  One that the kernel refuses at a glance is none. */
static bool takes_gs(const struct ap_thread *t, const struct ap_call *c,
		     const struct ap_filter *former)
{
	static const u16 calls[] = { AP_NR_fork, AP_NR_vfork, AP_NR_clone, AP_NR_clone3 };
	u32 i = 0;

	if (ap_proc.has_fsgsbase || t->filters == former ||
	    (c->nr != AP_NR_prctl && c->a[1] & ~FLAGS_KNOWN) ||
	    ap_filter_allows_nr(AP_NR_arch_prctl))
		return false;
	while (i < AP_ARRAY_SIZE(calls) && !ap_filter_may_pass(t->filters, calls[i]))
		i++;
	return i < AP_ARRAY_SIZE(calls);
}

/* Who has no number yet has its parent's %gs and filters, or is to ask for it.  A vfork child may never know it. */
static bool any_newborn(void)
{
	for (const struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (!__atomic_load_n(&o->tid, __ATOMIC_ACQUIRE) &&
		    !(o->start_flags & AP_CLONE_VFORK && o->filters))
			return true;
	return false;
}

/* Lock held. */
static void wait_for_newborn(void)
{
	static u32 never; /* in memory that a futex may be in */

	for (u32 n = 0; n < NEWBORN_WAITS && any_newborn(); n++) {
		ap_lock_drop(&ap_proc.lock);
		ap_own_wait(&never, 0, NEWBORN_NS);
		ap_lock_take(&ap_proc.lock);
	}
}

/* One of a process that goes native, which it does once. */
static struct {
	const struct ap_thread *t;
	const struct ap_filter *f;
} left;

/* The call is made again natively, with no thread in the engine under the filter that can help it. */
AP_NORETURN static void go_native(struct ap_thread *t, const struct ap_call *c,
				  const struct ap_filter *former)
{
	if (is_for_all(c)) {
		left.t = t;
		left.f = t->filters;
	}
	t->filters = former;
	ap_lock_drop(&ap_proc.lock);
	ap_go_native(t, "this seccomp filter needs a CPU with FSGSBASE");
}

bool ap_filter_is_left(const struct ap_thread *t)
{
	return left.t == t;
}

void ap_filter_leave(struct ap_thread *t)
{
	give_to_all(t, t->filters, left.f);
}

/* *was: what it had; a sibling may give it another until the lock is held for good. */
static const struct ap_filter *before(struct ap_thread *t, const struct ap_call *c,
				      const struct ap_filter **was)
{
	const struct ap_filter *former, *f;

	bring_in(c);
	ap_lock_take(&ap_proc.lock);
	if (!ap_proc.has_fsgsbase || is_for_all(c))
		wait_for_newborn();
	*was = former = t->filters;
	f = copy(c, former);
	ap_store_seclude();
	ap_filter_any = true;
	t->filters = f;
	if (takes_gs(t, c, former))
		go_native(t, c, former);
	ap_clients_reserve(0);
	if (!ap_filter_allows_map(false) || !ap_filter_allows_map(true)) {
		bool wants_cradles = may_fork(f) && !ap_filter_allows_share();

		t->filters = former;
		ap_heap_reserve(HEAP);
		ap_thread_reserve(AREAS);
		if (wants_cradles)
			ap_cradle_reserve(CRADLES);
		ap_clients_reserve(AREAS);
		t->filters = f;
	}
	if (is_for_all(c) && f != former)
		give_to_all(t, former, f);
	ap_smc_before_filter();
	ap_lock_drop(&ap_proc.lock);
	return f;
}

/* f: what it was to have.  Another may have put one on all meanwhile. */
static void failed(struct ap_thread *t, const struct ap_call *c, const struct ap_filter *f,
		   const struct ap_filter *former)
{
	ap_lock_take(&ap_proc.lock);
	if (f != former && t->filters == f) {
		if (is_for_all(c))
			take_from_all(t, former);
		t->filters = former;
		give_up(f, is_for_all(c));
	}
	ap_lock_drop(&ap_proc.lock);
}

/* TSYNC answers with the number of a thread that it could not be put on. */
static bool has_failed(const struct ap_call *c, s64 ret)
{
	return ret < 0 || (ret > 0 && is_for_all(c) && !(c->a[1] & FLAG_LISTENER));
}

/*
 * Nor may it allow the one for a full log (ap_feed_is_watched).  Others that get the filter may be in that handler, or
 * are to be soon: they leave code first.
 */
static void unlink_all(bool is_for_all)
{
	ap_lock_take(&ap_proc.lock);
	if (is_for_all)
		ap_cache_flush();
	else
		ap_cache_unlink();
	ap_lock_drop(&ap_proc.lock);
}

/*
 * Under the new filter it could change its credentials, and make no party of its own any more: then it goes now
 * (docs/design/trust.md).
 */
static void go_before(struct ap_thread *t, const struct ap_call *c)
{
	const struct ap_filter *former, *f;
	bool was_any = ap_filter_any, must_go = false;
	const char *why;
	u64 mask;

	bring_in(c);
	ap_lock_take(&ap_proc.lock);
	former = t->filters;
	f = copy(c, former);
	if (f != former && f != &strict) {
		ap_filter_any = true;
		t->filters = f;
		must_go = ap_party_would_stay(f);
		t->filters = former;
		ap_filter_any = was_any;
		give_up(f, false);
	}
	ap_lock_drop(&ap_proc.lock);
	if (!must_go)
		return;
	mask = ap_sig_block_all();
	ap_party_leave(t);
	why = ap_party_move(t);
	if (why)
		ap_go_native(t, why);
	ap_sig_set_mask(mask);
}

/*
 * From its filter on the process makes no call of the engine's own that concerns perf events.  A
 * filter is one thread's unless it says TSYNC, but a thread made by that one has it too.
 */
s64 ap_call_seccomp(struct ap_thread *t, struct ap_call *c)
{
	bool sets = c->nr == AP_NR_prctl || c->a[0] <= SET_MODE_FILTER;
	const struct ap_filter *former, *f;
	bool was = ap_proc.seg->mute;
	u64 mask;
	s64 ret;

	if (!sets)
		return ap_call_pass(t, c);
	go_before(t, c);
	mask = ap_sig_block_all();
	/* it may not allow a handler's return */
	ap_service_quiet();
	ap_sig_set_mask(mask);
	if (!was) {
		/* it looks often from now on, and must not sleep for longer first */
		__atomic_store_n(&ap_proc.board->mute, 1, __ATOMIC_SEQ_CST);
		ap_supervisor_wake();
	}
	f = before(t, c, &former);
	ap_slot_set_mute(true);
	if (ap_feed_is_on() && (!was || is_for_all(c)))
		unlink_all(is_for_all(c));
	ret = f != former && f->by_address ? ap_filter_install_wrapped(t, c, f)
					   : ap_call_pass(t, c);
	if (has_failed(c, ret)) {
		failed(t, c, f, former);
		if (!was)
			ap_slot_set_mute(false);
	}
	return ret;
}
