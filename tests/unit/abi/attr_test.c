/* SPDX-License-Identifier: MIT */
/* Sizes of attrs from the past and the future, as Linux 6.18 was seen to take them. */
#include <string.h>

#include "abi/attr.h"
#include "abi/errno.h"
#include "tap/tap.h"

static u8 bytes[AP_PERF_ATTR_SIZE_MAX + 8];

static int copy(u32 size, u64 avail, struct ap_perf_attr *out, u32 *back)
{
	memset(out, 0xee, sizeof(*out));
	*back = 7;
	return ap_perf_attr_copy(bytes, size, avail, out, back);
}

static void every_size_from_64_to_a_page_is_taken(void)
{
	struct ap_perf_attr a, want;
	u32 back;

	memset(bytes, 0, sizeof(bytes));
	memset(bytes, 0x5a, sizeof(a));
	for (u32 size = 64; size <= AP_PERF_ATTR_SIZE_MAX; size++) {
		EXPECT_U64(copy(size, AP_PERF_ATTR_SIZE_MAX, &a, &back), 0);
		memset(&want, 0, sizeof(want));
		memset(&want, 0x5a, size < sizeof(want) ? size : sizeof(want));
		want.size = size;
		if (!EXPECT_MEM(&a, &want, sizeof(a)))
			break;
		EXPECT_U64(back, 7);
	}
}

static void zero_is_the_first_version(void)
{
	struct ap_perf_attr a;
	u32 back;

	memset(bytes, 0x5a, sizeof(bytes));
	EXPECT_U64(copy(0, 64, &a, &back), 0);
	EXPECT_U64(a.size, AP_PERF_ATTR_SIZE_VER0);
	EXPECT_U64(a.config1, 0x5a5a5a5a5a5a5a5aULL);
	EXPECT_U64(a.config2, 0);
}

static void other_sizes_tell_ours(void)
{
	static const u32 sizes[] = { 1, 63, AP_PERF_ATTR_SIZE_MAX + 1, ~0U };
	struct ap_perf_attr a;
	u32 back;

	memset(bytes, 0, sizeof(bytes));
	for (u32 i = 0; i < AP_ARRAY_SIZE(sizes); i++) {
		EXPECT_U64(copy(sizes[i], sizeof(bytes), &a, &back), -AP_E2BIG);
		EXPECT_U64(back, 136);
	}
	/* of the future, with something in what we do not know */
	for (u32 at = 136; at < 200; at++) {
		memset(bytes, 0, sizeof(bytes));
		bytes[at] = 1;
		EXPECT_U64(copy(200, 200, &a, &back), -AP_E2BIG);
		EXPECT_U64(back, 136);
		EXPECT_U64(copy(at, 200, &a, &back), 0);
	}
}

static void what_is_not_there_is_a_fault(void)
{
	struct ap_perf_attr a;
	u32 back;

	memset(bytes, 0, sizeof(bytes));
	EXPECT_U64(copy(136, 135, &a, &back), -AP_EFAULT);
	EXPECT_U64(copy(0, 63, &a, &back), -AP_EFAULT);
	EXPECT_U64(back, 7);
}

static const struct ap_perf_attr_port port = { AP_PERF_REGS_X86_64, true, true };

static void branch_levels_are_completed(void)
{
	const struct ap_perf_attr_port no_kernel = { AP_PERF_REGS_X86_64, true, false };
	struct ap_perf_attr a = { .sample_type = AP_PERF_SAMPLE_BRANCH_STACK,
				  .branch_sample_type = 8 };

	EXPECT_U64(ap_perf_attr_check(&a, &port), 0);
	EXPECT_U64(a.branch_sample_type, 8 | 7);
	a.branch_sample_type = 8;
	EXPECT_U64(ap_perf_attr_check(&a, &no_kernel), -AP_EACCES);
	a.branch_sample_type = 8;
	a.flags = AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
	EXPECT_U64(ap_perf_attr_check(&a, &no_kernel), 0);
	EXPECT_U64(a.branch_sample_type, 8 | AP_PERF_SAMPLE_BRANCH_USER);
	a.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_KERNEL;
	EXPECT_U64(ap_perf_attr_check(&a, &no_kernel), -AP_EACCES);
	/* unasked, nothing of it matters */
	a.sample_type = 0;
	a.branch_sample_type = ~0ULL;
	EXPECT_U64(ap_perf_attr_check(&a, &no_kernel), 0);
}

static void a_port_without_registers_says_so(void)
{
	const struct ap_perf_attr_port bare = { 0, false, true };
	struct ap_perf_attr a = { .sample_type = AP_PERF_SAMPLE_REGS_USER, .sample_regs_user = 1 };

	EXPECT_U64(ap_perf_attr_check(&a, &bare), -AP_ENOSYS);
	a.sample_regs_user = 0;
	EXPECT_U64(ap_perf_attr_check(&a, &bare), 0);
	EXPECT_U64(ap_perf_attr_check(&a, &port), -AP_EINVAL);
	a.sample_type = AP_PERF_SAMPLE_STACK_USER;
	EXPECT_U64(ap_perf_attr_check(&a, &bare), -AP_ENOSYS);
	EXPECT_U64(ap_perf_attr_check(&a, &port), 0);
}

static void every_bit_is_known_or_refused(void)
{
	for (u32 bit = 0; bit < 64; bit++) {
		struct ap_perf_attr a = { .flags = 1ULL << bit };
		bool needs_more = bit == 35 || bit == 37; /* inherit, remove_on_exec */

		EXPECT_U64(ap_perf_attr_check(&a, &port), bit > 37 || needs_more ? -AP_EINVAL : 0);
		a = (struct ap_perf_attr){ .read_format = 1ULL << bit };
		EXPECT_U64(ap_perf_attr_check(&a, &port), bit > 4 ? -AP_EINVAL : 0);
		a = (struct ap_perf_attr){ .sample_type = 1ULL << bit,
					   .branch_sample_type = 8,
					   .sample_regs_user = 1,
					   .sample_regs_intr = 1 };
		EXPECT_U64(ap_perf_attr_check(&a, &port), bit > 24 ? -AP_EINVAL : 0);
		a = (struct ap_perf_attr){ .sample_type = AP_PERF_SAMPLE_REGS_USER,
					   .sample_regs_user = 1ULL << bit };
		EXPECT_U64(ap_perf_attr_check(&a, &port),
			   (bit >= 12 && bit < 16) || (bit >= 24 && bit < 32) ? -AP_EINVAL : 0);
		a = (struct ap_perf_attr){ .sample_type = AP_PERF_SAMPLE_BRANCH_STACK,
					   .branch_sample_type = 1ULL << bit };
		EXPECT_U64(ap_perf_attr_check(&a, &port), bit < 3 || bit > 19 ? -AP_EINVAL : 0);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(every_size_from_64_to_a_page_is_taken),
						 TAP(zero_is_the_first_version),
						 TAP(other_sizes_tell_ours),
						 TAP(what_is_not_there_is_a_fault),
						 TAP(branch_levels_are_completed),
						 TAP(a_port_without_registers_says_so),
						 TAP(every_bit_is_known_or_refused),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
