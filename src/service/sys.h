/* SPDX-License-Identifier: MIT */
/* System calls of the service's own, by as many arguments as they have. */
#ifndef AP_SERVICE_SYS_H
#define AP_SERVICE_SYS_H

#include "service/hooks.h"

static inline s64 ap_svc_sys(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
	const u64 args[6] = { a, b, c, d };

	return ap_hook_sys(nr, args);
}

#endif
