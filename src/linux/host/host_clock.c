/* SPDX-License-Identifier: MIT */
/*
 * The CPU time of a task.  /proc has it while the task exists; a task that is killed may be waited
 * for before we look, and then only an event that was opened in time still knows.  Without its time
 * all that the task counted would read as not counted.
 *
 * So would what it counted since somebody last looked, if its time had not moved since then: a
 * printer of intervals takes that for an event that did not count.  /proc is behind by up to a tick
 * of the kernel's.  So counts are read before the time, and time goes on by one ns at least where
 * they did.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"

#define CPU_TIME_MAX (1ULL << 62) /* ns; nobody has computed for so long */
#define OFTEN	     8		  /* a task that is asked so often is asked 60 times a second */
#define TIMES_MAX    64		  /* files that are kept open for that */

/* Who samples by frequency is looked at all the time: one call in the place of four. */
static void keep_open(struct ap_host_task *t, const char *name)
{
	char path[AP_PROC_PATH];

	if (++t->times < OFTEN || t->host->times_open >= TIMES_MAX)
		return;
	t->times_fd = open(ap_proc_path(path, t->pid, name), O_RDONLY | O_CLOEXEC);
	t->host->times_open += t->times_fd >= 0;
}

static bool read_schedstat(struct ap_host_task *t, u64 *ns)
{
	char name[AP_PROC_PATH - 16], text[128];
	const char *p = text;
	ssize_t n;

	if (t->tid <= 0)
		return false;
	snprintf(name, sizeof(name), "task/%d/schedstat", (int)t->tid);
	if (t->times_fd < 0)
		keep_open(t, name);
	n = t->times_fd >= 0 ? pread(t->times_fd, text, sizeof(text) - 1, 0)
			     : (ssize_t)ap_proc_read(t->pid, name, text, sizeof(text));
	if (n <= 0)
		return false;
	text[n] = 0;
	*ns = ap_text_u64(&p, 10);
	return true;
}

static bool read_clock(const struct ap_host_task *t, u64 *ns)
{
	u64 n;

	if (t->clock_fd < 0 || read(t->clock_fd, &n, sizeof(n)) != sizeof(n))
		return false;
	*ns = t->clock_base + n;
	return true;
}

/* exclude_kernel is what an ordinary user may ask for; the time is the same. */
static s32 open_clock(const struct ap_host_task *t)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, t->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return ap_host_task_opened(t, fd);
}

static void start_clock(struct ap_host_task *t)
{
	u64 now, ran;

	t->clock_fd = open_clock(t);
	if (read_clock(t, &ran) && read_schedstat(t, &now) && now >= ran)
		t->clock_base = now - ran;
}

static bool read_time(struct ap_host_task *t)
{
	u64 now;

	if (!read_schedstat(t, &now) && !read_clock(t, &now))
		return false;
	if (now > t->cpu_time)
		t->cpu_time = now;
	return true;
}

void ap_host_task_time_is(struct ap_host_task *t, u64 ns)
{
	if (ns > t->cpu_time && ns < CPU_TIME_MAX)
		t->cpu_time = ns;
}

/* Whether it has counted anything since this was last asked. */
static bool has_counted(struct ap_host *host, struct ap_host_task *t)
{
	const u64 *raw = ap_host_task_raw(host, t);
	u64 sum = 0, before = t->timed;

	for (u32 k = 0; k < AP_RAW_N; k++)
		sum += raw[k];
	t->timed = sum;
	return sum != before;
}

u64 ap_host_task_time(struct ap_host *host, struct ap_host_task *t)
{
	u64 before = t->cpu_time;
	bool counted;

	if (t->time_at == host->epoch)
		return t->cpu_time;
	t->time_at = host->epoch;
	counted = has_counted(host, t);
	if (t->clock_fd == AP_HOST_FD_NONE && t->tid > 0)
		start_clock(t);
	(void)read_time(t);
	if (counted && t->cpu_time == before)
		t->cpu_time++;
	return t->cpu_time;
}

void ap_host_clock_last(struct ap_host_task *t)
{
	bool counted = has_counted(t->host, t);
	u64 before = t->cpu_time;

	/* it has run, for how long nobody knows: a time of 0 would say that it has not */
	if (!read_time(t) || (counted && t->cpu_time == before))
		t->cpu_time++;
}

void ap_host_clock_forget(struct ap_host_task *t)
{
	if (t->times_fd < 0)
		return;
	close(t->times_fd);
	t->times_fd = -1;
	t->times = 0;
	t->host->times_open--;
}

void ap_host_clock_fini(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	if (t->clock_fd >= 0)
		close(t->clock_fd);
	ap_host_clock_forget(t);
}
