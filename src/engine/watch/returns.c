/* SPDX-License-Identifier: MIT */
/*
 * A call of a probed function is noted at its entry: where the stack stood, and where it will return to.  That address is
 * watched from then on, and a thread that comes to it with the stack as it is behind such a return has returned.  So what leaves
 * a function otherwise (longjmp, exceptions) is no return, coroutines may change stacks in between, and who walks the stack finds
 * the program's addresses.
 *
 * As the kernel does, at most 64 calls of a thread are noted at a time: deeper ones have no return.
 */
#include "engine/watch/returns.h"

#include "base/mem.h"
#include "engine/cache/cache.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"

#define DEPTH	64 /* MAX_URETPROBE_DEPTH */
#define WATCHED 2048
#define FULL	(WATCHED / 4 * 3)

struct call {
	u64 sp, back; /* at its entry: what is there on the stack */
	struct ap_file_place entry;
};

_Static_assert(DEPTH * sizeof(struct call) <= AP_T_RETURNS_SIZE, "pages of its own");

static struct call *calls_of(const struct ap_thread *t)
{
	return (struct call *)((char *)t + AP_T_RETURNS_OFF);
}

/* --- addresses that calls return to: a hash table, which only grows until it is made anew */

static u64 watched[WATCHED];
static u32 nwatched;

static u64 *find(u64 pc)
{
	u64 h = pc * 0x9e3779b97f4a7c15ULL >> 40;

	while (watched[h % WATCHED] && watched[h % WATCHED] != pc)
		h++;
	return &watched[h % WATCHED];
}

static void add(u64 pc)
{
	u64 *at = find(pc);

	if (*at == pc || nwatched >= FULL)
		return;
	*at = pc;
	nwatched++;
}

/* With the addresses alone that some call is to return to.  Lock held. */
static void make_anew(void)
{
	memset(watched, 0, sizeof(watched));
	nwatched = 0;
	for (const struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		u32 n = __atomic_load_n(&t->nreturns, __ATOMIC_ACQUIRE);

		for (u32 i = 0; i < n; i++)
			add(calls_of(t)[i].back);
	}
}

/* False: too many are watched.  Lock held. */
static bool watch(u64 pc)
{
	if (*find(pc) == pc)
		return true;
	if (nwatched >= FULL)
		make_anew();
	add(pc);
	if (*find(pc) != pc)
		return false;
	ap_cache_invalidate(pc, pc + 1);
	return true;
}

bool ap_returns_is_at(u64 pc)
{
	return ap_unlikely(nwatched) && *find(pc) == pc;
}

/* --- calls */

/* A thread makes its own list longer, and moves what is in it, with the lock held; it drops the last one without. */
static void remove(struct ap_thread *t, u32 i)
{
	struct call *calls = calls_of(t);
	u32 n = t->nreturns - 1;

	memmove(&calls[i], &calls[i + 1], (n - i) * sizeof(*calls));
	__atomic_store_n(&t->nreturns, n, __ATOMIC_RELEASE);
}

static bool is_same_place(const struct ap_file_place *a, const struct ap_file_place *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->off == b->off;
}

/*
 * Can it not return any more?  Its place on the stack has another call's address, or it was this very call, which was left by a
 * longjmp.  (A function that jumps to its own first instruction looks the same: it is one call.)
 */
static bool is_over(const struct call *old, const struct call *new)
{
	u64 back;

	if (old->sp == new->sp)
		return old->back != new->back || is_same_place(&old->entry, &new->entry);
	return old->sp < new->sp && !ap_resident_copy(&back, old->sp, sizeof(back)) &&
	       back != old->back;
}

static void remove_over(struct ap_thread *t, const struct call *new)
{
	for (u32 i = t->nreturns; i-- > 0;)
		if (is_over(&calls_of(t)[i], new))
			remove(t, i);
	/* what is below may be a call that was left, whose place nothing has been written to yet */
	for (u32 i = 0; t->nreturns == DEPTH && i < DEPTH; i++)
		if (calls_of(t)[i].sp < new->sp)
			remove(t, i);
}

void ap_returns_enter(struct ap_thread *t, const struct ap_file_place *entry)
{
	struct call new = { .sp = t->regs.gpr[4], .entry = *entry };
	bool is_watched;

	t->return_is_new = 0;
	if (ap_safe_copy(&new.back, (const void *)new.sp, sizeof(new.back)))
		return;
	ap_lock_take(&ap_proc.lock);
	remove_over(t, &new);
	is_watched = t->nreturns < DEPTH && watch(new.back);
	if (is_watched) {
		calls_of(t)[t->nreturns] = new;
		__atomic_store_n(&t->nreturns, t->nreturns + 1, __ATOMIC_RELEASE);
		t->return_is_new = 1;
	} else if (t->nreturns < DEPTH) {
		ap_note2(AP_NOTE_NOT_COUNTED, "not counted: ", ap_proc.seg->comm,
			 ": a return, as calls return to too many places");
	}
	ap_lock_drop(&ap_proc.lock);
}

void ap_returns_undo(struct ap_thread *t)
{
	if (t->return_is_new)
		__atomic_store_n(&t->nreturns, t->nreturns - 1, __ATOMIC_RELEASE);
	t->return_is_new = 0;
}

static void take_out(struct ap_thread *t, u32 i)
{
	bool is_last = i == t->nreturns - 1;

	if (!is_last)
		ap_lock_take(&ap_proc.lock);
	remove(t, i);
	if (!is_last)
		ap_lock_drop(&ap_proc.lock);
}

bool ap_returns_take(struct ap_thread *t, u64 pc, struct ap_file_place *entry)
{
	for (u32 i = t->nreturns; i-- > 0;) {
		const struct call *c = &calls_of(t)[i];

		if (c->back != pc || c->sp + sizeof(u64) != t->regs.gpr[4])
			continue;
		*entry = c->entry;
		take_out(t, i);
		return true;
	}
	return false;
}

void ap_returns_inherit(struct ap_thread *child, const struct ap_thread *parent)
{
	memcpy(calls_of(child), calls_of(parent), parent->nreturns * sizeof(struct call));
	child->nreturns = parent->nreturns;
}
