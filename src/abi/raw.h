/* SPDX-License-Identifier: MIT */
/*
 * Raw counter kinds: what an engine can count, as the core and the PMU drivers name it.  An event
 * selects a set of them (bits of a u64) and its count is their sum.  docs/counting.md defines each.
 * The first ones are the fields of the base count vector (abi/vec.h), in its order.
 */
#ifndef AP_ABI_RAW_H
#define AP_ABI_RAW_H

#include "base/types.h"

enum ap_kind {
	AP_KIND_INSTR,
	AP_KIND_COND,
	AP_KIND_TAKEN,
	AP_KIND_CALL,
	AP_KIND_RET,
	AP_KIND_IND,
	AP_KIND_BRANCH,
	AP_KIND_FLOPS, /* operations on elements: those of the FP kinds, each as wide as it is (abi/vec.h) */
	AP_KIND_SYSCALL,  /* syscall instructions */
	AP_KIND_LOAD,	  /* instructions that read memory at least once */
	AP_KIND_STORE,	  /* instructions that write memory at least once */
	AP_KIND_REP_ITER, /* iterations of rep string instructions */
	AP_KIND_FP_SCALAR_DOUBLE,
	AP_KIND_FP_SCALAR_SINGLE,
	AP_KIND_FP_128_DOUBLE,
	AP_KIND_FP_128_SINGLE,
	AP_KIND_FP_256_DOUBLE,
	AP_KIND_FP_256_SINGLE,
	AP_KIND_FP_512_DOUBLE,
	AP_KIND_FP_512_SINGLE,
	AP_KIND_MEM, /* instructions that read or write memory: each once */
	/* Modelled (docs/design/feed.md), from here on. */
	AP_KIND_CYCLES,
	AP_KIND_STALL_FRONT,	/* cycles in which the front end had nothing to give */
	AP_KIND_STALL_BACK,	/* cycles in which the back end took nothing */
	AP_KIND_STALL_L1D_MISS, /* of them those with a load under way that the level does not have */
	AP_KIND_STALL_L2_MISS,
	AP_KIND_STALL_LLC_MISS,
	AP_KIND_REF_CYCLES,
	AP_KIND_BUS_CYCLES,
	AP_KIND_L1D_LOAD_MISS,
	AP_KIND_L1D_STORE_MISS,
	AP_KIND_L1D_PREFETCH, /* lines that it takes in */
	AP_KIND_L1I_LOAD,
	AP_KIND_L1I_LOAD_MISS,
	AP_KIND_L2_LOAD, /* requests to L2, if there is one: what it does not have it asks the last level for */
	AP_KIND_L2_STORE,
	AP_KIND_L2_CODE,
	AP_KIND_LLC_LOAD, /* requests to the last level, then the misses of each kind */
	AP_KIND_LLC_STORE,
	AP_KIND_LLC_CODE,
	AP_KIND_LLC_PREFETCH,
	AP_KIND_LLC_LOAD_MISS,
	AP_KIND_LLC_STORE_MISS,
	AP_KIND_LLC_CODE_MISS,
	AP_KIND_LLC_PREFETCH_MISS,
	AP_KIND_NODE_LOAD_MISS, /* requests that memory of another node answers */
	AP_KIND_NODE_STORE_MISS,
	AP_KIND_LLC_WRITEBACK, /* modified lines that go to memory */
	AP_KIND_DTLB_LOAD_MISS,
	AP_KIND_DTLB_STORE_MISS,
	AP_KIND_ITLB_MISS,
	AP_KIND_DTLB_LOAD_WALK,
	AP_KIND_DTLB_STORE_WALK,
	AP_KIND_ITLB_WALK,
	AP_KIND_COND_MISS, /* branches mispredicted, by kind */
	AP_KIND_INDIRECT_MISS,
	AP_KIND_RETURN_MISS,
	AP_KIND_BTB_MISS,
	AP_KIND_SPLIT_LOAD,
	AP_KIND_SPLIT_STORE,
	AP_KIND_HITM_LOAD,
	AP_KIND_LOAD_L2_HIT, /* loads by the level that answered */
	AP_KIND_LOAD_LLC_HIT,
	AP_KIND_LOAD_LLC_MISS,
	AP_KIND_N = 64
};
_Static_assert(AP_KIND_LOAD_LLC_MISS < AP_KIND_N, "bits of a u64");

#define AP_KIND_BIT(k) (1ULL << (k))
/*
 * Counted by every session that counts at all; the others are switched on by events that need them.
 */
#define AP_KINDS_BASE 0x17fULL
/* Of them those that code leaves out while it is sampled and nobody wants them. */
#define AP_KINDS_TRANSFERS 0x7eULL
#define AP_KINDS_FP                                                                                \
	((AP_KIND_BIT(AP_KIND_FP_512_SINGLE) << 1) - AP_KIND_BIT(AP_KIND_FP_SCALAR_DOUBLE))
/* What code has to count so that these come out. */
#define AP_KINDS_OF_FLOPS (AP_KINDS_FP | AP_KIND_BIT(AP_KIND_FLOPS))
/* From one kind up to another. */
#define AP_KINDS_TO(from, to) ((AP_KIND_BIT(to) << 1) - AP_KIND_BIT(from))
/*
 * What is modelled; of it what needs the accesses to data, the code that is fetched, the branches.
 */
#define AP_KINDS_MODEL	AP_KINDS_TO(AP_KIND_CYCLES, AP_KIND_LOAD_LLC_MISS)
#define AP_KINDS_CYCLES AP_KINDS_TO(AP_KIND_CYCLES, AP_KIND_BUS_CYCLES)
/* Parts of cycles, which the pipeline tells apart only when asked: that is slower. */
#define AP_KINDS_LEVELS	  AP_KINDS_TO(AP_KIND_STALL_L1D_MISS, AP_KIND_STALL_LLC_MISS)
#define AP_KINDS_BRANCHES AP_KINDS_TO(AP_KIND_COND_MISS, AP_KIND_BTB_MISS)
/* What keeps the calls that have not returned, for branch stacks of them. */
#define AP_KINDS_CALL_STACK AP_KIND_BIT(AP_KIND_RETURN_MISS)
/*
 * What has the models say where a reference was answered, for samples of exact kinds of references.
 */
#define AP_KINDS_REFERENCES                                                                        \
	(AP_KIND_BIT(AP_KIND_LOAD) | AP_KIND_BIT(AP_KIND_STORE) | AP_KIND_BIT(AP_KIND_MEM))
#define AP_KINDS_ANSWERS AP_KIND_BIT(AP_KIND_L1D_LOAD_MISS)
/* All that an engine can count. */
#define AP_KINDS_ALL (((AP_KIND_BIT(AP_KIND_MEM) << 1) - 1) | AP_KINDS_MODEL)

#endif
