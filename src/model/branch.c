/* SPDX-License-Identifier: MIT */
/*
 * Branches by kind, and the predictors that need no history of their own: a branch that only ever
 * goes one way, two-bit counters, the branch target buffer, the return stack.
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

static u32 stride_of(const struct ap_bp_spec *s)
{
	return s->tables <= 4 ? 4 : 8;
}

static size_t lay(struct ap_bp *bp, char *at, const struct ap_bp_spec *s)
{
	size_t bytes = 0;

	bytes += take(&at, sizeof(struct ap_bp_entry) * ((1UL << slot_bits(s)) + 2), &bp->slot);
	bytes += take(&at, s->kind == AP_BP_TAGE ? 0 : (size_t)1 << s->base_bits, &bp->base);
	if (s->kind == AP_BP_TAGE)
		bytes += take(&at, (sizeof(u32) * stride_of(s)) << s->table_bits, &bp->tagged);
	bytes += take(&at, sizeof(struct ap_loop) * (s->loops + 2), &bp->loop);
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

/* The slots that push a bit: of loops that are known, and never end. */
static void init_pushes(struct ap_bp *bp)
{
	for (u32 bit = 0; bit < 2; bit++) {
		bp->loop[bp->loops + bit] =
			(struct ap_loop){ .sure = AP_LOOP_SURE, .stays = (u8)bit };
		bp->slot[bp->slot_mask + 1 + bit].loop = (u16)(bp->loops + bit + 1);
	}
}

struct ap_bp *ap_bp_init(void *memory, const struct ap_machine *machine, u64 *count)
{
	const struct ap_bp_spec *s = &machine->bp;
	struct ap_bp *bp = memory;

	lay(bp, (char *)memory + AP_ALIGN_UP(sizeof(*bp), 64), s);
	bp->count = count;
	bp->version = 1;
	bp->kind = s->kind;
	bp->tag_mask = ~0U << (32 - s->tag_bits) % 32;
	bp->has_bias = s->bias_bits > 0;
	bp->slot_mask = (1U << slot_bits(s)) - 1;
	bp->base_mask = (1U << s->base_bits) - 1;
	bp->outcome_mask = (1ULL << s->history) - 1;
	bp->stride = stride_of(s);
	bp->table_mask = (1U << s->table_bits) - 1;
	bp->index_mask = bp->table_mask * bp->stride * (u32)sizeof(u32);
	bp->loops = s->loops;
	bp->loop_mask = s->loops / 4 - !!s->loops;
	bp->btb_ways = s->btb_entries ? s->btb_ways : 0;
	bp->btb_mask = s->btb_entries ? s->btb_entries / s->btb_ways - 1 : 0;
	bp->target_mask = (1U << s->target_bits) - 1;
	bp->target_table_mask = (1U << s->target_table_bits) - 1;
	bp->returns_n = s->returns;
	if (s->kind == AP_BP_TAGE)
		ap_lengths_init(&bp->outcomes, s->tables, s->min_history, s->max_history);
	ap_lengths_init(&bp->targets, s->target_tables, 2 * AP_PATH_BITS, 64);
	init_pushes(bp);
	return bp;
}

/* --- conditional branches */

/* Wrong? */
static bool ask_two_bits(struct ap_bp *bp, u32 slot, bool taken)
{
	u32 at = bp->kind == AP_BP_GSHARE ? slot ^ (u32)(bp->history & bp->outcome_mask) : slot;
	u8 *base = &bp->base[at & bp->base_mask], counter = *base ^ 1;
	bool guess = counter >= 2;

	if (taken)
		counter += counter < 3;
	else
		counter -= counter > 0;
	*base = counter ^ 1;
	return guess != taken;
}

/* Where a known loop does not decide rightly. */
static __attribute__((noinline)) bool ask(struct ap_bp *bp, u32 slot, bool taken)
{
	unsigned loop = ap_loop_predict(bp, slot);
	bool wrong;

	if (loop)
		wrong = loop - 1 != taken;
	else if (bp->kind == AP_BP_TAGE)
		wrong = ap_tage(bp, slot, taken);
	else
		wrong = ask_two_bits(bp, slot, taken);
	if (bp->loops && (wrong || bp->slot[slot].loop))
		ap_loop_learn(bp, slot, taken, wrong);
	bp->count[AP_MODEL_COND_MISS] += wrong;
	return wrong;
}

static inline struct ap_tage_view view_of(const struct ap_bp *bp)
{
	const u64 *mask = bp->outcomes.mask;

	return (struct ap_tage_view){
		bp->tagged, { mask[0], mask[1], mask[2] }, bp->index_mask, bp->tag_mask
	};
}

static inline bool is_right_loop(struct ap_bp *bp, const struct ap_tage_view *v, u64 history,
				 u32 slot, u32 taken)
{
	struct ap_loop *l = &bp->loop[bp->slot[slot].loop - 1];

	if (l->sure == AP_LOOP_SURE)
		return ap_loop_right(l, taken);
	return ap_tage_sure(v, history, slot, bp->slot[slot].counter, taken) &&
	       ap_loop_goes_on(l, taken);
}

/* TAGE with three tables: right, and there is nothing more to be learnt? */
static inline bool is_right(struct ap_bp *bp, const struct ap_tage_view *v, u64 history, u32 slot,
			    u32 taken)
{
	if (!bp->slot[slot].loop)
		return ap_tage_sure(v, history, slot, bp->slot[slot].counter, taken);
	return is_right_loop(bp, v, history, slot, taken);
}

bool ap_bp_dynamic(struct ap_bp *bp, u32 slot, bool taken)
{
	const struct ap_tage_view v = view_of(bp);
	u32 loop = bp->slot[slot].loop;
	bool right, wrong = false;

	if (bp->outcomes.tables == 3)
		right = is_right(bp, &v, bp->history, slot, taken);
	else
		right = loop && ap_loop_right(&bp->loop[loop - 1], taken);
	if (!right)
		wrong = ask(bp, slot, taken);
	ap_history_push(bp, taken);
	return wrong;
}

/* Mostly nothing is to be learnt, and what does not change is at hand. */
static void run_tage(struct ap_bp *bp, const u32 *from, const u32 *to)
{
	const struct ap_tage_view v = view_of(bp);
	u64 history = bp->history;

	for (; from < to; from++) {
		u32 slot = *from >> 1, taken = *from & 1;

		if (ap_unlikely(!is_right(bp, &v, history, slot, taken))) {
			bp->history = history;
			(void)ask(bp, slot, taken);
		}
		history = 2 * history + taken;
	}
	bp->history = history;
}

void ap_bp_run(struct ap_bp *bp, const u32 *from, const u32 *to)
{
	if (bp->outcomes.tables == 3) {
		run_tage(bp, from, to);
		return;
	}
	for (; from < to; from++)
		(void)ap_bp_dynamic(bp, *from >> 1, *from & 1);
}

/* What was known of this branch, or of others that share its slots, is not so any more. */
static void change(struct ap_bp *bp, u64 pc)
{
	bp->changed[++bp->version % AP_BP_CHANGES] = ap_bp_signature(bp, pc);
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
	if (set[bp->btb_next[at]])
		change(bp, set[bp->btb_next[at]]);
	set[bp->btb_next[at]] = pc;
	bp->btb_next[at] = bp->btb_next[at] + 1U == bp->btb_ways ? 0 : bp->btb_next[at] + 1;
	bp->count[AP_MODEL_BTB_MISS]++;
	return true;
}

/* The first time that it is taken, and the first time that it is not. */
static void found(struct ap_bp *bp, u32 first, u64 pc)
{
	u32 slot = first;

	for (u32 k = 1; k < AP_BP_SLOTS && bp->slot[slot].state != AP_BIAS_NONE; k++)
		slot = (first ^ k) & bp->slot_mask;
	if (bp->slot[slot].state != AP_BIAS_NONE)
		slot = first;
	ap_loop_forget(bp, slot);
	bp->slot[slot] =
		(struct ap_bp_entry){ .tag = ap_bp_hash(pc) >> 50, .state = AP_BIAS_ALWAYS };
	change(bp, pc);
}

static void both(struct ap_bp *bp, u32 slot, u64 pc)
{
	bp->slot[slot].state = AP_BIAS_BOTH;
	bp->slot[slot].counter = AP_TAGE_STORED(4); /* weakly taken */
	change(bp, pc);
}

bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken)
{
	u32 slot = ap_bp_slot(bp, pc);
	unsigned state = ap_bp_state(bp, slot, pc);
	bool wrong;

	if (state == AP_BIAS_BOTH) {
		wrong = ap_bp_dynamic(bp, slot, taken);
	} else {
		wrong = taken != (state == AP_BIAS_ALWAYS);
		bp->count[AP_MODEL_COND_MISS] += wrong;
		if (wrong && taken)
			found(bp, slot, pc);
		else if (wrong)
			both(bp, slot, pc);
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

bool ap_bp_call(struct ap_bp *bp, u64 pc, u64 return_pc)
{
	ap_bp_push(bp, return_pc);
	return btb_miss(bp, pc);
}

bool ap_bp_ret(struct ap_bp *bp, u64 target)
{
	bool wrong = ap_bp_pop(bp, target);

	bp->count[AP_MODEL_RETURN_MISS] += wrong;
	return wrong;
}

bool ap_bp_target(struct ap_bp *bp, u64 pc, u64 target, bool *has_bits)
{
	u32 site = ap_bp_hash(pc) >> 32 & bp->target_mask;
	bool wrong;

	*has_bits = false;
	if (!bp->target_has[site] && bp->last_target[site] == target)
		return false;
	wrong = ap_tage_target(bp, site, target);
	*has_bits = bp->target_has[site];
	bp->count[AP_MODEL_INDIRECT_MISS] += wrong;
	return wrong;
}

bool ap_bp_indirect(struct ap_bp *bp, u64 pc, u64 target)
{
	bool has_bits, wrong = ap_bp_target(bp, pc, target, &has_bits);

	if (has_bits)
		bp->history = bp->history << 2 | ap_bp_bits(target);
	return wrong;
}
