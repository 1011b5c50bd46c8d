/* SPDX-License-Identifier: MIT */
/*
 * Software events.  The kernel's own counters follow the whole tree and can be had for user and
 * kernel work only where perf_event_paranoid is at most 1; exclude_kernel would make them useless
 * (faults and switches happen in the kernel), so a refusal goes straight to rusage.
 */
#include "linux/counters.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/proc.h"

static const u64 configs[AP_SW_N] = {
	[AP_SW_TASK_CLOCK] = PERF_COUNT_SW_TASK_CLOCK,
	[AP_SW_CONTEXT_SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
	[AP_SW_CPU_MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
	[AP_SW_PAGE_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS,
	[AP_SW_MINOR_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	[AP_SW_MAJOR_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};

static int open_event(u64 config, pid_t pid, bool inherit)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = config;
	attr.disabled = 1;
	attr.enable_on_exec = 1;
	attr.inherit = inherit;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void ap_counters_open(struct ap_counters *c, pid_t pid, u32 wanted, bool inherit)
{
	bool is_refused = false;

	c->wanted = wanted;
	c->has_migrations = false;
	for (unsigned int i = 0; i < AP_SW_N; i++) {
		c->fd[i] = -1;
		/* the first refusal is the answer for all */
		if (is_refused || !(wanted & 1u << i))
			continue;
		c->fd[i] = open_event(configs[i], pid, inherit);
		is_refused = c->fd[i] < 0;
	}
}

void ap_counters_before_reap(struct ap_counters *c, pid_t pid)
{
	static const char key[] = "se.nr_migrations";
	char text[8192];
	const char *p;

	if (!(c->wanted & 1u << AP_SW_CPU_MIGRATIONS) || c->fd[AP_SW_CPU_MIGRATIONS] >= 0)
		return;
	if (ap_proc_read(pid, "sched", text, sizeof(text)) < 0)
		return;
	p = strstr(text, key);
	p = p ? strchr(p, ':') : NULL;
	if (!p)
		return;
	c->migrations = strtoull(p + 1, NULL, 10);
	c->has_migrations = true;
}

static u64 timeval_ns(const struct timeval *tv)
{
	return (u64)tv->tv_sec * 1000000000ULL + (u64)tv->tv_usec * 1000ULL;
}

static u64 from_rusage(enum ap_sw_event event, const struct rusage *ru)
{
	switch (event) {
	case AP_SW_TASK_CLOCK:
		return timeval_ns(&ru->ru_utime) + timeval_ns(&ru->ru_stime);
	case AP_SW_CONTEXT_SWITCHES:
		return (u64)(ru->ru_nvcsw + ru->ru_nivcsw);
	case AP_SW_PAGE_FAULTS:
		return (u64)(ru->ru_minflt + ru->ru_majflt);
	case AP_SW_MINOR_FAULTS:
		return (u64)ru->ru_minflt;
	case AP_SW_MAJOR_FAULTS:
		return (u64)ru->ru_majflt;
	default:
		return 0;
	}
}

void ap_counters_read(const struct ap_counters *c, const struct rusage *ru,
		      struct ap_run_result *res)
{
	for (unsigned int i = 0; i < AP_SW_N; i++) {
		u64 value;

		res->sw[i] = 0;
		res->sw_source[i] = AP_SRC_NONE;
		if (!(c->wanted & 1u << i))
			continue;
		if (c->fd[i] >= 0 && read(c->fd[i], &value, sizeof(value)) == sizeof(value)) {
			res->sw[i] = value;
			res->sw_source[i] = AP_SRC_KERNEL;
		} else if (i != AP_SW_CPU_MIGRATIONS) {
			res->sw[i] = from_rusage((enum ap_sw_event)i, ru);
			res->sw_source[i] = AP_SRC_RUSAGE;
		} else if (c->has_migrations) {
			res->sw[i] = c->migrations;
			res->sw_source[i] = AP_SRC_PROC;
		}
	}
	res->user_ns = timeval_ns(&ru->ru_utime);
	res->sys_ns = timeval_ns(&ru->ru_stime);
}

static struct timeval from_ticks(unsigned long ticks)
{
	unsigned long hz = (unsigned long)sysconf(_SC_CLK_TCK);

	return (struct timeval){ .tv_sec = (time_t)(ticks / hz),
				 .tv_usec = (suseconds_t)(ticks % hz * 1000000 / hz) };
}

void ap_counters_rusage(pid_t pid, struct rusage *ru)
{
	unsigned long min = 0, maj = 0, user = 0, sys = 0;
	char name[64], line[1024];
	const char *p;
	FILE *f;

	memset(ru, 0, sizeof(*ru));
	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	f = fopen(name, "re");
	p = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu", &min, &maj,
			&user, &sys) == 4) {
		ru->ru_minflt = (long)min;
		ru->ru_majflt = (long)maj;
		ru->ru_utime = from_ticks(user);
		ru->ru_stime = from_ticks(sys);
	}
	if (f)
		fclose(f);
	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "voluntary_ctxt_switches: %ld", &ru->ru_nvcsw);
		(void)sscanf(line, "nonvoluntary_ctxt_switches: %ld", &ru->ru_nivcsw);
	}
	if (f)
		fclose(f);
}

void ap_counters_close(struct ap_counters *c)
{
	for (unsigned int i = 0; i < AP_SW_N; i++) {
		if (c->fd[i] >= 0)
			close(c->fd[i]);
		c->fd[i] = -1;
	}
}
