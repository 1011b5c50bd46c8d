/* SPDX-License-Identifier: MIT */
/*
 * The modelled half of the PMU: what a reference to memory or a branch would have cost on a given
 * machine.  This header names what is counted; machine.h describes a machine, mem.h models its
 * caches and TLBs, branch.h its branch predictors.
 *
 * All of it is plain C without a libc, floating point or allocation: it may run inside the counted
 * process.  State lives in memory that the caller gives, zeroed (a fresh mapping: pages that the
 * program's references never reach are never touched).  docs/design/model.md has the reasons.
 *
 * Counts are added to an array of AP_MODEL_N words that the caller gives as well, so that they
 * can lie where a supervisor reads them after the process has been killed.
 */
#ifndef AP_MODEL_MODEL_H
#define AP_MODEL_MODEL_H

#include "model/branch.h"
#include "model/machine.h"
#include "model/mem.h"

/*
 * A reference is what one instruction does with one operand.  One that spans two lines is one
 * reference, and at most one miss of each kind: what the worse half met.  dTLB-loads and -stores
 * are the references themselves, so they have no entry.  Requests of a level below the first are
 * counted per line, as that level sees them.
 */
enum ap_model_count {
	/* references, and those that L1 did not have (the first two in this order: + write) */
	AP_MODEL_L1D_LOAD,
	AP_MODEL_L1D_STORE,
	AP_MODEL_L1D_LOAD_MISS,
	AP_MODEL_L1D_STORE_MISS,
	AP_MODEL_L1I_LOAD, /* lines asked for by ap_mem_fetch(): consecutive ones may be merged */
	AP_MODEL_L1I_LOAD_MISS,
	/* loads by the level that answered; those of L1 are L1D_LOAD - L1D_LOAD_MISS */
	AP_MODEL_LOAD_L2_HIT,
	AP_MODEL_LOAD_L2_MISS,
	AP_MODEL_LOAD_LLC_HIT,
	AP_MODEL_LOAD_LLC_MISS,
	/* stores and fetches that memory answered: references, as cachegrind counts them */
	AP_MODEL_STORE_LLC_MISS,
	AP_MODEL_CODE_LLC_MISS,
	/* lines moved by L1D */
	AP_MODEL_L1D_FILL,
	AP_MODEL_L1D_WRITEBACK,
	AP_MODEL_L1D_PREFETCH,	    /* asked for by its prefetchers or prefetch instructions */
	AP_MODEL_L1D_PREFETCH_MISS, /* of these, not there yet */
	AP_MODEL_L1D_PREFETCH_USED, /* prefetched lines that a reference met afterwards */
	/* requests to L2 in the order of enum ap_mem_kind, then the misses of each */
	AP_MODEL_L2_LOAD,
	AP_MODEL_L2_STORE, /* reads for ownership */
	AP_MODEL_L2_CODE,
	AP_MODEL_L2_PREFETCH,
	AP_MODEL_L2_LOAD_MISS,
	AP_MODEL_L2_STORE_MISS,
	AP_MODEL_L2_CODE_MISS,
	AP_MODEL_L2_PREFETCH_MISS,
	AP_MODEL_L2_FILL,
	AP_MODEL_L2_WRITEBACK,
	/* requests to the last level, the same way */
	AP_MODEL_LLC_LOAD,
	AP_MODEL_LLC_STORE,
	AP_MODEL_LLC_CODE,
	AP_MODEL_LLC_PREFETCH,
	AP_MODEL_LLC_LOAD_MISS,
	AP_MODEL_LLC_STORE_MISS,
	AP_MODEL_LLC_CODE_MISS,
	AP_MODEL_LLC_PREFETCH_MISS,
	AP_MODEL_LLC_WRITEBACK,
	/* memory behind the last level: requests in the same order, and those to another node */
	AP_MODEL_NODE_LOAD,
	AP_MODEL_NODE_STORE,
	AP_MODEL_NODE_CODE,
	AP_MODEL_NODE_PREFETCH,
	AP_MODEL_NODE_LOAD_MISS,
	AP_MODEL_NODE_STORE_MISS,
	AP_MODEL_NODE_CODE_MISS,
	AP_MODEL_NODE_PREFETCH_MISS,
	/* TLBs: misses of the first level, of them answered by the second, of them walks */
	AP_MODEL_DTLB_LOAD_MISS,
	AP_MODEL_DTLB_STORE_MISS,
	AP_MODEL_ITLB_MISS,
	AP_MODEL_DTLB_LOAD_STLB_HIT,
	AP_MODEL_DTLB_STORE_STLB_HIT,
	AP_MODEL_ITLB_STLB_HIT,
	AP_MODEL_DTLB_LOAD_WALK,
	AP_MODEL_DTLB_STORE_WALK,
	AP_MODEL_ITLB_WALK,
	AP_MODEL_DTLB_LOAD_WALK_STEP, /* page table entries read by walks */
	AP_MODEL_DTLB_STORE_WALK_STEP,
	AP_MODEL_ITLB_WALK_STEP,
	/* references that span lines; of them, pages (+ write) */
	AP_MODEL_SPLIT_LOAD,
	AP_MODEL_SPLIT_STORE,
	AP_MODEL_PAGE_SPLIT_LOAD,
	AP_MODEL_PAGE_SPLIT_STORE,
	/* coherence: what requests met in other threads' caches, and what others did to ours */
	AP_MODEL_HITM,	      /* requests (any kind) answered by another's modified line */
	AP_MODEL_HITM_LOAD,   /* of them, loads */
	AP_MODEL_SNOOP_HIT,   /* requests for lines that others held unmodified */
	AP_MODEL_UPGRADE,     /* stores to lines that we shared with others */
	AP_MODEL_INVALIDATED, /* lines of ours that others took */
	/* branches: mispredicted by kind, and direct ones that the BTB did not know */
	AP_MODEL_COND_MISS,
	AP_MODEL_INDIRECT_MISS,
	AP_MODEL_RETURN_MISS,
	AP_MODEL_BTB_LOOKUP, /* taken direct branches and calls */
	AP_MODEL_BTB_MISS,
	AP_MODEL_N
};

#endif
