/* SPDX-License-Identifier: MIT */
/*
 * Events that the world watches for: breakpoints, probes in text, instructions of a class.  It
 * counts them by itself from their start on; hw->priv[AP_PMU_WATCH] is its name for the watch.
 */
#include "pmu/drivers.h"

int ap_pmu_watch_init(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu,
		      const struct ap_world_bp *bp)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	hw->wants_tasks = !task;
	hw->sample_source = ops->bp_place ? (u32)AP_SAMPLE_WATCH : 0;
	return ops->bp_can ? ops->bp_can(world, ap_pmu_host(task), cpu, bp) : 0;
}

int ap_pmu_watch_start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu,
		       const struct ap_world_bp *bp)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	int err = ops->bp_arm(world, ap_pmu_host(task), cpu, bp, &hw->priv[AP_PMU_WATCH]);

	if (!err && ops->bp_place)
		hw->sample_which = ops->bp_place(world, hw->priv[AP_PMU_WATCH]);
	return err;
}

u64 ap_pmu_watch_read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	(void)task;
	(void)cpu;
	return ops->bp_count(world, hw->priv[AP_PMU_WATCH]);
}

void ap_pmu_watch_stop(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	(void)task;
	(void)cpu;
	ops->bp_disarm(world, hw->priv[AP_PMU_WATCH]);
}
