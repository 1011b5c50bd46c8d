/* SPDX-License-Identifier: MIT */
/*
 * What a task tells of itself because some event records it: its birth, mappings, its name.  Each is told
 * before the call that made it returns, so that its record is there before the first sample that
 * needs it.  Signals that come meanwhile wait at the engine's door.
 */
#include "abi/service.h"
#include "engine/nr.h"
#include "engine/sys.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sample.h"

#define PR_SET_NAME 15

static u32 orders(void)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	return __atomic_load_n(&p.slot->orders, __ATOMIC_ACQUIRE);
}

static void tell(u32 op, u64 a, u64 b)
{
	struct ap_request r;

	ap_request_begin_held(&r, op);
	r.svc->arg[0] = a;
	r.svc->arg[1] = b;
	ap_request_ask(&r);
}

void ap_service_begins(void)
{
	if (orders() & AP_ORDER_BORN)
		tell(AP_SVC_BORN, ap_svc_cpu(), 0);
}

/* Does the call make a mapping that somebody wants to hear of? */
static bool maps(const struct ap_service_call *c, u32 wanted)
{
	if (wanted & AP_ORDER_MAPPED_DATA)
		return true;
	return wanted & AP_ORDER_MAPPED && c->nr != AP_NR_brk && c->a[2] & AP_PROT_X;
}

bool ap_svc_tells(const struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_mmap:
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
	case AP_NR_brk:
		return maps(c, orders());
	case AP_NR_prctl:
		return (u32)c->a[0] == PR_SET_NAME && orders() & AP_ORDER_COMM;
	case AP_NR_unshare:
	case AP_NR_setns:
		return orders() & AP_ORDER_NAMESPACES;
	default:
		return false;
	}
}

void ap_svc_told(const struct ap_service_call *c)
{
	u64 start = c->nr == AP_NR_mmap ? (u64)c->ret : c->a[0];

	if (ap_is_err(c->ret))
		return;
	if (c->nr == AP_NR_prctl)
		tell(AP_SVC_COMM, 0, 0);
	else if (c->nr == AP_NR_unshare || c->nr == AP_NR_setns)
		tell(AP_SVC_NAMESPACES, 0, 0);
	else if (c->nr == AP_NR_brk && c->ret != (s64)c->a[0])
		return; /* it was asked for, or refused */
	else if (c->nr == AP_NR_brk)
		tell(AP_SVC_MAPPED, (u64)c->ret - 1, (u64)c->ret);
	else
		tell(AP_SVC_MAPPED, start, start + AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE));
}
