/* SPDX-License-Identifier: MIT */
/*
 * Each key of a machine file changes something that is modelled: of a machine that has all there is, and is so small
 * that all of it matters, or of one of a few others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cost.h"
#include "tap/tap.h"
#include "ways.h"

#define SMALL                                                                                        \
	"l1i.size = 4K\nl1d.size = 4K\nl2.size = 16K\nllc.size = 64K\nllc.slices = 1\n"              \
	"itlb.entries = 8\nitlb.ways = 8\ndtlb.entries = 8\ndtlb.ways = 8\nstlb.entries = 32\n"      \
	"stlb.ways = 4\nstlb.latency = 7\nistlb.entries = 16\nistlb.ways = 4\nistlb.latency = 7\n"   \
	"itlb-2m.entries = 2\nitlb-2m.ways = 2\ndtlb-2m.entries = 2\ndtlb-2m.ways = 2\n"             \
	"dtlb-store.entries = 4\ndtlb-store.ways = 4\nnodes = 2\nremote.latency = 500\n"             \
	"branch.btb-entries = 32\nbranch.btb-ways = 4\nbranch.loops = 8\n"                           \
	"branch.returns = 4\nbranch.target-bits = 3\nbranch.target-table-bits = 4\n"                 \
	"branch.table-bits = 5\nbranch.tag-bits = 5\nwalk.pde = 4\nwalk.pdpte = 2\nwalk.pml4e = 1\n" \
	"pipe.rob = 64\npipe.load-buffer = 12\npipe.store-buffer = 8\npipe.fill-buffers = 3\n"       \
	"pipe.retire = 3\n"

static const char *const machines[] = {
	"base = zen4\n" SMALL "branch.bias-bits = 8\n",
	"base = skylake\n" SMALL
	"branch.bias-bits = 8\nl2.prefetch = next stride\nl1i.prefetch = next\n",
	"base = zen4\n" SMALL "branch.kind = gshare\nbranch.base-bits = 6\nbranch.history = 5\n",
	"base = zen4\n" SMALL "branch.bias-bits = 0\nbranch.base-bits = 6\n",
	"base = cachegrind\nl1i.size = 4K\nl1d.size = 4K\nllc.size = 64K\n",
};

/* Who else reads them: clocks and the PMU's own, of which no model knows. */
static bool is_elsewhere(const char *key)
{
	static const char *const keys[] = { "mhz",	"ref-mhz",	  "bus-mhz",
					    "counters", "fixed-counters", "counter-bits" };

	for (unsigned k = 0; k < AP_ARRAY_SIZE(keys); k++)
		if (!strcmp(keys[k], key))
			return true;
	return false;
}

static uint64_t sum;

static void note(uint64_t value)
{
	sum = (sum ^ value) * 0x9e3779b97f4a7c15;
	sum ^= sum >> 29;
}

static uint64_t address(unsigned k)
{
	static const uint32_t reach[] = { 2048, 8192, 32768, 1 << 18, 1 << 24 };
	uint64_t at = below(reach[below(5)]);

	return 0x10000000 + (k % 7 == 0 ? (uint64_t)below(64) << 31 : 0) +
	       (k % 3 == 0 ? (uint64_t)k * 64 % (1 << 19) : at);
}

/* Two cores, as lines of the one are the other's as well; some pages are large. */
static void memory(const struct ap_machine *m)
{
	static const struct ap_huge huge = { 0x10400000, 0x10c00000 };
	struct ap_shared *shared = zeroed(ap_shared_bytes(m));
	uint64_t count[2][AP_MODEL_N] = { 0 };
	struct ap_mem *mem[2];

	ap_shared_init(shared, m);
	for (unsigned n = 0; n < 2; n++) {
		mem[n] = ap_mem_init(zeroed(ap_mem_bytes(m)), m, shared, count[n], 0);
		ap_mem_huge(mem[n], &huge, 1);
	}
	for (unsigned k = 0; k < 12000; k++) {
		struct ap_mem *to = mem[k > 8000 && below(4) == 0];
		/* one after the other, as arguments have no order */
		uint64_t pc = 0x401000 + below(4) * 4;
		uint32_t how = below(3) ? 0 : AP_MEM_WRITE, size = 1U << below(4);

		note(ap_mem_data(to, address(k), size, how, pc));
		note(ap_mem_fetch(to, 0x10000000 + address(k) % (1 << 24)));
	}
	for (unsigned n = 0; n < 2; n++) {
		for (unsigned i = 0; i < AP_MODEL_N; i++)
			note(count[n][i]);
		free(mem[n]);
	}
	free(shared);
}

static void branches(const struct ap_machine *m)
{
	uint64_t count[AP_MODEL_N] = { 0 };
	struct ap_bp *bp = ap_bp_init(zeroed(ap_bp_bytes(m)), m, count);

	for (unsigned k = 0; k < 12000; k++) {
		unsigned at = below(60);

		ap_bp_cond(bp, 0x401000 + at * 12, at % 5 == 0 ? below(2) : k % (2 + at) != 0);
		ap_bp_cond(bp, 0x402000, k % 13 != 0);
		ap_bp_indirect(bp, 0x403000 + (k & 15) * 8,
			       0x500000 + (k / 16 * (k & 15)) % 3 * 64);
		ap_bp_jump(bp, 0x404000 + below(40) * 16);
		if (k % 20 < 10)
			ap_bp_call(bp, 0x405000, 0x405005 + k % 20);
		else
			ap_bp_ret(bp, 0x405005 + 19 - k % 20);
	}
	for (unsigned i = 0; i < AP_MODEL_N; i++)
		note(count[i]);
	free(bp);
}

/* What instructions cost, and what is kept of them. */
static void costs(const struct ap_machine *m)
{
	static const char code[][8] = { "\x48\x8b\x04\x24", "\x48\x89\x04\x24", "\x48\x0f\xaf\xc0",
					"\x48\x01\xc3", "\xf3\x0f\x10\x04\x24" };
	static struct ap_cost_account a;
	struct ap_pipe_link links[AP_PIPE_LINKS];

	for (unsigned from = 0; from < 5; from++) {
		unsigned n;

		ap_cost_begin(&a, m);
		for (unsigned k = 0; k < 12; k++) {
			uint8_t bytes[16] = { 0 };
			struct ap_insn insn;
			struct ap_cost c;

			memcpy(bytes, code[from ? (from + k) % 5 : 3], 5);
			REQUIRE(!ap_insn_decode(&insn, bytes, sizeof(bytes)));
			ap_insn_cost(&insn, bytes, &c);
			note(ap_cost_add(&a, &c, (c.load || c.store) && from & 1 ? AP_PIPE_CELL : 0,
					 false));
		}
		note(ap_cost_busy(&a));
		note(ap_cost_room(&a, 12));
		n = ap_cost_links(&a, links);
		for (unsigned k = 0; k < n; k++)
			note(links[k].lat);
	}
}

static void pipeline(const struct ap_machine *m)
{
	struct arena arena = { .chunk = zeroed(AP_FEED_CHUNK), .used = 4096 };
	struct ap_feed *f = new_feed(m);
	struct ap_feed_op *ops;
	uint32_t ids[20];

	for (unsigned k = 0; k < 20; k++)
		random_way(&arena, &ids[k], true);
	ops = (struct ap_feed_op *)ap_feed_way(&arena.chunk, ids[0])->ops;
	ops[0] = (struct ap_feed_op){ .what = AP_FEED_STORES, .size = 8, .scale = AP_FEED_BYTES };
	ops[0].dst = 1;
	ops[0].index = 2;
	ap_feed_way(&arena.chunk, ids[0])->nops = 1;
	ap_feed_way(&arena.chunk, ids[0])->nwords = 3;
	ap_feed_way(&arena.chunk, ids[0])->nclusters = 0;
	for (unsigned k = 0; k < 4000; k++) {
		uint64_t record[8] = { ids[below(20)] };
		const struct ap_feed_way *w = ap_feed_way(&arena.chunk, (uint32_t)record[0]);

		for (unsigned i = 0; i < w->nwords; i++)
			record[1 + i] = random_value();
		if (record[0] == ids[0]) {
			record[2] = (uint64_t) - (int64_t)w->delta[1];
			record[3] = 40 - (uint64_t)(int64_t)w->delta[2];
		}
		ap_feed_run(f, record, record + 1 + w->nwords, &arena.chunk);
	}
	note(f->pipe.now);
	note(f->pipe.stalled);
	free_feed(f);
	free(arena.chunk);
}

static uint64_t figures(const struct ap_machine *m)
{
	sum = 1;
	seed = 11;
	memory(m);
	branches(m);
	costs(m);
	pipeline(m);
	return sum;
}

/* Some other value of the key makes other figures. */
static bool has_effect(const struct ap_machine *m, uint64_t was, unsigned n, const char *key)
{
	static const char *const values[] = {
		"0",	"1",	  "2",	     "3",    "4",	  "5",	       "6",
		"8",	"16",	  "20",	     "32",   "64",	  "128",       "400",
		"2K",	"8K",	  "32K",     "128K", "no",	  "yes",       "lru",
		"plru", "random", "rrip",    "next", "stride",	  "none",      "intel",
		"amd",	"gshare", "bimodal", "tage", "inclusive", "exclusive", "non-inclusive"
	};
	static char text[16384];

	for (unsigned v = 0; v < AP_ARRAY_SIZE(values); v++) {
		struct ap_machine other;
		char line[128], error[128];
		size_t at = 0;

		for (unsigned k = 0; ap_machine_key(m, k, line, sizeof(line)); k++)
			at += k == n ? (size_t)sprintf(text + at, "%s = %s\n", key, values[v])
				     : (size_t)sprintf(text + at, "%s\n", line);
		if (!ap_machine_parse(&other, text, error, sizeof(error)) && figures(&other) != was)
			return true;
	}
	return false;
}

static void each_key_has_an_effect(void)
{
	static struct ap_machine m[AP_ARRAY_SIZE(machines)];
	uint64_t was[AP_ARRAY_SIZE(machines)];
	char key[128], error[128];

	for (unsigned k = 0; k < AP_ARRAY_SIZE(machines); k++) {
		if (ap_machine_parse(&m[k], machines[k], error, sizeof(error)))
			EXPECT_STR(error, "");
		was[k] = figures(&m[k]);
		EXPECT_U64(figures(&m[k]), was[k]);
	}
	for (unsigned n = 0; ap_machine_key(&m[0], n, key, sizeof(key)); n++) {
		bool has = false;

		*strchr(key, ' ') = '\0';
		for (unsigned k = 0; k < AP_ARRAY_SIZE(machines) && !has; k++)
			has = has_effect(&m[k], was[k], n, key);
		if (has == is_elsewhere(key))
			EXPECT_STR(key, has ? "no effect" : "an effect");
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(each_key_has_an_effect), { 0 } };

	return tap_main(tests, argc, argv);
}
