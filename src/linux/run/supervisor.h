/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: one thread that serves a session.  It is the only one that uses ptrace, reaps,
 * and folds segments.  It sleeps at the doorbell, a futex word in shared memory, because requests
 * come that way and must be answered fast; a second thread does nothing but watch the descriptors
 * and ring when one has news.
 *
 *   supervisor.c  the loop, signals, the command's end
 *   tracks.c      what becomes of segments when their processes end
 *   handover.c    exec requests, traced tasks, injection
 *   background.c  life after the command
 *
 * What it knows is in linux/session/state.h, where all that stands below it finds it.
 */
#ifndef AP_LINUX_SUPERVISOR_H
#define AP_LINUX_SUPERVISOR_H

#include "linux/session/state.h"
#include "linux/task/pidns.h"

/* supervisor.c.  ses must be set, signals of ap_supervisor_sigset blocked. */
AP_MUST_CHECK int ap_supervisor_init(struct ap_supervisor *sv);
void ap_supervisor_fini(struct ap_supervisor *sv);
/* In the middle of long work: takes the signals that have come. */
void ap_supervisor_glance(struct ap_supervisor *sv);
/* In the middle of long work: answers those who wait for an answer; false: nobody has asked. */
bool ap_supervisor_answer(struct ap_supervisor *sv);
/* Serves until done(sv) or, when until_ns is not 0, that time. */
void ap_supervisor_serve(struct ap_supervisor *sv, bool (*done)(struct ap_supervisor *sv),
			 u64 until_ns);

/* tracks.c */
/* Looks at every unfolded segment: learns new ones, folds dead ones. */
void ap_tracks_update(struct ap_supervisor *sv);
void ap_tracks_gone(struct ap_supervisor *sv, u32 seg);
void ap_tracks_reaped(struct ap_supervisor *sv, pid_t pid); /* waited for: the pid is free */
/* Processes that still run. */
unsigned int ap_tracks_running(struct ap_supervisor *sv);
/* Those in their exit, and segments of which nothing is known yet: both settle by themselves. */
unsigned int ap_tracks_unsettled(struct ap_supervisor *sv);

/* handover.c */
void ap_handover_scan(struct ap_supervisor *sv, const struct ap_track *track);
/* A traced task's wait status; false when the task is none of ours. */
bool ap_handover_event(struct ap_supervisor *sv, pid_t tid, int status);
/* Drops traced tasks that are gone; a session must not wait for an end that nobody reports. */
void ap_handover_sweep(struct ap_supervisor *sv, u64 now);
/* After a fork: the traced tasks are our parent's, whose end lets them go. */
void ap_handover_forget(struct ap_supervisor *sv);
/*
 * Injects into a task at its exec stop and lets it go, native with a note when it cannot be.
 * True when the engine runs.
 */
bool ap_handover_inject(struct ap_supervisor *sv, pid_t pid, const struct ap_seized *from,
			u32 parent_seg);

/* A new segment of the party, state INIT, for a process of root; -ENOSPC when the session is full. */
AP_MUST_CHECK int ap_handover_segment(struct ap_supervisor *sv, pid_t pid, u32 root, u32 parent_seg,
				      u32 party, u32 *seg);

/* background.c: forks a supervisor that outlives us. */
AP_MUST_CHECK int ap_background_start(struct ap_supervisor *sv);

#endif
