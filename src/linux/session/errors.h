/* SPDX-License-Identifier: MIT */
/* errors.c: how far estimates of the models may be off. */
#ifndef AP_LINUX_ERRORS_H
#define AP_LINUX_ERRORS_H

#include "linux/session/options.h"
#include "linux/session/session.h"

/* By the supervisor: a segment is about to be freed; a root goes up in another one. */
void ap_session_errors_fold(struct ap_session_file *s, const struct ap_seg *head);
void ap_session_errors_merge(struct ap_session_file *s, u32 from, u32 to);
/* Of root and its descendants. */
AP_MUST_CHECK int ap_session_errors(const struct ap_session_file *s, u32 root,
				    struct ap_estimate_errors *out);

#endif
