/* SPDX-License-Identifier: MIT */
/*
 * Bytes that grow while they are put together: records, feature sections.  Running out of memory
 * is remembered and asked for once, at the end, so that building reads like the format.
 */
#ifndef AP_PROFILE_BUF_H
#define AP_PROFILE_BUF_H

#include <string.h>

#include "base/types.h"

#define AP_RECORD_MAX 0xffffU /* bytes: a record's size has 16 bits */

struct ap_buf {
	char *data;
	size_t size, room;
	bool failed; /* out of memory: what follows was dropped */
};

/* n more bytes, not initialised, or NULL.  Pointers into the buffer end here. */
void *ap_buf_extend(struct ap_buf *buf, size_t n);
void ap_buf_fini(struct ap_buf *buf);

static inline void ap_buf_put(struct ap_buf *buf, const void *bytes, size_t n)
{
	void *to = ap_buf_extend(buf, n);

	if (to && n)
		memcpy(to, bytes, n);
}

static inline void ap_buf_zero(struct ap_buf *buf, size_t n)
{
	void *to = ap_buf_extend(buf, n);

	if (to)
		memset(to, 0, n);
}

static inline void ap_buf_u32(struct ap_buf *buf, u32 value)
{
	ap_buf_put(buf, &value, sizeof(value));
}

static inline void ap_buf_u64(struct ap_buf *buf, u64 value)
{
	ap_buf_put(buf, &value, sizeof(value));
}

/* The characters, a NUL, and NULs up to a multiple of align. */
void ap_buf_chars(struct ap_buf *buf, const char *text, size_t align);

/*
 * A record: begin gives where it starts, end fills in its size.  A record that grew beyond
 * AP_RECORD_MAX is taken back, and end gives false.
 */
size_t ap_buf_begin(struct ap_buf *buf, u32 type, u16 misc);
bool ap_buf_end(struct ap_buf *buf, size_t start);

#endif
