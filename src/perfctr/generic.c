/* SPDX-License-Identifier: MIT */
/* Any x86 with a TSC: it can be sampled, and nothing else. */
#include "abi/errno.h"
#include "perfctr/x86_family.h"

static int generic_check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	(void)drv;
	(void)is_global;
	return state->control.tsc_on == 1 ? 0 : -AP_EINVAL;
}

const struct ap_x86ctr_family ap_x86ctr_generic = {
	.check = generic_check,
};
