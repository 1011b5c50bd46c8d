/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint recorded, as one word that entries are told apart by: each field that is a key, then the whole as text
 * where that is a key.  A field is 16 hexadecimal digits in the order of its values, its text, and AP_TRACE_KEY_END.
 */
#ifndef AP_PROFILE_TRACE_KEY_H
#define AP_PROFILE_TRACE_KEY_H

#include "profile/hist/hist.h"
#include "profile/text/text.h"

#define AP_TRACE_KEY_ORDER 16U
#define AP_TRACE_KEY_NONE                                                                          \
	"                " /* in place of the order: the tracepoint has no such field */
#define AP_TRACE_KEY_END '\1'

/* Of a sample; a string, which is t's. */
const char *ap_trace_key(const struct ap_hist_opts *opts, bool has_text, u64 id, u32 cpu,
			 const u8 *raw, u32 size, struct ap_buf *t);

#endif
