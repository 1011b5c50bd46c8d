/* SPDX-License-Identifier: MIT */
/*
 * The task that a program means by a number of its own namespace, and tasks that have ended without
 * a word.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/session/owner.h"

#define NAMING_TRIES   100
#define NAMING_STEP_NS 200000L

/* A fork's child that has not run yet: its parent has given its segment a name. */
static struct ap_host_task *unborn(struct ap_host *host, u32 seg, pid_t inner, pid_t outer)
{
	struct ap_host_seg *s = ap_host_seg(host, seg);
	struct ap_host_task *t = NULL;
	struct ap_slot first = { 0 };

	if (!s || outer <= 0 || ap_session_slot_read(host->ses, seg, 0, &first))
		return NULL;
	if (first.state == AP_SLOT_LIVE && first.tid && (pid_t)first.tid != inner)
		return NULL;
	/* it may have taken its name while we looked */
	if (first.state == AP_SLOT_LIVE && first.tid)
		t = ap_host_task_at(host, s, 0);
	if (t)
		return t;
	if (!ap_owner_is_child(host->sv, seg, outer))
		return NULL;
	t = s->by_slot[0] ? s->by_slot[0] : ap_host_task_child(host, s, 0);
	if (t)
		ap_host_task_name(host, t, outer, outer);
	return t;
}

/* Its parent calls it so, in a namespace of theirs. */
static bool is_called_so(const struct ap_host *host, const struct ap_seg *head, u64 pidns,
			 u32 inner)
{
	struct ap_seg parent;

	return head->state == AP_SEG_INIT && head->child_pid == inner &&
	       !ap_session_seg_read(host->ses, head->parent_seg, &parent) && parent.pidns == pidns;
}

/* It has executed what is not followed, or its engine gave up: it lives, and counts no more. */
static bool has_left(const struct ap_host_task *t)
{
	return ap_host_task_is_in_slot(t) &&
	       (__atomic_load_n(&ap_host_slot(t->seg, t->slot)->native, __ATOMIC_ACQUIRE) ||
		t->seg->head->state == AP_SEG_NATIVE);
}

/* A task that counts under this name in its own namespace. */
static struct ap_host_task *scan_seg(struct ap_host *host, const struct ap_track *track, u64 pidns,
				     u32 inner)
{
	const u32 seg = track->seg, most = ap_track_slots(track);
	struct ap_slot slot = { 0 };
	struct ap_host_seg *s;
	struct ap_seg head;

	if (ap_session_seg_read(host->ses, seg, &head))
		return NULL;
	if (is_called_so(host, &head, pidns, inner))
		return unborn(host, seg, (pid_t)inner, ap_pidns_find(pidns, (pid_t)inner));
	if ((head.state != AP_SEG_LIVE && head.state != AP_SEG_INIT) ||
	    (head.pidns != pidns &&
	     !(ap_host_is_our_pidns(host, head.pidns) && ap_host_is_our_pidns(host, pidns))))
		return NULL;
	for (u32 i = 0; i < head.nslots && i < most; i++) {
		if (ap_session_slot_read(host->ses, seg, i, &slot) || slot.state != AP_SLOT_LIVE ||
		    slot.native || slot.tid != inner)
			continue;
		s = ap_host_seg(host, seg);
		return s ? ap_host_task_at(host, s, i) : NULL;
	}
	if (ap_host_is_our_pidns(host, head.pidns))
		return head.pid == inner ? unborn(host, seg, (pid_t)inner, (pid_t)inner) : NULL;
	/* in the image that it has executed it has not run yet, either */
	if (head.state != AP_SEG_INIT || head.ns_pid != inner)
		return NULL;
	return unborn(host, seg, (pid_t)inner, ap_pidns_find(pidns, (pid_t)inner));
}

static struct ap_host_task *scan(struct ap_host *host, u64 pidns, pid_t pid)
{
	struct ap_supervisor *sv = host->sv;
	struct ap_host_task *t = NULL;

	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks && !t; i++)
		if (!sv->tracks[i]->is_gone)
			t = scan_seg(host, sv->tracks[i], pidns, (u32)pid);
	/* a task of a namespace further in */
	for (u32 i = 0; i < sv->ntracks && !t && ap_host_is_our_pidns(host, pidns); i++) {
		const struct ap_track *track = sv->tracks[i];
		struct ap_seg head;

		if (track->is_gone || !ap_owner_has_thread(track->pid, pid) ||
		    ap_session_seg_read(host->ses, track->seg, &head) ||
		    ap_host_is_our_pidns(host, head.pidns))
			continue;
		t = scan_seg(host, track, head.pidns, (u32)ap_pidns_inner(track->pid, pid));
	}
	return t;
}

/* Is it, as the task calls it, a thread of its process, maybe one that has no slot yet? */
static bool is_thread_of(const struct ap_host *host, const struct ap_host_task *t, u64 pidns,
			 pid_t pid)
{
	if (ap_host_is_our_pidns(host, pidns))
		return ap_owner_has_thread(t->pid, pid);
	return t->pid > 0 && ap_pidns_find_thread(t->pid, pid) > 0;
}

/* The letter that /proc has for a task's state, or -errno. */
static int state_of(pid_t pid, pid_t tid)
{
	char name[64], text[512];
	const char *state;
	ssize_t n;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	n = ap_proc_read(pid, name, text, sizeof(text));
	if (n <= 0)
		return n ? (int)n : -EIO;
	state = strrchr(text, ')');
	return state && state[1] ? state[2] : -EIO;
}

/* Linux opens nothing on tasks that are on their way out: they are as if they were not there. */
static bool is_over(int state)
{
	return state == 'Z' || state == 'X';
}

static bool exists(const struct ap_host *host, u64 pidns, pid_t pid)
{
	if (ap_host_is_our_pidns(host, pidns))
		return (!kill(pid, 0) || errno == EPERM) && !is_over(state_of(pid, pid));
	return ap_pidns_find(pidns, pid) > 0;
}

/* Killed from outside, and nobody has told us yet. */
static bool has_ended(const struct ap_host_task *t)
{
	int state = t->pid > 0 && t->tid > 0 ? state_of(t->pid, t->tid) : 0;

	return is_over(state) || state == -ENOENT || state == -ESRCH;
}

int ap_host_find_task(void *world, struct ap_task *caller, s32 pid, struct ap_task **out)
{
	struct ap_host *host = world;
	struct ap_host_task *from = caller ? ap_task_host(caller) : NULL, *t = NULL;
	u64 pidns = from && from->seg ? from->seg->head->pidns : 0;

	if (pid <= 0)
		return -ESRCH;
	if (ap_host_is_our_pidns(host, pidns))
		t = ap_host_task_by_tid(host, pid);
	if (t && t->seg)
		t = ap_host_task_at(host, t->seg, t->slot);
	if (!t || (ap_host_is_our_pidns(host, pidns) && t->tid != pid))
		t = scan(host, pidns, pid);
	/* a thread takes its name when it runs first, which is soon */
	for (unsigned int try = 0;
	     from && !t && is_thread_of(host, from, pidns, pid) && try < NAMING_TRIES; try++) {
		const struct timespec step = { .tv_nsec = NAMING_STEP_NS };

		nanosleep(&step, NULL);
		t = scan(host, pidns, pid);
	}
	/* our own child, before its exec, is there until we have waited for it */
	if (t && (caller || t->seg) && has_ended(t))
		return -ESRCH;
	if (t && !has_left(t)) {
		ap_host_sync(host, t);
		*out = t->core;
		return 0;
	}
	/* it exists, but is none of ours */
	return exists(host, pidns, pid) ? -EACCES : -ESRCH;
}

/*
 * Its events stand still from there on, times too: what was not counted is not said to have been.
 */
void ap_host_task_let_leave(struct ap_host *host, struct ap_task *task)
{
	struct ap_host_task *t = task ? ap_task_host(task) : NULL;

	if (t && t != host->asker && has_left(t) && t->seg->head->state != AP_SEG_NATIVE)
		ap_host_task_end_as(host, t, AP_HOST_LEFT);
}

bool ap_host_tasks_end_gone(struct ap_host *host)
{
	struct ap_host_task *t, *next;
	bool any = false;

	for (t = host->tasks; t; t = next) {
		next = t->next;
		if (t == host->asker || !ap_host_task_is_gone(host, t))
			continue;
		ap_host_task_end(host, t);
		any = true;
	}
	return any;
}
