/* SPDX-License-Identifier: MIT */
/*
 * Each record byte by byte.  What is expected is written here by hand, in the order and with the sizes
 * of perf_event_open(2), as a list of words.
 */
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "sampling/record.h"
#include "tap/tap.h"

#define SIZE 65536U

static struct area A;
static struct ap_ring_map M;
static struct got G;

static u8 want[SIZE];
static u32 want_size;

static void w_bytes(const void *p, u32 n)
{
	memcpy(want + want_size, p, n);
	want_size += n;
}

static void w8(u64 v)
{
	w_bytes(&v, 8);
}

static void w4(u32 v)
{
	w_bytes(&v, 4);
}

static void w2(u16 v)
{
	w_bytes(&v, 2);
}

static void w_begin(u32 type, u16 misc)
{
	want_size = 0;
	w4(type);
	w2(misc);
	w2(0);
}

static void w_string(const char *s)
{
	w_bytes(s, (u32)strlen(s) + 1);
	while (want_size % 8)
		w_bytes("", 1);
}

static bool w_check(int line)
{
	u16 size = (u16)want_size;

	memcpy(want + 6, &size, 2);
	REQUIRE(area_take(&A, SIZE, &G));
	if (EXPECT_U64(G.header.size, want_size) && EXPECT_MEM(G.bytes, want, want_size))
		return true;
	tap_note("line %d", line);
	return false;
}

/* --- samples */

static struct ap_record_format F;
static struct ap_sample_data D;

static const u64 chain[] = { AP_PERF_CONTEXT_USER, 0x401000, 0x402000, 0x403000 };
static const u64 values[] = { 3, 100, 90, 5, 6, 7 };
static const struct ap_perf_branch_entry branches[] = { { 1, 2, 3 }, { 4, 5, 6 } };
static u64 regs_user[64], regs_intr[64];
static const char raw[] = "\x12\x34\x56\x78raw data";

#define STACK_AT  0x7000
#define STACK_END (STACK_AT + 100)

static u64 stack_copy(void *arg, void *to, u64 from, u64 n)
{
	u64 end = *(const u64 *)arg, can = from < end ? end - from : 0;

	if (can > n)
		can = n;
	for (u64 i = 0; i < can; i++)
		((u8 *)to)[i] = (u8)((from + i) * 7);
	return can;
}

static void fill(void)
{
	static u64 end = STACK_END;

	for (u32 i = 0; i < 64; i++) {
		regs_user[i] = 0x1000 + i;
		regs_intr[i] = 0x2000 + i;
	}
	F = (struct ap_record_format){ .branch_sample_type = AP_PERF_SAMPLE_BRANCH_USER,
				       .regs_user = 0x81,
				       .regs_intr = 0x1f0003,
				       .stack_user = 160,
				       .id = 71,
				       .stream_id = 72 };
	D = (struct ap_sample_data){ .misc = AP_PERF_RECORD_MISC_USER |
					     AP_PERF_RECORD_MISC_EXACT_IP,
				     .origin = { .pid = 11, .tid = 12, .time = 13, .cpu = 14 },
				     .ip = 21,
				     .addr = 22,
				     .period = 23,
				     .read = values,
				     .nr_read = AP_ARRAY_SIZE(values),
				     .chain = chain,
				     .nr_chain = AP_ARRAY_SIZE(chain),
				     .raw = raw,
				     .raw_size = sizeof(raw) - 1,
				     .branches = branches,
				     .nr_branches = 2,
				     .branch_hw_index = 31,
				     .regs_user = regs_user,
				     .regs_intr = regs_intr,
				     .regs_user_abi = 2,
				     .regs_intr_abi = 2,
				     .user_sp = STACK_AT,
				     .copy = stack_copy,
				     .copy_arg = &end,
				     .weight = 41,
				     .data_src = 42,
				     .transaction = 43,
				     .phys_addr = 44,
				     .cgroup = 45,
				     .data_page_size = 46,
				     .code_page_size = 47 };
}

static bool on(u64 bit)
{
	return F.sample_type & bit;
}

static void w_regs(u64 mask, u64 abi, const u64 *regs)
{
	w8(abi);
	for (u32 i = 0; abi && i < 64; i++)
		if (mask >> i & 1)
			w8(regs[i]);
}

static void w_raw(void)
{
	u32 pad = 0;

	if (!D.raw) {
		w4(4);
		w4(0);
		return;
	}
	while ((4 + D.raw_size + pad) % 8)
		pad++;
	w4(D.raw_size + pad);
	w_bytes(D.raw, D.raw_size);
	while (pad--)
		w_bytes("", 1);
}

static void w_stack(u32 size, u64 end)
{
	w8(size);
	if (!size)
		return;
	for (u32 i = 0; i < size; i++) {
		u8 b = STACK_AT + i < end ? (u8)((STACK_AT + i) * 7) : 0;

		w_bytes(&b, 1);
	}
	w8(STACK_AT + size < end ? size : end - STACK_AT);
}

static void w_branches(void)
{
	w8(D.branches ? D.nr_branches : 0);
	if (D.branches && (F.branch_sample_type & AP_PERF_SAMPLE_BRANCH_HW_INDEX))
		w8(D.branch_hw_index);
	for (u32 i = 0; D.branches && i < D.nr_branches; i++) {
		w8(D.branches[i].from);
		w8(D.branches[i].to);
		w8(D.branches[i].flags);
	}
}

/* The list of PERF_RECORD_SAMPLE in perf_event_open(2), from top to bottom. */
static void w_sample(u32 stack)
{
	w_begin(AP_PERF_RECORD_SAMPLE, D.misc);
	if (on(AP_PERF_SAMPLE_IDENTIFIER))
		w8(71);
	if (on(AP_PERF_SAMPLE_IP))
		w8(21);
	if (on(AP_PERF_SAMPLE_TID))
		w4(11), w4(12);
	if (on(AP_PERF_SAMPLE_TIME))
		w8(13);
	if (on(AP_PERF_SAMPLE_ADDR))
		w8(22);
	if (on(AP_PERF_SAMPLE_ID))
		w8(71);
	if (on(AP_PERF_SAMPLE_STREAM_ID))
		w8(72);
	if (on(AP_PERF_SAMPLE_CPU))
		w4(14), w4(0);
	if (on(AP_PERF_SAMPLE_PERIOD))
		w8(23);
	if (on(AP_PERF_SAMPLE_READ))
		w_bytes(D.read, D.nr_read * 8);
	if (on(AP_PERF_SAMPLE_CALLCHAIN)) {
		w8(D.nr_chain);
		w_bytes(D.chain, D.nr_chain * 8);
	}
	if (on(AP_PERF_SAMPLE_RAW))
		w_raw();
	if (on(AP_PERF_SAMPLE_BRANCH_STACK))
		w_branches();
	if (on(AP_PERF_SAMPLE_REGS_USER))
		w_regs(F.regs_user, D.regs_user_abi, regs_user);
	if (on(AP_PERF_SAMPLE_STACK_USER))
		w_stack(stack, STACK_END);
	if (on(AP_PERF_SAMPLE_WEIGHT) || on(AP_PERF_SAMPLE_WEIGHT_STRUCT))
		w8(41);
	if (on(AP_PERF_SAMPLE_DATA_SRC))
		w8(42);
	if (on(AP_PERF_SAMPLE_TRANSACTION))
		w8(43);
	if (on(AP_PERF_SAMPLE_REGS_INTR))
		w_regs(F.regs_intr, D.regs_intr_abi, regs_intr);
	if (on(AP_PERF_SAMPLE_PHYS_ADDR))
		w8(44);
	if (on(AP_PERF_SAMPLE_CGROUP))
		w8(45);
	if (on(AP_PERF_SAMPLE_DATA_PAGE_SIZE))
		w8(46);
	if (on(AP_PERF_SAMPLE_CODE_PAGE_SIZE))
		w8(47);
	if (on(AP_PERF_SAMPLE_AUX))
		w8(0);
}

static bool sample_is(int line, u32 stack)
{
	bool wakes;

	w_sample(stack);
	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	return w_check(line);
}

static void each_field_of_a_sample_alone(void)
{
	area_init(&A, &M, SIZE, 0);
	fill();
	for (u32 bit = 0; bit < 25; bit++) {
		F.sample_type = 1ULL << bit;
		if (!sample_is(__LINE__, 160))
			tap_note("bit %u", bit);
	}
}

static void any_fields_together(void)
{
	area_init(&A, &M, SIZE, 0);
	fill();
	srand(3);
	for (u32 n = 0; n < 20000; n++) {
		static const u64 weights[] = { 0, AP_PERF_SAMPLE_WEIGHT,
					       AP_PERF_SAMPLE_WEIGHT_STRUCT };

		F.sample_type =
			(u64)rand() & (AP_PERF_SAMPLE_WEIGHT_STRUCT - 1) & ~AP_PERF_SAMPLE_WEIGHT;
		F.sample_type |= weights[rand() % 3];
		D.raw = rand() % 4 ? raw : NULL;
		D.raw_size = (u32)rand() % (u32)sizeof(raw);
		D.branches = rand() % 4 ? branches : NULL;
		D.nr_branches = (u32)rand() % 3;
		F.branch_sample_type = rand() % 2 ? AP_PERF_SAMPLE_BRANCH_HW_INDEX : 0;
		D.regs_user_abi = (u64)rand() % 3;
		D.regs_intr_abi = (u64)rand() % 3;
		F.regs_user = (u64)rand() & 0xffffff;
		D.nr_chain = (u32)rand() % 5;
		D.nr_read = (u32)rand() % 7;
		F.stack_user = (u32)rand() % 30 * 8;
		REQUIRE(sample_is(__LINE__, F.stack_user));
	}
}

static void no_stack_without_a_way_to_copy_it(void)
{
	area_init(&A, &M, SIZE, 0);
	fill();
	D.copy = NULL;
	F.sample_type = AP_PERF_SAMPLE_STACK_USER | AP_PERF_SAMPLE_PHYS_ADDR;
	sample_is(__LINE__, 0);
	fill();
	F.stack_user = 0;
	F.sample_type = AP_PERF_SAMPLE_STACK_USER | AP_PERF_SAMPLE_PHYS_ADDR;
	sample_is(__LINE__, 0);
}

/* The whole record has 65528 bytes then: header, ip, size, stack, dyn_size. */
static void a_long_stack_is_cut_to_what_a_size_can_say(void)
{
	area_init(&A, &M, SIZE, AP_RING_OVERWRITE);
	fill();
	F.stack_user = 65528;
	F.sample_type = AP_PERF_SAMPLE_STACK_USER | AP_PERF_SAMPLE_IP;
	sample_is(__LINE__, 65528 - 32);
	EXPECT_U64(G.header.size, 65528);
}

static void a_long_callchain_is_cut(void)
{
	static u64 longer[9000];
	bool wakes;

	area_init(&A, &M, SIZE, AP_RING_OVERWRITE);
	fill();
	for (u32 i = 0; i < AP_ARRAY_SIZE(longer); i++)
		longer[i] = i;
	D.chain = longer;
	D.nr_chain = AP_ARRAY_SIZE(longer);
	F.sample_type = AP_PERF_SAMPLE_CALLCHAIN | AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_STACK_USER;
	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	REQUIRE(area_record(&A, SIZE, 0, &G));
	EXPECT_U64(G.header.size, 65528);
	EXPECT_U64(got_word(&G, 1), (65528 - 32) / 8);
	EXPECT_U64(got_word(&G, 2 + (65528 - 32) / 8), 0);
}

static void samples_wake_by_number_unless_there_is_a_watermark(void)
{
	struct ap_sampler s = { .sample_type = AP_PERF_SAMPLE_IP,
				.read_format = 2,
				.branch_sample_type = 3,
				.regs_user = 4,
				.regs_intr = 5,
				.stack_user = 6,
				.wakeup_events = 2,
				.id = 7,
				.stream_id = 8 };
	bool wakes;

	area_init(&A, &M, SIZE, 0);
	ap_record_format_of(&s, &F);
	EXPECT_U64(F.sample_type, AP_PERF_SAMPLE_IP);
	EXPECT_U64(F.read_format * 1000000 + F.branch_sample_type * 100000 + F.regs_user * 10000 +
			   F.regs_intr * 1000 + F.stack_user * 100 + F.id * 10 + F.stream_id,
		   2345678);
	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	EXPECT(!wakes);
	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	EXPECT(wakes);
	s.flags = AP_PERF_WATERMARK;
	ap_record_format_of(&s, &F);
	for (u32 n = 0; n < 4; n++) {
		REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
		EXPECT(!wakes);
	}
}

/* --- side-band */

static struct ap_record_origin origin = { .pid = 11, .tid = 12, .time = 13, .cpu = 14 };
static bool woken;
static const struct ap_record_to to = { &M, &writer_1, &F, &origin, &woken };

static void w_trailer(void)
{
	if (!(F.flags & AP_PERF_SAMPLE_ID_ALL))
		return;
	if (on(AP_PERF_SAMPLE_TID))
		w4(11), w4(12);
	if (on(AP_PERF_SAMPLE_TIME))
		w8(13);
	if (on(AP_PERF_SAMPLE_ID))
		w8(71);
	if (on(AP_PERF_SAMPLE_STREAM_ID))
		w8(72);
	if (on(AP_PERF_SAMPLE_CPU))
		w4(14), w4(0);
	if (on(AP_PERF_SAMPLE_IDENTIFIER))
		w8(71);
}

static bool end_is(int line)
{
	w_trailer();
	return w_check(line);
}

static void check_mappings(u64 flags)
{
	struct ap_record_mapping m = { .addr = 0x400000,
				       .len = 0x3000,
				       .pgoff = 0x1000,
				       .maj = 8,
				       .min = 1,
				       .ino = 99,
				       .ino_generation = 5,
				       .prot = 5,
				       .flags = 2,
				       .filename = "/bin/prog" };

	F.flags = flags | AP_PERF_MMAP;
	REQUIRE(!ap_record_mapping(&to, &m));
	w_begin(AP_PERF_RECORD_MMAP, 2);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000), w_string("/bin/prog");
	end_is(__LINE__);
	REQUIRE(!ap_record_unmapping(&to, &m));
	w_begin(AP_PERF_RECORD_MUNMAP, 2);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000), w_string("/bin/prog");
	end_is(__LINE__);
	m.prot = 3;
	m.filename = "//anon-x";
	REQUIRE(!ap_record_mapping(&to, &m));
	w_begin(AP_PERF_RECORD_MMAP, 2 | 1 << 13);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000), w_string("//anon-x");
	end_is(__LINE__);
	F.flags = flags | AP_PERF_MMAP2;
	REQUIRE(!ap_record_mapping(&to, &m));
	w_begin(AP_PERF_RECORD_MMAP2, 2 | 1 << 13);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000);
	w4(8), w4(1), w8(99), w8(5), w4(3), w4(2), w_string("//anon-x");
	end_is(__LINE__);
	F.flags |= AP_PERF_BUILD_ID;
	m.prot = 4;
	REQUIRE(!ap_record_mapping(&to, &m)); /* no build id known */
	w_begin(AP_PERF_RECORD_MMAP2, 2);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000);
	w4(8), w4(1), w8(99), w8(5), w4(4), w4(2), w_string("//anon-x");
	end_is(__LINE__);
	memcpy(m.build_id, "0123456789abcdefghij", 20);
	m.build_id_size = 20;
	REQUIRE(!ap_record_mapping(&to, &m));
	w_begin(AP_PERF_RECORD_MMAP2, 2 | 1 << 14);
	w4(11), w4(12), w8(0x400000), w8(0x3000), w8(0x1000);
	w_bytes("\x14\0\0\0", 4), w_bytes("0123456789abcdefghij", 20);
	w4(4), w4(2), w_string("//anon-x");
	end_is(__LINE__);
}

static void check_tasks(void)
{
	REQUIRE(!ap_record_comm(&to, "exactly", false));
	w_begin(AP_PERF_RECORD_COMM, 0);
	w4(11), w4(12), w_string("exactly");
	end_is(__LINE__);
	REQUIRE(!ap_record_comm(&to, "eight888", true));
	w_begin(AP_PERF_RECORD_COMM, 1 << 13);
	w4(11), w4(12), w_string("eight888");
	end_is(__LINE__);
	REQUIRE(!ap_record_task(&to, AP_PERF_RECORD_FORK, 1, 2, 3, 4));
	w_begin(AP_PERF_RECORD_FORK, 0);
	w4(1), w4(3), w4(2), w4(4), w8(13);
	end_is(__LINE__);
	REQUIRE(!ap_record_task(&to, AP_PERF_RECORD_EXIT, 1, 2, 3, 4));
	w_begin(AP_PERF_RECORD_EXIT, 0);
	w4(1), w4(3), w4(2), w4(4), w8(13);
	end_is(__LINE__);
	REQUIRE(!ap_record_read(&to, values, 3));
	w_begin(AP_PERF_RECORD_READ, 0);
	w4(11), w4(12), w_bytes(values, 24);
	end_is(__LINE__);
}

static void check_others(void)
{
	const struct ap_perf_ns_link links[] = { { 1, 2 }, { 3, 4 } };
	const struct ap_perf_record_ksymbol symbol = { 0x1234, 56, 1, 0 };
	const struct ap_perf_record_bpf_event bpf = { 1, 2, 3, "tagtagt" };

	REQUIRE(!ap_record_throttle(&to, true));
	w_begin(AP_PERF_RECORD_THROTTLE, 0);
	w8(13), w8(71), w8(72);
	end_is(__LINE__);
	REQUIRE(!ap_record_throttle(&to, false));
	w_begin(AP_PERF_RECORD_UNTHROTTLE, 0);
	w8(13), w8(71), w8(72);
	end_is(__LINE__);
	REQUIRE(!ap_record_switch(&to, false, false));
	w_begin(AP_PERF_RECORD_SWITCH, 0);
	end_is(__LINE__);
	REQUIRE(!ap_record_switch(&to, true, true));
	w_begin(AP_PERF_RECORD_SWITCH, 3 << 13);
	end_is(__LINE__);
	REQUIRE(!ap_record_switch_cpu_wide(&to, true, false, 5, 6));
	w_begin(AP_PERF_RECORD_SWITCH_CPU_WIDE, 1 << 13);
	w4(5), w4(6);
	end_is(__LINE__);
	REQUIRE(!ap_record_namespaces(&to, 11, 12, links, 2));
	w_begin(AP_PERF_RECORD_NAMESPACES, 0);
	w4(11), w4(12), w8(2), w8(1), w8(2), w8(3), w8(4);
	end_is(__LINE__);
	REQUIRE(!ap_record_ksymbol(&to, &symbol, "sym"));
	w_begin(AP_PERF_RECORD_KSYMBOL, 0);
	w8(0x1234), w4(56), w2(1), w2(0), w_string("sym");
	end_is(__LINE__);
	REQUIRE(!ap_record_bpf_event(&to, &bpf));
	w_begin(AP_PERF_RECORD_BPF_EVENT, 0);
	w2(1), w2(2), w4(3), w_bytes("tagtagt", 8);
	end_is(__LINE__);
	REQUIRE(!ap_record_cgroup(&to, 88, "/a/b"));
	w_begin(AP_PERF_RECORD_CGROUP, 0);
	w8(88), w_string("/a/b");
	end_is(__LINE__);
	REQUIRE(!ap_record_text_poke(&to, 0x77, "abc", 3, "defgh", 5));
	w_begin(AP_PERF_RECORD_TEXT_POKE, 0);
	w8(0x77), w2(3), w2(5), w_bytes("abcdefgh", 8), w4(0);
	end_is(__LINE__);
	REQUIRE(!ap_record_lost_samples(&to, 9));
	w_begin(AP_PERF_RECORD_LOST_SAMPLES, 0);
	w8(9);
	end_is(__LINE__);
}

static void side_band_records(void)
{
	const u64 ids = AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_ID |
			AP_PERF_SAMPLE_STREAM_ID | AP_PERF_SAMPLE_CPU | AP_PERF_SAMPLE_IDENTIFIER;
	static const u64 types[] = { 0, ~0ULL, AP_PERF_SAMPLE_TID, AP_PERF_SAMPLE_CPU,
				     AP_PERF_SAMPLE_IDENTIFIER | AP_PERF_SAMPLE_STREAM_ID };

	area_init(&A, &M, SIZE, 0);
	for (u32 all = 0; all < 2; all++) {
		for (u32 i = 0; i < AP_ARRAY_SIZE(types); i++) {
			fill();
			F.sample_type = types[i] & (ids | AP_PERF_SAMPLE_IP);
			check_mappings(all ? AP_PERF_SAMPLE_ID_ALL : 0);
			F.flags = all ? AP_PERF_SAMPLE_ID_ALL : 0;
			check_tasks();
			check_others();
		}
	}
}

static void lost_comes_with_the_trailer_of_the_record_behind_it(void)
{
	area_init(&A, &M, SIZE, 0);
	fill();
	F.flags = AP_PERF_SAMPLE_ID_ALL;
	F.sample_type = AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_STREAM_ID;
	A.ring.lost = 6;
	REQUIRE(!ap_record_comm(&to, "x", false));
	w_begin(AP_PERF_RECORD_LOST, 0);
	w8(71), w8(6);
	end_is(__LINE__);
}

/* Nothing has been told of a time that is asked for before all else is there. */
static u64 late(const void *arg)
{
	u64 period;

	EXPECT_U64(A.ring.lock, WRITER_1);
	EXPECT_U64(A.page.data_head, 0);
	memcpy(&period, A.data + *(const u32 *)arg - 8, sizeof(period));
	EXPECT_U64(period, 23);
	return 99;
}

static void a_late_time_is_that_of_the_end(void)
{
	u32 size = 8 + 16 + 16 + 8 + 16 + 8;
	bool wakes;

	area_init(&A, &M, SIZE, 0);
	fill();
	D.origin.now = late;
	D.origin.now_arg = &size;
	F.flags = AP_PERF_SAMPLE_ID_ALL;
	F.sample_type = AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_PERIOD;
	A.ring.lost = 6;
	REQUIRE(!ap_sample_write(&M, &writer_1, &F, &D, &wakes));
	w_begin(AP_PERF_RECORD_LOST, 0);
	w8(71), w8(6), w4(11), w4(12), w8(99);
	w_check(__LINE__);
	w_begin(AP_PERF_RECORD_SAMPLE, D.misc);
	w4(11), w4(12), w8(99), w8(23);
	w_check(__LINE__);
}

static void endless_names_end(void)
{
	static char name[70000];

	area_init(&A, &M, SIZE, 0);
	fill();
	memset(name, 'n', sizeof(name) - 1);
	REQUIRE(!ap_record_cgroup(&to, 1, name));
	REQUIRE(area_take(&A, SIZE, &G));
	EXPECT_U64(G.header.size, 8 + 8 + 4096);
	EXPECT_U64(G.bytes[16 + 4094], 'n');
	EXPECT_U64(G.bytes[16 + 4095], 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_field_of_a_sample_alone),
		TAP(any_fields_together),
		TAP(no_stack_without_a_way_to_copy_it),
		TAP(a_long_stack_is_cut_to_what_a_size_can_say),
		TAP(a_long_callchain_is_cut),
		TAP(samples_wake_by_number_unless_there_is_a_watermark),
		TAP(side_band_records),
		TAP(lost_comes_with_the_trailer_of_the_record_behind_it),
		TAP(a_late_time_is_that_of_the_end),
		TAP(endless_names_end),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
