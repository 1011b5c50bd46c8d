/* SPDX-License-Identifier: MIT */
/*
 * The doorbell that the supervisor sleeps at, and what rings it: requests, signals, descriptors, other parties' bells.
 */
#ifndef AP_LINUX_DOORBELL_H
#define AP_LINUX_DOORBELL_H

#include <pthread.h>
#include <signal.h>

#include "abi/session.h"

struct ap_session_file;
struct ap_supervisor;
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

/* The signals that the supervisor takes there; blocked elsewhere. */
void ap_supervisor_sigset(sigset_t *set);
/* The loop looks when fd is readable; tag is what it is known by there, events are epoll's. */
AP_MUST_CHECK int ap_supervisor_watch(struct ap_supervisor *sv, int fd, u64 tag, u32 events);

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

#endif
