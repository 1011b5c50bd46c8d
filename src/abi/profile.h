/* SPDX-License-Identifier: MIT */
/*
 * What a process counts under AP_F_PROFILE: a region for each segment, in the party's file behind all that
 * abi/session.h has there (docs/design/exact-profile.md).
 *
 *   0                       struct ap_profile
 *   AP_PROFILE_TABLE_OFF    blocks, one struct ap_profile_block behind the other
 *   AP_PROFILE_PARTS_OFF    u64 by number: how often so many instructions of a block were executed and no more
 *   AP_PROFILE_LOOSE_OFF    struct ap_profile_loose[AP_PROFILE_LOOSE]: instructions that no block has counted
 *   AP_PROFILE_WAYS_OFF(k)  u64 by number, of slot k: how often a way out of a block was taken
 *
 * Its process writes it, and whoever reads it believes nothing of it.
 */
#ifndef AP_ABI_PROFILE_H
#define AP_ABI_PROFILE_H

#include "abi/session.h"
#include "base/types.h"

#define AP_PROFILE_MAGIC	  0x31666f7270706e61ULL /* "anpprof1" */
#define AP_PROFILE_BASE		  (1ULL << 48)
#define AP_PROFILE_SIZE		  (1ULL << 35)
#define AP_PROFILE_OFF(seg)	  (AP_PROFILE_BASE + (u64)AP_SEG_LOCAL(seg) * AP_PROFILE_SIZE)
#define AP_PROFILE_TABLE_OFF	  4096ULL
#define AP_PROFILE_PARTS_OFF	  (512ULL << 20)
#define AP_PROFILE_PARTS	  (64U << 20)
#define AP_PROFILE_LOOSE_OFF	  (AP_PROFILE_PARTS_OFF + AP_PROFILE_PARTS * 8ULL)
#define AP_PROFILE_LOOSE	  16384U
#define AP_PROFILE_MAP_SIZE	  (AP_PROFILE_LOOSE_OFF + AP_PROFILE_LOOSE * 16ULL) /* all but ways */
#define AP_PROFILE_WAYS		  (4U << 20)
#define AP_PROFILE_WAYS_SIZE	  (AP_PROFILE_WAYS * 8ULL)
#define AP_PROFILE_WAYS_OFF(slot) ((4ULL << 30) + (u64)(slot)*AP_PROFILE_WAYS_SIZE)

struct ap_profile {
	u64 magic; /* 0: it has none */
	u32 whose; /* segment + 1 whose ways its slots count as well: it has nothing else; 0: its own */
	u32 parent;	   /* segment + 1 that has the beginning of the table, 0: none */
	u64 parent_bytes;  /* so much of it */
	u64 bytes;	   /* the table ends there; committed last */
	u64 lost;	   /* blocks that there was no room for */
	u64 lost_loose;	   /* likewise instructions */
	u32 nways, nparts; /* numbers up to there are in use */
	u32 pid;	   /* written by the supervisor when it folds the segment */
	u32 reserved;
};

/* What an instruction of a block is: the low bits of its byte are the length. */
#define AP_PROFILE_LEN_MASK   15U
#define AP_PROFILE_JUMPS      16U /* the block goes on at the next of its jumps[] */
#define AP_PROFILE_KIND_SHIFT 5
enum ap_profile_kind {
	AP_PROFILE_PLAIN,
	AP_PROFILE_COND, /* taken where it has AP_PROFILE_JUMPS */
	AP_PROFILE_JUMP,
	AP_PROFILE_JUMP_IND,
	AP_PROFILE_CALL,
	AP_PROFILE_CALL_IND,
	AP_PROFILE_RET
};

/* A way out: behind so many instructions, the last of which, a conditional branch, went the other way. */
#define AP_PROFILE_OTHER 128U

/* Followed by jumps (u64), instructions and ways (u8), and zeros up to a multiple of 8. */
struct ap_profile_block {
	u32 size;		   /* of it all */
	u32 first_way, first_part; /* numbers of its first way, and of no instruction */
	u16 ninsns;
	u8 nways, njumps;
	u64 pc;
	u64 time; /* the mappings that it was made under are older */
};

struct ap_profile_loose {
	u64 pc;	   /* 0: free */
	s64 count; /* to be added */
};

#endif
