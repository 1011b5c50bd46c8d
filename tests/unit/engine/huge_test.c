/* SPDX-License-Identifier: MIT */
/*
 * Where huge pages are: what calls that change mappings leave of them, also where the table is full; and the TLBs of a
 * thread, which are told.
 */
#include "engine/runtime/huge.h"

#include <stdlib.h>
#include <string.h>

#include "engine/access/feed.h"
#include "engine/access/feed_own.h"
#include "model/model.h"
#include "tap/tap.h"

#define MB     (1ULL << 20)
#define BASE   0x7f0000000000ULL
#define AT(mb) (BASE + (mb)*MB)

static void begin(void)
{
	ap_huge_mend();
}

/* Pairs of addresses in MB from BASE. */
static void expect(const u32 *pairs, u32 n)
{
	struct ap_huge_table t;

	(void)!ap_huge_list(&t);
	if (!EXPECT_U64(t.n, n))
		return;
	for (u32 k = 0; k < n; k++) {
		EXPECT_U64(t.range[k].start, AT(pairs[2 * k]));
		EXPECT_U64(t.range[k].end, AT(pairs[2 * k + 1]));
	}
}

static void flags_ask_for_them(void)
{
	EXPECT(!ap_huge_is_asked(0x22));
	EXPECT(ap_huge_is_asked(0x40022));
	EXPECT(ap_huge_is_asked(0x40022 | 21U << 26));
	EXPECT(ap_huge_is_asked(0x40022 | 30U << 26));
	/* a size without the flag asks for nothing */
	EXPECT(!ap_huge_is_asked(0x22 | 21U << 26));
	EXPECT_U64(ap_huge_len(0x22, 4097), 4097);
	EXPECT_U64(ap_huge_len(0x40022, 4096), 2 * MB);
	EXPECT_U64(ap_huge_len(0x40022 | 21U << 26, 2 * MB + 1), 4 * MB);
	EXPECT_U64(ap_huge_len(0x40022 | 30U << 26, 1), 1024 * MB);
}

static void what_is_mapped_is_known_to_its_last_page(void)
{
	begin();
	expect(NULL, 0);
	ap_huge_map(AT(16), 4 * MB);
	ap_huge_map(AT(4), 1);
	ap_huge_map(AT(8), 2 * MB + 1);
	expect((const u32[]){ 4, 6, 8, 12, 16, 20 }, 3);
	ap_huge_map(AT(6), 2 * MB);
	expect((const u32[]){ 4, 12, 16, 20 }, 2);
	EXPECT(ap_huge_is_at(AT(4)));
	EXPECT(ap_huge_is_at(AT(12) - 1));
	EXPECT(!ap_huge_is_at(AT(12)));
	EXPECT(!ap_huge_is_at(AT(4) - 1));
	EXPECT(!ap_huge_is_at(AT(20)));
}

static void what_is_mapped_over_it_is_not(void)
{
	begin();
	ap_huge_map(AT(0), 32 * MB);
	ap_huge_unmap(AT(8), AT(10));
	expect((const u32[]){ 0, 8, 10, 32 }, 2);
	ap_huge_unmap(AT(30), AT(64));
	ap_huge_unmap(BASE - 4 * MB, AT(2));
	expect((const u32[]){ 2, 8, 10, 30 }, 2);
	ap_huge_unmap(AT(4), AT(28));
	expect((const u32[]){ 2, 4, 28, 30 }, 2);
	ap_huge_unmap(0, ~0ULL);
	expect(NULL, 0);
}

/* Threads look whether there was a change: only where there was one. */
static void changes_are_told(void)
{
	u32 gen;

	begin();
	gen = ap_huge_gen();
	ap_huge_unmap(0, ~0ULL);
	EXPECT_U64(ap_huge_gen(), gen);
	ap_huge_map(AT(0), 2 * MB);
	EXPECT_U64(ap_huge_gen(), gen + 1);
	ap_huge_unmap(AT(2), AT(4));
	ap_huge_unmap(AT(1), AT(1));
	EXPECT_U64(ap_huge_gen(), gen + 1);
	ap_huge_unmap(AT(0), AT(2));
	EXPECT_U64(ap_huge_gen(), gen + 2);
}

/* Misses of the first TLB by 512 pages, one after the other, when the process' ranges are these. */
static u64 misses_with(struct ap_thread_feed *tf)
{
	u64 before;

	ap_feed_names_make();
	EXPECT(!ap_feed_names_are_old());
	ap_feed_names_take(tf);
	for (u64 at = AT(0); at < AT(2); at += AP_PAGE_SIZE)
		ap_mem_data(tf->feed.mem, at, 8, 0, 0);
	before = tf->feed.count[AP_MODEL_DTLB_LOAD_MISS];
	for (u64 at = AT(0); at < AT(2); at += AP_PAGE_SIZE)
		ap_mem_data(tf->feed.mem, at, 8, 0, 0);
	return tf->feed.count[AP_MODEL_DTLB_LOAD_MISS] - before;
}

static void tlbs_are_told(void)
{
	static struct ap_thread_feed tf;
	const struct ap_machine *machine = ap_machine_find("skylake");
	u64 shared = AP_ALIGN_UP(ap_shared_bytes(machine), 64);
	char *memory = aligned_alloc(64, AP_ALIGN_UP(shared + ap_mem_bytes(machine), 64));

	REQUIRE(memory);
	memset(memory, 0, shared + ap_mem_bytes(machine));
	ap_shared_init(memory, machine);
	tf.feed.mem = ap_mem_init(memory + shared, machine, (void *)memory, tf.feed.count, 0);
	REQUIRE(tf.feed.mem);
	begin();
	ap_proc.kinds = AP_KINDS_ALL;
	EXPECT_U64(misses_with(&tf), 512);
	ap_huge_map(AT(0), 2 * MB);
	EXPECT(ap_feed_names_are_old());
	EXPECT_U64(misses_with(&tf), 0);
	ap_huge_unmap(AT(0), AT(2));
	EXPECT_U64(misses_with(&tf), 512);
	/* beside it */
	ap_huge_map(AT(2), 2 * MB);
	EXPECT_U64(misses_with(&tf), 512);
	free(memory);
}

/* Comes last: that it was too short is remembered. */
static void a_full_table_says_so(void)
{
	struct ap_huge_table t;

	begin();
	EXPECT(ap_huge_list(&t));
	for (u32 k = 0; k < AP_HUGE_MAX - 1; k++)
		ap_huge_map(AT(8 * k), 6 * MB);
	EXPECT(ap_huge_list(&t));
	EXPECT_U64(t.n, AP_HUGE_MAX - 1);
	/* room for one that is cut in two, and for no other */
	ap_huge_unmap(AT(2), AT(4));
	EXPECT(ap_huge_list(&t));
	EXPECT_U64(t.n, AP_HUGE_MAX);
	ap_huge_unmap(AT(10), AT(12));
	EXPECT(!ap_huge_list(&t));
	EXPECT_U64(t.n, AP_HUGE_MAX);
	EXPECT(ap_huge_is_at(AT(8)));
	EXPECT(!ap_huge_is_at(AT(10)));
	EXPECT(!ap_huge_is_at(AT(12)));
	EXPECT(ap_huge_is_at(AT(16)));
	ap_huge_map(AT(8 * AP_HUGE_MAX), 2 * MB);
	EXPECT(!ap_huge_is_at(AT(8 * AP_HUGE_MAX)));
	/* with room again what comes is known */
	ap_huge_unmap(AT(0), AT(32));
	ap_huge_map(AT(8), 2 * MB);
	EXPECT(ap_huge_is_at(AT(8)));
	EXPECT(!ap_huge_list(&t));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(flags_ask_for_them),
						 TAP(what_is_mapped_is_known_to_its_last_page),
						 TAP(what_is_mapped_over_it_is_not),
						 TAP(changes_are_told),
						 TAP(tlbs_are_told),
						 TAP(a_full_table_says_so),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
