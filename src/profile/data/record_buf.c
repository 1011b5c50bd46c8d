/* SPDX-License-Identifier: MIT */
#include "profile/data/record_buf.h"

#include "profile/data/format.h"

void ap_buf_chars(struct ap_buf *buf, const char *text, size_t align)
{
	size_t len = strlen(text);

	ap_buf_put(buf, text, len);
	ap_buf_zero(buf, AP_ALIGN_UP(len + 1, align) - len);
}

size_t ap_buf_begin(struct ap_buf *buf, u32 type, u16 misc)
{
	size_t start = buf->size;
	u16 size = 0;

	ap_buf_u32(buf, type);
	ap_buf_put(buf, &misc, sizeof(misc));
	ap_buf_put(buf, &size, sizeof(size));
	return start;
}

bool ap_buf_end(struct ap_buf *buf, size_t start)
{
	size_t size = buf->size - start;
	u16 value = (u16)size;

	if (buf->failed)
		return false;
	if (size > AP_RECORD_MAX) {
		buf->size = start;
		return false;
	}
	memcpy(buf->data + start + 6, &value, sizeof(value));
	return true;
}
