/* SPDX-License-Identifier: MIT */
/*
 * The functions of a command, for `anyperf gate --functions`: one more run, recorded and read
 * again.
 */
#ifndef AP_CLI_GATE_PROFILE_H
#define AP_CLI_GATE_PROFILE_H

#include "profile/gate/gate.h"

struct ap_gate_command {
	char *const *argv;	/* NULL terminated */
	const char *const *env; /* of --env */
	size_t nenv;
	bool deterministic, fixed_tsc, no_inherit, wait_all, ignore_status;
};

/*
 * Fills g->function with samples of each g->period instructions.  0, or an exit status after a line
 * on stderr.
 */
AP_MUST_CHECK int ap_gate_profile(const struct ap_gate_command *command, struct ap_gate_counts *g);

#endif
