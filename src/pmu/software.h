/* SPDX-License-Identifier: MIT */
/* The kernel's software events by name and number. */
#ifndef AP_PMU_SOFTWARE_H
#define AP_PMU_SOFTWARE_H

#include "abi/perf.h"
#include "core/core.h"

/* Whose work an event is: what exclude_user and exclude_kernel do to it. */
enum ap_soft_class {
	AP_SOFT_CLOCK,	 /* excludes nothing */
	AP_SOFT_NOTHING, /* counts 0, for its side effects */
	AP_SOFT_KERNEL,	 /* passed in kernel code only */
	AP_SOFT_FAULT	 /* by the mode that the fault was in */
};

struct ap_soft_desc {
	const char *name;
	const char *alias; /* NULL: none */
	enum ap_soft_class class;
	enum ap_world_counter counter; /* of KERNEL and FAULT */
	const char *text;
};

/* By config. */
extern const struct ap_soft_desc ap_pmu_soft[AP_PERF_COUNT_SW_MAX];

#endif
