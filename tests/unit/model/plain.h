/* SPDX-License-Identifier: MIT */
/*
 * The memory model once more, as plainly as can be: every line is a struct, every search goes
 * through all of them, LRU is a time.  It shares no code with src/model, only the words.
 */
#ifndef TESTS_MODEL_PLAIN_H
#define TESTS_MODEL_PLAIN_H

#include "model/model.h"

struct plain_line {
	bool valid, dirty, ahead;
	uint64_t number;
	uint64_t used;
	int age;
};

struct plain_cache {
	struct ap_cache_spec spec;
	int sets; /* of all slices */
	struct plain_line *lines;
	bool (*right)[32]; /* PLRU: by set and node: the right half is next */
	uint64_t *random;
};

struct plain_tlb {
	int entries, ways;
	uint64_t *page, *used; /* page + 1; 0: free */
};

struct plain_stride {
	uint64_t key, line;
	int64_t stride;
	int seen;
};

struct plain {
	struct ap_machine machine;
	struct plain_cache l1i, l1d, l2, llc;
	struct plain_tlb dtlb, dtlb_store, dtlb_2m, itlb, itlb_2m, stlb, istlb, walk[3];
	struct plain_stride stride[64], stream[64];
	uint64_t time;
	uint64_t huge_start, huge_end;
	uint64_t count[AP_MODEL_N];
};

void plain_init(struct plain *p, const struct ap_machine *machine);
void plain_fini(struct plain *p);
/* level and AP_MEM_ bits, without cycles */
unsigned plain_data(struct plain *p, uint64_t address, unsigned size, bool write, uint64_t pc);
unsigned plain_fetch(struct plain *p, uint64_t address, unsigned size);

#endif
