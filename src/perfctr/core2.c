/* SPDX-License-Identifier: MIT */
/*
 * Intel Core 2, Nehalem and Westmere: counters with a control register each as on a P6, but each with its
 * own enable bit, and three of fixed events behind them.  Those are numbered from 0x40000000 by rdpmc and
 * pmc_map, share one control register of four bits each, which are made of their evntsel's CPL and INT
 * bits, and are the driver's hardware counters behind the others.  A register that enables them all is set
 * when the CPU is taken.  Nehalem's off-core events have a register beside.
 *
 * Another register says which counters have passed zero.  The driver sees that by the counters, as on all CPUs; but
 * Intel wants the flags of those cleared that are loaded anew, and so they are, with one write.
 * Source: Intel SDM volume 3, "Architectural Performance Monitoring Version 2", "Performance Monitoring
 * (Processors Based on Nehalem Microarchitecture)".
 */
#include "abi/errno.h"
#include "perfctr/x86_family.h"

#define FIXED_OS   1U
#define FIXED_USER 2U
#define FIXED_PMI  8U

#define OFFCORE_RESERVED 0xffff0800U

static u32 first_fixed(const struct ap_x86ctr *drv)
{
	return drv->family->nrctrs - drv->family->nfixed;
}

static int check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;
	int err = ap_x86ctr_check_each_enabled(drv, state, is_global);

	if (err)
		return err;
	if (drv->family->has_offcore && control->p4.pebs_enable & OFFCORE_RESERVED)
		return -AP_EINVAL;
	return 0;
}

/* What the register of all fixed counters is to hold for the state. */
static u32 fixed_control(const struct ap_x86ctr *drv, const struct ap_x86ctr_state *state)
{
	u32 val = 0;

	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++) {
		u32 evntsel = state->control.evntsel[i];
		u32 pmc = ap_x86ctr_pmc(drv, state->pmc[i].map);

		if (pmc < first_fixed(drv))
			continue;
		val |= ((evntsel & AP_EVNTSEL_OS ? FIXED_OS : 0) |
			(evntsel & AP_EVNTSEL_USER ? FIXED_USER : 0) |
			(evntsel & AP_EVNTSEL_INT ? FIXED_PMI : 0))
		       << (pmc - first_fixed(drv)) * 4;
	}
	return val;
}

static void write_control(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			  const struct ap_x86ctr_state *state)
{
	u32 fixed = fixed_control(drv, state);

	ap_x86ctr_write_evntsels(drv, cache, state);
	/* a state without them leaves them to whose they are */
	if (fixed)
		ap_x86ctr_load(drv, &cache->ctl[first_fixed(drv)], AP_MSR_FIXED_CTRL, fixed);
	if (drv->family->has_offcore)
		ap_x86ctr_load(drv, &cache->pebs_enable, AP_MSR_OFFCORE_RSP0,
			       state->control.p4.pebs_enable);
}

/* In the registers that have a bit for each: fixed ones from 32 on. */
static u64 bits_of(const struct ap_x86ctr *drv, u32 pmcs)
{
	u32 n = first_fixed(drv);

	return (u64)(pmcs >> n) << 32 | (pmcs & ((1u << n) - 1));
}

static void loaded(const struct ap_x86ctr *drv, u32 pmcs)
{
	drv->ops->wrmsr(drv->host, AP_MSR_GLOBAL_OVF_CTRL, bits_of(drv, pmcs));
}

/* Controls first: nothing counts while its counter is cleared. */
static void clear(const struct ap_x86ctr *drv)
{
	u32 n = first_fixed(drv), all = (1u << drv->family->nrctrs) - 1;

	ap_x86ctr_clear_msrs(drv, drv->family->ctl0, n);
	ap_x86ctr_clear_msrs(drv, AP_MSR_FIXED_CTRL, 1);
	ap_x86ctr_clear_msrs(drv, drv->family->ctr0, n);
	ap_x86ctr_clear_msrs(drv, AP_MSR_FIXED_CTR0, drv->family->nfixed);
	if (drv->family->has_offcore)
		ap_x86ctr_clear_msrs(drv, AP_MSR_OFFCORE_RSP0, 1);
	loaded(drv, all);
	drv->ops->wrmsr(drv->host, AP_MSR_GLOBAL_CTRL, bits_of(drv, all));
}

const struct ap_x86ctr_family ap_x86ctr_core2 = {
	.nrctrs = 5,
	.nfixed = 3,
	.ctl0 = AP_MSR_P6_EVNTSEL0,
	.ctr0 = AP_MSR_P6_CTR0,
	.write_mask = 0xffffffff, /* the CPU extends bit 31 by itself */
	.fixed_mask = 0xffffffffff,
	.has_lvtpc = true,
	.reserved = 0x00280000,
	.cpl = AP_EVNTSEL_CPL,
	.check = check,
	.write_control = write_control,
	.read = ap_x86ctr_rdpmc,
	.loaded = loaded,
	.clear = clear,
};

const struct ap_x86ctr_family ap_x86ctr_nehalem = {
	.nrctrs = 7,
	.nfixed = 3,
	.has_offcore = true,
	.ctl0 = AP_MSR_P6_EVNTSEL0,
	.ctr0 = AP_MSR_P6_CTR0,
	.write_mask = 0xffffffff,
	.fixed_mask = 0xffffffffffff,
	.has_lvtpc = true,
	.reserved = 0x00280000,
	.cpl = AP_EVNTSEL_CPL,
	.check = check,
	.write_control = write_control,
	.read = ap_x86ctr_rdpmc,
	.loaded = loaded,
	.clear = clear,
};
