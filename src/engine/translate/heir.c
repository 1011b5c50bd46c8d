/* SPDX-License-Identifier: MIT */
/*
 * A fork's child has its parent's code cache, and mostly lives for a moment only, in which it executes what its parent
 * never does: the way to its exec or its end.
 *
 * Its first store to a page of the cache, of the tables or of the blocks' heap has the kernel copy that page, which takes longer
 * than to translate a block.  So what was made before the fork is left as it is for one more pass: an exit is linked, and a pad
 * is published, when the child comes to it for the second time.  Which those are is kept in a page of bits (met).
 *
 * And all children of a parent do much the same.  So a child notes what it comes to for the first time, in memory that it shares
 * with its parent (struct lessons); before its next fork the parent translates that, links it, and later children find it.  A parent
 * that forks but once pays nothing.  Only addresses in the program's code are told: the parent reads its own code there, as it
 * would when it came to it, and takes an exit's target from the exit.  So who writes nonsense there costs the parent some time,
 * so much at each fork at most; and a child whose credentials change has the memory no more.
 */
#include "engine/translate/heir.h"

#include "abi/switches.h"
#include "engine/cache/lookup.h"
#include "engine/cache/region.h"
#include "engine/cache/store.h"
#include "engine/cache/unit.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/translate/sb.h"

#define MET_BITS    (8U * AP_PAGE_SIZE)
#define SIZE	    (4 * AP_PAGE_SIZE)
#define LESSONS	    ((SIZE - 16) / sizeof(struct lesson))
#define AHEAD_MAX   8	  /* so many blocks are made behind one that was told */
#define BEHIND_BITS 8192U /* of pcs behind probes */

enum kind {
	NOTHING,
	NOT_TAKEN, /* what a conditional branch did */
	TAKEN,
	LINK,	/* gone to by an exit */
	BRANCH, /* by an indirect branch */
	ENTRY,	/* from the engine, as behind a system call */
	BEHIND, /* behind a probe: part of another block, where that reaches so far */
};

/* The kind in the upper 16 bits, the pc below; with LINK the exit's number, and the pc of its block. */
struct lesson {
	u64 what, from;
};

struct lessons {
	u32 n; /* more than LESSONS: there was no room for the others */
	u32 reserved[3];
	struct lesson v[LESSONS];
};

_Static_assert(sizeof(struct lessons) <= SIZE, "whole pages");

static AP_ROOMY __attribute__((aligned(AP_PAGE_SIZE))) u8 met[MET_BITS / 8];
static struct lessons *up;   /* read by the parent */
static struct lessons *down; /* written by children */
static u8 generation;
static bool is_heir; /* a fork's child */
static bool is_learning;
static bool has_forked;

u8 ap_heir_generation(void)
{
	return generation;
}

static u32 hash_of(u64 key, u32 size)
{
	return (u32)((key * 0x9e3779b97f4a7c15ULL) >> 40) & (size - 1);
}

static bool test_and_set(u8 *bits, u32 at)
{
	bool was = bits[at / 8] >> at % 8 & 1;

	if (!was)
		bits[at / 8] |= (u8)(1U << at % 8);
	return was;
}

static bool has_met(u64 key)
{
	return test_and_set(met, hash_of(key, MET_BITS));
}

static void teach(enum kind kind, u64 pc, u64 from)
{
	struct lesson *l;
	u32 n;

	if (!up || pc >> 47)
		return;
	n = __atomic_fetch_add(&up->n, 1, __ATOMIC_RELAXED);
	if (n >= LESSONS) {
		up->n = LESSONS;
		return;
	}
	l = &up->v[n];
	l->from = from;
	__atomic_store_n(&l->what, (u64)kind << 48 | pc, __ATOMIC_RELEASE);
}

static bool is_old(const struct ap_block *b)
{
	return b->born != generation;
}

bool ap_heir_may_link(const struct ap_exit *x, const struct ap_block *b)
{
	const struct ap_block *from = x->from;

	if (ap_likely(!is_heir) || !x->site || x->to)
		return true;
	if (has_met((u64)x))
		return true;
	teach(LINK, b->pc, (u64)(x - from->exits) << 48 | from->pc);
	return !is_old(from) && !is_old(b);
}

bool ap_heir_may_publish(const struct ap_block *b)
{
	if (ap_likely(!is_heir) || is_learning)
		return true;
	if (has_met(b->pc ^ 1ULL << 63))
		return true;
	teach(BRANCH, b->pc, 0);
	return false;
}

void ap_heir_note_entry(const struct ap_block *b, bool from_probe)
{
	if (ap_likely(!is_heir) || (is_old(b) && !from_probe) || has_met(b->pc ^ 1ULL << 62))
		return;
	teach(from_probe ? BEHIND : ENTRY, b->pc, 0);
}

/* Of the same code in other processes. */
static void tell_store(u64 pc)
{
	u8 code[16];

	if (ap_sb_fetch(pc, code) == 15)
		ap_store_note_hint(pc, code, ap_hint_get(pc));
}

void ap_heir_note_hint(u64 pc)
{
	if (ap_unlikely(ap_store_is_there()))
		tell_store(pc);
	if (is_heir)
		teach(ap_hint_get(pc) == AP_HINT_TAKEN ? TAKEN : NOT_TAKEN, pc, 0);
}

static void leave(struct lessons **l)
{
	if (*l)
		ap_mem_unmap(*l, SIZE);
	*l = NULL;
}

void ap_heir_part(void)
{
	leave(&up);
	leave(&down);
}

void ap_heir_begin(void)
{
	leave(&up);
	up = down;
	down = NULL;
	if (is_heir)
		memset(met, 0, sizeof(met));
	is_heir = true;
	has_forked = false;
	generation++;
	ap_lookup_fork_child();
}

/* Its own code, and it can be translated before it runs: nobody changes it unseen. */
static bool is_plain_code(u64 pc)
{
	const struct ap_range *r = ap_region_find(pc);

	return r && !(r->flags & (AP_RANGE_W | AP_RANGE_SHARED));
}

static u64 pc_of(u64 v)
{
	return v & ((1ULL << 48) - 1);
}

static struct ap_block *make(u64 pc, bool by_ibl)
{
	struct ap_block *b;

	if (!is_plain_code(pc) || ap_units_full())
		return NULL;
	b = ap_cache_get(pc, by_ibl);
	if (!b || !b->dead)
		return b;
	ap_cache_drop_probe(b);
	return NULL;
}

/* On along the block's end, as far as children went there behind their probes. */
static void make_ahead(struct ap_block *b, u8 *behind)
{
	for (u32 n = 0; b && n < AHEAD_MAX; n++) {
		struct ap_exit *x = &b->exits[b->nexits - 1];
		u32 at = hash_of(x->target, BEHIND_BITS), epoch = ap_proc.epoch;

		if (x->kind != AP_EXIT_DIRECT || x->to || !x->site ||
		    !(behind[at / 8] >> at % 8 & 1))
			return;
		b = make(x->target, false);
		/* its making may have flushed the cache, and x is gone with that */
		if (epoch == ap_proc.epoch && b)
			ap_link(x, b);
	}
}

static void learn(const struct lesson *l, u8 *behind)
{
	enum kind kind = (enum kind)(l->what >> 48);
	u64 pc = pc_of(l->what), k = l->from >> 48;
	struct ap_block *b, *from;

	if (kind != LINK && kind != BRANCH && kind != ENTRY)
		return;
	b = make(pc, kind == BRANCH);
	if (!b)
		return;
	from = kind == LINK ? ap_lookup_find(pc_of(l->from), ap_self()->plain) : NULL;
	if (from && k < from->nexits && from->exits[k].kind == AP_EXIT_DIRECT &&
	    from->exits[k].target == pc)
		ap_link(&from->exits[k], b);
	make_ahead(b, behind);
}

/* What the others are understood by: first. */
static void learn_ways(const struct lesson *l, u8 *behind)
{
	enum kind kind = (enum kind)(l->what >> 48);
	u64 pc = pc_of(l->what);

	if ((kind == TAKEN || kind == NOT_TAKEN) && ap_hint_get(pc) == AP_HINT_UNKNOWN)
		ap_hint_set(pc, kind == TAKEN ? AP_HINT_TAKEN : AP_HINT_NOT_TAKEN);
	else if (kind == BEHIND)
		(void)test_and_set(behind, hash_of(pc, BEHIND_BITS));
}

/* A child may write while this reads: each lesson is taken once, and forgotten. */
static void learn_all(void)
{
	static AP_ROOMY struct lesson v[LESSONS];
	u32 all = __atomic_load_n(&down->n, __ATOMIC_ACQUIRE), n = 0;
	u8 behind[BEHIND_BITS / 8] = { 0 };

	for (u32 k = 0; k < all && k < LESSONS; k++) {
		v[n].what = __atomic_exchange_n(&down->v[k].what, 0, __ATOMIC_ACQUIRE);
		v[n].from = down->v[k].from;
		n += v[n].what != 0;
	}
	__atomic_store_n(&down->n, 0, __ATOMIC_RELEASE);
	is_learning = true;
	for (u32 k = 0; k < n; k++)
		learn_ways(&v[k], behind);
	for (u32 k = 0; k < n; k++)
		learn(&v[k], behind);
	is_learning = false;
}

/* Where code is special, the next one who comes there is better placed to make it. */
static bool may_learn(void)
{
	return !ap_proc.nlanes && !ap_feed_is_on() && !ap_proc.data && !ap_proc.native &&
	       !ap_proc.seg->mute && !ap_resident_is_served() && !ap_watches_are_stale() &&
	       !ap_is_stressed(ap_proc.session, AP_STRESS_EVICT | AP_STRESS_UNLINKED);
}

static struct lessons *make_lessons(void)
{
	void *p = ap_mem_map(0, SIZE);

	if (p && ap_is_err(ap_sys6(AP_NR_mmap, (u64)p, SIZE, AP_PROT_R | AP_PROT_W,
				   AP_MAP_SHARED | AP_MAP_ANON | AP_MAP_FIXED, (u64)-1, 0))) {
		ap_mem_unmap(p, SIZE);
		return NULL;
	}
	return p;
}

void ap_heir_before_fork(void)
{
	if (!may_learn())
		return;
	if (!down && has_forked)
		down = make_lessons();
	else if (down && __atomic_load_n(&down->n, __ATOMIC_RELAXED))
		learn_all();
	has_forked = true;
}
