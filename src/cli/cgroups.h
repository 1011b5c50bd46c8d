/* SPDX-License-Identifier: MIT */
/*
 * Events of cgroups: -G gives those that were asked for one each, --for-each-cgroup all of them to
 * each.
 */
#ifndef AP_CLI_CGROUPS_H
#define AP_CLI_CGROUPS_H

#include "cli/evlist.h"

/* A folder of cgroup2, open. */
struct ap_evcgroup {
	char *name; /* as it was typed */
	int fd;
	struct ap_evcgroup *next;
};

/* 0, or -EINVAL with one line in why. */
AP_MUST_CHECK int ap_cgroups_assign(struct ap_evlist *list, const char *names, char *why,
				    size_t size);
AP_MUST_CHECK int ap_cgroups_for_each(struct ap_evlist *list, const char *names, char *why,
				      size_t size);
void ap_cgroups_free(struct ap_evcgroup *all);

#endif
