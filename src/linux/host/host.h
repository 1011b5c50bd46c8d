/* SPDX-License-Identifier: MIT */
/*
 * The core's world on Linux, as the supervisor sees it: perf events of the session's tasks.  Tasks
 * ask by their request slots (abi/service.h); the supervisor tells what happens to processes.
 * docs/design/service.md.
 *
 *   host.c        making it, the small operations
 *   host_slot.c   segments, slots and what they have counted
 *   host_name.c   what tasks are called, and whether it is so
 *   host_task.c   tasks: made, named, placed, ended
 *   host_life.c   what follows from all that, in order
 *   host_order.c  what tasks are asked to tell
 *   host_find.c   tasks by the names that others use for them
 *   host_asked.c  which slots ask
 *   host_serve.c  requests
 *   host_file.c   descriptors and whether any is left
 *   host_wake.c   what poll says of them, signals
 *   host_page.c   what programs read without a request: published events, mapped pages
 *   host_cpu.c    which CPU counted what
 *   host_world.c  software counters
 *   host_now.c    time in records
 *   host_sampler.c   samplers: where they lie, threads told of them
 *   host_sideband.c  births and names, for events that record them
 *   host_mapped.c    mappings, likewise
 *   host_cred.c   what tasks may do
 *   host_cgroup.c which cgroup a task is in
 *   host_adopt.c  tasks that nobody told of
 *   host_perfctr*.c  perfctr's device and states
 *   host_client.c events that the session's owner opens itself
 */
#ifndef AP_LINUX_HOST_H
#define AP_LINUX_HOST_H

#include <sys/types.h>

#include "base/types.h"
#include "linux/session/machine.h"

struct ap_event;
struct ap_host;
struct ap_machine;
struct ap_ioctl_args;
struct ap_open_args;
struct ap_supervisor;
struct ap_seized;

struct ap_host_config {
	s32 paranoid;
	bool is_paranoid_given; /* then the session's owner has no privilege */
	u32 counters;
	u32 max_sample_rate; /* of all that samples; 0: Linux' number, of frequencies alone */
	bool user_only;
	const char *perfctr_cpu; /* a name of ap_x86model_find(); NULL: the default, or as it was */
};

u32 ap_host_count_cpus(void);
AP_MUST_CHECK int ap_host_new(struct ap_host **out, struct ap_supervisor *sv,
			      const struct ap_host_config *config);
void ap_host_free(struct ap_host *host);

/* Answers all requests that wait; true when there was one.  in_time: nobody had gone to sleep. */
bool ap_host_serve(struct ap_host *host, bool *in_time);
/* Somebody's end may matter to a request: look for deaths first. */
bool ap_host_is_watching(const struct ap_host *host);
/* What is due by the clock; ns until it wants to be called again, 0 never. */
u64 ap_host_tick(struct ap_host *host, u64 now);

/* No thread of the process is sent a signal of ours any more. */
void ap_host_quiet(struct ap_host *host, pid_t pid);

/* Tasks that were made while we were stopped.  Before their ends are looked at. */
void ap_host_adopt(struct ap_host *host);
/* Of one segment that is about to end. */
void ap_host_adopt_last(struct ap_host *host, u32 seg);
/* The segment counts no more: its tasks have ended.  Before it is folded. */
void ap_host_seg_ended(struct ap_host *host, u32 seg);
/* A process or image has ended, and with it maybe descriptors. */
void ap_host_files_ended(struct ap_host *host);
/* One thing that could wait while somebody waited for an answer; false: there is none. */
bool ap_host_settle(struct ap_host *host);
/* The task is about to exec: its counts are complete, and nobody may have them afterwards. */
void ap_host_exec_asked(struct ap_host *host, u32 seg, u32 slot);
void ap_host_exec_failed(struct ap_host *host, u32 seg, u32 slot);
/* It did: its new image counts in a segment of its own, or (AP_HOST_NATIVE) no more. */
#define AP_HOST_NATIVE UINT32_MAX
void ap_host_execed(struct ap_host *host, const struct ap_seized *from, pid_t pid, u32 seg);

/* An anyperf inside wants programs served, with these options, which hold from here on. */
void ap_host_configure(struct ap_host *host, const struct ap_host_config *config);

/*
 * Events of the session's owner (linux/client/client.h).  A reading is of the moment that client_moment
 * began.  client_command: a child that is going to exec, so that events can be opened before.
 */
void ap_host_client_moment(struct ap_host *host);
AP_MUST_CHECK int ap_host_client_command(struct ap_host *host, pid_t pid);
AP_MUST_CHECK int ap_host_client_open(struct ap_host *host, const struct ap_open_args *args,
				      struct ap_event *leader, struct ap_event **out);
void ap_host_client_close(struct ap_host *host, struct ap_event *event, bool is_of_cpu);
/* A data area of npages - 1 pages behind the control page, and before them what only we see. */
struct ap_host_client_pages {
	u8 *page;
	u64 at; /* in the area of such pages */
	u32 order;
};
AP_MUST_CHECK int ap_host_client_map(struct ap_host *host, struct ap_event *event, u64 npages,
				     bool is_writable, struct ap_host_client_pages *out);
void ap_host_client_unmap(struct ap_host *host, struct ap_event *event, u64 npages,
			  const struct ap_host_client_pages *pages);
/* Reads what the kernel has written down of the tasks. */
void ap_host_client_catch_up(struct ap_host *host);
void ap_host_client_split(struct ap_host *host, struct ap_event *event);
void ap_host_client_tell_parts(struct ap_host *host, struct ap_event *event);
/* There is news in the event's data area since it was asked last. */
bool ap_host_client_has_news(struct ap_host *host, struct ap_event *event);
s64 ap_host_client_read(struct ap_host *host, struct ap_event *event, void *buf, u64 size);
s64 ap_host_client_ioctl(struct ap_host *host, struct ap_event *event, struct ap_ioctl_args *args,
			 struct ap_event *target);

/* Descriptors that the host must keep over a change of process: calls keep(arg, fd) for each. */
/* The only task of a segment waits, and counts in the first slot of another one from now on. */
void ap_host_moved(struct ap_host *host, u32 from, u32 to);
/* Nobody is in the party any more. */
void ap_host_party_ended(struct ap_host *host, u32 party);
void ap_host_each_fd(struct ap_host *host, void (*keep)(void *arg, int fd), void *arg);

#endif
