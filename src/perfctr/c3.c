/* SPDX-License-Identifier: MIT */
/*
 * VIA C3: looks like a P6 whose counter 0 belongs to the TSC; only PERFCTR1 can be programmed.  It has an
 * event of nine bits and nothing beside, cannot be stopped and cannot interrupt.
 * Source: VIA C3 data book, "Performance Counters".
 */
#include "abi/errno.h"
#include "perfctr/x86_family.h"

static int c3_check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	(void)drv;
	(void)is_global;
	if (state->control.nractrs > 1)
		return -AP_EINVAL;
	return !state->control.nractrs || state->control.pmc_map[0] == 1 ? 0 : -AP_EINVAL;
}

static void c3_clear(const struct ap_x86ctr *drv)
{
	ap_x86ctr_clear_msrs(drv, AP_MSR_P6_EVNTSEL0 + 1, 1);
	ap_x86ctr_clear_msrs(drv, AP_MSR_P6_CTR0 + 1, 1);
}

const struct ap_x86ctr_family ap_x86ctr_c3 = {
	.nrctrs = 2,
	.ctl0 = AP_MSR_P6_EVNTSEL0,
	.ctr0 = AP_MSR_P6_CTR0,
	.reserved = 0xfffffe00,
	.check = c3_check,
	.write_control = ap_x86ctr_write_evntsels,
	.read = ap_x86ctr_rdpmc,
	.clear = c3_clear,
};
