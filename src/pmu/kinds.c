/* SPDX-License-Identifier: MIT */
/*
 * Events that are a set of raw kinds as it stands: config is the set.  Not for programs: the host
 * opens them for services that count by kinds and keep their own sums (perfctr), so that the core
 * sees to it that the kinds are counted and that periods of them end at the instruction.
 */
#include "abi/errno.h"
#include "pmu/drivers.h"

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	const struct ap_pmu_drivers *d = pmu->priv;
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	int err = 0;

	(void)cpu;
	if (attr->type != AP_PMU_KINDS || !d->host_opens || !ops->raw)
		return -AP_ENOENT;
	if (!attr->config || attr->config & ~AP_KINDS_ALL)
		return -AP_EINVAL;
	/*
	 * the thread's samples are of counts that its code takes down, or of what a model says: not
	 * of both
	 */
	if (attr->sample_period && attr->config & AP_KINDS_MODEL && attr->config & ~AP_KINDS_MODEL)
		return -AP_EOPNOTSUPP;
	if (task && ops->may_count)
		err = ops->may_count(world, ap_task_host(task), attr->config);
	if (err)
		return err;
	if (ops->need_kinds)
		ops->need_kinds(world, attr->config);
	hw->constraint = ~0ULL;
	hw->kinds = attr->config;
	return 0;
}

void ap_pmu_kinds_init(struct ap_pmu_drivers *d)
{
	d->kinds = (struct ap_pmu){
		.name = "kinds",
		.type = AP_PMU_KINDS,
		.flags = AP_PMU_SOFTWARE, /* takes no counter of the program's */
		.event_init = event_init,
	};
}
