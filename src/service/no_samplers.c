/* SPDX-License-Identifier: MIT */
/*
 * Samples where there are no samplers: none is armed, so none is taken, and no signal is of one.
 */
#include "service/hooks.h"
#include "service/service.h"

void ap_service_arm(void)
{
	struct ap_hook_place place;

	ap_hook_place(&place);
	__atomic_store_n(&place.slot->sampler_ack,
			 __atomic_load_n(&place.slot->sampler_gen, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

bool ap_service_overflow(const struct ap_service_point *p, struct ap_service_trap *trap)
{
	(void)p;
	(void)trap;
	return false;
}

void ap_service_patch_siginfo(u32 sig, void *info)
{
	(void)sig;
	(void)info;
}
