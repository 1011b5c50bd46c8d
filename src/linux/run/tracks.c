/* SPDX-License-Identifier: MIT */
/* Looks at all segments: their processes are found, and what is dead is folded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host.h"
#include "linux/run/supervisor.h"
#include "linux/session/owner.h"
#include "linux/task/now.h"

/*
 * A fork names its segment within microseconds; a task that was killed in between never will.  After this
 * long nobody waits for a name any more.
 */
#define NAMING_NS 2000000000ULL

/*
 * Programs with narrow filters keep segments in reserve (engine/thread/cradle.c), by the thousand where they have many
 * workers: looking at them all takes one part of so many of the time.
 */
#define FREE_SHARE 20

/* So many processes that live on in the memory of a dead one are looked for. */
#define SHARERS 16

/* A process has a segment for each AP_SLOT_MAX threads, up to 16. */
#define SEGS_OF_ONE 32

/* Signals are looked at in between. */
#define MANY_TRACKS 256

/* Behind a look at all tracks. */
static void look_for_processes(struct ap_supervisor *sv, u64 now)
{
	bool has[AP_PARTY_MAX] = { 0 };

	/* also one that has ended, as long as another one uses its memory */
	for (u32 i = 0; i < sv->ntracks; i++)
		has[AP_PARTY_OF(sv->tracks[i]->seg)] |= sv->tracks[i]->is_named;
	for (u32 i = 0; i < sv->ntraced; i++)
		has[sv->traced[i].party] = true;
	for (u32 p = 0; p < AP_PARTY_MAX; p++)
		if (has[p] || !ap_session_party(&sv->ses, p << AP_PARTY_SHIFT))
			sv->quiet_since[p] = 0;
		else if (!sv->quiet_since[p])
			sv->quiet_since[p] = now;
}

/* Looks in vain that each party has at a time: a party that claims what is not so has others wait for no more than that. */
#define VAIN_LOOKS 64

/* Or may be: one that cannot be looked at, for want of descriptors say, is asked about again. */
static bool is_same_process(pid_t pid, u64 start_time)
{
	struct ap_proc_stat st;
	int ret = ap_stat_read(pid, &st);

	if (ret)
		return ret != -ENOENT && ret != -ESRCH;
	if (start_time && st.start_time != start_time)
		return false;
	return (st.state != 'Z' && st.state != 'X') || st.threads > 1;
}

static u32 count_of(const struct ap_supervisor *sv, pid_t pid)
{
	u32 n = 0;

	for (u32 i = 0; i < sv->ntracks; i++)
		n += sv->tracks[i]->is_named && sv->tracks[i]->pid == pid &&
		     !sv->tracks[i]->is_gone;
	return n;
}

/* Its memory names a process that is not its own, and whatever it was has had the time to put that right. */
static void forsake(struct ap_supervisor *sv, struct ap_track *t, const struct ap_seg *head)
{
	const struct ap_note_args args = {
		.kind = AP_NOTE_ENGINE,
		.pid = head->ns_pid,
		.root = head->root < AP_ROOT_MAX ? head->root : 0,
		.subject = "a task's memory of the session was overwritten",
		.reason = "it is not counted any more",
	};

	ap_session_note(&sv->ses, &args);
	t->is_gone = true;
}

/* Learns the process of a segment, once its engine or injector has written a name. */
static void watch(struct ap_supervisor *sv, struct ap_track *t, const struct ap_seg *head)
{
	u32 *vain = &sv->vain[AP_PARTY_OF(t->seg)];
	pid_t pid = (pid_t)head->pid;
	enum ap_owned owned;

	if (*vain >= VAIN_LOOKS)
		return;
	if (!pid && head->ns_pid)
		pid = ap_owner_outer(sv, t->seg, head, head->ns_pid);
	if (pid <= 0) {
		/* named, but nobody has that name any more */
		t->is_gone = !pid && head->ns_pid;
		*vain += t->is_gone;
		return;
	}
	/* the list of its mappings is long: not for one that has enough */
	owned = count_of(sv, pid) < SEGS_OF_ONE ? ap_owner_look(sv, t->seg, head, pid)
						: AP_OWNED_NOT;
	if (owned == AP_OWNED_NOT || owned == AP_OWNED_EMPTY) {
		if (!is_same_process(pid, head->start_time)) {
			t->is_gone = true;
			return;
		}
		++*vain;
		/* it has given up what it had before anybody looked */
		if (head->state == AP_SEG_NATIVE)
			t->is_gone = true;
		else if (ap_now_ns() - t->since_ns > NAMING_NS)
			forsake(sv, t, head);
		return;
	}
	/* by now it may be another process that bears the name */
	if (ap_track_name(sv, t, pid) && !is_same_process(pid, head->start_time)) {
		ap_track_unpin(t);
		t->is_gone = true;
	}
	if (owned == AP_OWNED && !t->is_gone)
		ap_owner_set(sv, t->seg, pid);
}

/* A vfork child or another process without memory of its own may outlive the segment's process. */
static bool is_shared(struct ap_supervisor *sv, const struct ap_track *t, const struct ap_seg *head)
{
	u32 most = ap_track_slots(t), nslots = head->nslots < most ? head->nslots : most, looks = 0;
	struct ap_slot slot;

	if (head->pid != head->ns_pid)
		return false;
	for (u32 i = 0; i < nslots && looks < SHARERS; i++) {
		if (ap_session_slot_read(&sv->ses, t->seg, i, &slot))
			return false;
		if (slot.state != AP_SLOT_LIVE || !slot.pid || slot.pid == head->ns_pid)
			continue;
		looks++;
		if (is_same_process((pid_t)slot.pid, 0) &&
		    ap_owner_look(sv, t->seg, head, (pid_t)slot.pid) == AP_OWNED)
			return true;
	}
	return false;
}

/* True when the track has nothing more to tell. */
static bool update(struct ap_supervisor *sv, struct ap_track *t)
{
	const bool over = ap_track_party_is_over(sv, AP_PARTY_OF(t->seg));
	struct ap_seg head;
	bool is_dead;

	if (over && t->is_free)
		return true;
	if (ap_session_seg_read(&sv->ses, t->seg, &head))
		return false;
	sv->has_mute |= head.mute;
	t->parent = head.parent_seg;
	t->is_taken = head.taken;
	t->is_free = head.state == AP_SEG_FREE && !head.ns_pid && !head.pid && !t->is_gone;
	if (t->is_free)
		return over || (!t->is_taken && ap_now_ns() - t->since_ns > AP_TRACK_TAKING_NS);
	t->is_gone |= !t->is_named && over;
	if (!t->is_named && !t->is_gone)
		watch(sv, t, &head);
	if (t->pidfd < 0 && t->is_named && !t->is_gone)
		t->is_gone = !is_same_process(t->pid, head.start_time);
	is_dead = head.state == AP_SEG_EXECED || head.state == AP_SEG_FOLDED ||
		  (t->is_gone && (over || !is_shared(sv, t, &head)));
	if (!is_dead) {
		if (!t->is_gone)
			ap_handover_scan(sv, t);
		return false;
	}
	ap_track_unpin(t);
	if (sv->host) {
		ap_host_adopt_last(sv->host, t->seg);
		ap_host_seg_ended(sv->host, t->seg);
		ap_host_files_ended(sv->host);
	}
	return !ap_session_fold(&sv->ses, t->seg);
}

/* Their notes are the session's. */
static void take_notes(struct ap_supervisor *sv, const struct ap_session_file *f)
{
	const struct ap_note *notes = ap_notes_of(f->head);
	struct ap_note *to;

	for (u32 i = 0; (i = ap_session_next_note(f, i)) < AP_NOTE_MAX; i++) {
		if (__atomic_load_n(&notes[i].ready, __ATOMIC_ACQUIRE) != AP_NOTE_READY)
			continue;
		to = ap_note_new(sv->ses.head);
		if (!to)
			return;
		to->kind = notes[i].kind;
		to->pid = notes[i].pid;
		to->root = 0;
		memcpy(to->text, notes[i].text, sizeof(to->text));
		__atomic_store_n(&to->ready, AP_NOTE_READY, __ATOMIC_RELEASE);
	}
}

/* A segment that has no track yet. */
static bool has_more(const struct ap_supervisor *sv, u32 party)
{
	u32 seg = party << AP_PARTY_SHIFT | sv->scanned[party];

	return ap_session_next_seg(&sv->ses, &seg) && AP_PARTY_OF(seg) == party;
}

/* Of a party nobody is left, nor comes with an exec. */
static void end_parties(struct ap_supervisor *sv)
{
	bool is_used[AP_PARTY_MAX] = { true };
	struct ap_session_file *f;

	/* an exact profile is read at the end */
	if (sv->ses.head->flags & AP_F_PROFILE)
		return;
	for (u32 i = 0; i < sv->ntracks; i++)
		is_used[AP_PARTY_OF(sv->tracks[i]->seg)] = true;
	for (u32 i = 0; i < sv->ntraced; i++)
		is_used[sv->traced[i].party] = true;
	for (u32 p = 1; (f = ap_session_next_party(&sv->ses, &p));) {
		if (is_used[f->party] ||
		    (!ap_track_party_is_over(sv, f->party) && has_more(sv, f->party)))
			continue;
		take_notes(sv, f);
		if (sv->host)
			ap_host_party_ended(sv->host, f->party);
		ap_doorbell_leave(&sv->bell, f->party);
		ap_session_party_end(&sv->ses, f->party);
	}
}

void ap_tracks_update(struct ap_supervisor *sv)
{
	u64 now = ap_now_ns();
	bool with_free = now >= sv->free_at;

	memset(sv->fresh, 0, sizeof(sv->fresh));
	ap_tracks_learn(sv);
	if (sv->host)
		ap_host_adopt(sv->host);
	memset(sv->vain, 0, sizeof(sv->vain));
	for (u32 i = 0, n = 1; i < sv->ntracks; n++) {
		struct ap_track *t = sv->tracks[i];

		if (n % MANY_TRACKS == 0)
			ap_supervisor_glance(sv);
		if ((!t->is_free || with_free || ap_track_party_is_over(sv, AP_PARTY_OF(t->seg))) &&
		    update(sv, t)) {
			sv->tracks[i] = sv->tracks[--sv->ntracks];
			sv->track_at[AP_PARTY_OF(t->seg)][AP_SEG_LOCAL(t->seg)] = NULL;
			free(t);
		} else {
			i++;
		}
	}
	if (with_free)
		sv->free_at = now + FREE_SHARE * (ap_now_ns() - now);
	ap_session_roots_reap(&sv->ses);
	ap_tracks_bound(sv);
	look_for_processes(sv, now);
	end_parties(sv);
}

void ap_tracks_gone(struct ap_supervisor *sv, u32 seg)
{
	struct ap_track *t = ap_track_of(sv, seg);

	if (t)
		ap_track_gone(t);
}

void ap_tracks_reaped(struct ap_supervisor *sv, pid_t pid)
{
	for (u32 i = 0; i < sv->ntracks; i++)
		if (sv->tracks[i]->pid == pid)
			ap_tracks_gone(sv, sv->tracks[i]->seg);
}

static bool is_exiting(struct ap_supervisor *sv, const struct ap_track *t)
{
	struct ap_seg head;

	return !ap_session_seg_read(&sv->ses, t->seg, &head) && head.state == AP_SEG_EXITED;
}

unsigned int ap_tracks_running(struct ap_supervisor *sv)
{
	unsigned int n = 0;

	for (u32 i = 0; i < sv->ntracks; i++) {
		const struct ap_track *t = sv->tracks[i];

		n += t->is_named && !t->is_gone && !is_exiting(sv, t);
	}
	return n;
}

unsigned int ap_tracks_unsettled(struct ap_supervisor *sv)
{
	u64 now = ap_now_ns();
	unsigned int n = 0;

	for (u32 i = 0; i < sv->ntracks; i++) {
		const struct ap_track *t = sv->tracks[i];
		bool is_coming = !t->is_named && now - t->since_ns < NAMING_NS;

		/* what says that it is exiting and has no process is not waited for */
		n += !t->is_gone && (is_coming || (t->is_named && is_exiting(sv, t)));
	}
	return n;
}
