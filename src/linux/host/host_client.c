/* SPDX-License-Identifier: MIT */
/*
 * The session's owner opens events: without a descriptor, a slot or a request, from the
 * supervisor's own thread (linux/client/client.h).  The core knows no caller then, which means that all is
 * allowed that can be done.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "linux/host/host_internal.h"

/* Requests do the same before and after they are served. */
static void begin(struct ap_host *host, struct ap_event *leader)
{
	host->is_changed = true;
	ap_host_settle_all(host);
	host->token_event = leader;
}

static void done(struct ap_host *host)
{
	host->token_event = NULL;
	ap_host_let_go(host);
}

void ap_host_client_moment(struct ap_host *host)
{
	host->epoch++;
}

int ap_host_client_command(struct ap_host *host, pid_t pid)
{
	return ap_host_task_new(host, pid, pid) ? 0 : -ENOMEM;
}

int ap_host_client_open(struct ap_host *host, const struct ap_open_args *args,
			struct ap_event *leader, struct ap_event **out)
{
	struct ap_open_args full = *args;
	bool is_of_cpu = args->cpu >= 0;
	int ret = 0;

	full.group_fd = leader ? 0 : -1; /* the number is never looked at */
	begin(host, leader);
	if (is_of_cpu)
		ret = ap_host_cpus_use(host, ap_host_count_cpus());
	if (!ret)
		ret = ap_core_open(host->core, NULL, &full, out);
	if (!ret && ap_event_task(*out)) {
		ap_host_task_found_on_cpu(host, ap_task_host(ap_event_task(*out)));
		ap_host_task_order(ap_task_host(ap_event_task(*out)));
	}
	if (!ret)
		ap_host_know_all(host);
	if (!ret)
		ap_host_spread_kinds(host, UINT32_MAX);
	host->ncpu_files += !ret && is_of_cpu;
	if (is_of_cpu && !host->ncpu_files)
		ap_host_cpus_fini(host);
	done(host);
	return ret;
}

void ap_host_client_close(struct ap_host *host, struct ap_event *event, bool is_of_cpu)
{
	struct ap_task *task = ap_event_task(event);

	ap_host_client_moment(host);
	begin(host, NULL);
	ap_core_release(host->core, event);
	if (task)
		ap_host_task_order(ap_task_host(task));
	host->ncpu_files -= is_of_cpu;
	if (!host->ncpu_files)
		ap_host_cpus_fini(host);
	done(host);
}

void ap_host_client_catch_up(struct ap_host *host)
{
	ap_host_diaries_drain(host);
	ap_host_carry_all(host);
}

bool ap_host_client_has_news(struct ap_host *host, struct ap_event *event)
{
	return ap_core_poll(host->core, event) & POLLIN;
}

s64 ap_host_client_read(struct ap_host *host, struct ap_event *event, void *buf, u64 size)
{
	s64 got;

	begin(host, NULL);
	got = ap_host_read(host, event, buf, size);
	done(host);
	return got;
}

s64 ap_host_client_ioctl(struct ap_host *host, struct ap_event *event, struct ap_ioctl_args *args,
			 struct ap_event *target)
{
	s64 ret;

	begin(host, target);
	ret = ap_core_ioctl(host->core, NULL, event, args);
	done(host);
	return ret;
}

void ap_host_client_split(struct ap_host *host, struct ap_event *event)
{
	ap_core_split(host->core, event);
}

void ap_host_client_tell_parts(struct ap_host *host, struct ap_event *event)
{
	begin(host, NULL);
	ap_core_tell_parts(host->core, event);
	done(host);
}

void ap_host_client_part(void *world, struct ap_event *event, const struct ap_part *part)
{
	struct ap_host *host = world;

	if (host->sv->client)
		host->sv->tell_part(host->sv->client, event, part);
}
