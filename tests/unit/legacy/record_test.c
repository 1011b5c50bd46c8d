/* SPDX-License-Identifier: MIT */
/*
 * Reads and records of 2009, out of today's.  Both are put together here word by word from the two
 * documents' layouts; a pair of 32 bits is put in the order that memory has.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/errno.h"
#include "abi/record.h"
#include "legacy/legacy.h"
#include "tap/tap.h"

struct bytes {
	u8 at[1024];
	u32 n;
};

static struct bytes in, want;
static u8 out[1024];

static void add(struct bytes *b, const void *what, u32 size)
{
	REQUIRE(b->n + size <= sizeof(b->at));
	memcpy(b->at + b->n, what, size);
	b->n += size;
}

static void word(struct bytes *b, u64 v)
{
	add(b, &v, 8);
}

static void pair(struct bytes *b, u32 first, u32 second)
{
	add(b, &first, 4);
	add(b, &second, 4);
}

static void four(struct bytes *b, u16 nr, u16 hv, u16 kernel, u16 user)
{
	u16 v[] = { nr, hv, kernel, user };

	add(b, v, 8);
}

static void begin(struct bytes *b, u32 type, u16 misc)
{
	b->n = 0;
	add(b, &type, 4);
	add(b, &misc, 2);
	add(b, &(u16){ 0 }, 2);
}

/* Configs are ids in a mirror; ids from 100 on nobody knows. */
static bool config_of(void *arg, u64 id, u64 *config)
{
	(void)arg;
	if (id >= 100)
		return false;
	*config = 1000 - id;
	return true;
}

static int translate(u32 record_type, u32 read_format)
{
	const struct ap_legacy_ring ring = { record_type, read_format, config_of, NULL };
	u16 size = (u16)in.n;

	memcpy(in.at + 6, &size, 2);
	memset(out, 0xee, sizeof(out));
	return ap_legacy_record(&ring, in.at, in.n, out);
}

static void expect(u32 record_type, u32 read_format)
{
	u16 size = (u16)want.n;

	memcpy(want.at + 6, &size, 2);
	if (EXPECT_U64(translate(record_type, read_format), want.n))
		EXPECT_MEM(out, want.at, want.n);
	EXPECT(want.n <= in.n && out[want.n] == 0xee);
}

/* All 64 kinds of overflows. */
static void each_overflow_has_what_it_selects_in_order(void)
{
	for (u32 type = 0; type < 64; type++) {
		begin(&in, AP_PERF_RECORD_SAMPLE,
		      AP_PERF_RECORD_MISC_USER | AP_PERF_RECORD_MISC_EXACT_IP);
		begin(&want, type, 2 | 4);
		if (type & 1) {
			word(&in, 0x401000);
			word(&want, 0x401000);
		}
		if (type & (2 | 16))
			pair(&in, 42, 43);
		if (type & 2)
			pair(&want, 42, 43);
		if (type & 4) {
			word(&in, 123456789);
			word(&want, 123456789);
		}
		if (type & 8) {
			word(&in, 0x7fff0000);
			word(&want, 0x7fff0000);
		}
		if (type & 16) {
			word(&in, 2); /* nr, time enabled, time running, { value, id } */
			word(&in, 77);
			word(&in, 66);
			word(&in, 500);
			word(&in, 10);
			word(&in, 600);
			word(&in, 11);
			word(&want, 2);
			word(&want, 990); /* { event, val } */
			word(&want, 500);
			word(&want, 989);
			word(&want, 600);
		}
		if (type & 32) {
			word(&in, 3);
			word(&in, AP_PERF_CONTEXT_USER);
			word(&in, 0x401000);
			word(&in, 0x402000);
			four(&want, 2, 0, 0, 2);
			word(&want, 0x401000);
			word(&want, 0x402000);
		}
		expect(type, 3);
	}
}

static void a_chain_has_numbers_for_its_contexts(void)
{
	begin(&in, AP_PERF_RECORD_SAMPLE, AP_PERF_RECORD_MISC_KERNEL);
	word(&in, 11);
	word(&in, AP_PERF_CONTEXT_HV);
	word(&in, 1);
	word(&in, AP_PERF_CONTEXT_KERNEL);
	word(&in, 2);
	word(&in, 3);
	word(&in, AP_PERF_CONTEXT_USER);
	word(&in, 4);
	word(&in, 5);
	word(&in, 6);
	word(&in, AP_PERF_CONTEXT_GUEST); /* 2009 knew of none */
	word(&in, 7);
	begin(&want, ANYPERF_LEGACY_RECORD_CALLCHAIN, 1 | 4);
	four(&want, 6, 1, 2, 3);
	for (u64 ip = 1; ip <= 6; ip++)
		word(&want, ip);
	expect(ANYPERF_LEGACY_RECORD_CALLCHAIN, 0);

	begin(&in, AP_PERF_RECORD_SAMPLE, 0);
	word(&in, 0);
	begin(&want, ANYPERF_LEGACY_RECORD_CALLCHAIN, 4);
	four(&want, 0, 0, 0, 0);
	expect(ANYPERF_LEGACY_RECORD_CALLCHAIN, 0);
}

static void an_unknown_event_keeps_its_id(void)
{
	begin(&in, AP_PERF_RECORD_SAMPLE, 0);
	pair(&in, 1, 1);
	word(&in, 1);
	word(&in, 5);
	word(&in, 100);
	begin(&want, ANYPERF_LEGACY_RECORD_GROUP, 4);
	word(&want, 1);
	word(&want, 100);
	word(&want, 5);
	expect(ANYPERF_LEGACY_RECORD_GROUP, 0);
}

/* Modes are flags in 2009, and 4 is no guest. */
static void misc_has_flags(void)
{
	static const u16 rows[][2] = { { AP_PERF_RECORD_MISC_CPUMODE_UNKNOWN, 0 },
				       { AP_PERF_RECORD_MISC_KERNEL, 1 },
				       { AP_PERF_RECORD_MISC_USER, 2 },
				       { AP_PERF_RECORD_MISC_HYPERVISOR, 0 },
				       { AP_PERF_RECORD_MISC_GUEST_KERNEL, 0 },
				       { AP_PERF_RECORD_MISC_GUEST_USER, 0 },
				       { AP_PERF_RECORD_MISC_USER | AP_PERF_RECORD_MISC_COMM_EXEC,
					 2 } };

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		begin(&in, AP_PERF_RECORD_SAMPLE, rows[i][0]);
		begin(&want, 0, rows[i][1] | 4);
		expect(0, 0);
		begin(&in, AP_PERF_RECORD_COMM, rows[i][0]);
		pair(&in, 1, 2);
		add(&in, "name\0\0\0", 8);
		begin(&want, 3, rows[i][1]);
		pair(&want, 1, 2);
		add(&want, "name\0\0\0", 8);
		expect(0, 0);
	}
	EXPECT_U64(ANYPERF_LEGACY_MISC_KERNEL, 1);
	EXPECT_U64(ANYPERF_LEGACY_MISC_USER, 2);
	EXPECT_U64(ANYPERF_LEGACY_MISC_OVERFLOW, 4);
}

static void mappings_and_names_keep_their_layout(void)
{
	static const u32 types[][2] = { { AP_PERF_RECORD_MMAP, 1 }, { AP_PERF_RECORD_MUNMAP, 2 } };

	for (u32 i = 0; i < AP_ARRAY_SIZE(types); i++) {
		begin(&in, types[i][0], AP_PERF_RECORD_MISC_USER);
		begin(&want, types[i][1], 2);
		for (struct bytes *b = &in; b; b = b == &in ? &want : NULL) {
			pair(b, 42, 43);
			word(b, 0x400000);
			word(b, 0x2000);
			word(b, 0x1000);
			add(b, "/bin/true\0\0\0\0\0\0", 16);
		}
		expect(63, 3);
	}
	EXPECT_U64(ANYPERF_LEGACY_MMAP, 1);
	EXPECT_U64(ANYPERF_LEGACY_MUNMAP, 2);
	EXPECT_U64(ANYPERF_LEGACY_COMM, 3);
}

/* Above all LOST, whose number was MUNMAP's. */
static void what_2009_had_not_is_left_out(void)
{
	for (u32 type = 0; type < AP_PERF_RECORD_MAX + 2; type++) {
		if (type == AP_PERF_RECORD_MMAP || type == AP_PERF_RECORD_COMM ||
		    type == AP_PERF_RECORD_SAMPLE)
			continue;
		begin(&in, type, 0);
		word(&in, 1);
		word(&in, 2);
		EXPECT_U64(translate(63, 3), 0);
	}
}

/* Bytes of anything: never more out than in, never beyond what is there (asan looks on). */
static void wrong_lengths_are_refused(void)
{
	u32 taken = 0;

	begin(&in, AP_PERF_RECORD_SAMPLE, 0);
	word(&in, 1);
	EXPECT_U64(translate(0, 0), -AP_EINVAL); /* more than it has fields */
	EXPECT_U64(translate(3, 0), -AP_EINVAL); /* fewer */
	begin(&in, AP_PERF_RECORD_SAMPLE, 0);
	pair(&in, 1, 1);
	word(&in, ~0ULL);
	EXPECT_U64(translate(ANYPERF_LEGACY_RECORD_GROUP, 0), -AP_EINVAL);
	begin(&in, AP_PERF_RECORD_SAMPLE, 0);
	word(&in, ~0ULL);
	EXPECT_U64(translate(ANYPERF_LEGACY_RECORD_CALLCHAIN, 0), -AP_EINVAL);
	srand(1);
	for (u32 i = 0; i < 200000; i++) {
		u32 n = 8 + 8 * ((u32)rand() % 12), type = (u32)rand() % 64;
		struct ap_legacy_ring ring = { type, (u32)rand() % 4, config_of, NULL };
		u8 *exact = malloc(n), *room = malloc(n);
		u32 kind = AP_PERF_RECORD_SAMPLE;
		u16 size = (u16)n;
		int ret;

		REQUIRE(exact && room);
		for (u32 at = 0; at < n; at += 8) {
			u64 v = (u64)rand() % 5;

			memcpy(exact + at, &v, 8);
		}
		memcpy(exact, &kind, 4);
		memcpy(exact + 6, &size, 2);
		ret = ap_legacy_record(&ring, exact, n, room);
		REQUIRE(ret == -AP_EINVAL || (ret >= 8 && ret <= (int)n));
		taken += ret > 0;
		free(exact);
		free(room);
	}
	EXPECT(taken > 1000);
}

static void reads_are_value_and_times(void)
{
	static const u64 both[] = { 2, 70, 60, 500, 10, 600, 11 }, bare[] = { 2, 500, 10, 600, 11 };
	static const u64 one[] = { 2, 70, 500, 10, 600, 11 };
	u64 got[3];

	EXPECT_U64(ap_legacy_read(3, 11, both, 7, got), 3);
	EXPECT(got[0] == 600 && got[1] == 70 && got[2] == 60);
	EXPECT_U64(ap_legacy_read(3, 10, both, 7, got), 3);
	EXPECT(got[0] == 500 && got[1] == 70 && got[2] == 60);
	EXPECT_U64(ap_legacy_read(0, 11, bare, 5, got), 1);
	EXPECT_U64(got[0], 600);
	EXPECT_U64(ap_legacy_read(1, 11, one, 6, got), 2);
	EXPECT(got[0] == 600 && got[1] == 70);
	EXPECT_U64(ap_legacy_read(2, 10, one, 6, got), 2);
	EXPECT(got[0] == 500 && got[1] == 70);
	EXPECT_U64(ap_legacy_read(3, 10, both, 0, got), 0); /* an event in error */
	EXPECT_U64(ap_legacy_read(3, 12, both, 7, got), -AP_EINVAL);
	EXPECT_U64(ap_legacy_read(3, 11, both, 6, got), -AP_EINVAL);
	EXPECT_U64(ap_legacy_read(3, 11, both, 2, got), -AP_EINVAL);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(each_overflow_has_what_it_selects_in_order),
						 TAP(a_chain_has_numbers_for_its_contexts),
						 TAP(an_unknown_event_keeps_its_id),
						 TAP(misc_has_flags),
						 TAP(mappings_and_names_keep_their_layout),
						 TAP(what_2009_had_not_is_left_out),
						 TAP(wrong_lengths_are_refused),
						 TAP(reads_are_value_and_times),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
