/* SPDX-License-Identifier: MIT */
/*
 * The client as the run and the supervisor's loop see it.
 */
#ifndef AP_LINUX_CLIENT_INTERNAL_H
#define AP_LINUX_CLIENT_INTERNAL_H

#include "core/core.h"
#include "linux/client/client.h"
#include "linux/host/host.h"
#include "linux/session/state.h"

struct ap_client_event {
	struct ap_event_client *client;
	struct ap_event *core; /* NULL: it is in the kernel */
	int fd;
	bool is_of_cpu, is_watched;
	void *map; /* of the kernel's */
	u64 map_size;
	struct ap_host_client_pages pages; /* of the core's */
	u64 npages;			   /* of these; 0: not mapped */
	struct ap_client_event *next, **prev;
};

struct ap_event_client {
	struct ap_supervisor *sv;
	const struct ap_run_client *run;
	struct ap_client_task *tasks;
	u32 ntasks;
	struct ap_client_event *events;
	u64 timer_ns;
	bool is_starting;
	bool is_around; /* a session around us answers perf_event_open(2) */
};

/* NULL: out of memory. */
struct ap_event_client *ap_client_new(struct ap_supervisor *sv, const struct ap_run_client *run);
/* Closes what is open.  NULL: nothing. */
void ap_client_free(struct ap_event_client *c);
/* Tasks for the start: the command, or threads (tid 0: all) of a process.  -ESRCH, -ENOMEM. */
AP_MUST_CHECK int ap_client_add_command(struct ap_event_client *c, pid_t pid);
AP_MUST_CHECK int ap_client_add_threads(struct ap_event_client *c, pid_t pid, pid_t tid);

/* --- for the host */
void ap_client_tell_part(struct ap_event_client *c, const struct ap_event *event,
			 const struct ap_part *part);

/* --- for the loop */
void ap_client_ready(struct ap_event_client *c, int fd);
/* Calls the timer if it is due; when the next one is, 0 never. */
u64 ap_client_clock(struct ap_event_client *c, u64 now);

#endif
