/* SPDX-License-Identifier: MIT */
/*
 * A world whose every number a test writes, with the real core and the drivers in it: events are
 * opened, enabled and read as programs do it.
 */
#ifndef AP_TESTS_UNIT_PMU_FAKE_H
#define AP_TESTS_UNIT_PMU_FAKE_H

#include "core/core.h"
#include "pmu/drivers.h"

#define FAKE_CPUS 2

/* What somebody did: a task, or all on a CPU. */
struct fake_host {
	u64 time;
	u64 raw[AP_KIND_N];
	u64 counter[AP_WORLD_N];
	u64 trace[65536];
};

struct fake {
	struct ap_core *core;
	struct ap_core_ops ops; /* a hook that is NULL before fake_start is not there */
	struct ap_core_config config;
	struct ap_pmu_drivers drivers;
	u64 clock;
	struct fake_host host, on_cpu[FAKE_CPUS];
	struct ap_task *task; /* of host; who opens all events */
	u64 refused;	      /* kinds that this world cannot count */
	u32 unknown;	      /* bit ap_world_counter: nobody knows */
	u64 allocated;
	struct ap_world_bp armed; /* the last one */
	u64 hits;		  /* since then */
	u32 narmed;
	u32 no_data;		       /* so often the last event that watches data was closed */
	struct ap_trace_filter filter; /* the last one */
	u32 nr_filters;		       /* that are wanted; their ids are AP_TRACE_FILTERED and on */
	int no_filter;		       /* -errno: there is no room */
	struct ap_sampler_whole samplers[16]; /* fake_sampling */
	u32 nr_samplers;
};

/* All hooks, an unlimited PMU, and events without exclude_kernel accepted; a test may change that. */
void fake_prepare(struct fake *f);
/* Hooks of sampling as well: samplers are made, and nothing overflows.  After fake_prepare. */
void fake_sampling(struct fake *f);
/* A core of it with the drivers of this CPU, and one task. */
void fake_start(struct fake *f, enum ap_cpu cpu);
/* After the last event was released: everything has been given back. */
void fake_end(struct fake *f);

/* Opens for the task (pid 0) or for a CPU (pid -1), disabled or not as attr says. */
int fake_open(struct fake *f, const struct ap_perf_attr *attr, s32 pid, s32 cpu,
	      struct ap_event **out);
void fake_enable(struct fake *f, struct ap_event *e, bool on);
u64 fake_read(struct fake *f, struct ap_event *e);
void fake_close(struct fake *f, struct ap_event *e);

#endif
