/* SPDX-License-Identifier: MIT */
/*
 * Tagged tables by geometric history lengths, after A. Seznec and P. Michaud, "A case for
 * (partially) tagged geometric history length branch prediction" (2006), and for targets A. Seznec,
 * "A 64-Kbytes ITTAGE indirect branch predictor" (2011).  Allocation takes the first table that has
 * room instead of a random one, so that a stream always gives the same counts.
 *
 * All tables are looked into at once, and the longest history that has an entry decides.
 */
#include "model/predict.h"

#define USEFUL(e) ((e)&3)

#define AGE_PERIOD (1U << 13) /* allocations after which all usefulness is halved */

/* Of a branch, in each table: its place there, and the tag that it would have. */
struct tage_look {
	u32 *entry[AP_TAGE_TABLES];
	u32 tag[AP_TAGE_TABLES];
	u32 hits; /* bit i: it is in table i */
};

static inline u32 look(const struct ap_bp *bp, u64 site, u32 i, struct tage_look *l)
{
	u64 hash = ap_mix(site, bp->history & bp->outcomes.mask[i]);
	u32 *e = ap_tage_entry(bp->tagged, bp->index_mask, i, hash);
	u32 tag = (u32)(hash >> 32) & bp->tag_mask;

	l->entry[i] = e;
	l->tag[i] = tag;
	return (u32)((*e & bp->tag_mask) == tag) << i;
}

/* Without a jump for each table, where there are three. */
static inline void look_all(const struct ap_bp *bp, u32 slot, struct tage_look *l)
{
	u64 site = ap_site_hash(slot);
	u32 i = 0;

	l->hits = 0;
	if (bp->outcomes.tables == 3) {
		l->hits = look(bp, site, 0, l) | look(bp, site, 1, l) | look(bp, site, 2, l);
		return;
	}
	for (; i < bp->outcomes.tables; i++)
		l->hits |= look(bp, site, i, l);
}

static void grow_old(struct ap_bp *bp)
{
	for (u32 n = 0; n < (bp->table_mask + 1) * bp->stride; n++)
		bp->tagged[n] = (bp->tagged[n] & ~3U) | USEFUL(bp->tagged[n]) >> 1;
}

/* In a table behind the first `from`. */
static void allocate(struct ap_bp *bp, const struct tage_look *l, u32 from, bool taken)
{
	u32 tables = bp->outcomes.tables, i = from;

	while (i < tables && USEFUL(*l->entry[i]))
		i++;
	if (i < tables)
		*l->entry[i] = l->tag[i] | AP_TAGE_STORED(taken ? 4 : 3);
	else
		for (i = from; i < tables; i++)
			(*l->entry[i])--;
	if (!(++bp->allocations % AGE_PERIOD))
		grow_old(bp);
}

/* By the slot's counter, which moves by two.  Wrong? */
static bool ask_slot(struct ap_bp *bp, u32 slot, const struct tage_look *l, bool taken)
{
	static const u8 next[2][8] = { { 0, 0, 0, 0, 3, 3, 4, 4 }, { 3, 3, 4, 4, 7, 7, 7, 7 } };
	u8 *stored = &bp->slot[slot].counter;
	u32 counter = AP_TAGE_COUNTER(*stored);
	bool wrong = (counter >= 4) != taken;

	*stored = AP_TAGE_STORED(next[taken][counter]);
	if (wrong)
		allocate(bp, l, 0, taken);
	return wrong;
}

/* A counter and usefulness after an outcome; the counter's bits are as they are stored. */
static inline u32 learnt(u32 e, bool taken, bool differ, bool right)
{
	u32 counter = AP_TAGE_COUNTER(e), useful = USEFUL(e);
	u32 up = counter + (counter < 7), down = counter - (counter > 0);
	u32 more = useful + (useful < 3), less = useful - (useful > 0);

	counter = taken ? up : down;
	more = right ? more : less;
	useful = differ ? more : useful;
	return (e & ~31U) | AP_TAGE_STORED(counter) | useful;
}

static void prefer(struct ap_bp *bp, bool other)
{
	if (other)
		bp->prefer_other += bp->prefer_other < 7;
	else
		bp->prefer_other -= bp->prefer_other > -8;
}

/* True: mispredicted. */
bool ap_tage(struct ap_bp *bp, u32 slot, bool taken)
{
	u32 provider, hits, e, second;
	struct tage_look l;
	bool guess, other, fresh, final;

	look_all(bp, slot, &l);
	if (!l.hits)
		return ask_slot(bp, slot, &l, taken);
	provider = (u32)ap_highest(l.hits);
	hits = l.hits ^ 1U << provider;
	e = *l.entry[provider];
	if (AP_TAGE_COUNTER(e) == (taken ? 7 : 0))
		return false; /* sure, and nothing to learn */
	second = hits ? *l.entry[ap_highest(hits)] : bp->slot[slot].counter;
	guess = AP_TAGE_COUNTER(e) >= 4;
	other = AP_TAGE_COUNTER(second) >= 4;
	fresh = !(e & 31) || (e & 31) == AP_TAGE_STORED(4);
	final = fresh && bp->prefer_other >= 0 ? other : guess;
	*l.entry[provider] = learnt(e, taken, guess != other, guess == taken);
	if (fresh && guess != other)
		prefer(bp, other == taken);
	if (final == taken)
		return false;
	/* a fresh entry that was right only needs time */
	if (!fresh || guess != taken)
		allocate(bp, &l, provider + 1, taken);
	return true;
}

/* --- targets */

static inline struct ap_target *target_of(struct ap_bp *bp, int i, u32 site, u16 *tag)
{
	u64 hash = ap_mix(ap_site_hash(site), bp->path & bp->targets.mask[i]);

	*tag = hash >> 48;
	*tag += !*tag;
	return &bp->target[i][hash >> 30 & bp->target_table_mask];
}

static int find_target(struct ap_bp *bp, u32 site, u32 tables, struct ap_target **entry)
{
	while (tables) {
		int i = ap_highest(tables);
		u16 tag;

		*entry = target_of(bp, i, site, &tag);
		if ((*entry)->tag == tag)
			return i;
		tables ^= 1U << i;
	}
	return -1;
}

static void allocate_target(struct ap_bp *bp, u32 site, u32 first, u64 target)
{
	u32 tables = bp->targets.tables;
	u16 tag;

	for (u32 i = first; i < tables; i++) {
		struct ap_target *e = target_of(bp, (int)i, site, &tag);

		if (e->useful)
			continue;
		*e = (struct ap_target){ .target = target, .tag = tag };
		bp->target_has[site] |= (u8)(1U << i);
		return;
	}
	for (u32 i = first; i < tables; i++)
		target_of(bp, (int)i, site, &tag)->useful = 0;
}

/* What the entry guesses; it learns. */
static u64 by_target(struct ap_bp *bp, u32 site, int provider, struct ap_target *e, u64 target)
{
	u32 shorter = bp->target_has[site] & ((1U << provider) - 1);
	struct ap_target *second;
	u64 guess, other;

	if (e->target == target && e->sure == 3 && e->useful)
		return target;
	other = find_target(bp, site, shorter, &second) < 0 ? bp->last_target[site]
							    : second->target;
	guess = e->sure ? e->target : other;
	if (e->target == target) {
		e->sure += e->sure < 3;
		if (other != target)
			e->useful = 1;
	} else if (e->sure) {
		e->sure--;
	} else {
		e->target = target;
		e->useful = 0;
	}
	return guess;
}

/* True: mispredicted.  Who always goes to the same place has no entries, and is in no history. */
bool ap_tage_target(struct ap_bp *bp, u32 site, u64 target)
{
	u32 has = bp->target_has[site];
	u64 last = bp->last_target[site], guess = last;
	struct ap_target *entry;
	int provider = -1;

	if (has) {
		provider = find_target(bp, site, has, &entry);
		if (provider >= 0)
			guess = by_target(bp, site, provider, entry, target);
	}
	bp->last_target[site] = target;
	if (guess != target && last)
		allocate_target(bp, site, (u32)(provider + 1), target);
	if (bp->target_has[site])
		bp->path = bp->path << AP_PATH_BITS | ap_bp_hash(target) >> (64 - AP_PATH_BITS);
	return guess != target;
}
