/* SPDX-License-Identifier: MIT */
/*
 * Segments as engines leave them, and as nobody should leave them: a process may write anything into
 * its segment, and the supervisor must neither crash nor tell anything twice.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/session/result.h"
#include "linux/session/session.h"
#include "tap/tap.h"

static struct ap_session_file ses;

static void open_session(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT, .cache_limit = 1 << 20 };

	REQUIRE(ap_session_new(&ses, &cfg) == 0);
}

/* A segment as its process maps it. */
static u8 *new_segment(u32 root, u32 *seg)
{
	const struct ap_seg init = { .root = root, .pid = 1, .ns_pid = 1 };
	struct ap_seg *head;
	u8 *p;

	REQUIRE(ap_session_seg_new(&ses, &init, seg) == 0);
	p = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ses.fd,
		 (off_t)AP_SEG_OFF(*seg));
	REQUIRE(p != MAP_FAILED);
	head = (struct ap_seg *)p;
	EXPECT_U64(head->state, AP_SEG_INIT);
	head->state = AP_SEG_LIVE;
	return p;
}

static u64 *shapes_of(u8 *p)
{
	return (u64 *)(p + AP_SHAPES_OFF);
}

static struct ap_slot *slot_of(u8 *p, u32 i)
{
	return (struct ap_slot *)(p + AP_SLOT_OFF(i));
}

static u64 *counts_of(u8 *p, u32 i)
{
	return (u64 *)(p + AP_SLOT_OFF(i) + AP_SLOT_COUNTS_OFF);
}

/* Two shapes, slot 0 live, slot 1 final: 3*10 + 5*2 - 1 and 7 instructions, 1*10 branches. */
static u8 *new_usual_segment(u32 root, u32 *seg)
{
	u8 *p = new_segment(root, seg);
	struct ap_seg *head = (struct ap_seg *)p;

	head->nshapes = 2;
	head->nslots = 2;
	shapes_of(p)[0] = 3 * AP_VEC_ONE(AP_VEC_INSTR) + AP_VEC_ONE(AP_VEC_BRANCH);
	shapes_of(p)[1] = 5 * AP_VEC_ONE(AP_VEC_INSTR);
	slot_of(p, 0)->state = AP_SLOT_LIVE;
	slot_of(p, 0)->extra[AP_VEC_INSTR] = -1;
	slot_of(p, 0)->extra[AP_RAW_SYSCALL] = 4;
	counts_of(p, 0)[0] = 10;
	counts_of(p, 0)[1] = 2;
	slot_of(p, 1)->state = AP_SLOT_FINAL;
	slot_of(p, 1)->final[AP_VEC_INSTR] = 7;
	counts_of(p, 1)[0] = 1000; /* to be ignored */
	return p;
}

/* The last byte of a shape says which kinds its fields are. */
static void shapes_are_of_all_groups(void)
{
	static const struct {
		u64 shape;
		enum ap_kind kind[2];
	} group[] = {
		{ 0x0000000000000203, { AP_KIND_INSTR, AP_KIND_COND } },
		{ 0x0100000000040203, { AP_KIND_LOAD, AP_KIND_STORE } },
		{ 0x0200040000000203, { AP_KIND_FP_SCALAR_DOUBLE, AP_KIND_FP_SCALAR_SINGLE } },
		{ 0x0300000000000203, { AP_KIND_FP_512_DOUBLE, AP_KIND_FP_512_SINGLE } },
		{ 0x0400000000000203, { 0 } }, /* none that there is: whoever wrote it */
	};
	u64 raw[AP_RAW_N] = { 0 }, total = 0;

	for (u32 i = 0; i < AP_ARRAY_SIZE(group); i++)
		ap_shape_add(group[i].shape, 10, raw);
	for (u32 i = 0; i < AP_VEC_GROUPS; i++) {
		EXPECT_U64(raw[group[i].kind[0]], 30);
		EXPECT_U64(raw[group[i].kind[1]], 20);
	}
	EXPECT_U64(raw[AP_KIND_MEM], 40);
	EXPECT_U64(raw[AP_KIND_FP_256_SINGLE], 40);
	EXPECT_U64(raw[AP_KIND_FLOPS], 10 * (3 * 1 + 2 * 1 + 4 * 8 + 3 * 8 + 2 * 16));
	/* fields that no kind has */
	ap_shape_add(0x01ffffffff000000, 10, raw);
	ap_shape_add(0x02ff000000000000, 10, raw);
	ap_shape_add(0x03ffffffffff0000, 10, raw);
	EXPECT_U64(ap_shape_of(0x03ffffffffff0000, ~0ULL), 0);
	for (u32 k = 0; k < AP_RAW_N; k++)
		total += raw[k];
	EXPECT_U64(total - raw[AP_KIND_FLOPS], 4 * 50 + 2 * 40);
	EXPECT_U64(ap_shape_of(0x0300000000000203, AP_KIND_BIT(AP_KIND_FLOPS)), 3 * 8 + 2 * 16);
	EXPECT_U64(ap_shape_of(0x0100000000040203,
			       AP_KIND_BIT(AP_KIND_STORE) | AP_KIND_BIT(AP_KIND_INSTR)),
		   2);
	EXPECT_U64(ap_kinds_with(AP_KIND_BIT(AP_KIND_STORE)),
		   AP_KINDS_BASE | AP_KIND_BIT(AP_KIND_LOAD) | AP_KIND_BIT(AP_KIND_STORE) |
			   AP_KIND_BIT(AP_KIND_MEM));
	EXPECT_U64(ap_kinds_with(AP_KINDS_ALL), AP_KINDS_ALL);
	/* operations on elements come of all that is arithmetic, and of nothing less */
	EXPECT_U64(ap_kinds_with(AP_KIND_BIT(AP_KIND_FLOPS)), AP_KINDS_BASE | AP_KINDS_OF_FLOPS);
	EXPECT(!(ap_kinds_with(AP_KINDS_FP) & AP_KIND_BIT(AP_KIND_FLOPS)));
}

static void survives_wild_indices(void)
{
	struct ap_seg *head;
	u32 seg, n;
	u8 *p;

	open_session();
	p = new_usual_segment(0, &seg);
	head = (struct ap_seg *)p;
	head->nshapes = 0xffffffff;
	head->nslots = 0xffffffff;
	head->fold = ~0ULL;
	head->root = 0xdeadbeef;
	slot_of(p, 0)->state = 77;
	slot_of(p, 0)->in_code = 1;
	slot_of(p, 3)->state = AP_SLOT_LIVE;
	slot_of(p, 3)->in_code = 0x100;
	EXPECT_U64(ap_session_in_code(&ses, seg), 1);
	REQUIRE(ap_session_fold(&ses, seg) == 0);
	REQUIRE(ap_session_short(&ses, 0, &n) == 0);
	EXPECT_U64(n, 1);
}

static void survives_a_wild_allocator(void)
{
	u32 seg, n;
	u8 *p;

	open_session();
	p = new_usual_segment(0, &seg);
	((struct ap_seg *)p)->short_tasks = 4;
	ap_board_of(ses.head)->nsegs = 0xfffffff0;
	EXPECT_U64(ap_session_nsegs(&ses), 1);
	REQUIRE(ap_session_short(&ses, 0, &n) == 0);
	EXPECT_U64(n, 4);
	REQUIRE(ap_session_seg_new(&ses, &(struct ap_seg){ 0 }, &seg) == 0);
	EXPECT_U64(seg, 1);
}

/* There is no page behind the file's end: to look there ends a process. */
static void numbers_are_no_more_than_the_file_has(void)
{
	struct rlimit lim = { .rlim_cur = AP_SEG_OFF(5), .rlim_max = AP_SEG_OFF(5) };
	u32 seg, n;

	REQUIRE(setrlimit(RLIMIT_FSIZE, &lim) == 0);
	open_session();
	ses.head->known_segs[0] = ses.head->max_segs = 0xfffffff0;
	ap_board_of(ses.head)->nsegs = 0xfffffff8;
	EXPECT(ap_session_nsegs(&ses) <= 4);
	EXPECT(ap_session_said_segs(&ses) <= 4);
	EXPECT(ap_session_seg_new(&ses, &(struct ap_seg){ 0 }, &seg) < 0);
	REQUIRE(ap_session_short(&ses, 0, &n) == 0);
}

/* The supervisor goes by its own number. */
static void what_the_supervisor_knows_it_does_not_read(void)
{
	u32 seg;

	open_session();
	REQUIRE(ap_session_seg_new(&ses, &(struct ap_seg){ 0 }, &seg) == 0);
	ses.known = ap_session_nsegs(&ses);
	ses.head->known_segs[0] = 1 << 19;
	EXPECT_U64(ap_session_nsegs(&ses), 1);
	EXPECT_U64(ap_session_said_segs(&ses), 1);
}

/* Whatever stands on the board, nobody gets what is another's, and the supervisor finds them all. */
static void scribbled_numbers_give_each_its_own_segment(void)
{
	static const u32 wild[] = { 0, 1, 3, 7, 40, 4095, 4097, 1u << 20, 0x7fffffff, 0xffffffff };
	u8 is_taken[4096] = { 0 };
	u32 seg, known = 0, n = 0, end;

	open_session();
	for (u32 i = 0; i < 300; i++) {
		if (i % 3)
			ap_board_of(ses.head)->nsegs = wild[i % AP_ARRAY_SIZE(wild)];
		if (i % 50 == 49) {
			known = ap_session_nsegs(&ses);
			ses.head->known_segs[0] = known;
		}
		REQUIRE(ap_session_seg_new(&ses, &(struct ap_seg){ 0 }, &seg) == 0);
		if (seg < AP_ARRAY_SIZE(is_taken)) {
			EXPECT(!is_taken[seg]);
			is_taken[seg] = 1;
		}
		EXPECT(seg >= known);
		n = seg >= n ? seg + 1 : n;
	}
	end = ap_session_nsegs(&ses);
	EXPECT(end >= n && end <= n + AP_SEGS_AHEAD);
	for (u32 i = 0; i < AP_ARRAY_SIZE(wild); i++) {
		ap_board_of(ses.head)->nsegs = wild[i];
		EXPECT(ap_session_nsegs(&ses) >= n);
	}
}

static u64 blocks(void)
{
	struct stat st;

	REQUIRE(fstat(ses.fd, &st) == 0);
	return (u64)st.st_blocks;
}

static void folding_says_what_was_cut_short_and_frees_memory(void)
{
	u64 before;
	u32 seg, n;
	u8 *p;

	open_session();
	ap_board_of(ses.head)->nsegs = 0; /* has its page, which the first segment's number is on */
	before = blocks();
	p = new_usual_segment(0, &seg);
	slot_of(p, 0)->in_code = 1;
	((struct ap_seg *)p)->short_tasks = 2;
	munmap(p, AP_SEG_SIZE);
	EXPECT(blocks() > before);
	REQUIRE(ap_session_fold(&ses, seg) == 0);
	EXPECT_U64(blocks(), before);
	REQUIRE(ap_session_short(&ses, 0, &n) == 0);
	EXPECT_U64(n, 3);
	/* once more is no more */
	REQUIRE(ap_session_fold(&ses, seg) == 0);
	REQUIRE(ap_session_short(&ses, 0, &n) == 0);
	EXPECT_U64(n, 3);
}

static u32 short_of(u32 root)
{
	u32 n;

	REQUIRE(ap_session_short(&ses, root, &n) == 0);
	return n;
}

static void what_is_told_follows_the_tree_of_roots(void)
{
	u32 seg[4], roots[4] = { 0 };
	u8 *p;

	open_session();
	REQUIRE(roots[1] = ap_root_new(ap_board_of(ses.head), 0));
	REQUIRE(roots[2] = ap_root_new(ap_board_of(ses.head), roots[1]));
	REQUIRE(roots[3] = ap_root_new(ap_board_of(ses.head), 0));
	for (u32 i = 0; i < 4; i++) {
		p = new_usual_segment(roots[i], &seg[i]);
		((struct ap_seg *)p)->short_tasks = 1u << (4 * i);
	}
	REQUIRE(ap_session_fold(&ses, seg[2]) == 0);
	EXPECT_U64(short_of(0), 0x1111);
	EXPECT_U64(short_of(roots[1]), 0x0110);
	EXPECT_U64(short_of(roots[2]), 0x0100);
}

static void a_released_root_goes_to_its_parent(void)
{
	u32 seg, root, again;
	u8 *p;

	open_session();
	REQUIRE(root = ap_root_new(ap_board_of(ses.head), 0));
	p = new_usual_segment(root, &seg);
	((struct ap_seg *)p)->short_tasks = 5;
	ap_root_release(ap_board_of(ses.head), root);
	ap_session_roots_reap(&ses);
	EXPECT_U64(ap_board_of(ses.head)->roots[root].used,
		   AP_ROOT_RELEASED); /* a segment still names it */
	REQUIRE(ap_session_fold(&ses, seg) == 0);
	ap_session_roots_reap(&ses);
	EXPECT_U64(ap_board_of(ses.head)->roots[root].used, 0);
	EXPECT_U64(short_of(0), 5);
	REQUIRE(again = ap_root_new(ap_board_of(ses.head), 0));
	EXPECT_U64(again, root);
}

/* Nobody has it, so nobody gives it back. */
static void a_scribbled_root_is_free_again(void)
{
	open_session();
	for (u32 i = 1; i < AP_ROOT_MAX; i++)
		ap_board_of(ses.head)->roots[i].used = 77 + i;
	EXPECT(!ap_root_new(ap_board_of(ses.head), 0));
	ap_session_roots_reap(&ses);
	EXPECT(ap_root_new(ap_board_of(ses.head), 0));
	EXPECT_U64(ap_board_of(ses.head)->roots[0].used, AP_ROOT_USED);
}

static void roots_end_and_loops_in_them_too(void)
{
	open_session();
	for (u32 i = 1; i < AP_ROOT_MAX; i++)
		REQUIRE(ap_root_new(ap_board_of(ses.head), 0));
	EXPECT(!ap_root_new(ap_board_of(ses.head), 0));
	ap_board_of(ses.head)->roots[3].parent = 4;
	ap_board_of(ses.head)->roots[4].parent = 3;
	EXPECT(!ap_root_is_within(&ses, 3, 0));
	EXPECT(ap_root_is_within(&ses, 3, 4));
	EXPECT(!ap_root_is_within(&ses, 1000, 0));
}

/* By whatever way a task tries, what it was given for reading. */
static void nobody_else_can_write_the_head(void)
{
	const u64 parts[] = { 0, AP_PUB_OFF, AP_SAMPLER_OFF };
	char path[64];
	void *p;
	int fd;

	open_session();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ses.head_fd);
	fd = open(path, O_RDWR); /* root may, and an old kernel knows nothing better */
	if (!(fcntl(ses.head_fd, F_GET_SEALS) & 0x10 /* F_SEAL_FUTURE_WRITE */))
		fd = -1;
	for (u32 i = 0; i < AP_ARRAY_SIZE(parts); i++) {
		off_t off = (off_t)parts[i];

		EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ses.head_fd, off) ==
		       MAP_FAILED);
		EXPECT(fd < 0 ||
		       mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off) == MAP_FAILED);
		EXPECT(pwrite(ses.head_fd, "x", 1, off) < 0);
		EXPECT(fd < 0 || pwrite(fd, "x", 1, off) < 0);
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, ses.head_fd, off);
		REQUIRE(p != MAP_FAILED);
		EXPECT(mprotect(p, 4096, PROT_READ | PROT_WRITE) < 0);
	}
	EXPECT(fd < 0 || ftruncate(fd, 0) < 0);
	EXPECT_U64(ses.head->magic, AP_SESSION_MAGIC);
	ses.head->command = 7; /* but we can */
}

static void a_small_file_limit_gives_few_segments(void)
{
	struct rlimit lim = { .rlim_cur = 1 << 20, .rlim_max = AP_SEG_OFF(3) + 5 };
	u32 seg;

	REQUIRE(setrlimit(RLIMIT_FSIZE, &lim) == 0);
	open_session();
	EXPECT_U64(ses.head->max_segs, 3);
	REQUIRE(getrlimit(RLIMIT_FSIZE, &lim) == 0);
	EXPECT_U64(lim.rlim_cur, 1 << 20);
	for (u32 i = 0; i < 3; i++)
		new_usual_segment(0, &seg);
	EXPECT(ap_session_seg_new(&ses, &(struct ap_seg){ 0 }, &seg) < 0);
}

static void nobody_can_shrink_the_file(void)
{
	open_session();
	EXPECT(ftruncate(ses.fd, 4096) < 0);
}

static void notes_are_taken_once_and_always_end(void)
{
	struct ap_note_args args = { .kind = AP_NOTE_NOT_COUNTED,
				     .pid = 5,
				     .subject = "/usr/bin/sudo",
				     .reason = "set-uid" };
	struct ap_run_result res = { 0 };
	struct ap_note *notes;

	open_session();
	ap_session_note(&ses, &args);
	args.pid = 6;
	ap_session_note(&ses, &args);
	notes = ap_notes_of(ses.head);
	memset(notes[2].text, 'x', sizeof(notes[2].text));
	notes[2].text[0] = '\n';
	notes[2].ready = AP_NOTE_READY;
	for (u32 i = 3; i < AP_NOTE_MAX; i++)
		notes[i].ready = AP_NOTE_CLAIMED;
	/* a task wipes the supervisor's out */
	notes[0].ready = notes[1].ready = AP_NOTE_CLAIMED;
	memset(notes[0].text, 0, sizeof(notes[0].text));
	ap_board_of(ses.head)->nnotes = AP_NOTE_MAX + 2;
	EXPECT(!ap_note_new(ses.head));
	REQUIRE(ap_result_take(&res, &ses, 0) == 0);
	REQUIRE(res.nnotes == 3);
	EXPECT_STR(res.notes[0].text, "not counted: /usr/bin/sudo: set-uid");
	EXPECT_U64(res.notes[0].pid, 5);
	EXPECT_U64(strlen(res.notes[1].text), sizeof(res.notes[1].text) - 1);
	EXPECT(res.notes[1].text[0] == '?');
	EXPECT_STR(res.notes[2].text, "3 more notes did not fit");
	ap_run_result_fini(&res);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(shapes_are_of_all_groups),
		TAP(survives_wild_indices),
		TAP(survives_a_wild_allocator),
		TAP(numbers_are_no_more_than_the_file_has),
		TAP(what_the_supervisor_knows_it_does_not_read),
		TAP(scribbled_numbers_give_each_its_own_segment),
		TAP(folding_says_what_was_cut_short_and_frees_memory),
		TAP(what_is_told_follows_the_tree_of_roots),
		TAP(a_released_root_goes_to_its_parent),
		TAP(a_scribbled_root_is_free_again),
		TAP(roots_end_and_loops_in_them_too),
		TAP(nobody_else_can_write_the_head),
		TAP(a_small_file_limit_gives_few_segments),
		TAP(nobody_can_shrink_the_file),
		TAP(notes_are_taken_once_and_always_end),
		{ 0 }
	};

	return tap_main(tests, argc, argv);
}
