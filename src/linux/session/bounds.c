/* SPDX-License-Identifier: MIT */
/*
 * What a party may take of the session: memory, and numbers of segments that no process counts in.  Its tasks
 * can write to all of its file, so they can fill it, and can say that any segment is taken.  A party that does is given
 * up: one note says so, its tasks are not counted any more, and nobody else's counts change.
 *
 * A process of a party that was given up goes on with the pages that it has mapped.  They are its own then, as those of any memfd
 * of its making would be, since we do not hold the file any more.  The first party's file stays, as its head does: what is
 * filled there is taken away again.
 */
#include <stdlib.h>
#include <unistd.h>

#include "linux/session/state.h"

/*
 * So many segments that are taken and that no process has been seen in: of forks that are on their way, of children that were killed too early. A
 * process has 64 in reserve (engine/thread/cradle.c).
 */
#define UNNAMED_MAX 1024U
#define IN_RESERVE  64U

#define PART_OF_MEMORY 2
#define LEAST_BYTES    (1ULL << 30)

/* Before there is any limit of its own: half of what the machine has. */
static u64 max_bytes(struct ap_session_file *s)
{
	if (!s->max_bytes) {
		long pages = sysconf(_SC_PHYS_PAGES);

		s->max_bytes = pages > 0 ? (u64)pages * AP_PAGE_SIZE / PART_OF_MEMORY : 0;
		if (s->max_bytes < LEAST_BYTES)
			s->max_bytes = LEAST_BYTES;
	}
	return s->max_bytes;
}

static void give_up(struct ap_supervisor *sv, struct ap_session_file *f, const char *why)
{
	const struct ap_note_args args = {
		.kind = AP_NOTE_ENGINE,
		.subject = why,
		.reason = "they and their children are not counted any more",
	};

	ap_session_note(&sv->ses, &args);
	f->is_given_up = true;
	if (!f->is_told_last)
		ap_session_party_tell(&sv->ses, f);
	for (u32 i = 0; i < sv->ntracks; i++)
		if (AP_PARTY_OF(sv->tracks[i]->seg) == f->party)
			ap_track_gone(sv->tracks[i]);
	sv->is_stale = true;
}

/* Segments that were folded, and written to again: nobody's.  Behind those that are known one may be taken right now. */
static void free_nobodys(struct ap_supervisor *sv, const struct ap_session_file *f)
{
	u32 n = sv->scanned[f->party], from = 0;
	bool *is_used = calloc(n + 1ULL, sizeof(*is_used));

	if (!is_used)
		return;
	for (u32 i = 0; i < sv->ntracks; i++)
		if (AP_PARTY_OF(sv->tracks[i]->seg) == f->party)
			is_used[AP_SEG_LOCAL(sv->tracks[i]->seg)] = true;
	is_used[n] = true;
	for (u32 i = 0; i <= n; i++) {
		if (!is_used[i])
			continue;
		ap_session_punch(f, from, i);
		from = i + 1;
	}
	free(is_used);
	if (n + 2 * AP_SEGS_AHEAD < f->max_segs)
		ap_session_punch(f, n + 2 * AP_SEGS_AHEAD, f->max_segs);
}

static void bound_memory(struct ap_supervisor *sv, struct ap_session_file *f)
{
	u64 most = max_bytes(&sv->ses);

	if (ap_session_bytes(f) <= most)
		return;
	free_nobodys(sv, f);
	if (ap_session_bytes(f) <= most)
		return;
	if (f->is_given_up)
		ap_session_punch(f, 0, f->max_segs);
	else
		give_up(sv, f, "tasks have filled their memory of the session");
}

/* A task of it is about to be able to write for another user, and waits.  The first party's has left it before its filter. */
static bool is_open(const struct ap_session_file *f)
{
	return f->party && __atomic_load_n(&ap_board_of(f->head)->is_open, __ATOMIC_SEQ_CST);
}

static void close_before(struct ap_supervisor *sv, struct ap_session_file *f)
{
	f->is_told_last = true;
	give_up(sv, f,
		"tasks have changed their credentials under a seccomp filter that lets them unmap nothing");
}

void ap_tracks_bound(struct ap_supervisor *sv)
{
	u32 named[AP_PARTY_MAX] = { 0 }, unnamed[AP_PARTY_MAX] = { 0 };
	struct ap_session_file *f;

	for (u32 i = 0; i < sv->ntracks; i++) {
		const struct ap_track *t = sv->tracks[i];

		named[AP_PARTY_OF(t->seg)] += t->is_named;
		unnamed[AP_PARTY_OF(t->seg)] += t->is_taken && !t->is_named;
	}
	for (u32 p = 0; (f = ap_session_next_party(&sv->ses, &p));) {
		if (f->is_given_up &&
		    !f->is_told_last) /* its tasks may have written to that word */
			ap_session_party_tell(&sv->ses, f);
		else if (!f->is_given_up && is_open(f))
			close_before(sv, f);
		else if (unnamed[f->party] > UNNAMED_MAX + IN_RESERVE * named[f->party])
			give_up(sv, f, "tasks have used up their places in the session");
		bound_memory(sv, f);
	}
}
