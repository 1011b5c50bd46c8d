/* SPDX-License-Identifier: MIT */
/* The engine's memory: holes only, within reach, adjacent chunks, nothing left behind. */
#include <string.h>
#include <sys/mman.h>

#include "engine/runtime/engine.h"
#include "tap/tap.h"

struct ap_proc ap_proc;

#define MIB   (1ULL << 20)
#define NEAR  0x200000000000ULL /* nothing of the test's own is there */
#define REACH (1900 * MIB)

static bool is_free(u64 addr, u64 size)
{
	void *p = mmap((void *)addr, size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, size);
	return true;
}

static void maps_below_and_goes_round_what_is_there(void)
{
	char *mine = mmap((void *)(NEAR - 64 * MIB), 64 * MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	char *p;

	mine[64 * MIB - 1] = 7;
	p = ap_mem_map(NEAR, 10000);
	REQUIRE(p != NULL);
	EXPECT((u64)p + 12288 <= NEAR - 64 * MIB);
	EXPECT((u64)p > NEAR - 80 * MIB);
	memset(p, 1, 12288);
	EXPECT(mine[64 * MIB - 1] == 7);
	EXPECT_U64(ap_mem_total(), 12288);
	EXPECT(ap_mem_is_ours((u64)p + 12287, (u64)p + 12288));
	EXPECT(ap_mem_is_ours(0, UINT64_MAX));
	EXPECT(!ap_mem_is_ours((u64)p + 12288, NEAR));
	EXPECT(!ap_mem_is_ours((u64)p - 4096, (u64)p));
	ap_mem_unmap(p, 10000);
	EXPECT(is_free((u64)p, 12288));
	EXPECT(!ap_mem_is_ours((u64)p, (u64)p + 12288));
	EXPECT_U64(ap_mem_total(), 0);
}

static void exec_chunks_are_within_reach_and_adjacent(void)
{
	u64 a = (u64)ap_mem_map_exec(NEAR, MIB, REACH);
	u64 b = (u64)ap_mem_map_exec(NEAR + MIB, MIB, REACH);
	u64 far = (u64)ap_mem_map_exec(NEAR + 8192 * MIB, MIB, REACH);

	REQUIRE(a && b && far);
	EXPECT_U64(a, NEAR - 0x50000000 - MIB);
	EXPECT_U64(b, a - MIB);
	EXPECT(far > NEAR + 6000 * MIB && far < NEAR + 8192 * MIB);
	*(u8 *)b = 0xc3;
	((void (*)(void))b)();
	ap_mem_unmap((void *)b, MIB);
	EXPECT_U64((u64)ap_mem_map_exec(NEAR, MIB, REACH), b);
}

static void exec_chunks_of_low_code_stay_low(void)
{
	u64 a = (u64)ap_mem_map_exec(0x400000, MIB, REACH);
	u64 b = (u64)ap_mem_map_exec(0x400000, MIB, REACH);

	REQUIRE(a && b);
	/* As far above as they reach, and growing down: what is between is for the heap. */
	EXPECT_U64(a, 0x400000 + REACH - MIB);
	EXPECT_U64(b, a - MIB);
}

/* A heap that starts high leaves room below it, and needs what is above. */
static void low_code_is_served_below_a_heap_that_starts_high(void)
{
	static struct ap_boot boot = { .brk_start = 0x38000000 };
	u64 a;

	ap_proc.boot = &boot;
	a = (u64)ap_mem_map_exec(0x400000, MIB, REACH);
	EXPECT_U64(a, boot.brk_start - MIB);
	boot.brk_start = 0x1000000;
	EXPECT_U64(ap_mem_low_top(0x70000000), 0x70000000);
	boot.brk_start = 0x555555554000;
	EXPECT_U64(ap_mem_low_top(0x70000000), 0x70000000);
}

static void goes_above_where_below_is_taken(void)
{
	u64 a;

	/* Refused as a hole too small is: everything below within reach is the program's. */
	mmap((void *)(NEAR - 2048 * MIB), 2048 * MIB, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	a = (u64)ap_mem_map_exec(NEAR, MIB, REACH);
	REQUIRE(a != 0);
	EXPECT(a >= NEAR && a + MIB <= NEAR + REACH);
}

static void heap_is_zeroed_and_given_back(void)
{
	static char zero[5000];
	u64 before;
	char *p, *first;

	ap_proc.blob_lo = ap_proc.blob_hi = NEAR;
	first = ap_heap_alloc(1);
	REQUIRE(first != NULL);
	before = ap_mem_total();
	EXPECT_U64(before, 64 << 10);
	memset(first, 0xff, 16);
	for (u32 i = 0; i < 1000; i++) {
		p = ap_heap_alloc(5000);
		REQUIRE(p != NULL);
		EXPECT_U64((u64)p & 15, 0);
		EXPECT_MEM(p, zero, sizeof(zero));
		memset(p, 0xff, 5000);
	}
	p = ap_heap_alloc(10 * MIB);
	REQUIRE(p != NULL);
	memset(p, 1, 10 * MIB);
	ap_heap_reset();
	EXPECT_U64(ap_mem_total(), before);
	p = ap_heap_alloc(5000);
	EXPECT(p == first);
	EXPECT_MEM(p, zero, sizeof(zero));
}

static void count_range(u64 start, u64 end, void *arg)
{
	*(u64 *)arg += end - start;
	ap_mem_unmap(ap_mem_map(NEAR + 512 * MIB, 4096), 4096);
}

static void for_each_meets_every_byte_and_may_map(void)
{
	u64 seen = 0;

	ap_proc.blob_lo = NEAR;
	ap_proc.blob_hi = NEAR + 8192;
	REQUIRE(ap_mem_map(0, 4096) != NULL);
	REQUIRE(ap_mem_map(0, 4096) != NULL);
	REQUIRE(ap_mem_map(NEAR - 100 * MIB, MIB) != NULL);
	ap_mem_for_each(count_range, &seen);
	EXPECT_U64(seen, 16384 + MIB);
	EXPECT(ap_mem_is_ours(NEAR, NEAR + 1));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(maps_below_and_goes_round_what_is_there),
		TAP(exec_chunks_are_within_reach_and_adjacent),
		TAP(exec_chunks_of_low_code_stay_low),
		TAP(low_code_is_served_below_a_heap_that_starts_high),
		TAP(goes_above_where_below_is_taken),
		TAP(heap_is_zeroed_and_given_back),
		TAP(for_each_meets_every_byte_and_may_map),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
