/* SPDX-License-Identifier: MIT */
/*
 * Filling struct ap_run_result from a session.
 */
#ifndef AP_LINUX_RESULT_H
#define AP_LINUX_RESULT_H

#include "linux/session/options.h"
#include "linux/session/session.h"

/* What there is to say of root and its descendants. */
AP_MUST_CHECK int ap_result_take(struct ap_run_result *res, const struct ap_session_file *s,
				 u32 root);
AP_MUST_CHECK int ap_result_add_note(struct ap_run_result *res, u32 kind, u32 pid,
				     const char *text);

/* The note of a program that ran natively. */
void ap_result_not_counted(struct ap_run_result *res, u32 pid, const char *path, const char *why);

#endif
