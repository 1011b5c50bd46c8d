/* SPDX-License-Identifier: MIT */
/*
 * Intel P6 (Pentium Pro to Pentium M) and AMD K7 and K8, its clones: a control register per counter
 * with event, unit mask and flags.  On P6 one enable bit, that of EVNTSEL0, rules both counters, and
 * a control that leaves counter 0 out cannot set it: it would count whatever the CPU's last owner
 * left there, so it is refused.  On K7 each counter has its own.
 * Source: Intel SDM volume 3, "Performance Monitoring (P6 Family Processor)"; AMD 26094 (BKDG).
 */
#include "abi/errno.h"
#include "perfctr/x86_family.h"

/* Interrupting counters ask for the interrupt, accumulating ones must not. */
static int check_int(const struct ap_x86ctr_control *control, u32 i)
{
	bool asks = control->evntsel[i] & AP_EVNTSEL_INT;

	return asks == (i >= control->nractrs) ? 0 : -AP_EINVAL;
}

static int p6_check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;
	u32 nrctrs = control->nractrs + control->nrictrs;
	bool enabled = !nrctrs;

	(void)drv;
	(void)is_global;
	for (u32 i = 0; i < nrctrs; i++) {
		bool enable = control->evntsel[i] & AP_EVNTSEL_ENABLE;
		int err = check_int(control, i);

		if (enable && control->pmc_map[i] != 0)
			return -AP_EPERM;
		if (err)
			return err;
		enabled |= enable;
	}
	return enabled ? 0 : -AP_EINVAL;
}

int ap_x86ctr_check_each_enabled(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state,
				 int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;

	(void)drv;
	(void)is_global;
	for (u32 i = 0; i < control->nractrs + control->nrictrs; i++) {
		if (!(control->evntsel[i] & AP_EVNTSEL_ENABLE) || check_int(control, i))
			return -AP_EINVAL;
	}
	return 0;
}

/* EVNTSELs first: nothing counts while its counter is cleared. */
static void clear(const struct ap_x86ctr *drv)
{
	ap_x86ctr_clear_msrs(drv, drv->family->ctl0, drv->family->nrctrs);
	ap_x86ctr_clear_msrs(drv, drv->family->ctr0, drv->family->nrctrs);
}

const struct ap_x86ctr_family ap_x86ctr_p6 = {
	.nrctrs = 2,
	.ctl0 = AP_MSR_P6_EVNTSEL0,
	.ctr0 = AP_MSR_P6_CTR0,
	.write_mask = 0xffffffff, /* the CPU extends bit 31 to its 40 bits by itself */
	.has_lvtpc = true,
	.reserved = 0x00280000,
	.cpl = AP_EVNTSEL_CPL,
	.check = p6_check,
	.write_control = ap_x86ctr_write_evntsels,
	.read = ap_x86ctr_rdpmc,
	.clear = clear,
};

const struct ap_x86ctr_family ap_x86ctr_k7 = {
	.nrctrs = 4,
	.ctl0 = AP_MSR_K7_EVNTSEL0,
	.ctr0 = AP_MSR_K7_CTR0,
	.write_mask = 0xffffffffffff,
	.has_lvtpc = true,
	.reserved = 0x00280000,
	.cpl = AP_EVNTSEL_CPL,
	.check = ap_x86ctr_check_each_enabled,
	.write_control = ap_x86ctr_write_evntsels,
	.read = ap_x86ctr_rdpmc,
	.clear = clear,
};
