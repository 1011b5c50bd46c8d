/* SPDX-License-Identifier: MIT */
/*
 * Segments and the processes behind them.  Each segment that was not folded yet has a track; a
 * pidfd says when its process is gone.  New segments are found by looking for them whenever
 * something happens, so a fork costs the supervisor nothing by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/session/state.h"
#include "linux/task/now.h"

/* New ones that each party has in a look: the others are looked at the next time. */
#define FRESH 2048

/* A look at each of them is a system call, and a party may say of a thousand segments that all their slots are in use. */
#define FEW_SLOTS 16

/*
 * A party that is given up, or that no process is left of.  Its memory may go on to name segments, which are nobody's then, and are
 * not waited for, nor looked for.  The session owner's is never over for want of processes: what it says is of those that may do to
 * the session what they like.
 */
bool ap_track_party_is_over(const struct ap_supervisor *sv, u32 party)
{
	const struct ap_session_file *f = ap_session_party(&sv->ses, party << AP_PARTY_SHIFT);

	return (f && f->is_given_up) || (party && sv->quiet_since[party] &&
					 ap_now_ns() - sv->quiet_since[party] > AP_TRACK_TAKING_NS);
}

/* A party has at most so many segments as its file has room for. */
static bool has_place(struct ap_supervisor *sv, u32 seg)
{
	u32 party = AP_PARTY_OF(seg), local = AP_SEG_LOCAL(seg), room = sv->track_room[party];
	struct ap_track **more;

	if (local < room)
		return true;
	room = room ? room : 64;
	while (room <= local)
		room *= 2;
	more = realloc(sv->track_at[party], room * sizeof(struct ap_track *));
	if (!more)
		return false;
	memset(more + sv->track_room[party], 0,
	       (room - sv->track_room[party]) * sizeof(struct ap_track *));
	sv->track_at[party] = more;
	sv->track_room[party] = room;
	return true;
}

struct ap_track *ap_track_of(const struct ap_supervisor *sv, u32 seg)
{
	u32 party = AP_PARTY_OF(seg), local = AP_SEG_LOCAL(seg);

	return party < AP_PARTY_MAX && local < sv->track_room[party] ? sv->track_at[party][local]
								     : NULL;
}

static int add_track(struct ap_supervisor *sv, u32 seg)
{
	struct ap_track *t;
	struct ap_seg head;

	if (sv->ntracks == sv->tracks_cap) {
		u32 cap = sv->tracks_cap ? 2 * sv->tracks_cap : 64;
		struct ap_track **more = realloc(sv->tracks, cap * sizeof(struct ap_track *));

		if (!more)
			return -ENOMEM;
		sv->tracks = more;
		sv->tracks_cap = cap;
	}
	t = has_place(sv, seg) ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return -ENOMEM;
	*t = (struct ap_track){ .seg = seg, .pidfd = -1, .since_ns = ap_now_ns() };
	if (!ap_session_seg_read(&sv->ses, seg, &head))
		t->parent = head.parent_seg;
	sv->tracks[sv->ntracks++] = t;
	sv->track_at[AP_PARTY_OF(seg)][AP_SEG_LOCAL(seg)] = t;
	return 0;
}

void ap_track_unpin(struct ap_track *t)
{
	/* closing takes it out of the epoll set */
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
}

bool ap_track_name(struct ap_supervisor *sv, struct ap_track *t, pid_t pid)
{
	if (t->is_named && t->pid == pid && !t->is_gone)
		return true;
	if (ap_track_party_is_over(sv, AP_PARTY_OF(t->seg)))
		return false; /* it would come back, and keep the party */
	ap_track_unpin(t);
	t->is_owner = false;
	t->is_named = true;
	t->pid = pid;
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	t->is_gone = t->pidfd < 0 && errno == ESRCH;
	/* of the end of a child of ours SIGCHLD tells */
	if (t->pidfd >= 0 && (pid != sv->command || sv->command_ended) &&
	    ap_supervisor_watch(sv, t->pidfd, t->seg, EPOLLIN))
		ap_track_unpin(t);
	return !t->is_gone;
}

u32 ap_track_slots(const struct ap_track *t)
{
	return t->is_named ? AP_SLOT_MAX : FEW_SLOTS;
}

static void learn(struct ap_supervisor *sv, struct ap_session_file *f)
{
	u32 *scanned = &sv->scanned[f->party], first = f->party << AP_PARTY_SHIFT;
	u32 n = ap_track_party_is_over(sv, f->party) ? 0 : AP_SEG_LOCAL(ap_session_nsegs(f));

	while (*scanned < n && sv->fresh[f->party] < FRESH && !add_track(sv, first + *scanned))
		++*scanned, sv->nseen++, sv->fresh[f->party]++;
	f->known = *scanned;
	__atomic_store_n(&sv->ses.head->known_segs[f->party], *scanned, __ATOMIC_RELEASE);
}

void ap_tracks_learn(struct ap_supervisor *sv)
{
	struct ap_session_file *f;

	for (u32 p = 0; (f = ap_session_next_party(&sv->ses, &p));)
		learn(sv, f);
}

void ap_track_gone(struct ap_track *t)
{
	ap_track_unpin(t);
	t->is_gone = true;
	t->is_free = false;
}

void ap_tracks_fini(struct ap_supervisor *sv)
{
	for (u32 i = 0; i < sv->ntracks; i++) {
		ap_track_unpin(sv->tracks[i]);
		free(sv->tracks[i]);
	}
	free(sv->tracks);
	sv->tracks = NULL;
	for (u32 p = 0; p < AP_PARTY_MAX; p++)
		free(sv->track_at[p]);
	memset(sv->track_at, 0, sizeof(sv->track_at));
	memset(sv->track_room, 0, sizeof(sv->track_room));
	sv->ntracks = sv->tracks_cap = 0;
	memset(sv->scanned, 0, sizeof(sv->scanned));
}
