/* SPDX-License-Identifier: MIT */
/* The attr of 2009: its layout by offset, and what today's attr is made of each part of it. */
#include <string.h>

#include "abi/errno.h"
#include "legacy/legacy.h"
#include "tap/tap.h"

#define PAGE 4096

static struct ap_perf_attr now;

static int attr_of(const struct anyperf_legacy_attr *old)
{
	memset(&now, 0xee, sizeof(now));
	return ap_legacy_attr(old, PAGE, &now);
}

static void the_layout_is_that_of_2009(void)
{
	EXPECT_U64(sizeof(struct anyperf_legacy_attr), 56);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, config), 0);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, irq_period), 8);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, record_type), 16);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, read_format), 20);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, extra_config_len), 32);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, wakeup_events), 36);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, __reserved_2), 40);
	EXPECT_U64(offsetof(struct anyperf_legacy_attr, __reserved_3), 48);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, version), 0);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, compat_version), 4);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, lock), 8);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, index), 12);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, offset), 16);
	EXPECT_U64(offsetof(struct anyperf_legacy_page, head), 24);
	EXPECT_U64(sizeof(struct anyperf_legacy_page), 32);
	EXPECT_U64(sizeof(struct anyperf_legacy_header), 8);
	EXPECT_U64(sizeof(struct anyperf_legacy_callchain), 8);
}

/* Bit n of the word, counted from where this machine's first bit field lies. */
static void set_bit(struct anyperf_legacy_attr *a, u32 n)
{
	u64 word;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	n = 63 - n;
#endif
	memcpy(&word, (char *)a + 24, 8);
	word ^= 1ULL << n;
	memcpy((char *)a + 24, &word, 8);
}

/* Today's flag of each, 0: it has none; beyond: reserved. */
static void each_bit_is_where_it_was(void)
{
	static const u64 flags[] = { AP_PERF_DISABLED,	   AP_PERF_INHERIT,
				     AP_PERF_PINNED,	   AP_PERF_EXCLUSIVE,
				     AP_PERF_EXCLUDE_USER, AP_PERF_EXCLUDE_KERNEL,
				     AP_PERF_EXCLUDE_HV,   AP_PERF_EXCLUDE_IDLE,
				     AP_PERF_MMAP,	   0,
				     AP_PERF_COMM };

	for (u32 i = 0; i < 64; i++) {
		struct anyperf_legacy_attr a = { .wakeup_events = 1 };

		set_bit(&a, i);
		if (i >= AP_ARRAY_SIZE(flags)) {
			EXPECT_U64(attr_of(&a), -AP_EINVAL);
		} else if (!flags[i]) {
			/* asked for by another call */
			EXPECT(a.munmap);
			EXPECT_U64(attr_of(&a), 0);
			EXPECT_U64(now.flags, 0);
		} else {
			EXPECT_U64(attr_of(&a), 0);
			EXPECT_U64(now.flags, flags[i]);
		}
	}
}

static void config_has_three_parts(void)
{
	static const struct {
		u64 config;
		int err;
		u32 type;
		u64 id;
	} rows[] = {
		{ 0, 0, AP_PERF_TYPE_HARDWARE, 0 },
		{ 6, 0, AP_PERF_TYPE_HARDWARE, AP_PERF_COUNT_HW_BUS_CYCLES },
		{ 7, -AP_EINVAL, 0, 0 }, /* came later */
		{ 1ULL << 55, -AP_EINVAL, 0, 0 },
		{ 0x0100000000000000, 0, AP_PERF_TYPE_SOFTWARE, 0 },
		{ 0x0100000000000008, 0, AP_PERF_TYPE_SOFTWARE, AP_PERF_COUNT_SW_EMULATION_FAULTS },
		{ 0x0100000000000009, -AP_EINVAL, 0, 0 },
		{ 0x0200000000000123, 0, AP_PERF_TYPE_TRACEPOINT, 0x123 },
		{ 0x02ffffffffffffff, 0, AP_PERF_TYPE_TRACEPOINT, 0xffffffffffffff },
		{ 0x0300000000000000, -AP_EINVAL, 0, 0 },
		{ 0x7f00000000000000, -AP_EINVAL, 0, 0 },
		{ 0x8000000000004064, 0, AP_PERF_TYPE_RAW, 0x4064 },
		{ 0xffffffffffffffff, 0, AP_PERF_TYPE_RAW, 0x7fffffffffffffff },
	};

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct anyperf_legacy_attr a = { .config = rows[i].config };

		if (!EXPECT_U64(attr_of(&a), rows[i].err) || rows[i].err)
			continue;
		EXPECT_U64(now.type, rows[i].type);
		EXPECT_U64(now.config, rows[i].id);
	}
	EXPECT_U64(ANYPERF_LEGACY_CONFIG(ANYPERF_LEGACY_TYPE_SOFTWARE, 2), 0x0100000000000002);
	EXPECT_U64(ANYPERF_LEGACY_CONFIG_RAW(0x4064), 0x8000000000004064);
}

static void the_period_makes_a_sampling_event(void)
{
	struct anyperf_legacy_attr a = { .irq_period = 0 };

	EXPECT_U64(attr_of(&a), 0);
	EXPECT_U64(now.sample_period, 0);
	a.irq_period = 1000;
	EXPECT_U64(attr_of(&a), 0);
	EXPECT_U64(now.sample_period, 1000);
	EXPECT_U64(now.flags & AP_PERF_FREQ, 0);
	EXPECT_U64(now.size, 136);
}

static void record_type_selects_fields(void)
{
	static const u64 types[] = { AP_PERF_SAMPLE_IP,	  AP_PERF_SAMPLE_TID,
				     AP_PERF_SAMPLE_TIME, AP_PERF_SAMPLE_ADDR,
				     AP_PERF_SAMPLE_READ, AP_PERF_SAMPLE_CALLCHAIN };

	for (u32 i = 0; i < 32; i++) {
		struct anyperf_legacy_attr a = { .record_type = 1U << i };

		EXPECT_U64(attr_of(&a), i < 6 ? 0 : -AP_EINVAL);
		if (i < 6 && i != 4)
			EXPECT_U64(now.sample_type, types[i]);
		if (i == 4) {
			EXPECT_U64(now.sample_type, AP_PERF_SAMPLE_READ | AP_PERF_SAMPLE_TID);
			EXPECT_U64(now.read_format, AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID);
		}
	}
}

static void read_format_has_two_bits(void)
{
	for (u32 i = 0; i < 32; i++) {
		struct anyperf_legacy_attr a = { .read_format = 1U << i };

		EXPECT_U64(attr_of(&a), i < 2 ? 0 : -AP_EINVAL);
		if (i < 2)
			EXPECT_U64(now.read_format, 1U << i);
	}
}

static void a_wakeup_comes_with_each_page_or_each_n(void)
{
	struct anyperf_legacy_attr a = { .wakeup_events = 3 };

	EXPECT_U64(attr_of(&a), 0);
	EXPECT_U64(now.flags, 0);
	EXPECT_U64(now.wakeup_events, 3);
	a.wakeup_events = 0;
	EXPECT_U64(attr_of(&a), 0);
	EXPECT_U64(now.flags, AP_PERF_WATERMARK);
	EXPECT_U64(now.wakeup_events, PAGE);
}

static void what_is_reserved_is_zero(void)
{
	struct anyperf_legacy_attr a = { .extra_config_len = 1 };

	EXPECT_U64(attr_of(&a), -AP_EINVAL);
	a = (struct anyperf_legacy_attr){ .__reserved_2 = 1 };
	EXPECT_U64(attr_of(&a), -AP_EINVAL);
	a = (struct anyperf_legacy_attr){ .__reserved_3 = 1ULL << 63 };
	EXPECT_U64(attr_of(&a), -AP_EINVAL);
}

static void what_nobody_counts_was_einval(void)
{
	EXPECT_U64(ap_legacy_error(AP_ENOENT), AP_EINVAL);
	EXPECT_U64(ap_legacy_error(AP_EACCES), AP_EACCES);
	EXPECT_U64(ap_legacy_error(AP_ENOSPC), AP_ENOSPC);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(the_layout_is_that_of_2009),
						 TAP(each_bit_is_where_it_was),
						 TAP(config_has_three_parts),
						 TAP(the_period_makes_a_sampling_event),
						 TAP(record_type_selects_fields),
						 TAP(read_format_has_two_bits),
						 TAP(a_wakeup_comes_with_each_page_or_each_n),
						 TAP(what_is_reserved_is_zero),
						 TAP(what_nobody_counts_was_einval),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
