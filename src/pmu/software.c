/* SPDX-License-Identifier: MIT */
/*
 * Software events: clocks are the core's own, the rest is what the world knows of its kernel's
 * counters.  They take no counter and are never multiplexed.
 *
 * exclude_*, as measured on Linux: clocks ignore them.  Switches and migrations happen in the
 * kernel whatever the program does, so exclude_kernel leaves none and exclude_user all.  Faults
 * belong to the mode that they were taken in, and the world has counters of each.
 */
#include "pmu/software.h"

#include "abi/errno.h"
#include "pmu/drivers.h"

/* clang-format off */
const struct ap_soft_desc ap_pmu_soft[AP_PERF_COUNT_SW_MAX] = {
	[AP_PERF_COUNT_SW_CPU_CLOCK] = { "cpu-clock", NULL, AP_SOFT_CLOCK, AP_WORLD_N,
		"time on a CPU; of a CPU: wall time" },
	[AP_PERF_COUNT_SW_TASK_CLOCK] = { "task-clock", NULL, AP_SOFT_CLOCK, AP_WORLD_N,
		"time on a CPU, user and kernel" },
	[AP_PERF_COUNT_SW_PAGE_FAULTS] = { "page-faults", "faults", AP_SOFT_FAULT, AP_WORLD_PAGE_FAULTS,
		"page faults, minor and major" },
	[AP_PERF_COUNT_SW_CONTEXT_SWITCHES] = { "context-switches", "cs", AP_SOFT_KERNEL, AP_WORLD_CONTEXT_SWITCHES,
		"times that a task left its CPU" },
	[AP_PERF_COUNT_SW_CPU_MIGRATIONS] = { "cpu-migrations", "migrations", AP_SOFT_KERNEL, AP_WORLD_MIGRATIONS,
		"moves of a task to another CPU" },
	[AP_PERF_COUNT_SW_PAGE_FAULTS_MIN] = { "minor-faults", NULL, AP_SOFT_FAULT, AP_WORLD_FAULTS_MIN,
		"page faults that needed no I/O" },
	[AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ] = { "major-faults", NULL, AP_SOFT_FAULT, AP_WORLD_FAULTS_MAJ,
		"page faults that needed I/O" },
	[AP_PERF_COUNT_SW_ALIGNMENT_FAULTS] = { "alignment-faults", NULL, AP_SOFT_FAULT, AP_WORLD_ALIGNMENT_FAULTS,
		"unaligned accesses that the kernel repaired" },
	[AP_PERF_COUNT_SW_EMULATION_FAULTS] = { "emulation-faults", NULL, AP_SOFT_FAULT, AP_WORLD_EMULATION_FAULTS,
		"instructions that the kernel emulated" },
	[AP_PERF_COUNT_SW_DUMMY] = { "dummy", NULL, AP_SOFT_NOTHING, AP_WORLD_N,
		"counts nothing, carries side-band records" },
	[AP_PERF_COUNT_SW_BPF_OUTPUT] = { "bpf-output", NULL, AP_SOFT_NOTHING, AP_WORLD_N,
		"counts nothing, carries what BPF programs write" },
	[AP_PERF_COUNT_SW_CGROUP_SWITCHES] = { "cgroup-switches", NULL, AP_SOFT_KERNEL, AP_WORLD_CGROUP_SWITCHES,
		"switches to a task of another cgroup" },
};
/* clang-format on */

/*
 * hw->which is the config and, from this bit on, the counters of one mode: 0, _USER_ or
 * _KERNEL_FAULTS.
 */
#define MODE_SHIFT 16

static int reading(struct ap_core *core, u32 which, struct ap_task *task, s32 cpu, u64 *v)
{
	const struct ap_soft_desc *soft = &ap_pmu_soft[which & ((1u << MODE_SHIFT) - 1)];
	enum ap_world_counter counter =
		(enum ap_world_counter)((u32)soft->counter + (which >> MODE_SHIFT));
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	*v = 0;
	switch (soft->class) {
	case AP_SOFT_CLOCK:
		*v = task ? ops->task_time(world, ap_task_host(task)) : ops->clock(world);
		return 0;
	case AP_SOFT_NOTHING:
		return 0;
	default:
		if (!ops->world_counter)
			return -AP_EOPNOTSUPP;
		return ops->world_counter(world, ap_pmu_host(task), cpu, counter, v);
	}
}

/* What the excluded modes leave of an event: its counter, or nothing to count. */
static void exclude(struct ap_hw_event *hw, enum ap_soft_class class, u64 flags)
{
	bool no_user = flags & AP_PERF_EXCLUDE_USER, no_kernel = flags & AP_PERF_EXCLUDE_KERNEL;

	switch (class) {
	case AP_SOFT_KERNEL:
		hw->counts_nothing = no_kernel;
		break;
	case AP_SOFT_FAULT:
		hw->counts_nothing = no_user && no_kernel;
		if (no_user != no_kernel)
			hw->which |= (u32)(no_user ? AP_WORLD_KERNEL_FAULTS : AP_WORLD_USER_FAULTS)
				     << MODE_SHIFT;
		break;
	default:
		hw->counts_nothing = class == AP_SOFT_NOTHING;
	}
}

static void sampling(struct ap_hw_event *hw)
{
	hw->sample_source =
		ap_pmu_soft[hw->which].class == AP_SOFT_CLOCK ? (u32)AP_SAMPLE_CLOCK : 0;
	switch (hw->which) {
	case AP_PERF_COUNT_SW_CONTEXT_SWITCHES:
	case AP_PERF_COUNT_SW_CPU_MIGRATIONS:
	case AP_PERF_COUNT_SW_CGROUP_SWITCHES:
		hw->sample_source = AP_SAMPLE_WORLD;
		hw->sample_which = ap_pmu_soft[hw->which].counter;
		return;
	case AP_PERF_COUNT_SW_PAGE_FAULTS:
		hw->sample_which = AP_FAULT_ANY;
		break;
	case AP_PERF_COUNT_SW_PAGE_FAULTS_MIN:
		hw->sample_which = AP_FAULT_MIN;
		break;
	case AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		hw->sample_which = AP_FAULT_MAJ;
		break;
	default:
		return;
	}
	hw->sample_source = AP_SAMPLE_FAULT;
}

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	u64 v;

	(void)pmu;
	if (attr->type != AP_PERF_TYPE_SOFTWARE)
		return -AP_ENOENT;
	if (ap_pmu_has_branch_stack(attr))
		return -AP_EOPNOTSUPP;
	if (attr->config >= AP_PERF_COUNT_SW_MAX)
		return -AP_ENOENT;
	hw->which = (u32)attr->config;
	sampling(hw);
	hw->never_overflows = ap_pmu_soft[hw->which].class == AP_SOFT_NOTHING;
	exclude(hw, ap_pmu_soft[hw->which].class, attr->flags);
	return hw->counts_nothing ? 0 : reading(core, hw->which, task, cpu, &v);
}

static int start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	return ap_pmu_reader_start(reading, core, hw, task, cpu);
}

static u64 read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	return ap_pmu_reader_read(reading, core, hw, task, cpu);
}

void ap_pmu_software_init(struct ap_pmu_drivers *d)
{
	d->software = (struct ap_pmu){
		.name = "software",
		.type = AP_PERF_TYPE_SOFTWARE,
		.flags = AP_PMU_SOFTWARE | AP_PMU_ANY_CLOCK,
		.event_init = event_init,
		.start = start,
		.read = read,
	};
}
