/* SPDX-License-Identifier: MIT */
/*
 * The exec hand-over's tracer side.  A task that is about to exec asks to be seized; at its exec
 * stop the engine is put into the new image and the task let go.  Between the two it runs as it
 * would untraced: its signals are passed on, its group stops honoured.
 *
 * A slot is written by its process as it likes.  A task is seized that the kernel says is one of the segment's
 * process (owner.c), and that holds our session file at the descriptor that the slot names: so nobody can point us at a
 * stranger.
 *
 * What was true when it asked need not be later.  Once it is seized it is looked at again, as its number may be
 * another's by then; and at the exec stop, where nobody else can change anything any more: an image that has more rights
 * than the task had, or other files at those descriptors, gets no engine (docs/design/trust.md).
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/boot.h"
#include "abi/switches.h"
#include "inject/inject.h"
#include "inject/proc.h"
#include "inject/task.h"
#include "linux/host/host.h"
#include "linux/run/attach.h"
#include "linux/run/store_key.h"
#include "linux/run/supervisor.h"
#include "linux/session/blob_image.h"
#include "linux/session/owner.h"
#include "linux/task/now.h"

#define LET_GO_NS      100000000ULL
#define GONE_NS	       1000000000ULL
#define LET_GO_STEP_NS 50000

/* The task may have taken its request back, and goes another way then. */
static bool replace(struct ap_slot *slot, u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&slot->req, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* No answer yet: the task sleeps on. */
static bool take(struct ap_slot *slot, u32 from)
{
	return replace(slot, from, AP_REQ_EXEC_TAKEN);
}

static bool answer(struct ap_slot *slot, u32 from, u32 to)
{
	if (!replace(slot, from, to))
		return false;
	syscall(SYS_futex, &slot->req, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return true;
}

static struct ap_seized *find_traced(struct ap_supervisor *sv, pid_t tid)
{
	for (u32 i = 0; i < sv->ntraced; i++)
		if (sv->traced[i].tid == tid)
			return &sv->traced[i];
	return NULL;
}

static void drop_traced(struct ap_supervisor *sv, struct ap_seized *t)
{
	*t = sv->traced[--sv->ntraced];
}

/* A thread that execs loses its id before the stop that tells us, so gone is not gone at once. */
void ap_handover_sweep(struct ap_supervisor *sv, u64 now)
{
	for (u32 i = 0; i < sv->ntraced;) {
		struct ap_seized *t = &sv->traced[i];

		if (!kill(t->tid, 0) || errno != ESRCH)
			t->gone_ns = 0;
		else if (!t->gone_ns)
			t->gone_ns = now;
		if (t->gone_ns && now - t->gone_ns > GONE_NS)
			drop_traced(sv, t);
		else
			i++;
	}
}

void ap_handover_forget(struct ap_supervisor *sv)
{
	sv->ntraced = 0;
}

static struct ap_seized *new_traced(struct ap_supervisor *sv)
{
	if (sv->ntraced == sv->traced_cap) {
		u32 cap = sv->traced_cap ? 2 * sv->traced_cap : 16;
		struct ap_seized *more = realloc(sv->traced, cap * sizeof(*more));

		if (!more)
			return NULL;
		sv->traced = more;
		sv->traced_cap = cap;
	}
	return &sv->traced[sv->ntraced++];
}

/* The memfd that it has made is its new image's party, where its credentials are not its party's any more. */
static bool take_party(struct ap_supervisor *sv, struct ap_seized *t, bool is_new)
{
	struct ap_session_file *f;

	t->party = AP_PARTY_OF(t->seg);
	if (!is_new)
		return true;
	if (ap_session_party_take(&sv->ses, t->tid, t->fd, &t->party))
		return false;
	f = ap_session_party(&sv->ses, t->party << AP_PARTY_SHIFT);
	ap_session_party_is_of(f, t->tid);
	ap_doorbell_join(&sv->bell, f);
	sv->is_stale = true; /* it may come to nothing, and is ended then */
	return true;
}

static bool holds_session(const struct ap_supervisor *sv, const struct ap_seized *t)
{
	return ap_owner_holds_session(sv, t->party << AP_PARTY_SHIFT, t->tid, t->fd, t->head_fd);
}

static void let_go_stopped(pid_t tid, int status)
{
	(void)ap_task_detach(tid, ap_wait_event(status) ? 0 : WSTOPSIG(status));
}

/*
 * It stops at once, if it is the one that asked.  A slot may also name a task that cannot stop before
 * others let it (the parent of a vfork), for which nobody is to wait.
 */
static bool let_go(pid_t tid)
{
	const struct timespec step = { .tv_nsec = LET_GO_STEP_NS };
	u64 until = ap_now_ns() + LET_GO_NS;
	int status, ret = ap_task_interrupt(tid);

	while (!ret && (ret = ap_task_poll(tid, &status)) == -EAGAIN && ap_now_ns() < until) {
		nanosleep(&step, NULL);
		ret = 0;
	}
	if (!ret)
		let_go_stopped(tid, status);
	return ret != -EAGAIN;
}

/* Stays known where it cannot be let go yet. */
static void leave(struct ap_supervisor *sv, struct ap_seized *t)
{
	if (let_go(t->tid))
		drop_traced(sv, t);
	else
		t->is_leaving = true;
}

/* It may be ours still, where we were late to let it go after an exec that failed. */
static bool seize(struct ap_supervisor *sv, const struct ap_seized *t)
{
	struct ap_seized *place = find_traced(sv, t->tid);

	if (!place) {
		if (ap_task_seize(t->tid))
			return false;
		place = new_traced(sv);
	}
	if (!place) {
		(void)let_go(t->tid);
		return false;
	}
	*place = *t;
	return true;
}

/* Of a copy of the slot, made after the task has filled it. */
static bool read_asked(struct ap_supervisor *sv, u32 seg, u32 index, u32 ns_pid,
		       struct ap_seized *t)
{
	struct ap_slot slot;
	pid_t pid, tid;

	if (ap_session_slot_read(&sv->ses, seg, index, &slot) ||
	    ap_owner_names(sv, seg, slot.pid, slot.tid, &pid, &tid))
		return false;
	*t = (struct ap_seized){ .pid = pid,
				 .tid = tid,
				 .seg = seg,
				 .slot = index,
				 .owns_seg = slot.pid == ns_pid,
				 .has_asked = true,
				 .fd = slot.exec_fd,
				 .head_fd = slot.exec_head,
				 .root = slot.exec_root < AP_ROOT_MAX ? slot.exec_root : 0,
				 .nofile_share = slot.exec_nofile,
				 .limit_shares = slot.exec_limits,
				 .ptracer = slot.exec_ptracer,
				 .cwd = slot.exec_cwd,
				 .is_secluded = slot.exec_secluded,
				 .random = slot.exec_random,
				 .sigmask = slot.exec_sigmask };
	return true;
}

/* Its number is its own as long as it is seized; before, it may have executed a program, or ended. */
static bool is_asker(struct ap_supervisor *sv, const struct ap_seized *t, u32 ns_pid)
{
	struct ap_seized now;

	return read_asked(sv, t->seg, t->slot, ns_pid, &now) && now.tid == t->tid &&
	       ap_creds_read(t->tid, &now.creds) && ap_creds_are_same(&now.creds, &t->creds) &&
	       holds_session(sv, t);
}

/* The task wants to be seized. */
static void begin(struct ap_supervisor *sv, u32 seg, u32 index, struct ap_slot *slot, u32 ns_pid)
{
	struct ap_seized t;
	bool is_new;

	if (!take(slot, AP_REQ_EXEC))
		return;
	if (sv->host)
		ap_host_exec_asked(sv->host, seg, index);
	is_new = __atomic_load_n(&slot->exec_party, __ATOMIC_RELAXED);
	if (!read_asked(sv, seg, index, ns_pid, &t) || !ap_creds_read(t.tid, &t.creds) ||
	    !take_party(sv, &t, is_new) || !holds_session(sv, &t) || !seize(sv, &t)) {
		(void)answer(slot, AP_REQ_EXEC_TAKEN, AP_REQ_EXEC_NAK);
	} else if (!is_asker(sv, &t, ns_pid)) {
		leave(sv, find_traced(sv, t.tid));
		(void)answer(slot, AP_REQ_EXEC_TAKEN, AP_REQ_EXEC_NAK);
	} else if (!answer(slot, AP_REQ_EXEC_TAKEN, AP_REQ_EXEC_ACK)) {
		leave(sv, find_traced(sv, t.tid));
	}
}

/* A new segment for the process, which is the asker's still when it has it: until then its number may become another's. */
static bool segment_for_asker(struct ap_supervisor *sv, const struct ap_seized *t, u32 root,
			      u32 *seg)
{
	if (ap_handover_segment(sv, t->pid, root, t->seg, t->party, seg))
		return false;
	if (ap_owner_is(sv, t->seg, t->pid))
		return true;
	ap_session_seg_discard(&sv->ses, *seg);
	ap_tracks_gone(sv, *seg);
	return false;
}

/*
 * The credentials of a process are about to change: it goes on in a party of its own, where it has counted nothing yet.
 * Its threads wait; what they have counted is taken from their slots now.
 */
static void move(struct ap_supervisor *sv, u32 from, u32 index, struct ap_slot *slot,
		 const struct ap_seg *head)
{
	struct ap_seized t;
	u32 seg;
	bool ok;

	if (!take(slot, AP_REQ_MOVE))
		return;
	ok = read_asked(sv, from, index, head->ns_pid, &t) && t.owns_seg &&
	     take_party(sv, &t, true) && holds_session(sv, &t) &&
	     segment_for_asker(sv, &t, head->root, &seg);
	sv->is_stale = true;
	if (!ok) {
		(void)answer(slot, AP_REQ_EXEC_TAKEN, AP_REQ_EXEC_NAK);
		return;
	}
	slot->moved = seg;
	/* a task that has taken its request back stays where it is, and one that finds this moves */
	if (!answer(slot, AP_REQ_EXEC_TAKEN, AP_REQ_MOVE_DONE)) {
		ap_session_seg_discard(&sv->ses, seg);
		return;
	}
	for (u32 i = 0; i < sv->nattached; i++)
		if (sv->attached[i].seg == from)
			sv->attached[i].seg = seg;
	if (sv->host)
		ap_host_moved(sv->host, from, seg);
	(void)answer(slot, AP_REQ_MOVE_DONE, AP_REQ_EXEC_ACK);
}

/* The exec failed; the task waits to be let go. */
static void cancel(struct ap_supervisor *sv, u32 seg, u32 index, struct ap_slot *slot)
{
	for (u32 i = 0; i < sv->ntraced; i++) {
		struct ap_seized *t = &sv->traced[i];

		if (t->seg != seg || t->slot != index || t->is_leaving)
			continue;
		leave(sv, t);
		break;
	}
	if (sv->host)
		ap_host_exec_failed(sv->host, seg, index);
	(void)answer(slot, AP_REQ_CANCEL, AP_REQ_CANCEL_ACK);
}

void ap_handover_scan(struct ap_supervisor *sv, const struct ap_track *track)
{
	const u32 seg = track->seg; /* tracks may be added meanwhile */
	struct ap_slot *page, slot;
	struct ap_seg head;
	u32 nslots, most = ap_track_slots(track);

	if (ap_session_seg_read(&sv->ses, seg, &head))
		return;
	nslots = head.nslots < most ? head.nslots : most;
	for (u32 i = 0; i < nslots; i++) {
		if (ap_session_slot_read(&sv->ses, seg, i, &slot) ||
		    (slot.req != AP_REQ_EXEC && slot.req != AP_REQ_CANCEL &&
		     slot.req != AP_REQ_MOVE))
			continue;
		page = ap_session_slot_map(&sv->ses, seg, i);
		if (!page)
			continue;
		/* pairs with the release store of the task, after it filled exec_* */
		if (__atomic_load_n(&page->req, __ATOMIC_ACQUIRE) == AP_REQ_EXEC)
			begin(sv, seg, i, page, head.ns_pid);
		else if (__atomic_load_n(&page->req, __ATOMIC_ACQUIRE) == AP_REQ_MOVE)
			move(sv, seg, i, page, &head);
		else if (page->req == AP_REQ_CANCEL)
			cancel(sv, seg, i, page);
		ap_session_page_unmap(page);
	}
}

static void name_of(pid_t pid, char *name, size_t size)
{
	char path[AP_PROC_PATH];
	ssize_t got = readlink(ap_proc_path(path, pid, "exe"), name, size - 1);

	if (got <= 0)
		got = snprintf(name, size, "pid %d", (int)pid) < (int)size ? (ssize_t)strlen(name)
									   : 0;
	name[got] = '\0';
}

static void note_not_counted(struct ap_supervisor *sv, pid_t pid, u32 root, const char *why)
{
	char name[PATH_MAX];
	const struct ap_note_args args = { .kind = AP_NOTE_NOT_COUNTED,
					   .pid = (u32)pid,
					   .root = root,
					   .subject = name,
					   .reason = why };

	name_of(pid, name, sizeof(name));
	ap_session_note(&sv->ses, &args);
}

static int make_segment(struct ap_supervisor *sv, pid_t pid, const struct ap_proc_stat *st,
			u32 root, u32 parent_seg, u32 party, u32 *seg)
{
	struct ap_session_file *f = ap_session_party(&sv->ses, party << AP_PARTY_SHIFT);
	struct ap_seg init = { .pid = (u32)pid,
			       .root = root,
			       .parent_seg = parent_seg,
			       .start_time = st->start_time };
	char name[PATH_MAX] = ""; /* what follows the name goes into the segment too */
	struct ap_seg parent;
	int ret;

	/* a filter outlives the image */
	if (!ap_session_seg_read(&sv->ses, parent_seg, &parent))
		init.mute = parent.mute;

	name_of(pid, name, sizeof(name));
	memcpy(init.comm, name, sizeof(init.comm) - 1);
	ret = f ? ap_session_seg_new(f, &init, seg) : -ENOENT;
	if (!ret)
		ap_owner_set(sv, *seg, pid);
	return ret;
}

int ap_handover_segment(struct ap_supervisor *sv, pid_t pid, u32 root, u32 parent_seg, u32 party,
			u32 *seg)
{
	struct ap_proc_stat st;

	if (ap_stat_read(pid, &st))
		st = (struct ap_proc_stat){ 0 };
	return make_segment(sv, pid, &st, root, parent_seg, party, seg);
}

/*
 * Of an image that stands at its exec stop, where its descriptors are its own alone: why it gets no engine, NULL it may
 * have it.  *is_foreign: what it has at our descriptors is not ours to close.
 */
static const char *refusal(const struct ap_supervisor *sv, pid_t pid, const struct ap_seized *from,
			   bool *is_foreign)
{
	const u32 first = from->party << AP_PARTY_SHIFT;
	struct ap_creds now;

	*is_foreign = false;
	if (!from->has_asked)
		return NULL;
	*is_foreign = !ap_owner_holds_session(sv, first, pid, from->fd, from->head_fd);
	if (*is_foreign)
		return "it does not hold the session's files";
	return ap_creds_read(pid, &now) ? ap_creds_gained(&from->creds, &now)
					: "cannot read its rights";
}

/* The first image has none: most sessions have but that one, and need no store. */
static void give_key(struct ap_supervisor *sv, const struct ap_seized *from, pid_t pid, u64 key[2])
{
	struct ap_creds now;

	if (!(sv->ses.head->flags & AP_F_STORE) ||
	    (!from->has_asked && !(ap_is_stressed(sv->ses.head, AP_STRESS_STORE))))
		return;
	if (from->is_secluded || !ap_creds_read(pid, &now) ||
	    !ap_store_key(sv, from->party, &now, key))
		key[0] = AP_STORE_SECLUDED;
}

bool ap_handover_inject(struct ap_supervisor *sv, pid_t pid, const struct ap_seized *from,
			u32 parent_seg)
{
	struct ap_inject in = { .tid = pid,
				.blob = ap_blob_start,
				.blob_bytes = (u64)(ap_blob_end - ap_blob_start),
				.session_fd = from->fd,
				.head_fd = from->head_fd,
				.image_bytes = sv->ses.head->image_bytes,
				.flags = sv->ses.head->flags,
				.host_pid = (u32)pid,
				.nofile_share = from->nofile_share,
				.limit_shares = from->limit_shares,
				.ptracer = from->ptracer,
				.cwd = from->cwd,
				.random = from->random,
				.sigmask = from->sigmask,
				.has_sigmask = true };
	const char *why = "the session is full";
	struct ap_proc_stat st = { 0 };
	bool is_foreign;
	int ret;

	/* it is stopped: nothing of this changes until it is let go */
	if (!ap_stat_read(pid, &st))
		in.stat = &st;
	in.refused = refusal(sv, pid, from, &is_foreign);
	if (!in.refused)
		give_key(sv, from, pid, in.store_key);
	if (is_foreign) {
		why = in.refused;
		ret = ap_task_set_sigmask(pid, in.sigmask) ?: -EBADF;
	} else {
		ret = make_segment(sv, pid, &st, from->root, parent_seg, from->party, &in.seg);
	}
	if (!ret) {
		ret = ap_inject(&in, &why);
		if (ret)
			ap_session_seg_discard(&sv->ses, in.seg);
	}
	if (ret && ret != -ESRCH)
		note_not_counted(sv, pid, from->root, why);
	if (sv->host)
		ap_host_execed(sv->host, from, pid, ret ? AP_HOST_NATIVE : in.seg);
	(void)ap_inject_release(&in);
	return !ret;
}

/* The old image is gone; a vfork child's was its parent's, which goes on. */
static void retire_segment(struct ap_supervisor *sv, const struct ap_seized *t)
{
	struct ap_seg *page = t->owns_seg ? ap_session_seg_map(&sv->ses, t->seg) : NULL;

	if (page)
		__atomic_store_n(&page->state, AP_SEG_EXECED, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
}

static void at_exec(struct ap_supervisor *sv, pid_t pid)
{
	unsigned long former = (unsigned long)pid;
	struct ap_seized *t, from;

	/* a thread that execs takes the leader's name; the event tells its former one */
	(void)ap_task_event_msg(pid, &former);
	t = find_traced(sv, (pid_t)former) ?: find_traced(sv, pid);
	if (!t || t->is_leaving) {
		(void)ap_task_detach(pid, 0);
		if (t)
			drop_traced(sv, t);
		return;
	}
	from = *t;
	drop_traced(sv, t);
	retire_segment(sv, &from);
	(void)ap_handover_inject(sv, pid, &from, from.seg);
	sv->is_stale = true;
}

bool ap_handover_event(struct ap_supervisor *sv, pid_t tid, int status)
{
	struct ap_seized *t;

	if (WIFSTOPPED(status) && ap_wait_event(status) == PTRACE_EVENT_EXEC) {
		at_exec(sv, tid);
		return true;
	}
	t = find_traced(sv, tid);
	if (!t)
		return false;
	if (WIFSTOPPED(status) && !t->is_leaving) {
		(void)ap_task_resume(tid, status);
		return true;
	}
	if (WIFSTOPPED(status))
		let_go_stopped(tid, status);
	drop_traced(sv, t);
	return true;
}
