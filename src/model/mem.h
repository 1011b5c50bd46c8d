/* SPDX-License-Identifier: MIT */
/*
 * The memory side of a machine: caches and TLBs of one thread, behind them what threads share (the
 * last level, which thread holds which line).  One thread uses a struct ap_mem, many a struct
 * ap_shared.
 *
 * What is inline here answers most references: a table knows lines of L1 whose pages are in the
 * first TLB, so that a hit is one look and the time of use (docs/design/model.md).
 */
#ifndef AP_MODEL_MEM_H
#define AP_MODEL_MEM_H

#include "base/types.h"
#include "model/access.h"
#include "model/machine.h"

struct ap_shared;

/* Who asks a level below the first. */
enum ap_mem_kind { AP_MEM_LOAD, AP_MEM_STORE, AP_MEM_CODE, AP_MEM_AHEAD, AP_MEM_KINDS };

/* flags of a reference */
#define AP_MEM_WRITE	1U /* a store; read-modify-write is one load and one store, or just this */
#define AP_MEM_ATOMIC	2U /* a locked one: needs the line for itself, as a store does */
#define AP_MEM_PREFETCH 4U /* a prefetch instruction: no reference of the program's, cannot miss */

/* What became of a reference. */
#define AP_MEM_L1	 1U /* level that answered: of a split one, the lower */
#define AP_MEM_L2	 2U
#define AP_MEM_LLC	 3U
#define AP_MEM_SNOOP	 4U /* another core's cache */
#define AP_MEM_NODE	 5U /* memory */
#define AP_MEM_REMOTE	 6U /* memory of another node */
#define AP_MEM_LEVEL(r)	 ((r)&7U)
#define AP_MEM_STLB	 0x0008U     /* the first TLB did not know the page, the second did */
#define AP_MEM_WALK	 0x0010U     /* none did */
#define AP_MEM_SPLIT	 0x0020U     /* over two lines (or more) */
#define AP_MEM_PAGES	 0x0040U     /* over two pages */
#define AP_MEM_HITM	 0x0080U     /* another core had modified it */
#define AP_MEM_HIT_OTHER 0x0100U     /* another core had it */
#define AP_MEM_AHEAD_HIT 0x0200U     /* first use of a prefetched line */
#define AP_MEM_CYCLES(r) ((r) >> 12) /* from load to use, all of it in sequence */

/* state of a line, in the low bits of its tag; with the line's address they are a key */
#define AP_LINE_VALID 1U
#define AP_LINE_DIRTY 2U /* M of MESI */
#define AP_LINE_OWN   4U /* E, or M with DIRTY; without it S */
#define AP_LINE_AHEAD 8U /* prefetched, not used since */
#define AP_LINE_FLAGS 15U

#define AP_WAYS 32 /* of a cache, at most */

struct ap_cache {
	u64 *tag;   /* sets x ways; LRU without a clock: in order of use, the last used first */
	u64 *stamp; /* with a clock: when each line was used */
	u64 *clock; /* or null */
	u64 *head; /* what stands before the tags of a set: parts, then the policy's word; see cache.h */
	u64 last_part; /* bit 7 of each way in the last word of a set */
	u64 line_mask;
	u32 parts;    /* words with a byte of each tag; 0: none, as tags move */
	u32 words;    /* of a set in all */
	u32 set_mask; /* of a slice */
	u32 set_bits;
	u32 slices;
	u32 ways;
	u32 latency;
	u8 shift; /* log2 of a line */
	u8 policy;
	u8 write_through;
	u8 no_allocate;
	u8 inclusion;
	u8 prefetch;
	u8 degree;
	u32 path[AP_WAYS],
		away[AP_WAYS]; /* PLRU: nodes above a way, and how they point away from it */
};

/*
 * LRU by stamps, exactly.  Many are fully associative, so entries (from 1) are chained by a hash of
 * their pages, and a victim is searched for AP_TLB_OLD times in one: those that are oldest, and are
 * not used meanwhile, leave one after the other.
 */
#define AP_TLB_OLD 8

struct ap_tlb {
	u64 *page;  /* number << 1 | 1, with bit 63 for 2 MB */
	u64 *stamp; /* the clock's time of the last use */
	u64 *lines; /* which of the page are quick, by 64 bytes */
	u64 *clock;
	u64 old_stamp[AP_TLB_OLD]; /* the oldest last */
	u16 old[AP_TLB_OLD];
	u32 nold;
	u16 *chain;
	u16 *bucket;
	u16 *used; /* entries of each set so far */
	u32 bucket_mask;
	u32 set_mask;
	u32 ways; /* 0: no such TLB */
	u32 latency;
};

struct ap_stride {
	u64 key;
	u64 line;
	s64 stride;
	u32 sure;
};

#define AP_STRIDES 64

/* A range of addresses that others know under another name: memory that processes share. */
struct ap_alias {
	u64 start, end;
	u64 delta; /* added to an address: the common name, with AP_NAME_COMMON */
};

#define AP_ALIASES     64
#define AP_NAME_COMMON (1ULL << 62)

/* Sorted, and none overlaps another; two may have the same names. */
struct ap_names {
	u32 n;
	struct ap_alias alias[AP_ALIASES];
};

/* Of memory that processes share: the table, and what core and tracked are there. */
struct ap_common {
	struct ap_shared *shared; /* NULL: no name is common */
	u8 core, tracked;
};

struct ap_huge {
	u64 start, end;
};

struct ap_mem {
	/* what the inline part reads */
	u64 line_mask;
	u64 clock;	    /* of uses */
	u64 *stamp;	    /* by line of L1D, its way in its set: when it was last used */
	u64 *page_stamp[2]; /* by entry of the first TLB, of loads and stores */
	u64 *code_stamp;
	u64 *code_page_stamp;
	struct ap_quick *quick;
	struct ap_quick *code_quick;
	u64 *count;
	u32 hit; /* what to answer then */
	u32 code_hit;
	u8 shift;
	u8 own_store_tlb; /* 1: stores have a TLB of their own */

	u8 core;    /* its number in shared; AP_NO_CORE: not coherent */
	u8 tracked; /* the directory knows our lines */
	u8 is_alone; /* not yet: all lines are our own, and L2 knows that of its; it keeps those it gives */
	u8 is_straight; /* likewise, and the machine is one for straight.c */
	u8 node;
	struct ap_shared *shared;
	u64 space; /* xor-ed into addresses behind L2: whose they are */
	const struct ap_huge *huge;
	u32 huge_n;
	struct ap_names names;
	const struct ap_names *next_names; /* while they change */
	struct ap_common common;
	struct ap_machine machine;
	struct ap_cache l1i, l1d, l2;
	struct ap_cache llc; /* our view of the shared one */
	struct ap_cache common_llc;
	struct ap_tlb tlb[2]; /* of loads (and stores); of stores */
	struct ap_tlb itlb, tlb_2m, itlb_2m, stlb, istlb;
	struct ap_tlb walk[3]; /* PDE, PDPTE, PML4E */
	struct ap_stride stride[AP_STRIDES], stream[AP_STRIDES];
	u32 cycles[8];		  /* by level; that of L1 is L1D's */
	u64 train;		  /* line | 1: L2's prefetchers are to learn of it when L1 has it */
	u64 no_stamp;		  /* of what needs none */
	struct ap_met_pages *met; /* where parts of the run are passed over; else NULL */
};

#define AP_MEM_COUNT_CODE 4 /* AP_MODEL_L1I_LOAD */

#define AP_NO_CORE 0xff
#define AP_CORES   64

/*
 * What threads (or processes, in shared memory) have in common.  Memory is zeroed and may be mapped
 * at different addresses.  A thread that is killed inside a call blocks nobody.
 */
size_t ap_shared_bytes(const struct ap_machine *machine);
void ap_shared_init(void *memory, const struct ap_machine *machine);
/*
 * A core joins with ap_mem_init() and leaves with this; the supervisor leaves for a thread that was
 * killed.
 */
void ap_shared_leave(struct ap_shared *shared, unsigned core);
/* Of all cores of an owner that is gone. */
void ap_shared_bury(struct ap_shared *shared, u32 owner);

/* One thread's; memory is zeroed, aligned to 64 bytes; space names the address space. */
size_t ap_mem_bytes(const struct ap_machine *machine);
struct ap_mem *ap_mem_init(void *memory, const struct ap_machine *machine, struct ap_shared *shared,
			   u64 *count, u64 space);
void ap_mem_fini(struct ap_mem *m);

/* 2 MB pages (whole ones): sorted ranges that the caller keeps; what was cached is forgotten. */
void ap_mem_huge(struct ap_mem *m, const struct ap_huge *ranges, unsigned n);
/*
 * From now on these addresses have names that are common to all threads that name memory in this
 * table, which may be another than the thread's own: what was cached under other names is
 * forgotten.  owner: whose the core is there.  False: there is no core for it, and no name is
 * common.
 */
bool ap_mem_set_names(struct ap_mem *m, struct ap_shared *common, const struct ap_names *names,
		      u32 owner);
/*
 * A copy in a fork's child: of the same lines, as another core.  And one that will never be used
 * again.
 */
bool ap_mem_inherit_names(struct ap_mem *m, u32 owner);
void ap_mem_forget_names(struct ap_mem *m);
/* Minds what others did to our lines; before each batch, and on its own at each miss. */
void ap_mem_poll(struct ap_mem *m);

/*
 * A line is written to memory where it is modified, and leaves all caches, also those of others, or
 * (keeps) stays in them;  what another has modified stays so then.  No reference, and nothing to
 * the TLBs.
 */
void ap_mem_flush(struct ap_mem *m, u64 address, bool keeps);

unsigned ap_mem_data_slow(struct ap_mem *m, u64 address, unsigned size, unsigned flags, u64 pc);
unsigned ap_mem_fetch_slow(struct ap_mem *m, u64 address, unsigned size);

static inline struct ap_quick *ap_mem_quick(const struct ap_mem *m, u64 address)
{
	return ap_quick_of(m->quick, AP_QUICK, address, m->shift);
}

/* A reference to data: AP_MEM_* of what became of it. */
static inline unsigned ap_mem_data(struct ap_mem *m, u64 address, unsigned size, unsigned flags,
				   u64 pc)
{
	unsigned write = flags & AP_MEM_WRITE;
	const struct ap_quick *q = ap_mem_quick(m, address);

	if (ap_unlikely(ap_access_other(q, write, address, address + size - 1) & m->line_mask ||
			flags & ~AP_MEM_WRITE))
		return ap_mem_data_slow(m, address, size, flags, pc);
	ap_access_use(m->stamp, m->page_stamp[write], q, write, ++m->clock);
	m->count[write]++; /* AP_MODEL_L1D_LOAD, AP_MODEL_L1D_STORE */
	return m->hit;
}

/*
 * A load that missed, as its result says, is a further one of an instruction that has missed
 * before: it keeps its misses and is none of AP_MODEL_LOAD_*, which are of instructions.
 */
void ap_mem_count_no_answer(struct ap_mem *m, unsigned result);

/* The line at address is fetched as code. */
static inline unsigned ap_mem_fetch(struct ap_mem *m, u64 address)
{
	const struct ap_quick *q = ap_quick_of(m->code_quick, AP_QUICK_CODE, address, m->shift);

	if (ap_unlikely(ap_access_other(q, 0, address, address) & m->line_mask))
		return ap_mem_fetch_slow(m, address, 1);
	ap_access_use(m->code_stamp, m->code_page_stamp, q, 0, ++m->clock);
	m->count[AP_MEM_COUNT_CODE]++;
	return m->code_hit;
}

/* An instruction is fetched that may span two lines: one reference, as cachegrind counts. */
static inline unsigned ap_mem_fetch_insn(struct ap_mem *m, u64 address, unsigned size)
{
	if ((address ^ (address + size - 1)) & m->line_mask)
		return ap_mem_fetch_slow(m, address, size);
	return ap_mem_fetch(m, address);
}

#endif
