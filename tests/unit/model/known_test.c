/* SPDX-License-Identifier: MIT */
/*
 * Streams whose misses can be worked out by hand: chases around each size, strides, matrix
 * multiplication by loop order; cachegrind's simulator by its manual; store forwarding.
 */
#include <stdlib.h>
#include <string.h>

#include "model/forward.h"
#include "model/model.h"
#include "tap/tap.h"

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

static uint64_t counts[AP_MODEL_N];

static struct ap_mem *new_mem(const struct ap_machine *machine)
{
	size_t shared_bytes = AP_ALIGN_UP(ap_shared_bytes(machine), 64);
	char *memory = aligned_alloc(64, shared_bytes + ap_mem_bytes(machine));

	memset(memory, 0, shared_bytes + ap_mem_bytes(machine));
	memset(counts, 0, sizeof(counts));
	ap_shared_init(memory, machine);
	return ap_mem_init(memory + shared_bytes, machine, (void *)memory, counts, 0);
}

static void free_mem(struct ap_mem *m)
{
	free(m->shared);
}

/* Everything LRU and without prefetchers: 32K/8, 256K/8, 2M/16; 64/4 and 512/8 pages, one of 16/16. */
static const struct ap_machine plain_lru = {
	.line = 64,
	.memory = 200,
	.l1i = { .size = 32768, .ways = 8, .latency = 4 },
	.l1d = { .size = 32768, .ways = 8, .latency = 4 },
	.l2 = { .size = 262144, .ways = 8, .latency = 12 },
	.llc = { .size = 2097152, .ways = 16, .latency = 40 },
	.dtlb = { .entries = 64, .ways = 4 },
	.dtlb_store = { .entries = 16, .ways = 16 },
	.stlb = { .entries = 512, .ways = 8, .latency = 7 },
	.walk_pde = 4,
	.walk_step = 10,
};

/* Reads (or writes) n places in a circle, once to warm up, then rounds times; counts of those. */
static void circle(struct ap_mem *m, uint64_t step, unsigned n, unsigned rounds, unsigned flags)
{
	for (unsigned round = 0; round <= rounds; round++) {
		if (round == 1)
			memset(counts, 0, sizeof(counts));
		for (unsigned i = 0; i < n; i++)
			ap_mem_data(m, 0x10000000 + i * step, 8, flags, 0);
	}
}

/*
 * A circle through sets x ways + extra lines: LRU keeps all in sets with ways lines, and has never the
 * next one in the extra sets that have one more.
 */
static uint64_t circle_misses(unsigned sets, unsigned ways, unsigned n)
{
	unsigned extra = n > sets * ways ? n - sets * ways : 0;

	return extra > sets ? n : (uint64_t)extra * (ways + 1);
}

static void chases_miss_by_how_far_they_exceed_a_level(void)
{
	static const unsigned lines[] = { 1,	 2,	511,   512,   513,  520,  575,
					  576,	 1000,	4095,  4096,  4097, 5000, 5120,
					  10000, 32768, 32769, 34816, 40000 };

	for (unsigned i = 0; i < AP_ARRAY_SIZE(lines); i++) {
		struct ap_mem *m = new_mem(&plain_lru);
		unsigned n = lines[i];
		uint64_t l1 = circle_misses(64, 8, n);

		circle(m, 64, n, 3, 0);
		EXPECT_U64(counts[AP_MODEL_L1D_LOAD], 3 * n);
		EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], 3 * l1);
		EXPECT_U64(counts[AP_MODEL_L2_LOAD], 3 * l1);
		/* where L2 could lack some, all miss L1: L2 sees the same circle, as does the last level */
		EXPECT_U64(counts[AP_MODEL_L2_LOAD_MISS], 3 * circle_misses(512, 8, n));
		if (n <= 4096 || n >= 4096 + 512)
			EXPECT_U64(counts[AP_MODEL_LLC_LOAD_MISS], 3 * circle_misses(2048, 16, n));
		EXPECT_U64(counts[AP_MODEL_LOAD_L2_MISS] + counts[AP_MODEL_LOAD_L2_HIT], 3 * l1);
		EXPECT_U64(counts[AP_MODEL_L1D_WRITEBACK], 0);
		free_mem(m);
	}
}

/* Each dirty line that is evicted is written back once, level by level. */
static void written_lines_come_back(void)
{
	struct ap_mem *m = new_mem(&plain_lru);

	circle(m, 64, 1024, 3, AP_MEM_WRITE);
	EXPECT_U64(counts[AP_MODEL_L1D_STORE_MISS], 3 * 1024);
	EXPECT_U64(counts[AP_MODEL_L1D_WRITEBACK], 3 * 1024);
	EXPECT_U64(counts[AP_MODEL_L2_STORE], 3 * 1024);
	EXPECT_U64(counts[AP_MODEL_L2_WRITEBACK], 0);
	free_mem(m);
	m = new_mem(&plain_lru);
	circle(m, 64, 65536, 2, AP_MEM_WRITE);
	EXPECT_U64(counts[AP_MODEL_L1D_WRITEBACK], 2 * 65536);
	EXPECT_U64(counts[AP_MODEL_L2_WRITEBACK], 2 * 65536);
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 2 * 65536);
	free_mem(m);
}

static void pages_miss_by_how_far_they_exceed_a_tlb(void)
{
	static const unsigned pages[] = { 1, 16, 17, 63, 64, 65, 70, 80, 81, 512, 513, 576, 600 };

	for (unsigned i = 0; i < AP_ARRAY_SIZE(pages); i++) {
		struct ap_mem *m = new_mem(&plain_lru);
		unsigned n = pages[i];

		circle(m, 4096, n, 3, 0);
		EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_MISS], 3 * circle_misses(16, 4, n));
		free_mem(m);
		m = new_mem(&plain_lru);
		circle(m, 4096, n, 3, AP_MEM_WRITE);
		EXPECT_U64(counts[AP_MODEL_DTLB_STORE_MISS], 3 * circle_misses(1, 16, n));
		EXPECT_U64(counts[AP_MODEL_DTLB_STORE_WALK], 3 * circle_misses(64, 8, n));
		EXPECT_U64(counts[AP_MODEL_DTLB_STORE_STLB_HIT],
			   3 * (circle_misses(1, 16, n) - circle_misses(64, 8, n)));
		free_mem(m);
	}
}

/* Pages in a circle through 2 MB: one page directory entry is known, a walk is one step. */
static void walks_begin_where_the_caches_know_the_way(void)
{
	struct ap_mem *m = new_mem(&plain_lru);

	circle(m, 4096, 1024, 2, 0);
	EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_WALK], 2 * 1024);
	/* 1024 pages are two 2 MB regions: both are known */
	EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_WALK_STEP], 2 * 1024);
	free_mem(m);
	m = new_mem(&plain_lru);
	/* a page in each of 600 regions: four are known, never the next: all four tables are read */
	circle(m, 2 << 20, 600, 2, 0);
	EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_WALK], 2 * 600);
	EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_WALK_STEP], 2 * 600 * 4);
	free_mem(m);
}

static void large_pages_need_fewer_entries(void)
{
	static const struct ap_huge huge = { 0x10000000, 0x10000000 + (64 << 20) };
	struct ap_mem *m = new_mem(&plain_lru);

	ap_mem_huge(m, &huge, 1);
	circle(m, 4096, 8192, 2, 0); /* 32 MB: 16 large pages */
	EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_MISS], 0);
	free_mem(m);
}

static unsigned level_of_load(struct ap_mem *m, uint64_t address)
{
	return AP_MEM_LEVEL(ap_mem_data(m, address, 8, 0, 0));
}

static void flush_on(const struct ap_machine *machine)
{
	const uint64_t at = 0x10000040;
	struct ap_mem *m = new_mem(machine);

	ap_mem_flush(m, at, false); /* which nobody has */
	ap_mem_flush(m, at, true);
	EXPECT_U64(level_of_load(m, at), AP_MEM_NODE);
	ap_mem_flush(m, at + 63, false);
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 0);
	EXPECT_U64(level_of_load(m, at), AP_MEM_NODE);
	EXPECT_U64(level_of_load(m, at), AP_MEM_L1);
	ap_mem_data(m, at, 8, AP_MEM_WRITE, 0);
	ap_mem_flush(m, at + 64, false); /* its neighbour */
	EXPECT_U64(level_of_load(m, at), AP_MEM_L1);
	ap_mem_flush(m, at, false);
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 1);
	EXPECT_U64(level_of_load(m, at), AP_MEM_NODE);
	/* kept: written back once for each time that it was modified */
	for (unsigned k = 0; k < 10; k++) {
		ap_mem_data(m, at, 8, AP_MEM_WRITE, 0);
		ap_mem_data(m, at, 8, AP_MEM_WRITE, 0);
		ap_mem_flush(m, at, true);
		ap_mem_flush(m, at, true);
		EXPECT_U64(level_of_load(m, at), AP_MEM_L1);
	}
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 11);
	ap_mem_flush(m, at, false);
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 11);
	free_mem(m);
}

/* 64 lines of one set of L1D, so that most are in L2: all are gone, and half had been modified. */
static void flush_behind_l1(const struct ap_machine *machine)
{
	struct ap_mem *m = new_mem(machine);

	for (unsigned k = 0; k < 64; k++)
		ap_mem_data(m, 0x10000000 + k * 4096, 8, k % 2 ? AP_MEM_WRITE : 0, 0);
	for (unsigned k = 0; k < 64; k++)
		ap_mem_flush(m, 0x10000000 + k * 4096, false);
	EXPECT_U64(counts[AP_MODEL_LLC_WRITEBACK], 32);
	for (unsigned k = 0; k < 64; k++)
		EXPECT_U64(level_of_load(m, 0x10000000 + k * 4096), AP_MEM_NODE);
	free_mem(m);
}

static void lines_are_flushed(void)
{
	struct ap_machine machine = plain_lru;

	for (int l2 = AP_INCLUSIVE; l2 <= AP_EXCLUSIVE; l2++)
		for (int llc = AP_INCLUSIVE; llc <= AP_EXCLUSIVE; llc++) {
			machine.l2.inclusion = (uint8_t)l2;
			machine.llc.inclusion = (uint8_t)llc;
			flush_on(&machine);
			flush_behind_l1(&machine);
		}
	machine.l2.size = 0;
	flush_on(&machine);
	flush_behind_l1(&machine);
}

/* A masked access may have any: it is a line as others, and nobody else's. */
static void addresses_may_have_all_bits(void)
{
	static const uint64_t from[] = { (uint64_t)-64, 0x4000000000001000, 0xffffffffff600000 };
	struct ap_mem *m = new_mem(&plain_lru);

	memset(counts, 0, sizeof(counts));
	for (unsigned n = 0; n < AP_ARRAY_SIZE(from); n++)
		for (unsigned k = 0; k < 2000; k++)
			ap_mem_data(m, from[n] - k * 4096, 8, k & 1 ? AP_MEM_WRITE : 0, 0);
	EXPECT_U64(counts[AP_MODEL_LLC_LOAD_MISS] + counts[AP_MODEL_LLC_STORE_MISS], 6000);
	free_mem(m);
}

static void strides_miss_once_per_line(void)
{
	for (unsigned step = 1; step <= 512; step *= 2) {
		struct ap_mem *m = new_mem(&plain_lru);
		unsigned n = (4 << 20) / step;

		/* 4 MB, twice the last level */
		for (unsigned i = 0; i < n; i++)
			ap_mem_data(m, 0x10000000 + (uint64_t)i * step, 1, 0, 0);
		EXPECT_U64(counts[AP_MODEL_L1D_LOAD], n);
		EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], step < 64 ? n / (64 / step) : n);
		EXPECT_U64(counts[AP_MODEL_DTLB_LOAD_MISS], 1024);
		free_mem(m);
	}
}

/* Once two strides in a row are equal the next line is there before it is asked for, in a page. */
static void a_stride_prefetcher_leaves_the_first_of_each_page(void)
{
	struct ap_machine machine = plain_lru;
	struct ap_mem *m;

	machine.l1d.prefetch = AP_PREFETCH_STRIDE;
	m = new_mem(&machine);
	for (unsigned i = 0; i < 64 * 16; i++)
		ap_mem_data(m, 0x10000000 + i * 64, 8, 0, 0x401000);
	/*
	 * Lines 0 to 3 of the first page miss (a line, a stride, it again, and once more); then each
	 * line's first use fetches the next, but not across the end of a page: its first line misses.
	 */
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], 4 + 15);
	EXPECT_U64(counts[AP_MODEL_L1D_PREFETCH_USED], 64 * 16 - 19);
	EXPECT_U64(counts[AP_MODEL_L1D_PREFETCH], 64 * 16 - 19);
	free_mem(m);
}

static void splits_are_one_reference_of_two_lines(void)
{
	struct ap_mem *m = new_mem(&plain_lru);
	unsigned r;

	r = ap_mem_data(m, 0x1003c, 8, 0, 0);
	EXPECT_U64(r & 0xfff, AP_MEM_NODE | AP_MEM_SPLIT | AP_MEM_WALK);
	r = ap_mem_data(m, 0x1003c, 8, 0, 0);
	EXPECT_U64(r & 0xfff, AP_MEM_L1 | AP_MEM_SPLIT);
	r = ap_mem_data(m, 0x10ffc, 8, 0, 0);
	EXPECT_U64(r & 0xfff, AP_MEM_NODE | AP_MEM_SPLIT | AP_MEM_PAGES | AP_MEM_WALK);
	/* 4 KB from the second byte: 65 lines, two pages (both known by now), one reference */
	r = ap_mem_data(m, 0x10001, 4096, AP_MEM_WRITE, 0);
	EXPECT_U64(AP_MEM_LEVEL(r), AP_MEM_NODE);
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD], 3);
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], 2);
	EXPECT_U64(counts[AP_MODEL_SPLIT_LOAD], 3);
	EXPECT_U64(counts[AP_MODEL_PAGE_SPLIT_LOAD], 1);
	EXPECT_U64(counts[AP_MODEL_L1D_STORE], 1);
	EXPECT_U64(counts[AP_MODEL_PAGE_SPLIT_STORE], 1);
	EXPECT_U64(counts[AP_MODEL_L1D_FILL], 65);
	free_mem(m);
}

static void cycles_are_those_of_the_level(void)
{
	struct ap_mem *m = new_mem(&plain_lru);

	/* memory, and four steps of a walk */
	EXPECT_U64(AP_MEM_CYCLES(ap_mem_data(m, 0x10000, 8, 0, 0)), 200 + 4 * 10);
	EXPECT_U64(AP_MEM_CYCLES(ap_mem_data(m, 0x10000, 8, 0, 0)), 4);
	/* eight more of its set: it is in L2 then; another page's walk is one step */
	for (unsigned i = 1; i <= 8; i++)
		ap_mem_data(m, 0x10000 + i * 4096, 8, 0, 0);
	EXPECT_U64(AP_MEM_CYCLES(ap_mem_data(m, 0x10000, 8, 0, 0)), 12);
	free_mem(m);
}

/* --- matrix multiplication, 128 x 128 doubles: a row is 16 lines, rows of equal sets are 4 apart */

enum { N = 128 };

static struct ap_mem *mm;

static void at(unsigned matrix, unsigned i, unsigned j, unsigned flags)
{
	ap_mem_data(mm, 0x10000000 + matrix * (N * N * 8) + (i * N + j) * 8, 8, flags, 0);
}

enum { A, B, C };

static void matrices_miss_by_the_order_of_loops(void)
{
	const uint64_t n = N;

	/* ijk: rows of A, columns of B, C once */
	mm = new_mem(&plain_lru);
	for (unsigned i = 0; i < N; i++)
		for (unsigned j = 0; j < N; j++) {
			for (unsigned k = 0; k < N; k++) {
				at(A, i, k, 0);
				at(B, k, j, 0);
			}
			at(C, i, j, AP_MEM_WRITE);
		}
	/*
	 * A column of B is 128 lines in 4 sets, 32 through 8 ways: each misses.  They take C's line
	 * with them, and of A's row line g = j / 8, which is in one of their sets: a miss for each j.
	 * Of the row's other 15 lines each misses once at first.  When g goes on, what is left of line
	 * g - 1's last column (B's 32 - 2g lines after its last use, and C's) is 8 or more for g up to
	 * 12: 12 lines miss once more; where i is 3 mod 4, B's line of the last use itself comes after
	 * it, and it is 13 lines.  For g of 1 to 3 the first column has brought only 2g lines when
	 * line g is wanted: 3 of the misses for each j are hits.
	 */
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD], 2 * n * n * n);
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], n * n * n + n * (n + 15 + 12 - 3) + n / 4);
	EXPECT_U64(counts[AP_MODEL_L1D_STORE_MISS], n * n);
	free_mem(mm);

	/* ikj: rows of B and C, A once */
	mm = new_mem(&plain_lru);
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < N; k++) {
			at(A, i, k, 0);
			for (unsigned j = 0; j < N; j++) {
				at(B, k, j, 0);
				at(C, i, j, 0);
				at(C, i, j, AP_MEM_WRITE);
			}
		}
	/* B's 128 KB come through for each i, a row of C and one of A once */
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], n * (n * 16 + 16 + 16));
	EXPECT_U64(counts[AP_MODEL_L1D_STORE_MISS], 0);
	free_mem(mm);

	/* jki: columns of A and C, B once */
	mm = new_mem(&plain_lru);
	for (unsigned j = 0; j < N; j++)
		for (unsigned k = 0; k < N; k++) {
			at(B, k, j, 0);
			for (unsigned i = 0; i < N; i++) {
				at(A, i, k, 0);
				at(C, i, j, 0);
				at(C, i, j, AP_MEM_WRITE);
			}
		}
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], 2 * n * n * n + n * n);
	EXPECT_U64(counts[AP_MODEL_L1D_STORE_MISS], 0);
	free_mem(mm);
}

/* --- cachegrind, by its manual: two levels of LRU; who spans two lines misses once */

struct lru {
	unsigned sets, ways;
	uint64_t *block, *used, time;
};

static struct lru lru_new(unsigned size, unsigned ways)
{
	struct lru l = { .sets = size / ways / 64, .ways = ways };

	l.block = calloc(size / 64, sizeof(uint64_t));
	l.used = calloc(size / 64, sizeof(uint64_t));
	return l;
}

static bool lru_misses(struct lru *l, uint64_t block)
{
	unsigned first = block % l->sets * l->ways, oldest = first;

	for (unsigned i = first; i < first + l->ways; i++) {
		if (l->block[i] == block) {
			l->used[i] = ++l->time;
			return false;
		}
		if (l->used[i] < l->used[oldest])
			oldest = i;
	}
	l->block[oldest] = block;
	l->used[oldest] = ++l->time;
	return true;
}

/* 0: first level, 1: last level, 2: memory */
static int cachegrind(struct lru *first, struct lru *last, uint64_t address, unsigned size)
{
	uint64_t from = address / 64, to = (address + size - 1) / 64;
	bool miss = lru_misses(first, from), far;

	if (to != from)
		miss |= lru_misses(first, to);
	if (!miss)
		return 0;
	far = lru_misses(last, from);
	if (to != from)
		far |= lru_misses(last, to);
	return 1 + far;
}

static void cachegrinds_machine_counts_as_its_manual_says(void)
{
	struct lru i1 = lru_new(32768, 8), d1 = lru_new(32768, 8), ll = lru_new(8 << 20, 16);
	struct ap_mem *m = new_mem(ap_machine_find("cachegrind"));
	uint64_t want[9] = { 0 }, run = 0x20000000;

	seed = 6;
	for (unsigned i = 0; i < 3000000; i++) {
		unsigned kind = below(3), size = 1 << below(6), range = below(4), level;
		uint64_t address = 0x10000000 + below(range ? 1 << (10 + 6 * range) : 64 << 10);

		if (below(4))
			address = run += below(32);
		if (below(5000) == 0)
			run = 0x20000000 + below(1 << 26);
		if (kind == 2) {
			size = 1 + below(15);
			address += 1ULL << 33; /* code lies elsewhere */
			ap_mem_fetch_insn(m, address, size);
			level = cachegrind(&i1, &ll, address, size);
		} else {
			ap_mem_data(m, address, size, kind, 0);
			level = cachegrind(&d1, &ll, address, size);
		}
		for (unsigned l = 0; l <= level; l++)
			want[3 * kind + l]++;
	}
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD], want[0]);	      /* Dr */
	EXPECT_U64(counts[AP_MODEL_L1D_LOAD_MISS], want[1]);  /* D1mr */
	EXPECT_U64(counts[AP_MODEL_LOAD_LLC_MISS], want[2]);  /* DLmr */
	EXPECT_U64(counts[AP_MODEL_L1D_STORE], want[3]);      /* Dw */
	EXPECT_U64(counts[AP_MODEL_L1D_STORE_MISS], want[4]); /* D1mw */
	EXPECT_U64(counts[AP_MODEL_STORE_LLC_MISS], want[5]); /* DLmw */
	EXPECT_U64(counts[AP_MODEL_L1I_LOAD], want[6]);	      /* Ir */
	EXPECT_U64(counts[AP_MODEL_L1I_LOAD_MISS], want[7]);  /* I1mr */
	EXPECT_U64(counts[AP_MODEL_CODE_LLC_MISS], want[8]);  /* ILmr */
	EXPECT(want[1] > 10000 && want[2] > 10000 && want[5] > 10000 && want[8] > 10000);
	free_mem(m);
}

/* --- forwarding */

static void loads_are_answered_by_the_newest_store_that_overlaps(void)
{
	static struct {
		uint64_t address;
		unsigned size;
	} stores[200000];
	static struct ap_fwd f;
	const struct ap_fwd_store *by;
	uint64_t want[3] = { 0 };
	unsigned n = 0;

	seed = 7;
	for (unsigned i = 0; i < 400000; i++) {
		/* a few places, among them some that share a slot of the hash */
		uint64_t address = 0x1000 + below(64) + (uint64_t)below(4) * 256 * 8;
		unsigned size = 1 << below(6), newest;
		enum ap_fwd_result result = AP_FWD_NONE;

		if (below(2) && n < AP_ARRAY_SIZE(stores)) {
			stores[n].address = address;
			stores[n++].size = size;
			ap_fwd_store(&f,
				     &(struct ap_fwd_store){ .address = address, .size = size });
			continue;
		}
		if (!below(20) && n < AP_ARRAY_SIZE(stores)) { /* one that nobody looks at */
			stores[n++].size = 0;
			ap_fwd_catch_up(&f, n);
			continue;
		}
		address += below(300);
		for (newest = n; newest && newest + 56 > n; newest--)
			if (stores[newest - 1].size &&
			    stores[newest - 1].address < address + size &&
			    address < stores[newest - 1].address + stores[newest - 1].size)
				break;
		if (newest && newest + 56 > n) {
			uint64_t start = stores[newest - 1].address;

			result = start <= address &&
						 address + size <= start + stores[newest - 1].size
					 ? AP_FWD_DONE
					 : AP_FWD_BLOCKED;
		}
		want[result]++;
		REQUIRE(ap_fwd_load(&f, 56, address, size, &by) == result);
		if (result != AP_FWD_NONE)
			EXPECT_U64(by->number, newest);
	}
	EXPECT(want[0] > 1000 && want[1] > 1000 && want[2] > 1000);
}

/* As of a fork's child. */
static void stores_that_are_counted_anew_are_none(void)
{
	const struct ap_fwd_store *by, s = { .address = 0x1000, .size = 8 };
	static struct ap_fwd f;

	ap_fwd_catch_up(&f, 1000);
	ap_fwd_store(&f, &s);
	ap_fwd_catch_up(&f, 3);
	EXPECT_U64(ap_fwd_load(&f, 56, 0x1000, 8, &by), AP_FWD_DONE);
	ap_fwd_catch_up(&f, 60);
	EXPECT_U64(ap_fwd_load(&f, 56, 0x1000, 8, &by), AP_FWD_NONE);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(chases_miss_by_how_far_they_exceed_a_level),
		TAP(written_lines_come_back),
		TAP(pages_miss_by_how_far_they_exceed_a_tlb),
		TAP(walks_begin_where_the_caches_know_the_way),
		TAP(large_pages_need_fewer_entries),
		TAP(lines_are_flushed),
		TAP(addresses_may_have_all_bits),
		TAP(strides_miss_once_per_line),
		TAP(a_stride_prefetcher_leaves_the_first_of_each_page),
		TAP(splits_are_one_reference_of_two_lines),
		TAP(cycles_are_those_of_the_level),
		TAP(matrices_miss_by_the_order_of_loops),
		TAP(cachegrinds_machine_counts_as_its_manual_says),
		TAP(loads_are_answered_by_the_newest_store_that_overlaps),
		TAP(stores_that_are_counted_anew_are_none),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
