/* SPDX-License-Identifier: MIT */
/*
 * Tagged tables by geometric history lengths, after A. Seznec and P. Michaud, "A case for (partially)
 * tagged geometric history length branch prediction" (2006), and for targets A. Seznec, "A 64-Kbytes
 * ITTAGE indirect branch predictor" (2011).  Allocation takes the first table that has room instead of a
 * random one, so that a stream always gives the same counts.
 */
#include "model/predict.h"

/* entry: tag << 5 | counter (0..7, taken from 4) << 2 | useful (0..3); 0: free, no tag is 0 */
#define TAG(e)	   ((e) >> 5)
#define COUNTER(e) ((e) >> 2 & 7)
#define USEFUL(e)  ((e)&3)

#define AGE_PERIOD (1U << 18) /* branches after which all usefulness is halved */

struct looked_up {
	u16 *entry[AP_TAGE_TABLES];
	u16 tag[AP_TAGE_TABLES];
	int provider, other; /* the longest match and the next, -1: the base */
};

static void look_up(struct ap_bp *bp, u64 pc, struct looked_up *l)
{
	u32 tags = (1U << bp->tag_bits) - 1;
	u64 pc_hash = ap_bp_hash(pc), whole = 0;
	u32 word = 0;

	l->provider = l->other = -1;
	for (u32 i = 0; i < bp->outcome_folds.tables; i++) {
		u64 fold = ap_fold(&bp->outcome_folds, i, bp->history, &whole, &word);
		u64 hash = ap_fold_hash(pc_hash, fold);
		u32 tag = hash >> 52 & tags;

		tag += !tag;
		l->tag[i] = tag;
		l->entry[i] = &bp->table[i][hash >> 30 & bp->table_mask];
		if (TAG(*l->entry[i]) == tag) {
			l->other = l->provider;
			l->provider = (int)i;
		}
	}
}

static void count_up_down(u16 *entry, bool taken)
{
	u16 c = COUNTER(*entry);

	if (taken ? c < 7 : c > 0)
		*entry += taken ? 1 << 2 : -(1 << 2);
}

static void allocate(struct ap_bp *bp, struct looked_up *l, bool taken)
{
	u32 first = l->provider + 1, tables = bp->outcome_folds.tables;

	for (u32 i = first; i < tables; i++) {
		if (USEFUL(*l->entry[i]))
			continue;
		*l->entry[i] = l->tag[i] << 5 | (taken ? 4 : 3) << 2;
		return;
	}
	for (u32 i = first; i < tables; i++)
		(*l->entry[i])--;
}

static void grow_old(struct ap_bp *bp)
{
	for (u32 i = 0; i < bp->outcome_folds.tables; i++)
		for (u32 n = 0; n <= bp->table_mask; n++) {
			u16 e = bp->table[i][n];

			bp->table[i][n] = (e & ~3) | USEFUL(e) >> 1;
		}
}

/* The prediction; *mispredicted says whether TAGE was wrong. */
bool ap_tage(struct ap_bp *bp, u64 pc, bool taken, bool *mispredicted)
{
	u8 *base = &bp->base[ap_bp_hash(pc) >> 32 & bp->base_mask];
	struct looked_up l;
	bool guess, other, final, fresh = false;
	u16 *e;

	look_up(bp, pc, &l);
	other = l.other < 0 ? ap_counter_taken(*base) : COUNTER(*l.entry[l.other]) >= 4;
	final = guess = other;
	if (l.provider < 0) {
		ap_counter_learn(base, taken);
	} else {
		e = l.entry[l.provider];
		guess = COUNTER(*e) >= 4;
		fresh = !USEFUL(*e) && (COUNTER(*e) == 3 || COUNTER(*e) == 4);
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
		count_up_down(e, taken);
	}
	*mispredicted = final != taken;
	/* a fresh entry that was right only needs time */
	if (final != taken && !(fresh && guess == taken))
		allocate(bp, &l, taken);
	if (!(++bp->branches % AGE_PERIOD))
		grow_old(bp);
	return final;
}

/* --- targets */

struct looked_up_target {
	struct ap_target *entry[AP_TAGE_TABLES];
	u16 tag[AP_TAGE_TABLES];
	int provider, other;
};

static void look_up_target(struct ap_bp *bp, u64 pc, struct looked_up_target *l)
{
	u64 pc_hash = ap_bp_hash(pc), whole = 0;
	u32 word = 0;

	l->provider = l->other = -1;
	for (u32 i = 0; i < bp->target_folds.tables; i++) {
		u64 fold = ap_fold(&bp->target_folds, i, bp->history, &whole, &word);
		u64 hash = ap_fold_hash(pc_hash, fold);
		u32 tag = hash >> 48;

		tag += !tag;
		l->tag[i] = tag;
		l->entry[i] = &bp->target[i][hash >> 30 & bp->target_table_mask];
		if (l->entry[i]->tag == tag) {
			l->other = l->provider;
			l->provider = (int)i;
		}
	}
}

static void allocate_target(struct ap_bp *bp, struct looked_up_target *l, u64 target)
{
	u32 first = l->provider + 1, tables = bp->target_folds.tables;

	for (u32 i = first; i < tables; i++) {
		if (l->entry[i]->useful)
			continue;
		*l->entry[i] = (struct ap_target){ .target = target, .tag = l->tag[i] };
		return;
	}
	for (u32 i = first; i < tables; i++)
		l->entry[i]->useful = 0;
}

/* True: mispredicted. */
bool ap_tage_target(struct ap_bp *bp, u64 pc, u64 target)
{
	u64 *last = &bp->last_target[ap_bp_hash(pc) >> 32 & bp->target_mask];
	struct looked_up_target l;
	u64 guess = *last, other;
	struct ap_target *e;

	look_up_target(bp, pc, &l);
	other = l.other < 0 ? *last : l.entry[l.other]->target;
	if (l.provider >= 0) {
		e = l.entry[l.provider];
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
	}
	*last = target;
	if (guess == target)
		return false;
	allocate_target(bp, &l, target);
	return true;
}
