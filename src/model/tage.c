/* SPDX-License-Identifier: MIT */
/*
 * Tagged tables by geometric history lengths, after A. Seznec and P. Michaud, "A case for (partially)
 * tagged geometric history length branch prediction" (2006), and for targets A. Seznec, "A 64-Kbytes
 * ITTAGE indirect branch predictor" (2011).  Allocation takes the first table that has room instead of a
 * random one, so that a stream always gives the same counts.
 *
 * An entry knows in which tables entries have been made because it was wrong: only there the search goes on,
 * from shorter to longer histories.  So a branch whose counter does costs no look into a table.
 */
#include "model/predict.h"

/*
 * entry: tag << 16 | next << 8 | counter (0..7, taken from 4) << 2 | useful (0..3); next has a bit for each
 * table where the search goes on; 0: free, no tag is 0
 */
#define TAG(e)	   ((e) >> 16)
#define NEXT(e)	   ((e) >> 8 & 0xff)
#define COUNTER(e) ((e) >> 2 & 7)
#define USEFUL(e)  ((e)&3)

#define AGE_PERIOD (1U << 13) /* allocations after which all usefulness is halved */

struct found {
	u32 *provider, *other; /* NULL: the slot's counter */
	u32 longer;	       /* the first table behind the provider's */
};

static inline u32 *entry_of(struct ap_bp *bp, u32 i, u32 slot, u32 *tag)
{
	u64 hash = ap_history_hash(bp, &bp->outcomes, i, slot);

	*tag = hash >> 52 & bp->tag_mask;
	*tag += !*tag;
	return &bp->table[i][hash >> 30 & bp->table_mask];
}

static inline struct found find(struct ap_bp *bp, u32 slot)
{
	struct found f = { 0 };
	u32 next = bp->slot[slot].tables;

	while (next) {
		u32 i = (u32)__builtin_ctz(next), tag;
		u32 *e = entry_of(bp, i, slot, &tag);

		next &= next - 1;
		if (TAG(*e) != tag)
			continue;
		f.other = f.provider;
		f.provider = e;
		f.longer = i + 1;
		next = NEXT(*e);
	}
	return f;
}

static void grow_old(struct ap_bp *bp)
{
	for (u32 i = 0; i < bp->outcomes.tables; i++)
		for (u32 n = 0; n <= bp->table_mask; n++) {
			u32 e = bp->table[i][n];

			bp->table[i][n] = (e & ~3U) | USEFUL(e) >> 1;
		}
}

static void allocate(struct ap_bp *bp, u32 slot, const struct found *f, bool taken)
{
	u32 tables = bp->outcomes.tables, tag, i;

	for (i = f->longer; i < tables; i++) {
		u32 *e = entry_of(bp, i, slot, &tag);

		if (USEFUL(*e))
			continue;
		*e = tag << 16 | (taken ? 4 : 3) << 2;
		if (f->provider)
			*f->provider |= 1U << (8 + i);
		else
			bp->slot[slot].tables |= (u8)(1U << i);
		break;
	}
	if (i == tables)
		for (i = f->longer; i < tables; i++)
			(*entry_of(bp, i, slot, &tag))--;
	if (!(++bp->allocations % AGE_PERIOD))
		grow_old(bp);
}

/* The prediction, where there is an entry that is not sure, or was wrong. */
static bool learn(struct ap_bp *bp, u32 slot, const struct found *f, bool taken, bool *mispredicted)
{
	u32 *e = f->provider;
	bool guess = COUNTER(*e) >= 4, other, final, fresh;

	fresh = !USEFUL(*e) && (COUNTER(*e) == 3 || COUNTER(*e) == 4);
	other = f->other ? COUNTER(*f->other) >= 4 : ap_counter_taken(bp->slot[slot].counter);
	final = fresh && bp->prefer_other >= 0 ? other : guess;
	if (guess != other) {
		if (fresh && other == taken)
			bp->prefer_other += bp->prefer_other < 7;
		else if (fresh)
			bp->prefer_other -= bp->prefer_other > -8;
		if (guess == taken)
			*e += USEFUL(*e) < 3;
		else
			*e -= USEFUL(*e) > 0;
	}
	if (taken ? COUNTER(*e) < 7 : COUNTER(*e) > 0)
		*e += taken ? 1U << 2 : -(1U << 2);
	*mispredicted = final != taken;
	/* a fresh entry that was right only needs time */
	if (final != taken && !(fresh && guess == taken))
		allocate(bp, slot, f, taken);
	return final;
}

/* The prediction; *mispredicted says whether TAGE was wrong. */
bool ap_tage(struct ap_bp *bp, u32 slot, bool taken, bool *mispredicted)
{
	struct found f = find(bp, slot);
	u8 *counter = &bp->slot[slot].counter;
	bool guess;

	if (f.provider && COUNTER(*f.provider) != (taken ? 7 : 0))
		return learn(bp, slot, &f, taken, mispredicted);
	*mispredicted = false;
	if (f.provider) /* sure, and nothing to learn */
		return taken;
	guess = ap_counter_taken(*counter);
	ap_counter_learn(counter, taken);
	*mispredicted = guess != taken;
	if (guess != taken)
		allocate(bp, slot, &f, taken);
	return guess;
}

/* --- targets */

static inline struct ap_target *target_of(struct ap_bp *bp, int i, u32 who, u16 *tag)
{
	u64 hash = ap_history_hash(bp, &bp->targets, (unsigned)i, who);

	*tag = hash >> 48;
	*tag += !*tag;
	return &bp->target[i][hash >> 30 & bp->target_table_mask];
}

static int find_target(struct ap_bp *bp, u32 who, u32 tables, struct ap_target **entry)
{
	while (tables) {
		int i = ap_highest(tables);
		u16 tag;

		*entry = target_of(bp, i, who, &tag);
		if ((*entry)->tag == tag)
			return i;
		tables ^= 1U << i;
	}
	return -1;
}

static void allocate_target(struct ap_bp *bp, u32 who, u32 first, u64 target)
{
	u32 tables = bp->targets.tables;
	u16 tag;

	for (u32 i = first; i < tables; i++) {
		struct ap_target *e = target_of(bp, (int)i, who, &tag);

		if (e->useful)
			continue;
		*e = (struct ap_target){ .target = target, .tag = tag };
		bp->target_has[who] |= (u8)(1U << i);
		return;
	}
	for (u32 i = first; i < tables; i++)
		target_of(bp, (int)i, who, &tag)->useful = 0;
}

/* What the entry guesses; it learns. */
static u64 by_target(struct ap_bp *bp, u32 who, int provider, struct ap_target *e, u64 target)
{
	u32 shorter = bp->target_has[who] & ((1U << provider) - 1);
	struct ap_target *second;
	u64 guess, other;

	if (e->target == target && e->sure == 3 && e->useful)
		return target;
	other = find_target(bp, who, shorter, &second) < 0 ? bp->last_target[who] : second->target;
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
bool ap_tage_target(struct ap_bp *bp, u64 pc, u64 target)
{
	u32 who = ap_bp_hash(pc) >> 32 & bp->target_mask, has = bp->target_has[who];
	u64 last = bp->last_target[who], guess = last;
	struct ap_target *entry;
	int provider = -1;

	if (has) {
		provider = find_target(bp, who, has, &entry);
		if (provider >= 0)
			guess = by_target(bp, who, provider, entry, target);
	}
	bp->last_target[who] = target;
	if (guess != target && last)
		allocate_target(bp, who, (u32)(provider + 1), target);
	return guess != target;
}
