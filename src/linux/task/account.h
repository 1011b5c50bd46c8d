/* SPDX-License-Identifier: MIT */
/*
 * What the kernel accounts to a command by itself: wait4's rusage, and what /proc says of it while it
 * is there.  No event is behind these numbers, so nobody can refuse them.
 */
#ifndef AP_LINUX_ACCOUNT_H
#define AP_LINUX_ACCOUNT_H

#include <sys/resource.h>
#include <sys/types.h>

#include "linux/task/sw_event.h"

struct ap_account {
	u64 migrations; /* read from /proc before the command was reaped */
	bool has_migrations;
};

/* While the ended command is still there to be asked (a zombie). */
void ap_account_before_reap(struct ap_account *a, pid_t pid);
void ap_account_read(const struct ap_account *a, const struct rusage *ru,
		     struct ap_run_account *out);
/* What wait4 would say of a process that lives. */
void ap_account_rusage(pid_t pid, struct rusage *ru);

#endif
