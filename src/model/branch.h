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

/* What is known of a conditional branch. */
struct ap_bp_entry {
	u16 tag;
	u8 state;    /* AP_BIAS_* */
	u8 counter;  /* TAGE: as those of tables (predict.h), but always 0, 3, 4 or 7 */
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

#define AP_BP_SLOTS   4	  /* neighbours: any of them may have a branch */
#define AP_BP_CHANGES 256 /* a power of two */
#define AP_PATH_BITS  2

struct ap_bp {
	u64 *count;
	/*
	 * the outcomes of branches that have gone both ways, bits of targets; the newest is bit 0
	 */
	u64 history;
	/* where indirect branches of several targets went, AP_PATH_BITS each */
	u64 path;
	struct ap_bp_entry *slot; /* behind the last: two that push a 0 or a 1 into the history */
	/*
	 * Changes with everything that could make a branch another one than it was: never taken,
	 * always taken, or both, known to the BTB or not.
	 */
	u32 version;
	u32 slot_mask;
	u64 changed[AP_BP_CHANGES]; /* by version: the signature of what it came of */
	u8 kind;
	u8 has_bias;
	s8 prefer_other;  /* TAGE: fresh entries are worse than what they were made for */
	u32 tag_mask;	  /* TAGE: of an entry */
	u32 allocations;  /* TAGE's, tried */
	u64 outcome_mask; /* gshare */
	u8 *base;	  /* bimodal, gshare: two-bit counters, of which 1 is stored as 0 */
	u32 base_mask;
	u32 table_mask;
	u32 *tagged;	/* tage.c: the entries of all tables, those of one index side by side */
	u32 index_mask; /* of an offset in it */
	u32 stride;	/* entries for each index */
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

/*
 * One bit of a word: a change of the version is about a branch only if their bits are the same.
 * Those of branches that may have the same slot are.
 */
static inline u64 ap_bp_signature(const struct ap_bp *bp, u64 pc)
{
	return 1ULL << ((ap_bp_hash(pc) >> 32 & bp->slot_mask) / AP_BP_SLOTS % 64);
}

/* Could it be about one of them that the version is another one than then? */
static inline bool ap_bp_changed(const struct ap_bp *bp, u32 then, u64 signature)
{
	u64 any = 0;

	if (bp->version - then > AP_BP_CHANGES)
		return true;
	while (then != bp->version)
		any |= bp->changed[++then % AP_BP_CHANGES];
	return any & signature;
}

/* The slot that has it; if none has, the first of those that it may get. */
static inline u32 ap_bp_slot(const struct ap_bp *bp, u64 pc)
{
	u64 hash = ap_bp_hash(pc);
	u32 first = hash >> 32 & bp->slot_mask;

	for (u32 k = 0; k < AP_BP_SLOTS && bp->has_bias; k++) {
		u32 slot = (first ^ k) & bp->slot_mask;

		if (bp->slot[slot].tag == hash >> 50 && bp->slot[slot].state != AP_BIAS_NONE)
			return slot;
	}
	return first;
}

static inline unsigned ap_bp_state(const struct ap_bp *bp, u32 slot, u64 pc)
{
	if (!bp->has_bias)
		return AP_BIAS_BOTH;
	return bp->slot[slot].tag == ap_bp_hash(pc) >> 50 ? bp->slot[slot].state : AP_BIAS_NONE;
}

/* True: mispredicted.  A branch that has never been taken is predicted so and teaches nothing. */
bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken);

/* The same of one that has gone both ways, by its slot, without a look into the BTB. */
bool ap_bp_dynamic(struct ap_bp *bp, u32 slot, bool taken);

/* The same of many: each is slot << 1 | taken. */
void ap_bp_run(struct ap_bp *bp, const u32 *from, const u32 *to);

/*
 * As ap_bp_indirect(), which leaves it to its caller to push ap_bp_bits() into the history of
 * outcomes, if there is anything to be pushed.  For ap_bp_run() they are AP_BP_PUSH().
 */
bool ap_bp_target(struct ap_bp *bp, u64 pc, u64 target, bool *has_bits);
#define AP_BP_PUSH(bp, bit) (((bp)->slot_mask + 1 + (bit)) << 1 | (bit))

/* Of a target, what goes into the history of outcomes: two bits. */
static inline u32 ap_bp_bits(u64 target)
{
	return (u32)(target * 0x9e3779b97f4a7c15ULL >> 62);
}

bool ap_bp_indirect(struct ap_bp *bp, u64 pc, u64 target);
bool ap_bp_ret(struct ap_bp *bp, u64 target);

/*
 * True: the BTB did not know it, the decoder had to say (no misprediction as CPUs count them).
 * ap_bp_call() is a direct call; an indirect one is ap_bp_indirect() and ap_bp_push().
 */
bool ap_bp_jump(struct ap_bp *bp, u64 pc);
bool ap_bp_call(struct ap_bp *bp, u64 pc, u64 return_pc);
static inline void ap_bp_push(struct ap_bp *bp, u64 return_pc)
{
	if (!bp->returns_n)
		return;
	bp->top = bp->top + 1 == bp->returns_n ? 0 : bp->top + 1;
	bp->returns[bp->top] = return_pc;
	bp->depth += bp->depth < bp->returns_n;
}

/* As ap_bp_ret(), which counts. */
static inline bool ap_bp_pop(struct ap_bp *bp, u64 target)
{
	bool wrong = true;

	if (bp->depth) {
		wrong = bp->returns[bp->top] != target;
		bp->top = (bp->top ? bp->top : bp->returns_n) - 1;
		bp->depth--;
	}
	return wrong;
}

#endif
