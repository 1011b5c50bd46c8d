/* SPDX-License-Identifier: MIT */
/*
 * ioctl and prctl.  What acts on an event acts on its clones; with PERF_IOC_FLAG_GROUP on the whole
 * group, whichever member it was asked of.
 */
#include "abi/attr.h"
#include "abi/errno.h"
#include "base/mem.h"
#include "core/internal.h"

typedef void action(struct ap_event *e);

static void with_clones(struct ap_event *e, action *act)
{
	struct ap_list *l;

	act(e);
	ap_list_for_each(l, &e->children)
		act(ap_list_entry(l, struct ap_event, child));
}

static void with_group(struct ap_event *e, action *act)
{
	struct ap_list *l;

	with_clones(e->leader, act);
	ap_list_for_each(l, &e->leader->siblings)
		with_clones(ap_list_entry(l, struct ap_event, sibling), act);
}

static s64 refresh(struct ap_event *e, u64 n)
{
	if ((e->attr.flags & AP_PERF_INHERIT) || !e->attr.sample_period)
		return -AP_EINVAL;
	ap_samplers_refresh(e, n);
	ap_event_enable(e);
	return 0;
}

static s64 set_period(struct ap_event *e, const struct ap_ioctl_args *args)
{
	struct ap_list *l;
	u64 period;

	if (!args->in || args->in_size < sizeof(period))
		return -AP_EFAULT;
	memcpy(&period, args->in, sizeof(period));
	if (!e->attr.sample_period || !period)
		return -AP_EINVAL;
	if (e->attr.flags & AP_PERF_FREQ) {
		if (period > e->core->config.max_sample_rate)
			return -AP_EINVAL;
	} else if (period >> 63) {
		return -AP_EINVAL;
	}
	e->attr.sample_period = period;
	ap_samplers_set_period(e, period);
	ap_list_for_each(l, &e->children) {
		struct ap_event *c = ap_list_entry(l, struct ap_event, child);

		c->attr.sample_period = period;
		ap_samplers_set_period(c, period);
	}
	return 0;
}

static s64 set_output(struct ap_core *core, struct ap_task *caller, struct ap_event *e, u64 arg)
{
	struct ap_event *target;

	if (arg == ~0ULL)
		return ap_output_set(e, NULL);
	target = (s32)arg < 0 ? NULL : core->ops.event_of_fd(core->world, caller, (s32)arg);
	return target ? ap_output_set(e, target) : -AP_EBADF;
}

static s64 get_id(const struct ap_event *e, const struct ap_ioctl_args *args)
{
	if (!args->out || args->out_size < sizeof(e->id))
		return -AP_EFAULT;
	memcpy(args->out, &e->id, sizeof(e->id));
	return 0;
}

static s64 set_filter(struct ap_event *e, const struct ap_ioctl_args *args)
{
	const char *text = args->in;
	struct ap_list *l;
	u64 size;
	int r;

	if (!args->in)
		return -AP_EFAULT;
	if (!memchr(text, 0, args->in_size))
		return -AP_EINVAL; /* longer than a page */
	if (!e->pmu->set_filter)
		return -AP_EINVAL;
	if (e->filter)
		return -AP_EEXIST;
	size = strlen(text) + 1;
	e->filter = ap_alloc(e->core, size);
	if (!e->filter)
		return -AP_ENOMEM;
	memcpy(e->filter, text, size);
	r = ap_event_set_filter(e, text);
	if (r) {
		ap_free(e->core, e->filter, size);
		e->filter = NULL;
		return r;
	}
	ap_list_for_each(l, &e->children)
		if (!r)
			r = ap_event_set_filter(ap_list_entry(l, struct ap_event, child), text);
	return r;
}

/* What a debugger moves about: a breakpoint's place, kind and length, and whether it is on. */
static void move(struct ap_perf_attr *to, const struct ap_perf_attr *from)
{
	to->bp_type = from->bp_type;
	to->config1 = from->config1;
	to->config2 = from->config2;
	to->flags = (to->flags & ~AP_PERF_DISABLED) | (from->flags & AP_PERF_DISABLED);
}

/* The event is off. */
static int move_breakpoint(struct ap_event *e, const struct ap_perf_attr *attr)
{
	struct ap_perf_attr old = e->attr, moved = e->attr;
	struct ap_task *task;
	int r, again;

	move(&moved, attr);
	if (memcmp(&moved, attr, sizeof(moved)))
		return -AP_EINVAL;
	if (!e->ctx) {
		e->attr = moved;
		return 0;
	}
	task = e->ctx->task;
	if (e->pmu->event_fini)
		e->pmu->event_fini(e->core, &e->hw);
	e->attr = moved;
	r = e->pmu->event_init(e->core, e->pmu, &e->attr, task, e->cpu, &e->hw);
	if (!r)
		return 0;
	e->attr = old;
	again = e->pmu->event_init(e->core, e->pmu, &e->attr, task, e->cpu, &e->hw);
	return again ? again : r; /* again cannot be: its own slot was just given back */
}

/*
 * As Linux does it: the data of signals is taken over before all the rest is looked at, and an
 * event that was opened disabled is off after an attr that was refused, too.
 */
static int modify_one(struct ap_event *e, const struct ap_perf_attr *attr)
{
	int r;

	e->attr.sig_data = attr->sig_data;
	ap_samplers_set_sig_data(e);
	if (e->ctx)
		ap_event_disable(e);
	r = move_breakpoint(e, attr);
	if (e->ctx && !(e->attr.flags & AP_PERF_DISABLED))
		ap_event_enable(e);
	return r;
}

/*
 * args->in: a struct ap_perf_attr as ap_perf_attr_copy has made it, .size what the program has
 * there.
 */
static s64 modify_attributes(struct ap_task *caller, struct ap_event *e,
			     const struct ap_ioctl_args *args)
{
	struct ap_core *core = e->core;
	struct ap_perf_attr_port port = {
		.regs = core->config.regs,
		.has_user_stack = core->config.has_user_stack,
		.may_kernel = core->config.paranoid <= 1 || !caller ||
			      core->ops.is_privileged(core->world, caller),
	};
	struct ap_perf_attr attr;
	struct ap_list *l;
	int r;

	if (!args->in || args->in_size < sizeof(attr))
		return -AP_EFAULT;
	memcpy(&attr, args->in, sizeof(attr));
	r = ap_perf_attr_check(&attr, &port);
	if (r)
		return r;
	if (!attr.sample_max_stack)
		attr.sample_max_stack = core->config.max_stack;
	if (attr.type != e->attr.type)
		return -AP_EINVAL;
	/* Linux, since 6.6, keeps a clock under its own PMU's type: this one is not it */
	if (attr.type == AP_PERF_TYPE_SOFTWARE && e->attr.config <= AP_PERF_COUNT_SW_TASK_CLOCK)
		return -AP_EINVAL;
	if (attr.type != AP_PERF_TYPE_BREAKPOINT)
		return -AP_EOPNOTSUPP;
	r = modify_one(e, &attr);
	ap_list_for_each(l, &e->children)
		if (!r)
			r = modify_one(ap_list_entry(l, struct ap_event, child), &attr);
	return r;
}

static s64 act_on(struct ap_event *e, u64 arg, action *act)
{
	if (arg & AP_PERF_IOC_FLAG_GROUP)
		with_group(e, act);
	else
		with_clones(e, act);
	return 0;
}

#define BPF_PROGS_MAX 64

/* struct perf_event_query_bpf, from prog_cnt on: no event has a program. */
static s64 query_bpf(struct ap_core *core, struct ap_task *caller, const struct ap_event *e,
		     struct ap_ioctl_args *args)
{
	u32 ids_len;

	if (!core->ops.is_privileged(core->world, caller))
		return -AP_EPERM;
	if (e->attr.type != AP_PERF_TYPE_TRACEPOINT)
		return -AP_EINVAL;
	if (!args->in || args->in_size < 2 * sizeof(u32))
		return -AP_EFAULT;
	memcpy(&ids_len, args->in, sizeof(ids_len));
	if (ids_len > BPF_PROGS_MAX)
		return -AP_E2BIG;
	if (!args->out || args->out_size < (1 + ids_len) * sizeof(u32))
		return -AP_EFAULT;
	args->out_size = (1 + ids_len) * sizeof(u32);
	memset(args->out, 0, args->out_size);
	return 0;
}

s64 ap_core_ioctl(struct ap_core *core, struct ap_task *caller, struct ap_event *e,
		  struct ap_ioctl_args *args)
{
	switch (args->cmd) {
	case AP_PERF_IOC_ENABLE:
		return act_on(e, args->arg, ap_event_enable);
	case AP_PERF_IOC_DISABLE:
		return act_on(e, args->arg, ap_event_disable);
	case AP_PERF_IOC_RESET:
		return act_on(e, args->arg, ap_event_reset);
	case AP_PERF_IOC_REFRESH:
		return refresh(e, args->arg);
	case AP_PERF_IOC_PERIOD:
		return set_period(e, args);
	case AP_PERF_IOC_SET_OUTPUT:
		return set_output(core, caller, e, args->arg);
	case AP_PERF_IOC_SET_FILTER:
		return set_filter(e, args);
	case AP_PERF_IOC_ID:
		return get_id(e, args);
	case AP_PERF_IOC_PAUSE_OUTPUT:
		return ap_output_pause(e, args->arg);
	case AP_PERF_IOC_MODIFY_ATTRIBUTES:
		return modify_attributes(caller, e, args);
	case AP_PERF_IOC_SET_BPF: /* a program, as the host has seen; nobody here runs it */
		return -AP_EOPNOTSUPP;
	case AP_PERF_IOC_QUERY_BPF:
		return query_bpf(core, caller, e, args);
	case AP_PERF_IOC_RECORD_MUNMAP:
		e->records_munmap = true;
		with_clones(e, ap_event_begin_telling);
		return 0;
	default:
		return -AP_ENOTTY;
	}
}

void ap_core_prctl(struct ap_core *core, struct ap_task *caller, bool enable)
{
	struct ap_list *l;

	(void)core;
	ap_list_for_each(l, &caller->owned)
		with_clones(ap_list_entry(l, struct ap_event, owned),
			    enable ? ap_event_enable : ap_event_disable);
}
