/* SPDX-License-Identifier: MIT */
/*
 * A machine as data: geometry, policies, latencies.  No pointers, so that tables of machines can
 * lie in the blob and be copied into shared pages; every number is a u32, so that one table of
 * names and offsets reads and writes them (machine_file_hosted.c).
 */
#ifndef AP_MODEL_MACHINE_H
#define AP_MODEL_MACHINE_H

#include "base/types.h"

enum ap_policy {
	AP_POLICY_LRU,
	AP_POLICY_PLRU,	  /* a binary tree over ways, a power of two of them */
	AP_POLICY_RANDOM, /* seeded: the same stream gives the same victims */
	AP_POLICY_RRIP	  /* static re-reference interval prediction, two bits */
};

/* What a level has of the level above it. */
enum ap_inclusion {
	AP_NONINCLUSIVE, /* filled together, evicted apart */
	AP_INCLUSIVE,	 /* a line that leaves here leaves the levels above, too */
	AP_EXCLUSIVE	 /* takes what is evicted above, gives back what is asked for */
};

#define AP_PREFETCH_NEXT   1U /* a miss brings the next line as well */
#define AP_PREFETCH_STRIDE 2U /* L1D: strides of one instruction; L2: streams within a page */

struct ap_cache_spec {
	u32 size; /* bytes in all; 0: no such level */
	u32 ways;
	u32 slices;  /* sets of a slice are a power of two, slices need not be; 0 is 1 */
	u32 latency; /* cycles from load to use */
	u32 policy;
	u32 write_through;
	u32 no_allocate; /* a store that misses goes by */
	u32 inclusion;	 /* L2 and LLC: of the level above */
	u32 prefetch;
	u32 degree; /* lines that a stride is followed ahead; 0 is 1 */
};

struct ap_tlb_spec {
	u32 entries; /* 0: no such TLB */
	u32 ways;    /* entries: fully associative; sets are a power of two */
	u32 latency; /* of a hit in the second level, cycles */
};

enum ap_bp_kind { AP_BP_BIMODAL, AP_BP_GSHARE, AP_BP_TAGE };

#define AP_TAGE_TABLES 8

struct ap_bp_spec {
	u32 kind;
	u32 base_bits; /* log2 of two-bit counters: bimodal, gshare; TAGE's, where bias_bits is 0 */
	u32 history;   /* gshare: outcomes hashed, at most 32 */
	u32 tables;    /* TAGE: tagged tables, at most AP_TAGE_TABLES */
	u32 table_bits;	 /* log2 of entries of each */
	u32 tag_bits;	 /* at most 11 */
	u32 min_history; /* of the first table; geometric up to the last */
	u32 max_history; /* at most 64 */
	u32 bias_bits; /* log2 of entries that know a branch, and whether it has one direction; 0: none */
	u32 loops;	 /* entries of the loop predictor; a power of two or 0 */
	u32 btb_entries; /* sets are a power of two */
	u32 btb_ways;
	u32 target_bits;   /* log2 of entries that hold an indirect branch's last target */
	u32 target_tables; /* ITTAGE: tagged tables of targets, at most AP_TAGE_TABLES; 0: none */
	u32 target_table_bits;
	u32 returns;	 /* entries of the return stack */
	u32 penalty;	 /* cycles of a misprediction */
	u32 btb_penalty; /* cycles until the decoder finds a direct branch on its own */
};

struct ap_pipe_spec {
	u32 issue; /* micro-operations per cycle into the back end: slots */
	u32 retire;
	u32 rob;
	u32 load_buffer;   /* loads, and stores, that have not retired; 0: any number */
	u32 store_buffer;  /* among so many a load finds the one that answers it or holds it up */
	u32 fill_buffers;  /* L1D misses under way at a time */
	u32 forward;	   /* cycles from a store to a load that it answers */
	u32 forward_block; /* more than a hit, of a load of which a store has a part */
	u32 split;	   /* cycles that a reference over two lines takes more */
	u32 page_split;
	u32 rename_memory; /* 1: stores of general registers answer loads without delay, where both name a place alike */
	u32 string; /* bytes that rep movs and rep stos move in a cycle; 0: as many as there are */
};

struct ap_machine {
	char name[24];
	u32 line;     /* bytes of a cache line, 32 to 128 */
	u32 mhz;      /* of cycles */
	u32 ref_mhz;  /* of ref-cycles */
	u32 bus_mhz;  /* of bus-cycles */
	u32 vendor;   /* enum ap_vendor: whose raw event codes it has */
	u32 counters; /* general ones, and their width */
	u32 fixed;
	u32 counter_bits;
	u32 nodes;  /* of memory; 0 is 1 */
	u32 memory; /* cycles to memory of this node, and of another */
	u32 remote;
	u32 snoop;	 /* cycles until another core's modified line is here */
	u32 whole_split; /* a reference over two lines that L1 misses asks below for both */
	struct ap_cache_spec l1i, l1d, l2, llc;
	/* those of 2 MB pages, where entries is 0, are those of 4 KB */
	struct ap_tlb_spec itlb, itlb_2m, dtlb, dtlb_2m;
	struct ap_tlb_spec dtlb_store; /* where 0: stores use dtlb */
	struct ap_tlb_spec stlb;       /* of data; of code where istlb is 0 */
	struct ap_tlb_spec istlb;
	u32 walk_pde, walk_pdpte, walk_pml4e; /* entries of paging-structure caches */
	u32 walk_step;			      /* cycles that reading one page table entry takes */
	struct ap_bp_spec bp;
	struct ap_pipe_spec pipe;
};

enum ap_vendor { AP_VENDOR_INTEL, AP_VENDOR_AMD };

/* The built-in machine of that name, or null; and the n-th one, or null. */
const struct ap_machine *ap_machine_find(const char *name);
const struct ap_machine *ap_machine_at(unsigned n);

/* What is wrong with it, in plain words, or null.  The models trust what passed. */
const char *ap_machine_check(const struct ap_machine *m);

/*
 * Hosted.  ap_machine_parse() reads "key = value" lines into m (docs/machines.md); -EINVAL and a
 * line of text in error, without "\n", where it cannot.  ap_machine_key() names the n-th key and
 * gives its value, to write such a file; false after the last.
 */
int ap_machine_parse(struct ap_machine *m, const char *text, char *error,
		     size_t size) AP_MUST_CHECK;
bool ap_machine_key(const struct ap_machine *m, unsigned n, char *text, size_t size);

/*
 * Hosted.  The machine that a CPU says it is: cpuid(leaf, subleaf, eax..edx) is the CPU's answer.
 * What it does not say (policies, predictors, latencies) is that of the nearest built-in machine.
 * folder: the kernel's description of a CPU's caches, for CPUs that do not give theirs, or NULL.
 */
void ap_machine_host(struct ap_machine *m,
		     void (*cpuid)(void *arg, u32 leaf, u32 subleaf, u32 regs[4]), void *arg,
		     const char *folder);

#endif
