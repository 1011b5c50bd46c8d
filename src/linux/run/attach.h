/* SPDX-License-Identifier: MIT */
/*
 * A process that runs already, foreign to us: into the session, and out of it again.
 * docs/design/injection.md, "A running process".
 */
#ifndef AP_LINUX_ATTACH_H
#define AP_LINUX_ATTACH_H

#include <sys/types.h>

#include "linux/run/supervisor.h"

#define AP_ATTACH_WHY 240

/* 0, and its threads count from here on; else -errno, the reason in why, and nothing has changed. */
AP_MUST_CHECK int ap_attach(struct ap_supervisor *sv, pid_t pid, struct ap_attached *a,
			    char why[AP_ATTACH_WHY]);

/*
 * detach.c: it runs on natively, and none of its threads is in the engine any more.  -errno where that
 * cannot be done; it runs on as it was then.
 */
AP_MUST_CHECK int ap_detach(struct ap_supervisor *sv, struct ap_attached *a);

/* attach_check.c: what can be told before it is touched; false with the reason in why. */
AP_MUST_CHECK bool ap_attach_may(pid_t pid, char why[AP_ATTACH_WHY]);

#endif
