/* SPDX-License-Identifier: MIT */
/*
 * Models of x86 CPUs as their counter registers show them: what each MSR takes, keeps and refuses,
 * how wide counters are and what a write makes of their upper bits, when they count and when they
 * interrupt.  ap_x86model_ops drives the driver against one; ap_x86model_count() feeds it with what
 * the engine counted.
 *
 * A register that does not exist and a bit that is reserved fault: the access does nothing, and the
 * fault is kept to be asked for.  Every access is recorded, so that a test can tell in what order a
 * driver did its work, and a session what it cost.
 *
 * An event is counted if the engine has a count that means the same (x86_events.c says which, with
 * sources).  Others never count, and ap_x86model_counts() says so, for code that has to label a number.
 */
#ifndef AP_PERFCTR_MODEL_X86_H
#define AP_PERFCTR_MODEL_X86_H

#include "abi/perfctr.h"
#include "abi/raw.h"
#include "perfctr/x86.h"

enum ap_x86model_access_op {
	AP_X86MODEL_RDMSR,
	AP_X86MODEL_WRMSR,
	AP_X86MODEL_RDPMC,
	AP_X86MODEL_RDTSC,
	AP_X86MODEL_APIC
};

struct ap_x86model_access {
	u8 op; /* enum ap_x86model_access_op */
	u8 cpu;
	bool faulted;
	u32 reg;
	u64 val; /* read or written */
};

/* Registers of one CPU, by their place in the family's ranges. */
#define AP_X86MODEL_REGS 128

struct ap_x86model_cpu {
	u64 tsc;
	u64 regs[AP_X86MODEL_REGS];
	u32 lvtpc;
	u32 cascaded; /* P4: counters that run because their partner overflowed */
};

struct ap_x86model_family;

struct ap_x86model {
	const struct ap_x86model_family *family;
	struct ap_x86model_cpu *cpus; /* borrowed */
	unsigned ncpus;
	unsigned cpu;	  /* the CPU that runs: all accesses are this one's */
	bool has_threads; /* P4: odd CPUs are second threads and share their neighbour's registers */
	/* Called when a counter interrupts and the APIC's entry lets it. */
	void (*interrupt)(void *arg);
	void *interrupt_arg;
	struct ap_x86model_access *log; /* borrowed; NULL: only counted */
	u32 log_size;
	u32 nlogged; /* of all accesses; what is beyond the log was not kept */
	u32 nfaults;
	u32 nwrites; /* of MSRs */
};

extern const struct ap_x86ctr_ops ap_x86model_ops; /* host: struct ap_x86model */

/* NULL: no such model.  Names as of --cpu: p6, pii, k7, k8 ... */
const struct ap_x86model_family *ap_x86model_find(const char *name);
/* The i-th, NULL behind the last. */
const char *ap_x86model_name(unsigned i);

/* What there is to say of the i-th model and of its CPU; false behind the last. */
struct ap_x86model_about {
	const struct ap_x86model_family *family;
	const char *cpu_name;
	u32 type, features; /* as its driver has them */
	unsigned nrctrs;
	unsigned first;		  /* the counter that there is, where that is not 0 */
	bool is_enabled_by_first; /* P6: other counters have no enable bit */
};
bool ap_x86model_about(unsigned i, struct ap_x86model_about *about);

/* The i-th event that is counted, with the register's value for user mode; false behind the last. */
struct ap_x86model_listed {
	const char *name;
	u32 code, evntsel;
};
bool ap_x86model_listed(const struct ap_x86model_about *about, unsigned i,
			struct ap_x86model_listed *row);

void ap_x86model_init(struct ap_x86model *m, const struct ap_x86model_family *family,
		      struct ap_x86model_cpu *cpus, unsigned ncpus);

/*
 * What happened on the CPU that runs: so many of each kind, and so many ticks of its TSC.  A counter
 * that wraps interrupts when all have been added; with more than ap_x86model_room() of an event
 * that is too late to be exact.
 */
void ap_x86model_count(struct ap_x86model *m, const u64 kinds[AP_KIND_N], u64 ticks);

/* So many of the kind may happen until a counter interrupts; ~0 if none will. */
u64 ap_x86model_room(const struct ap_x86model *m, unsigned kind);

/* What is in counter i of this CPU; that of a number in rdpmc's words; and what those words are. */
u64 ap_x86model_counter(const struct ap_x86model *m, unsigned i);
u32 ap_x86model_number(const struct ap_x86model *m, u32 counter);
void ap_x86model_pmc_shape(const struct ap_x86model *m, struct ap_pmcs *shape);

/*
 * What counter i of this CPU counts as it is programmed: a set of kinds; 0 and the reason in *why
 * if it stands still or the event is none of ours.
 */
u64 ap_x86model_counts(const struct ap_x86model *m, unsigned i, const char **why);

#endif
