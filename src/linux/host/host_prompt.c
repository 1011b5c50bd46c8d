/* SPDX-License-Identifier: MIT */
/*
 * Prompts: events of the kernel's on threads of the session, each of which sends its thread a
 * SIGTRAP where it overflows (attr.sigtrap), that the engine takes to itself.  Page faults are seen
 * that way, and clocks tick to the nanosecond.  They are open while a sampler of the task is armed
 * that needs them.
 *
 * Only what happens in user mode prompts: a system call would be ended by the signal.  Who may not
 * be sent any signal (a filter of the program's may not allow the handler's return, or the engine
 * has gone) is quiet.  So is a task of which the kernel does not say that it counts in its segment:
 * it may be any process, which a SIGTRAP would end.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/host/host_internal.h"

#define CLOCK_MIN_NS 50000ULL /* a prompt costs some: faster ones leave no time for the program */

static int open_event(pid_t tid, u32 kind, u64 period, bool is_disabled)
{
	static const u64 configs[AP_PROMPT_N] = {
		[AP_PROMPT_CLOCK] = PERF_COUNT_SW_TASK_CLOCK,
		[AP_PROMPT_FAULT] = PERF_COUNT_SW_PAGE_FAULTS,
		[AP_PROMPT_MIN] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		[AP_PROMPT_MAJ] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	};
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = configs[kind];
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	attr.disabled = is_disabled;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.sig_data = AP_PROMPT_DATA(kind);
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool ap_host_can_prompt(struct ap_host *host)
{
	int fd;

	if (!host->prompts) {
		/* of a clock: it costs the kernel no change of its own code */
		fd = open_event(0, AP_PROMPT_CLOCK, 1, true);
		host->prompts = fd < 0 ? -1 : 1;
		if (fd >= 0)
			close(fd);
	}
	return host->prompts > 0;
}

int ap_host_may_sample(void *world, u32 source)
{
	bool can = source == AP_SAMPLE_FAULT   ? ap_host_can_prompt(world)
		   : source == AP_SAMPLE_WORLD ? ap_host_can_keep_diaries(world)
					       : true;

	return can ? 0 : -EOPNOTSUPP;
}

/*
 * What the task's armed samplers want: bits of enum ap_prompt_kind, and the shortest of their
 * clocks.
 */
static u32 wanted(const struct ap_host *host, const struct ap_host_task *t, u64 *ns)
{
	const u32 both = 1U << AP_PROMPT_MIN | 1U << AP_PROMPT_MAJ;
	u32 kinds = 0;

	*ns = UINT64_MAX;
	for (const struct ap_host_sampler *o = t->samplers; o; o = o->next) {
		const struct ap_sampler *s = ap_host_sampler_at(host, o);

		if (!(ap_sampling_of(s)->state & AP_SAMPLER_ARMED))
			continue;
		if (s->source == AP_SAMPLE_FAULT)
			kinds |= s->which == AP_FAULT_ANY ? 1U << AP_PROMPT_FAULT : both;
		if (s->source != AP_SAMPLE_CLOCK)
			continue;
		kinds |= 1U << AP_PROMPT_CLOCK;
		if (ap_sampling_of(s)->period < *ns)
			*ns = ap_sampling_of(s)->period;
	}
	/* one signal waits at most: each fault must be told of once */
	return kinds & both ? kinds & ~(1U << AP_PROMPT_FAULT) : kinds;
}

static void end(struct ap_host_task *t, u32 kind)
{
	if (t->prompt_fd[kind] >= 0)
		close(t->prompt_fd[kind]);
	t->prompt_fd[kind] = AP_HOST_FD_NONE;
}

void ap_host_prompts_end(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	for (u32 kind = 0; kind < AP_PROMPT_N; kind++)
		end(t, kind);
}

static void begin(struct ap_host *host, struct ap_host_task *t, u32 kind, u64 period)
{
	int fd;

	/* before the first signal */
	__atomic_store_n(&host->ses->head->prompts, 1, __ATOMIC_SEQ_CST);
	fd = open_event(t->tid, kind, period, true);
	/* its number may have become another's before that: its present owner will not change */
	if (fd >= 0 && (!ap_host_task_is_proven(host, t) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		close(fd);
		fd = -1;
	}
	t->prompt_fd[kind] = fd < 0 ? AP_HOST_FD_REFUSED : fd;
}

void ap_host_prompts_set(struct ap_host *host, struct ap_host_task *t)
{
	u64 ns;
	u32 kinds;

	if (!host->samplers || t->is_ending)
		return;
	kinds = wanted(host, t, &ns);
	if (!t->tid || t->is_quiet || !ap_host_task_is_in_slot(t) || t->seg->head->mute ||
	    (kinds && !ap_host_task_is_proven(host, t)) || (kinds && !ap_host_can_prompt(host)))
		kinds = 0;
	if (ns < CLOCK_MIN_NS)
		ns = CLOCK_MIN_NS;
	if (ns != t->prompt_ns)
		end(t, AP_PROMPT_CLOCK);
	t->prompt_ns = ns;
	for (u32 kind = 0; kind < AP_PROMPT_N; kind++) {
		if (!(kinds & 1U << kind))
			end(t, kind);
		else if (t->prompt_fd[kind] == AP_HOST_FD_NONE)
			begin(host, t, kind, kind == AP_PROMPT_CLOCK ? ns : 1);
	}
}

void ap_host_quiet(struct ap_host *host, pid_t pid)
{
	for (struct ap_host_task *t = host->tasks; t; t = t->next) {
		if (t->pid != pid)
			continue;
		t->is_quiet = true;
		ap_host_prompts_end(host, t);
	}
}
