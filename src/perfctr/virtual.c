/* SPDX-License-Identifier: MIT */
/*
 * Virtual counters.  Whoever changes a state that is on a CPU takes it off first and puts it on again
 * after, so that the driver's rules hold; a state is on while its owner runs and only then.
 *
 * Errors are those that perfctr's programs know: -ESRCH of a state without an owner, -EINVAL of a
 * handle without a state.
 */
#include "perfctr/virtual.h"
#include "abi/errno.h"
#include "base/mem.h"

#define SIGILL 4

static void publish(struct ap_vctr *v)
{
	if (v->ops->publish)
		v->ops->publish(v->world, v);
}

static u32 nrctrs(const struct ap_vctr *v)
{
	return ap_ctr_cstatus_nrctrs(v->cpu_state.cstatus);
}

/* Also of a state that waits for iresume. */
static bool has_counters(const struct ap_vctr *v)
{
	return nrctrs(v) || ap_ctr_cstatus_nrctrs(v->iresume_cstatus);
}

static void turn_off(struct ap_vctr *v)
{
	if (v->is_on && ap_ctr_cstatus_enabled(v->cpu_state.cstatus))
		ap_x86ctr_suspend(v->drv, &v->cpu_state);
	v->is_on = false;
}

static void turn_on(struct ap_vctr *v)
{
	if (ap_ctr_cstatus_enabled(v->cpu_state.cstatus))
		ap_x86ctr_resume(v->drv, &v->cpu_state);
	v->is_on = true;
	v->ticks = v->ops->sample_ticks;
}

/* --- lifetime */

void ap_vctr_get(struct ap_vctr *v)
{
	v->nrefs++;
}

void ap_vctr_put(struct ap_vctr *v)
{
	if (v && !--v->nrefs)
		v->ops->free(v->world, v);
}

/* Who asks is the owner and on a CPU, or the owner stands still for it. */
static int check_caller(const struct ap_vctr *v, void *caller)
{
	return v->owner == caller ? 0 : v->ops->may_access(v->world, caller, v->owner);
}

static int make(const struct ap_vctr_ops *ops, void *world, void *owner, bool is_on,
		struct ap_vctr **out)
{
	struct ap_vctr *v;
	int ret = ops->make(world, owner, &v);

	if (ret)
		return ret;
	v->ops = ops;
	v->world = world;
	v->owner = owner;
	v->nrefs = 1;
	v->is_on = is_on;
	v->cpu_state.k1.isuspend_cpu = -1;
	*out = v;
	return 0;
}

int ap_vctr_open(const struct ap_vctr_ops *ops, void *world, void *caller, void *owner, bool creat,
		 struct ap_vctr **out)
{
	struct ap_vctr **slot;
	int ret = 0;

	*out = NULL;
	if (!owner)
		return -AP_ESRCH;
	if (owner != caller)
		ret = ops->may_access(world, caller, owner);
	if (ret)
		return ret;
	slot = ops->slot(world, owner);
	if (creat && *slot)
		return -AP_EEXIST;
	if (creat)
		ret = make(ops, world, owner, owner == caller, slot);
	if (ret || !*slot)
		return ret;
	*out = *slot;
	ap_vctr_get(*out);
	publish(*out);
	return 0;
}

/* Off, and nobody's: whoever still holds it reads what it has come to. */
static void detach(struct ap_vctr *v)
{
	turn_off(v);
	v->cpu_state.cstatus = 0;
	v->iresume_cstatus = 0;
	*v->ops->slot(v->world, v->owner) = NULL;
	v->owner = NULL;
	publish(v);
	ap_vctr_put(v);
}

/* --- control */

/* Sums start anew where the new control does not say otherwise. */
static void reset_sums(struct ap_vctr *v)
{
	if (!ap_ctr_cstatus_has_tsc(v->cpu_state.cstatus))
		v->cpu_state.tsc_sum = 0;
	for (u32 i = 0; i < nrctrs(v); i++) {
		if (!(v->preserve >> i & 1))
			v->cpu_state.pmc[i].sum = 0;
	}
}

/* To stop is always possible, also where the driver has something that must be on. */
static int update(struct ap_vctr *v)
{
	const struct ap_x86ctr_control *c = &v->cpu_state.control;

	if (c->tsc_on || c->nractrs || c->nrictrs)
		return ap_x86ctr_update_control(v->drv, &v->cpu_state, 0);
	v->cpu_state.cstatus = 0;
	return 0;
}

static int take_control(struct ap_vctr *v, const struct ap_vctr_control *control)
{
	int ret;

	v->cpu_state.control = control->cpu_control;
	v->si_signo = control->si_signo;
	v->preserve = control->preserve;
	v->flags = control->flags;
	v->iresume_cstatus = 0;
	ret = update(v);
	if (ret || !ap_ctr_cstatus_enabled(v->cpu_state.cstatus))
		return ret;
	if (nrctrs(v) && v->drv->forbidden) {
		__atomic_store_n(&v->has_bad_cpus, false, __ATOMIC_RELAXED);
		ret = v->ops->forbid(v->world, v->owner, v->drv->forbidden);
		if (ret) {
			v->cpu_state.cstatus = 0;
			return ret;
		}
	}
	reset_sums(v);
	return 0;
}

static int check_use(const struct ap_vctr *v, void *caller)
{
	if (!v)
		return -AP_EINVAL;
	return v->owner ? check_caller(v, caller) : -AP_ESRCH;
}

int ap_vctr_control(struct ap_vctr *v, void *caller, const struct ap_vctr_control *control)
{
	bool is_on;
	int ret;

	ret = check_use(v, caller);
	if (ret)
		return ret;
	is_on = v->is_on;
	turn_off(v);
	ret = take_control(v, control);
	if (is_on)
		turn_on(v);
	publish(v);
	return ret;
}

/* --- reading */

static void give(const struct ap_vctr *v, struct ap_x86ctr_sum *sum,
		 struct ap_vctr_control *control)
{
	if (sum) {
		sum->tsc = v->cpu_state.tsc_sum;
		for (u32 i = 0; i < AP_X86CTR_MAX; i++)
			sum->pmc[i] = v->cpu_state.pmc[i].sum;
	}
	if (!control)
		return;
	memset(control, 0, sizeof(*control));
	control->si_signo = v->si_signo;
	control->cpu_control = v->cpu_state.control;
	control->preserve = v->preserve;
	control->flags = v->flags;
}

int ap_vctr_read(struct ap_vctr *v, void *caller, struct ap_x86ctr_sum *sum,
		 struct ap_vctr_control *control)
{
	int ret;

	if (!v)
		return -AP_EINVAL;
	if (v->owner) {
		ret = check_caller(v, caller);
		if (ret)
			return ret;
	}
	if (v->is_on) {
		ap_x86ctr_sample(v->drv, &v->cpu_state);
		publish(v);
	}
	give(v, sum, control);
	return 0;
}

int ap_vctr_unlink(struct ap_vctr *v, void *caller)
{
	int ret;

	if (!v)
		return -AP_EINVAL;
	if (!v->owner)
		return 0;
	ret = check_caller(v, caller);
	if (!ret)
		detach(v);
	return ret;
}

/* --- overflow */

void ap_vctr_interrupt(struct ap_vctr *v)
{
	u32 mask, was = v->cpu_state.cstatus;

	if (!v->is_on || !ap_ctr_cstatus_has_ictrs(was))
		return;
	ap_x86ctr_suspend(v->drv, &v->cpu_state);
	mask = ap_x86ctr_identify_overflow(v->drv, &v->cpu_state);
	if (!mask) {
		/* it was for a state that ran here before */
		ap_x86ctr_resume(v->drv, &v->cpu_state);
		return;
	}
	/* All stand still but for the clock, so that the handler's own events raise no more signals. */
	v->iresume_cstatus = was;
	v->cpu_state.cstatus = ap_ctr_cstatus_has_tsc(was) ? ap_ctr_mk_cstatus(1, 0, 0) : 0;
	turn_on(v);
	publish(v);
	v->ops->signal(v->world, v->owner, v->si_signo, mask);
}

int ap_vctr_iresume(struct ap_vctr *v, void *caller)
{
	bool is_on;
	int ret;

	ret = check_use(v, caller);
	if (ret)
		return ret;
	if (!ap_ctr_cstatus_has_ictrs(v->iresume_cstatus))
		return -AP_EPERM;
	is_on = v->is_on;
	turn_off(v);
	v->cpu_state.cstatus = v->iresume_cstatus;
	v->iresume_cstatus = 0;
	/* identify_overflow has changed what they start from */
	ap_x86ctr_ireload(v->drv, &v->cpu_state);
	if (is_on)
		turn_on(v);
	publish(v);
	return 0;
}

/* --- hooks */

void ap_vctr_suspend_thread(struct ap_vctr *v)
{
	turn_off(v);
	publish(v);
}

void ap_vctr_resume_thread(struct ap_vctr *v)
{
	bool was_moved = __atomic_load_n(&v->has_bad_cpus, __ATOMIC_RELAXED);
	/* where counters are off it may be wherever it likes: control() looks again when they are on */
	bool is_bad = was_moved && has_counters(v);

	if (was_moved)
		__atomic_store_n(&v->has_bad_cpus, false, __ATOMIC_RELAXED);
	if (is_bad) {
		v->cpu_state.cstatus = 0;
		v->iresume_cstatus = 0;
	}
	turn_on(v);
	publish(v);
	if (is_bad)
		v->ops->signal(v->world, v->owner, SIGILL, 0);
}

void ap_vctr_sample_thread(struct ap_vctr *v)
{
	if (!v->is_on || (v->ticks && --v->ticks))
		return;
	v->ticks = v->ops->sample_ticks;
	ap_x86ctr_sample(v->drv, &v->cpu_state);
	publish(v);
}

static void begin_anew(struct ap_vctr *v)
{
	bool is_on = v->is_on;

	turn_off(v);
	v->flags &= ~AP_VCTR_FROM_EXEC;
	v->cpu_state.tsc_sum = 0;
	for (u32 i = 0; i < nrctrs(v); i++)
		v->cpu_state.pmc[i].sum = 0;
	if (is_on)
		turn_on(v);
	publish(v);
}

void ap_vctr_exec_thread(struct ap_vctr *v)
{
	if (v->flags & AP_VCTR_CLOEXEC)
		detach(v);
	else if (v->flags & AP_VCTR_FROM_EXEC)
		begin_anew(v);
}

void ap_vctr_exit_thread(struct ap_vctr *v)
{
	detach(v);
}

/* Beside the owner, whose state may change meanwhile: nothing of it is looked at. */
void ap_vctr_set_cpus_allowed(struct ap_vctr *v, u64 cpus)
{
	if (cpus & v->drv->forbidden)
		__atomic_store_n(&v->has_bad_cpus, true, __ATOMIC_RELAXED);
}
