/* SPDX-License-Identifier: MIT */
/* The stepper: drives a traced tree one instruction at a time and feeds the tally. */
#ifndef ORACLE_STEP_H
#define ORACLE_STEP_H

#include <stdint.h>
#include <sys/types.h>

#include "tally.h"
#include "thread.h"

struct stepper {
	struct tally *tally; /* borrowed */
	struct thread_table threads;
	pid_t command;	    /* the process that exec'ed the command */
	int command_status; /* its wait status */
	bool is_counting;   /* from the first exec on */
	uint64_t steps;
	uint64_t max_steps; /* 0: no limit */
};

/* Attaches to @command, which waits before its exec. */
int stepper_seize(struct stepper *stepper, pid_t command);
/* Steps until the whole tree has ended; -ETIME after max_steps (the tree is then killed). */
int stepper_run(struct stepper *stepper);

#endif /* ORACLE_STEP_H */
