/* SPDX-License-Identifier: MIT */
/* Exact profiles (count/profile.c) are told here when an address may mean something else from now on. */
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/transparency/call.h"

static bool changes_code(const struct ap_call *c)
{
	switch (c->nr) {
	case AP_NR_mmap:
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
		return c->a[2] & AP_PROT_X;
	case AP_NR_mremap:
	case AP_NR_shmat:
		return true;
	default:
		return false;
	}
}

static void mapped(const struct ap_call *c, s64 ret)
{
	if (changes_code(c) && !ap_is_err(ret))
		ap_profile_mapped();
}

AP_CLIENT(ap_profile_client)
{
	c->mapped = mapped;
	if (ap_profile_is_on())
		ap_client_on(c);
}
