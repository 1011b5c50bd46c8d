/* SPDX-License-Identifier: MIT */
/*
 * Making the core and its world, and the world's small operations.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/switches.h"
#include "linux/host/host_internal.h"
#include "linux/host/tree.h"
#include "model/machine.h"

#define MAX_SAMPLE_RATE 100000
#define MAX_STACK	127
#define MUTE_NS		1000000ULL
#define YIELDS		8
#define YIELD_NS	200000L
#define CORE_NS		4000000ULL /* between questions whether the core has work by the clock */

static void *world_alloc(void *world, u64 size)
{
	(void)world;
	return calloc(1, size);
}

static void world_free(void *world, void *p, u64 size)
{
	(void)world;
	(void)size;
	free(p);
}

static u64 world_clock(void *world)
{
	return ap_host_now(world);
}

/* Reads the counts as well, which world_raw() gives later on: so the task is held from here on. */
static u64 world_task_time(void *world, void *host_task)
{
	ap_host_hold(world, host_task);
	return ap_host_task_time(world, host_task);
}

static u64 world_raw(void *world, void *host_task, u64 kinds)
{
	const u64 *raw;
	u64 sum = 0;

	/* what it reads in place is not newer than this until it can see what comes of it */
	ap_host_hold(world, host_task);
	raw = ap_host_task_raw(world, host_task);
	for (u32 k = 0; k < AP_RAW_N; k++)
		if (kinds & AP_KIND_BIT(k))
			sum += raw[k];
	return sum;
}

static u32 world_ncpus(void *world)
{
	(void)world;
	return ap_host_count_cpus();
}

/* Descriptors do not come here as numbers: the request said which event is meant. */
static struct ap_event *world_event_of_fd(void *world, struct ap_task *caller, s32 fd)
{
	struct ap_host *host = world;
	struct ap_host_file *f;

	(void)caller;
	(void)fd;
	if (host->token_event)
		return host->token_event;
	f = ap_host_file_named(host, host->token_inode);
	return f && host->asker && ap_host_file_is_held(host, f, host->asker) ? f->event : NULL;
}

static u64 world_clock_id(void *world, s32 clockid)
{
	struct timespec ts;

	(void)world;
	if (clock_gettime(clockid, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

/* Who holds a ring may have lost its CPU on the way: it gets it back within some milliseconds. */
static void world_yield(void *world, u32 n)
{
	const struct timespec slice = { .tv_nsec = YIELD_NS };

	(void)world;
	if (n < YIELDS)
		sched_yield();
	else
		nanosleep(&slice, NULL);
}

static const struct ap_core_ops ops = {
	.alloc = world_alloc,
	.free = world_free,
	.clock = world_clock,
	.task_time = world_task_time,
	.raw = world_raw,
	.cpu_raw = ap_host_cpu_raw,
	.want_kinds = ap_host_want_kinds,
	.need_kinds = ap_host_need_kinds,
	.may_count = ap_host_may_count,
	.is_unseen = ap_host_is_unseen,
	.world_counter = ap_host_world_counter,
	.ncpus = world_ncpus,
	.cpu_of = ap_host_cpu_of,
	.find_task = ap_host_find_task,
	.event_of_fd = world_event_of_fd,
	.may_trace = ap_host_may_trace,
	.is_privileged = ap_host_is_privileged,
	.cgroup_of_fd = ap_host_cgroup_of_fd,
	.cgroup_has = ap_host_cgroup_has,
	.cgroup_put = ap_host_cgroup_put,
	.publish = ap_host_publish,
	.bp_can = ap_host_bp_can,
	.bp_arm = ap_host_bp_arm,
	.bp_count = ap_host_bp_count,
	.bp_disarm = ap_host_bp_disarm,
	.bp_no_data = ap_host_bp_no_data,
	.bp_place = ap_host_bp_place,
	.form_use = ap_host_form_use,
	.trace_count = ap_host_trace_count,
	.trace_filter = ap_host_trace_filter,
	.trace_unfilter = ap_host_trace_unfilter,
	.want_lane = ap_host_want_lane,
	.put_lane = ap_host_put_lane,
	.may_sample = ap_host_may_sample,
	.sampler_new = ap_host_sampler_new,
	.sampler_link = ap_host_sampler_link,
	.sampler_free = ap_host_sampler_free,
	.sampler_lock = ap_host_sampler_lock,
	.sampler_unlock = ap_host_sampler_unlock,
	.sampler_value = ap_host_sampler_value,
	.wake = ap_host_wake,
	.clock_id = world_clock_id,
	.yield = world_yield,
	.sampler_ring = ap_host_sampler_ring,
	.writer_is_dead = ap_host_writer_is_dead,
	.task_names = ap_host_task_names,
	.part = ap_host_client_part,
};

static u32 max_sample_rate(const struct ap_host_config *config)
{
	return config->max_sample_rate ? config->max_sample_rate : MAX_SAMPLE_RATE;
}

int ap_host_tree(struct ap_host *host)
{
	const struct ap_tree_config config = { .arch = host->drivers.arch,
					       .paranoid = host->config.paranoid,
					       .max_sample_rate = max_sample_rate(&host->config),
					       .max_stack = MAX_STACK,
					       .mlock_kb = AP_HOST_MLOCK_KB };
	int ret = 0;

	if (!host->has_tree)
		ret = ap_tree_publish(host->ses, &config);
	host->has_tree = !ret;
	return ret;
}

int ap_host_new(struct ap_host **out, struct ap_supervisor *sv, const struct ap_host_config *config)
{
	struct ap_core_config core_config = { .paranoid = config->paranoid,
					      .counters = config->counters,
					      .user_only = config->user_only,
					      .max_sample_rate = max_sample_rate(config),
					      .max_stack = MAX_STACK,
					      .regs = AP_PERF_REGS_X86_64,
					      .only_frequencies_throttle = !config->max_sample_rate,
					      .has_user_stack = true,
					      .has_branch_stack = true,
					      .task_time_is_unseen = true };
	struct ap_host *host = calloc(1, sizeof(*host));
	const struct ap_machine *machine;
	int ret;

	if (!host)
		return -ENOMEM;
	host->life = &ap_host_life;
	host->sv = sv;
	host->ses = &sv->ses;
	host->config = *config;
	if (!ap_is_stressed(host->ses->head,
			    AP_STRESS_SAMPLE)) /* that one's lane has no samplers */
		memcpy(host->lanes, host->ses->head->lanes, sizeof(host->lanes));
	host->buf = malloc(AP_HOST_BUF);
	machine = (const struct ap_machine *)host->ses->head->machine;
	core_config.absent = ap_machine_absent(machine);
	core_config.issue = machine->pipe.issue;
	core_config.cycles_mhz = machine->mhz;
	if (ap_is_stressed(host->ses->head, AP_STRESS_NARROW)) {
		core_config.pmc_width = AP_NARROW_BITS;
		core_config.pmc_bias = AP_NARROW_BIAS;
	}
	ap_host_now_init(host);
	ret = host->buf ? ap_core_new(&host->core, &ops, host, &core_config) : -ENOMEM;
	if (!ret)
		ret = ap_pmu_drivers_register(&host->drivers, host->core, ap_host_cpu());
	host->pubs = ap_session_part(host->ses, AP_PUB_OFF);
	if (ret) {
		ap_host_free(host);
		return ret;
	}
	host->ses->head->counters = config->counters;
	ap_host_limits_init(host, core_config.max_sample_rate, core_config.max_stack);
	*out = host;
	return 0;
}

void ap_host_configure(struct ap_host *host, const struct ap_host_config *config)
{
	struct ap_core_config *core = ap_core_config(host->core);
	const char *perfctr_cpu = host->config.perfctr_cpu;

	host->config = *config;
	if (!config->perfctr_cpu)
		host->config.perfctr_cpu = perfctr_cpu;
	core->paranoid = config->paranoid;
	core->counters = config->counters;
	core->user_only = config->user_only;
	core->max_sample_rate = max_sample_rate(config);
	core->only_frequencies_throttle = !config->max_sample_rate;
	ap_host_limits_init(host, core->max_sample_rate, core->max_stack);
	host->ses->head->counters = config->counters;
}

void ap_host_free(struct ap_host *host)
{
	if (!host)
		return;
	ap_host_gctr_fini(host);
	while (host->all_files)
		ap_host_file_free(host, host->all_files);
	while (host->tasks)
		ap_host_task_end(host, host->tasks);
	if (host->core)
		ap_core_free(host->core);
	for (u32 i = 0; i < AP_HOST_BUCKETS; i++)
		while (host->segs[i])
			ap_host_seg_ended(host, host->segs[i]->index);
	ap_host_files_fini(host);
	ap_host_diaries_fini(host);
	ap_host_samplers_fini(host);
	ap_host_cpus_fini(host);
	ap_host_trace_fini(host);
	for (u32 p = 1; p < AP_PARTY_MAX; p++)
		ap_host_party_ended(host, p);
	ap_host_pages_end(host, 0);
	free(host->buf);
	free(host);
}

bool ap_host_is_watching(const struct ap_host *host)
{
	return host->ntasks > 1;
}

u64 ap_host_tick(struct ap_host *host, u64 now)
{
	u64 files = ap_host_files_tick(host, now), cpus = ap_host_cpus_tick(host, now);
	u64 samplers = ap_host_samplers_tick(host, now), diaries = ap_host_diaries_tick(host, now);
	u64 cgroups = ap_host_cgroups_tick(host, now), kinds = ap_host_kinds_tick(host, now), next;
	u64 carries = ap_host_carries_tick(host, now);

	/*
	 * requests and moves may have made work for it: it is asked once, and not after each of
	 * them
	 */
	if (host->is_changed && now >= host->core_ns)
		host->is_idle = false;
	if (!host->is_idle && now >= host->core_ns) {
		host->is_changed = false;
		host->epoch++;
		next = ap_core_tick(host->core);
		host->is_idle = !next;
		host->core_ns = now + (next ? next : CORE_NS);
	}
	ap_host_let_go(host);
	next = host->is_idle && !host->is_changed ? 0
	       : host->core_ns > now		  ? host->core_ns - now
						  : 1;
	if (files && (!next || files < next))
		next = files;
	/* a task that may make no call of ours does not ring */
	if (host->sv->has_mute && (!next || next > MUTE_NS))
		next = MUTE_NS;
	if (cpus && (!next || cpus < next))
		next = cpus;
	if (cgroups && (!next || cgroups < next))
		next = cgroups;
	if (samplers && (!next || samplers < next))
		next = samplers;
	if (diaries && (!next || diaries < next))
		next = diaries;
	if (kinds && (!next || kinds < next))
		next = kinds;
	if (carries && (!next || carries < next))
		next = carries;
	return next;
}

void ap_host_each_fd(struct ap_host *host, void (*keep)(void *arg, int fd), void *arg)
{
	/* folders of the process that we are now; opened again when wanted */
	host->self_fds = host->fds = 0;
	for (struct ap_host_file *f = host->all_files; f; f = f->after) {
		if (f->ref >= 0)
			keep(arg, f->ref);
		if (f->writer >= 0)
			keep(arg, f->writer);
		if (f->kept >= 0)
			keep(arg, f->kept);
	}
	for (struct ap_host_task *t = host->tasks; t; t = t->next)
		for (u32 i = 0; i < AP_WORLD_N; i++)
			if (t->world_fd[i] >= 0)
				keep(arg, t->world_fd[i]);
	ap_host_diaries_each_fd(host, keep, arg);
	for (struct ap_host_task *t = host->tasks; t; t = t->next) {
		if (t->clock_fd >= 0)
			keep(arg, t->clock_fd);
		if (t->times_fd >= 0)
			keep(arg, t->times_fd);
		for (u32 i = 0; i < AP_PROMPT_N; i++)
			if (t->prompt_fd[i] >= 0)
				keep(arg, t->prompt_fd[i]);
	}
}
