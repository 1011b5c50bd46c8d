/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints: the checks of x86 Linux, in its order, and its four debug registers per CPU.
 * Accesses are counted by the engine, in the program's own code; what the kernel does to watched
 * memory on the program's behalf it cannot see (docs/limits-events.md).
 *
 * A debug register is taken from open to close, enabled or not.  A task's breakpoint takes one on
 * each CPU that it may run on, and a CPU's own comes on top of the most that any one task has
 * there.
 */
#include "pmu/drivers.h"

#include "abi/errno.h"

#define SLOTS	 4
#define TASK_END 0x7ffffffff000ULL /* first address that is not user space */

struct ap_bp_slot {
	struct ap_bp_slot *next, **link; /* link: what points to this one */
	/* Only compared: its task may be gone, and another have its address, so the tid as well. */
	const struct ap_task *task; /* NULL: all on the CPU */
	s32 tid;
	s32 cpu; /* -1: all CPUs */
	bool is_data;
	const struct ap_pmu_drivers *drivers; /* whose list it is in */
};

enum { ADDR, LEN, SLOT = AP_PMU_WATCH + 1 }; /* hw->priv; hw->which is the type */

static bool on_cpu(const struct ap_bp_slot *s, s32 cpu)
{
	return s->cpu < 0 || s->cpu == cpu;
}

static s32 tid_of(const struct ap_task *task)
{
	return task ? ap_task_id(task).tid : 0;
}

/* Registers that a task's own breakpoints take on a CPU. */
static u32 task_slots(const struct ap_pmu_drivers *d, const struct ap_task *task, s32 tid, s32 cpu)
{
	const struct ap_bp_slot *s;
	u32 n = 0;

	for (s = d->slots; s; s = s->next)
		n += s->task == task && s->tid == tid && on_cpu(s, cpu);
	return n;
}

/* Registers in use on a CPU, as one more breakpoint of task (NULL: of the CPU) finds them. */
static u32 used_slots(const struct ap_pmu_drivers *d, const struct ap_task *task, s32 cpu)
{
	const struct ap_bp_slot *s;
	u32 most = 0, n;

	if (task)
		return task_slots(d, NULL, 0, cpu) + task_slots(d, task, tid_of(task), cpu);
	for (s = d->slots; s; s = s->next) {
		n = s->task ? task_slots(d, s->task, s->tid, cpu) : 0;
		most = n > most ? n : most;
	}
	return task_slots(d, NULL, 0, cpu) + most;
}

static int check_slots(struct ap_core *core, const struct ap_pmu_drivers *d,
		       const struct ap_task *task, s32 cpu)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	u32 i, n = cpu < 0 ? ops->ncpus(world) : 1;

	for (i = 0; i < n; i++) {
		if (used_slots(d, task, cpu < 0 ? (s32)i : cpu) >= SLOTS)
			return -AP_ENOSPC;
	}
	return 0;
}

static int check_length(u32 type, u64 addr, u64 len)
{
	if (addr + len - 1 < addr)
		return -AP_EINVAL;
	if (type == AP_HW_BREAKPOINT_X)
		return len == 8 ? 0 : -AP_EINVAL;
	if (!len || len & (len - 1) || addr & (len - 1))
		return -AP_EINVAL;
	/* some AMD CPUs watch longer ranges: ours is not one */
	return len <= 8 ? 0 : -AP_EOPNOTSUPP;
}

/* Only a privileged user of a kernel may watch its addresses, and there is no kernel here. */
static int check_attr(const struct ap_perf_attr *attr)
{
	/* of code the first byte matters alone, whatever length it has to be given */
	bool is_code = attr->bp_type == AP_HW_BREAKPOINT_X;
	u64 addr = attr->config1, len = attr->config2;
	int err;

	if (attr->bp_type != AP_HW_BREAKPOINT_W && attr->bp_type != AP_HW_BREAKPOINT_RW &&
	    attr->bp_type != AP_HW_BREAKPOINT_X)
		return -AP_EINVAL;
	err = check_length(attr->bp_type, addr, len);
	if (err)
		return err;
	if (addr + (is_code ? 0 : len - 1) >= TASK_END)
		return attr->flags & AP_PERF_EXCLUDE_KERNEL ? -AP_EINVAL : -AP_EPERM;
	return 0;
}

static int take_slot(struct ap_core *core, struct ap_pmu_drivers *d, struct ap_task *task, s32 cpu,
		     struct ap_hw_event *hw)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	struct ap_bp_slot *s = ops->alloc(world, sizeof(*s));

	if (!s)
		return -AP_ENOMEM;
	*s = (struct ap_bp_slot){
		.next = d->slots,
		.link = &d->slots,
		.task = task,
		.tid = tid_of(task),
		.cpu = cpu,
		.is_data = hw->which != AP_HW_BREAKPOINT_X,
		.drivers = d,
	};
	if (s->next)
		s->next->link = &s->next;
	d->slots = s;
	hw->priv[SLOT] = (uintptr_t)s;
	return 0;
}

static int can_watch(struct ap_core *core, const struct ap_perf_attr *attr, struct ap_task *task,
		     s32 cpu)
{
	const struct ap_world_bp bp = { .addr = attr->config1,
					.len = (u32)attr->config2,
					.type = attr->bp_type };
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	if (!ops->bp_arm)
		return -AP_EOPNOTSUPP;
	return ops->bp_can ? ops->bp_can(world, ap_pmu_host(task), cpu, &bp) : 0;
}

static int event_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		      struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	struct ap_pmu_drivers *d = pmu->priv;
	void *world;
	int err;

	if (attr->type != AP_PERF_TYPE_BREAKPOINT)
		return -AP_ENOENT;
	if (ap_pmu_has_branch_stack(attr))
		return -AP_EOPNOTSUPP;
	if (attr->bp_type == AP_HW_BREAKPOINT_EMPTY ||
	    attr->bp_type == (AP_HW_BREAKPOINT_RW | AP_HW_BREAKPOINT_X))
		return -AP_EINVAL;
	err = check_slots(core, d, task, cpu);
	if (!err)
		err = check_attr(attr);
	if (err)
		return err;
	hw->counts_nothing = attr->flags & AP_PERF_EXCLUDE_USER;
	if (hw->counts_nothing && !(attr->flags & AP_PERF_EXCLUDE_KERNEL))
		return -AP_EOPNOTSUPP;
	err = can_watch(core, attr, task, cpu);
	if (err)
		return err;
	hw->priv[ADDR] = attr->config1;
	hw->priv[LEN] = attr->config2;
	hw->which = attr->bp_type;
	hw->wants_tasks = !task;
	hw->sample_source = ap_core_world(core, &world)->bp_place ? (u32)AP_SAMPLE_WATCH : 0;
	return take_slot(core, d, task, cpu, hw);
}

static bool has_data(const struct ap_bp_slot *s)
{
	while (s && !s->is_data)
		s = s->next;
	return s;
}

static void event_fini(struct ap_core *core, struct ap_hw_event *hw)
{
	struct ap_bp_slot *s = (struct ap_bp_slot *)(uintptr_t)hw->priv[SLOT];
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);
	const struct ap_pmu_drivers *d;
	bool was_data;

	if (!s)
		return;
	d = s->drivers;
	was_data = s->is_data;
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	ops->free(world, s, sizeof(*s));
	hw->priv[SLOT] = 0;
	if (was_data && ops->bp_no_data && !has_data(d->slots))
		ops->bp_no_data(world);
}

static int start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	const struct ap_world_bp bp = { .addr = hw->priv[ADDR],
					.len = (u32)hw->priv[LEN],
					.type = hw->which };

	return ap_pmu_watch_start(core, hw, task, cpu, &bp);
}

void ap_pmu_breakpoint_init(struct ap_pmu_drivers *d)
{
	d->breakpoint = (struct ap_pmu){
		.name = "breakpoint",
		.type = AP_PERF_TYPE_BREAKPOINT,
		.flags = AP_PMU_SOFTWARE,
		.event_init = event_init,
		.event_fini = event_fini,
		.start = start,
		.read = ap_pmu_watch_read,
		.stop = ap_pmu_watch_stop,
	};
}
