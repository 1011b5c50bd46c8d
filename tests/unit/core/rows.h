/* SPDX-License-Identifier: MIT */
/* What perf_event_open is asked and answers: rows for the core, and for the kernel as its judge. */
#ifndef AP_TESTS_CORE_ROWS_H
#define AP_TESTS_CORE_ROWS_H

#include "abi/perf.h"

/* Descriptors that the rows name as groups. */
enum { NOT_PERF = 20, G_SOFT, G_MEMBER, G_HARD, G_CPU, G_INHERIT, G_CLOCK, G_DEAD, G_FULL, G_CG };

struct row {
	int line;
	int want; /* 0 or a positive AP_E */
	u32 type;
	u64 config, flags;
	s32 pid, cpu;
	int group; /* 0: none */
	u64 call_flags;
	/* further fields of the attr: what to set, to what */
	u64 sample_type, period, read_format;
	u64 extra; /* branch type, registers, stack size, clock, depth: by sample_type */
	u32 bp_type;
};

extern const struct row open_rows[];
extern const u32 nr_open_rows;

struct ap_perf_attr attr_of(const struct row *r);

#endif
