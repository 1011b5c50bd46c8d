/* SPDX-License-Identifier: MIT */
/*
 * How the tables of events are written: raw kinds by name, and rows of raw codes.  For the files of
 * tables only.
 */
#ifndef AP_PMU_EVENT_ROWS_H
#define AP_PMU_EVENT_ROWS_H

#include "pmu/events.h"

#define K(k) AP_KIND_BIT(AP_KIND_##k)

#define RAW_ROW(n, a, c, p, m, q, t)                                                               \
	{                                                                                          \
		.name = (n), .alias = (a), .config = (c), .sum = { .plus = (p), .minus = (m) },    \
		.quality = (q), .text = (t)                                                        \
	}
#define EXACT(n, a, c, k, t)   RAW_ROW(n, a, c, k, 0, AP_PMU_EXACT, t)
#define LESS(n, a, c, p, m, t) RAW_ROW(n, a, c, p, m, AP_PMU_EXACT, t)
#define MODEL(n, a, c, k, t)   RAW_ROW(n, a, c, k, 0, AP_PMU_MODELLED, t)
/* Hits: what was asked for, less the misses of it. */
#define HITS(n, a, c, p, m, t) RAW_ROW(n, a, c, p, m, AP_PMU_MODELLED, t)
/*
 * Kinds that mean the event where the machine has an L2, by whose requests it is counted: its
 * misses are requests to the last level.
 */
#define OF_L2(n, c, k, t)                                                                          \
	{                                                                                          \
		.name = (n), .config = (c), .sum = { .plus = (k), .of = K(L2_LOAD) },              \
		.quality = AP_PMU_MODELLED, .text = (t)                                            \
	}
/* The slots of the issue stage, by cycles. */
#define SLOTS(n, c, t)                                                                             \
	{                                                                                          \
		.name = (n), .config = (c), .sum = { .plus = K(CYCLES), .in_slots = true },        \
		.quality = AP_PMU_MODELLED, .text = (t)                                            \
	}
/* A code that is named and not counted; the text says why. */
#define NOT(n, a, c, t)                                                                            \
	{                                                                                          \
		.name = (n), .alias = (a), .config = (c), .text = (t)                              \
	}

#endif
