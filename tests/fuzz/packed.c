/* SPDX-License-Identifier: MIT */
/*
 * Compressed records: what a damaged frame gives, and records that were packed well and are wrong themselves.
 * The first byte says which, and how the rest is cut into records.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../unit/profile/feed.h"
#include "../unit/profile/file.h"
#include "fuzz.h"

#define TYPE_COMPRESSED 81

static void put_record(struct file *f, const uint8_t *p, size_t n)
{
	begin_record(f, TYPE_COMPRESSED, 0);
	for (size_t i = 0; i < n; i++)
		put8(f, p[i]);
	end_record(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct file f;
	static uint8_t packed[32768];
	size_t n, at, step;

	if (size < 2 || size > 16384)
		return 0;
	memset(&f, 0, sizeof(f));
	begin_file(&f, 7, 0x40000, 0); /* IP, TID and TIME; sample_id_all */
	if (bytes[0] & 1) {
		n = ZSTD_compress(packed, sizeof(packed), bytes + 1, size - 1, 1);
		if (ZSTD_isError(n))
			return 0;
	} else {
		n = size - 1;
		memcpy(packed, bytes + 1, n);
	}
	step = bytes[0] & 2 ? 1 + n / 3 : n;
	for (at = 0; at < n; at += step)
		put_record(&f, packed + at, n - at < step ? n - at : step);
	end_data(&f);
	feed(f.bytes, f.n);
	return 0;
}
