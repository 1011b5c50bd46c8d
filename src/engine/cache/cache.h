/* SPDX-License-Identifier: MIT */
/*
 * The code cache as the rest of the engine sees it: blocks, exits, where a cache pc stands in the
 * program, and how code is invalidated.
 */
#ifndef AP_ENGINE_CACHE_H
#define AP_ENGINE_CACHE_H

#include "abi/vec.h"
#include "base/types.h"
#include "engine/runtime/thread.h"

#define AP_BLOCK_INSNS	64
#define AP_BLOCK_JCC	6
#define AP_WALK_JCC	16 /* of blocks that are walked */
#define AP_BLOCK_GUARDS 6
#define AP_BLOCK_PAGES	6

/* What a way through code retires: a count vector of each group. */
struct ap_vec {
	u64 g[AP_VEC_GROUPS];
	u32 way; /* its number in an exact profile (count/profile.h); 0: none */
};

/* What AP_EXIT_SPECIAL asks for. */
enum ap_special {
	AP_SPECIAL_NONE,
	AP_SPECIAL_FETCH,   /* pc is not readable or not executable: let the hardware fault there */
	AP_SPECIAL_UNKNOWN, /* an instruction that is refused: report and go native */
	AP_SPECIAL_UNDEFINED, /* bytes that are no instruction to the decoder: the CPU is asked */
	AP_SPECIAL_IRET,
	AP_SPECIAL_VSYSCALL,
	AP_SPECIAL_XBEGIN,
	AP_SPECIAL_SERIALIZE, /* the block ends before a serializing instruction */
	AP_SPECIAL_CPUID,     /* these where the session has a PMU */
	AP_SPECIAL_RDPMC,
	AP_SPECIAL_RANDOM,  /* rdrand, rdseed under --deterministic */
	AP_SPECIAL_TSC,	    /* rdtsc, rdtscp under --deterministic=time */
	AP_SPECIAL_WATCH,   /* an execution breakpoint is at the instruction */
	AP_SPECIAL_LOCKED,  /* the same, or none, at an instruction that locks, which are counted */
	AP_SPECIAL_PROBED,  /* the kernel has put a breakpoint in its place (probed.h) */
	AP_SPECIAL_DATA,    /* it may access what is watched, and no check can tell */
	AP_SPECIAL_REQUEST, /* the last one of a client request (request.c) */
};

/* One way out of a block. */
struct ap_exit {
	u64 target; /* program pc */
	struct ap_block *from;
	struct ap_block *to;	 /* linked block or NULL */
	struct ap_exit *next_in; /* to's list of incoming links */
	u8 *site;		 /* rel32 that is patched to link; NULL where never linked */
	u8 *stub;		 /* unlinked target of the site */
	u8 kind;		 /* enum ap_exit_kind */
	u8 special;		 /* enum ap_special */
	u32 at;			 /* AP_EXIT_LANE: offset of its place in the block's code */
};

/* Classes of translated instructions in a block's metadata. */
enum ap_rec_class {
	AP_REC_PLAIN,
	AP_REC_JCC_NT,	 /* conditional, went on by not taking it */
	AP_REC_JCC_T,	 /* conditional, went on by taking it: next pc is in jumps[] */
	AP_REC_JMP,	 /* elided: next pc is in jumps[] */
	AP_REC_CALL,	 /* followed call: next pc is in jumps[] */
	AP_REC_FINAL,	 /* transfers or traps at the end of the block */
	AP_REC_INC,	 /* no instruction: the final exit's counter increment */
	AP_REC_JMP_IND,	 /* guessed: went on at jumps[] because the guard held */
	AP_REC_CALL_IND, /* likewise */
	/* No instructions: what stands around a rep one where iterations are counted. */
	AP_REC_REP,	 /* notes rcx; the next record is the instruction */
	AP_REC_REP_ECX,	 /* the same where it counts in ecx */
	AP_REC_REP_DONE, /* counts what it has gone down by */
	AP_REC_CHECK,	 /* no instruction: does the next one access what is watched? */
	AP_REC_CLASSES
};

/* count.c: what an executed record of a class adds to the base group; 0: it is no instruction. */
extern const u64 ap_rec_vecs[AP_REC_CLASSES];

static inline u64 ap_rec_vec(u8 cls)
{
	return ap_rec_vecs[cls];
}

static inline bool ap_rec_is_cond(u8 cls)
{
	return cls == AP_REC_JCC_NT || cls == AP_REC_JCC_T;
}

/* Records whose next pc is the next element of jumps[]. */
static inline bool ap_rec_jumps(u8 cls)
{
	return (cls >= AP_REC_JCC_T && cls <= AP_REC_CALL) || cls == AP_REC_JMP_IND ||
	       cls == AP_REC_CALL_IND;
}

struct ap_rec {
	u8 cache_len;
	u8 app_len_class; /* length in the low 4 bits, enum ap_rec_class above */
};

struct ap_block_page {
	u64 addr;
	struct ap_block *next; /* in its bucket */
};

struct ap_block {
	u64 pc;	  /* program pc of the first instruction */
	u8 *code; /* first byte in the cache */
	u8 *pad;  /* indirect-branch pad or NULL */
	struct ap_exit *exits;
	struct ap_exit *in; /* incoming links */
	const struct ap_rec *recs;
	const u64 *jumps;
	const u8 *more; /* of each record, ap_insn_more(); NULL: the base group alone is counted */
	u64 final_vec;	/* vector of the last exit, undone where its increment came early */
	u32 first_part; /* ap_ways.first_part; 0: none */
	struct ap_block_page *pages; /* that its source bytes lie in: so many as npages says */
	u64 last_pc;  /* of its last instruction: the branch that a probe asks about */
	u32 code_len; /* up to the end of the stubs */
	u16 nrecs;
	u8 nexits;
	u8 npages;
	u8 dead;
	u8 lean;   /* of the base group it counts instructions alone */
	u8 plain;  /* without a log, where others have one; leads to its like alone */
	u8 frame;  /* behind.c: its last instruction that makes or drops a frame, counted from 1 */
	u8 probe;  /* ends at a branch of unknown direction; runs once, to learn it */
	u8 small;  /* its indirect branches go through the small table (lookup.c) */
	u8 nsites; /* by so many places, whose offsets in the code (u16) stand behind the records */
	u8 pad_large; /* its pad is in the whole one */
	u8 has_entry; /* its pad was put into a table */
	u8 born;      /* ap_heir_generation() when it was made */
	u16 unit;
};

/* Side exits are in the order of their conditional branches; one for rdpmc comes before them. */
static inline u32 ap_block_first_side(const struct ap_block *b)
{
	return b->nexits > 1 && b->exits[0].kind == AP_EXIT_SPECIAL;
}

/* A block's records in turn: for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)). */
struct ap_rec_at {
	const struct ap_rec *rec, *end;
	const u64 *jump;
	u64 pc; /* of the program */
	u32 at; /* offset in the block's code */
	u8 cls, app_len, size;
};

static inline bool ap_rec_read(struct ap_rec_at *i)
{
	if (i->rec == i->end)
		return false;
	i->cls = i->rec->app_len_class >> 4;
	i->app_len = i->rec->app_len_class & 15;
	i->size = i->rec->cache_len;
	return true;
}

static inline struct ap_rec_at ap_rec_begin(const struct ap_block *b)
{
	struct ap_rec_at i = {
		.rec = b->recs, .end = b->recs + b->nrecs, .jump = b->jumps, .pc = b->pc
	};

	return i;
}

static inline void ap_rec_next(struct ap_rec_at *i)
{
	i->at += i->size;
	i->pc = ap_rec_jumps(i->cls) ? *i->jump++ : i->pc + i->app_len;
	i->rec++;
}

/* What the block counts of a base vector. */
static inline u64 ap_block_vec(const struct ap_block *b, u64 vec)
{
	return b->lean ? vec & AP_VEC_FIELD_MASK(AP_VEC_INSTR) : vec;
}

/* Where a pc inside the cache stands. */
struct ap_where {
	struct ap_block *block; /* NULL: not in a block (pad, unit header) */
	u64 app_pc;		/* program pc of the instruction that cache pc belongs to */
	const u8 *code;		/* that instruction's translation */
	u32 offset;		/* bytes into it */
	u32 app_len;
	bool clean;   /* offset 0, no spill outstanding: registers are the program's */
	bool in_stub; /* past the instructions: on the way out */
	u8 rep; /* AP_REC_REP, _ECX: in a rep instruction whose iterations are counted; else 0 */
	struct ap_vec prefix; /* of the instructions before it, */
	u32 nprefix;	      /* and how many they are */
	bool inc_done;	      /* the final exit's shape has been counted already */
};

/* True where pc lies in memory that holds translated code. Async-safe. */
bool ap_cache_contains(u64 pc);
/* Async-safe, takes no lock. False: pc is in no live block's instructions, keep stepping. */
bool ap_cache_locate(u64 pc, struct ap_where *w);
/*
 * coast.c: on through code of the engine's own, as far as it is known there, in a handler.  True: *w is a clean boundary, and
 * mc stands there.  Async-safe.
 */
struct ap_sigcontext;
AP_MUST_CHECK bool ap_coast(struct ap_thread *t, struct ap_sigcontext *mc, struct ap_where *w);
/* The same for who knows the block. */
void ap_block_locate(struct ap_block *b, u32 offset, struct ap_where *w);
/* Adds a vector so many times (modulo 2^64), counted apart from the shapes. */
void ap_count_extra(struct ap_thread *t, const struct ap_vec *vec, u64 times);
/* Adds the counts of the executed part of a block that is left at *w with t->regs. */
void ap_cache_count_partial(struct ap_thread *t, const struct ap_where *w);
/*
 * Out of the middle of a block, behind the final exit's counter: what has not been executed is taken off again.  Returns the pc to
 * go on at: an elided jump there counts as executed.
 */
u64 ap_cache_leave_middle(struct ap_thread *t, const struct ap_exit *x);
/* As if that had not been counted: the thread is to be in the block again, in the middle where an exit was. */
void ap_cache_take_back_partial(struct ap_thread *t, const struct ap_where *w);
/*
 * After a synchronous fault at the single access of a mangled instruction: puts the program's
 * values back into gpr[] of registers that the sequence had spilled.
 */
void ap_cache_fix_regs(struct ap_thread *t, const struct ap_where *w, u64 gpr[16]);

/* Its code is not what would be made now: the next thread that comes to it has it made anew.  Lock held. */
void ap_cache_drop(struct ap_block *b);
/* The thread has left a probe: takes its memory back if nothing was made since.  Lock held. */
void ap_cache_drop_probe(struct ap_block *b);

/* Drops every block with source bytes in [start, end).  Lock held. */
void ap_cache_invalidate(u64 start, u64 end);
/* All code stays, but each block leads to the dispatcher.  Lock held. */
void ap_cache_unlink(void);
/* Drops everything; memory is reused when no thread can be inside.  Lock held. */
void ap_cache_flush(void);
/*
 * The program asks for memory at an address.  Is nothing of ours there?  If it is code, or what belongs to that, and nothing
 * else, the cache is flushed, that moves elsewhere, and nothing is.  By a thread that is not inside.  Lock held.
 */
bool ap_cache_give_up(u64 start, u64 end);
bool ap_cache_can_give_up(u64 start, u64 end); /* is what is ours there no more than that? */
/* Likewise, by a thread that is inside itself: a later flush takes the memory back. */
void ap_cache_retire(void);
/* Is some thread in code that was made before this epoch?  Lock held. */
bool ap_cache_has_older(u32 epoch);

/* Finds or translates; NULL only where memory is exhausted beyond help.  Lock held. */
struct ap_block *ap_cache_get(u64 pc, bool by_ibl);
/* One instruction at pc, not entered in any table, not linked: to step over a store into code. */
struct ap_block *ap_cache_one_shot(u64 pc);

#endif
