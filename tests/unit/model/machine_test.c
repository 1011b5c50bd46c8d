/* SPDX-License-Identifier: MIT */
/*
 * Machines: the built-in ones, text, and CPUs that describe themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/machine.h"
#include "tap/tap.h"

static char error[256];

static void built_in_machines_are_sound(void)
{
	static const char *const names[] = { "skylake", "icelake", "sapphirerapids",
					     "zen3",	"zen4",	   "cachegrind" };
	unsigned n = 0;

	for (; ap_machine_at(n); n++)
		if (ap_machine_check(ap_machine_at(n)))
			EXPECT_STR(ap_machine_check(ap_machine_at(n)), ap_machine_at(n)->name);
	EXPECT_U64(n, AP_ARRAY_SIZE(names));
	for (unsigned i = 0; i < AP_ARRAY_SIZE(names); i++)
		EXPECT(ap_machine_find(names[i]) == ap_machine_at(i));
	EXPECT(!ap_machine_find("z80"));
}

/* Every number of a machine that matters is a key: what is written reads as the same bytes. */
static void what_is_written_reads_the_same(void)
{
	static char text[16384];
	struct ap_machine m;
	char line[128];

	for (unsigned n = 0; ap_machine_at(n); n++) {
		size_t at = sprintf(text, "name = %s # as it is\n\n", ap_machine_at(n)->name);

		for (unsigned i = 0; ap_machine_key(ap_machine_at(n), i, line, sizeof(line)); i++)
			at += sprintf(text + at, "  %s  \n", line);
		REQUIRE(!ap_machine_parse(&m, text, error, sizeof(error)));
		EXPECT_MEM(&m, ap_machine_at(n), sizeof(m));
	}
}

static void a_file_changes_what_it_names(void)
{
	struct ap_machine m, want = *ap_machine_find("zen4");

	strcpy(want.name, "mine");
	want.l1d.size = 65536;
	want.l1d.policy = AP_POLICY_RANDOM;
	want.l2.prefetch = 3;
	want.l1d.prefetch = 0;
	EXPECT_U64(ap_machine_parse(&m,
				    "name=mine\nbase = zen4\n# larger\nl1d.size = 64K\n"
				    "l1d.policy=random\nl2.prefetch = stride next\n"
				    "l1d.prefetch = none",
				    error, sizeof(error)),
		   0);
	EXPECT_MEM(&m, &want, sizeof(m));
}

static void mistakes_are_named_with_their_line(void)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "base = zen4\nl1d.siez = 3", "line 2: unknown key \"l1d.siez\"" },
		{ "base = z80", "line 1: base: no machine \"z80\"" },
		{ "mhz = 3\nbase = zen4", "line 2: base must stand before all other settings" },
		{ "base = zen4\n\nl1d", "line 3: want \"key = value\"" },
		{ "base = zen4\nl1d.ways = many", "line 2: l1d.ways: not a number" },
		{ "base = zen4\nl1d.ways = -1", "line 2: l1d.ways: not a number" },
		{ "base = zen4\nl1d.ways = 99999999999", "line 2: l1d.ways: not a number" },
		{ "base = zen4\nl1d.size = 5G",
		  "line 2: l1d.size: not a number (K and M may follow)" },
		{ "base = zen4\nl1d.policy = fifo",
		  "line 2: l1d.policy: not one of: lru plru random rrip" },
		{ "base = zen4\nl1d.ways = 4\nmhz = 1\nl1d.ways = 8",
		  "line 4: l1d.ways: given twice" },
		{ "base = zen4\nllc.prefetch = next", "line 2: unknown key \"llc.prefetch\"" },
		{ "name = a\nname = b", "line 2: name: given twice" },
		{ "base = zen4\nl2.prefetch = both",
		  "line 2: l2.prefetch: not one of: next stride none" },
		{ "base = zen4\nl1d.prefetch = all",
		  "line 2: l1d.prefetch: not one of: next stride none" },
		{ "base = zen4\nl1d.ways = 33", "a cache has 1 to 32 ways" },
		{ "base = zen4\nl1d.size = 33K",
		  "a cache's size is line x ways x slices x a power of two" },
		{ "base = zen4\nl1d.ways = 12\nl1d.size = 48K\nl1d.policy = plru",
		  "policies are lru, plru (ways a power of two), random, rrip" },
		{ "base = zen4\ndtlb.entries = 100", "a TLB's entries are ways x a power of two" },
		{ "base = zen4\nbranch.max-history = 2000",
		  "histories are from 1 to 64, the first not above the last" },
		{ "base = zen4\nmhz = 0", "line 2: mhz: not from 1 to 100000" },
		{ "base = zen4\nref-mhz = 100001", "line 2: ref-mhz: not from 1 to 100000" },
		{ "base = zen4\nbus-mhz = 0", "line 2: bus-mhz: not from 1 to 100000" },
		{ "base = zen4\nwalk.step = 60001", "line 2: walk.step: not from 0 to 60000" },
		{ "base = zen4\nbranch.penalty = 60001",
		  "line 2: branch.penalty: not from 0 to 60000" },
		{ "base = zen4\nbranch.btb-penalty = 4000000000",
		  "line 2: branch.btb-penalty: not from 0 to 60000" },
		{ "base = zen4\npipe.decode = 4", "line 2: unknown key \"pipe.decode\"" },
		{ "base = zen4\npipe.issue = 65", "line 2: pipe.issue: not from 1 to 64" },
		{ "base = zen4\npipe.retire = 0", "line 2: pipe.retire: not from 1 to 64" },
		{ "base = zen4\npipe.rob = 0", "line 2: pipe.rob: not from 1 to 65536" },
		{ "base = zen4\npipe.store-buffer = 129",
		  "line 2: pipe.store-buffer: not from 0 to 128" },
		{ "base = zen4\n# far\npipe.forward = 60001",
		  "line 3: pipe.forward: not from 0 to 60000" },
		{ "base = zen4\npipe.split = 60001", "line 2: pipe.split: not from 0 to 60000" },
		{ "", "a line has 32, 64 or 128 bytes" },
		{ "name = a-name-that-is-much-too-long-for-it",
		  "line 1: a name has 1 to 23 characters" },
	};
	struct ap_machine m;

	for (unsigned i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		EXPECT_U64(-ap_machine_parse(&m, rows[i].text, error, sizeof(error)), 22);
		EXPECT_STR(error, rows[i].error);
	}
}

/* --- CPUs */

struct leaf {
	uint32_t leaf, subleaf, regs[4];
};

static void answer(void *arg, u32 leaf, u32 subleaf, u32 regs[4])
{
	memset(regs, 0, 16);
	for (const struct leaf *l = arg; l->leaf != 0xffffffff; l++)
		if (l->leaf == leaf && l->subleaf == subleaf)
			memcpy(regs, l->regs, 16);
}

/* A Core i7-6700: 32K/8, 32K/8, 256K/4, 8M/16 inclusive; no leaf 18h; four counters of 48 bits. */
static void a_skylake_is_read_from_its_cpuid(void)
{
	static struct leaf leaves[] = {
		{ 0, 0, { 0x16, 0x756e6547, 0x6c65746e, 0x49656e69 } },
		{ 1, 0, { 0x506e3 } },
		{ 4, 0, { 0x1c004121, 0x01c0003f, 0x3f, 0 } },
		{ 4, 1, { 0x1c004122, 0x01c0003f, 0x3f, 0 } },
		{ 4, 2, { 0x1c004143, 0x00c0003f, 0x3ff, 0 } },
		{ 4, 3, { 0x1c03c163, 0x03c0003f, 0x1fff, 6 } },
		{ 0xa, 0, { 0x07300404, 0, 0, 0x603 } },
		{ 0x16, 0, { 3400, 4000, 100 } },
		{ 0x80000000, 0, { 0x80000008 } },
		{ .leaf = 0xffffffff },
	};
	struct ap_machine m, want = *ap_machine_find("skylake");

	memset(want.name, 0, sizeof(want.name));
	strcpy(want.name, "host");
	want.l1d.slices = want.l1i.slices = want.l2.slices = want.llc.slices = 1;
	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_MEM(&m, &want, sizeof(m));
}

/* Made up: a 1.5 MB last level of 3 x 512 sets, TLBs in leaf 18h, a cache nobody can have. */
static void odd_sets_become_slices_and_nonsense_is_left(void)
{
	static struct leaf leaves[] = {
		{ 0, 0, { 0x18, 0x756e6547, 0x6c65746e, 0x49656e69 } },
		{ 1, 0, { 0x806f8 } },
		{ 4, 0, { 0x121, (12U - 1) << 22 | 63, 63, 0 } },
		{ 4, 1, { 0x143, (40U - 1) << 22 | 63, 63, 0 } },
		{ 4, 2, { 0x163, (16U - 1) << 22 | 63, 3 * 512 - 1, 0 } },
		{ 0x18, 0, { 3 } },
		{ 0x18, 1, { 0, 6 << 16 | 1, 16, 1 << 5 | 4 } },
		{ 0x18, 2, { 0, 16 << 16 | 1, 1, 1 << 8 | 1 << 5 | 5 } },
		{ 0x18, 3, { 0, 8 << 16 | 3, 128, 2 << 5 | 3 } },
		{ .leaf = 0xffffffff },
	};
	const struct ap_machine *base = ap_machine_find("sapphirerapids");
	struct ap_machine m;

	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_U64(m.l1d.size, 48 << 10);
	EXPECT_U64(m.l2.size, base->l2.size);
	EXPECT_U64(m.l2.ways, base->l2.ways);
	EXPECT_U64(m.llc.size, 1536 << 10);
	EXPECT_U64(m.llc.slices, 3);
	EXPECT_U64(m.dtlb.entries, 96);
	EXPECT_U64(m.dtlb.ways, 6);
	EXPECT_U64(m.dtlb_store.entries, 16);
	EXPECT_U64(m.dtlb_store.ways, 16);
	EXPECT_U64(m.stlb.entries, 1024);
	EXPECT_U64(m.counters, base->counters);
	EXPECT(!ap_machine_check(&m));
}

/* A guest with two CPUs of a host whose last level has 480 MiB; and one that is told of its share.  Memory is far. */
static void a_guest_has_a_share_of_a_server(void)
{
	static struct leaf leaves[] = {
		{ 0, 0, { 0x16, 0x756e6547, 0x6c65746e, 0x49656e69 } },
		{ 1, 0, { 0xa0671, 0, 1U << 31 } },
		{ 4, 0, { 0x04004163, 0x03c0003f, 0x77fff, 0 } },
		{ .leaf = 0xffffffff },
	};
	const struct ap_machine *base = ap_machine_find("icelake");
	struct ap_machine m;

	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_U64(m.llc.size, 8 << 20);
	EXPECT_U64(m.llc.ways, 16);
	EXPECT_U64(m.llc.slices, 1);
	EXPECT(!ap_machine_check(&m));
	EXPECT_U64(m.l2.latency, base->l2.latency);
	EXPECT_U64(m.memory, base->memory + base->memory / 2);
	EXPECT_U64(m.remote, base->remote + base->remote / 2);
	EXPECT_U64(m.walk_step, 3 * base->walk_step);
	leaves[2].regs[2] = 6 * 1024 - 1;
	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_U64(m.llc.size, 6 << 20);
	leaves[1].regs[2] = 0;
	leaves[2].regs[2] = 0x77fff;
	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_U64(m.llc.size, 480U << 20);
	EXPECT_U64(m.memory, base->memory);
	EXPECT_U64(m.walk_step, base->walk_step);
}

/* AMX tells more than a model number that a hypervisor may have made up. */
static void amx_is_of_golden_cove(void)
{
	static struct leaf leaves[] = {
		{ 0, 0, { 0x16, 0x756e6547, 0x6c65746e, 0x49656e69 } },
		{ 1, 0, { 0xa0671, 0, 1U << 31 } },
		{ 7, 0, { 0, 0, 0, 1U << 24 } },
		{ .leaf = 0xffffffff },
	};
	struct ap_machine m;

	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_U64(m.l2.latency, ap_machine_find("sapphirerapids")->l2.latency);
}

/* A Ryzen 7 5800X: 32K/8, 32K/8, 512K/8 inclusive, 32M/16; TLBs 64 full, 2048/8 and 512/8. */
static void a_zen3_is_read_from_its_cpuid(void)
{
	static struct leaf leaves[] = {
		{ 0, 0, { 0x10, 0x68747541, 0x444d4163, 0x69746e65 } },
		{ 1, 0, { 0x00a20f10 } },
		{ 0x80000000, 0, { 0x80000023 } },
		{ 0x80000005, 0, { 0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140 } },
		{ 0x80000006, 0, { 0x48002200, 0x68006200, 0x02006140, 0x01009140 } },
		{ 0x8000001d, 0, { 0x00004121, 0x01c0003f, 0x3f, 0 } },
		{ 0x8000001d, 1, { 0x00004122, 0x01c0003f, 0x3f, 0 } },
		{ 0x8000001d, 2, { 0x00004143, 0x01c0003f, 0x3ff, 2 } },
		{ 0x8000001d, 3, { 0x0003c163, 0x03c0003f, 0x7fff, 1 } },
		{ .leaf = 0xffffffff },
	};
	struct ap_machine m, want = *ap_machine_find("zen3");

	memset(want.name, 0, sizeof(want.name));
	strcpy(want.name, "host");
	want.l1d.slices = want.l1i.slices = want.l2.slices = want.llc.slices = 1;
	ap_machine_host(&m, answer, leaves, NULL);
	EXPECT_MEM(&m, &want, sizeof(m));
}

/* A guest whose leaf 8000001Dh is empty: 48K/12 and 32K/8, 1M/16, 32 MB that four CPUs share. */
static struct leaf empty_guest[] = {
	{ 0, 0, { 0x10, 0x68747541, 0x444d4163, 0x69746e65 } },
	{ 1, 0, { 0x00a10f10, 0, 1U << 31 } },
	{ 0x80000000, 0, { 0x80000023 } },
	{ 0x80000005, 0, { 0xff40ff40, 0xff40ff40, 0x300c0140, 0x20080140 } },
	{ 0x80000006, 0, { 0x48002200, 0x68006200, 0x04008140, 0x01009140 } },
	{ 0x80000008, 0, { 0x3030, 0, 3 } },
	{ .leaf = 0xffffffff },
};

static void where_a_guest_has_no_cache_leaf_the_older_ones_tell(void)
{
	struct ap_machine m;

	ap_machine_host(&m, answer, empty_guest, NULL);
	EXPECT_U64(m.l1d.size, 48 << 10);
	EXPECT_U64(m.l1d.ways, 12);
	EXPECT_U64(m.l1i.size, 32 << 10);
	EXPECT_U64(m.l2.size, 1 << 20);
	EXPECT_U64(m.l2.ways, 16);
	EXPECT_U64(m.llc.size, 16 << 20);
	EXPECT(!ap_machine_check(&m));
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	REQUIRE(f);
	fputs(text, f);
	fclose(f);
}

static void put_cache(const char *folder, unsigned n, const char *type, const char *level,
		      const char *size, const char *ways, const char *cpus)
{
	char index[256];

	snprintf(index, sizeof(index), "%s/index%u", folder, n);
	REQUIRE(!mkdir(index, 0700));
	put(index, "type", type);
	put(index, "level", level);
	put(index, "size", size);
	put(index, "ways_of_associativity", ways);
	put(index, "coherency_line_size", "64\n");
	put(index, "shared_cpu_list", cpus);
}

/* Before the older leaves; and the guest's share is that of those who share it there. */
static void before_them_the_kernel_is_asked(void)
{
	char folder[] = "/tmp/machine_test.XXXXXX", command[64];
	struct ap_machine m;

	REQUIRE(mkdtemp(folder));
	put_cache(folder, 0, "Data\n", "1\n", "64K\n", "16\n", "0\n");
	put_cache(folder, 1, "Instruction\n", "1\n", "64K\n", "4\n", "0\n");
	put_cache(folder, 2, "Unified\n", "2\n", "2048K\n", "8\n", "0\n");
	put_cache(folder, 3, "Unified\n", "3\n", "98304K\n", "16\n", "0-1,4\n");
	ap_machine_host(&m, answer, empty_guest, folder);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	EXPECT(!system(command));
	EXPECT_U64(m.l1d.size, 64 << 10);
	EXPECT_U64(m.l1d.ways, 16);
	EXPECT_U64(m.l1i.size, 64 << 10);
	EXPECT_U64(m.l2.size, 2 << 20);
	EXPECT_U64(m.llc.size, 8 << 20);
}

#ifdef __x86_64__
#include <cpuid.h>

static void really(void *arg, u32 leaf, u32 subleaf, u32 regs[4])
{
	(void)arg;
	__cpuid_count(leaf, subleaf, regs[0], regs[1], regs[2], regs[3]);
}

static bool sysfs(unsigned index, const char *file, char *text, unsigned size)
{
	char path[128];
	FILE *f;
	bool some;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, file);
	f = fopen(path, "r");
	some = f && fgets(text, size, f);
	if (f)
		fclose(f);
	return some;
}

static void this_cpu_is_as_sysfs_says(void)
{
	char level[16], type[32], size[16];
	struct ap_machine m;
	u32 regs[4];
	unsigned n = 0;
	bool is_guest;

	really(NULL, 1, 0, regs);
	is_guest = regs[2] >> 31;
	ap_machine_host(&m, really, NULL, NULL);
	EXPECT(!ap_machine_check(&m));
	for (; sysfs(n, "level", level, sizeof(level)) && sysfs(n, "type", type, sizeof(type)) &&
	       sysfs(n, "size", size, sizeof(size));
	     n++) {
		const struct ap_cache_spec *c = &m.llc;

		if (*level == '1')
			c = *type == 'D' ? &m.l1d : &m.l1i;
		else if (*level == '2')
			c = &m.l2;
		if (c == &m.llc && is_guest)
			EXPECT(c->size <= strtoull(size, NULL, 10) << 10);
		else
			EXPECT_U64(c->size, strtoull(size, NULL, 10) << 10);
	}
	if (!n)
		tap_lack("no caches in sysfs");
}
#endif

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(built_in_machines_are_sound),
		TAP(what_is_written_reads_the_same),
		TAP(a_file_changes_what_it_names),
		TAP(mistakes_are_named_with_their_line),
		TAP(a_skylake_is_read_from_its_cpuid),
		TAP(odd_sets_become_slices_and_nonsense_is_left),
		TAP(a_zen3_is_read_from_its_cpuid),
		TAP(a_guest_has_a_share_of_a_server),
		TAP(where_a_guest_has_no_cache_leaf_the_older_ones_tell),
		TAP(before_them_the_kernel_is_asked),
		TAP(amx_is_of_golden_cove),
#ifdef __x86_64__
		TAP(this_cpu_is_as_sysfs_says),
#endif
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
