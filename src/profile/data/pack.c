/* SPDX-License-Identifier: MIT */
#include "profile/data/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "profile/data/format.h"

#define ROOM (AP_RECORD_MAX - AP_RECORD_HEADER)

struct ap_packer {
	ZSTD_CCtx *zstd;
	int level;
};

int ap_packer_new(struct ap_packer **packer, unsigned int level)
{
	struct ap_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->level = (int)level;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return -ENOMEM;
	}
	*packer = p;
	return 0;
}

void ap_packer_free(struct ap_packer *p)
{
	if (p)
		ZSTD_freeCCtx(p->zstd);
	free(p);
}

/* The first record boundary behind the middle. */
static size_t half(const char *records, size_t size)
{
	size_t at = 0;

	while (at < size / 2) {
		u16 n;

		memcpy(&n, records + at + 6, sizeof(n));
		at += n;
	}
	return at;
}

/* One record that zstd cannot make smaller than a record may be stays as it is. */
int ap_packer_put(struct ap_packer *p, const char *records, size_t size, struct ap_buf *to)
{
	size_t start = ap_buf_begin(to, AP_RECORD_COMPRESSED, 0);
	void *room = ap_buf_extend(to, ROOM);
	size_t n, middle;
	int ret;

	if (!room)
		return -ENOMEM;
	n = ZSTD_compressCCtx(p->zstd, room, ROOM, records, size, p->level);
	if (!ZSTD_isError(n)) {
		to->size = start + AP_RECORD_HEADER + n;
		return ap_buf_end(to, start) ? 0 : -ENOMEM;
	}
	to->size = start;
	middle = half(records, size);
	if (middle == size) {
		ap_buf_put(to, records, size);
		return to->failed ? -ENOMEM : 0;
	}
	ret = ap_packer_put(p, records, middle, to);
	return ret ? ret : ap_packer_put(p, records + middle, size - middle, to);
}
