/* SPDX-License-Identifier: MIT */
/*
 * Logs of branches: what is remembered of ways (feed_branch.c) must not be seen in the counts.  The
 * same branches, one by one, asked of predictors of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "model/feed.h"
#include "random.h"
#include "tap/tap.h"

#define WAYS	 300
#define BRANCHES 10
#define RECORDS	 20000

static struct ap_feed_branch branches[WAYS][BRANCHES];

/* Few branches in many ways, so that they meet in other orders and with other outcomes. */
static void make_way(struct ap_feed_way *way, struct ap_feed_branch *b, uint32_t number)
{
	way->pc = 0x400000 + number * 64;
	way->branches = b;
	way->nbranches = (u16)below(BRANCHES + 1);
	for (uint32_t k = 0; k < way->nbranches; k++) {
		uint32_t which = below(400);

		b[k].pc = 0x410000 + which * 7;
		b[k].len = 2;
		b[k].what = which % 8 == 0   ? AP_FEED_JUMP
			    : which % 8 == 1 ? AP_FEED_CALL
			    : which % 8 < 5  ? AP_FEED_NOT_TAKEN
			    : which % 8 == 5 ? AP_FEED_TAKEN
			    : below(2)	     ? AP_FEED_TAKEN
					     : AP_FEED_NOT_TAKEN;
		if (k + 1 == way->nbranches && below(2))
			b[k].what = (u8)(AP_FEED_RETURN + below(3));
	}
}

/* One by one; *before: the branch that this way tells the target of. */
static void ask(struct ap_bp *bp, const struct ap_feed_way *way, struct ap_feed_branch *before)
{
	if (before->what == AP_FEED_RETURN)
		ap_bp_ret(bp, way->pc);
	else if (before->what != AP_FEED_NOTHING)
		ap_bp_indirect(bp, before->pc, way->pc);
	before->what = AP_FEED_NOTHING;
	for (uint32_t k = 0; k < way->nbranches; k++) {
		const struct ap_feed_branch *b = &way->branches[k];

		if (b->what == AP_FEED_NOT_TAKEN || b->what == AP_FEED_TAKEN)
			ap_bp_cond(bp, b->pc, b->what == AP_FEED_TAKEN);
		else if (b->what == AP_FEED_JUMP)
			ap_bp_jump(bp, b->pc);
		else if (b->what == AP_FEED_CALL)
			ap_bp_call(bp, b->pc, b->pc + b->len);
		else
			*before = *b;
		if (b->what == AP_FEED_CALL_INDIRECT)
			ap_bp_push(bp, b->pc + b->len);
	}
}

/* Mostly some ways in a row, again and again; sometimes any. */
static uint32_t next_way(uint32_t last, uint32_t base)
{
	return below(20) == 0 ? below(WAYS) : base + (last + 1) % 12;
}

static void compare(const char *name, uint32_t btb_entries)
{
	const uint32_t units = AP_ALIGN_UP(sizeof(struct ap_feed_way), AP_FEED_ALIGN) / 16;
	struct ap_machine machine = *ap_machine_find(name);
	u8 *chunks[1] = { zeroed((size_t)(WAYS + 1) * units * AP_FEED_ALIGN) };
	struct ap_feed *f = zeroed(sizeof(*f));
	struct ap_feed_branch before = { .what = AP_FEED_NOTHING };
	uint64_t want[AP_MODEL_N] = { 0 }, log[100];
	struct ap_bp *bp;

	if (machine.bp.btb_entries && btb_entries) {
		machine.bp.btb_ways = 4;
		machine.bp.btb_entries = btb_entries;
	}
	bp = ap_bp_init(zeroed(ap_bp_bytes(&machine)), &machine, want);
	f->machine = &machine;
	f->pending = AP_FEED_NOTHING;
	f->memos = zeroed(AP_FEED_MEMO_BYTES);
	f->bp = ap_bp_init(zeroed(ap_bp_bytes(&machine)), &machine, f->count);
	f->bp->version = 0xf0000000; /* soon there are no more */
	for (uint32_t round = 0; round < RECORDS / 100; round++) {
		uint32_t base = below(WAYS - 12), way = base;

		if (round % 50 == 0) { /* numbers name other ways now */
			for (uint32_t n = 0; n < WAYS; n++)
				make_way((void *)(chunks[0] + (n + 1) * units * AP_FEED_ALIGN),
					 branches[n], n);
			ap_feed_forget_ways(f);
		}
		for (int k = 0; k < 100; k++) {
			way = next_way(way, base);
			log[k] = (way + 1) * units;
			ask(bp, ap_feed_way(chunks, (u32)log[k]), &before);
		}
		ap_feed_run(f, log, log + 100, chunks);
		for (int n = 0; n < AP_MODEL_N; n++)
			REQUIRE(EXPECT_U64(f->count[n], want[n]));
	}
	EXPECT(want[AP_MODEL_COND_MISS] > 0 && want[AP_MODEL_RETURN_MISS] > 0);
	EXPECT(f->bp->history == bp->history);
	free(chunks[0]);
	free(f->memos);
	free(f->bp);
	free(f);
	free(bp);
}

static void what_is_remembered_does_not_show(void)
{
	seed = 7;
	compare("zen3", 0);
	compare("skylake", 0);
	compare("cachegrind", 0);
	compare("zen3", 64); /* branches come and go */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(what_is_remembered_does_not_show), { 0 } };

	return tap_main(tests, argc, argv);
}
