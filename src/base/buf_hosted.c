/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define LEAST 4096

bool ap_buf_grow(struct ap_buf *buf, size_t n)
{
	size_t room = buf->room ? buf->room : LEAST;
	char *data;

	while (n > room - buf->size && room <= SIZE_MAX / 2)
		room *= 2;
	data = n > room - buf->size ? NULL : realloc(buf->data, room);
	buf->failed |= !data;
	if (!data)
		return false;
	buf->data = data;
	buf->room = room;
	return true;
}

void ap_buf_fini(struct ap_buf *buf)
{
	free(buf->data);
	memset(buf, 0, sizeof(*buf));
}
