/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: one thread that serves a session.  It is the only one that uses ptrace, reaps,
 * and folds segments.  It sleeps at the doorbell, a futex word in shared memory, because requests
 * come that way and must be answered fast; a second thread does nothing but watch the descriptors
 * and ring when one has news.
 *
 *   supervisor.c  the loop, signals, the command's end
 *   doorbell.c    sleeping, and the second thread
 *   tracks.c      segments and the processes behind them
 *   owner.c       whose a segment is, by the kernel
 *   handover.c    exec requests, traced tasks, injection
 *   background.c  life after the command
 *   host*.c       the core's world: perf events of the session (linux/host/host.h)
 */
#ifndef AP_LINUX_SUPERVISOR_H
#define AP_LINUX_SUPERVISOR_H

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "linux/session/session.h"
#include "linux/task/account.h"
#include "linux/task/creds.h"

/* A segment that was not folded yet. */
struct ap_track {
	u32 seg, parent; /* parent: as its memory said at the last look */
	pid_t pid;	 /* 0 while unknown */
	int pidfd;	 /* -1: no descriptor left, or no such process any more */
	bool is_gone;	 /* the process ended; others may still use its memory */
	bool is_named;	 /* a seg.pid was there and has been tried */
	bool is_owner;	 /* the kernel says that it has the segment (owner.c) */
	bool is_free;	 /* in reserve: no process has begun to use it */
	bool is_taken; /* by somebody, as its memory says; else its number was given out or passed over */
	u32 uid;       /* of its folder in /proc then */
	u64 start_time; /* likewise: as in struct ap_proc_stat */
	u64 since_ns;	/* when the segment was first seen */
};

/* A task that we trace: seized for its exec. */
struct ap_seized {
	pid_t pid; /* of its process */
	pid_t tid;
	u32 seg, slot;
	/* Not a vfork child; asked before the exec, whose slot is others' afterwards. */
	bool owns_seg;
	bool is_leaving; /* to be let go when it stops, whatever for */
	bool has_asked;	 /* by its slot, with these rights; else it is the session's own command */
	struct ap_creds creds;
	s32 fd, head_fd;
	u32 party; /* of its new image */
	u32 root, nofile_share, limit_shares, ptracer, cwd;
	u64 random, sigmask;
	u64 gone_ns; /* since when there is no such task, 0 there is */
};

struct ap_bell_relay;

/* A signal of ap_supervisor_sigset that came. */
struct ap_told {
	int sig, code;
	u32 from; /* the pid, where code says that a process sent it */
};

#define AP_TOLD_MAX 16

struct ap_doorbell {
	pthread_t thread;
	bool is_running;
	bool has_thread; /* there is a descriptor to be watched */
	u32 stop;
	u32 ntold; /* signals that came while we slept */
	struct ap_told told[AP_TOLD_MAX];
	u32 has_news; /* futex: the epoll set was seen readable; its thread waits for 0 */
	int epfd, stopfd;
	u32 seen;	/* the word as it was when we looked last */
	u64 spin_until; /* requests come fast: look, instead of sleeping, until then */
	u64 spin_ns;	/* 0: never */
	u32 credit;	/* so many fruitless looks until it is given up */
	u32 missed;	/* requests since then */
	struct ap_session *head;
	struct ap_bell_relay *relays[AP_PARTY_MAX];
};

/* What epoll says of a client's descriptor; segments' numbers are below. */
#define AP_SV_TAG_CLIENT (1ULL << 32) /* | the descriptor */
#define AP_SV_TAG_WAKE	 (1ULL << 33) /* nothing to do but to look whether it is over */

struct ap_event_client;

/* Against the programs' own: not known yet. */
enum ap_rights { AP_RIGHTS_UNKNOWN, AP_RIGHTS_SAME, AP_RIGHTS_MORE };

struct ap_supervisor {
	struct ap_session_file ses;
	struct ap_doorbell bell;
	int epfd, sigfd;
	struct ap_track *
		*track_at[AP_PARTY_MAX]; /* by the segment's number in its party: ap_track_of() */
	u32 track_room[AP_PARTY_MAX];
	struct ap_attached
		*attached; /* processes whose segment another one follows when they move */
	u32 nattached;
	struct ap_track **tracks; /* each stays where it is while others join */
	u32 ntracks, tracks_cap;
	u32 scanned[AP_PARTY_MAX]; /* segments that have been seen, of each party */
	u32 vain[AP_PARTY_MAX];	   /* of this look: claims of the party's that were not so, */
	u32 fresh[AP_PARTY_MAX];   /* and segments that got a track */
	u64 quiet_since
		[AP_PARTY_MAX]; /* no process of the party has been known since then; 0: one is */
	u32 nseen;		/* all of them, ever */
	u64 free_at;		/* when those in reserve are looked at again */
	u32 looks, untold;	/* ap_session's as they were then */
	struct ap_host *host;	/* NULL: there are no perf events */
	struct ap_event_client *client; /* NULL: nobody opens events from outside */
	struct ap_seized *traced;
	u32 ntraced, traced_cap;
	enum ap_rights rights;
	u32 turns;	   /* of the loop */
	bool has_mute;	   /* some process may not ring: it is looked for */
	bool has_children; /* some have ended or stopped, and were not waited for yet */
	bool is_stale;	   /* something happened that calls for a look at all segments */

	pid_t command; /* 0 none */
	bool command_ended;
	int told_sig;	     /* to end, by this signal sent to us, which was passed on; 0 never */
	u64 told_ns;	     /* when */
	int pass_sig;	     /* waits to be passed on: the command may have got it, too; 0 none */
	u32 pass_from;	     /* its sender, */
	u64 pass_ns;	     /* and when it came */
	bool is_told;	     /* to end, by SIGINT, SIGTERM or SIGHUP that somebody sent */
	bool is_given_up;    /* told again: the command runs on without us */
	bool is_interrupted; /* a terminating signal came after the command's end */
	bool is_stopped;     /* the client has enough */
	bool is_timed_out;   /* the deadline came before the command's end */
	int wait_status;
	struct rusage rusage;
	u64 end_ns;	 /* CLOCK_MONOTONIC */
	u64 deadline_ns; /* SIGTERM to the command then, 0 never */
	struct ap_account account;
	bool wants_account; /* the client lacks an event that the kernel refused */
};

/* supervisor.c.  ses must be set, signals of ap_supervisor_sigset blocked. */
AP_MUST_CHECK int ap_supervisor_init(struct ap_supervisor *sv);
void ap_supervisor_fini(struct ap_supervisor *sv);
void ap_supervisor_sigset(sigset_t *set);
/* In the middle of long work: takes the signals that have come. */
void ap_supervisor_glance(struct ap_supervisor *sv);
/* The loop looks when fd is readable; tag is what it is known by there, events are epoll's. */
AP_MUST_CHECK int ap_supervisor_watch(struct ap_supervisor *sv, int fd, u64 tag, u32 events);
/* Serves until done(sv) or, when until_ns is not 0, that time. */
void ap_supervisor_serve(struct ap_supervisor *sv, bool (*done)(struct ap_supervisor *sv),
			 u64 until_ns);

/* doorbell.c */
AP_MUST_CHECK int ap_doorbell_start(struct ap_doorbell *bell, struct ap_session *head, int epfd);
void ap_doorbell_stop(struct ap_doorbell *bell);
/* The epoll set has a descriptor: from now on it rings, too. */
AP_MUST_CHECK int ap_doorbell_watch(struct ap_doorbell *bell);
/* The handler of ap_supervisor_sigset's signals, which are blocked but for where the doorbell is slept at. */
void ap_doorbell_signal(int sig, siginfo_t *si, void *context);
/* Until somebody has rung since the last wait, a signal has come (bell->told), or ns have passed. */
void ap_doorbell_wait(struct ap_doorbell *bell, u64 ns);
/* Somebody has since then. */
bool ap_doorbell_is_rung(const struct ap_doorbell *bell);
/* True once the epoll set has something; then it must be read, and resume called. */
bool ap_doorbell_has_news(const struct ap_doorbell *bell);
void ap_doorbell_resume(struct ap_doorbell *bell);
/* Requests were served; the asking task had not gone to sleep: to look for the next one is worth while. */
void ap_doorbell_served(struct ap_doorbell *bell, bool in_time);

/*
 * Another party's bell: a thread sleeps at it, and rings ours.  Nothing where that cannot be: then
 * its tasks are found by the clock.
 */
void ap_doorbell_join(struct ap_doorbell *bell, const struct ap_session_file *party);
/* Before its memory goes. */
void ap_doorbell_leave(struct ap_doorbell *bell, u32 party);

/* tracks.c */
/* Looks at every unfolded segment: learns new ones, folds dead ones. */
void ap_tracks_update(struct ap_supervisor *sv);
/*
 * New segments get their tracks, no more.  A loop over all segments calls it first, and goes by sv->ntracks as it is: what it
 * does for one segment may give others their tracks.
 */
void ap_tracks_learn(struct ap_supervisor *sv);
/* The track of a segment; NULL: it has none, or none any more. */
struct ap_track *ap_track_of(const struct ap_supervisor *sv, u32 seg);
/* The process of a segment, pinned as long as the track says so.  False: there is none. */
bool ap_track_name(struct ap_supervisor *sv, struct ap_track *t, pid_t pid);
void ap_tracks_gone(struct ap_supervisor *sv, u32 seg);
void ap_track_gone(struct ap_track *t);
/* So many slots of its segment are worth a look, whatever it says: of one that no process is known to count in a few. */
u32 ap_track_slots(const struct ap_track *t);
void ap_tracks_reaped(struct ap_supervisor *sv, pid_t pid); /* waited for: the pid is free */
/* Processes that still run. */
unsigned int ap_tracks_running(struct ap_supervisor *sv);
/* Those in their exit, and segments of which nothing is known yet: both settle by themselves. */
unsigned int ap_tracks_unsettled(struct ap_supervisor *sv);
void ap_tracks_fini(struct ap_supervisor *sv);

/* bounds.c: gives up parties that have taken more memory or numbers than a party has use for. */
void ap_tracks_bound(struct ap_supervisor *sv);

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

/* pidns.c: our name for a task of another pid namespace, 0 when it cannot be told. */
pid_t ap_pidns_find(u64 pidns, pid_t inner);
/* The same of a thread of a process that we know, and the other way around. */
pid_t ap_pidns_find_thread(pid_t pid, pid_t inner);
pid_t ap_pidns_inner(pid_t pid, pid_t tid);

/* background.c: forks a supervisor that outlives us. */
AP_MUST_CHECK int ap_background_start(struct ap_supervisor *sv);

#endif
