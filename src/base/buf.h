/* SPDX-License-Identifier: MIT */
/*
 * Bytes that grow while they are put together: text, records, sections of a file.  Running out of memory
 * is remembered and asked for once, at the end, so that building reads like the format.  Hosted: where there is no
 * allocator, text is built in a fixed buffer (base/str.h).
 */
#ifndef AP_BASE_BUF_H
#define AP_BASE_BUF_H

#include "base/mem.h"
#include "base/types.h"

struct ap_buf {
	char *data;
	size_t size, room;
	bool failed; /* out of memory: what follows was dropped */
};

/* buf_hosted.c: room for n more bytes at least, false: out of memory.  Pointers into the buffer end here. */
bool ap_buf_grow(struct ap_buf *buf, size_t n);
void ap_buf_fini(struct ap_buf *buf);

/* n more bytes, not initialised, or NULL. */
static inline void *ap_buf_extend(struct ap_buf *buf, size_t n)
{
	if (buf->failed || ((n > buf->room - buf->size || !buf->data) && !ap_buf_grow(buf, n)))
		return NULL;
	buf->size += n;
	return buf->data + buf->size - n;
}

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

#endif
