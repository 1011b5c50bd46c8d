/* SPDX-License-Identifier: MIT */
/*
 * The PMU drivers of a session.  The set lives in the host's memory as long as the core does: a
 * driver's own state is per session, as two cores may live in one process.
 */
#ifndef AP_PMU_DRIVERS_H
#define AP_PMU_DRIVERS_H

#include "abi/cpuid.h"
#include "core/pmu.h"
#include "pmu/events.h"

/* A type that no program's event has: only while .host_opens. */
#define AP_PMU_KINDS 0xfffffff0U
/*
 * Code of a file, as a probe in text names it: config is the inode, config1 the offset, config2 the
 * device.  No program's event has this type either: what is above the kernel's own is sent to the
 * kernel (linux/host/host_kernel.c).
 */
#define AP_PMU_PROBE 0xfffffff1U
/*
 * Its attr.config3: the form of its samples (abi/probe.h), and the offset of its reference counter,
 * if it has one.
 */
#define AP_PROBE_CONFIG3(form, has, counter) ((u64)(form) | (u64)(has) << 8 | (u64)(counter) << 16)
#define AP_PROBE_FORM(config3)		     ((u32)((config3)&0xff))
#define AP_PROBE_HAS_COUNTER(config3)	     ((config3) >> 8 & 1)
#define AP_PROBE_COUNTER(config3)	     ((config3) >> 16)

struct ap_bp_slot; /* one breakpoint that takes a debug register of its task */

struct ap_pmu_drivers {
	struct ap_pmu software, cpu, breakpoint, tracepoint, kinds, probe;
	bool host_opens;		/* the host opens an event of its own: kinds.c */
	const struct ap_pmu_arch *arch; /* whose raw codes `cpu` takes */
	struct ap_bp_slot *slots;
};

/* cpu: ap_cpu_of the host's CPU. */
AP_MUST_CHECK int ap_pmu_drivers_register(struct ap_pmu_drivers *d, struct ap_core *core,
					  enum ap_cpu cpu);

/* Each fills its table; ap_pmu_drivers_register calls them. */
void ap_pmu_software_init(struct ap_pmu_drivers *d);
void ap_pmu_cpu_init(struct ap_pmu_drivers *d);
void ap_pmu_breakpoint_init(struct ap_pmu_drivers *d);
void ap_pmu_tracepoint_init(struct ap_pmu_drivers *d);
void ap_pmu_kinds_init(struct ap_pmu_drivers *d);
void ap_pmu_probe_init(struct ap_pmu_drivers *d);

/* What drivers have in common. */
static inline bool ap_pmu_has_branch_stack(const struct ap_perf_attr *attr)
{
	return attr->sample_type & AP_PERF_SAMPLE_BRANCH_STACK;
}

/*
 * Events whose count is the difference of two readings of the world: hw->which says of what.  Where
 * the world cannot say any more, what it said last (hw->priv[0]) stays.
 */
typedef int (*ap_pmu_reader)(struct ap_core *core, u32 which, struct ap_task *task, s32 cpu,
			     u64 *v);
AP_MUST_CHECK int ap_pmu_reader_start(ap_pmu_reader reading, struct ap_core *core,
				      struct ap_hw_event *hw, struct ap_task *task, s32 cpu);
u64 ap_pmu_reader_read(ap_pmu_reader reading, struct ap_core *core, struct ap_hw_event *hw,
		       struct ap_task *task, s32 cpu);

/* Events that the world watches for (watch.c). */
#define AP_PMU_WATCH 2 /* hw->priv[AP_PMU_WATCH] is theirs */
/* Can it be?  -errno of the world's. */
AP_MUST_CHECK int ap_pmu_watch_init(struct ap_core *core, struct ap_hw_event *hw,
				    struct ap_task *task, s32 cpu, const struct ap_world_bp *bp);
AP_MUST_CHECK int ap_pmu_watch_start(struct ap_core *core, struct ap_hw_event *hw,
				     struct ap_task *task, s32 cpu, const struct ap_world_bp *bp);
u64 ap_pmu_watch_read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu);
void ap_pmu_watch_stop(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu);

static inline void *ap_pmu_host(const struct ap_task *task)
{
	return task ? ap_task_host(task) : NULL;
}

#endif
