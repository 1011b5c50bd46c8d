/* SPDX-License-Identifier: MIT */
/*
 * The branch predictors of one thread.  Each call takes a branch that retired: predicts it from
 * what was learnt before, learns, and says whether the prediction was wrong.
 */
#ifndef AP_MODEL_BRANCH_H
#define AP_MODEL_BRANCH_H

#include "base/types.h"
#include "model/machine.h"

struct ap_bp;

/* Memory is zeroed and aligned to 64 bytes. */
size_t ap_bp_bytes(const struct ap_machine *machine);
struct ap_bp *ap_bp_init(void *memory, const struct ap_machine *machine, u64 *count);

/* True: mispredicted. */
bool ap_bp_cond(struct ap_bp *bp, u64 pc, bool taken);
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
