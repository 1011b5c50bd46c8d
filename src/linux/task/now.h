/* SPDX-License-Identifier: MIT */
/* The clock that all of linux goes by. */
#ifndef AP_LINUX_NOW_H
#define AP_LINUX_NOW_H

#include "base/types.h"

/* CLOCK_MONOTONIC, ns. */
u64 ap_now_ns(void);

#endif
