/* SPDX-License-Identifier: MIT */
/*
 * Which instructions would be sampled: each on which a thread's count of an event passes a multiple
 * of the period.  Counts begin at 0 with a thread and with an image.  A line is tid, pc, and the
 * thread's counts before and after it, so the list for period 1 has those of all others; then, where
 * they are wanted, the last 32 taken branches, newest first.
 */
#ifndef ORACLE_SAMPLES_H
#define ORACLE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct samples {
	FILE *out; /* borrowed; NULL: none are wanted */
	uint64_t period;
	int event; /* enum tally_event */
	bool with_branches;
	struct samples_thread *threads; /* owned */
	size_t n, capacity;
};

void samples_retire(struct samples *samples, pid_t tid, uint64_t pc, uint64_t more, bool jumps);
/* The thread begins, or its image does. */
void samples_restart(struct samples *samples, pid_t tid);

#endif /* ORACLE_SAMPLES_H */
