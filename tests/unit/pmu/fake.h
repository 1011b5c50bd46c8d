/* SPDX-License-Identifier: MIT */
/*
 * A world for drivers: what they ask the core and its host, answered from plain arrays that a test
 * writes.  It stands in for the core as well, so that a driver's test fails for the driver's sake.
 */
#ifndef AP_TESTS_UNIT_PMU_FAKE_H
#define AP_TESTS_UNIT_PMU_FAKE_H

#include "core/pmu.h"
#include "pmu/drivers.h"

#define FAKE_CPUS 2

struct ap_task {
	struct ap_task_id id;
	u64 time;
	u64 raw[AP_KIND_N];
	u64 counter[AP_WORLD_N];
	u64 trace[4096];
};

struct ap_core {
	struct ap_core_ops ops;
	struct ap_core_config config;
	struct ap_pmu_drivers drivers;
	u64 clock;
	struct ap_task on_cpu[FAKE_CPUS]; /* what a CPU's tasks did there */
	u64 wanted;			  /* kinds */
	u64 refused;			  /* kinds that this world cannot count */
	u32 unknown;			  /* bit ap_world_counter: nobody knows */
	u64 allocated;
	struct ap_world_bp armed; /* the last one */
	u64 hits;		  /* since then */
	u32 narmed;
	struct ap_pmu *pmu[8];
	u32 npmu;
};

/* A core with every hook, its drivers registered for this CPU. */
void fake_init(struct ap_core *core, enum ap_cpu cpu);
/* Asks the drivers in turn, as the core does: 0 and the one that took it, or an errno. */
int fake_open(struct ap_core *core, const struct ap_perf_attr *attr, struct ap_task *task, s32 cpu,
	      struct ap_hw_event *hw, struct ap_pmu **pmu);

#endif
