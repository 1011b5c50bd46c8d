/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open: the checks, in the order in which Linux makes them, because programs probe for
 * features by the errno they get.  Nothing is changed before the last of them has passed.
 */
#include "abi/attr.h"
#include "abi/errno.h"
#include "core/internal.h"

struct opening {
	struct ap_core *core;
	struct ap_task *caller;
	const struct ap_open_args *args;
	struct ap_perf_attr attr;
	struct ap_task *task;	 /* NULL: of a CPU */
	struct ap_event *leader; /* NULL: its own */
	struct ap_event *output;
	struct ap_ctx *ctx;
	struct ap_sched *sched;
};

/* The supervisor itself opens without a caller, and may all that its session may. */
static bool is_privileged(const struct opening *o)
{
	return !o->caller || o->core->ops.is_privileged(o->core->world, o->caller);
}

static bool may_kernel(const struct opening *o)
{
	return o->core->config.paranoid <= 1 || is_privileged(o);
}

/* Events of a PMU with counters are emulated: there, kernel mode does not exist for anybody. */
static bool is_emulated(struct ap_core *core, const struct ap_perf_attr *attr)
{
	bool generalized =
		attr->type == AP_PERF_TYPE_HARDWARE || attr->type == AP_PERF_TYPE_HW_CACHE;
	struct ap_pmu *pmu = ap_pmu_of_type(core, generalized ? AP_PERF_TYPE_RAW : attr->type);

	return pmu && !(pmu->flags & AP_PMU_SOFTWARE);
}

static int check_modes(const struct opening *o)
{
	u64 flags = o->attr.flags;

	if (flags & AP_PERF_EXCLUDE_KERNEL)
		return 0;
	if (!is_emulated(o->core, &o->attr))
		return may_kernel(o) ? 0 : -AP_EACCES;
	return o->core->config.user_only && !(flags & AP_PERF_EXCLUDE_USER) ? 0 : -AP_EACCES;
}

static int check_attr(struct opening *o)
{
	struct ap_core *core = o->core;
	struct ap_perf_attr *a = &o->attr;
	/* to identify the caller takes longer than all the rest of the call: where it matters */
	struct ap_perf_attr_port port = {
		.regs = core->config.regs,
		.has_user_stack = core->config.has_user_stack,
		.may_kernel = (a->sample_type & AP_PERF_SAMPLE_BRANCH_STACK) && may_kernel(o),
	};
	int r = ap_perf_attr_check(a, &port);

	if (r)
		return r;
	if (!a->sample_max_stack)
		a->sample_max_stack = core->config.max_stack;
	if (core->config.paranoid >= 3 && o->caller)
		return -AP_EACCES; /* the session refuses all programs */
	r = check_modes(o);
	if (r)
		return r;
	if ((a->flags & AP_PERF_NAMESPACES) && !is_privileged(o))
		return -AP_EACCES;
	if (a->flags & AP_PERF_FREQ) {
		if (a->sample_period > core->config.max_sample_rate)
			return -AP_EINVAL;
	} else if (a->sample_period >> 63) {
		return -AP_EINVAL;
	}
	if ((a->sample_type & AP_PERF_SAMPLE_PHYS_ADDR) && !may_kernel(o))
		return -AP_EACCES;
	return 0;
}

/* The descriptors and ids that the call names. */
static int find_parties(struct opening *o)
{
	struct ap_core *core = o->core;
	const struct ap_open_args *args = o->args;
	bool cgroup = args->flags & AP_PERF_FLAG_PID_CGROUP;
	int r;

	if (cgroup && (args->pid == -1 || args->cpu == -1))
		return -AP_EINVAL;
	if (args->group_fd != -1) {
		if (args->group_fd >= 0)
			o->leader = core->ops.event_of_fd(core->world, o->caller, args->group_fd);
		if (!o->leader)
			return -AP_EBADF;
		if (o->leader->state == AP_STATE_EXIT)
			return -AP_ENODEV;
		if (ap_perf_fd_takes_records(args->flags))
			o->output = o->leader;
		if (!ap_perf_fd_leads(args->flags))
			o->leader = NULL;
	}
	if (args->pid != -1 && !cgroup) {
		o->task = o->caller;
		r = args->pid ? core->ops.find_task(core->world, o->caller, args->pid, &o->task)
			      : 0;
		if (r || !o->task)
			return r ? r : -AP_ESRCH;
	}
	if (o->task && o->leader && ((o->leader->attr.flags ^ o->attr.flags) & AP_PERF_INHERIT))
		return -AP_EINVAL;
	return 0;
}

static int check_clock(const struct ap_event *e)
{
	if (!(e->attr.flags & AP_PERF_USE_CLOCKID))
		return 0;
	switch (e->attr.clockid) {
	case AP_CLOCK_MONOTONIC:
	case AP_CLOCK_MONOTONIC_RAW:
		return 0;
	case AP_CLOCK_REALTIME:
	case AP_CLOCK_BOOTTIME:
	case AP_CLOCK_TAI:
		/* cannot be read where a counter's or breakpoint's interrupt can arrive */
		return e->pmu->flags & AP_PMU_ANY_CLOCK ? 0 : -AP_EINVAL;
	default:
		return -AP_EINVAL;
	}
}

s32 ap_event_clockid(const struct ap_event *e)
{
	return (e->attr.flags & AP_PERF_USE_CLOCKID) ? e->attr.clockid : -1;
}

static int connect_cgroup(const struct opening *o, struct ap_event *e)
{
	struct ap_core *core = o->core;
	int r;

	if (!(o->args->flags & AP_PERF_FLAG_PID_CGROUP)) /* alone on the CPU, its leader is not */
		return o->leader && o->leader->cgroup ? -AP_EINVAL : 0;
	if (!core->ops.cgroup_of_fd)
		return -AP_EINVAL;
	r = core->ops.cgroup_of_fd(core->world, o->caller, o->args->pid, &e->cgroup);
	if (r)
		return r;
	return o->leader && o->leader->cgroup != e->cgroup ? -AP_EINVAL : 0;
}

/* Linux: perf_trace_event_perm(), which tells level 0 from -1. */
static bool may_have_raw(const struct opening *o, const struct ap_event *e)
{
	bool is_secret = o->task ? e->hw.raw_is_secret : e->hw.raw_is_secret_on_cpus;

	return !is_secret || !(o->attr.sample_type & AP_PERF_SAMPLE_RAW) ||
	       o->core->config.paranoid < 0 || is_privileged(o);
}

/* The driver's part, and what depends on which driver it is. */
static int make_event(const struct opening *o, struct ap_event *e)
{
	const struct ap_perf_attr *a = &o->attr;
	int r;

	if ((a->flags & AP_PERF_SIGTRAP) && !o->task)
		return -AP_EINVAL;
	if ((a->flags & AP_PERF_INHERIT) && (a->sample_type & AP_PERF_SAMPLE_READ) &&
	    !(a->sample_type & AP_PERF_SAMPLE_TID))
		return -AP_EINVAL;
	if (!(a->sample_type & AP_PERF_SAMPLE_BRANCH_STACK))
		e->attr.branch_sample_type = 0;
	r = ap_event_init_hw(e, o->task);
	if (!r && !may_have_raw(o, e))
		r = -AP_EPERM;
	if (r)
		return r;
	/* never reached by a driver that the check of the type has missed */
	if (!ap_event_is_soft(e) && !(a->flags & AP_PERF_EXCLUDE_KERNEL) &&
	    !o->core->config.user_only)
		return -AP_EACCES;
	if (!ap_sched_could_fit(o->leader, e))
		return -AP_EINVAL;
	if ((a->flags & AP_PERF_AUX_OUTPUT) || (a->reserved_3 & AP_PERF_AUX_START_PAUSED))
		return -AP_EOPNOTSUPP;
	r = connect_cgroup(o, e);
	if (r)
		return r;
	if ((a->sample_type & AP_PERF_SAMPLE_CALLCHAIN) &&
	    a->sample_max_stack > o->core->config.max_stack)
		return -AP_EOVERFLOW;
	r = ap_sampling_check(e);
	return r ? r : check_clock(e);
}

static int find_ctx(struct opening *o, struct ap_event *e)
{
	struct ap_core *core = o->core;
	s32 cpu = o->args->cpu;

	if (o->task) {
		if (o->task != o->caller && !is_privileged(o) &&
		    !core->ops.may_trace(core->world, o->caller, o->task))
			return -AP_EACCES;
		o->ctx = &o->task->ctx;
		return ap_sched_of(o->ctx, e->pmu, &o->sched);
	}
	if (core->config.paranoid > 0 && !is_privileged(o))
		return -AP_EACCES;
	if (!core->cpu_ctx[cpu]) {
		core->cpu_ctx[cpu] = ap_alloc(core, sizeof(struct ap_ctx));
		if (!core->cpu_ctx[cpu])
			return -AP_ENOMEM;
		ap_ctx_init(core->cpu_ctx[cpu], core, NULL, cpu);
	}
	o->ctx = core->cpu_ctx[cpu];
	return ap_sched_of(o->ctx, e->pmu, &o->sched);
}

static struct ap_pmu *hard_pmu(const struct ap_event *leader)
{
	return leader->sched && leader->sched->pmu ? leader->sched->pmu : NULL;
}

static int check_group(const struct opening *o, const struct ap_event *e)
{
	const struct ap_event *leader = o->leader;

	if (!leader)
		return 0;
	if (leader->leader != leader || ap_event_clockid(leader) != ap_event_clockid(e) ||
	    leader->cpu != e->cpu || leader->ctx != o->ctx)
		return -AP_EINVAL;
	if (o->attr.flags & (AP_PERF_EXCLUSIVE | AP_PERF_PINNED))
		return -AP_EINVAL;
	if (!ap_event_is_soft(e) && hard_pmu(leader) && hard_pmu(leader) != e->pmu)
		return -AP_EINVAL;
	return 0;
}

/* No member's read may become longer than a record can hold. */
static int check_size(const struct ap_event *e, const struct ap_event *leader)
{
	u32 n = leader ? leader->nr_siblings + 2 : 1;
	struct ap_list *l;

	if (ap_read_size(e->attr.read_format, n) > AP_READ_SIZE_MAX)
		return -AP_E2BIG;
	if (!leader || ap_read_size(~0ULL, n) <= AP_READ_SIZE_MAX)
		return 0;
	if (ap_read_size(leader->attr.read_format, n) > AP_READ_SIZE_MAX)
		return -AP_E2BIG;
	ap_list_for_each(l, &leader->siblings)
		if (ap_read_size(ap_list_entry(l, struct ap_event, sibling)->attr.read_format, n) >
		    AP_READ_SIZE_MAX)
			return -AP_E2BIG;
	return 0;
}

static int check_and_prepare(struct opening *o, struct ap_event *e)
{
	int r = make_event(o, e);

	if (!r)
		r = find_ctx(o, e);
	if (!r)
		r = check_group(o, e);
	if (!r && o->output) {
		e->target = o->task ? o->task->serial : 0;
		r = ap_output_set(e, o->output);
	}
	if (!r)
		r = check_size(e, o->leader);
	/* AUX areas need a leader that has one, and there is none */
	if (!r && (o->attr.aux_sample_size || o->attr.reserved_3))
		r = -AP_EINVAL;
	return r ? r : ap_samplers_make(e, o->task);
}

int ap_core_may_open(struct ap_core *core, struct ap_task *caller, const struct ap_perf_attr *attr)
{
	struct opening o = { .core = core, .caller = caller, .attr = *attr };

	return check_attr(&o);
}

int ap_core_open(struct ap_core *core, struct ap_task *caller, const struct ap_open_args *args,
		 struct ap_event **out)
{
	struct opening o = { .core = core, .caller = caller, .args = args, .attr = *args->attr };
	struct ap_event *e;
	int r;

	if (args->flags & ~AP_PERF_FLAG_ALL)
		return -AP_EINVAL;
	r = check_attr(&o);
	if (!r)
		r = find_parties(&o);
	if (r)
		return r;
	if ((u32)args->cpu >= core->ncpus && (!o.task || args->cpu != -1))
		return -AP_EINVAL;
	e = ap_event_new(core, &o.attr, args->cpu);
	if (!e)
		return -AP_ENOMEM;
	r = check_and_prepare(&o, e);
	if (r) {
		ap_event_free(e);
		return r;
	}
	ap_list_add_tail(&core->events, &e->all);
	if (caller) {
		e->owner = caller;
		ap_list_add_tail(&caller->owned, &e->owned);
	}
	ap_event_attach(e, o.ctx, o.sched, o.leader);
	if (e->cgroup) {
		r = ap_cgroup_spread(e);
		if (r) {
			ap_core_release(core, e);
			return r;
		}
	}
	*out = e;
	return 0;
}
