/* SPDX-License-Identifier: MIT */
/*
 * --control: commands that come by a descriptor while a run goes on, as perf stat has them.
 */
#ifndef AP_CLI_STAT_CONTROL_H
#define AP_CLI_STAT_CONTROL_H

#include <stddef.h>

#include "base/types.h"

struct ap_stat_count;

struct ap_stat_control {
	int fd, ack; /* -1: none */
	bool owns;   /* fifos that we have opened */
	char line[256];
	size_t len;
	bool is_lost; /* of a line that is too long */
};

/* fd:CTL[,ACK] or fifo:CTL[,ACK]; -EINVAL with a line in why. */
AP_MUST_CHECK int ap_stat_control_open(struct ap_stat_control *ctl, const char *spec, char *why,
				       size_t size);
void ap_stat_control_close(struct ap_stat_control *ctl);
/* Something can be read: does what it says.  False: the other end is gone. */
bool ap_stat_control_ready(struct ap_stat_control *ctl, struct ap_stat_count *c, u64 now_ns);

#endif
