/* SPDX-License-Identifier: MIT */
/*
 * What the models are fed: a log that translated code writes, a record for each way through a piece
 * of code, and the descriptions that explain records.  docs/design/feed.md.
 *
 * A record is 64-bit words: the number of its description (struct ap_feed_way), then nwords values
 * of registers.  All else that happens in the piece (which lines are fetched, what is accessed at
 * which offset from which value, which branches go where) is known when it is translated.
 */
#ifndef AP_MODEL_FEED_H
#define AP_MODEL_FEED_H

#include "base/types.h"
#include "model/forward.h"
#include "model/model.h"
#include "model/pipe_state.h"
#include "model/thin.h"

struct ap_feed;

/* What accesses data. */
enum ap_feed_what {
	AP_FEED_LOAD,
	AP_FEED_STORE,
	AP_FEED_UPDATE, /* reads and writes the same bytes */
	AP_FEED_PREFETCH,
	AP_FEED_FLUSH, /* ap_mem_flush(); AP_FEED_CLEAN: which keeps the line */
	AP_FEED_CLEAN,
	/* rep: of size bytes, as often as the count goes down from word `index` to word `dst` */
	AP_FEED_LOADS,
	AP_FEED_STORES
};

/*
 * What a string operation takes in cycles: nothing, as another of the instruction has it; by its
 * bytes; by elements.
 */
enum ap_feed_string { AP_FEED_FREE, AP_FEED_BYTES, AP_FEED_ELEMENTS };

/* What branches. */
enum ap_feed_branch_what {
	AP_FEED_NOT_TAKEN, /* conditional */
	AP_FEED_TAKEN,
	AP_FEED_JUMP,	       /* direct */
	AP_FEED_CALL,	       /* direct */
	AP_FEED_RETURN,	       /* those below go to where the next record begins */
	AP_FEED_INDIRECT,      /* a jump */
	AP_FEED_CALL_INDIRECT, /* a call */
	AP_FEED_NOTHING	       /* none */
};

#define AP_FEED_NO_WORD	 0xff
#define AP_FEED_WORDS	 24 /* of a record, at most */
#define AP_FEED_OPS	 160
#define AP_FEED_FETCHES	 96 /* likewise */
#define AP_FEED_BRANCHES 96

/* Flags of an operation. */
#define AP_FEED_FS     1U /* the thread's base of fs is added */
#define AP_FEED_GS     2U
#define AP_FEED_ADDR32 4U /* the address is cut to 32 bits */
#define AP_FEED_ATOMIC 8U

struct ap_feed_op {
	u8 what;
	u8 base, index; /* words, or AP_FEED_NO_WORD */
	u8 scale;	/* of the index, as a shift; AP_FEED_LOADS, _STORES: enum ap_feed_string */
	u8 flags;
	u8 dst; /* AP_FEED_LOADS, _STORES: the word of the count behind it */
	u16 size;
	s32 at;		 /* of the instruction, from the piece's pc */
	u16 waits, late; /* of a load: struct ap_pipe's masks */
	s64 disp;
};

/*
 * Accesses by way of the same values, near each other: if their bytes lie in one line that is quick
 * (mem.h), that line is all that they use.  The address of the first byte is log[base] + disp, with
 * more of it where is_more.
 */
struct ap_feed_cluster {
	u64 disp;
	u8 span; /* from the first byte to the last */
	u8 base; /* word of the record, [0] is its number */
	u8 index, scale, seg;
	bool is_more; /* has index or seg */
	bool loads, stores;
};

#define AP_FEED_CLUSTERS 48 /* of a way */

struct ap_feed_branch {
	u64 pc;
	u8 what; /* enum ap_feed_branch_what */
	u8 len;	 /* of the instruction: calls return behind it */
};

/* Does what happens to fetches and data in a way, whose record is at log. */
typedef void (*ap_feed_code)(struct ap_feed *f, struct ap_mem *m, const u64 *log);

/*
 * A way out of a piece.  What happens on it, by kind, each in its order: the lines that are
 * fetched, data, branches.  Of the piece's fetches and operations it has the first nfetches, nops;
 * the branch that it leaves by is its last.
 */
struct ap_feed_way {
	/* what each record needs stands together */
	u64 pc;		   /* where the piece begins: where an indirect branch before it went */
	ap_feed_code code; /* for this way alone, or NULL: it is run plainly */
	u32 nwords;
	u32 ninsns;
	u32 room; /* in the reorder buffer: ap_cost_room() */
	u32 runs; /* plainly, more or less */
	u16 nbranches, nfetches;
	struct ap_pipe_flow flow;
	const u64 *fetches;
	const struct ap_feed_op *ops;
	const struct ap_feed_branch *branches;
	const struct ap_feed_cluster *clusters; /* in order of their last accesses */
	u16 nops, nloads, nstores;
	bool has_calls;		  /* or returns */
	u16 nclusters;		  /* 0 of some operations: they do not fit into clusters */
	s32 delta[AP_FEED_WORDS]; /* to be added to each word: as many as there are */
};

/*
 * What a way's branches come to, once all of them are known (feed_branch.c): those whose outcomes
 * vary, and what there is more to it: calls, the branch that the next record tells the target of.
 * Good as long as the predictors' version.
 */
#define AP_FEED_FEW	3
#define AP_FEED_VARYING 9
#define AP_FEED_CALLS	2

struct ap_feed_memo {
	u64 key;	      /* the number, and the version above it */
	u64 pc;		      /* the way's */
	u32 few[AP_FEED_FEW]; /* slot << 1 | taken */
	u8 nvarying, ntaken;
	u8 is_more; /* there is something in struct ap_feed_more */
	u8 unused;
};
_Static_assert(sizeof(struct ap_feed_memo) == 32, "half a cache line");

struct ap_feed_more {
	u64 signature; /* of all branches: ap_bp_signature() */
	u64 returns[AP_FEED_CALLS];
	u32 varying[AP_FEED_VARYING - AP_FEED_FEW];
	u64 last_at; /* where the last one is */
	u8 ncalls;
	u8 last; /* enum ap_feed_branch_what: of those whose target is not known, or AP_FEED_NOTHING */
};

/*
 * By numbers of ways.  They are apart so that what most ways need is half a cache line, and side by
 * side in blocks so that a program with few ways touches few pages.
 */
#define AP_FEED_MEMOS 1024U

struct ap_feed_memos {
	struct ap_feed_memo memo[AP_FEED_MEMOS];
	struct ap_feed_more more[AP_FEED_MEMOS];
};

#define AP_FEED_MEMO_BLOCKS 64U
#define AP_FEED_MEMO_BYTES  (AP_FEED_MEMO_BLOCKS * sizeof(struct ap_feed_memos))
/* A description has eight units and more. */
#define AP_FEED_MEMO_OF(id) ((id) >> 3 & (AP_FEED_MEMO_BLOCKS * AP_FEED_MEMOS - 1))

#define AP_FEED_WARM 64
#define AP_FEED_RUNS 16 /* make a way warm */

/* The models of one thread. */
struct ap_feed {
	u64 count[AP_MODEL_N];
	struct ap_pipe pipe; /* whose `now` is the cycles / 256 */
	u64 stall_front;     /* of it */
	u64 seg_base[3];     /* by enum ap_seg_reg; [0] is 0 */
	bool has_cycles;     /* somebody wants them: the pipeline runs */
	bool has_levels;     /* and to know what stalls wait for: it remembers no states */
	struct ap_mem *mem;  /* NULL: branches alone */
	struct ap_bp *bp;
	struct ap_feed_memos *memos; /* AP_FEED_MEMO_BYTES, zeroed */
	const struct ap_machine *machine;
	/* the indirect branch that the next record tells the target of */
	u64 pending_at;
	u8 pending;
	/*
	 * numbers of ways that have been run plainly so often that code for them is worth its while
	 */
	u32 nwarm;
	u32 warm[AP_FEED_WARM];
	struct ap_thin thin; /* of a thread whose log is read in parts */
	struct ap_fwd fwd;   /* where cycles are counted */
};

static inline struct ap_feed_memo *ap_feed_memo(const struct ap_feed *f, u32 id)
{
	u32 place = AP_FEED_MEMO_OF(id);

	return &f->memos[place / AP_FEED_MEMOS].memo[place % AP_FEED_MEMOS];
}

static inline struct ap_feed_more *ap_feed_more(const struct ap_feed *f, u32 id)
{
	u32 place = AP_FEED_MEMO_OF(id);

	return &f->memos[place / AP_FEED_MEMOS].more[place % AP_FEED_MEMOS];
}

/*
 * Descriptions live in an arena of chunks, which numbers name.  In each the ways stand together, at
 * its beginning, and what they point to at its end.  A chunk is a huge page where there are any.
 */
#define AP_FEED_CHUNK	   (2UL << 20)
#define AP_FEED_ALIGN	   16U
#define AP_FEED_CHUNK_BITS 17 /* of a number: the place in a chunk, in units of AP_FEED_ALIGN */

static inline struct ap_feed_way *ap_feed_way(u8 *const *chunks, u32 id)
{
	return (struct ap_feed_way *)(chunks[id >> AP_FEED_CHUNK_BITS] +
				      (u64)(id & ((1U << AP_FEED_CHUNK_BITS) - 1)) * AP_FEED_ALIGN);
}

/*
 * feed_cluster.c: fills clusters of a way whose ops, nops and delta are there and whose number is
 * id, and its counts;  gives how many, 0 if there can be none.
 */
u32 ap_feed_clusters(struct ap_feed_way *way, u32 id, u32 line, struct ap_feed_cluster *clusters);

/* One operation as a cluster. */
struct ap_feed_cluster ap_feed_cluster_of(const struct ap_feed_way *way,
					  const struct ap_feed_op *op, u32 id);

/* Where one look is less than its operations are. */
static inline bool ap_feed_in_clusters(const struct ap_feed_way *way)
{
	return way->nclusters && way->nclusters < way->nops;
}

/* It is of one line, if the address says so, and nothing else keeps it from being quick. */
static inline bool ap_feed_may_be_quick(const struct ap_feed_op *op, u32 line)
{
	return op->what <= AP_FEED_UPDATE && !(op->flags & (AP_FEED_ADDR32 | AP_FEED_ATOMIC)) &&
	       op->size && op->size <= line;
}

/*
 * For code of ways: the nth fetch or operation, which was not quick.  It counts all fetches, and
 * all operations that may be quick, so these have no part in that.
 */
void ap_feed_slow_fetch(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log, u32 nth);
void ap_feed_slow_op(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log, u32 nth);

/* feed_branch.c: a way's branches, and where the last one of the way before it went. */
void ap_feed_arrive(struct ap_feed *f, u64 target);
void ap_feed_branches(struct ap_feed *f, const struct ap_feed_way *way, u32 id);
/* The same for a log, where branches are all that is modelled. */
void ap_feed_run_branches(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks);
void ap_feed_renew(struct ap_feed *f);
/* All descriptions are freed. */
void ap_feed_forget_ways(struct ap_feed *f);
/* One branch; true: it was predicted wrongly, as far as that is known yet. */
bool ap_feed_branch(struct ap_feed *f, const struct ap_feed_branch *b);

/* Reads the records of a log, [from, to). */
void ap_feed_run(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks);

/* What has just happened, and is in the counts. */
enum ap_feed_saw {
	AP_FEED_SAW_ENTER, /* a piece, which may have waited for the end of older ones */
	AP_FEED_SAW_FETCH, /* of the line at address */
	AP_FEED_SAW_LOAD,
	AP_FEED_SAW_STORE,
	AP_FEED_SAW_PREFETCH,
	AP_FEED_SAW_BRANCH, /* at pc; an indirect one when its target is known */
	AP_FEED_SAW_LEAVE   /* what the piece takes by itself has passed */
};

struct ap_feed_seen {
	u32 what;
	u32 result; /* of a reference: AP_MEM_*; of a branch: it was predicted wrongly */
	u64 pc;	    /* of the instruction; of ENTER, FETCH and LEAVE the piece's */
	u64 address;
	u32 size;
	bool is_locked;
	bool is_taken;		       /* a branch */
	const struct ap_feed_way *way; /* NULL of an indirect branch */
};

/*
 * The same, slower and thing by thing, to find the instruction with which a count is reached.
 * Counts come out the same.
 */
struct ap_feed_look {
	bool each; /* reference, also where one look says that all of a way are hits */
	void (*seen)(struct ap_feed_look *look, struct ap_feed *f, const struct ap_feed_seen *s);
};
void ap_feed_run_slowly(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks,
			struct ap_feed_look *look);
/*
 * The same of an indirect branch that waits for its target, where the reader knows it: no record
 * will say another.
 */
void ap_feed_arrive_slowly(struct ap_feed *f, u64 target, struct ap_feed_look *look);

#endif
