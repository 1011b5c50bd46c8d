/* SPDX-License-Identifier: MIT */
/* System calls of the service's own: none where the program has a seccomp filter. */
#ifndef AP_SERVICE_SYS_H
#define AP_SERVICE_SYS_H

#include "abi/errno.h"
#include "service/hooks.h"

/* Has the program a filter of its own, which would judge our calls and may kill for them? */
static inline bool ap_svc_is_mute(void)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	return __atomic_load_n(&p.seg->mute, __ATOMIC_RELAXED);
}

static inline s64 ap_svc_sys(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	const u64 args[6] = { a, b, c, d };

	return ap_svc_is_mute() ? -AP_EPERM : ap_hook_sys(nr, args);
}

#endif
