/* SPDX-License-Identifier: MIT */
/*
 * Events by the names that perf's users and the CPU vendors' lists give them.
 *
 *	instructions, branches, loads, task-clock ...	of the tables
 *	cpu/event=0xc4,umask=0x20/, cpu/loads/		terms of format/ and events/
 *	r20c4						a raw config
 *	INST_RETIRED.ANY_P, inst_retired:any_p		the CPU's own, in either case
 *	mem:0x601040/8:rw				a breakpoint
 *	sched:sched_process_fork			a tracepoint
 *
 * Modifiers (":u") are the caller's: a colon belongs to some of the names.
 */
#ifndef AP_PMU_NAMES_H
#define AP_PMU_NAMES_H

#include "pmu/events.h"

#define AP_PMU_NAME_MAX 256 /* longer ones, with the end of a string, there are none */

/*
 * Fills type, config, config1, config2 and bp_type of attr; desc, where not NULL, is set to the
 * row of an event of the cpu PMU, else to NULL.  -ENOENT: no such name; -EINVAL: ill-formed.
 * An event that nobody counts is found as well: opening it says so.
 */
AP_MUST_CHECK int ap_pmu_event_by_name(const struct ap_pmu_arch *arch, const char *name, size_t len,
				       struct ap_perf_attr *attr, const struct ap_pmu_desc **desc);
/* What an event counts, for lists; NULL where no row says it. */
const struct ap_pmu_desc *ap_pmu_desc_of(const struct ap_pmu_arch *arch,
					 const struct ap_perf_attr *attr);

#endif
