/* SPDX-License-Identifier: MIT */
/* Software events that the kernel accounts, and where their counts come from. */
#ifndef AP_LINUX_SW_EVENT_H
#define AP_LINUX_SW_EVENT_H

#include "base/types.h"

/* Software events that only the kernel can count, or else rusage and /proc. */
enum ap_sw_event {
	AP_SW_TASK_CLOCK, /* ns */
	AP_SW_CONTEXT_SWITCHES,
	AP_SW_CPU_MIGRATIONS,
	AP_SW_PAGE_FAULTS,
	AP_SW_MINOR_FAULTS,
	AP_SW_MAJOR_FAULTS,
	AP_SW_DUMMY, /* 0, whoever counts it */
	AP_SW_N
};

enum ap_source {
	AP_SRC_NONE,   /* could not be counted here */
	AP_SRC_KERNEL, /* perf_event_open of the running kernel */
	AP_SRC_RUSAGE, /* wait4's rusage of the command's reaped tree */
	AP_SRC_PROC    /* /proc */
};

/*
 * What the kernel accounts to a command whether or not anybody counts: the last resort where it
 * refuses events.
 */
struct ap_run_account {
	u64 value[AP_SW_N];
	enum ap_source source[AP_SW_N]; /* RUSAGE, PROC or NONE */
	u64 user_ns, sys_ns;
};

#endif
