/* SPDX-License-Identifier: MIT */
/*
 * Hash table of blocks, and the indirect-branch table.
 *
 * An indirect branch leaves its target in rcx, spills rcx and rdx, and jumps through
 * table[target & 0xffff] (movzx, no flags).  The entry is the pad of a block whose pc has these low
 * bits, or ap_ibl_miss.  A pad subtracts its pc from rcx (mov, lea), tests for zero with jrcxz, and
 * on a mismatch restores rcx and jumps through its `next` word: the next pad of the chain, in the
 * end ap_ibl_miss.  Entries and next words are 8-byte aligned data, changed by one store, so threads
 * may run through while the lock holder edits the chain; a pad's memory lives until no thread
 * can be inside (cache.c).
 *
 * Most processes are short and have few blocks, so the table begins small: an eighth, for which code takes 13 bits of the target
 * (lea, movzx).  When it has many pads the whole one is filled, and code that is made from then on uses that.  Blocks of before
 * keep their code; each is dropped when a branch of its own misses, as what is found late has its pad in the whole table
 * alone.  A pad verifies its target, so a thread on its way through the one table may go on in the other.
 *
 * In front of each table lie as many entries that are ap_ibl_miss always: code that takes the budgets of lanes
 * down comes there where one is used up, by an index less than 0 (lane_emit.c).
 *
 * The table is below 2 GB, where a displacement reaches it.  A program that asks for its place gets it: the table moves, if need be
 * to where code needs some instructions more to reach it.  A program that asks for all that is low is served so, too.
 *
 * What a fork's child makes has a small hash table of its own as long as there is little of it: a block's place in the large one is anywhere,
 * and its page the child's parent's.
 *
 * Code without a log (feed_gap.c) leads to its like alone: it has a table of its own, and is found apart.  A table is filled
 * when the first block is made whose code goes through it: a process that no window sees has no pages of the one for code with a log.
 */
#include "engine/cache/lookup.h"

#include "abi/switches.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"

#define HASH_MIN 2048
#define HASH_FEW 16384
#define FRESH	 256 /* a page of them */
#define PAD_NEXT 8   /* next word's distance before the pad's first instruction */

/* Open addressing: a search touches one cache line, and no block but the one it returns. */
struct slot {
	u64 key;		/* key_of() */
	struct ap_block *block; /* NULL: free, or with key GONE a removed entry */
};

#define GONE 1ULL
#define MET_MAX                                                                                    \
	1024 /* entries that are given back one by one: a walk through all of them takes some 50 us */
#define SMALL_ENTRIES (AP_IBL_ENTRIES / 8)
#define SMALL_PADS    2048 /* so many are enough of the small table */
#define IBL_SIZE      (AP_IBL_ENTRIES * 8ULL)
#define SMALL_SIZE    (SMALL_ENTRIES * 8ULL)
/* The small table and its front, the whole one and its front; behind those of code with a log the maps of data. */
#define PAIR_SIZE  (2 * SMALL_SIZE + 2 * IBL_SIZE)
#define FIRST_SIZE (PAIR_SIZE + AP_LOW_MAPS)

#define LOW_TOP	 0x7e080000ULL
#define LOW_STEP 0x1000000ULL

static struct {
	struct slot *slots;
	u32 size, used; /* used counts removed entries too */
	bool has_fresh; /* blocks are added to fresh, */
	u32 nfresh;	/* which has so many, removed ones too */
	/* Of tables; [1]: of plain code; NULL: there is none.  The small and the whole one are not touched before they are filled */
	char *pair[2];
	bool is_filled[2][2];
	bool is_large;	  /* code is made for the whole ones */
	bool has_front;	  /* what is in front of them is filled, too */
	bool emits_plain; /* which is written into code */
	u32 npads;	  /* published since all entries were ap_ibl_miss, */
	bool has_small;	  /* small tables have such pads */
	u32 nmet;	  /* of them so many in the whole tables */
	u16 met[MET_MAX]; /* the first of those */
	u32 nsites;
	u8 *sites[AP_IBL_SITES]; /* of the block in the making */
	u8 *data;		 /* behind the first; not touched before data.c does */
} tab;

static AP_ROOMY __attribute__((aligned(AP_PAGE_SIZE))) struct slot fresh[FRESH];

static u64 *table_of(u32 k, bool is_large)
{
	return (u64 *)(tab.pair[k] + (is_large ? 2 * SMALL_SIZE + IBL_SIZE : SMALL_SIZE));
}

static u32 entries_of(bool is_large)
{
	return is_large ? AP_IBL_ENTRIES : SMALL_ENTRIES;
}

/* No block that is kept has a pc with this bit other than its sign. */
static u64 key_of(u64 pc, bool plain)
{
	return pc ^ (u64)plain << 62;
}

static u32 hash_of(u64 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ULL) >> 32);
}

static void *map_down_from(u64 top, u64 size)
{
	for (u64 at = top - size; at > LOW_STEP && at < top; at -= LOW_STEP) {
		void *p = ap_mem_map_at(at, size);

		if (p)
			return p;
	}
	return NULL;
}

/* Where the address fits a signed displacement, if that can be had. */
static void *map_table(u64 size)
{
	void *p = map_down_from(ap_mem_low_top(LOW_TOP), size);

	if (!p)
		p = map_down_from(LOW_TOP, size);
	return p ? p : ap_mem_map(0, size);
}

static void fill(u64 *half, u32 entries)
{
	ap_mem_populate(half, entries * 8ULL);
	for (u32 i = 0; i < entries; i++)
		half[i] = (u64)ap_ibl_miss;
}

static void fill_table(u32 k, bool is_large)
{
	u32 entries = entries_of(is_large);
	u64 *at = table_of(k, is_large);

	fill(at, entries);
	if (tab.has_front)
		fill(at - entries, entries);
	__atomic_store_n(&tab.is_filled[k][is_large], true, __ATOMIC_RELEASE);
}

int ap_lookup_init(void)
{
	tab.pair[0] = map_table(FIRST_SIZE);
	tab.data = (u8 *)tab.pair[0] + PAIR_SIZE;
	tab.slots = ap_mem_early(HASH_MIN * sizeof(struct slot));
	if (!tab.slots)
		tab.slots = ap_mem_map(0, HASH_MIN * sizeof(struct slot));
	tab.size = HASH_MIN;
	if (!tab.pair[0] || !tab.slots)
		return -AP_ENOMEM;
	tab.has_front = ap_proc.nlanes > 0;
	tab.has_small = true;
	return 0;
}

bool ap_lookup_init_plain(void)
{
	if (tab.pair[1])
		return true;
	tab.pair[1] = map_table(PAIR_SIZE);
	return tab.pair[1];
}

/* Lock held. */
void ap_ibl_fill_front(void)
{
	u32 entries = entries_of(tab.is_large);

	if (tab.has_front)
		return;
	tab.has_front = true;
	for (u32 k = 0; k < 2; k++)
		if (tab.is_filled[k][tab.is_large])
			fill(table_of(k, tab.is_large) - entries, entries);
}

static u64 size_of(u32 k)
{
	return k ? PAIR_SIZE : FIRST_SIZE;
}

u64 ap_ibl_overlaps(u64 start, u64 end)
{
	u64 n = 0;

	for (u32 k = 0; k < 2; k++) {
		u64 at = (u64)tab.pair[k];

		if (at)
			n += ap_overlap(at, at + size_of(k), start, end);
	}
	return n;
}

/* To where the engine may be; what was in it is forgotten.  False: there is no room. */
static bool move_pair(u32 k)
{
	char *old = tab.pair[k], *new;

	if (!old || !ap_mem_avoids((u64)old, (u64)old + size_of(k)))
		return true;
	new = map_table(size_of(k));
	if (!new)
		return false;
	tab.pair[k] = new;
	tab.is_filled[k][0] = tab.is_filled[k][1] = false;
	if (!k) {
		tab.data = (u8 *)new + PAIR_SIZE;
		ap_clients_low_maps_moved();
	}
	ap_mem_unmap(old, size_of(k));
	return true;
}

/* Threads may be in plain code, and want its table next. */
bool ap_ibl_move(void)
{
	return move_pair(1) && move_pair(0);
}

static struct ap_block *find_in(const struct slot *slots, u32 size, u64 key)
{
	for (u32 h = hash_of(key);; h++) {
		const struct slot *s = &slots[h & (size - 1)];

		if (s->key == key && s->block)
			return s->block;
		if (!s->block && s->key != GONE)
			return NULL;
	}
}

struct ap_block *ap_lookup_find(u64 pc, bool plain)
{
	u64 key = key_of(pc, plain);
	struct ap_block *b = tab.nfresh ? find_in(fresh, FRESH, key) : NULL;

	return b ? b : find_in(tab.slots, tab.size, key);
}

static void put(struct slot *slots, u32 size, struct ap_block *b)
{
	u64 key = key_of(b->pc, b->plain);
	u32 h = hash_of(key) & (size - 1);

	while (slots[h].block)
		h = (h + 1) & (size - 1);
	slots[h].key = key;
	slots[h].block = b;
}

/* Also sweeps out removed entries. */
static bool grow(void)
{
	u32 size = tab.size, old_size = size, live = 0;
	struct slot *n, *old = tab.slots;

	for (u32 i = 0; i < tab.size; i++)
		live += tab.slots[i].block != NULL;
	if (live >= tab.size / 4)
		size *= size < HASH_FEW ? 2 : 4;
	n = ap_mem_map(0, size * sizeof(*n));
	if (!n)
		return false;
	ap_mem_populate(n, size * sizeof(*n));
	for (u32 i = 0; i < tab.size; i++)
		if (tab.slots[i].block)
			put(n, size, tab.slots[i].block);
	/* In this order: the size must never be more than there is, nor may what is gone be named. */
	__atomic_store_n(&tab.slots, n, __ATOMIC_RELEASE);
	__atomic_store_n(&tab.size, size, __ATOMIC_RELEASE);
	tab.used = live;
	if (old_size > HASH_MIN) /* the first is the blob's */
		ap_mem_unmap(old, old_size * sizeof(*n));
	return true;
}

static bool add(struct ap_block *b)
{
	if (tab.used >= tab.size / 2 && !grow() && tab.used >= tab.size - 1)
		return false;
	put(tab.slots, tab.size, b);
	tab.used++;
	return true;
}

/* Into the large table; what has no room there will not be found. */
static void end_fresh(void)
{
	tab.has_fresh = false;
	for (u32 i = 0; i < FRESH; i++)
		if (fresh[i].block)
			(void)add(fresh[i].block);
	tab.nfresh = 0;
	memset(fresh, 0, sizeof(fresh));
}

bool ap_lookup_add(struct ap_block *b)
{
	if (tab.has_fresh && tab.nfresh < FRESH / 2) {
		put(fresh, FRESH, b);
		tab.nfresh++;
		return true;
	}
	if (tab.has_fresh)
		end_fresh();
	return add(b);
}

/* What was made before is found where it is. */
void ap_lookup_fork_child(void)
{
	tab.has_fresh = true;
}

/* The pad's entry in the table that it is in. */
static u64 *entry_of(const struct ap_block *b)
{
	return &table_of(b->plain, b->pad_large)[b->pc & (entries_of(b->pad_large) - 1)];
}

static void ibl_unpublish(struct ap_block *b)
{
	u64 *link = entry_of(b);

	while (*link != (u64)ap_ibl_miss) {
		if (*link == (u64)b->pad) {
			u64 next = *(u64 *)(b->pad - PAD_NEXT);

			__atomic_store_n(link, next, __ATOMIC_RELEASE);
			return;
		}
		link = (u64 *)(*link - PAD_NEXT);
	}
}

static void remove_from(struct slot *slots, u32 size, const struct ap_block *b)
{
	for (u32 h = hash_of(key_of(b->pc, b->plain));; h++) {
		struct slot *s = &slots[h & (size - 1)];

		if (s->block == b) {
			s->key = GONE;
			s->block = NULL;
			break;
		}
		if (!s->block && s->key != GONE)
			break;
	}
}

void ap_lookup_remove(struct ap_block *b)
{
	remove_from(tab.slots, tab.size, b);
	if (tab.nfresh)
		remove_from(fresh, FRESH, b);
	if (b->pad)
		ibl_unpublish(b);
}

void ap_lookup_clear(void)
{
	memset(tab.slots, 0, tab.size * sizeof(struct slot));
	tab.used = 0;
	if (tab.nfresh)
		memset(fresh, 0, sizeof(fresh));
	tab.nfresh = 0;
	ap_ibl_clear();
}

static void clear_entry(u32 i, bool is_large)
{
	for (u32 k = 0; k < 2; k++) {
		u64 *entry = tab.is_filled[k][is_large] ? &table_of(k, is_large)[i] : NULL;

		if (entry && *entry != (u64)ap_ibl_miss)
			__atomic_store_n(entry, (u64)ap_ibl_miss, __ATOMIC_RELEASE);
	}
}

static void clear_large(void)
{
	bool few = tab.nmet <= MET_MAX;

	for (u32 i = 0; i < (few ? tab.nmet : AP_IBL_ENTRIES); i++)
		clear_entry(few ? tab.met[i] : i, true);
	tab.nmet = 0;
}

void ap_ibl_clear(void)
{
	if (tab.is_large)
		clear_large();
	for (u32 i = 0; tab.has_small && i < SMALL_ENTRIES; i++)
		clear_entry(i, false);
	tab.has_small = !tab.is_large;
	tab.npads = 0;
}

void ap_ibl_choose(bool plain)
{
	tab.emits_plain = plain;
	tab.nsites = 0;
	if (ap_unlikely(!tab.is_filled[plain][tab.is_large]))
		fill_table(plain, tab.is_large);
}

void ap_ibl_note_site(u8 *at)
{
	if (tab.nsites < AP_IBL_SITES)
		tab.sites[tab.nsites] = at;
	tab.nsites++;
}

u32 ap_ibl_sites(u8 *const **sites)
{
	*sites = tab.sites;
	return tab.nsites;
}

u64 ap_ibl_table(void)
{
	return (u64)table_of(tab.emits_plain, tab.is_large);
}

bool ap_ibl_is_large(void)
{
	return tab.is_large;
}

bool ap_ibl_has_old_code(void)
{
	return tab.is_large && tab.has_small;
}

u8 *ap_low_maps(void)
{
	return tab.data;
}

/* Without flags; rdx is spilled. */
static void emit_add_rcx(struct ap_emit *e, u64 v)
{
	if (ap_fits_s32((s64)v)) {
		ap_emit_bytes(e, (const u8[]){ 0x48, 0x8d, 0x89 }, 3); /* lea rcx, [rcx + v] */
		ap_emit32(e, (u32)v);
		return;
	}
	ap_emit_bytes(e, (const u8[]){ 0x48, 0xba }, 2); /* mov rdx, v */
	ap_emit64(e, v);
	ap_emit_bytes(e, (const u8[]){ 0x48, 0x8d, 0x0c, 0x11 }, 4); /* lea rcx, [rcx + rdx] */
}

u8 *ap_ibl_emit_pad(struct ap_emit *e, u64 pc)
{
	static const u8 jmp_rip[2] = { 0xff, 0x25 };
	u8 *pad, *jr, *next;

	ap_emit_align(e, 16);
	ap_emit64(e, 0);
	next = e->p;
	ap_emit64(e, (u64)ap_ibl_miss);
	pad = e->p;
	emit_add_rcx(e, -pc);
	ap_emit8(e, 0xe3); /* jrcxz hit */
	jr = e->p;
	ap_emit8(e, 0);
	emit_add_rcx(e, pc);
	ap_emit_bytes(e, jmp_rip, 2);
	ap_emit32(e, (u32)(next - (e->p + 4)));
	if (e->full)
		return NULL;
	*jr = (u8)(e->p - (jr + 1));
	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_RDX);
	return pad;
}

/* Few pads are enough where room is to be short. */
static u32 small_pads(void)
{
	return ap_is_stressed(ap_proc.session, AP_STRESS_SHAPES) ? 16 : SMALL_PADS;
}

/* Nobody else can come in while the lock is held. */
static bool is_alone(void)
{
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		if (t != ap_self() &&
		    __atomic_load_n(&ap_thread_slot(t)->in_code, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* Its branches and its pad, as far as the former can be changed. */
static void take_along(struct ap_block *b)
{
	const u16 *sites = (const u16 *)(b->recs + b->nrecs);
	bool all = b->nsites > 0;

	ap_ibl_choose(b->plain);
	for (u32 k = 0; k < b->nsites; k++)
		all &= ap_mangle_enlarge(b->code + sites[k]);
	b->small &= !all;
	b->nsites = 0;
	tab.has_small |= b->small;
	if (b->pad && !b->dead)
		ap_ibl_publish_anew(b);
}

static void take_all_along(void)
{
	bool plain = tab.emits_plain;

	tab.has_small = false;
	for (u32 k = 0; k < ap_nunits; k++) {
		const struct ap_unit *u = &ap_units[k];

		for (u32 n = 0; u->base && !u->retired && n < u->nblocks; n++)
			take_along(u->blocks[n]);
	}
	ap_ibl_choose(plain);
}

/*
 * The whole tables from here on.  Filled first: a thread that is killed in between leaves the small ones in use.  If others are in the code
 * it is left as it is.
 */
static void enlarge(void)
{
	bool alone = is_alone();

	for (u32 k = 0; k < 2; k++)
		if (tab.is_filled[k][false])
			fill_table(k, true);
	tab.nmet = 0;
	__atomic_store_n(&tab.is_large, true, __ATOMIC_RELEASE);
	if (alone)
		take_all_along();
}

/* It works well beyond that, so that there is time for a moment in which nobody else is in the code. */
static bool is_small_full(void)
{
	return tab.npads >= small_pads() && (is_alone() || tab.npads >= 4 * small_pads());
}

void ap_ibl_publish(struct ap_block *b)
{
	u64 *entry;

	if (!tab.is_large && is_small_full()) {
		enlarge();
		if (b->pad_large)
			return;
	}
	tab.npads++;
	b->has_entry = true;
	b->pad_large = tab.is_large;
	entry = entry_of(b);
	/* before it is written: who is killed in between leaves nothing that is not given back */
	if (tab.is_large) {
		if (tab.nmet < MET_MAX)
			tab.met[tab.nmet] = b->pc & (AP_IBL_ENTRIES - 1);
		if (tab.nmet <= MET_MAX)
			__atomic_store_n(&tab.nmet, tab.nmet + 1, __ATOMIC_RELEASE);
	}
	*(u64 *)(b->pad - PAD_NEXT) = *entry;
	__atomic_store_n(entry, (u64)b->pad, __ATOMIC_RELEASE);
}

void ap_ibl_publish_anew(struct ap_block *b)
{
	if (b->pad_large == tab.is_large)
		return;
	ibl_unpublish(b);
	ap_ibl_publish(b);
}
