/* SPDX-License-Identifier: MIT */
/*
 * Rings against perf_event_open(2) and against a model that keeps every byte ever written.
 */
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "tap/tap.h"

#define SIZE 4096U

static struct area A;
static struct ap_ring_map M;
static struct got G;

static void a_record_is_seen_when_it_is_whole(void)
{
	struct ap_perf_event_header header = { .type = 9, .size = 24 };
	struct ap_ring_out out;
	u64 word = 0x1122334455667788ULL;

	area_init(&A, &M, SIZE, 0);
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 24));
	EXPECT_U64(A.ring.lock, WRITER_1);
	ap_ring_put(&out, &header, 8);
	ap_ring_put(&out, &word, 8);
	ap_ring_put(&out, &word, 8);
	EXPECT_U64(A.page.data_head, 0);
	EXPECT(!ap_ring_end(&out));
	EXPECT_U64(A.page.data_head, 24);
	EXPECT_U64(A.ring.lock, 0);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.type, 9);
	EXPECT_U64(got_word(&G, 1), word);
	EXPECT(!area_take(&A, SIZE, &G));
}

static void a_dropped_record_never_was(void)
{
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 64));
	ap_ring_zero(&out, 64);
	ap_ring_drop(&out);
	EXPECT_U64(A.page.data_head, 0);
	EXPECT_U64(A.ring.lost, 0);
	EXPECT_U64(area_write(&M, 9, 16, 1), 0);
	EXPECT_U64(A.page.data_head, 16);
}

static void what_was_not_put_is_zero(void)
{
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	memset(A.data, 0xee, SIZE);
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 32));
	ap_ring_put(&out, &(struct ap_perf_event_header){ .type = 1, .size = 32 }, 8);
	ap_ring_end(&out);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(got_word(&G, 0) | got_word(&G, 1) | got_word(&G, 2), 0);
}

/* size - 1 bytes at most, as the kernel's CIRC_SPACE: a full area cannot be told from an empty one. */
static void a_full_area_loses_and_says_so_in_the_next_record(void)
{
	area_init(&A, &M, SIZE, 0);
	for (u32 n = 0; n < SIZE / 64 - 1; n++)
		REQUIRE(area_write(&M, 9, 64, n) >= 0);
	EXPECT_U64(-area_write(&M, 9, 64, 99), AP_ENOSPC);
	EXPECT_U64(-area_write(&M, 9, 64, 99), AP_ENOSPC);
	EXPECT_U64(A.ring.lost, 2);
	EXPECT_U64(A.ring.lock, 0);
	REQUIRE(area_take(&A, SIZE, &G));
	/* 64 + 63 are free: room for the record, not for the LOST record as well */
	REQUIRE(area_write(&M, 9, 104, 5) < 0);
	REQUIRE(area_take(&A, SIZE, &G));
	REQUIRE(area_write(&M, 9, 64, 5) >= 0);
	for (u32 n = 2; n < SIZE / 64 - 1; n++) {
		REQUIRE(area_take(&A, SIZE, &G));
		EXPECT_U64(got_word(&G, 0), n);
	}
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.type, AP_PERF_RECORD_LOST);
	EXPECT_U64(G.header.size, 24);
	EXPECT_U64(got_word(&G, 0), 7);
	EXPECT_U64(got_word(&G, 1), 3);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(got_word(&G, 0), 5);
	REQUIRE(area_write(&M, 9, 64, 6) >= 0);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.type, 9);
}

static void a_lost_record_has_the_trailer_of_who_writes_it(void)
{
	const u64 trailer[2] = { 11, 12 };
	const struct ap_ring_owner owner = { 8, trailer, sizeof(trailer), 0 };
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	A.ring.lost = 41;
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner, 8));
	ap_ring_put(&out, &(struct ap_perf_event_header){ .type = 3, .size = 8 }, 8);
	ap_ring_end(&out);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.type, AP_PERF_RECORD_LOST);
	EXPECT_U64(G.header.size, 40);
	EXPECT_U64(got_word(&G, 0), 8);
	EXPECT_U64(got_word(&G, 1), 41);
	EXPECT_U64(got_word(&G, 2), 11);
	EXPECT_U64(got_word(&G, 3), 12);
}

static void paused_and_absent_areas_refuse(void)
{
	area_init(&A, &M, SIZE, 0);
	A.ring.paused = 1;
	EXPECT_U64(-area_write(&M, 9, 16, 0), AP_EAGAIN);
	EXPECT_U64(A.ring.lost, 1);
	A.ring.paused = 0;
	EXPECT_U64(area_write(&M, 9, 16, 0), 0);
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.type, AP_PERF_RECORD_LOST);
	M.size = 0;
	EXPECT_U64(-area_write(&M, 9, 16, 0), AP_ENODEV);
	EXPECT_U64(A.ring.lost, 1);
	ap_ring_init(&A.ring, 0, 0);
	EXPECT_U64(A.ring.paused, 1);
}

static void a_record_that_could_never_fit_is_lost_in_every_mode(void)
{
	static const u32 modes[] = { 0, AP_RING_OVERWRITE, AP_RING_BACKWARD,
				     AP_RING_BACKWARD | AP_RING_OVERWRITE };

	for (u32 i = 0; i < AP_ARRAY_SIZE(modes); i++) {
		area_init(&A, &M, SIZE, modes[i]);
		EXPECT_U64(-area_write(&M, 9, SIZE + 8, 0), AP_ENOSPC);
		EXPECT_U64(A.ring.head, 0);
		EXPECT_U64(A.ring.lost, 1);
	}
}

static void overwrite_mode_keeps_the_newest(void)
{
	area_init(&A, &M, SIZE, AP_RING_OVERWRITE);
	for (u64 n = 0; n < 1000; n++)
		REQUIRE(area_write(&M, 9, 32, n) >= 0);
	EXPECT_U64(A.page.data_head, 32000);
	EXPECT_U64(A.ring.lost, 0);
	for (u64 n = 1000 - SIZE / 32; n < 1000; n++) {
		REQUIRE(area_record(&A, SIZE, n * 32, &G));
		EXPECT_U64(got_word(&G, 0), n);
	}
}

static void backward_mode_is_read_from_the_head(void)
{
	u64 pos;

	area_init(&A, &M, SIZE, AP_RING_BACKWARD | AP_RING_OVERWRITE);
	for (u64 n = 0; n < 1000; n++)
		REQUIRE(area_write(&M, 9, 16 + 8 * (n % 3), n) >= 0);
	pos = A.page.data_head;
	for (u64 n = 999; pos + 32 < A.page.data_head + SIZE; n--) {
		REQUIRE(area_record(&A, SIZE, pos, &G));
		EXPECT_U64(got_word(&G, 0), n);
		EXPECT_U64(G.header.size, 16 + 8 * (n % 3));
		pos += G.header.size;
	}
	/* not overwriting: it ends when the reader's tail is met */
	area_init(&A, &M, SIZE, AP_RING_BACKWARD);
	for (u32 n = 0; n < SIZE / 64 - 1; n++)
		REQUIRE(area_write(&M, 9, 64, n) >= 0);
	EXPECT_U64(-area_write(&M, 9, 64, 99), AP_ENOSPC);
}

static void a_reader_that_writes_nonsense_harms_itself(void)
{
	srand(1);
	area_init(&A, &M, SIZE, 0);
	for (u32 n = 0; n < 20000; n++) {
		u64 before = A.ring.head;
		int r;

		A.page.data_tail = (u64)rand() << 33 ^ (u64)rand() << 3 ^ (u64)rand();
		A.page.data_head = (u64)rand() * 77;
		A.page.data_size = A.page.data_offset = (u64)rand() << 20;
		r = area_write(&M, 9, 8 + 8 * (u32)(rand() % 40), n);
		REQUIRE(r >= 0 || r == -AP_ENOSPC);
		REQUIRE(r < 0 ? A.ring.head == before : A.page.data_head == A.ring.head);
		REQUIRE(!A.ring.lock && !memcmp(A.data + SIZE, A.data + 2 * SIZE, SIZE));
	}
}

/* --- wakeups */

static void the_default_watermark_is_half_of_the_area(void)
{
	u32 first = 0;

	area_init(&A, &M, 16384, 0);
	for (u32 n = 1; !first && n < 1000; n++)
		if (area_write(&M, 9, 32, n))
			first = n * 32;
	EXPECT_U64(first, 8192 + 32); /* as measured on Linux: 8224 of 16384 */
	EXPECT_U64(A.ring.wakes, 1);
	EXPECT_U64(A.ring.poll, 1);
}

static void watermarks(void)
{
	static const struct {
		int line;
		u64 watermark, want; /* wakes of 4096 bytes in records of 64 with a reader */
		u32 flags;
	} rows[] = {
		{ __LINE__, 0, 1, 0 },
		{ __LINE__, 1, 64, 0 },
		{ __LINE__, 63, 64, 0 },
		{ __LINE__, 128, 31, 0 },
		{ __LINE__, 128, 31, AP_RING_BACKWARD },
		{ __LINE__, 5000, 0, 0 }, /* no more than the area */
		{ __LINE__, 1024, 3, AP_RING_OVERWRITE },
	};

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		area_init(&A, &M, SIZE, rows[i].flags);
		ap_ring_init(&A.ring, SIZE, rows[i].watermark);
		for (u32 n = 0; n < SIZE / 64; n++) {
			REQUIRE(area_write(&M, 9, 64, n) >= 0);
			A.page.data_tail = A.page.data_head;
		}
		if (!EXPECT_U64(A.ring.wakes, rows[i].want))
			tap_note("line %d", rows[i].line);
	}
}

static void wakeup_events_count_samples_of_the_ring(void)
{
	struct ap_ring_out out;
	u32 wakes = 0;

	area_init(&A, &M, SIZE, AP_RING_OVERWRITE);
	ap_ring_init(&A.ring, SIZE, SIZE);
	for (u32 n = 1; n <= 100; n++) {
		REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 8));
		ap_ring_put(&out, &(struct ap_perf_event_header){ .type = 9, .size = 8 }, 8);
		ap_ring_count_event(&out, 7);
		wakes += ap_ring_end(&out);
		EXPECT_U64(wakes, n / 7);
	}
	/* not of records that never were */
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 8));
	for (u32 n = 0; n < 7; n++)
		ap_ring_count_event(&out, 7);
	ap_ring_drop(&out);
	EXPECT_U64(A.ring.events, 100 % 7);
	EXPECT_U64(A.ring.wakes, 100 / 7);
}

/* --- other writers */

static u32 yields;
static void count_yield(void *arg, u32 holder, u32 n)
{
	EXPECT_U64(holder, 5);
	EXPECT_U64(n, yields);
	if (++yields == 3 && arg)
		((struct ap_ring *)arg)->lock = 0;
}

static void a_lock_that_is_held_for_too_long_loses_the_record(void)
{
	struct ap_ring_writer w = { .name = 3, .yield = count_yield };
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	A.ring.lock = 5;
	EXPECT_U64(-ap_ring_begin(&out, &M, &w, &owner_7, 8), AP_ENOSPC);
	EXPECT_U64(yields, AP_RING_YIELDS);
	EXPECT_U64(A.ring.lost, 1);
	EXPECT_U64(A.ring.lock, 5);
	yields = 0;
	w.arg = &A.ring;
	EXPECT_U64(ap_ring_begin(&out, &M, &w, &owner_7, 8), 0);
	EXPECT_U64(yields, 3);
	ap_ring_drop(&out);
	w.yield = NULL;
	A.ring.lock = 5;
	EXPECT_U64(-ap_ring_begin(&out, &M, &w, &owner_7, 8), AP_ENOSPC);
	A.ring.lock = 3; /* its own, of an earlier life */
	EXPECT_U64(ap_ring_begin(&out, &M, &w, &owner_7, 8), 0);
}

static void the_dead_are_cleared_and_the_robbed_write_nothing(void)
{
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	REQUIRE(area_write(&M, 9, 16, 1) >= 0);
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 64));
	EXPECT(!ap_ring_clear(&M, WRITER_1 + 1));
	EXPECT_U64(A.ring.lock, WRITER_1);
	EXPECT(ap_ring_clear(&M, WRITER_1));
	EXPECT_U64(A.ring.lock, 0);
	EXPECT_U64(A.page.data_head, 16);
	EXPECT(!ap_ring_clear(&M, WRITER_1));
	EXPECT(!ap_ring_clear(&M, 0));
	EXPECT(!ap_ring_end(&out)); /* it lived after all */
	EXPECT_U64(A.page.data_head, 16);
	EXPECT_U64(A.ring.lock, 0);
}

/* --- guarded copies */

static u64 half_readable(void *arg, void *to, u64 from, u64 n)
{
	u64 end = *(const u64 *)arg, can = from >= end ? 0 : end - from;

	if (can > n)
		can = n;
	for (u64 i = 0; i < can; i++)
		((u8 *)to)[i] = (u8)(from + i);
	return can;
}

static void a_ring_has_settled_when_nobody_is_in_a_record(void)
{
	struct ap_ring_out out;

	area_init(&A, &M, SIZE, 0);
	EXPECT(ap_ring_has_settled(&A.ring));
	REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, 16));
	EXPECT(!ap_ring_has_settled(&A.ring));
	ap_ring_end(&out);
	EXPECT(ap_ring_has_settled(&A.ring));
}

static void guarded_bytes_wrap_and_end_in_zeros(void)
{
	for (u64 before = SIZE - 200; before <= SIZE - 8; before += 8) {
		for (u64 end = 1000; end <= 1100; end += 4) {
			struct ap_perf_event_header h = { .type = 9, .size = 8 + 96 };
			struct ap_ring_out out;
			u8 want[96] = { 0 };

			area_init(&A, &M, SIZE, 0);
			memset(A.data, 0xee, SIZE);
			A.ring.head = A.page.data_head = A.page.data_tail = before;
			for (u64 i = 0; i < 96 && 1000 + i < end; i++)
				want[i] = (u8)(1000 + i);
			REQUIRE(!ap_ring_begin(&out, &M, &writer_1, &owner_7, h.size));
			ap_ring_put(&out, &h, 8);
			EXPECT_U64(ap_ring_put_guarded(&out, half_readable, &end, 1000, 96),
				   end - 1000 < 96 ? end - 1000 : 96);
			ap_ring_end(&out);
			REQUIRE(area_take(&A, SIZE, &G));
			REQUIRE(EXPECT_MEM(G.bytes + 8, want, sizeof(want)));
		}
	}
}

/* --- the model: every byte that was ever written, and what was lost */

#define STREAM (4U << 20)

struct model {
	u8 *stream;
	u64 head, tail;
	u32 lost, told, size;
	bool overwrite;
};

static void model_append(struct model *m, const void *p, u64 n)
{
	REQUIRE(m->head + n <= STREAM);
	memcpy(m->stream + m->head, p, n);
	m->head += n;
}

static bool model_write(struct model *m, u32 size, u64 fill)
{
	u64 total = size + (m->lost != m->told ? 24 : 0), words[3] = { 0, 7, m->lost - m->told };
	struct ap_perf_event_header h = { AP_PERF_RECORD_LOST, 0, 24 };

	if (total > m->size || (!m->overwrite && m->head + total - m->tail >= m->size)) {
		m->lost++;
		return false;
	}
	if (total != size) {
		memcpy(words, &h, 8);
		model_append(m, words, 24);
		m->told = m->lost;
	}
	h = (struct ap_perf_event_header){ 9, 0, (u16)size };
	model_append(m, &h, 8);
	for (u32 n = 8; n < size; n += 8)
		model_append(m, &fill, 8);
	return true;
}

static void model_compare(const struct model *m)
{
	u64 from = m->head > m->size ? m->head - m->size : 0;

	if (!m->overwrite && from < m->tail)
		from = m->tail;
	REQUIRE(A.page.data_head == m->head && A.ring.lost == m->lost && !A.ring.lock);
	for (u64 i = from; i < m->head; i++)
		if (A.data[i & (m->size - 1)] != m->stream[i]) {
			EXPECT_U64(A.data[i & (m->size - 1)], m->stream[i]);
			tap_note("byte %llu", (unsigned long long)i);
			tap_end_test();
		}
}

static void run_model(u32 seed)
{
	struct model m = { .stream = malloc(STREAM), .overwrite = seed % 3 == 0 };

	srand(seed);
	m.size = 256U << (seed % 5);
	area_init(&A, &M, m.size, m.overwrite ? AP_RING_OVERWRITE : 0);
	for (u32 n = 0; n < 3000; n++) {
		u32 size = 8 + 8 * (u32)(rand() % (rand() % 20 ? 12 : 60));
		bool paused = rand() % 50 == 0;

		A.ring.paused = paused;
		if (paused) {
			REQUIRE(area_write(&M, 9, size, n) == -AP_EAGAIN);
			m.lost++;
		} else {
			REQUIRE((area_write(&M, 9, size, n) >= 0) == model_write(&m, size, n));
		}
		if (rand() % 3 == 0 && !m.overwrite)
			m.tail += (u64)rand() % ((m.head - m.tail) / 8 + 1) * 8;
		A.page.data_tail = m.tail;
		model_compare(&m);
	}
	free(m.stream);
}

static void random_records_are_those_of_the_model(void)
{
	for (u32 seed = 1; seed <= 30; seed++)
		run_model(seed);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_record_is_seen_when_it_is_whole),
		TAP(a_dropped_record_never_was),
		TAP(what_was_not_put_is_zero),
		TAP(a_full_area_loses_and_says_so_in_the_next_record),
		TAP(a_lost_record_has_the_trailer_of_who_writes_it),
		TAP(paused_and_absent_areas_refuse),
		TAP(a_record_that_could_never_fit_is_lost_in_every_mode),
		TAP(overwrite_mode_keeps_the_newest),
		TAP(backward_mode_is_read_from_the_head),
		TAP(a_reader_that_writes_nonsense_harms_itself),
		TAP(the_default_watermark_is_half_of_the_area),
		TAP(watermarks),
		TAP(wakeup_events_count_samples_of_the_ring),
		TAP(a_lock_that_is_held_for_too_long_loses_the_record),
		TAP(the_dead_are_cleared_and_the_robbed_write_nothing),
		TAP(a_ring_has_settled_when_nobody_is_in_a_record),
		TAP(guarded_bytes_wrap_and_end_in_zeros),
		TAP(random_records_are_those_of_the_model),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
