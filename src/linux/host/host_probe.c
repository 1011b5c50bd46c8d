/* SPDX-License-Identifier: MIT */
/*
 * Probes in the text of programs: events of the kernel's uprobe PMU, and tracepoints that were made
 * by uprobe_events.
 *
 * The kernel puts an int3 into the program's text and knows it by its address; translated code
 * would have it at another one.  So of tasks in the session the engine counts: the file is found
 * here, once, and the engine looks for the instruction wherever code of that file is translated
 * (engine/watch/watch.c, returns.c).  What a sample has as RAW is made here of the probe's line
 * (probe_form.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "files/error.h"
#include "files/in.h"
#include "linux/host/host_internal.h"
#include "linux/host/probe_form.h"
#include "linux/task/as_task.h"
#include "pmu/drivers.h"
#include "pmu/tracepoint.h"

#define TRACING	     "/sys/kernel/tracing"
#define UPROBE_TYPE  "/sys/bus/event_source/devices/uprobe/type"
#define IS_RETURN    1ULL /* of the PMU's config; its upper half is a reference counter's offset */
#define COUNTER_BITS 32

struct probe {
	char path[PATH_MAX];
	u64 offset, counter;
	bool is_return, has_counter;
	int form_error; /* of the next: 0, or what an event gets that wants it */
	struct ap_probe_form form;
};

/* --- what is probed */

/* The text at an address of a task's, page by page, as the last may not be there. */
static int read_text(pid_t tid, u64 addr, char *to, size_t size)
{
	size_t n = 0, step;

	while (n < size) {
		struct iovec local = { .iov_base = to + n }, remote;

		step = AP_PAGE_SIZE - ((addr + n) & (AP_PAGE_SIZE - 1));
		step = step < size - n ? step : size - n;
		local.iov_len = step;
		remote = (struct iovec){ (void *)(uintptr_t)(addr + n), step }; /* NOLINT */
		if (process_vm_readv(tid, &local, 1, &remote, 1, 0) != (ssize_t)step)
			return errno == EPERM ? -EOPNOTSUPP : -EFAULT;
		if (memchr(to + n, 0, step))
			return 0;
		n += step;
	}
	return -ENAMETOOLONG;
}

/* A line of uprobe_events: p:GROUP/NAME PATH:0xOFFSET(0xCOUNTER) ARGUMENTS */
static bool parse_line(char *line, u64 id, struct probe *p)
{
	char group[64], name[64], path[192], *at, *args, *colon;
	int behind = 0;

	if (sscanf(line, "%*[^:]:%63[^/]/%63s %n", group, name, &behind) != 2 || !behind)
		return false;
	snprintf(path, sizeof(path), TRACING "/events/%s/%s/id", group, name);
	if (ap_host_number_in(path) != id)
		return false;
	at = line + behind;
	args = at + strcspn(at, " \n");
	if (*args)
		*args++ = '\0';
	colon = strrchr(at, ':');
	if (!colon || colon - at >= PATH_MAX)
		return false;
	memcpy(p->path, at, (size_t)(colon - at));
	p->path[colon - at] = '\0';
	p->offset = strtoull(colon + 1, &at, 0);
	p->has_counter = *at == '(';
	p->counter = p->has_counter ? strtoull(at + 1, NULL, 0) : 0;
	p->is_return = line[0] == 'r' || strstr(at, "%return");
	p->form_error = ap_probe_form_parse(args, p->offset, &p->form);
	return true;
}

static bool find_tracepoint(u64 id, struct probe *p)
{
	char line[PATH_MAX + 256];
	bool found = false;
	FILE *f = ap_kernel_stream(TRACING "/uprobe_events");

	while (f && !found && fgets(line, sizeof(line), f))
		found = parse_line(line, id, p);
	if (f)
		fclose(f);
	return found;
}

/* 1: it is none. */
static int look_at(struct ap_host *host, const struct ap_host_task *caller,
		   const struct ap_perf_attr *attr, struct probe *p)
{
	u64 type;
	int ret;

	memset(p, 0, sizeof(*p));
	if (attr->type == AP_PERF_TYPE_TRACEPOINT) {
		if (ap_tracepoint_exists(attr->config) || !find_tracepoint(attr->config, p))
			return 1;
		p->form.id = (u32)attr->config;
		return 0;
	}
	type = attr->type > AP_PERF_TYPE_BREAKPOINT ? ap_host_number_in(UPROBE_TYPE) : 0;
	if (!type || attr->type != type)
		return 1;
	/*
	 * as the kernel's, which asks for CAP_PERFMON at every perf_event_paranoid, and before all
	 * else
	 */
	if (!ap_host_is_privileged(host, caller->core))
		return -EACCES;
	p->offset = attr->config2;
	p->is_return = attr->config & IS_RETURN;
	p->counter = attr->config >> COUNTER_BITS;
	p->has_counter = p->counter; /* so says the kernel */
	ret = read_text(caller->tid, attr->config1, p->path, sizeof(p->path));
	/* what was read was its memory */
	return ret || ap_host_task_is_itself(host, caller) ? ret : -ESRCH;
}

/* --- which file that is */

struct file_job {
	int ref;
	u64 dev, ino;
};

static void drop_job(void *arg)
{
	struct file_job *j = arg;

	if (j->ref >= 0)
		close(j->ref);
	free(j);
}

/* What /proc/PID/maps calls it, which some file systems call otherwise in stat. */
static int identify(int fd, u64 *dev, u64 *ino)
{
	void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	FILE *maps = at != MAP_FAILED ? ap_kernel_stream("/proc/self/maps") : NULL;
	u64 start, major, minor;
	char *line = NULL;
	size_t size = 0;
	int ret = -EINVAL;

	while (maps && ret && getline(&line, &size, maps) > 0)
		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %" SCNx64 ":%" SCNx64 " %" SCNu64, &start,
			   &major, &minor, ino) == 4 &&
		    start == (uintptr_t)at)
			ret = 0;
	if (!ret)
		*dev = major << 20 | minor;
	free(line);
	if (maps)
		fclose(maps);
	if (at != MAP_FAILED)
		munmap(at, 1);
	return ret;
}

/* A file system may take its time, or for ever, for the opening, the mapping and the close. */
static s64 look_into(void *arg)
{
	struct file_job *j = arg;
	char name[32];
	int fd, ret;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", j->ref);
	fd = ap_in_open(name, AP_IN_FILE);
	if (fd == -EISDIR || fd <= -AP_FILE_LINK)
		return -EINVAL; /* the kernel's word for what is no file */
	if (fd < 0)
		return fd;
	ret = identify(fd, &j->dev, &j->ino);
	close(fd);
	return ret;
}

/* As the caller finds it, by its rights and below its root. */
static int find_file(struct ap_host *host, const struct ap_host_task *caller, const char *path,
		     u64 *dev, u64 *ino)
{
	const struct ap_as_task as = ap_host_as(host, caller);
	struct file_job *j = calloc(1, sizeof(*j));
	s64 ret;

	if (!j)
		return -ENOMEM;
	j->ref = ap_as_open(&as, AT_FDCWD, path);
	ret = j->ref < 0 ? j->ref : ap_as_wait(&as, look_into, drop_job, j);
	/* a lookup that timed out has taken nothing of ours */
	if (ret == -ETIMEDOUT && j->ref >= 0)
		return (int)ret;
	*dev = j->dev;
	*ino = j->ino;
	drop_job(j);
	return (int)ret;
}

void ap_host_form_use(void *world, u32 form, s32 by)
{
	const struct ap_host *host = world;

	ap_probe_form_of(host->ses->head, form)->users += (u32)by;
}

/* What the event's samples have as RAW, if it wants any. */
static int take_form(struct ap_host *host, struct probe *p, const struct ap_perf_attr *attr,
		     u32 *number)
{
	*number = 0;
	if (!attr->sample_period || !(attr->sample_type & AP_PERF_SAMPLE_RAW))
		return 0;
	if (p->form_error)
		return p->form_error;
	p->form.is_return = p->is_return;
	return ap_probe_form_take(host->ses->head, &p->form, number);
}

int ap_host_probe_take(struct ap_host *host, const struct ap_host_task *caller,
		       const struct ap_open_args *args, u64 group, struct ap_perf_attr *attr,
		       bool *is_probe)
{
	u64 dev = 0, ino = 0;
	struct probe p;
	u32 form;
	int ret;

	*is_probe = false;
	if (ap_host_is_outside(host, caller->core, args))
		return 0;
	ret = look_at(host, caller, attr, &p);
	if (ret)
		return ret < 0 ? ret : 0;
	if (ap_core_config(host->core)->paranoid >= 3)
		return -EACCES; /* the session refuses all programs */
	if (!ap_svc_may_group(group, false))
		return -EINVAL;
	/* before a file system of the caller's is asked for anything */
	ret = ap_core_may_open(host->core, caller->core, args->attr);
	ret = ret ?: find_file(host, caller, p.path, &dev, &ino);
	if (!ret)
		ret = take_form(host, &p, attr, &form);
	if (ret)
		return ret;
	attr->type = AP_PMU_PROBE;
	attr->config = ino;
	attr->config1 = p.offset;
	attr->config2 = dev;
	attr->bp_type = p.is_return;
	attr->config3 = AP_PROBE_CONFIG3(form, p.has_counter, p.counter);
	*is_probe = true;
	return 0;
}
