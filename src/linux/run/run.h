/* SPDX-License-Identifier: MIT */
/*
 * Facade of the Linux side: start a command in a counted session, wait for it, and say what was
 * counted.  Everything that cli needs to know of injection and supervision is here.
 */
#ifndef AP_LINUX_RUN_H
#define AP_LINUX_RUN_H

#include "linux/session/options.h"

/*
 * Runs the command to its end.  Returns 0 with *res filled, or an exit status for anyperf itself
 * after one line on opts->err: 125 (session cannot be made), 126 (not executable), 127 (not found).
 * In a nested session (AP_PRCTL answers) the command is counted by the outer engine.
 * While it runs SIGINT and SIGQUIT are left to the command.
 */
AP_MUST_CHECK int ap_run(const struct ap_run_options *opts, struct ap_run_result *res);

/*
 * Where a command's program is, by PATH; or -ENOENT, -EACCES.  Where we have more rights than our user that is not believed.
 */
AP_MUST_CHECK int ap_run_find(const char *name, char *path, size_t size);

/* What to do about it, to be put behind an error's text; "": nothing is known. */
const char *ap_run_remedy(int err);

#endif
