/* SPDX-License-Identifier: MIT */
/*
 * Models of 32-bit PowerPCs as their performance monitor's registers show them; x86.h says what a
 * model is.  Registers that a family lacks and bits that are reserved fault, though real ones take
 * the latter in silence: a driver that writes them is wrong on the next revision.
 */
#ifndef AP_PERFCTR_MODEL_PPC_H
#define AP_PERFCTR_MODEL_PPC_H

#include "abi/raw.h"
#include "perfctr/ppc.h"

struct ap_ppcmodel_access {
	bool is_write, faulted;
	u8 cpu;
	u32 spr, val;
};

struct ap_ppcmodel_cpu {
	u32 tb;
	u32 mmcr[3];
	u32 pmc[6];
	u32 bamr;
};

struct ap_ppcmodel_family;

struct ap_ppcmodel {
	const struct ap_ppcmodel_family *family;
	struct ap_ppcmodel_cpu *cpus; /* borrowed */
	unsigned ncpus;
	unsigned cpu; /* the CPU that runs */
	u32 timebase_hz;
	struct ap_ppcmodel_access *log; /* borrowed; NULL: only counted */
	u32 log_size;
	u32 nlogged;
	u32 nfaults;
};

extern const struct ap_ppcctr_ops ap_ppcmodel_ops; /* host: struct ap_ppcmodel */

/* An event that counts: on each counter of the mask, by this selector. */
struct ap_ppcmodel_listed {
	const char *name;
	u32 pmcs; /* bit 0: PMC1 */
	u32 event;
	u64 kinds;
};

/* The i-th that the CPU has; false past the last. */
bool ap_ppcmodel_listed(const struct ap_ppcmodel_family *family, unsigned i,
			struct ap_ppcmodel_listed *out);
/* Names of CPUs; NULL past the last. */
const char *ap_ppcmodel_name(unsigned i);

/* 604, 604e, 604ev, 750, 750fx, 750gx, 7400, 7410, 7450, 7455, 7457, ppc; NULL: none of them. */
const struct ap_ppcmodel_family *ap_ppcmodel_find(const char *name);

void ap_ppcmodel_init(struct ap_ppcmodel *m, const struct ap_ppcmodel_family *family,
		      struct ap_ppcmodel_cpu *cpus, unsigned ncpus);

/* What happened on the CPU that runs, one by one where a counter may turn negative. */
void ap_ppcmodel_count(struct ap_ppcmodel *m, const u64 kinds[AP_KIND_N], u64 ticks);

/* What counter i counts; 0 and why not. */
u64 ap_ppcmodel_counts(const struct ap_ppcmodel *m, unsigned i, const char **why);

#endif
