/* SPDX-License-Identifier: MIT */
/*
 * Software counters that only the kernel has.  Where it permits, its own event on the task counts
 * them, from the first time that somebody asks; else /proc says what it knows, which is nothing
 * about the mode that a fault was taken in.  Both include what the engine and its requests cause,
 * but for the faults that end in signals of the engine's.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#endif

#define STAT_MINFLT 10
#define STAT_MAJFLT 12

static const u64 configs[AP_WORLD_N] = {
	[AP_WORLD_PAGE_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS,
	[AP_WORLD_FAULTS_MIN] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	[AP_WORLD_FAULTS_MAJ] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	[AP_WORLD_CONTEXT_SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
	[AP_WORLD_MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
	[AP_WORLD_CGROUP_SWITCHES] = PERF_COUNT_SW_CGROUP_SWITCHES,
	[AP_WORLD_ALIGNMENT_FAULTS] = PERF_COUNT_SW_ALIGNMENT_FAULTS,
	[AP_WORLD_EMULATION_FAULTS] = PERF_COUNT_SW_EMULATION_FAULTS,
};

/* Whether it is one of the faults of a mode, by the first of these. */
static bool is_fault_of(enum ap_world_counter which, enum ap_world_counter first)
{
	return which >= first && which < first + AP_WORLD_FAULTS_N;
}

static enum ap_world_counter in_any_mode(enum ap_world_counter which)
{
	if (which >= AP_WORLD_CONTEXT_SWITCHES)
		return which;
	return (enum ap_world_counter)(which % AP_WORLD_FAULTS_N);
}

static s32 open_event(const struct ap_host_task *t, enum ap_world_counter which)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = configs[in_any_mode(which)];
	attr.exclude_kernel = is_fault_of(which, AP_WORLD_USER_FAULTS);
	attr.exclude_user = is_fault_of(which, AP_WORLD_KERNEL_FAULTS);
	fd = (int)syscall(SYS_perf_event_open, &attr, t->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return ap_host_task_opened(t, fd);
}

/* Field n of a stat line, counted from the end of the name, which may hold anything. */
static bool stat_field(const char *text, unsigned int n, u64 *v)
{
	const char *p = strrchr(text, ')');

	for (unsigned int field = 2; p && field < n; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return false;
	*v = ap_text_u64(&p, 10);
	return true;
}

static bool read_task(const struct ap_host_task *t, const char *what, char *text, size_t size)
{
	char name[64];

	if (t->tid <= 0)
		return false;
	snprintf(name, sizeof(name), "task/%d/%s", (int)t->tid, what);
	return ap_proc_read(t->pid, name, text, size) > 0;
}

static bool status_value(const char *text, const char *name, u64 *v)
{
	const char *p = ap_status_find(text, name);

	if (p)
		*v = ap_text_u64(&p, 10);
	return p != NULL;
}

static bool from_proc(const struct ap_host_task *t, enum ap_world_counter which, u64 *v)
{
	char text[8192];
	u64 a = 0, b = 0;
	const char *p;

	switch (which) {
	case AP_WORLD_PAGE_FAULTS:
	case AP_WORLD_FAULTS_MIN:
	case AP_WORLD_FAULTS_MAJ:
		if (!read_task(t, "stat", text, sizeof(text)) ||
		    !stat_field(text, STAT_MINFLT, &a) || !stat_field(text, STAT_MAJFLT, &b))
			return false;
		*v = (which == AP_WORLD_FAULTS_MAJ ? 0 : a) +
		     (which == AP_WORLD_FAULTS_MIN ? 0 : b);
		return true;
	case AP_WORLD_CONTEXT_SWITCHES:
		if (!read_task(t, "status", text, sizeof(text)) ||
		    !status_value(text, "voluntary_ctxt_switches", &a) ||
		    !status_value(text, "nonvoluntary_ctxt_switches", &b))
			return false;
		*v = a + b;
		return true;
	case AP_WORLD_MIGRATIONS:
		if (!read_task(t, "sched", text, sizeof(text)))
			return false;
		p = strstr(text, "se.nr_migrations");
		p = p ? strchr(p, ':') : NULL;
		if (!p)
			return false;
		*v = strtoull(p + 1, NULL, 10);
		return true;
	default:
		return false;
	}
}

/*
 * What the engine has had of the kernel's faults; a slot that the task has no more keeps what it
 * had.
 */
static u64 own_faults(struct ap_host_task *t)
{
	u64 now;

	if (!t->seg || !t->gen || t->has_parting || !ap_host_task_is_in_slot(t))
		return t->own_faults;
	now = __atomic_load_n(&ap_host_slot(t->seg, t->slot)->own_faults, __ATOMIC_RELAXED);
	t->own_faults += now - t->own_seen;
	t->own_seen = now;
	return t->own_faults;
}

void ap_host_world_parting(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	(void)own_faults(t);
}

void ap_host_world_leave(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	(void)own_faults(t);
	t->own_seen = 0;
}

static bool has_own(enum ap_world_counter which)
{
	return which == AP_WORLD_PAGE_FAULTS ||
	       which == AP_WORLD_USER_FAULTS + AP_WORLD_PAGE_FAULTS;
}

/*
 * The event is as old as the first question, and a child that was counted from its birth may be
 * asked about much later: what it did before is in /proc.  Faults before that are taken for the
 * user's: a new thread or process touches its stack and copies pages, and in the kernel hardly any.
 */
static void begin(struct ap_host_task *t, enum ap_world_counter which)
{
	u64 before, now;

	t->world_fd[which] = open_event(t, which);
	if (t->world_fd[which] >= 0 && !is_fault_of(which, AP_WORLD_KERNEL_FAULTS) &&
	    from_proc(t, in_any_mode(which), &now) &&
	    read(t->world_fd[which], &before, sizeof(before)) == sizeof(before) && now > before)
		t->world_base[which] = now - before;
	if (t->world_fd[which] >= 0 && has_own(which))
		t->world_base[which] += own_faults(t);
}

int ap_host_world_counter(void *world, void *host_task, s32 cpu, enum ap_world_counter which,
			  u64 *v)
{
	struct ap_host_task *t = host_task;
	u64 now = 0;

	(void)world;
	(void)cpu;
	if (!t || which >= AP_WORLD_N)
		return -EOPNOTSUPP;
	if (t->world_fd[which] == AP_HOST_FD_NONE && t->tid > 0 && !t->is_ending)
		begin(t, which);
	if (t->world_fd[which] >= 0) {
		/* before the kernel's, which has each of them by then */
		u64 own = has_own(which) ? own_faults(t) : 0;

		if (read(t->world_fd[which], &now, sizeof(now)) != sizeof(now))
			return -EOPNOTSUPP;
		now += t->world_base[which] - own;
	} else if (!from_proc(t, which, &now)) {
		/* what a task that is gone, or not there yet, is known to have counted */
		if (t->tid > 0 && !t->world_last[which])
			return -EOPNOTSUPP;
		now = t->world_last[which];
	}
	if (now > t->world_last[which])
		t->world_last[which] = now;
	*v = t->world_last[which];
	return 0;
}

bool ap_host_world_splits(const struct ap_host_task *t)
{
	for (u32 i = AP_WORLD_USER_FAULTS; i < AP_WORLD_CONTEXT_SWITCHES; i++)
		if (t->world_fd[i] >= 0)
			return true;
	return false;
}

void ap_host_world_born(struct ap_host_task *t, const struct ap_host_task *maker)
{
	if (!ap_host_world_splits(maker))
		return;
	/*
	 * with those of all modes: what /proc counts until somebody asks is more than the modes'
	 * sum
	 */
	for (u32 i = 0; i < AP_WORLD_CONTEXT_SWITCHES; i++)
		if (maker->world_fd[i] >= 0 && t->world_fd[i] == AP_HOST_FD_NONE)
			begin(t, (enum ap_world_counter)i);
}

void ap_host_world_last(struct ap_host *host, struct ap_host_task *t)
{
	u64 v;

	(void)host;
	for (u32 i = 0; i < AP_WORLD_N; i++)
		if (t->world_fd[i] != AP_HOST_FD_NONE)
			(void)ap_host_world_counter(NULL, t, -1, (enum ap_world_counter)i, &v);
}

void ap_host_world_fini(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	for (u32 i = 0; i < AP_WORLD_N; i++)
		if (t->world_fd[i] >= 0)
			close(t->world_fd[i]);
}
