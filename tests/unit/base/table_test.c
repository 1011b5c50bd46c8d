/* SPDX-License-Identifier: MIT */
/* The hash table, against a list that is looked through. */
#include <stdlib.h>

#include "base/table.h"
#include "tap/tap.h"

#define MANY 600U

static struct {
	u64 key, item;
} list[MANY];
static u32 nlist;

static u64 random_word(void)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Each item that the list has with the key is found once, and nothing else is. */
static void expect_same(const struct ap_table *t, u64 key)
{
	const struct ap_table_slot *s;
	u32 want = 0, got = 0;

	for (u32 i = 0; i < nlist; i++)
		want += list[i].key == key;
	ap_table_each(t, key, s)
	{
		bool is_there = false;

		got++;
		for (u32 i = 0; i < nlist; i++)
			is_there |= list[i].key == key && list[i].item == s->item;
		EXPECT(is_there);
	}
	EXPECT_U64(got, want);
	EXPECT(!ap_table_get(t, key) == !want);
}

static void remove_one(struct ap_table *t, u32 i)
{
	struct ap_table_slot *s;

	ap_table_each(t, list[i].key, s) if (s->item == list[i].item) break;
	EXPECT(s != NULL);
	if (s)
		ap_table_remove(t, s);
	list[i] = list[--nlist];
}

/* Few keys, so that items of one key, and clusters of several, are the rule. */
static void it_has_what_was_added_and_not_removed(void)
{
	struct ap_table t = { 0 };
	u64 items = 0;

	expect_same(&t, 1);
	for (u32 step = 0; step < 4000; step++) {
		u64 key = random_word() % 97;

		if (nlist < MANY && (random_word() % 5 > 1 || !nlist)) {
			EXPECT(!ap_table_add(&t, key, ++items));
			list[nlist].key = key;
			list[nlist++].item = items;
		} else {
			remove_one(&t, (u32)(random_word() % nlist));
		}
		expect_same(&t, random_word() % 97);
		EXPECT_U64(t.n, nlist);
		EXPECT(2 * t.n <= t.room);
	}
	while (nlist)
		remove_one(&t, nlist - 1);
	for (u32 i = 0; i < t.room; i++)
		EXPECT(!t.slot[i].item);
	ap_table_fini(&t);
}

static void memory_is_the_caller_s(void)
{
	static struct ap_table_slot small[8], large[16];
	struct ap_table t = { 0 };

	EXPECT(ap_table_is_full(&t));
	EXPECT(!ap_table_move(&t, small, AP_ARRAY_SIZE(small)));
	for (u64 i = 1; i <= 4; i++) {
		EXPECT(!ap_table_is_full(&t));
		ap_table_put(&t, i << 40, i);
	}
	EXPECT(ap_table_is_full(&t));
	EXPECT(ap_table_move(&t, large, AP_ARRAY_SIZE(large)) == small);
	EXPECT(!ap_table_is_full(&t));
	for (u64 i = 1; i <= 4; i++)
		EXPECT_U64(ap_table_get(&t, i << 40), i);
	EXPECT(!ap_table_get(&t, 5ULL << 40));
}

static void a_text_has_the_hash_that_others_give_it(void)
{
	EXPECT_U64(ap_hash_text(AP_HASH_TEXT, "", 0), 0xcbf29ce484222325ULL);
	EXPECT_U64(ap_hash_text(AP_HASH_TEXT, "foobar", 6), 0x85944171f73967e8ULL);
	EXPECT_U64(ap_hash_text(ap_hash_text(AP_HASH_TEXT, "foo", 3), "bar", 3),
		   0x85944171f73967e8ULL);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(it_has_what_was_added_and_not_removed),
		TAP(memory_is_the_caller_s),
		TAP(a_text_has_the_hash_that_others_give_it),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
