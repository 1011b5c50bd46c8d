/* SPDX-License-Identifier: MIT */
/*
 * Branches by kind, and the predictors that need no history of their own: who only ever goes one
 * way, two-bit counters, the branch target buffer, the return stack.
 *
 * A conditional branch is predicted not taken until it is taken, then taken until it is not, and
 * only then by the dynamic predictor (as AMD documents of its CPUs; a real CPU's
 * predictor does not see what its BTB does not know).  Only then they are in the history.
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

/* Without bias, branches share slots and do not know of it. */
static u32 slot_bits(const struct ap_bp_spec *s)
{
	return s->bias_bits ? s->bias_bits : s->base_bits;
}

static size_t lay(struct ap_bp *bp, char *at, const struct ap_bp_spec *s)
{
	u32 tables = s->kind == AP_BP_TAGE ? s->tables : 0;
	size_t bytes = 0;

	bytes += take(&at, sizeof(struct ap_bp_entry) << slot_bits(s), &bp->slot);
	bytes += take(&at, s->kind == AP_BP_TAGE ? 0 : (size_t)1 << s->base_bits, &bp->base);
	for (u32 i = 0; i < tables; i++)
		bytes += take(&at, sizeof(u32) << s->table_bits, &bp->table[i]);
	bytes += take(&at, sizeof(struct ap_loop) * s->loops, &bp->loop);
	bytes += take(&at, sizeof(u64) * s->btb_entries, &bp->btb);
	bytes += take(&at, s->btb_entries ? s->btb_entries / s->btb_ways : 0, &bp->btb_next);
	bytes += take(&at, sizeof(u64) << s->target_bits, &bp->last_target);
	bytes += take(&at, (size_t)1 << s->target_bits, &bp->target_has);
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
	bp->version = 1;
	bp->kind = s->kind;
	bp->tag_mask = (1U << s->tag_bits) - 1;
	bp->has_bias = s->bias_bits > 0;
	bp->slot_mask = (1U << slot_bits(s)) - 1;
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
		ap_lengths_init(&bp->outcomes, s->tables, s->min_history, s->max_history);
	ap_lengths_init(&bp->targets, s->target_tables, s->min_history, s->max_history);
	return bp;
}

/* --- conditional branches */

static bool predict_dynamic(struct ap_bp *bp, u32 slot, bool taken, bool *wrong)
{
	u32 at = slot;
	bool guess;
	u8 *base;

	if (bp->kind == AP_BP_TAGE)
		return ap_tage(bp, slot, taken, wrong);
	if (bp->kind == AP_BP_GSHARE)
		at ^= (u32)(bp->history & bp->outcome_mask);
	base = &bp->base[at & bp->base_mask];
	guess = ap_counter_taken(*base);
	ap_counter_learn(base, taken);
	*wrong = guess != taken;
	return guess;
}

/* Who is sure of a loop is not asked twice. */
bool ap_bp_dynamic_slow(struct ap_bp *bp, u32 slot, bool taken)
{
	unsigned loop;
	bool wrong;

	if (ap_loop_stays(bp, slot, taken)) {
		ap_history_push(bp, taken);
		return false;
	}
	loop = ap_loop_predict(bp, slot);
	if (loop)
		wrong = loop - 1 != taken;
	else
		predict_dynamic(bp, slot, taken, &wrong);
	if (bp->loops)
		ap_loop_learn(bp, slot, taken, wrong);
	ap_history_push(bp, taken);
	bp->count[AP_MODEL_COND_MISS] += wrong;
	return wrong;
}

/* A taken direct branch.  The BTB's oldest goes, so that a hit changes nothing. */
static inline bool btb_miss(struct ap_bp *bp, u64 pc)
{
	u32 at = (u32)(pc ^ pc >> 11) & bp->btb_mask;
	u64 *set = bp->btb + (size_t)at * bp->btb_ways;

	if (!bp->btb_ways)
		return false;
	bp->count[AP_MODEL_BTB_LOOKUP]++;
	for (u32 way = 0; way < bp->btb_ways; way++)
		if (set[way] == pc)
			return false;
	set[bp->btb_next[at]] = pc;
	bp->btb_next[at] = bp->btb_next[at] + 1U == bp->btb_ways ? 0 : bp->btb_next[at] + 1;
	bp->count[AP_MODEL_BTB_MISS]++;
	bp->version++;
	return true;
}

/* The first time that it is taken, and the first time that it is not. */
static void found(struct ap_bp *bp, u32 slot, u64 pc)
{
	ap_loop_forget(bp, slot);
	bp->slot[slot] =
		(struct ap_bp_entry){ .tag = ap_bp_hash(pc) >> 50, .state = AP_BIAS_ALWAYS };
	bp->version++;
}

static void both(struct ap_bp *bp, u32 slot)
{
	bp->slot[slot].state = AP_BIAS_BOTH;
	bp->slot[slot].counter = AP_COUNTER(2); /* weakly taken */
	bp->version++;
}

bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken)
{
	unsigned state = ap_bp_state(bp, pc);
	u32 slot = ap_bp_slot(bp, pc);
	bool wrong;

	if (state == AP_BIAS_BOTH) {
		wrong = ap_bp_dynamic_slow(bp, slot, taken);
	} else {
		wrong = taken != (state == AP_BIAS_ALWAYS);
		bp->count[AP_MODEL_COND_MISS] += wrong;
		if (wrong && taken)
			found(bp, slot, pc);
		else if (wrong)
			both(bp, slot);
	}
	if (taken)
		btb_miss(bp, pc);
	return wrong;
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
	u32 who = ap_bp_hash(pc) >> 32 & bp->target_mask;
	u64 hash = ap_bp_hash(target);
	bool wrong;

	if (!bp->target_has[who] && bp->last_target[who] == target)
		return false;
	wrong = ap_tage_target(bp, pc, target);
	if (bp->target_has[who]) {
		ap_history_push(bp, hash >> 63);
		ap_history_push(bp, hash >> 62 & 1);
	}
	bp->count[AP_MODEL_INDIRECT_MISS] += wrong;
	return wrong;
}
