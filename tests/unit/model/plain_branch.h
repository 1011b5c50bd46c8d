/* SPDX-License-Identifier: MIT */
/*
 * The branch predictors once more, plainly: the whole history is kept, and folded anew for each
 * prediction; entries are structs of ints.
 */
#ifndef TESTS_MODEL_PLAIN_BRANCH_H
#define TESTS_MODEL_PLAIN_BRANCH_H

#include "model/model.h"

struct plain_tagged {
	int tag, counter, useful;
};

struct plain_target {
	int tag, sure, useful;
	uint64_t target;
};

/* What is known of a branch; patience: when it may have an entry for loops. */
struct plain_slot {
	int tag, state, counter, patience;
};

struct plain_loop {
	int owner, trips, now, sure, age, stays;
};

struct plain_bp {
	struct ap_bp_spec spec;
	struct plain_history {
		uint8_t *bit; /* oldest first */
		size_t n, room;
	} outcomes, path;
	struct plain_slot *slot;
	int slots;
	int *base;
	int lengths[8], target_lengths[8], prefer_other;
	uint64_t allocations;
	struct plain_tagged *table[8];
	struct plain_target *target[8];
	struct plain_loop *loop;
	uint64_t *last_target, *btb, *returns;
	bool (*target_tables)[8];
	uint64_t *btb_filled, time;
	size_t pushed; /* return addresses now on the stack; old ones may be overwritten */
	uint64_t count[AP_MODEL_N];
};

/* lengths: of the histories of tagged tables */
void plain_bp_init(struct plain_bp *b, const struct ap_machine *machine, const uint16_t *lengths,
		   const uint16_t *target_lengths);
void plain_bp_fini(struct plain_bp *b);
bool plain_cond(struct plain_bp *b, uint64_t pc, bool taken);
bool plain_indirect(struct plain_bp *b, uint64_t pc, uint64_t target);
bool plain_jump(struct plain_bp *b, uint64_t pc);

#endif
