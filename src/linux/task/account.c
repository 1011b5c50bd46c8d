/* SPDX-License-Identifier: MIT */
/*
 * rusage and /proc.  See account.h.
 */
#include "linux/task/account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/in.h"
#include "inject/proc.h"

void ap_account_before_reap(struct ap_account *a, pid_t pid)
{
	static const char key[] = "se.nr_migrations";
	char text[8192];
	const char *p;

	if (ap_proc_read(pid, "sched", text, sizeof(text)) < 0)
		return;
	p = strstr(text, key);
	p = p ? strchr(p, ':') : NULL;
	if (!p)
		return;
	a->migrations = strtoull(p + 1, NULL, 10);
	a->has_migrations = true;
}

static u64 timeval_ns(const struct timeval *tv)
{
	return (u64)tv->tv_sec * 1000000000ULL + (u64)tv->tv_usec * 1000ULL;
}

void ap_account_read(const struct ap_account *a, const struct rusage *ru,
		     struct ap_run_account *out)
{
	*out = (struct ap_run_account){
		.user_ns = timeval_ns(&ru->ru_utime),
		.sys_ns = timeval_ns(&ru->ru_stime),
	};
	for (unsigned int i = 0; i < AP_SW_N; i++)
		out->source[i] = AP_SRC_RUSAGE;
	out->value[AP_SW_TASK_CLOCK] = out->user_ns + out->sys_ns;
	out->value[AP_SW_CONTEXT_SWITCHES] = (u64)(ru->ru_nvcsw + ru->ru_nivcsw);
	out->value[AP_SW_PAGE_FAULTS] = (u64)(ru->ru_minflt + ru->ru_majflt);
	out->value[AP_SW_MINOR_FAULTS] = (u64)ru->ru_minflt;
	out->value[AP_SW_MAJOR_FAULTS] = (u64)ru->ru_majflt;
	out->value[AP_SW_CPU_MIGRATIONS] = a->migrations;
	out->source[AP_SW_CPU_MIGRATIONS] = a->has_migrations ? AP_SRC_PROC : AP_SRC_NONE;
}

static struct timeval from_ticks(unsigned long ticks)
{
	unsigned long hz = (unsigned long)sysconf(_SC_CLK_TCK);

	return (struct timeval){ .tv_sec = (time_t)(ticks / hz),
				 .tv_usec = (suseconds_t)(ticks % hz * 1000000 / hz) };
}

void ap_account_rusage(pid_t pid, struct rusage *ru)
{
	unsigned long min = 0, maj = 0, user = 0, sys = 0;
	char name[64], line[1024];
	const char *p;
	FILE *f;

	memset(ru, 0, sizeof(*ru));
	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	f = ap_kernel_stream(name);
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
	f = ap_kernel_stream(name);
	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "voluntary_ctxt_switches: %ld", &ru->ru_nvcsw);
		(void)sscanf(line, "nonvoluntary_ctxt_switches: %ld", &ru->ru_nivcsw);
	}
	if (f)
		fclose(f);
}
