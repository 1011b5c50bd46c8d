/* SPDX-License-Identifier: MIT */
/*
 * What the oracle has counted so far, and the optional records that help to find a difference:
 * the trace (every retired instruction in order) and the histogram (how often each pc retired).
 */
#ifndef ORACLE_TALLY_H
#define ORACLE_TALLY_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "insn.h"
#include "samples.h"

enum tally_event {
	TALLY_INSTRUCTIONS,
	TALLY_BRANCHES,
	TALLY_COND_BRANCHES,
	TALLY_TAKEN_BRANCHES,
	TALLY_CALLS,
	TALLY_RETURNS,
	TALLY_INDIRECT_BRANCHES,
	TALLY_SYSCALLS,
	TALLY_LOADS,
	TALLY_STORES,
	TALLY_MEM, /* either */
	TALLY_REP_ITERATIONS,
	TALLY_FP, /* enum access_fp */
	TALLY_FP_LAST = TALLY_FP + ACCESS_FP_N - 1,
	TALLY_FLOPS,
	TALLY_LOCKED,
	TALLY_EVENTS,
};

struct tally {
	uint64_t count[TALLY_EVENTS];
	FILE *trace;	      /* borrowed; NULL: no trace */
	struct tally_pc *pcs; /* owned hash table; NULL: no histogram */
	size_t pcs_mask;
	size_t pcs_used;
	struct samples samples;
};

/* -1: there is no such event. */
int tally_event_by_name(const char *name);
int tally_start_histogram(struct tally *tally);
void tally_retire(struct tally *tally, pid_t tid, uint64_t pc, const struct insn *insn, bool taken);
/* Iterations of a rep string instruction, as they happen. */
void tally_iterate(struct tally *tally, uint64_t n);
void tally_print(const struct tally *tally, FILE *out);
void tally_print_histogram(struct tally *tally, FILE *out);

#endif /* ORACLE_TALLY_H */
