/* SPDX-License-Identifier: MIT */
/*
 * Software events of one command: perf events of the running kernel where it permits them, else
 * what wait4 and /proc give, each tagged with its source.
 */
#ifndef AP_LINUX_COUNTERS_H
#define AP_LINUX_COUNTERS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "linux/run.h"

struct ap_counters {
	u32 wanted;	 /* bits of enum ap_sw_event */
	int fd[AP_SW_N]; /* perf event descriptors, -1 none */
	u64 migrations;	 /* read from /proc before the command was reaped */
	bool has_migrations;
};

/* Opens events on a task that has not exec'd yet; they start at its exec. */
void ap_counters_open(struct ap_counters *c, pid_t pid, u32 wanted, bool inherit);
/* While the ended command is still there to be asked (a zombie). */
void ap_counters_before_reap(struct ap_counters *c, pid_t pid);
void ap_counters_read(const struct ap_counters *c, const struct rusage *ru,
		      struct ap_run_result *res);
/* What wait4 would say of a process that lives. */
void ap_counters_rusage(pid_t pid, struct rusage *ru);
void ap_counters_close(struct ap_counters *c);

#endif
