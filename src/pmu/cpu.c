/* SPDX-License-Identifier: MIT */
/*
 * The emulated `cpu` PMU: HARDWARE, HW_CACHE and RAW events, all through the table of events.  An
 * event is a sum of raw counters, which the engine keeps per task whether or not somebody looks:
 * the core takes the difference of two readings by itself.
 *
 * Some events are a sum less another (branches that were not taken, hits), and computed here.
 * Their two readings happen one after the other while the task may run.  What is taken away is read
 * last, so that a reading never says too much; and the largest one of an interval is kept, so that
 * it never goes back.  Readings of a task that stands still, such as its own, are exact.  Slots are
 * cycles times a number of the machine, and computed as well.
 */
#include "pmu/drivers.h"

#include "abi/errno.h"

enum { PLUS, MINUS, LAST, TIMES }; /* hw->priv; of what is watched none but AP_PMU_WATCH */

/*
 * Instructions that lock have no kind: the world watches for them, as for a breakpoint that is at
 * each.  hw->which says so.
 */
static const struct ap_world_bp locked = { .len = 8,
					   .type = AP_HW_BREAKPOINT_X,
					   .is_locked = true };

static int init_locked(struct ap_core *core, struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	void *world;

	if (!ap_core_world(core, &world)->bp_arm)
		return -AP_ENOENT;
	hw->which = true;
	return ap_pmu_watch_init(core, hw, task, cpu, &locked);
}

static u64 raw(struct ap_core *core, struct ap_task *task, s32 cpu, u64 kinds)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	return task ? ops->raw(world, ap_task_host(task), kinds) : ops->cpu_raw(world, cpu, kinds);
}

static u64 reading(struct ap_core *core, const struct ap_hw_event *hw, struct ap_task *task,
		   s32 cpu)
{
	u64 v = raw(core, task, cpu, hw->priv[PLUS]);

	return (v - raw(core, task, cpu, hw->priv[MINUS])) * hw->priv[TIMES];
}

/*
 * Linux' answers.  Every sample is of the very instruction, so all of precise_ip's levels are the
 * same, where anything can be sampled.
 */
static int check_attr(struct ap_core *core, const struct ap_perf_attr *attr)
{
	void *world;

	if (attr->flags & AP_PERF_PRECISE_IP) {
		if (!ap_core_world(core, &world)->sampler_new)
			return -AP_EOPNOTSUPP;
		if (!attr->sample_period)
			return -AP_EINVAL;
	}
	if (!ap_pmu_has_branch_stack(attr))
		return 0;
	if (!ap_core_config(core)->has_branch_stack)
		return -AP_EOPNOTSUPP;
	return attr->branch_sample_type & AP_PERF_SAMPLE_BRANCH_COUNTERS ? -AP_EINVAL : 0;
}

static bool is_absent(const struct ap_core_config *config, const struct ap_pmu_sum *sum)
{
	return ap_pmu_is_absent(sum, config->absent) || (sum->in_slots && !config->issue);
}

static u32 counters(struct ap_core *core, struct ap_pmu *pmu)
{
	u32 n = ap_core_config(core)->counters;

	(void)pmu;
	return n < AP_PMU_COUNTERS_MAX ? n : AP_PMU_COUNTERS_MAX;
}

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	const struct ap_pmu_drivers *d = pmu->priv;
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	struct ap_pmu_sum sum;
	bool is_computed;
	int err;

	if ((attr->type != AP_PERF_TYPE_HARDWARE && attr->type != AP_PERF_TYPE_HW_CACHE &&
	     attr->type != AP_PERF_TYPE_RAW) ||
	    !ops->raw)
		return -AP_ENOENT;
	err = check_attr(core, attr);
	if (!err)
		err = ap_pmu_resolve(d->arch, attr->type, attr->config, attr->config1, &sum);
	if (!err && is_absent(ap_core_config(core), &sum))
		err = -AP_ENOENT;
	if (!err && task && ops->may_count)
		err = ops->may_count(world, ap_task_host(task), sum.plus | sum.minus);
	if (err)
		return err;
	/* a PMU without limit has none of the lesser ones either */
	hw->constraint = counters(core, pmu) && sum.constraint ? sum.constraint : ~0ULL;
	if (sum.is_locked)
		return init_locked(core, task, cpu, hw);
	if (ops->need_kinds)
		ops->need_kinds(world, sum.plus | sum.minus);
	is_computed = sum.minus || sum.in_slots;
	hw->kinds = is_computed ? 0 : sum.plus;
	hw->needs = is_computed ? sum.plus | sum.minus : 0;
	hw->sample_which = (u32)AP_PMU_LDLAT(attr->type == AP_PERF_TYPE_RAW ? attr->config1 : 0);
	hw->priv[PLUS] = sum.plus;
	hw->priv[MINUS] = sum.minus;
	hw->priv[TIMES] = sum.in_slots ? ap_core_config(core)->issue : 1;
	return 0;
}

static int start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	if (hw->which)
		return ap_pmu_watch_start(core, hw, task, cpu, &locked);
	hw->start = reading(core, hw, task, cpu);
	hw->priv[LAST] = 0;
	return 0;
}

static u64 read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	u64 v;

	if (hw->which)
		return ap_pmu_watch_read(core, hw, task, cpu);
	v = reading(core, hw, task, cpu) - hw->start;
	if ((s64)(v - hw->priv[LAST]) > 0)
		hw->priv[LAST] = v;
	return hw->priv[LAST];
}

static void stop(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	if (hw->which)
		ap_pmu_watch_stop(core, hw, task, cpu);
}

void ap_pmu_cpu_init(struct ap_pmu_drivers *d)
{
	d->cpu = (struct ap_pmu){
		.name = "cpu",
		.type = AP_PERF_TYPE_RAW,
		.event_init = event_init,
		.start = start,
		.read = read,
		.stop = stop,
		.counters = counters,
	};
}
