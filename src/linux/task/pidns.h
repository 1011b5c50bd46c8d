/* SPDX-License-Identifier: MIT */
#ifndef AP_LINUX_PIDNS_H
#define AP_LINUX_PIDNS_H

#include <sys/types.h>

#include "base/types.h"

/* Our name for a task of another pid namespace, 0 when it cannot be told. */
pid_t ap_pidns_find(u64 pidns, pid_t inner);
/* The same of a thread of a process that we know, and the other way around. */
pid_t ap_pidns_find_thread(pid_t pid, pid_t inner);
pid_t ap_pidns_inner(pid_t pid, pid_t tid);

#endif
