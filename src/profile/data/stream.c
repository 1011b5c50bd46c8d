/* SPDX-License-Identifier: MIT */
/*
 * Bytes into chunks, chunks into records.  See internal.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/data/internal.h"

void ap_stream_damage(struct ap_stream *s, const char *fmt, ...)
{
	va_list ap;

	s->broken = true;
	if (s->damage[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->damage, sizeof(s->damage), fmt, ap);
	va_end(ap);
}

/* As many bytes as there are, up to n. */
static u64 read_some(struct ap_stream *s, int fd, u64 off, void *buf, u64 n)
{
	u64 got = 0;
	ssize_t r;

	if (fd < 0) {
		if (off >= s->size)
			return 0;
		if (n > s->size - off)
			n = s->size - off;
		memcpy(buf, s->mem + off, n);
		return n;
	}
	while (got < n) {
		if (!s->seekable && s->wait && !s->wait(s->wait_arg, s->fd)) {
			s->tolerant = true;
			break;
		}
		if (s->seekable)
			r = pread(fd, (u8 *)buf + got, n - got, (off_t)(off + got));
		else
			r = read(fd, (u8 *)buf + got, n - got);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			ap_stream_damage(s, "cannot read: %s", strerror(errno));
		if (r <= 0)
			break;
		got += (u64)r;
		/* what has come is looked at: a live stream is not waited for */
		if (!s->seekable && n > 4096)
			break;
	}
	return got;
}

bool ap_stream_at(struct ap_stream *s, u64 off, void *buf, u64 n)
{
	return (s->seekable || s->fd < 0) && off <= s->size && n <= s->size - off &&
	       read_some(s, s->fd, off, buf, n) == n;
}

struct ap_chunk *ap_chunk_new(struct ap_stream *s, u32 cap)
{
	struct ap_chunk *c = s->free;

	if (c && c->cap >= cap) {
		s->free = c->next;
	} else {
		if (cap < AP_CHUNK_SIZE)
			cap = AP_CHUNK_SIZE;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		c->cap = cap;
	}
	c->next = NULL;
	c->len = 0;
	c->pos = 0;
	c->pending = 1;
	return c;
}

void ap_chunk_put(struct ap_stream *s, struct ap_chunk *c)
{
	if (--c->pending)
		return;
	c->next = s->free;
	s->free = c;
}

/* Makes sure that n bytes lie at s->at, whatever was there before: false at the end. */
static bool fill(struct ap_stream *s, u32 n)
{
	struct ap_chunk *old = s->chunk, *c;
	u32 rest = old ? old->len - s->at : 0;

	if (rest >= n)
		return true;
	if (!old || s->at + n > old->cap) {
		c = ap_chunk_new(s, n);
		if (!c) {
			ap_stream_damage(s, "out of memory");
			return false;
		}
		if (rest)
			memcpy(c->data, old->data + s->at, rest);
		c->len = rest;
		c->pos = s->pos - rest;
		if (old)
			ap_chunk_put(s, old);
		s->chunk = c;
		s->at = 0;
	}
	c = s->chunk;
	while (c->len - s->at < n) {
		u64 want = c->cap - c->len, got;

		if (want > s->end - s->pos)
			want = s->end - s->pos;
		got = want ? read_some(s, s->part >= 0 ? s->part : s->fd, s->pos, c->data + c->len,
				       want)
			   : 0;
		if (!got)
			return false;
		c->len += (u32)got;
		s->pos += got;
	}
	return true;
}

bool ap_stream_take(struct ap_stream *s, void *buf, u64 n)
{
	if (n > AP_CHUNK_SIZE || !fill(s, (u32)n))
		return false;
	memcpy(buf, s->chunk->data + s->at, n);
	s->at += (u32)n;
	return true;
}

static bool skip(struct ap_stream *s, u64 n)
{
	u32 rest = s->chunk->len - s->at, step;

	if (n <= rest) {
		s->at += (u32)n;
		return true;
	}
	if (s->seekable || s->fd < 0) {
		s->at = s->chunk->len;
		if (n - rest > s->end - s->pos)
			return false;
		s->pos += n - rest;
		/* what is read next does not follow what the chunk holds */
		ap_chunk_put(s, s->chunk);
		s->chunk = NULL;
		s->at = 0;
		return true;
	}
	for (; n; n -= step) {
		step = n > AP_CHUNK_SIZE / 2 ? AP_CHUNK_SIZE / 2 : (u32)n;
		if (!fill(s, step))
			return false;
		s->at += step;
	}
	return true;
}

/* Bytes that follow a record without being counted in its size. */
static u64 trailing(const struct ap_stream *s, const u8 *rec, u32 type, u32 size)
{
	u64 n = 0;

	if (type == AP_RECORD_AUXTRACE && size >= 16) {
		n = ap_get64(rec + 8);
		return s->swapped ? __builtin_bswap64(n) : n;
	}
	if (type == AP_RECORD_TRACING_DATA && size >= 12) {
		u32 v = ap_get32(rec + 8);

		n = s->swapped ? __builtin_bswap32(v) : v;
		return AP_ALIGN_UP(n, 8);
	}
	return 0;
}

#define MAX_TRACING (64ULL * 1024 * 1024)

/* What describes tracepoints is wanted later; of a file it is a section. */
static bool keeps(const struct ap_stream *s, u32 type, u64 n)
{
	return type == AP_RECORD_TRACING_DATA && !s->tracing && n <= MAX_TRACING;
}

static bool keep(struct ap_stream *s, u64 n)
{
	u64 got = 0;
	u32 step;

	s->tracing = malloc(n + 1);
	if (!s->tracing)
		return false;
	for (; got < n; got += step) {
		step = n - got > AP_CHUNK_SIZE / 2 ? AP_CHUNK_SIZE / 2 : (u32)(n - got);
		if (!fill(s, step))
			return false;
		memcpy(s->tracing + got, s->chunk->data + s->at, step);
		s->at += step;
	}
	s->tracing[n] = 0;
	s->ntracing = n;
	return true;
}

/* The header at p in this machine's byte order. */
static struct ap_perf_event_header header_at(const struct ap_stream *s, const u8 *p)
{
	struct ap_perf_event_header h = { ap_get32(p), ap_get16(p + 4), ap_get16(p + 6) };

	if (s->swapped) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	return h;
}

/* A record of what packed ones contained; 0: none whole. */
static int inner_next(struct ap_stream *s, struct ap_raw *raw)
{
	struct ap_chunk *c = s->inner;
	struct ap_perf_event_header h;
	const u8 *p;

	if (!c || c->len - s->inner_at < AP_RECORD_HEADER)
		return 0;
	p = c->data + s->inner_at;
	h = header_at(s, p);
	if (h.size < AP_RECORD_HEADER) {
		ap_stream_damage(s, "packed record at %#llx: its size is %u",
				 (unsigned long long)s->inner_pos, h.size);
		return 0;
	}
	if (h.size > c->len - s->inner_at)
		return 0;
	*raw = (struct ap_raw){ p, c, s->inner_pos };
	c->pending++;
	s->inner_at += h.size;
	return 1;
}

static int outer_next(struct ap_stream *s, struct ap_raw *raw)
{
	struct ap_perf_event_header h;
	u64 pos = s->pos - (s->chunk ? s->chunk->len - s->at : 0);
	u64 extra;

	if (!fill(s, AP_RECORD_HEADER)) {
		if (s->chunk && s->chunk->len > s->at && !s->tolerant)
			ap_stream_damage(s, "cut off in the middle of a record at %#llx",
					 (unsigned long long)pos);
		else if (s->pos < s->end && s->end != ~0ULL && !s->tolerant)
			ap_stream_damage(s, "cut off at %#llx, should end at %#llx",
					 (unsigned long long)s->pos, (unsigned long long)s->end);
		return 0;
	}
	h = header_at(s, s->chunk->data + s->at);
	if (h.size < AP_RECORD_HEADER) {
		if (!s->tolerant)
			ap_stream_damage(s, "record at %#llx: its size is %u",
					 (unsigned long long)pos, h.size);
		return 0;
	}
	if (!fill(s, h.size)) {
		if (!s->tolerant)
			ap_stream_damage(s, "cut off in the middle of a record at %#llx",
					 (unsigned long long)pos);
		return 0;
	}
	*raw = (struct ap_raw){ s->chunk->data + s->at, s->chunk, pos };
	s->chunk->pending++;
	s->at += h.size;
	extra = trailing(s, raw->bytes, h.type, h.size);
	if (extra && !(keeps(s, h.type, extra) ? keep(s, extra) : skip(s, extra))) {
		ap_stream_damage(s, "cut off in the data behind a record at %#llx",
				 (unsigned long long)pos);
		s->end = s->pos;
	}
	return 1;
}

/* Takes a parcel of packed records apart. */
static void unpack(struct ap_stream *s, const struct ap_raw *raw)
{
	if (!ap_unpack(s, raw))
		s->broken = true;
	s->parcels++;
	ap_chunk_put(s, raw->chunk);
}

int ap_stream_next(struct ap_stream *s, struct ap_raw *raw)
{
	for (;;) {
		u32 type;

		if (!s->broken && inner_next(s, raw))
			break;
		if (s->broken || !outer_next(s, raw)) {
			/* what is damaged ends there; other files of a folder do not */
			if (!ap_stream_next_part(s))
				return 0;
			continue;
		}
		type = header_at(s, raw->bytes).type;
		if (type != AP_RECORD_COMPRESSED && type != AP_RECORD_COMPRESSED2)
			break;
		unpack(s, raw);
	}
	s->records++;
	return 1;
}

void ap_stream_fini(struct ap_stream *s)
{
	struct ap_chunk *c;

	if (s->chunk)
		ap_chunk_put(s, s->chunk);
	if (s->inner)
		ap_chunk_put(s, s->inner);
	while ((c = s->free)) {
		s->free = c->next;
		free(c);
	}
	ap_unpack_fini(s);
	ap_stream_close_parts(s);
	free(s->tracing);
	if (s->fd > 0)
		close(s->fd);
}
