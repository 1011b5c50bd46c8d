/* SPDX-License-Identifier: MIT */
/*
 * --control: commands to a measurement that runs, one a line, from a descriptor or a fifo:  enable
 * [event], disable [event], evlist, ping, stop.  Each is answered by "ack" where somebody wants to
 * know.
 */
#ifndef AP_CLI_CONTROL_H
#define AP_CLI_CONTROL_H

#include "base/types.h"

enum ap_control_command {
	AP_CONTROL_NONE, /* nothing more for now */
	AP_CONTROL_ENABLE,
	AP_CONTROL_DISABLE,
	AP_CONTROL_EVLIST,
	AP_CONTROL_STOP,
	AP_CONTROL_PING,
	AP_CONTROL_CLOSED /* the other end is gone: stop watching fd */
};

/* Of enable and disable, as perf says it; the command is acknowledged all the same. */
#define AP_CONTROL_NO_EVENT "failed: can't find '%s' event\n"

struct ap_control {
	int fd, ack; /* -1: none */
	bool owns_fds;
	char line[256];
	size_t len;
	bool is_cut; /* a line was longer than that */
};

/* "fd:N[,M]" or "fifo:PATH[,PATH]".  0, or -EINVAL and what is wrong in why (size AP_OPT_WHY). */
AP_MUST_CHECK int ap_control_open(struct ap_control *control, const char *spec, char *why);
void ap_control_close(struct ap_control *control);

/*
 * The next command.  What follows its word is in arg ("": nothing), the word in line, until the
 * next call.  Never waits.  A line that is not known is told on stderr and not answered, as in
 * perf.
 */
enum ap_control_command ap_control_next(struct ap_control *control, const char **arg);
/* It is done: "ack" to the asking process, which is not waited for, and lost where nobody reads. */
void ap_control_ack(const struct ap_control *control);

#endif
