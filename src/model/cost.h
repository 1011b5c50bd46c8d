/* SPDX-License-Identifier: MIT */
/*
 * What a piece of code costs on a machine, as far as it can be known when it is translated: slots,
 * ports, and how late each value is that it leaves behind.  docs/design/cycles.md.
 */
#ifndef AP_MODEL_COST_H
#define AP_MODEL_COST_H

#include "base/types.h"
#include "model/machine.h"
#include "model/pipe.h"
#include "x86/cost.h"

#define AP_COST_INPUTS 8 /* that a value is followed back to; the nearest are forgotten */

/* When a value is there: so long after the piece began, and so long after each of its inputs. */
struct ap_cost_chain {
	u32 start; /* cycles / 256, all of these */
	u32 lat[AP_COST_INPUTS];
	u8 in[AP_COST_INPUTS];
	u8 n;
	u64 loads; /* of the piece that it is made of, by number */
};

#define AP_COST_GROUPS 24

struct ap_cost_account {
	const struct ap_machine *machine;
	u64 written;
	u64 known; /* values that are made; others are what they were when the piece began */
	u32 depth;
	u32 slots, loads, stores, taken, ninsns;
	bool fuses; /* what came last */
	u32 ngroups;
	struct {
		u16 ports;
		u32 n;
	} group[AP_COST_GROUPS];
	u32 nloads; /* numbered */
	struct ap_cost_chain value[AP_PIPE_VALUES];
};

void ap_cost_begin(struct ap_cost_account *a, const struct ap_machine *machine);

/*
 * One more instruction.  cell: a name for what it loads or stores (AP_PIPE_CELL..), 0: not
 * known.  Returns, for a load, what its address waits for, as in struct ap_pipe_load.
 */
u16 ap_cost_add(struct ap_cost_account *a, const struct ap_cost *c, u8 cell, bool taken);

/* General registers, and AP_PIPE_LATE_FLAGS, that come of load number n. */
u16 ap_cost_late(const struct ap_cost_account *a, u32 n);

/* Cycles / 256 that it keeps the pipeline busy, if nothing waits. */
u32 ap_cost_busy(const struct ap_cost_account *a);

/* Entries of the reorder buffer that a way of so many of its instructions takes. */
u32 ap_cost_room(const struct ap_cost_account *a, u32 ninsns);

/* Its links, at most AP_PIPE_LINKS; returns how many. */
u32 ap_cost_links(const struct ap_cost_account *a, struct ap_pipe_link *links);

#endif
