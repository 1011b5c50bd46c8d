/* SPDX-License-Identifier: MIT */
/*
 * What the records of tracepoints contain: the section of a file that describes them, which is a
 * copy of tracefs' format files, written and read.
 */
#ifndef AP_PROFILE_TRACING_H
#define AP_PROFILE_TRACING_H

#include "profile/data/data.h"
#include "profile/data/record_buf.h"

struct ap_tracing_event {
	const char *system; /* "raw_syscalls" */
	const char *format; /* its format file */
};

/* The section; header_page and header_event are tracefs' files of these names. */
void ap_tracing_put(struct ap_buf *to, const char *header_page, const char *header_event,
		    const struct ap_tracing_event *ev, size_t n);

struct ap_tracing;

/* NULL: the file has no such section.  What of a damaged one can be understood is. */
struct ap_tracing *ap_tracing_read(struct ap_data *d);
void ap_tracing_free(struct ap_tracing *t);
#define AP_TRACING_NAME 96 /* of a field, with its event's and the NUL */

/*
 * Fields of what tracepoints record, named as perf does: FIELD, of any tracepoint that has one, EVENT.FIELD or
 * SYSTEM:EVENT.FIELD, and behind each "/raw": as the field alone says it, where else the text of the whole may have words for it.
 */
bool ap_tracing_has_field(struct ap_tracing *t, const char *name);
/* All fields of all tracepoints, each once, but those that all of them have; returns how many, max at most. */
u32 ap_tracing_fields(struct ap_tracing *t, char (*name)[AP_TRACING_NAME], u32 max);
/*
 * A field of a sample as text, until the next call, and a number that orders it among others of its kind, 0 for what is
 * no number; NULL: it has no such field.
 */
const char *ap_tracing_field(struct ap_tracing *t, const char *name, u64 id, u32 cpu, const u8 *raw,
			     u32 size, u64 *order);
/* The content of a tracepoint's sample as text, until the next call; "" where nobody described it. */
const char *ap_tracing_text(struct ap_tracing *t, u64 id, u32 cpu, const u8 *raw, u32 size);

#endif
