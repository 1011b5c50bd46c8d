/* SPDX-License-Identifier: MIT */
/*
 * Reservation of the counters, the same on every architecture: by name, so that who asks in vain
 * can be told who has them, and so that only the holder can give them back.
 */
#include "perfctr/perfctr.h"
#include "base/mem.h"

const char *ap_ctr_owner_take(struct ap_ctr_owner *owner, const char *service)
{
	if (owner->service)
		return owner->service;
	owner->service = service;
	return NULL;
}

bool ap_ctr_owner_give(struct ap_ctr_owner *owner, const char *service)
{
	if (!owner->service || strcmp(owner->service, service) != 0)
		return false;
	owner->service = NULL;
	return true;
}
