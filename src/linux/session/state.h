/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor knows.  Its one thread is the only one that uses it, but for the doorbell.  It stands here, below
 * the supervisor itself (linux/run/supervisor.h), because all that the supervisor uses needs some of it.
 */
#ifndef AP_LINUX_STATE_H
#define AP_LINUX_STATE_H

#include <sys/resource.h>
#include <sys/types.h>

#include "linux/session/doorbell.h"
#include "linux/session/segment.h"
#include "linux/session/session.h"
#include "linux/task/account.h"
#include "linux/task/creds.h"

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
	bool is_secluded; /* ap_slot.exec_secluded */
	u64 random, sigmask;
	u64 gone_ns; /* since when there is no such task, 0 there is */
};

/* A process that was brought in while it ran. */
struct ap_attached {
	pid_t pid; /* 0: nobody */
	u32 seg;
	u64 base, size; /* of the engine's image in it */
	s32 fd;		/* the party's in it, */
	s32 head_fd;	/* and the head's */
};

/* What epoll says of a client's descriptor; segments' numbers are below. */
#define AP_SV_TAG_CLIENT (1ULL << 32) /* | the descriptor */
#define AP_SV_TAG_WAKE	 (1ULL << 33) /* nothing to do but to look whether it is over */

struct ap_event_client;
struct ap_event;
struct ap_host;
struct ap_part;

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
	/* client.c: what one task has counted for such an event */
	void (*tell_part)(struct ap_event_client *c, const struct ap_event *event,
			  const struct ap_part *part);
	struct ap_seized *traced;
	u32 ntraced, traced_cap;
	enum ap_rights rights;
	u64 secret[2];	   /* that keys of stores of code are made of; 0: there is none yet */
	u32 turns;	   /* of the loop */
	bool has_mute;	   /* some process may not ring: it is looked for */
	bool has_children; /* some have ended or stopped, and were not waited for yet */
	bool is_stale;	   /* something happened that calls for a look at all segments */

	pid_t command; /* 0 none */
	bool command_ended;
	int told_sig;  /* to end, by this signal sent to us, which was passed on; 0 never */
	u64 told_ns;   /* when */
	int pass_sig;  /* waits to be passed on: the command may have got it, too; 0 none */
	u32 pass_from; /* its sender, */
	u64 pass_ns;   /* and when it came */
	int end_sig;   /* SIGINT, SIGTERM or SIGHUP that somebody sent: the run is to end; 0 none */
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

#endif
