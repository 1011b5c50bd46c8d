/* SPDX-License-Identifier: MIT */
/* probe_form.c: what samples of probes have as RAW (abi/probe.h). */
#ifndef AP_LINUX_PROBE_FORM_H
#define AP_LINUX_PROBE_FORM_H

#include "abi/probe.h"
#include "abi/session.h"

/*
 * The arguments of a line of uprobe_events, behind its path; of a probe at that offset in its file.  -EOPNOTSUPP: there are
 * more of them than a form has steps, or numbers of more than 47 bits.
 */
AP_MUST_CHECK int ap_probe_form_parse(const char *args, u64 offset, struct ap_probe_form *form);
/*
 * The session's number of this form, from 1 on.  It is free again when it has no user.  -ENOSPC:
 * there are too many.
 */
AP_MUST_CHECK int ap_probe_form_take(struct ap_session *s, const struct ap_probe_form *form,
				     u32 *number);

#endif
