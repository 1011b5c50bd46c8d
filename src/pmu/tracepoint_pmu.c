/* SPDX-License-Identifier: MIT */
/*
 * Tracepoint events: counts of what the session's own tracepoints passed.  As on Linux, an id that
 * does not exist is EINVAL; one that the world cannot count is what the world says, ENOENT.
 *
 * exclude_kernel, as measured on Linux: tracepoints in kernel code are left out, the
 * syscalls:* ones are passed with the program's registers and stay.  exclude_user leaves all.
 *
 * A filter makes another thing of it, which the world counts for itself under an id of its own.
 */
#include "pmu/drivers.h"

#include "abi/errno.h"
#include "base/mem.h"
#include "pmu/tracepoint.h"

enum { LAST, FILTER }; /* hw->priv: reader.c's, and the id of the filter; 0 none */

/* hw->which is the id. */
static int reading(struct ap_core *core, u32 id, struct ap_task *task, s32 cpu, u64 *v)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	return ops->trace_count(world, ap_pmu_host(task), cpu, id, v);
}

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	void *world;
	u64 v;

	(void)pmu;
	if (attr->type != AP_PERF_TYPE_TRACEPOINT)
		return -AP_ENOENT;
	if (ap_pmu_has_branch_stack(attr))
		return -AP_EOPNOTSUPP;
	if (!ap_tracepoint_exists(attr->config))
		return -AP_EINVAL;
	hw->which = (u32)attr->config;
	hw->wants_tasks = !task;
	/*
	 * as Linux flags them: what calls show of a task is no secret to a task that may trace it
	 */
	hw->raw_is_secret = !ap_tracepoint_is_of_call(hw->which);
	hw->raw_is_secret_on_cpus = true;
	/*
	 * of others a thread knows that it passes them, but not what they record, or its supervisor
	 * does
	 */
	hw->sample_source = ap_tracepoint_is_of_call(hw->which) ? (u32)AP_SAMPLE_TRACE : 0;
	hw->sample_which = hw->which;
	hw->counts_nothing =
		attr->flags & AP_PERF_EXCLUDE_KERNEL && ap_tracepoint_is_kernel(hw->which);
	if (!ap_core_world(core, &world)->trace_count)
		return -AP_ENOENT;
	return reading(core, hw->which, task, cpu, &v);
}

static int start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	return ap_pmu_reader_start(reading, core, hw, task, cpu);
}

static u64 read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	return ap_pmu_reader_read(reading, core, hw, task, cpu);
}

static void event_fini(struct ap_core *core, struct ap_hw_event *hw)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	if (hw->priv[FILTER])
		ops->trace_unfilter(world, (u32)hw->priv[FILTER]);
	hw->priv[FILTER] = 0;
}

static enum ap_trace_field_kind find(void *arg, const char *name, size_t len,
				     struct ap_trace_field *out)
{
	return ap_tracepoint_field(*(const u32 *)arg, name, len, out);
}

/* Of system calls: what others record is not known where they are counted. */
static int set_filter(struct ap_core *core, struct ap_hw_event *hw, const char *text)
{
	struct ap_trace_filter f = { .id = hw->which };
	struct ap_str why;
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	char line[8];
	u32 id;
	int r;

	if (!ap_tracepoint_is_of_call(hw->which) || !ops->trace_filter)
		return -AP_EINVAL;
	ap_str_init(&why, line, sizeof(line));
	f.n = ap_trace_expr_parse(text, find, &hw->which, f.node, AP_TRACE_FILTER_NODES, &why);
	if (!f.n)
		return -AP_EINVAL;
	r = ops->trace_filter(world, &f, &id);
	if (r)
		return r;
	hw->priv[FILTER] = hw->which = hw->sample_which = id;
	return 0;
}

void ap_pmu_tracepoint_init(struct ap_pmu_drivers *d)
{
	d->tracepoint = (struct ap_pmu){
		.name = "tracepoint",
		.type = AP_PERF_TYPE_TRACEPOINT,
		.flags = AP_PMU_SOFTWARE,
		.event_init = event_init,
		.event_fini = event_fini,
		.start = start,
		.read = read,
		.set_filter = set_filter,
	};
}
