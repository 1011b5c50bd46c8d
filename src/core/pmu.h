/* SPDX-License-Identifier: MIT */
/*
 * The driver contract: how a PMU serves the core.  A driver is a constant table of hooks; the core
 * owns the events and decides when they run.
 */
#ifndef AP_CORE_PMU_H
#define AP_CORE_PMU_H

#include "abi/perf.h"
#include "base/types.h"
#include "core/core.h"

#define AP_PMU_NO_EXCLUDE   (1u << 0) /* exclude_* bits are EINVAL */
#define AP_PMU_SOFTWARE	    (1u << 1) /* takes no counter: fits in any group, never multiplexed */
#define AP_PMU_NO_SAMPLING  (1u << 2) /* a period is EOPNOTSUPP (Linux: EINVAL where it says so) */
#define AP_PMU_ANY_CLOCK    (1u << 3) /* its overflows come where every clock can be read */
#define AP_PMU_COUNTERS_MAX 64

/* The driver's part of an event; the core stores it and looks only at what is said here. */
struct ap_hw_event {
	u64 kinds;	/* raw kinds that it sums; 0: the driver's read hook computes the value */
	u64 needs;	/* of one without: raw kinds that its read hook takes, to be counted */
	u64 constraint; /* bit n: fits on counter n; ~0 any */
	s32 counter;	/* while on the PMU: its counter, -1 none */
	u32 which;	/* driver's own */
	u64 start;	/* raw value at the start of the open interval */
	u64 time_start; /* driver's own: clocks */
	u64 priv[5];	/* driver's own */
	/*
	 * How its overflows are seen: enum ap_sampler_source, and ap_sampler.which, set by start at
	 * the latest.  0: a period is EOPNOTSUPP.  Of events with kinds the core knows the source.
	 */
	u32 sample_source, sample_which;
	u32 sample_form; /* of AP_SAMPLE_WATCH: ap_sampler.trace_args */
	/* a period is accepted and means nothing: side-band only */
	bool never_overflows;
	/*
	 * of a CPU, and the world tells it task by task: all tasks are to be known while it is open
	 */
	bool wants_tasks;
	/*
	 * what its samples have as RAW is for tasks that may trace: always, or of all but a task's
	 * event
	 */
	bool raw_is_secret, raw_is_secret_on_cpus;
	/* exclude_*: it is on the PMU and truly counts 0; start, read and stop are not called */
	bool counts_nothing;
};

struct ap_pmu {
	const char *name;
	u32 type; /* enum ap_perf_type or a dynamic number */
	u32 flags;
	/*
	 * Is it ours, and can it be counted?  0, -ENOENT (not ours: the next driver is asked),
	 * or the errno that the program gets.  Fills hw.  Called with attr checked in general.
	 */
	int (*event_init)(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
			  struct ap_task *task, s32 cpu, struct ap_hw_event *hw);
	void (*event_fini)(struct ap_core *core, struct ap_hw_event *hw); /* may be NULL */
	/*
	 * Only of events without kinds: with kinds the core reads the world's raw counters itself.
	 * Opens an interval: from here on read gives what was counted since.  0 or -errno.
	 */
	int (*start)(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu);
	/* What the open interval has counted so far. */
	u64 (*read)(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu);
	/* Closes it; may be NULL: there is nothing to undo. */
	void (*stop)(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu);
	/* Counters per context, 0 unlimited; only for PMUs without AP_PMU_SOFTWARE. */
	u32 (*counters)(struct ap_core *core, struct ap_pmu *pmu);
	/*
	 * PERF_EVENT_IOC_SET_FILTER, NUL terminated; NULL: -EINVAL, as of all but tracepoints.
	 * Once in an event's life, while no interval is open; of clones before their first.
	 */
	int (*set_filter)(struct ap_core *core, struct ap_hw_event *hw, const char *filter);
	void *priv;
};

/* For drivers. */
const struct ap_core_ops *ap_core_world(struct ap_core *core, void **world);

#endif
