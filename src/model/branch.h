/* SPDX-License-Identifier: MIT */
/*
 * The branch predictors of one thread.  Each call takes a branch that retired: predicts it from
 * what was learnt before, learns, and says whether the prediction was wrong.
 */
#ifndef AP_MODEL_BRANCH_H
#define AP_MODEL_BRANCH_H

#include "base/types.h"
#include "model/machine.h"

/* Tagged tables by the lengths of their histories, which do not decrease. */
struct ap_lengths {
	u32 tables;
	u16 length[AP_TAGE_TABLES];
	u64 mask[AP_TAGE_TABLES]; /* that many outcomes, of the history */
};

#define AP_BIAS_NONE   0U /* never taken so far, or forgotten */
#define AP_BIAS_ALWAYS 1U
#define AP_BIAS_BOTH   2U

/*
 * What stands for a two-bit counter's value, which is taken from 2 on, and back: zeroed memory is weakly not
 * taken.
 */
#define AP_COUNTER(value) ((u8)((value) ^ 1U))

/* What is known of a conditional branch. */
struct ap_bp_entry {
	u16 tag;
	u8 state;   /* AP_BIAS_* */
	u8 counter; /* AP_COUNTER() */
	u8 tables; /* TAGE: bit i: because the counter was wrong, there has been an entry in table i */
	u8 patience; /* mispredictions until it may have an entry for loops again */
	u16 loop;    /* 1 + its entry there; 0: none */
};

struct ap_target {
	u64 target;
	u16 tag;
	u8 sure;
	u8 useful;
};

struct ap_loop {
	u32 owner; /* 1 + the slot; 0: free */
	u16 trips; /* outcomes of one run, the last included; 0: not known */
	u16 now;
	u8 sure;
	u8 age;
	u8 stays; /* the outcome of all but the last */
};

struct ap_bp {
	u64 *count;
	/* the outcomes of branches that have gone both ways, bits of targets; the newest is bit 0 */
	u64 history;
	struct ap_bp_entry *slot;
	/*
	 * Changes with everything that could make a branch another one than it was: never taken, always
	 * taken, or both, known to the BTB or not.
	 */
	u32 version;
	u32 slot_mask;
	u8 kind;
	u8 has_bias;
	s8 prefer_other; /* TAGE: fresh entries are worse than what they were made for */
	u32 tag_mask;
	u32 allocations;  /* TAGE's, tried */
	u64 outcome_mask; /* gshare */
	u8 *base;	  /* bimodal, gshare: AP_COUNTER() */
	u32 base_mask;
	u32 table_mask;
	u32 *table[AP_TAGE_TABLES]; /* tage.c */
	struct ap_lengths outcomes;
	struct ap_loop *loop;
	u32 loop_mask; /* of sets of four */
	u32 loops;
	u64 *btb;
	u8 *btb_next; /* of each set, the way to be replaced */
	u32 btb_mask;
	u32 btb_ways;
	u64 *last_target;
	u8 *target_has; /* bit i: there has been an entry in table i */
	u32 target_mask;
	u32 target_table_mask;
	struct ap_target *target[AP_TAGE_TABLES];
	struct ap_lengths targets;
	u64 *returns;
	u32 returns_n;
	u32 top, depth;
};

/* Memory is zeroed and aligned to 64 bytes. */
size_t ap_bp_bytes(const struct ap_machine *machine);
struct ap_bp *ap_bp_init(void *memory, const struct ap_machine *machine, u64 *count);

static inline u64 ap_bp_hash(u64 pc)
{
	return pc * 0x9e3779b97f4a7c15ULL;
}

static inline u32 ap_bp_slot(const struct ap_bp *bp, u64 pc)
{
	return ap_bp_hash(pc) >> 32 & bp->slot_mask;
}

static inline unsigned ap_bp_state(const struct ap_bp *bp, u64 pc)
{
	u64 hash = ap_bp_hash(pc);
	const struct ap_bp_entry *slot = &bp->slot[hash >> 32 & bp->slot_mask];

	if (!bp->has_bias)
		return AP_BIAS_BOTH;
	return slot->tag == hash >> 50 ? slot->state : AP_BIAS_NONE;
}

/* True: mispredicted.  A branch that has never been taken is predicted so and teaches nothing. */
bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken);

/* The same of one that has gone both ways, by its slot, without a look into the BTB. */
bool ap_bp_dynamic_slow(struct ap_bp *bp, u32 slot, bool taken);

static inline u64 ap_bp_entry_word(struct ap_bp_entry entry)
{
	u64 word;

	__builtin_memcpy(&word, &entry, sizeof(word));
	return word;
}

static inline bool ap_bp_dynamic(struct ap_bp *bp, u32 slot, bool taken)
{
	/* neither tables nor a loop are asked, and the counter is at its end */
	const struct ap_bp_entry asked = { .counter = 0xff, .tables = 0xff, .loop = 0xffff };
	const struct ap_bp_entry is = { .counter = AP_COUNTER(3) },
				 is_not = { .counter = AP_COUNTER(0) };
	u64 word = ap_bp_entry_word(bp->slot[slot]) & ap_bp_entry_word(asked);

	if (ap_unlikely(word != (taken ? ap_bp_entry_word(is) : ap_bp_entry_word(is_not))))
		return ap_bp_dynamic_slow(bp, slot, taken);
	bp->history = bp->history << 1 | taken;
	return false;
}

bool ap_bp_indirect(struct ap_bp *bp, u64 pc, u64 target);
bool ap_bp_ret(struct ap_bp *bp, u64 target);

/*
 * True: the BTB did not know it, the decoder had to say (no misprediction as CPUs count them).
 * ap_bp_call() is a direct call; an indirect one is ap_bp_indirect() and ap_bp_push().
 */
bool ap_bp_jump(struct ap_bp *bp, u64 pc);
bool ap_bp_call(struct ap_bp *bp, u64 pc, u64 return_pc);
void ap_bp_push(struct ap_bp *bp, u64 return_pc);

#endif
