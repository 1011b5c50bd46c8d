/* SPDX-License-Identifier: MIT */
/*
 * The driver for x86: reservation, the checks that all CPUs have in common, and the protocol by
 * which a state meets a CPU's registers (docs/design/perfctr.md).  What a family does in its own way
 * is behind struct ap_x86ctr_family.
 *
 * Registers are dear to write.  Hence accumulating counters are only ever read, control registers
 * are written when the CPU's cache says that they hold something else, and interrupting counters
 * are left alone if the CPU still has them from the time that the state was there last.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "perfctr/x86_family.h"

static struct ap_x86ctr_cache *this_cache(const struct ap_x86ctr *drv)
{
	struct ap_x86ctr_cache *caches = drv->ctr.caches;

	return &caches[drv->ops->this_cpu(drv->host)];
}

u64 ap_x86ctr_rdpmc(const struct ap_x86ctr *drv, u32 map)
{
	return drv->ops->rdpmc(drv->host, map);
}

void ap_x86ctr_load(const struct ap_x86ctr *drv, u32 *cached, u32 msr, u32 val)
{
	if (*cached == val)
		return;
	*cached = val;
	drv->ops->wrmsr(drv->host, msr, val);
}

void ap_x86ctr_clear_msrs(const struct ap_x86ctr *drv, u32 first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		drv->ops->wrmsr(drv->host, first + i, 0);
}

void ap_x86ctr_write_evntsels(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			      const struct ap_x86ctr_state *state)
{
	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++) {
		u32 pmc = ap_x86ctr_pmc(drv, state->pmc[i].map);

		if (!ap_x86ctr_is_fixed(drv, pmc))
			ap_x86ctr_load(drv, &cache->ctl[pmc], drv->family->ctl0 + pmc,
				       state->control.evntsel[i]);
	}
}

unsigned ap_x86ctr_nrctrs(const struct ap_x86ctr *drv)
{
	return drv->family->nrctrs;
}

/* --- life */

static struct ap_x86ctr *to_x86(struct ap_ctr *ctr)
{
	return (struct ap_x86ctr *)ctr;
}

static int detect(struct ap_ctr *ctr)
{
	return ap_x86ctr_detect(to_x86(ctr));
}

static int exercise(struct ap_ctr *ctr)
{
	struct ap_x86ctr *drv = to_x86(ctr);
	struct ap_x86ctr_state state = { .control.tsc_on = !drv->family->no_tsc };
	int err = ap_x86ctr_update_control(drv, &state, 0);

	if (err)
		return err;
	ap_x86ctr_resume(drv, &state);
	ap_x86ctr_sample(drv, &state);
	ap_x86ctr_suspend(drv, &state);
	return 0;
}

static bool can_interrupt(const struct ap_x86ctr *drv)
{
	return drv->ctr.features & AP_CTR_FEATURE_PCINT;
}

/* The counters of a CPU's second thread are those of its first. */
static void clear_cpu(const struct ap_x86ctr *drv)
{
	unsigned cpu = drv->ops->this_cpu(drv->host);

	memset(this_cache(drv), 0, sizeof(*this_cache(drv)));
	if (drv->family->clear && !(drv->forbidden >> cpu & 1))
		drv->family->clear(drv);
}

static void open_cpu(void *arg)
{
	const struct ap_x86ctr *drv = arg;

	clear_cpu(drv);
	if (can_interrupt(drv))
		drv->ops->apic_write(drv->host, AP_APIC_LVTPC, AP_PERFCTR_VECTOR);
}

static void close_cpu(void *arg)
{
	const struct ap_x86ctr *drv = arg;

	if (can_interrupt(drv))
		drv->ops->apic_write(drv->host, AP_APIC_LVTPC, AP_PERFCTR_VECTOR | AP_APIC_MASKED);
	clear_cpu(drv);
}

static void open_cpus(struct ap_ctr *ctr)
{
	to_x86(ctr)->ops->on_each_cpu(to_x86(ctr)->host, open_cpu, ctr);
}

static void close_cpus(struct ap_ctr *ctr)
{
	to_x86(ctr)->ops->on_each_cpu(to_x86(ctr)->host, close_cpu, ctr);
}

int ap_x86ctr_init(struct ap_x86ctr *drv, const struct ap_x86ctr_ops *ops, void *host,
		   struct ap_x86ctr_cache *caches, unsigned ncpus)
{
	static const struct ap_ctr_arch arch = {
		.cache_size = sizeof(*caches),
		.max_cpus = AP_X86CTR_CPUS,
		.detect = detect,
		.exercise = exercise,
		.open_cpus = open_cpus,
		.close_cpus = close_cpus,
	};

	memset(drv, 0, sizeof(*drv));
	drv->ops = ops;
	drv->host = host;
	return ap_ctr_init(&drv->ctr, &arch, caches, ncpus);
}

/* --- control */

/* How many, and each hardware counter at most once. */
static int check_map(const struct ap_x86ctr *drv, const struct ap_x86ctr_control *control)
{
	unsigned nrctrs = drv->family->nrctrs;
	u32 seen = 0;

	if (control->nractrs > nrctrs || control->nrictrs > nrctrs - control->nractrs)
		return -AP_EINVAL;
	for (u32 i = 0; i < control->nractrs + control->nrictrs; i++) {
		u32 pmc = ap_x86ctr_pmc(drv, control->pmc_map[i]);

		if (pmc >= nrctrs || seen >> pmc & 1)
			return -AP_EINVAL;
		seen |= 1u << pmc;
	}
	return 0;
}

static int check_control(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;
	const struct ap_x86ctr_family *family = drv->family;
	int err;

	if (control->nrictrs && !can_interrupt(drv))
		return -AP_EPERM;
	if (control->tsc_on && family->no_tsc)
		return -AP_EINVAL;
	err = check_map(drv, control);
	if (err)
		return err;
	for (u32 i = 0; i < control->nractrs + control->nrictrs; i++) {
		if (control->evntsel[i] & family->reserved)
			return -AP_EPERM;
		if (family->cpl && !(control->evntsel[i] & family->cpl))
			return -AP_EINVAL;
		if (i >= control->nractrs && control->ireset[i] >= 0)
			return -AP_EINVAL;
	}
	return family->check(drv, state, is_global);
}

int ap_x86ctr_update_control(struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;
	int err;

	state->cstatus = 0;
	state->k1.isuspend_cpu = -1;
	err = check_control(drv, state, is_global);
	if (err)
		return err;
	for (u32 i = 0; i < control->nractrs + control->nrictrs; i++) {
		state->pmc[i].map = control->pmc_map[i];
		if (i >= control->nractrs)
			state->pmc[i].start = (u32)control->ireset[i];
	}
	state->k1.id = ap_ctr_new_id(&drv->ctr);
	state->cstatus = ap_ctr_mk_cstatus(control->tsc_on, control->nractrs, control->nrictrs);
	return 0;
}

/* --- on the CPU and off */

/* Adds what counters [from, to) did since their start, and lets the next period start. */
static void accumulate(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++)
		ap_ctr_pmc_add(&state->pmc[i], (u32)drv->family->read(drv, state->pmc[i].map));
}

static void accumulate_tsc(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	u32 now;

	if (!ap_ctr_cstatus_has_tsc(state->cstatus))
		return;
	now = (u32)drv->ops->rdtsc(drv->host);
	state->tsc_sum += now - state->tsc_start;
	state->tsc_start = now;
}

static void disable(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache, u32 map)
{
	u32 pmc = ap_x86ctr_pmc(drv, map), first = drv->family->nrctrs - drv->family->nfixed;

	/* fixed ones have a register for all */
	if (ap_x86ctr_is_fixed(drv, pmc))
		ap_x86ctr_load(drv, &cache->ctl[first], AP_MSR_FIXED_CTRL, 0);
	else
		ap_x86ctr_load(drv, &cache->ctl[pmc], drv->family->ctl0 + pmc, 0);
}

/* Counters that interrupt must stand still: the next to run here does not expect interrupts. */
static void isuspend(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	u32 first = ap_ctr_cstatus_nractrs(state->cstatus);
	u32 end = ap_ctr_cstatus_nrctrs(state->cstatus);

	state->k1.isuspend_cpu = (s32)drv->ops->this_cpu(drv->host);
	for (u32 i = first; i < end; i++)
		disable(drv, this_cache(drv), state->pmc[i].map);
	accumulate(drv, state, first, end);
}

/* A counter takes what its sign makes of 32 bits; the rest of its width follows that sign. */
static void load_counter(const struct ap_x86ctr *drv, const struct ap_ctr_pmc *c)
{
	const struct ap_x86ctr_family *family = drv->family;
	u32 pmc = ap_x86ctr_pmc(drv, c->map), msr = family->ctr0 + pmc;
	u64 val = (u64)(s64)(s32)c->start;

	if (ap_x86ctr_is_fixed(drv, pmc))
		msr = AP_MSR_FIXED_CTR0 + pmc - (family->nrctrs - family->nfixed);
	drv->ops->wrmsr(
		drv->host, msr,
		val & (ap_x86ctr_is_fixed(drv, pmc) ? family->fixed_mask : family->write_mask));
}

static void iresume(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	struct ap_x86ctr_cache *cache = this_cache(drv);
	u32 end = ap_ctr_cstatus_nrctrs(state->cstatus), pmcs = 0;

	if (cache->id == state->k1.id) {
		cache->id = 0; /* the control registers that isuspend() stopped must be written */
		if (state->k1.isuspend_cpu == (s32)drv->ops->this_cpu(drv->host))
			return;
	}
	for (u32 i = ap_ctr_cstatus_nractrs(state->cstatus); i < end; i++) {
		disable(drv, cache, state->pmc[i].map);
		load_counter(drv, &state->pmc[i]);
		pmcs |= 1u << ap_x86ctr_pmc(drv, state->pmc[i].map);
	}
	if (drv->family->loaded)
		drv->family->loaded(drv, pmcs);
}

static void write_control(const struct ap_x86ctr *drv, const struct ap_x86ctr_state *state)
{
	struct ap_x86ctr_cache *cache = this_cache(drv);

	if (cache->id == state->k1.id)
		return;
	drv->family->write_control(drv, cache, state);
	cache->id = state->k1.id;
}

void ap_x86ctr_suspend(struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	if (ap_ctr_cstatus_has_ictrs(state->cstatus))
		isuspend(drv, state);
	accumulate_tsc(drv, state);
	accumulate(drv, state, 0, ap_ctr_cstatus_nractrs(state->cstatus));
}

void ap_x86ctr_resume(struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	if (ap_ctr_cstatus_has_ictrs(state->cstatus))
		iresume(drv, state);
	/* A state without counters leaves the registers to whose they are. */
	if (ap_ctr_cstatus_nrctrs(state->cstatus))
		write_control(drv, state);
	if (ap_ctr_cstatus_has_tsc(state->cstatus))
		state->tsc_start = (u32)drv->ops->rdtsc(drv->host);
	for (u32 i = 0; i < ap_ctr_cstatus_nractrs(state->cstatus); i++)
		state->pmc[i].start = (u32)drv->family->read(drv, state->pmc[i].map);
}

void ap_x86ctr_sample(struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	accumulate_tsc(drv, state);
	accumulate(drv, state, 0, ap_ctr_cstatus_nrctrs(state->cstatus));
}

/* --- overflow */

void ap_x86ctr_interrupt(struct ap_x86ctr *drv, unsigned long pc)
{
	if (!can_interrupt(drv))
		return;
	drv->ops->apic_write(drv->host, AP_APIC_EOI, 0);
	if (drv->lvtpc_trips)
		drv->ops->apic_write(drv->host, AP_APIC_LVTPC, AP_PERFCTR_VECTOR);
	if (drv->ctr.ihandler)
		drv->ctr.ihandler(drv->ctr.ihandler_arg, pc);
}

/*
 * A counter that started below zero and is not below it any more has passed it.  A P4's overflow
 * flag needs no care: it went when isuspend() cleared the register that it is in.  Later CPUs have
 * a register of flags, which are cleared when the counters are loaded anew.
 */
u32 ap_x86ctr_identify_overflow(struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	u32 mask = 0;

	(void)drv;
	for (u32 i = ap_ctr_cstatus_nractrs(state->cstatus);
	     i < ap_ctr_cstatus_nrctrs(state->cstatus); i++) {
		if ((s32)state->pmc[i].start < 0)
			continue;
		state->pmc[i].start = (u32)state->control.ireset[i];
		mask |= 1u << i;
	}
	return mask;
}

void ap_x86ctr_ireload(struct ap_x86ctr *drv, struct ap_x86ctr_state *state)
{
	(void)drv;
	state->k1.isuspend_cpu = -1;
}
