/* SPDX-License-Identifier: MIT */
/*
 * A driver on a model of a CPU: what every test of the drivers starts from.  Accesses to registers
 * are compared as text, one word each: "w186=4100c0" writes an MSR, "m12" reads one, "r0" is
 * RDPMC, "t" RDTSC, "a340=ee" a write to the APIC; "2:" before it says that CPU 2 does it, and a
 * "!" behind it that it faulted.
 */
#ifndef AP_TESTS_PERFCTR_RIG_H
#define AP_TESTS_PERFCTR_RIG_H

#include "perfctr/model/x86.h"

#define RIG_CPUS 4

struct rig {
	struct ap_x86model m;
	struct ap_x86model_cpu cpus[RIG_CPUS];
	struct ap_x86ctr drv;
	struct ap_x86ctr_cache caches[RIG_CPUS];
	struct ap_x86model_access log[512];
	char text[8192];
};

/* The driver has found the CPU and is reserved. */
void rig_init(struct rig *rig, const char *model, bool has_threads);
/* What was accessed since the last call. */
const char *rig_log(struct rig *rig);
/* n of one kind happen, one by one, with so many ticks each. */
void rig_run(struct rig *rig, unsigned kind, u64 n, u64 ticks);
/* A state under a control, which must be taken. */
void rig_state(struct rig *rig, struct ap_x86ctr_state *state,
	       const struct ap_x86ctr_control *control);

/* A rule, a control that keeps it or does not, and the answer. */
struct rule {
	const char *id;
	int line;
	const char *model;
	int want;
	struct ap_x86ctr_control control;
	bool has_threads;
	int is_global;
};

#define RULE(rule_id, cpu, answer, ...)                                                            \
	{                                                                                          \
		.id = (rule_id), .line = __LINE__, .model = (cpu), .want = (answer), .control = {  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/*
 * Each rule's control is answered as the row says.  What is refused touches no register; what is
 * taken runs without a fault.
 */
void rig_rules(const struct rule *rules, unsigned n);
/* Those of tests/programs/abi_perfctr.h that are of one of these CPUs. */
void rig_rules_of(const char *models);

/* Random controls, seeded: whatever is taken runs without a fault and loads what it asks for. */
void rig_fuzz(const char *model, bool has_threads, unsigned rounds);

#endif
