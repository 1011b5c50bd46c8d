/* SPDX-License-Identifier: MIT */
/*
 * The life of blocks: made on demand, found again, dropped when their source changes, flushed when
 * the cache is full.
 *
 * Memory of dropped blocks is reused only by a flush, and by a flush only when no thread can be
 * inside: each thread notes proc->epoch when it enters the cache (under the lock) and clears
 * slot->in_code when it has left and copied what it needs of its exit.
 */
#include "engine/cache/cache.h"

#include "abi/switches.h"
#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/cache/lookup.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/translate/heir.h"
#include "engine/translate/sb.h"

#define PAGE_BUCKETS 4096
#define YIELDS	     50 /* first */
#define TRIES	     200
#define TRIES_DEMAND 10000 /* two seconds */
#define TRIES_ALONE  50000 /* ten seconds */
#define SLICE_NS     200000

static AP_ROOMY struct ap_block
	*pages[PAGE_BUCKETS]; /* chained through the page that is of the bucket */
static struct ap_sb sb;

/* Neighbours are neighbours: few pages of the table are touched. */
static u32 page_bucket(u64 page)
{
	return (u32)(page >> 12 ^ page >> 24) & (PAGE_BUCKETS - 1);
}

static u32 page_index(const struct ap_block *b, u64 bucket)
{
	for (u32 k = 0; k < b->npages; k++)
		if (page_bucket(b->pages[k].addr) == bucket)
			return k;
	return 0;
}

/* A block stands once in each bucket, also when two of its pages share one. */
static void pages_add(struct ap_block *b)
{
	for (u32 k = 0; k < b->npages; k++) {
		u32 h = page_bucket(b->pages[k].addr);

		if (page_index(b, h) != k)
			continue;
		b->pages[k].next = pages[h];
		pages[h] = b;
	}
}

static void pages_remove(struct ap_block *b)
{
	for (u32 k = 0; k < b->npages; k++) {
		u32 h = page_bucket(b->pages[k].addr);
		struct ap_block **link = &pages[h];

		if (page_index(b, h) != k)
			continue;
		while (*link && *link != b)
			link = &(*link)->pages[page_index(*link, h)].next;
		if (*link)
			*link = b->pages[k].next;
	}
}

static void drop(struct ap_block *b)
{
	b->dead = 1;
	pages_remove(b);
	ap_lookup_remove(b);
	ap_unlink_incoming(b);
	ap_unlink_outgoing(b);
}

void ap_cache_drop(struct ap_block *b)
{
	if (!b->dead)
		drop(b);
}

static bool overlaps(const struct ap_block *b, u64 start, u64 end)
{
	for (u32 k = 0; k < b->npages; k++)
		if (b->pages[k].addr < end && b->pages[k].addr + AP_PAGE_SIZE > start)
			return true;
	return false;
}

static void invalidate_bucket(u32 h, u64 start, u64 end)
{
	struct ap_block *b = pages[h];

	while (b) {
		struct ap_block *next = b->pages[page_index(b, h)].next;

		if (overlaps(b, start, end))
			drop(b);
		b = next;
	}
}

/* Only executable ranges can have blocks: programs map and unmap data all the time. */
void ap_cache_invalidate(u64 start, u64 end)
{
	u64 lo, hi;

	start &= AP_PAGE_MASK;
	end = AP_ALIGN_UP(end, AP_PAGE_SIZE);
	ap_resident_forget(start, end);
	ap_clients_drop(start, end);
	for (; ap_region_next(start, end, &lo, &hi); start = hi) {
		ap_clients_code_goes();
		if ((hi - lo) / AP_PAGE_SIZE >= PAGE_BUCKETS) {
			for (u32 h = 0; h < PAGE_BUCKETS; h++)
				invalidate_bucket(h, lo, hi);
			continue;
		}
		for (u64 page = lo & AP_PAGE_MASK; page < hi; page += AP_PAGE_SIZE)
			invalidate_bucket(page_bucket(page), page, page + 1);
	}
}

/* No other thread can be in code that was retired before the present epoch. */
static bool quiescent(void)
{
	struct ap_thread *self = ap_self();

	for (struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		if (t == self || t->epoch == ap_proc.epoch)
			continue;
		if (__atomic_load_n(&ap_thread_slot(t)->in_code, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

bool ap_cache_has_older(u32 epoch)
{
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		if ((s32)(t->epoch - epoch) < 0 &&
		    __atomic_load_n(&ap_thread_slot(t)->in_code, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

static void release(void)
{
	ap_clients_release_code();
	ap_units_release();
	ap_heap_reset();
}

/*
 * Threads leave within one block, as nothing is linked any more; one that is stopped or starved may
 * take long.  Then its memory stays and a later flush frees it, unless a filter of the program's lets
 * us have no other.
 */
static bool wait_and_release(u32 tries)
{
	u32 never = 0;

	ap_thread_bury_dead();
	for (u32 n = 0; n < tries; n++) {
		if (quiescent()) {
			release();
			return true;
		}
		if (n >= YIELDS || ap_sys0(AP_NR_sched_yield))
			ap_own_wait(&never, 0, SLICE_NS);
	}
	return false;
}

void ap_cache_retire(void)
{
	for (u32 k = 0; k < ap_nunits; k++) {
		struct ap_unit *u = &ap_units[k];

		if (!u->base || u->retired)
			continue;
		for (u32 n = 0; n < u->nblocks; n++) {
			u->blocks[n]->dead = 1;
			u->blocks[n]->in = NULL;
			ap_unlink_exits(u->blocks[n]);
		}
	}
	ap_lookup_clear();
	ap_clients_code_goes();
	memset(pages, 0, sizeof(pages));
	ap_units_retire();
	ap_proc.epoch++;
}

void ap_cache_unlink(void)
{
	for (u32 k = 0; k < ap_nunits; k++) {
		struct ap_unit *u = &ap_units[k];

		if (!u->base || u->retired)
			continue;
		for (u32 n = 0; n < u->nblocks; n++) {
			u->blocks[n]->in = NULL;
			ap_unlink_exits(u->blocks[n]);
		}
	}
	ap_ibl_clear();
}

void ap_cache_flush(void)
{
	ap_cache_retire();
	(void)wait_and_release(ap_filter_allows_map(true) ? TRIES : TRIES_ALONE);
}

struct demand {
	u64 start, end, ours; /* so many bytes of it */
};

static void add_ours(u64 start, u64 end, void *arg)
{
	struct demand *d = arg;

	d->ours += ap_overlap(start, end, d->start, d->end);
}

bool ap_cache_can_give_up(u64 start, u64 end)
{
	struct demand d = { .start = start, .end = end };

	ap_mem_for_each(add_ours, &d);
	return d.ours == ap_units_overlap(start, end) + ap_ibl_overlaps(start, end);
}

bool ap_cache_give_up(u64 start, u64 end)
{
	if (!ap_mem_is_ours(start, end))
		return true;
	/* what does not move keeps the place from the program, so the rest need not */
	if (!ap_cache_can_give_up(start, end))
		return false;
	ap_mem_avoid(start, end);
	ap_cache_retire();
	return wait_and_release(TRIES_DEMAND) && ap_ibl_move() && !ap_mem_is_ours(start, end);
}

static bool in_range(u64 pc)
{
#ifdef AP_TEST_SWITCHES
	const struct ap_switches *s = &ap_proc.session->switches;

	return s->hi == 0 || (pc >= s->lo && pc < s->hi);
#else
	(void)pc;
	return true;
#endif
}

/* A block may not count more than the lanes' margins. */
static void build(u64 pc, u32 max_insns)
{
	u32 n;

	if (ap_unlikely(sb.alone) && ap_proc.nlanes) {
		ap_sb_build_walk(&sb, pc, 1);
		return;
	}
	ap_sb_build(&sb, pc, max_insns);
	if (ap_likely(!ap_proc.nlanes))
		return;
	n = ap_clients_limit_insns(&sb);
	if (n < sb.n)
		ap_sb_build(&sb, pc, n);
}

/* Smaller and smaller until it fits; the last attempt gets a fresh cache. */
static struct ap_block *make(u64 pc, u32 max_insns, bool with_pad)
{
	sb.plain = ap_self()->plain;
	for (u32 max = max_insns;; max = (max + 3) / 4) {
		struct ap_block *b;

		build(pc, max);
		b = ap_translate(&sb, with_pad && !sb.transient && !sb.probe);
		if (b || max == 1)
			return b;
	}
}

/* A block that was first reached directly gets its pad apart. */
static void add_pad(struct ap_block *b)
{
	struct ap_unit *u = &ap_units[b->unit];
	struct ap_emit e = { u->base + u->used, u->base + u->size - u->cold, false };
	u8 *pad, *site;

	pad = ap_ibl_emit_pad(&e, b->pc);
	site = ap_emit_jmp32(&e);
	if (e.full)
		return; /* stays on the slow path; the unit is full anyway */
	ap_patch_rel32(site, b->code);
	u->used = (u32)(e.p - u->base);
	b->pad = pad;
	ap_ibl_publish(b);
}

/*
 * AP_STRESS_EVICT.  Not after three signals of four: a handler whose blocks are made again each time
 * may take longer than the time to the next signal, and nothing else would ever run.
 */
static bool is_to_evict(void)
{
	return (ap_is_stressed(ap_proc.session, AP_STRESS_EVICT)) && ap_self()->delivered % 4 == 0;
}

/* With checks an instruction takes four times the room, with records twice. */
static u32 max_insns(void)
{
	if (ap_proc.data)
		return AP_BLOCK_INSNS / 4;
	return ap_feed_is_on() && !ap_self()->plain ? AP_BLOCK_INSNS / 2 : AP_BLOCK_INSNS;
}

/* Not in a fork's child that came to it for the first time. */
static void lead_branches_to(struct ap_block *b)
{
	if (b->has_entry)
		ap_ibl_publish_anew(b);
	else if (!ap_heir_may_publish(b))
		return;
	else if (b->pad)
		ap_ibl_publish(b);
	else
		add_pad(b);
}

static struct ap_block *add_new(u64 pc, bool by_ibl, bool unlinked)
{
	struct ap_block *b;

	b = make(pc, in_range(pc) ? max_insns() : 1, by_ibl && !unlinked);
	if (!b) {
		ap_cache_flush();
		b = make(pc, max_insns(), false);
		if (!b)
			return NULL;
	}
	if (sb.lazy)
		ap_hint_set(sb.lazy, ap_hint_get(sb.lazy) == AP_HINT_UNKNOWN ? AP_HINT_MET_ONCE
									     : AP_HINT_MET_TWICE);
	if (sb.transient || sb.probe) {
		b->dead = 1; /* never linked to, never found */
		return b;
	}
	if (!ap_lookup_add(b)) {
		b->dead = 1;
		return b;
	}
	pages_add(b);
	if (b->pad)
		lead_branches_to(b);
	return b;
}

struct ap_block *ap_cache_get(u64 pc, bool by_ibl)
{
	bool unlinked = ap_is_stressed(ap_proc.session, AP_STRESS_UNLINKED) || ap_feed_is_watched();
	struct ap_thread *t = ap_self();
	struct ap_block *b;
	u64 faults;

	if (ap_unlikely(is_to_evict()))
		ap_cache_flush();
	b = ap_lookup_find(pc, t->plain);
	if (b) {
		if (by_ibl && !unlinked)
			lead_branches_to(b);
		return b;
	}
	faults = ap_feed_own_begin(t);
	b = add_new(pc, by_ibl, unlinked);
	ap_feed_own_end(t, faults);
	return b;
}

void ap_cache_drop_probe(struct ap_block *b)
{
	struct ap_unit *u = &ap_units[b->unit];

	if (!u->nblocks || u->blocks[u->nblocks - 1] != b)
		return;
	if (u->used != (u32)(b->code - u->base) + b->code_len)
		return; /* a pad was put behind it */
	ap_translate_undo(b);
}

struct ap_block *ap_cache_one_shot(u64 pc)
{
	struct ap_block *b;

	ap_smc_hold(true);
	sb.alone = true;
	b = make(pc, 1, false);
	sb.alone = false;
	ap_smc_hold(false);
	if (b)
		b->dead = 1;
	return b;
}
