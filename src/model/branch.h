/* SPDX-License-Identifier: MIT */
/*
 * The branch predictors of one thread.  Each call takes a branch that retired: predicts it from
 * what was learnt before, learns, and says whether the prediction was wrong.
 */
#ifndef AP_MODEL_BRANCH_H
#define AP_MODEL_BRANCH_H

#include "base/types.h"
#include "model/machine.h"

#define AP_HISTORY_WORDS 4 /* so that the longest history is 255 */

/* Tagged tables by the lengths of their histories, which do not decrease. */
struct ap_folds {
	u32 tables;
	u16 length[AP_TAGE_TABLES];
	u8 word[AP_TAGE_TABLES];  /* the first that is not whole in it */
	u64 mask[AP_TAGE_TABLES]; /* what of that is */
};

struct ap_target {
	u64 target;
	u16 tag;
	u8 sure;
	u8 useful;
};

struct ap_loop {
	u16 tag;
	u16 trips; /* outcomes of one run, the last included; 0: not known */
	u16 now;
	u8 sure;
	u8 age;
	u8 stays; /* the outcome of all but the last */
};

struct ap_bp {
	u64 *count;
	u16 *bias; /* tag << 2 | AP_BIAS_* */
	u32 bias_mask;
	u8 kind;
	s8 prefer_other; /* TAGE: fresh entries are worse than what they were made for */
	u8 tag_bits;
	u64 branches;	  /* that TAGE learnt from */
	u64 outcome_mask; /* gshare */
	u8 *base;	  /* two-bit counters, xor 1: zeroed memory is weakly not taken */
	u32 base_mask;
	u32 table_mask;
	u16 *table[AP_TAGE_TABLES]; /* tag << 5 | counter << 2 | useful */
	struct ap_folds outcome_folds;
	struct ap_loop *loop;
	u32 loop_mask; /* of sets of four */
	u32 loops;
	u64 *btb;
	u32 btb_mask;
	u32 btb_ways;
	u64 *last_target;
	u32 target_mask;
	u32 target_table_mask;
	struct ap_target *target[AP_TAGE_TABLES];
	struct ap_folds target_folds;
	u64 *returns;
	u32 returns_n;
	u32 top, depth;
	u64 history[AP_HISTORY_WORDS]; /* outcomes, the newest is bit 0 of word 0 */
};

#define AP_BIAS_NONE   0U /* never taken so far, or forgotten */
#define AP_BIAS_ALWAYS 1U
#define AP_BIAS_BOTH   2U

/* Memory is zeroed and aligned to 64 bytes. */
size_t ap_bp_bytes(const struct ap_machine *machine);
struct ap_bp *ap_bp_init(void *memory, const struct ap_machine *machine, u64 *count);

bool ap_bp_cond_slow(struct ap_bp *bp, u64 pc, bool taken);

static inline u64 ap_bp_hash(u64 pc)
{
	return pc * 0x9e3779b97f4a7c15ULL;
}

static inline u16 *ap_bp_bias(struct ap_bp *bp, u64 hash)
{
	return &bp->bias[hash >> 32 & bp->bias_mask];
}

static inline unsigned ap_bp_bias_state(unsigned entry, u64 hash)
{
	return entry >> 2 == hash >> 50 ? entry & 3 : AP_BIAS_NONE;
}

/* True: mispredicted.  A branch that has never been taken is predicted so and teaches nothing. */
static inline bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken)
{
	u64 hash = ap_bp_hash(pc);

	if (!taken && bp->bias && ap_bp_bias_state(*ap_bp_bias(bp, hash), hash) == AP_BIAS_NONE)
		return false;
	return ap_bp_cond_slow(bp, pc, taken);
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
