/* SPDX-License-Identifier: MIT */
/*
 * What a slot has counted.  This is the only place that says it; the engine, the service and the
 * supervisor all ask here.
 *
 * A slot's counts stand in three places, and a kind's count is the sum of what is in them:
 *   - in the shapes: executions of each count vector (abi/vec.h), for the kinds that vectors have;
 *   - in extra[], by kind: parts of blocks, and all that is counted beside the shapes;
 *   - in the words of one sampling lane, for instructions, where ap_seg.carry says so: each exit of
 *     a block takes its instructions from such a word, and nothing else counts them.
 * A slot that is final has its sums in final[], and the rest of it is to be ignored.
 *
 * Readers run beside the thread that counts, or after it was killed.  They see each number as it
 * was at some moment, and never wait for the thread.
 */
#ifndef AP_ABI_SLOT_SUM_H
#define AP_ABI_SLOT_SUM_H

#include "abi/session.h"
#include "abi/vec.h"

/* Kinds that no shape counts: extra[] has all of them. */
#define AP_KINDS_APART                                                                             \
	(AP_KIND_BIT(AP_KIND_SYSCALL) | AP_KIND_BIT(AP_KIND_REP_ITER) | AP_KINDS_MODEL)

/* A slot as its reader has it: the counts and their shapes are mapped at different places. */
struct ap_slot_view {
	const struct ap_slot *slot;
	const u64 *counts; /* of shapes */
	const u64 *shapes; /* their vectors */
	u32 nshapes;
	u32 carry; /* ap_seg.carry */
};

/*
 * Instructions in the words of lane carry - 1: what was put in less what is left.  The thread
 * changes words and carry_base together only while carry_seq is odd, and says in carry_was what it
 * has counted until then.  A thread that is killed in between leaves that.
 */
static inline u64 ap_slot_carried(const struct ap_slot *slot, u32 carry)
{
	u32 seq, tries = 0;
	u64 sum, left;

	if (!carry || carry > AP_LANE_MAX)
		return 0;
	/*
	 * a thread that keeps the rules changes it once in a while; one that does not is not waited
	 * for
	 */
	do {
		seq = __atomic_load_n(&slot->carry_seq, __ATOMIC_ACQUIRE);
		left = 0;
		for (u32 j = 0; j < AP_LANE_WORDS; j++)
			left += (u64)ap_budget_value(
				__atomic_load_n(&slot->budget[carry - 1][j], __ATOMIC_RELAXED));
		sum = __atomic_load_n(&slot->carry_base, __ATOMIC_RELAXED) - left;
		if (left == __atomic_load_n(&slot->carry_hidden_at, __ATOMIC_RELAXED))
			sum += __atomic_load_n(&slot->carry_hidden, __ATOMIC_RELAXED);
		if (seq & 1)
			sum = __atomic_load_n(&slot->carry_was, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&slot->carry_seq, __ATOMIC_RELAXED) != seq &&
		 ++tries < AP_CARRY_TRIES);
	return sum;
}

/* What the slot has of a kind outside of its shapes. */
static inline u64 ap_slot_apart(const struct ap_slot *slot, u32 carry, u32 kind)
{
	u64 sum = (u64)__atomic_load_n(&slot->extra[kind], __ATOMIC_RELAXED);

	return kind == AP_KIND_INSTR ? sum + ap_slot_carried(slot, carry) : sum;
}

/* What the shapes have of some kinds, in one sum. */
static inline u64 ap_slot_in_shapes(const struct ap_slot_view *v, u64 kinds)
{
	u64 sum = 0;

	if (!(kinds & ~AP_KINDS_APART))
		return 0;
	for (u32 id = 0; id < v->nshapes && id < AP_SHAPE_MAX; id++) {
		u64 n = __atomic_load_n(&v->counts[id], __ATOMIC_RELAXED);

		if (n)
			sum += n * ap_shape_of(v->shapes[id], kinds);
	}
	return sum;
}

/* The same for each kind by itself, added to sums. */
static inline void ap_slot_add_shapes(const struct ap_slot_view *v, u64 sums[AP_RAW_N])
{
	for (u32 id = 0; id < v->nshapes && id < AP_SHAPE_MAX; id++) {
		u64 n = __atomic_load_n(&v->counts[id], __ATOMIC_RELAXED);

		if (n)
			ap_shape_add(v->shapes[id], n, sums);
	}
}

/*
 * All that the slot has counted of some kinds, in one sum; in_shapes: those that its shapes are
 * asked for.
 */
static inline u64 ap_slot_sum_of(const struct ap_slot_view *v, u64 kinds, u64 in_shapes)
{
	u64 sum = ap_slot_in_shapes(v, kinds & in_shapes);

	for (u64 rest = kinds; rest; rest &= rest - 1)
		sum += ap_slot_apart(v->slot, v->carry, (u32)__builtin_ctzll(rest));
	return sum;
}

/* All that it has counted, by kind. */
static inline void ap_slot_sum(const struct ap_slot_view *v, u64 sums[AP_RAW_N])
{
	bool is_final = __atomic_load_n(&v->slot->state, __ATOMIC_ACQUIRE) == AP_SLOT_FINAL;

	for (u32 k = 0; k < AP_RAW_N; k++)
		sums[k] = is_final ? v->slot->final[k] : ap_slot_apart(v->slot, v->carry, k);
	if (!is_final)
		ap_slot_add_shapes(v, sums);
}

/*
 * Totals of threads that are gone, in ap_seg.dead.  There are two copies: the one that is not in
 * use is written, then ap_seg.fold is stored, which has the copy in use in bit 0, the slot that
 * joined it last in bits 1..15 (its index + 1) and that slot's generation from bit 32 on.  While
 * that slot is still final, it must not be added again.
 */
static inline u64 ap_fold_of(u32 slot, u32 gen)
{
	return (u64)(slot + 1) << 1 | (u64)gen << 32;
}

static inline bool ap_fold_has(u64 fold, u32 slot, u32 gen)
{
	return (fold & ~1ULL) == ap_fold_of(slot, gen);
}

#endif
