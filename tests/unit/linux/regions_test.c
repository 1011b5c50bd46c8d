/* SPDX-License-Identifier: MIT */
/* Tables of regions as tasks may leave them: half written, scribbled over, of several parties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/session/regions.h"
#include "tap/tap.h"

static struct ap_session_file ses;
static struct ap_regions *table;

static void begin(void)
{
	static const u64 kinds[] = { AP_KIND_BIT(AP_KIND_INSTR), AP_KIND_BIT(AP_KIND_BRANCH) };
	const struct ap_session_config cfg = { .flags = AP_F_COUNT | AP_F_REQUESTS,
					       .nregion_events = 2,
					       .region_kinds = kinds };

	REQUIRE(ap_session_new(&ses, &cfg) == 0);
	table = ap_session_part(&ses, AP_REGIONS_OFF);
}

static struct ap_region_row *put(u32 at, const char *name, u64 calls)
{
	struct ap_region_row *row = &table->row[at];

	strcpy(row->name, name);
	row->begun = row->ended = calls;
	row->state = AP_REGION_READY;
	return row;
}

static void is_handed_over(void)
{
	begin();
	EXPECT_U64(ses.head->nregion_events, 2);
	EXPECT_U64(ses.head->region_kinds[1], AP_KIND_BIT(AP_KIND_BRANCH));
	ap_session_close(&ses);
}

static void rows_are_read(void)
{
	struct ap_region_lines got = { 0 };
	struct ap_region_row *row;

	begin();
	row = put(7, "b", 3);
	row->sum[0] = 30;
	row->least[0] = ~5ULL;
	row->unbegun = 2;
	put(400, "a", 1);
	table->row[8].state = AP_REGION_CLAIMED;
	table->row[8].begun = 1;
	table->too_many = 4;
	REQUIRE(ap_session_regions(&ses, &got) == 0);
	EXPECT_U64(got.n, 2);
	EXPECT_STR(got.line[0].name, "a");
	EXPECT_STR(got.line[1].name, "b");
	EXPECT_U64(got.line[1].ended, 3);
	EXPECT_U64(got.line[1].sum[0], 30);
	EXPECT_U64(got.line[1].least[0], 5);
	EXPECT_U64(got.line[1].unbegun, 2);
	EXPECT_U64(got.line[0].least[0], ~0ULL);
	EXPECT_U64(got.too_many, 4);
	free(got.line);
	ap_session_close(&ses);
}

/* A name without an end, and two rows of one name. */
static void anything_may_be_there(void)
{
	struct ap_region_lines got = { 0 };
	struct ap_region_row *row;

	begin();
	row = put(0, "x", 1);
	memset(row->name, 'x', sizeof(row->name));
	row = put(1, "same", 2);
	row->sum[1] = 10;
	row->least[1] = ~9ULL;
	row = put(511, "same", 3);
	row->sum[1] = 5;
	row->least[1] = ~1ULL;
	table->row[2].state = 77;
	REQUIRE(ap_session_regions(&ses, &got) == 0);
	EXPECT_U64(got.n, 2);
	EXPECT_U64(got.line[0].ended, 5);
	EXPECT_U64(got.line[0].sum[1], 15);
	EXPECT_U64(got.line[0].least[1], 1);
	EXPECT_U64(strlen(got.line[1].name), AP_REGION_NAME - 1);
	free(got.line);
	ap_session_close(&ses);
}

/* What a party had counted that is there no more is not lost. */
static void ended_parties_are_kept(void)
{
	struct ap_region_lines got = { 0 };

	begin();
	put(3, "both", 1);
	ap_session_regions_fold(&ses, &ses);
	table->too_deep = 1;
	ap_session_regions_fold(&ses, &ses);
	REQUIRE(ap_session_regions(&ses, &got) == 0);
	EXPECT_U64(got.n, 1);
	EXPECT_U64(got.line[0].ended, 3);
	EXPECT_U64(got.too_deep, 2);
	free(got.line);
	ap_session_close(&ses);
}

/* Parties come and go, each with other names: what is kept of them is bounded. */
static void parties_without_end_are_not_kept(void)
{
	struct ap_region_lines got = { 0 };
	char name[AP_REGION_NAME];

	begin();
	for (u32 party = 0; party < 20; party++) {
		for (u32 i = 0; i < AP_REGION_ROWS; i++) {
			snprintf(name, sizeof(name), "%u of %u", i, party);
			put(i, name, 1);
		}
		ap_session_regions_fold(&ses, &ses);
	}
	put(0, "0 of 0", 1);
	REQUIRE(ap_session_regions(&ses, &got) == 0);
	EXPECT_U64(got.n, 16 * AP_REGION_ROWS);
	EXPECT_U64(got.line[0].ended, 2);
	/* of four parties, and once more of the last one, where a name is in the place of one of those */
	EXPECT_U64(got.too_many, 2 * (4 * AP_REGION_ROWS + AP_REGION_ROWS - 1));
	free(got.line);
	ap_session_close(&ses);
}

static void none_are_read_unasked(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT };
	struct ap_region_lines got = { 0 };

	REQUIRE(ap_session_new(&ses, &cfg) == 0);
	REQUIRE(ap_session_regions(&ses, &got) == 0);
	EXPECT_U64(got.n, 0);
	ap_session_close(&ses);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(is_handed_over),
		TAP(rows_are_read),
		TAP(anything_may_be_there),
		TAP(ended_parties_are_kept),
		TAP(parties_without_end_are_not_kept),
		TAP(none_are_read_unasked),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
