/* SPDX-License-Identifier: MIT */
/*
 * Whose an event is: what we do not have is the kernel's, and the task that asks opens it there
 * (docs/design/kernel-events.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "files/in.h"
#include "linux/host/host_internal.h"
#include "pmu/tracepoint.h"

#define TRACING "/sys/kernel/tracing"

/* By what is counted, whoever it is counted for. */
static bool is_none_of_ours(const struct ap_perf_attr *attr)
{
	if (attr->type == AP_PERF_TYPE_TRACEPOINT)
		return !ap_tracepoint_exists(attr->config);
	return attr->type > AP_PERF_TYPE_BREAKPOINT;
}

u64 ap_host_number_in(const char *path)
{
	char text[24];
	int fd = ap_kernel_open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	return strtoull(text, NULL, 10);
}

/* The kernel's number of one of our tracepoints. */
static u64 number_of(u64 id)
{
	struct ap_tracepoint point;
	char path[128];

	for (u32 i = 0; ap_tracepoint_get(i, &point); i++) {
		if (point.id != id)
			continue;
		snprintf(path, sizeof(path), TRACING "/events/%s/%s/id", point.system, point.name);
		return ap_host_number_in(path);
	}
	return 0;
}

/* We know that it is passed, and not what it records. */
static bool is_only_counted(const struct ap_perf_attr *attr)
{
	return attr->type == AP_PERF_TYPE_TRACEPOINT && attr->sample_period &&
	       ap_tracepoint_exists(attr->config) && !ap_tracepoint_is_of_call((u32)attr->config);
}

bool ap_host_is_outside(struct ap_host *host, struct ap_task *caller,
			const struct ap_open_args *args)
{
	struct ap_task *task;

	return args->pid > 0 && !(args->flags & AP_PERF_FLAG_PID_CGROUP) &&
	       ap_host_find_task(host, caller, args->pid, &task) == -EACCES;
}

int ap_host_kernel_before(struct ap_host *host, const struct ap_open_args *args, u64 group,
			  u64 *config)
{
	*config = args->attr->config;
	if (is_only_counted(args->attr) && number_of(*config))
		*config = number_of(*config);
	else if (!is_none_of_ours(args->attr))
		return ap_svc_may_group(group, false) ? 0 : -EINVAL;
	if (ap_core_config(host->core)->paranoid >= 3)
		return -EACCES; /* the session refuses all programs */
	return ap_svc_may_group(group, true) ? AP_SVC_NATIVE : -EINVAL;
}

int ap_host_kernel_after(struct ap_host *host, struct ap_task *caller,
			 const struct ap_open_args *args, int error, u64 *config)
{
	const struct ap_perf_attr *attr = args->attr;
	bool is_cgroup = args->flags & AP_PERF_FLAG_PID_CGROUP;

	*config = attr->config;
	if (args->group_fd != -1 || ap_core_config(host->core)->paranoid >= 3)
		return error;
	if (error == -EOPNOTSUPP)
		return attr->type == AP_PERF_TYPE_SOFTWARE && args->cpu >= 0 &&
				       (args->pid == -1 || is_cgroup)
			       ? AP_SVC_NATIVE
			       : error;
	if (error != -EACCES || !ap_host_is_outside(host, caller, args))
		return error;
	if (attr->type == AP_PERF_TYPE_TRACEPOINT)
		*config = number_of(attr->config);
	return attr->type == AP_PERF_TYPE_TRACEPOINT && !*config ? error : AP_SVC_NATIVE;
}

/* A software event that is alone: what the kernel says of it is what we would. */
int ap_host_kernel_rehome(const struct ap_host_task *caller, struct ap_event *event,
			  struct ap_svc_rehome *what)
{
	const struct ap_task *core = ap_event_task(event);
	const struct ap_host_task *t = core ? ap_task_host(core) : NULL;
	struct ap_event_public is;

	ap_event_public(event, &is);
	*what = (struct ap_svc_rehome){ .attr = *ap_event_attr(event), .cpu = is.cpu };
	if (what->attr.type != AP_PERF_TYPE_SOFTWARE || is.nr_siblings ||
	    ap_event_leader(event) != event)
		return -EINVAL;
	what->pid = !t ? -1 : t == caller ? 0 : t->tid;
	what->attr.flags &= ~AP_PERF_DISABLED;
	if (!is.is_enabled)
		what->attr.flags |= AP_PERF_DISABLED;
	return AP_SVC_NATIVE;
}
