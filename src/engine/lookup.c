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
 * In front of the table lie as many entries that are ap_ibl_miss always: code that takes the budgets of lanes
 * down comes there where one is used up, by an index less than 0 (lane_emit.c).
 *
 * The table is below 2 GB, where a displacement reaches it.  A program that asks for its place gets it: the table moves, if need be
 * to where code needs some instructions more to reach it.  A program that asks for all that is low is served so, too.
 *
 * Code without a log (feed_gap.c) leads to its like alone: it has a table of its own, and is found apart.
 */
#include "engine/lookup.h"

#include "engine/data.h"
#include "engine/engine.h"

#define HASH_MIN 4096
#define PAD_NEXT 8 /* next word's distance before the pad's first instruction */

/* Open addressing: a search touches one cache line, and no block but the one it returns. */
struct slot {
	u64 key;		/* key_of() */
	struct ap_block *block; /* NULL: free, or with key GONE a removed entry */
};

#define GONE 1ULL
#define MET_MAX                                                                                    \
	1024 /* entries that are given back one by one: a walk through all of them takes some 50 us */
#define IBL_SIZE   (AP_IBL_ENTRIES * 8ULL)
#define FIRST_SIZE (2 * IBL_SIZE + AP_DATA_MAPS)

#define LOW_TOP	 0x7e080000ULL
#define LOW_STEP 0x1000000ULL

static struct {
	struct slot *slots;
	u32 size, used;	  /* used counts removed entries too */
	u64 *ibl[2];	  /* [1]: of plain code; NULL: there is none */
	u64 *emits;	  /* whose address is written into code */
	u32 nmet;	  /* how often an entry was written since all were ap_ibl_miss */
	u16 met[MET_MAX]; /* the first of them */
	u8 *data;	  /* behind the first; not touched before data.c does */
} tab;

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

static void fill(u64 *half)
{
	/* One fault instead of 128; an old kernel refuses and takes them one by one. */
	ap_sys3(AP_NR_madvise, (u64)half, IBL_SIZE, AP_MADV_POPULATE_WRITE);
	for (u32 i = 0; i < AP_IBL_ENTRIES; i++)
		half[i] = (u64)ap_ibl_miss;
}

int ap_lookup_init(void)
{
	u64 *whole = map_table(FIRST_SIZE);

	tab.emits = tab.ibl[0] = whole + AP_IBL_ENTRIES;
	tab.data = (u8 *)tab.ibl[0] + IBL_SIZE;
	tab.slots = ap_mem_map(0, HASH_MIN * sizeof(struct slot));
	tab.size = HASH_MIN;
	if (!whole || !tab.slots)
		return -AP_ENOMEM;
	fill(tab.ibl[0]);
	if (ap_proc.nlanes)
		ap_ibl_fill_front();
	return 0;
}

bool ap_lookup_init_plain(void)
{
	u64 *whole;

	if (tab.ibl[1])
		return true;
	whole = map_table(2 * IBL_SIZE);
	if (!whole)
		return false;
	fill(whole);
	fill(whole + AP_IBL_ENTRIES);
	tab.ibl[1] = whole + AP_IBL_ENTRIES;
	return true;
}

/* Lock held. */
void ap_ibl_fill_front(void)
{
	if (tab.ibl[0] && tab.ibl[0][-1] != (u64)ap_ibl_miss)
		fill(tab.ibl[0] - AP_IBL_ENTRIES);
}

static u64 *start_of(u32 k)
{
	return tab.ibl[k] ? tab.ibl[k] - AP_IBL_ENTRIES : NULL;
}

static u64 size_of(u32 k)
{
	return k ? 2 * IBL_SIZE : FIRST_SIZE;
}

u64 ap_ibl_overlaps(u64 start, u64 end)
{
	u64 n = 0;

	for (u32 k = 0; k < 2; k++) {
		u64 at = (u64)start_of(k);

		if (at)
			n += ap_overlap(at, at + size_of(k), start, end);
	}
	return n;
}

/* The table of plain code is made anew by who wants it next. */
bool ap_ibl_move(void)
{
	u64 *old = start_of(0), *plain = start_of(1), *whole;

	if (plain && ap_mem_avoids((u64)plain, (u64)plain + size_of(1))) {
		tab.ibl[1] = NULL;
		tab.emits = tab.ibl[0];
		ap_mem_unmap(plain, size_of(1));
	}
	if (!ap_mem_avoids((u64)old, (u64)old + FIRST_SIZE))
		return true;
	whole = map_table(FIRST_SIZE);
	if (!whole)
		return false;
	fill(whole + AP_IBL_ENTRIES);
	if (old[0] == (u64)ap_ibl_miss)
		fill(whole);
	tab.emits = tab.ibl[0] = whole + AP_IBL_ENTRIES;
	tab.data = (u8 *)tab.ibl[0] + IBL_SIZE;
	ap_data_moved();
	ap_mem_unmap(old, FIRST_SIZE);
	return true;
}

struct ap_block *ap_lookup_find(u64 pc, bool plain)
{
	u64 key = key_of(pc, plain);

	for (u32 h = hash_of(key);; h++) {
		const struct slot *s = &tab.slots[h & (tab.size - 1)];

		if (s->key == key && s->block)
			return s->block;
		if (!s->block && s->key != GONE)
			return NULL;
	}
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
		size *= 4;
	n = ap_mem_map(0, size * sizeof(*n));
	if (!n)
		return false;
	for (u32 i = 0; i < tab.size; i++)
		if (tab.slots[i].block)
			put(n, size, tab.slots[i].block);
	/* In this order: the size must never be more than there is, nor may what is gone be named. */
	__atomic_store_n(&tab.slots, n, __ATOMIC_RELEASE);
	__atomic_store_n(&tab.size, size, __ATOMIC_RELEASE);
	tab.used = live;
	ap_mem_unmap(old, old_size * sizeof(*n));
	return true;
}

bool ap_lookup_add(struct ap_block *b)
{
	if (tab.used >= tab.size / 2 && !grow() && tab.used >= tab.size - 1)
		return false;
	put(tab.slots, tab.size, b);
	tab.used++;
	return true;
}

static u64 *entry_of(const struct ap_block *b)
{
	return &tab.ibl[b->plain][b->pc & (AP_IBL_ENTRIES - 1)];
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

void ap_lookup_remove(struct ap_block *b)
{
	for (u32 h = hash_of(key_of(b->pc, b->plain));; h++) {
		struct slot *s = &tab.slots[h & (tab.size - 1)];

		if (s->block == b) {
			s->key = GONE;
			s->block = NULL;
			break;
		}
		if (!s->block && s->key != GONE)
			break;
	}
	if (b->pad)
		ibl_unpublish(b);
}

void ap_lookup_clear(void)
{
	memset(tab.slots, 0, tab.size * sizeof(struct slot));
	tab.used = 0;
	ap_ibl_clear();
}

static void clear_entry(u32 i)
{
	for (u32 k = 0; k < 2 && tab.ibl[k]; k++)
		if (tab.ibl[k][i] != (u64)ap_ibl_miss)
			__atomic_store_n(&tab.ibl[k][i], (u64)ap_ibl_miss, __ATOMIC_RELEASE);
}

void ap_ibl_clear(void)
{
	bool few = tab.nmet <= MET_MAX;

	for (u32 i = 0; i < (few ? tab.nmet : AP_IBL_ENTRIES); i++)
		clear_entry(few ? tab.met[i] : i);
	tab.nmet = 0;
}

void ap_ibl_choose(bool plain)
{
	tab.emits = tab.ibl[plain];
}

u64 ap_ibl_table(void)
{
	return (u64)tab.emits;
}

u8 *ap_data_maps(void)
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

void ap_ibl_publish(struct ap_block *b)
{
	u64 *entry = entry_of(b);

	/* before it is written: who is killed in between leaves nothing that is not given back */
	if (tab.nmet < MET_MAX)
		tab.met[tab.nmet] = b->pc & (AP_IBL_ENTRIES - 1);
	if (tab.nmet <= MET_MAX)
		__atomic_store_n(&tab.nmet, tab.nmet + 1, __ATOMIC_RELEASE);
	*(u64 *)(b->pad - PAD_NEXT) = *entry;
	__atomic_store_n(entry, (u64)b->pad, __ATOMIC_RELEASE);
}
