/* SPDX-License-Identifier: MIT */
/*
 * Whom a command is about, as options say it: -p, -t, -C.
 */
#ifndef AP_CLI_TARGETS_H
#define AP_CLI_TARGETS_H

#include <stddef.h>

#include "base/types.h"
#include "linux/run/run.h"

struct ap_targets {
	struct ap_run_target *target;
	u32 n;
};

/*
 * Adds processes (or threads) by their numbers, separated by commas; -EINVAL with the reason in
 * why.
 */
AP_MUST_CHECK int ap_targets_add(struct ap_targets *t, const char *list, bool are_threads,
				 char *why, size_t size);
void ap_targets_fini(struct ap_targets *t);

/* "0-2,5": sorted, each once.  -EINVAL with the reason in why, also where there is no such CPU. */
AP_MUST_CHECK int ap_cpus_parse(const char *list, s32 **cpus, u32 *n, char *why, size_t size);

#endif
