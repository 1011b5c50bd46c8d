/* SPDX-License-Identifier: MIT */
/*
 * The kernel makes text into a buffer of a page, whole records, until the next one does not fit or the
 * reader has as much as it wants.  What is left of the last one comes first in the next read, and then the
 * buffer is filled again; a read from elsewhere gets the rest of the record there first.  A record that
 * alone does not fit has the buffer doubled, for good.
 */
#include "engine/transparency/seqfile.h"

#include "base/mem.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define ROOM_MAX (2 * AP_PAGE_SIZE) /* a path, and what stands around it */

static AP_ROOMY char text[ROOM_MAX + AP_PAGE_SIZE]; /* process lock */

static u64 load(s32 fd, u64 at)
{
	s64 n = ap_sys4(AP_NR_pread64, (u64)fd, (u64)text, sizeof(text), at);

	return n > 0 ? (u64)n : 0;
}

/* Fields of a block have capital letters. */
static bool begins_block(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Of the first record in n bytes at p. */
static u64 record_len(const char *p, u64 n, bool has_blocks)
{
	const char *nl = p, *end = p + n;

	while ((nl = memchr(nl, '\n', (u64)(end - nl)))) {
		nl++;
		if (!has_blocks || nl == end || begins_block(*nl))
			return (u64)(nl - p);
	}
	return n;
}

/* The end of the record that pos is in the middle of. */
static u64 end_of_record(s32 fd, bool has_blocks, u64 pos)
{
	u64 n;

	if (!pos)
		return 0;
	n = load(fd, pos - 1);
	if (n <= 1 || (text[0] == '\n' && (!has_blocks || begins_block(text[1]))))
		return pos;
	return pos + record_len(text + 1, n - 1, has_blocks);
}

/* As many records as fit, from s->end on, where so much is wanted. */
static u64 fill(struct ap_seqfile *s, s32 fd, bool has_blocks, u64 wanted)
{
	u64 n = load(fd, s->end), count = record_len(text, n, has_blocks);

	while (count >= s->room && s->room < ROOM_MAX)
		s->room *= 2;
	while (count < n && count < wanted) {
		u64 len = record_len(text + count, n - count, has_blocks);

		if (count + len >= s->room)
			break;
		count += len;
	}
	return count;
}

void ap_seqfile_begin(struct ap_seqfile *s)
{
	s->pos = s->end = 0;
	s->room = AP_PAGE_SIZE;
}

u64 ap_seqfile_read(struct ap_seqfile *s, s32 fd, bool has_blocks, u64 pos, u64 size)
{
	u64 rest, taken;

	if (!size)
		return 0;
	if (pos != s->pos) {
		s->pos = pos;
		s->end = end_of_record(fd, has_blocks, pos);
	}
	rest = s->end - s->pos;
	if (rest > size) {
		s->pos += size;
		return size;
	}
	s->pos = s->end;
	/* the next record is made, too, where that was all that is wanted */
	s->end += fill(s, fd, has_blocks, size - rest);
	taken = s->end - s->pos < size - rest ? s->end - s->pos : size - rest;
	s->pos += taken;
	return rest + taken;
}
