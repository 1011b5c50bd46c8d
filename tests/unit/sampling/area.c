/* SPDX-License-Identifier: MIT */
#include "area.h"

#include <string.h>

#include "tap/tap.h"

const struct ap_ring_writer writer_1 = { .name = WRITER_1 };
const struct ap_ring_owner owner_7 = { .id = 7 };

void area_init(struct area *a, struct ap_ring_map *map, u64 size, u32 flags)
{
	memset(a, 0, sizeof(*a));
	REQUIRE(size <= AREA_MAX);
	ap_ring_init(&a->ring, size, 0);
	*map = (struct ap_ring_map){
		.ring = &a->ring, .page = &a->page, .data = a->data, .size = size, .flags = flags
	};
}

static void copy_out(const struct area *a, u64 size, u64 pos, void *to, u64 n)
{
	for (u64 i = 0; i < n; i++)
		((u8 *)to)[i] = a->data[(pos + i) & (size - 1)];
}

bool area_record(const struct area *a, u64 size, u64 pos, struct got *got)
{
	copy_out(a, size, pos, &got->header, sizeof(got->header));
	if (got->header.size < 8 || got->header.size % 8 || got->header.size > size)
		return false;
	copy_out(a, size, pos, got->bytes, got->header.size);
	return true;
}

/* C and D of ring.c; 32-bit machines have no atomic 64 bits, and no second thread here. */
#if __SIZEOF_POINTER__ == 8
#define LOAD(p)	    __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#else
#define LOAD(p)	    (*(p))
#define STORE(p, v) (*(p) = (v))
#endif

bool area_take(struct area *a, u64 size, struct got *got)
{
	u64 head = LOAD(&a->page.data_head);
	u64 tail = a->page.data_tail;

	if (head == tail)
		return false;
	REQUIRE(area_record(a, size, tail, got));
	REQUIRE(got->header.size <= head - tail);
	STORE(&a->page.data_tail, tail + got->header.size);
	return true;
}

u64 got_word(const struct got *got, u32 n)
{
	u64 v;

	memcpy(&v, got->bytes + 8 + n * 8, 8);
	return v;
}

int area_write(const struct ap_ring_map *map, u32 type, u32 size, u64 fill)
{
	struct ap_perf_event_header header = { .type = type, .size = (u16)size };
	struct ap_ring_out out;
	int r = ap_ring_begin(&out, map, &writer_1, &owner_7, size);

	if (r)
		return r;
	ap_ring_put(&out, &header, sizeof(header));
	for (u32 n = 8; n < size; n += 8)
		ap_ring_put(&out, &fill, 8);
	return ap_ring_end(&out);
}
