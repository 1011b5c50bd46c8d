/* SPDX-License-Identifier: MIT */
/*
 * Several threads' models: against MESI as it is taught, by hand where boxes overflow and address
 * spaces differ, and with real threads.
 */
/* LIBS: -lpthread */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/internal.h"
#include "model/shared.h"
#include "tap/tap.h"

#define CORES 8

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

/* 512 lines in L1D, 4096 in L2: nothing of what follows is evicted unless it says so. */
static const struct ap_machine roomy = {
	.line = 64,
	.l1i = { .size = 32768, .ways = 8 },
	.l1d = { .size = 32768, .ways = 8 },
	.l2 = { .size = 262144, .ways = 8 },
	.llc = { .size = 2097152, .ways = 16, .inclusion = AP_INCLUSIVE },
};

static const struct ap_machine tiny = {
	.line = 64,
	.l1i = { .size = 512, .ways = 2 },
	.l1d = { .size = 512, .ways = 2 },
	.l2 = { .size = 2048, .ways = 4 },
	.llc = { .size = 8192, .ways = 8, .inclusion = AP_INCLUSIVE },
};

static struct ap_shared *shared;
static struct ap_mem *mem[CORES];
static uint64_t counts[CORES][AP_MODEL_N];

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(64, AP_ALIGN_UP(bytes, 64));

	memset(memory, 0, bytes);
	return memory;
}

static void join(const struct ap_machine *machine, int core, uint64_t space)
{
	mem[core] =
		ap_mem_init(zeroed(ap_mem_bytes(machine)), machine, shared, counts[core], space);
	EXPECT_U64(mem[core]->core, core);
}

static void set_up(const struct ap_machine *machine, int cores)
{
	memset(counts, 0, sizeof(counts));
	shared = zeroed(ap_shared_bytes(machine));
	ap_shared_init(shared, machine);
	for (int i = 0; i < cores; i++)
		join(machine, i, 0);
}

static void tear_down(int cores)
{
	for (int i = 0; i < cores; i++) {
		ap_mem_fini(mem[i]);
		free(mem[i]);
	}
	EXPECT_U64(shared->joined, 0);
	free(shared);
}

static unsigned touch(int core, uint64_t address, unsigned flags)
{
	ap_mem_poll(mem[core]);
	return ap_mem_data(mem[core], address, 4, flags, 0);
}

#define load(core, address)  touch(core, address, 0)
#define store(core, address) touch(core, address, AP_MEM_WRITE)

static void a_modified_line_is_met_and_taken(void)
{
	set_up(&roomy, 2);
	store(0, 0x10000);
	EXPECT(load(1, 0x10008) & AP_MEM_HITM);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 1);
	EXPECT_U64(counts[1][AP_MODEL_HITM_LOAD], 1);
	/* both share it now */
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x10000)), AP_MEM_L1);
	EXPECT_U64(AP_MEM_LEVEL(store(0, 0x10000)), AP_MEM_L1);
	EXPECT_U64(counts[0][AP_MODEL_UPGRADE], 1);
	EXPECT(load(1, 0x10000) & AP_MEM_HITM);
	EXPECT_U64(counts[1][AP_MODEL_INVALIDATED], 1);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 2);
	tear_down(2);
}

/* All have lost it, and what one had modified was written once; kept, it is the last level's and the other's. */
static void a_flush_is_everybodys(void)
{
	set_up(&roomy, 3);
	store(0, 0x10000);
	load(1, 0x20000);
	ap_mem_flush(mem[1], 0x10000, false);
	EXPECT_U64(counts[1][AP_MODEL_LLC_WRITEBACK], 1);
	EXPECT_U64(AP_MEM_LEVEL(load(2, 0x10000)), AP_MEM_NODE);
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x10000)), AP_MEM_LLC);
	EXPECT_U64(counts[0][AP_MODEL_HITM] + counts[2][AP_MODEL_HITM], 0);
	ap_mem_flush(mem[0], 0x10000, false);
	EXPECT_U64(counts[0][AP_MODEL_LLC_WRITEBACK], 0);
	store(0, 0x10000);
	ap_mem_flush(mem[0], 0x10000, true);
	EXPECT_U64(counts[0][AP_MODEL_LLC_WRITEBACK], 1);
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x10000)), AP_MEM_L1);
	/* clean by now: no HITM */
	load(1, 0x10000);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 0);
	store(0, 0x10000);
	EXPECT(load(1, 0x10000) & AP_MEM_HITM);
	tear_down(3);
}

static void readers_share(void)
{
	set_up(&roomy, 3);
	for (int round = 0; round < 10; round++)
		for (int core = 0; core < 3; core++)
			load(core, 0x20000);
	for (int core = 0; core < 3; core++) {
		EXPECT_U64(counts[core][AP_MODEL_L1D_LOAD_MISS], 1);
		EXPECT_U64(counts[core][AP_MODEL_SNOOP_HIT], core > 0);
		EXPECT_U64(counts[core][AP_MODEL_HITM], 0);
		EXPECT_U64(counts[core][AP_MODEL_INVALIDATED], 0);
	}
	tear_down(3);
}

static void false_sharing_is_seen(void)
{
	set_up(&roomy, 2);
	for (int round = 0; round < 1000; round++) {
		store(0, 0x10000);
		store(1, 0x10020);
	}
	EXPECT_U64(counts[0][AP_MODEL_HITM], 999);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 1000);
	EXPECT_U64(counts[0][AP_MODEL_L1D_STORE_MISS], 1000);
	tear_down(2);
	/* a line apart there is none */
	set_up(&roomy, 2);
	for (int round = 0; round < 1000; round++) {
		store(0, 0x10000);
		store(1, 0x10040);
	}
	for (int core = 0; core < 2; core++) {
		EXPECT_U64(counts[core][AP_MODEL_HITM], 0);
		EXPECT_U64(counts[core][AP_MODEL_L1D_STORE_MISS], 1);
		EXPECT_U64(counts[core][AP_MODEL_INVALIDATED], 0);
	}
	tear_down(2);
}

/* --- MESI as it is taught; nobody evicts */

enum mesi { I, S, E, M };

struct taught {
	enum mesi state[CORES];
};

static uint64_t want[CORES][AP_MODEL_N];

static void taught_access(struct taught *line, int cores, int core, bool write)
{
	bool others = false, modified = false;
	enum mesi *mine = &line->state[core];

	for (int c = 0; c < cores; c++) {
		if (c == core)
			continue;
		others |= line->state[c] != I;
		modified |= line->state[c] == M;
	}
	if (*mine == I && modified) {
		want[core][AP_MODEL_HITM]++;
		want[core][AP_MODEL_HITM_LOAD] += !write;
	} else if (*mine == I && others) {
		want[core][AP_MODEL_SNOOP_HIT]++;
	}
	if (*mine == I)
		want[core][write ? AP_MODEL_L1D_STORE_MISS : AP_MODEL_L1D_LOAD_MISS]++;
	if (*mine == S && write)
		want[core][AP_MODEL_UPGRADE]++;
	for (int c = 0; c < cores && (write || *mine == I); c++) {
		if (c == core || line->state[c] == I)
			continue;
		if (write)
			want[c][AP_MODEL_INVALIDATED]++;
		line->state[c] = write ? I : S;
	}
	if (write)
		*mine = M;
	else if (*mine == I)
		*mine = others ? S : E;
}

static void random_sharing_is_as_taught(void)
{
	static struct taught lines[64];
	static const int compared[] = { AP_MODEL_HITM,		AP_MODEL_HITM_LOAD,
					AP_MODEL_SNOOP_HIT,	AP_MODEL_UPGRADE,
					AP_MODEL_INVALIDATED,	AP_MODEL_L1D_LOAD_MISS,
					AP_MODEL_L1D_STORE_MISS };

	for (int cores = 2; cores <= CORES; cores++) {
		seed = cores;
		set_up(&roomy, cores);
		memset(lines, 0, sizeof(lines));
		memset(want, 0, sizeof(want));
		for (int i = 0; i < 100000; i++) {
			int core = below(cores), n = below(64);
			bool write = below(4) == 0;

			touch(core, 0x10000 + 64 * n + below(60), write);
			taught_access(&lines[n], cores, core, write);
		}
		for (int core = 0; core < cores; core++) {
			ap_mem_poll(mem[core]);
			for (unsigned i = 0; i < AP_ARRAY_SIZE(compared); i++)
				EXPECT_U64(counts[core][compared[i]], want[core][compared[i]]);
		}
		tear_down(cores);
	}
}

/* --- evictions: never two owners, and who owns is in the directory */

static uint64_t flags_in(struct ap_cache *c, uint64_t line)
{
	uint32_t set = ap_cache_set(c, line);
	int way = ap_cache_find(c, set, line);

	return way < 0 ? 0 : ap_cache_tags(c, set)[way] & AP_LINE_FLAGS;
}

static void check_line(int cores, uint64_t line)
{
	int owners = 0, holders = 0;

	for (int core = 0; core < cores; core++) {
		uint64_t flags = flags_in(&mem[core]->l1d, line) | flags_in(&mem[core]->l2, line) |
				 flags_in(&mem[core]->l1i, line);
		uint64_t state = ap_dir_state(shared, core, line);

		holders += !!flags;
		owners += !!(flags & AP_LINE_OWN);
		/* nobody holds what the directory does not know, nor owns what is shared */
		EXPECT(!flags || state);
		EXPECT(!(flags & AP_LINE_OWN) || state & AP_LINE_OWN);
		EXPECT(!(flags & AP_LINE_DIRTY) || state & AP_LINE_DIRTY);
	}
	EXPECT(owners <= 1);
	EXPECT(!owners || holders == 1);
}

/* A load, a store, an atomic access, a prefetch or a fetch. */
static void one(int core, uint64_t address)
{
	static const unsigned flags[] = { 0, 0, AP_MEM_WRITE, AP_MEM_ATOMIC, AP_MEM_PREFETCH };
	unsigned kind = below(6);

	if (kind < 5) {
		touch(core, address, flags[kind]);
		return;
	}
	ap_mem_poll(mem[core]);
	ap_mem_fetch(mem[core], address);
}

static void evictions_keep_the_directory_true(void)
{
	static const int inclusions[] = { AP_NONINCLUSIVE, AP_INCLUSIVE, AP_EXCLUSIVE };

	for (unsigned n = 0; n < 9; n++) {
		struct ap_machine machine = tiny;

		machine.l2.inclusion = inclusions[n % 3];
		machine.llc.inclusion = inclusions[n / 3];
		seed = n;
		set_up(&machine, 4);
		for (int i = 0; i < 30000; i++) {
			one(below(4), 0x10000 + 64 * below(200));
			if (i % 1000)
				continue;
			for (int core = 0; core < 4; core++)
				ap_mem_poll(mem[core]);
			for (int line = 0; line < 200; line++)
				check_line(4, 0x10000 + 64 * line);
		}
		tear_down(4);
	}
}

/* --- boxes, late comers, the dead */

static void a_full_box_loses_nothing(void)
{
	set_up(&roomy, 2);
	for (int i = 0; i < 500; i++)
		store(0, 0x10000 + 64 * i);
	/* more than a box holds, and 0 does not look */
	for (int i = 0; i < 500; i++)
		EXPECT(store(1, 0x10000 + 64 * i) & AP_MEM_HITM);
	EXPECT_U64(shared->box[0].overflow, 1);
	for (int i = 0; i < 500; i++)
		EXPECT(load(0, 0x10000 + 64 * i) & AP_MEM_HITM);
	EXPECT_U64(counts[0][AP_MODEL_HITM], 500);
	tear_down(2);
}

static void who_was_alone_tells_what_it_has(void)
{
	set_up(&roomy, 1);
	for (int i = 0; i < 100; i++)
		store(0, 0x10000 + 64 * i);
	EXPECT_U64(mem[0]->tracked, 0);
	join(&roomy, 1, 0);
	ap_mem_poll(mem[0]);
	for (int i = 0; i < 100; i++)
		EXPECT(load(1, 0x10000 + 64 * i) & AP_MEM_HITM);
	tear_down(2);
}

/* The first thread's lines are told when it next looks; until then the second one meets nobody. */
static void what_another_has_asked_for_meanwhile_is_not_both_ones(void)
{
	set_up(&roomy, 1);
	store(0, 0x10000);
	load(0, 0x20000);
	join(&roomy, 1, 0);
	store(1, 0x10008);
	load(1, 0x20000);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 0);
	for (int round = 0; round < 100; round++) {
		store(0, 0x10000);
		store(1, 0x10008);
	}
	EXPECT_U64(counts[0][AP_MODEL_HITM], 100);
	EXPECT_U64(counts[1][AP_MODEL_HITM], 100);
	/* what both only read stays with both, until one stores */
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x20000)), AP_MEM_L1);
	EXPECT_U64(AP_MEM_LEVEL(load(1, 0x20000)), AP_MEM_L1);
	store(1, 0x20000);
	EXPECT(load(0, 0x20000) & AP_MEM_HITM);
	tear_down(2);
}

static void who_is_gone_holds_nothing(void)
{
	set_up(&roomy, 3);
	for (int i = 0; i < 100; i++)
		store(i % 2, 0x10000 + 64 * i);
	ap_mem_fini(mem[0]);
	/* killed: somebody else says so */
	ap_shared_leave(shared, 1);
	mem[1]->core = AP_NO_CORE;
	for (int i = 0; i < 100; i++)
		EXPECT(!(load(2, 0x10000 + 64 * i) & AP_MEM_HIT_OTHER));
	EXPECT_U64(counts[2][AP_MODEL_HITM], 0);
	free(mem[0]);
	join(&roomy, 0, 0);
	tear_down(3);
}

static void locks_of_the_dead_are_free(void)
{
	set_up(&roomy, 3);
	load(0, 0x10000);
	load(1, 0x20000);
	for (int i = 0; i < AP_STRIPES; i++)
		shared->llc_lock[i] = shared->dir_lock[i] = AP_LOCK_OF(2);
	shared->box[0].lock = AP_LOCK_OF(2);
	ap_shared_leave(shared, 2);
	EXPECT_U64(shared->box[0].lock | shared->llc_lock[7] | shared->dir_lock[9], 0);
	mem[2]->core = AP_NO_CORE;
	store(0, 0x30000);
	EXPECT(load(1, 0x30000) & AP_MEM_HITM);
	tear_down(3);
}

/* Nobody has said that it is dead: others go on all the same. */
static void a_lock_is_not_waited_for_for_ever(void)
{
	uint32_t lock = 5;

	ap_model_lock(&lock, 1);
	EXPECT_U64(lock, AP_LOCK_OF(1));
	ap_model_unlock(&lock);
	EXPECT_U64(lock, 0);
}

static void more_than_64_models_still_work(void)
{
	struct ap_mem *m[70];
	void *memory[70];

	set_up(&tiny, 0);
	for (int i = 0; i < 70; i++) {
		memory[i] = zeroed(ap_mem_bytes(&tiny));
		m[i] = ap_mem_init(memory[i], &tiny, shared, counts[0], 0);
		EXPECT_U64(m[i]->core, i < 64 ? i : AP_NO_CORE);
	}
	for (int i = 0; i < 70; i++)
		EXPECT(AP_MEM_LEVEL(ap_mem_data(m[i], 0x10000, 4, AP_MEM_WRITE, 0)) != AP_MEM_L1);
	for (int i = 0; i < 70; i++) {
		ap_mem_fini(m[i]);
		free(memory[i]);
	}
	EXPECT_U64(shared->joined, 0);
	free(shared);
}

/* --- processes: each has a table of its own, and one in common */

static struct ap_shared *table(const struct ap_machine *machine)
{
	struct ap_shared *s = zeroed(ap_shared_bytes(machine));

	ap_shared_init(s, machine);
	return s;
}

static void processes(int n)
{
	memset(counts, 0, sizeof(counts));
	for (int i = 0; i < n; i++) {
		shared = table(&roomy);
		mem[i] = ap_mem_init(zeroed(ap_mem_bytes(&roomy)), &roomy, shared, counts[i], 0);
	}
}

static void end_processes(int n, struct ap_shared *common)
{
	for (int i = 0; i < n; i++) {
		struct ap_shared *own = mem[i]->shared;

		ap_mem_fini(mem[i]);
		EXPECT_U64(own->joined, 0);
		free(own);
		free(mem[i]);
	}
	EXPECT_U64(common->joined, 0);
	free(common);
}

static struct ap_names one_page(uint64_t at, uint64_t name)
{
	return (struct ap_names){ 1, { { at, at + 0x1000, (AP_NAME_COMMON | name) - at } } };
}

static void processes_share_what_has_a_common_name(void)
{
	struct ap_names at_4 = one_page(0x400000, 0x5000), at_7 = one_page(0x700000, 0x5000);
	struct ap_shared *common = table(&roomy);

	processes(2);
	EXPECT(ap_mem_set_names(mem[0], common, &at_4, 1));
	EXPECT(ap_mem_set_names(mem[1], common, &at_7, 2));
	store(0, 0x10000);
	EXPECT(!(load(1, 0x10000) & AP_MEM_HIT_OTHER));
	for (int i = 0; i < 100; i++) {
		store(0, 0x400040);
		EXPECT(load(1, 0x700040) & AP_MEM_HITM);
		store(1, 0x700048);
		EXPECT(load(0, 0x400040) & AP_MEM_HITM);
	}
	EXPECT_U64(counts[0][AP_MODEL_HITM_LOAD], 100);
	EXPECT_U64(counts[1][AP_MODEL_HITM_LOAD], 100);
	/* what a name stood for is gone with it */
	store(1, 0x700080);
	EXPECT(ap_mem_set_names(mem[1], common, &at_4, 2));
	EXPECT(!(load(0, 0x400080) & AP_MEM_HIT_OTHER));
	EXPECT_U64(AP_MEM_LEVEL(load(1, 0x700080)), AP_MEM_NODE);
	end_processes(2, common);
}

static void a_fork_shares_what_it_had(void)
{
	struct ap_names names = one_page(0x400000, 0x5000);
	struct ap_shared *common = table(&roomy);

	processes(2);
	EXPECT(ap_mem_set_names(mem[0], common, &names, 1));
	EXPECT(ap_mem_set_names(mem[1], common, &names, 2));
	store(0, 0x10000);
	store(0, 0x400040);
	store(1, 0x400040);
	/* as a fork leaves the child: a copy of all, with the parent's core in it */
	mem[1]->common.core = mem[0]->common.core;
	ap_shared_leave(common, 1);
	EXPECT(ap_mem_inherit_names(mem[1], 3));
	EXPECT_U64(mem[1]->common.core, 1);
	EXPECT_U64(common->owner[1], 3);
	store(0, 0x400040);
	EXPECT(load(1, 0x400040) & AP_MEM_HITM);
	store(1, 0x10000);
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x10000)), AP_MEM_L1);
	end_processes(2, common);
}

static void two_views_have_one_name(void)
{
	struct ap_names views = { 2,
				  { { 0x400000, 0x401000, (AP_NAME_COMMON | 0x5000) - 0x400000 },
				    { 0x700000, 0x701000,
				      (AP_NAME_COMMON | 0x5000) - 0x700000 } } };
	struct ap_names at_4 = one_page(0x400000, 0x5000);
	struct ap_shared *common = table(&roomy);

	processes(2);
	EXPECT(ap_mem_set_names(mem[0], common, &views, 1));
	load(0, 0x400040);
	EXPECT_U64(AP_MEM_LEVEL(load(0, 0x700040)), AP_MEM_LLC);
	/* another's store takes both */
	EXPECT(ap_mem_set_names(mem[1], common, &at_4, 2));
	ap_mem_poll(mem[0]);
	store(1, 0x400040);
	EXPECT(load(0, 0x700040) & AP_MEM_HITM);
	store(1, 0x400040);
	EXPECT(load(0, 0x400040) & AP_MEM_HITM);
	end_processes(2, common);
}

static void the_dead_are_buried_by_their_owner(void)
{
	struct ap_names names = one_page(0x400000, 0x5000);
	struct ap_shared *common = table(&roomy);

	processes(2);
	EXPECT(ap_mem_set_names(mem[0], common, &names, 1));
	EXPECT(ap_mem_set_names(mem[1], common, &names, 2));
	store(0, 0x400040);
	ap_shared_bury(common, 1);
	ap_mem_forget_names(mem[0]);
	EXPECT(!(load(1, 0x400040) & AP_MEM_HIT_OTHER));
	EXPECT_U64(common->joined_n, 1);
	end_processes(2, common);
}

/* Whatever stands behind the first page. */
static void a_table_that_is_scribbled_over_ends_nobody(void)
{
	struct ap_names names = one_page(0x400000, 0x5000);
	struct ap_shared *common = table(&roomy);
	size_t bytes = ap_shared_bytes(&roomy);

	for (int round = 0; round < 20; round++) {
		processes(2);
		for (int i = 0; i < 2; i++)
			EXPECT(ap_mem_set_names(mem[i], common, &names, 1));
		for (int n = 0; n < 5000; n++) {
			store(n % 2, 0x400000 + below(0x1000));
			load(n % 2, 0x400000 + below(0x1000));
		}
		for (size_t at = AP_SHARED_CONST; at + 8 <= bytes; at += 8)
			*(uint64_t *)((char *)common + at) =
				(uint64_t)below(~0U) << 32 | below(~0U);
		/* waiting for locks of nobody takes long, and was tested above */
		common->joined_lock = 0;
		memset(common->llc_lock, 0, sizeof(common->llc_lock));
		memset(common->dir_lock, 0, sizeof(common->dir_lock));
		for (int i = 0; i < AP_CORES; i++)
			common->box[i].lock = 0;
		for (int n = 0; n < 5000; n++)
			store(n % 2, 0x400000 + below(0x1000));
		for (int i = 0; i < 2; i++) {
			struct ap_shared *own = mem[i]->shared;

			ap_mem_fini(mem[i]);
			free(own);
			free(mem[i]);
		}
		memset((char *)common + AP_SHARED_CONST, 0, bytes - AP_SHARED_CONST);
	}
	free(common);
}

/* --- real threads */

static void *hammer(void *arg)
{
	struct ap_mem *m = arg;

	for (int i = 0; i < 200000; i++) {
		if (!(i % 100))
			ap_mem_poll(m);
		ap_mem_data(m, 0x10000 + 64 * (i * 7 % 300), 4, i % 3 == 0, 0);
	}
	return NULL;
}

static void threads_lose_no_reference(void)
{
	pthread_t thread[4];

	set_up(&tiny, 4);
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&thread[i], NULL, hammer, mem[i]));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++) {
		EXPECT_U64(counts[i][AP_MODEL_L1D_STORE], 66667);
		EXPECT_U64(counts[i][AP_MODEL_L1D_LOAD], 200000 - 66667);
		ap_mem_poll(mem[i]);
	}
	for (int line = 0; line < 300; line++)
		for (int core = 0, owners = 0; core < 4; core++) {
			uint64_t state = ap_dir_state(shared, core, 0x10000 + 64 * line);

			owners += !!(state & AP_LINE_OWN);
			EXPECT(owners <= 1);
		}
	tear_down(4);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_modified_line_is_met_and_taken),
		TAP(a_flush_is_everybodys),
		TAP(readers_share),
		TAP(false_sharing_is_seen),
		TAP(random_sharing_is_as_taught),
		TAP(evictions_keep_the_directory_true),
		TAP(a_full_box_loses_nothing),
		TAP(who_was_alone_tells_what_it_has),
		TAP(what_another_has_asked_for_meanwhile_is_not_both_ones),
		TAP(who_is_gone_holds_nothing),
		TAP(locks_of_the_dead_are_free),
		TAP(a_lock_is_not_waited_for_for_ever),
		TAP(more_than_64_models_still_work),
		TAP(processes_share_what_has_a_common_name),
		TAP(a_fork_shares_what_it_had),
		TAP(two_views_have_one_name),
		TAP(the_dead_are_buried_by_their_owner),
		TAP(a_table_that_is_scribbled_over_ends_nobody),
		TAP(threads_lose_no_reference),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
