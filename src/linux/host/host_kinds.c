/* SPDX-License-Identifier: MIT */
/*
 * Kinds that nobody counted so far, lanes (abi/sampler.h) and breakpoints.  A process changes its
 * code when a thread of its own enters the cache (engine/count/kinds.c), which one whose threads
 * all sit in loops would never do: they are nudged, by a SIGTRAP that no program would send, which
 * the engine takes to itself.  Only a task that is in code gets one: in a system call it might be
 * felt, and is not needed; and one that is about to enter looks once more after it has said so.
 *
 * Whoever is not there after a while (stopped, or never scheduled) changes when it runs again.
 *
 * Models that the core's events do not want any more are given up, the same way.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "linux/session/owner.h"
#include "linux/task/refusal.h"

#define NUDGES	     50
#define NUDGE_GAP_NS 200000L
/* Then the call is answered, and a process that had no CPU is nudged by the way. */
#define LATE_NUDGES 250
#define LATE_GAP_NS 4000000ULL
#define DROP_NS	    20000000ULL

/* Somebody wants models, after nobody did: what is looked at first is a beginning again. */
static void begin_windows(struct ap_host *host)
{
	struct ap_windows *windows = &ap_board_of(host->ses->head)->windows;

	__atomic_store_n(&windows->read, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&windows->gaps, 0, __ATOMIC_RELAXED);
}

/*
 * Kinds that the session counts from now on; those of models that nobody had switched on are ours
 * to give up.
 */
static void add_kinds(struct ap_host *host, u64 kinds)
{
	u64 had = __atomic_fetch_or(&host->ses->head->kinds, kinds, __ATOMIC_SEQ_CST);

	if (kinds & AP_KINDS_MODEL && !(had & AP_KINDS_MODEL))
		begin_windows(host);
	host->own_models |= kinds & ~had & AP_KINDS_MODEL;
	host->has_new_kinds |= (kinds & ~had) != 0;
}

int ap_host_want_kinds(void *world, u64 kinds)
{
	struct ap_host *host = world;

	if (kinds & ~(AP_KINDS_BASE | AP_KINDS_ALL))
		return -ENOENT;
	/* the core takes branches for counted always: ap_host_need_kinds() */
	add_kinds(host, kinds & ~AP_KINDS_TRANSFERS);
	host->unwanted_models = host->own_models & ~kinds;
	return 0;
}

int ap_host_add_kinds(struct ap_host *host, u64 kinds)
{
	if (kinds & ~(AP_KINDS_BASE | AP_KINDS_ALL))
		return -ENOENT;
	add_kinds(host, kinds & ~AP_KINDS_TRANSFERS);
	return 0;
}

void ap_host_need_kinds(void *world, u64 kinds)
{
	struct ap_host *host = world;
	u64 had = __atomic_fetch_or(&host->ses->head->kinds, kinds & AP_KINDS_TRANSFERS,
				    __ATOMIC_RELEASE);

	host->has_new_kinds |= (kinds & AP_KINDS_TRANSFERS & ~had) != 0;
}

/* New code takes memory, by calls that a filter of the task's may not allow. */
int ap_host_may_count(void *world, void *task, u64 kinds)
{
	const struct ap_host_task *t = task;

	(void)world;
	if (!t->seg || !__atomic_load_n(&t->seg->head->mute, __ATOMIC_ACQUIRE))
		return 0;
	return ap_kinds_least(kinds) & ~t->seg->head->kinds_ack ? -EPERM : 0;
}

static bool has_old_code(const struct ap_host *host, u32 index, const struct ap_seg *head)
{
	u64 want = ap_kinds_least(host->ses->head->kinds);
	u64 models = (want ^ head->kinds_ack) & AP_KINDS_MODEL;

	/* who has parked blocks all signals, and would die of one that waits when it runs natively again */
	return head->state == AP_SEG_LIVE && !head->mute && !head->leave &&
	       (want & ~head->kinds_ack || models || head->lanes_ack < host->ses->head->nlanes ||
		head->lane_gen_ack != host->ses->head->lane_gen ||
		ap_host_watch_is_due(host, index, head));
}

static bool nudge(struct ap_host *host, const struct ap_host_seg *seg, u32 slot)
{
	siginfo_t info;
	pid_t pid, tid;

	if (ap_host_names(host, seg, slot, &pid, &tid) || ap_tracer_of(tid))
		return false;
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGTRAP;
	info.si_code = AP_NUDGE_CODE;
	info.si_value.sival_ptr = (void *)AP_SESSION_MAGIC;
	return ap_owner_signal(host->sv, seg->index, pid, tid, &info);
}

/* A thread of the process, which makes the others leave their code. */
static bool nudge_one(struct ap_host *host, u32 index)
{
	const struct ap_host_seg *seg = ap_host_seg(host, index);
	u32 nslots = seg ? __atomic_load_n(&seg->head->nslots, __ATOMIC_ACQUIRE) : 0;

	for (u32 i = 0; i < nslots && i < AP_SLOT_MAX; i++) {
		const struct ap_slot *slot = ap_host_slot(seg, i);

		if (__atomic_load_n(&slot->in_code, __ATOMIC_ACQUIRE) &&
		    slot->state == AP_SLOT_LIVE)
			return nudge(host, seg, i);
	}
	return false;
}

static bool nudge_all(struct ap_host *host, u32 asker)
{
	struct ap_supervisor *sv = host->sv;
	struct ap_seg head;
	bool some = false;

	/* those that are believed to be there: what has memory may be more, and nobody's */
	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks; i++) {
		u32 seg = sv->tracks[i]->seg;

		if (seg != asker && !sv->tracks[i]->is_gone &&
		    !ap_session_seg_read(host->ses, seg, &head) && has_old_code(host, seg, &head))
			some |= nudge_one(host, seg);
	}
	return some;
}

void ap_host_spread_kinds(struct ap_host *host, u32 asker)
{
	const struct timespec gap = { .tv_nsec = NUDGE_GAP_NS };
	u32 i;

	if (!host->has_new_kinds)
		return;
	host->has_new_kinds = false;
	for (i = 0; i < NUDGES && nudge_all(host, asker); i++)
		nanosleep(&gap, NULL);
	if (i == NUDGES)
		host->late_nudges = LATE_NUDGES;
}

/*
 * Models cost much, so they are given up when nobody wants them; what is exact stays, as it costs
 * little and would cost all code twice.  A while later, since a program that tries out what a
 * kernel knows opens and closes one event after the other.  What a nested command keeps is looked
 * at behind the change, which it may have missed.
 */
static void drop_models(struct ap_host *host)
{
	struct ap_session *head = host->ses->head;

	__atomic_fetch_and(&head->kinds, ~host->unwanted_models, __ATOMIC_SEQ_CST);
	ap_session_kinds_look(host->ses);
	host->own_models &= ~host->unwanted_models;
	host->unwanted_models = 0;
	(void)nudge_all(host, UINT32_MAX); /* nobody waits for less */
}

/* ns until it is to be done; 0: there is nothing to do. */
static u64 drop_when_due(struct ap_host *host, u64 now)
{
	if (!host->unwanted_models) {
		host->drop_ns = 0;
		return 0;
	}
	if (!host->drop_ns)
		host->drop_ns = now + DROP_NS;
	if (now < host->drop_ns)
		return host->drop_ns - now;
	host->drop_ns = 0;
	drop_models(host);
	return 0;
}

u64 ap_host_kinds_tick(struct ap_host *host, u64 now)
{
	u64 next;

	/* what was closed by the way: nobody waits for that */
	if (host->has_new_kinds)
		host->late_nudges = LATE_NUDGES;
	host->has_new_kinds = false;
	if (host->late_nudges)
		host->late_nudges = nudge_all(host, UINT32_MAX) ? host->late_nudges - 1 : 0;
	next = drop_when_due(host, now);
	if (host->late_nudges && (!next || next > LATE_GAP_NS))
		next = LATE_GAP_NS;
	return next;
}
