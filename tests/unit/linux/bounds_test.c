/* SPDX-License-Identifier: MIT */
/*
 * What a party may take of the session: memory, numbers of segments, looks.  Its tasks can write to all of its file; here we are
 * they.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/run/supervisor.h"
#include "tap/tap.h"

#define MIB   (1ULL << 20)
#define FAR   500000U
#define LIMIT (16 * MIB)

static struct ap_supervisor sv;

static void open_session(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT };

	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
	sv.ses.max_bytes = LIMIT;
}

static struct ap_session_file *new_party(void)
{
	int fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	u32 party;

	REQUIRE(fd >= 0 && ap_session_party_new(&sv.ses, fd, &party) == 0 && party == 1);
	return sv.ses.parties[party];
}

static void fill(const struct ap_session_file *f, u64 off, u64 bytes)
{
	static char page[65536];

	memset(page, 1, sizeof(page));
	for (u64 done = 0; done < bytes; done += sizeof(page))
		REQUIRE(pwrite(f->fd, page, sizeof(page), (off_t)(off + done)) == sizeof(page));
}

/* A segment that says that it is somebody's, and not whose. */
static void say_taken(const struct ap_session_file *f, u32 seg)
{
	const u32 taken = 1;

	REQUIRE(pwrite(f->fd, &taken, sizeof(taken),
		       (off_t)(AP_SEG_OFF(seg) + offsetof(struct ap_seg, taken))) == sizeof(taken));
}

static u32 tracks_of(u32 party)
{
	u32 n = 0;

	for (u32 i = 0; i < sv.ntracks; i++)
		n += AP_PARTY_OF(sv.tracks[i]->seg) == party;
	return n;
}

static u32 notes_of(const char *text)
{
	u32 n = 0;

	for (u32 i = 0; i < sv.ses.nnotes; i++)
		n += strstr(sv.ses.notes[i].text, text) != NULL;
	return n;
}

static void memory_far_away_is_nobodys_segment(void)
{
	struct ap_seg init = { .pid = 1, .ns_pid = 1 };
	u32 seg = 0, own;

	open_session();
	REQUIRE(ap_session_seg_new(&sv.ses, &init, &own) == 0);
	say_taken(&sv.ses, FAR);
	EXPECT_U64(ap_session_nsegs(&sv.ses), own + 1);
	EXPECT(ap_session_next_seg(&sv.ses, &seg) && seg == own);
	seg++;
	EXPECT(!ap_session_next_seg(&sv.ses, &seg));
	ap_tracks_learn(&sv);
	EXPECT_U64(sv.ntracks, 1);
}

static void what_nobody_counts_in_is_taken_away(void)
{
	struct ap_session_file *f;

	open_session();
	f = new_party();
	say_taken(f, 0);
	fill(f, AP_SEG_OFF(FAR), 2 * LIMIT);
	EXPECT(ap_session_bytes(f) > LIMIT);
	ap_tracks_update(&sv);
	EXPECT(ap_session_bytes(f) < LIMIT);
	EXPECT(sv.ses.parties[1] == f && !f->is_given_up);
	EXPECT(ap_session_is_taken(&sv.ses, 1 << AP_PARTY_SHIFT));
	EXPECT_U64(sv.ses.nnotes, 0);
}

/* A party that fills what is its own ends, with a line; the others are as they were. */
static void a_party_that_fills_its_memory_is_given_up(void)
{
	struct ap_seg init = { .pid = (u32)getpid(), .ns_pid = (u32)getpid() };
	struct ap_session_file *f;
	u32 own;

	open_session();
	REQUIRE(ap_session_seg_new(&sv.ses, &init, &own) == 0);
	f = new_party();
	say_taken(f, 0);
	fill(f, AP_SEG_OFF(0) + AP_SLOTS_OFF, 2 * LIMIT);
	ap_tracks_update(&sv);
	EXPECT(f->is_given_up);
	EXPECT_U64(ap_board_of(f->head)->gone, sv.ses.head->supervisor);
	EXPECT_U64(notes_of("filled their memory"), 1);
	ap_tracks_update(&sv);
	EXPECT_U64(tracks_of(1), 0);
	EXPECT(!sv.ses.parties[1]);
	EXPECT_U64(tracks_of(0), 1);
	EXPECT(ap_session_is_taken(&sv.ses, own));
	EXPECT_U64(ap_board_of(sv.ses.head)->gone, 0);
	EXPECT_U64(notes_of("filled their memory"), 1);
}

/* The session's own file stays, and what is written to it after its end does not. */
static void the_first_partys_memory_is_taken_away_again(void)
{
	open_session();
	say_taken(&sv.ses, 0);
	fill(&sv.ses, AP_SEG_OFF(0) + AP_SLOTS_OFF, 2 * LIMIT);
	ap_tracks_update(&sv);
	EXPECT(sv.ses.is_given_up);
	fill(&sv.ses, AP_SEG_OFF(0) + AP_SLOTS_OFF, 2 * LIMIT);
	fill(&sv.ses, AP_SEG_OFF(FAR), LIMIT);
	ap_tracks_update(&sv);
	EXPECT(ap_session_bytes(&sv.ses) < LIMIT);
	EXPECT_U64(sv.ntracks, 0);
	EXPECT_U64(notes_of("filled their memory"), 1);
}

/* As fast as it may be, by one who takes all numbers that are believed. */
static void numbers_are_used_up_by_a_party_that_ends(void)
{
	struct ap_session_file *f;
	u32 looks = 0;

	open_session();
	sv.ses.max_bytes = 1024 * MIB;
	f = new_party();
	for (u32 seg = 0; looks < 100 && !f->is_given_up; looks++) {
		for (u32 end = seg + 2000; seg < end; seg++)
			say_taken(f, seg);
		ap_tracks_update(&sv);
	}
	EXPECT(looks < 8);
	EXPECT_U64(notes_of("used up their places"), 1);
	ap_tracks_update(&sv);
	EXPECT_U64(sv.ntracks, 0);
	EXPECT(!sv.ses.parties[1]);
}

/* A stray word has them passed over, as tasks go by it. */
static void numbers_that_are_passed_over_cost_nothing(void)
{
	struct ap_seg init = { .pid = (u32)getpid(), .ns_pid = (u32)getpid() };
	u32 seg;

	open_session();
	for (u32 i = 0; i < 4; i++) {
		ap_board_of(sv.ses.head)->nsegs += 4000;
		REQUIRE(ap_session_seg_new(&sv.ses, &init, &seg) == 0);
		while (sv.scanned[0] <= seg)
			ap_tracks_update(&sv);
	}
	EXPECT(seg > 12000);
	EXPECT(!sv.ses.is_given_up);
	EXPECT_U64(sv.ses.nnotes, 0);
	for (u32 i = 0; i < sv.ntracks; i++)
		sv.tracks[i]->since_ns *= sv.tracks[i]->is_taken;
	sv.free_at = 0;
	ap_tracks_update(&sv);
	EXPECT_U64(tracks_of(0), 4);
}

/* A supervisor that goes on for those who run would do so for ever. */
static void an_end_of_nobody_is_not_waited_for(void)
{
	const struct ap_seg head = { .taken = 1, .state = AP_SEG_EXITED };

	open_session();
	REQUIRE(pwrite(sv.ses.fd, &head, sizeof(head), AP_SEG_OFF(0)) == sizeof(head));
	ap_tracks_update(&sv);
	REQUIRE(sv.ntracks == 1);
	EXPECT_U64(ap_tracks_unsettled(&sv), 1);
	sv.tracks[0]->since_ns = 0;
	EXPECT_U64(ap_tracks_unsettled(&sv), 0);
	EXPECT_U64(ap_tracks_running(&sv), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(memory_far_away_is_nobodys_segment),
		TAP(what_nobody_counts_in_is_taken_away),
		TAP(a_party_that_fills_its_memory_is_given_up),
		TAP(the_first_partys_memory_is_taken_away_again),
		TAP(numbers_are_used_up_by_a_party_that_ends),
		TAP(numbers_that_are_passed_over_cost_nothing),
		TAP(an_end_of_nobody_is_not_waited_for),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
