/* SPDX-License-Identifier: MIT */
/*
 * Packed records: a zstd stream that is cut into COMPRESSED records, whose content is records
 * again. A record may begin in one parcel and end in the next, so what is left over moves in front.
 */
#include <stdlib.h>
#include <zstd.h>

#include "base/plant.h"
#include "profile/data/internal.h"

/* A parcel is at most 64 KiB; what it may grow to is bounded lest a small file fill the memory. */
#define MAX_INNER (256U * 1024 * 1024)

static bool grow(struct ap_stream *s, u32 need)
{
	struct ap_chunk *old = s->inner, *c;
	u32 rest = old ? old->len - s->inner_at : 0;

	if (need > MAX_INNER - rest) {
		ap_stream_damage(s, "packed record at %#llx: unpacks to too much",
				 (unsigned long long)s->inner_pos);
		return false;
	}
	c = ap_chunk_new(s, rest + need);
	if (!c) {
		ap_stream_damage(s, "out of memory");
		return false;
	}
	if (rest)
		memcpy(c->data, old->data + s->inner_at, rest);
	c->len = rest;
	if (old)
		ap_chunk_put(s, old);
	s->inner = c;
	s->inner_at = 0;
	return true;
}

/* What of the record is packed data; NULL: none. */
static const u8 *packed_data(const struct ap_stream *s, const u8 *rec, size_t *size)
{
	u32 type = ap_get32(rec);
	u64 n;
	u16 len = ap_get16(rec + 6);

	if (s->swapped) {
		type = __builtin_bswap32(type);
		len = __builtin_bswap16(len);
	}
	if (type == AP_RECORD_COMPRESSED) {
		*size = len - AP_RECORD_HEADER;
		return rec + AP_RECORD_HEADER;
	}
	if (len < 16)
		return NULL;
	n = ap_get64(rec + 8);
	if (s->swapped)
		n = __builtin_bswap64(n);
	if (n > len - 16U)
		return NULL;
	*size = (size_t)n;
	return rec + 16;
}

bool ap_unpack(struct ap_stream *s, const struct ap_raw *raw)
{
	ZSTD_inBuffer in = { NULL, 0, 0 };
	size_t r;

	in.src = packed_data(s, raw->bytes, &in.size);
	if (!s->unpacker)
		s->unpacker = ZSTD_createDStream();
	if (!in.src || !s->unpacker) {
		ap_stream_damage(s, "packed record at %#llx: %s", (unsigned long long)raw->pos,
				 in.src ? "out of memory" : "its size is wrong");
		return false;
	}
	s->inner_pos = raw->pos;
	if (!grow(s, AP_CHUNK_SIZE / 2))
		return false;
	for (;;) {
		struct ap_chunk *c = s->inner;
		ZSTD_outBuffer out = { c->data, c->cap, c->len };

		r = ZSTD_decompressStream(s->unpacker, &out, &in);
		if (ZSTD_isError(r)) {
			ap_stream_damage(s, "packed record at %#llx: %s",
					 (unsigned long long)raw->pos, ZSTD_getErrorName(r));
			return false;
		}
		c->len = (u32)out.pos;
		AP_PLANT("packed", c->len >= 8 && ap_get32(c->data) == 3 && ap_get16(c->data + 4));
		if (out.pos < out.size)
			break; /* all that this parcel gives */
		if (!grow(s, c->cap))
			return false;
	}
	return true;
}

void ap_unpack_fini(struct ap_stream *s)
{
	ZSTD_freeDStream(s->unpacker);
	s->unpacker = NULL;
}
