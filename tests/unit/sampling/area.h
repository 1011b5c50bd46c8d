/* SPDX-License-Identifier: MIT */
/*
 * A ring in plain memory, and a reader that knows nothing but perf_event_open(2): records lie from
 * data_tail to data_head, wrap, and begin with their type and size.
 */
#ifndef AP_TESTS_SAMPLING_AREA_H
#define AP_TESTS_SAMPLING_AREA_H

#include "abi/errno.h"
#include "sampling/ring.h"

#define AREA_MAX 65536

struct area {
	struct ap_ring ring;
	struct ap_perf_page page;
	u8 data[AREA_MAX];
};

void area_init(struct area *a, struct ap_ring_map *map, u64 size, u32 flags);

/* One record of the reader, whole. */
struct got {
	struct ap_perf_event_header header;
	u8 bytes[65536]; /* header included */
};
/* The record at position pos, copied out of the area.  False: it is no record. */
bool area_record(const struct area *a, u64 size, u64 pos, struct got *got);
/* Takes the next from data_tail; false when there is none. */
bool area_take(struct area *a, u64 size, struct got *got);
u64 got_word(const struct got *got, u32 n); /* n-th word behind the header */

#define WRITER_1 AP_RING_NAME(0, 0)
extern const struct ap_ring_writer writer_1;
extern const struct ap_ring_owner owner_7; /* id 7, no trailer */

/* A record of size bytes whose words are all `fill`; as ap_ring_begin. */
int area_write(const struct ap_ring_map *map, u32 type, u32 size, u64 fill);

#endif
