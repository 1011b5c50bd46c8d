/* SPDX-License-Identifier: MIT */
/* The store of translated code: what is put in is found, and nothing that was cut, changed, made up or half written is. */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cache/store.h"
#include "engine/runtime/mem.h"
#include "tap/tap.h"

#define WORDS 40

static const u64 key[2] = { 0x123456789abcdef0ULL, 42 };
static const u64 other_key[2] = { 0x123456789abcdef0ULL, 43 };
static struct ap_store *store;

/* A record's memory. */
union place {
	struct ap_record r;
	u64 words[sizeof(struct ap_record) / 8 + WORDS];
};

void ap_mem_unmap(void *p, u64 size)
{
	EXPECT(munmap(p, size) == 0);
}

static void begin(void)
{
	store = mmap(NULL, AP_STORE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	REQUIRE(store != MAP_FAILED);
	ap_store_use(store, key);
	EXPECT(ap_store_is_there());
}

static void end(void)
{
	ap_store_part();
	EXPECT(!ap_store_is_there());
}

/* Of a block whose code begins with n. */
static struct ap_store_key key_of(u64 n)
{
	u8 code[16] = { 0 };

	memcpy(code, &n, sizeof(n));
	return ap_store_key(0x400000 + n % 4096, n / 64, code, 7);
}

static void put(u64 n)
{
	struct ap_store_key k = key_of(n);
	union place p = { .r = { .size = sizeof(p), .nsource = 8 * WORDS } };

	for (u32 i = 0; i < WORDS; i++)
		p.words[sizeof(struct ap_record) / 8 + i] = n + i;
	ap_store_put(&p.r, &k);
}

/* So many records of n. */
static u32 find(u64 n)
{
	struct ap_store_key k = key_of(n);
	const struct ap_record *r;
	u32 found = 0;
	u64 first;

	while ((r = ap_store_next(&k))) {
		memcpy(&first, r + 1, sizeof(first));
		EXPECT_U64(first, n);
		EXPECT_U64(r->size, sizeof(union place));
		found++;
	}
	return found;
}

static void what_is_put_in_is_found(void)
{
	begin();
	for (u64 n = 0; n < 500; n++)
		EXPECT_U64(find(n * 977), 0);
	for (u64 n = 0; n < 500; n++)
		put(n * 977);
	for (u64 n = 0; n < 500; n++)
		EXPECT_U64(find(n * 977), 1);
	EXPECT_U64(find(3), 0);
	end();
}

static void code_differs_by_place_and_kinds(void)
{
	const u8 code[16] = { 1, 2, 3 };
	struct ap_store_key a, b;
	union place p = { .r = { .size = sizeof(p) } };

	begin();
	a = ap_store_key(0x400100, 1, code, 7);
	ap_store_put(&p.r, &a);
	a = ap_store_key(0x555555554100, 1, code, 7);
	EXPECT(ap_store_next(&a));
	b = ap_store_key(0x400101, 1, code, 7);
	EXPECT(!ap_store_next(&b));
	b = ap_store_key(0x400100, 1, code, 6);
	EXPECT(!ap_store_next(&b));
	/* the hash alone is no proof of the rest */
	b = ap_store_key(0x400100, 1, code, 7);
	b.how = 6;
	EXPECT(!ap_store_next(&b));
	b = ap_store_key(0x400100, 1, code, 7);
	b.in_page++;
	EXPECT(!ap_store_next(&b));
	end();
}

/* The last byte that is fetched is of whatever follows. */
static void fifteen_bytes_count(void)
{
	u8 code[16] = { 1, 2, 3 };
	struct ap_store_key a = ap_store_key(0x400100, 1, code, 7), b;

	code[15] = 9;
	b = ap_store_key(0x400100, 1, code, 7);
	EXPECT(a.hash == b.hash);
	code[14] = 9;
	b = ap_store_key(0x400100, 1, code, 7);
	EXPECT(a.hash != b.hash);
}

static void a_flipped_record_is_none(void)
{
	u8 *at;

	begin();
	put(5);
	at = store->pieces[0];
	for (u32 i = 0; i < 8 * sizeof(union place); i++) {
		at[i / 8] ^= (u8)(1U << i % 8);
		EXPECT_U64(find(5), 0);
		at[i / 8] ^= (u8)(1U << i % 8);
	}
	EXPECT_U64(find(5), 1);
	end();
}

static void a_truncated_record_is_none(void)
{
	struct ap_record *r;

	begin();
	put(5);
	r = (struct ap_record *)store->pieces[0];
	for (u32 size = 0; size < sizeof(union place); size++) {
		r->size = size;
		EXPECT_U64(find(5), 0);
	}
	r->size = sizeof(union place);
	memset(store->pieces[2], 0, sizeof(union place) - 2 * AP_STORE_PIECE);
	EXPECT_U64(find(5), 0);
	r->size = UINT32_MAX;
	EXPECT_U64(find(5), 0);
	r->size = AP_RECORD_MAX + 8;
	EXPECT_U64(find(5), 0);
	end();
}

static void what_another_key_sealed_is_none(void)
{
	begin();
	ap_store_use(store, other_key);
	put(5);
	EXPECT_U64(find(5), 1);
	ap_store_use(store, key);
	EXPECT_U64(find(5), 0);
	put(5); /* beside it */
	EXPECT_U64(find(5), 1);
	end();
}

static bool is_marked(u64 n)
{
	struct ap_store_key k = key_of(n);

	EXPECT(!ap_store_next(&k));
	return k.is_marked;
}

static void mark(u64 n)
{
	const struct ap_store_key k = key_of(n);

	ap_store_mark(&k);
}

static void a_mark_is_no_record(void)
{
	begin();
	EXPECT(!is_marked(9));
	mark(9);
	EXPECT(is_marked(9));
	EXPECT(!is_marked(10));
	put(9);
	EXPECT_U64(find(9), 1);
	EXPECT_U64(store->used, (sizeof(union place) + AP_STORE_PIECE - 1) / AP_STORE_PIECE);
	end();
}

/* Other code whose search begins with the same entry. */
static struct ap_store_key neighbour(u64 n)
{
	struct ap_store_key k = key_of(9);

	k.hash += n << 32;
	return k;
}

/* However many there are: a record takes the place of one, and no mark that of a record. */
static void marks_make_room(void)
{
	union place p = { .r = { .size = sizeof(p) } };
	struct ap_store_key k;
	u32 found = 0;

	begin();
	for (u64 n = 1; n <= 100; n++) {
		k = neighbour(n);
		ap_store_mark(&k);
		k = neighbour(n);
		EXPECT(!ap_store_next(&k));
		EXPECT(k.is_marked);
	}
	for (u64 n = 1; n <= 4; n++) {
		k = neighbour(1000 * n);
		ap_store_put(&p.r, &k);
	}
	for (u64 n = 1; n <= 100; n++) {
		k = neighbour(n);
		ap_store_mark(&k);
	}
	for (u64 n = 1; n <= 4; n++) {
		k = neighbour(1000 * n);
		found += ap_store_next(&k) != NULL;
	}
	EXPECT_U64(found, 4);
	end();
}

/* Any numbers in the index, and records at the store's very end. */
static void a_made_up_index_leads_nowhere(void)
{
	u64 n = 1;

	begin();
	put(5);
	for (u32 round = 0; round < 2000; round++) {
		for (u32 i = 0; i < AP_STORE_INDEX; i += 61) {
			n = n * 6364136223846793005ULL + 1442695040888963407ULL;
			store->index[i] = n;
		}
		for (u32 i = 0; i < 20 && round < 20; i++)
			(void)find(i);
		store->index[key_of(round).first] =
			key_of(round).hash >> 32 << 32 | (u32)(AP_STORE_PIECES + 3 - round % 8);
		EXPECT_U64(find(round), 0);
		round += round >= 20 ? 97 : 0;
	}
	end();
}

static void a_full_store_takes_no_more(void)
{
	begin();
	put(1);
	__atomic_store_n(&store->used, (u32)AP_STORE_PIECES - 1, __ATOMIC_RELAXED);
	put(2);
	EXPECT_U64(find(2), 0);
	EXPECT_U64(find(1), 1);
	__atomic_store_n(&store->used, UINT32_MAX, __ATOMIC_RELAXED);
	put(3);
	EXPECT_U64(find(3), 0);
	end();
}

/* Of one place and one hash there is room for some: the others are not kept, and nobody loops. */
static void an_index_that_is_full_there_takes_no_more(void)
{
	u32 found;

	begin();
	for (u32 i = 0; i < 100; i++)
		put(9);
	found = find(9);
	EXPECT(found > 1 && found < 100);
	end();
}

static void writers_do_not_disturb_each_other(void)
{
	enum { WRITERS = 4, EACH = 400 };
	int status;

	begin();
	for (u64 w = 0; w < WRITERS; w++) {
		pid_t pid = fork();

		REQUIRE(pid >= 0);
		if (pid)
			continue;
		for (u64 n = 0; n < EACH; n++)
			put((w * EACH + n) * 4099);
		_exit(0);
	}
	for (u32 w = 0; w < WRITERS; w++)
		EXPECT(wait(&status) > 0 && status == 0);
	for (u64 n = 0; n < (u64)WRITERS * EACH; n++)
		EXPECT_U64(find(n * 4099), 1);
	end();
}

static void counts_beyond_the_record_are_none(void)
{
	union place p = { .r = { .size = sizeof(p) } };
	struct ap_record_parts parts;

	p.r.nsource = 8 * WORDS;
	EXPECT(ap_record_parts(&p.r, &parts));
	EXPECT(parts.source == (u8 *)(&p.r + 1));
	p.r.nsource++;
	EXPECT(!ap_record_parts(&p.r, &parts));
	p.r.nsource = 0;
	p.r.code_len = UINT16_MAX;
	EXPECT(!ap_record_parts(&p.r, &parts));
	p.r.code_len = 0;
	p.r.nfixes = 8 * WORDS / sizeof(struct ap_record_fix);
	EXPECT(ap_record_parts(&p.r, &parts));
	EXPECT(parts.code == (u8 *)(&p + 1));
	p.r.nvecs = 1;
	EXPECT(!ap_record_parts(&p.r, &parts));
}

static void directions_are_noted(void)
{
	u8 code[16] = { 0x74, 1 };

	begin();
	EXPECT_U64(ap_store_hint(0x400010, code), 0);
	ap_store_note_hint(0x400010, code, 2);
	EXPECT_U64(ap_store_hint(0x7f0000000010, code), 2);
	EXPECT_U64(ap_store_hint(0x400011, code), 0);
	ap_store_note_hint(0x400010, code, 1);
	EXPECT_U64(ap_store_hint(0x400010, code), 1);
	end();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(what_is_put_in_is_found),
		TAP(code_differs_by_place_and_kinds),
		TAP(fifteen_bytes_count),
		TAP(a_flipped_record_is_none),
		TAP(a_truncated_record_is_none),
		TAP(what_another_key_sealed_is_none),
		TAP(a_mark_is_no_record),
		TAP(marks_make_room),
		TAP(a_made_up_index_leads_nowhere),
		TAP(a_full_store_takes_no_more),
		TAP(an_index_that_is_full_there_takes_no_more),
		TAP(writers_do_not_disturb_each_other),
		TAP(counts_beyond_the_record_are_none),
		TAP(directions_are_noted),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
