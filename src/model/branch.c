/* SPDX-License-Identifier: MIT */
/*
 * Branches by kind, and the predictors that need no history of their own: who only ever goes one
 * way, two-bit counters, the branch target buffer, the return stack.
 *
 * A conditional branch is predicted not taken until it is taken, then taken until it is not, and
 * only then by the dynamic predictor (as AMD documents of its CPUs; a real CPU's
 * predictor does not see what its BTB does not know).  Branches never taken are in no history.
 */
#include "base/mem.h"
#include "model/predict.h"

/* --- memory */

static size_t take(char **at, size_t bytes, void *pointer)
{
	bytes = AP_ALIGN_UP(bytes, 64);
	if (*at) {
		*(void **)pointer = bytes ? *at : NULL;
		*at += bytes;
	}
	return bytes;
}

static size_t lay(struct ap_bp *bp, char *at, const struct ap_bp_spec *s)
{
	u32 tables = s->kind == AP_BP_TAGE ? s->tables : 0;
	size_t bytes = 0;

	bytes += take(&at, s->bias_bits ? sizeof(u16) << s->bias_bits : 0, &bp->bias);
	bytes += take(&at, (size_t)1 << s->base_bits, &bp->base);
	for (u32 i = 0; i < tables; i++)
		bytes += take(&at, sizeof(u16) << s->table_bits, &bp->table[i]);
	bytes += take(&at, sizeof(struct ap_loop) * s->loops, &bp->loop);
	bytes += take(&at, sizeof(u64) * s->btb_entries, &bp->btb);
	bytes += take(&at, sizeof(u64) << s->target_bits, &bp->last_target);
	for (u32 i = 0; i < s->target_tables; i++)
		bytes +=
			take(&at, sizeof(struct ap_target) << s->target_table_bits, &bp->target[i]);
	return bytes + take(&at, sizeof(u64) * s->returns, &bp->returns);
}

size_t ap_bp_bytes(const struct ap_machine *machine)
{
	struct ap_bp unused;

	return AP_ALIGN_UP(sizeof(struct ap_bp), 64) + lay(&unused, NULL, &machine->bp);
}

struct ap_bp *ap_bp_init(void *memory, const struct ap_machine *machine, u64 *count)
{
	const struct ap_bp_spec *s = &machine->bp;
	struct ap_bp *bp = memory;

	lay(bp, (char *)memory + AP_ALIGN_UP(sizeof(*bp), 64), s);
	bp->count = count;
	bp->kind = s->kind;
	bp->tag_bits = s->tag_bits;
	bp->bias_mask = (1U << s->bias_bits) - 1;
	bp->base_mask = (1U << s->base_bits) - 1;
	bp->outcome_mask = (1ULL << s->history) - 1;
	bp->table_mask = (1U << s->table_bits) - 1;
	bp->loops = s->loops;
	bp->loop_mask = s->loops / 4 - !!s->loops;
	bp->btb_ways = s->btb_entries ? s->btb_ways : 0;
	bp->btb_mask = s->btb_entries ? s->btb_entries / s->btb_ways - 1 : 0;
	bp->target_mask = (1U << s->target_bits) - 1;
	bp->target_table_mask = (1U << s->target_table_bits) - 1;
	bp->returns_n = s->returns;
	if (s->kind == AP_BP_TAGE)
		ap_folds_init(&bp->outcome_folds, s->tables, s->min_history, s->max_history);
	ap_folds_init(&bp->target_folds, s->target_tables, s->min_history, s->max_history);
	return bp;
}

/* --- conditional branches */

static bool predict_dynamic(struct ap_bp *bp, u64 pc, bool taken, bool *wrong)
{
	u64 hash = ap_bp_hash(pc) >> 32;
	bool guess;
	u8 *base;

	if (bp->kind == AP_BP_TAGE)
		return ap_tage(bp, pc, taken, wrong);
	if (bp->kind == AP_BP_GSHARE)
		hash ^= bp->history[0] & bp->outcome_mask;
	base = &bp->base[hash & bp->base_mask];
	guess = ap_counter_taken(*base);
	ap_counter_learn(base, taken);
	*wrong = guess != taken;
	return guess;
}

static bool dynamic(struct ap_bp *bp, u64 pc, bool taken)
{
	unsigned loop = bp->loops ? ap_loop_predict(bp, pc) : 0;
	bool wrong, guess = predict_dynamic(bp, pc, taken, &wrong);

	if (bp->loops)
		ap_loop_learn(bp, pc, taken, wrong);
	if (loop)
		guess = loop - 1;
	return guess != taken;
}

/* Not the last used of its set. */
static bool btb_search(struct ap_bp *bp, u64 pc, u64 *set)
{
	unsigned way;

	for (way = 1; way < bp->btb_ways && set[way] != pc; way++)
		;
	bp->count[AP_MODEL_BTB_MISS] += way == bp->btb_ways;
	for (unsigned i = way == bp->btb_ways ? way - 1 : way; i; i--)
		set[i] = set[i - 1];
	set[0] = pc;
	return way == bp->btb_ways;
}

/* A taken direct branch: the BTB has it, in order of use. */
static inline bool btb_miss(struct ap_bp *bp, u64 pc)
{
	u64 *set = bp->btb + (size_t)((pc ^ pc >> 11) & bp->btb_mask) * bp->btb_ways;

	if (!bp->btb_ways)
		return false;
	bp->count[AP_MODEL_BTB_LOOKUP]++;
	return ap_unlikely(set[0] != pc) && btb_search(bp, pc, set);
}

/* A branch that may be mispredicted, or teaches something. */
static bool learn(struct ap_bp *bp, u64 pc, bool taken, unsigned state, u16 *bias)
{
	u64 hash = ap_bp_hash(pc);
	bool wrong;

	switch (state) {
	case AP_BIAS_NONE:
		if (!taken)
			return false;
		wrong = true;
		*bias = (hash >> 50) << 2 | AP_BIAS_ALWAYS;
		break;
	case AP_BIAS_ALWAYS:
		wrong = !taken;
		if (wrong)
			*bias = (hash >> 50) << 2 | AP_BIAS_BOTH;
		break;
	default:
		wrong = dynamic(bp, pc, taken);
		break;
	}
	ap_history_push(bp, taken);
	if (taken)
		btb_miss(bp, pc);
	bp->count[AP_MODEL_COND_MISS] += wrong;
	return wrong;
}

bool ap_bp_cond_slow(struct ap_bp *bp, u64 pc, bool taken)
{
	u64 hash = ap_bp_hash(pc);
	u16 *bias = bp->bias ? ap_bp_bias(bp, hash) : NULL;
	unsigned state = bias ? ap_bp_bias_state(*bias, hash) : AP_BIAS_BOTH;

	if (ap_likely(state == AP_BIAS_ALWAYS && taken)) {
		ap_history_push(bp, true);
		btb_miss(bp, pc);
		return false;
	}
	return learn(bp, pc, taken, state, bias);
}

/* --- the others */

bool ap_bp_jump(struct ap_bp *bp, u64 pc)
{
	return btb_miss(bp, pc);
}

void ap_bp_push(struct ap_bp *bp, u64 return_pc)
{
	if (!bp->returns_n)
		return;
	bp->top = bp->top + 1 == bp->returns_n ? 0 : bp->top + 1;
	bp->returns[bp->top] = return_pc;
	bp->depth += bp->depth < bp->returns_n;
}

bool ap_bp_call(struct ap_bp *bp, u64 pc, u64 return_pc)
{
	ap_bp_push(bp, return_pc);
	return btb_miss(bp, pc);
}

bool ap_bp_ret(struct ap_bp *bp, u64 target)
{
	bool wrong = true;

	if (bp->depth) {
		wrong = bp->returns[bp->top] != target;
		bp->top = (bp->top ? bp->top : bp->returns_n) - 1;
		bp->depth--;
	}
	bp->count[AP_MODEL_RETURN_MISS] += wrong;
	return wrong;
}

bool ap_bp_indirect(struct ap_bp *bp, u64 pc, u64 target)
{
	u64 hash = ap_bp_hash(target);
	bool wrong = ap_tage_target(bp, pc, target);

	ap_history_push(bp, hash >> 63);
	ap_history_push(bp, hash >> 62 & 1);
	bp->count[AP_MODEL_INDIRECT_MISS] += wrong;
	return wrong;
}
