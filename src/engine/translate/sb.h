/* SPDX-License-Identifier: MIT */
/*
 * A superblock on its way from source to cache: what build.c selected, live.c judged and emit.c
 * (translate.c, mangle.c) writes out.  One instance, guarded by the process lock.
 */
#ifndef AP_ENGINE_SB_H
#define AP_ENGINE_SB_H

#include "base/types.h"
#include "engine/cache/cache.h"
#include "engine/emit/emit.h"
#include "x86/insn.h"

struct ap_sb_insn {
	struct ap_insn i;
	u64 pc;
	u8 cls;	      /* enum ap_rec_class */
	u8 more;      /* ap_insn_more(), where other groups than the base are counted */
	bool side;    /* a conditional branch with a side exit */
	bool pmc;     /* rdpmc that is tried here; a side exit where that fails */
	bool fl_kept; /* with the flags that are live behind it */
	bool check;   /* of what it accesses, before it (data.h) */
	bool guard;   /* an indirect transfer whose target was guessed: checked, leaves if wrong */
	u64 next;     /* program pc that the block goes on at after it */
	u8 bytes[AP_INSN_LOOK]; /* source bytes, read once; 15 at most */
};

struct ap_sb {
	u64 pc;
	u32 n;
	struct ap_sb_insn insns[AP_BLOCK_INSNS + 1];
	u64 pages[AP_BLOCK_PAGES];
	u32 npages;
	u64 window;	  /* a page that the last instructions were read from, or where none is */
	u64 final_target; /* direct: next program pc; syscall, special: pc of that instruction */
	u8 final_kind; /* enum ap_exit_kind; AP_EXIT_IBL: last instruction is ret/jmp/call indirect */
	u8 special;    /* enum ap_special with AP_EXIT_SPECIAL */
	bool probe;    /* ended at a conditional branch whose direction is not known yet */
	bool alone;    /* one instruction, to be left behind it in any case; for the builder */
	bool plain;    /* without a log, in any case (feed_gap.c) */
	bool walk;     /* all its exits lead to the dispatcher, which looks at budgets itself */
	bool is_stored; /* the store has it (fix.h), and nothing but pc and the ends of this is filled in */
	bool is_shared;	   /* the store may have it, and says directions of branches */
	bool transient;	   /* source may change unseen: translate for one run */
	u64 lazy;	   /* pc of a PLT's jump that is not bound yet: likewise, once; else 0 */
	u32 inc_at;	   /* instruction before which the final counter goes; n: after the last */
	bool inc_flags_ok; /* flags are dead at inc_at, or made again */
	u32 inc_redo;	   /* by the instruction before this one, counted from 1; 0: dead */
};

/* build.c */
void ap_sb_build(struct ap_sb *sb, u64 pc, u32 max_insns);
void ap_sb_build_new(struct ap_sb *sb, u64 pc, u32 max_insns); /* whatever the store has */
/* Of lanes (walk.c): the flags are the program's at all its exits. */
void ap_sb_build_walk(struct ap_sb *sb, u64 pc, u32 max_insns);
/* walk.c: so many of its instructions count less than the lanes' margins. */
u32 ap_lane_shorten(const struct ap_sb *sb);
/* Reads up to 15 source bytes at pc that are executable; returns how many, 0 none. */
u32 ap_sb_fetch(u64 pc, u8 buf[16]);
/* The same while a block is made: what was asked of a page holds for the next instruction in it. */
u32 ap_sb_fetch_near(struct ap_sb *sb, u64 pc, u8 buf[16]);

/*
 * hint.c: the direction that a conditional branch took when it was first executed, by its pc.  Two
 * branches may share an entry: it is a guess of what will be frequent, nothing more.
 */
enum ap_hint { AP_HINT_UNKNOWN, AP_HINT_NOT_TAKEN, AP_HINT_TAKEN };
/* Of a PLT's jump that is not bound yet: how often a block was made for it; twice is enough. */
#define AP_HINT_MET_ONCE  AP_HINT_NOT_TAKEN
#define AP_HINT_MET_TWICE AP_HINT_TAKEN
enum ap_hint ap_hint_get(u64 pc);
void ap_hint_set(u64 pc, enum ap_hint hint);

/* live.c */
u16 ap_live_at(struct ap_sb *sb, u64 pc); /* status flags live at a pc that sb leads to */
void ap_live_place_inc(struct ap_sb *sb);

/*
 * redo.c: the instruction (counted from 1, 0 none) whose repetition just before the one at `at`
 * makes the status flags what they are there.
 */
u32 ap_redo_find(const struct ap_sb *sb, u32 at);
void ap_redo_emit(struct ap_emit *e, const struct ap_sb_insn *in);

/* mangle.c: emits one instruction that is not the block's final transfer. */
struct ap_lits {
	u32 n;
	struct {
		u8 *disp; /* rel32 field that refers to the literal */
		u64 value;
	} lit[AP_BLOCK_INSNS + 8];
};
void ap_mangle(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits);
/*
 * A guessed indirect transfer: falls through if the target is in->next; else jumps to what
 * ap_mangle_guard_fail writes.  Returns the rel32 of that jump.
 */
u8 *ap_mangle_guard(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits);
/* Where vec is NULL nothing is counted.  tests: budgets are; with lanes that are not, or several, it leads to the dispatcher. */
void ap_mangle_guard_fail(struct ap_emit *e, const struct ap_sb_insn *in, const u8 *site,
			  const struct ap_vec *vec, bool tests);
/*
 * Emits the final indirect transfer; vec is counted flags-free on the way, NULL nothing.  gate: of the
 * unit, where the dispatcher is to see it in any case; else NULL.  Where budgets are tested beside the
 * count: jumps, to what ap_mangle_indirect_out writes; else NULL.
 */
struct ap_lane_jumps;
void ap_mangle_indirect(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits,
			const struct ap_vec *vec, const u8 *gate, struct ap_lane_jumps *jumps);
void ap_mangle_indirect_out(struct ap_emit *e, const u8 *at, const u8 *gate);
/* A place that ap_ibl_note_site() was told of; false: it cannot be changed. */
bool ap_mangle_enlarge(u8 *at);
/* Around a rep instruction: what its count register goes down by is added to the iterations. */
void ap_mangle_rep_begin(struct ap_emit *e);
void ap_mangle_rep_end(struct ap_emit *e, bool is_ecx);
bool ap_mangle_supported(const struct ap_insn *i, const u8 *bytes);
u8 ap_mangle_scratch(const struct ap_insn *i);
u8 ap_mangle_gs_string_reg(const struct ap_insn *i); /* has the gs base added while it may fault */

/* translate.c */
struct ap_block *ap_translate(struct ap_sb *sb, bool with_pad); /* NULL: no room */
void ap_translate_undo(
	struct ap_block *b); /* its memory is free again, if it is what was made last */

/* count.c: what an indirect jump, call or return adds to the base group. */
u64 ap_indirect_vec(const struct ap_insn *i);

/* count.c: what an instruction adds to the groups beside the base one, in a byte; 0 nothing. */
u8 ap_insn_more(const struct ap_insn *i, const u8 *code);
void ap_more_add(struct ap_vec *vec, u8 more);

/*
 * shape.c: the counters (displacements from %gs:0) to add to for a vector: one for each group, or a
 * few where the table of shapes is full.
 */
#define AP_ADDS_MAX (AP_VEC_GROUPS * AP_VEC_FIELDS + 2) /* operations on elements of two groups */
struct ap_adds {
	u32 n;
	struct {
		u32 disp, by;
	} add[AP_ADDS_MAX];
};
bool ap_counts_branches(void); /* and all of the base group, or instructions alone (in a lane) */
void ap_shape_adds(const struct ap_vec *vec, struct ap_adds *adds);

/* count.c: adds them: plainly, or flags-free through a register that the caller has spilled. */
void ap_emit_adds_flags(struct ap_emit *e, const struct ap_vec *vec);
void ap_emit_adds_reg(struct ap_emit *e, const struct ap_vec *vec, u8 reg);

#endif
