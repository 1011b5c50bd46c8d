/* SPDX-License-Identifier: MIT */
/*
 * Probes in the text of programs (uprobes): how often an instruction of a file was executed,
 * wherever it is mapped.  Programs name the file by a path, which the host has looked up: so the
 * host opens them (linux/host/host_probe.c).  To the world they are breakpoints on code that take
 * no debug register.
 */
#include "abi/errno.h"
#include "pmu/drivers.h"

/* hw->priv; hw->which: 1 for returns.  RAISED: the watch that raises the counter, 0 none. */
enum { OFFSET, DEV, INO = AP_PMU_WATCH + 1, RAISED };

static struct ap_world_bp watched(const struct ap_hw_event *hw)
{
	return (struct ap_world_bp){ .addr = hw->priv[OFFSET],
				     .len = 8,
				     .type = AP_HW_BREAKPOINT_X,
				     .dev = hw->priv[DEV],
				     .ino = hw->priv[INO],
				     .is_return = hw->which };
}

/* From the event's opening on, whether or not it is enabled. */
static int raise(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu,
		 u64 counter)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	struct ap_world_bp bp = watched(hw);

	bp.is_return = false;
	bp.is_counter = true;
	bp.counter = counter;
	return ops->bp_arm(world, ap_pmu_host(task), cpu, &bp, &hw->priv[RAISED]);
}

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	struct ap_world_bp bp;
	int err;

	(void)pmu;
	if (attr->type != AP_PMU_PROBE)
		return -AP_ENOENT;
	if (ap_pmu_has_branch_stack(attr) || !ops->bp_arm)
		return -AP_EOPNOTSUPP;
	hw->priv[OFFSET] = attr->config1;
	hw->priv[DEV] = attr->config2;
	hw->priv[INO] = attr->config;
	hw->which = attr->bp_type;
	hw->counts_nothing = attr->flags & AP_PERF_EXCLUDE_USER;
	bp = watched(hw);
	err = ap_pmu_watch_init(core, hw, task, cpu, &bp);
	if (err)
		return err;
	if (AP_PROBE_HAS_COUNTER(attr->config3))
		err = raise(core, hw, task, cpu, AP_PROBE_COUNTER(attr->config3));
	if (err)
		return err;
	hw->raw_is_secret = hw->raw_is_secret_on_cpus = true;
	hw->sample_form = AP_PROBE_FORM(attr->config3);
	if (hw->sample_form && ops->form_use)
		ops->form_use(world, hw->sample_form, 1);
	return 0;
}

static void event_fini(struct ap_core *core, struct ap_hw_event *hw)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	if (hw->sample_form && ops->form_use)
		ops->form_use(world, hw->sample_form, -1);
	if (hw->priv[RAISED])
		ops->bp_disarm(world, hw->priv[RAISED]);
}

static int start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	const struct ap_world_bp bp = watched(hw);

	return ap_pmu_watch_start(core, hw, task, cpu, &bp);
}

void ap_pmu_probe_init(struct ap_pmu_drivers *d)
{
	d->probe = (struct ap_pmu){
		.name = "probe",
		.type = AP_PMU_PROBE,
		.flags = AP_PMU_SOFTWARE,
		.event_init = event_init,
		.event_fini = event_fini,
		.start = start,
		.read = ap_pmu_watch_read,
		.stop = ap_pmu_watch_stop,
	};
}
