/* SPDX-License-Identifier: MIT */
/*
 * What perf has and anyperf has not.
 */
#ifndef AP_CLI_ABSENT_H
#define AP_CLI_ABSENT_H

/* What does the nearest to this command of perf's; NULL: it is none. */
const char *ap_absent_instead(const char *name);

#endif
