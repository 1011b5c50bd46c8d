/* SPDX-License-Identifier: MIT */
/* Events whose count is the difference of two readings of the world.  See drivers.h. */
#include "pmu/drivers.h"

enum { LAST }; /* hw->priv */

int ap_pmu_reader_start(ap_pmu_reader reading, struct ap_core *core, struct ap_hw_event *hw,
			struct ap_task *task, s32 cpu)
{
	hw->priv[LAST] = 0;
	return reading(core, hw->which, task, cpu, &hw->start);
}

u64 ap_pmu_reader_read(ap_pmu_reader reading, struct ap_core *core, struct ap_hw_event *hw,
		       struct ap_task *task, s32 cpu)
{
	u64 v;

	if (!reading(core, hw->which, task, cpu, &v))
		hw->priv[LAST] = v - hw->start;
	return hw->priv[LAST];
}
