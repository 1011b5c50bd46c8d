/* SPDX-License-Identifier: MIT */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "abi/errno.h"
#include "tap/tap.h"

static void *fake_alloc(void *world, u64 size)
{
	((struct fake *)world)->allocated += size;
	return calloc(1, size);
}

static void fake_free(void *world, void *p, u64 size)
{
	((struct fake *)world)->allocated -= size;
	free(p);
}

static u64 fake_clock(void *world)
{
	return ((struct fake *)world)->clock;
}

static u64 fake_time(void *world, void *host)
{
	(void)world;
	return ((struct fake_host *)host)->time;
}

static u64 sum(const struct fake_host *h, u64 kinds)
{
	u64 v = 0;
	u32 k;

	for (k = 0; k < AP_KIND_N; k++)
		v += kinds & AP_KIND_BIT(k) ? h->raw[k] : 0;
	return v;
}

static u64 fake_raw(void *world, void *host, u64 kinds)
{
	(void)world;
	return sum(host, kinds);
}

static u64 fake_cpu_raw(void *world, s32 cpu, u64 kinds)
{
	return sum(&((struct fake *)world)->on_cpu[cpu], kinds);
}

static int fake_want(void *world, u64 kinds)
{
	return kinds & ((struct fake *)world)->refused ? -AP_EOPNOTSUPP : 0;
}

static struct fake_host *whose(struct fake *f, void *host, s32 cpu)
{
	return host ? host : &f->on_cpu[cpu];
}

static int fake_counter(void *world, void *host, s32 cpu, enum ap_world_counter which, u64 *v)
{
	struct fake *f = world;

	if (f->unknown & 1u << which)
		return -AP_EOPNOTSUPP;
	*v = whose(f, host, cpu)->counter[which];
	return 0;
}

static u32 fake_ncpus(void *world)
{
	(void)world;
	return FAKE_CPUS;
}

static int fake_find(void *world, struct ap_task *caller, s32 pid, struct ap_task **out)
{
	(void)caller;
	(void)pid;
	*out = ((struct fake *)world)->task;
	return 0;
}

static struct ap_event *fake_event_of(void *world, struct ap_task *caller, s32 fd)
{
	(void)world;
	(void)caller;
	(void)fd;
	return NULL;
}

static bool fake_may(void *world, struct ap_task *caller, struct ap_task *target)
{
	(void)world;
	return caller == target;
}

static bool fake_privileged(void *world, struct ap_task *caller)
{
	(void)world;
	(void)caller;
	return true;
}

static int fake_arm(void *world, void *host, s32 cpu, const struct ap_world_bp *bp, u64 *watch)
{
	struct fake *f = world;

	(void)host;
	(void)cpu;
	f->armed = *bp;
	f->hits = 0;
	f->narmed++;
	*watch = 77;
	return 0;
}

static u64 fake_count(void *world, u64 watch)
{
	return watch == 77 ? ((struct fake *)world)->hits : ~0ULL;
}

static void fake_disarm(void *world, u64 watch)
{
	((struct fake *)world)->narmed -= watch == 77;
}

static void fake_no_data(void *world)
{
	((struct fake *)world)->no_data++;
}

static int fake_trace(void *world, void *host, s32 cpu, u32 id, u64 *v)
{
	*v = whose(world, host, cpu)->trace[id];
	return 0;
}

static int fake_filter(void *world, const struct ap_trace_filter *filter, u32 *id)
{
	struct fake *f = world;

	if (f->no_filter)
		return f->no_filter;
	f->filter = *filter;
	*id = AP_TRACE_FILTERED + f->nr_filters++;
	return 0;
}

static void fake_unfilter(void *world, u32 id)
{
	struct fake *f = world;

	EXPECT(ap_trace_filter_number(id) < f->nr_filters);
	f->nr_filters--;
}

void fake_prepare(struct fake *f)
{
	memset(f, 0, sizeof(*f));
	f->config = (struct ap_core_config){
		.paranoid = 2,
		.user_only = true,
		.max_sample_rate = 100000,
		.max_stack = 127,
	};
	f->ops = (struct ap_core_ops){
		.alloc = fake_alloc,
		.free = fake_free,
		.clock = fake_clock,
		.task_time = fake_time,
		.raw = fake_raw,
		.cpu_raw = fake_cpu_raw,
		.want_kinds = fake_want,
		.world_counter = fake_counter,
		.ncpus = fake_ncpus,
		.find_task = fake_find,
		.event_of_fd = fake_event_of,
		.may_trace = fake_may,
		.is_privileged = fake_privileged,
		.bp_arm = fake_arm,
		.bp_count = fake_count,
		.bp_disarm = fake_disarm,
		.bp_no_data = fake_no_data,
		.trace_count = fake_trace,
		.trace_filter = fake_filter,
		.trace_unfilter = fake_unfilter,
	};
}

static int f_want_lane(void *world, u64 kinds, u32 *lane)
{
	(void)world;
	*lane = (u32)__builtin_ctzll(kinds);
	return 0;
}

static int f_sampler_new(void *world, void *host, struct ap_event *event, struct ap_sampler **out)
{
	struct fake *f = world;

	(void)host;
	(void)event;
	memset(&f->samplers[f->nr_samplers], 0, sizeof(f->samplers[0]));
	*out = &f->samplers[f->nr_samplers++].s;
	return 0;
}

static void f_sampler_link(void *world, void *host, struct ap_sampler *s)
{
	(void)world;
	(void)host;
	(void)s;
}

/* The last one made is the first to go. */
static void f_sampler_free(void *world, void *host, struct ap_sampler *s)
{
	(void)host;
	EXPECT(s == &((struct fake *)world)->samplers[--((struct fake *)world)->nr_samplers].s);
}

static void f_sampler_lock(void *world, void *host)
{
	(void)world;
	(void)host;
}

static void f_sampler_unlock(void *world, void *host, bool kick)
{
	(void)world;
	(void)host;
	(void)kick;
}

static u64 f_sampler_value(void *world, void *host, const struct ap_sampler *s)
{
	(void)world;
	(void)host;
	(void)s;
	return 0;
}

static u32 f_bp_place(void *world, u64 watch)
{
	(void)world;
	return (u32)watch + 7;
}

void fake_sampling(struct fake *f)
{
	f->ops.want_lane = f_want_lane;
	f->ops.sampler_new = f_sampler_new;
	f->ops.sampler_link = f_sampler_link;
	f->ops.sampler_free = f_sampler_free;
	f->ops.sampler_lock = f_sampler_lock;
	f->ops.sampler_unlock = f_sampler_unlock;
	f->ops.sampler_value = f_sampler_value;
	f->ops.bp_place = f_bp_place;
}

void fake_start(struct fake *f, enum ap_cpu cpu)
{
	static const struct ap_task_id id = { 100, 100 };

	REQUIRE(!ap_core_new(&f->core, &f->ops, f, &f->config));
	REQUIRE(!ap_pmu_drivers_register(&f->drivers, f->core, cpu));
	REQUIRE(!ap_core_task_new(f->core, &id, &f->host, &f->task));
}

void fake_end(struct fake *f)
{
	EXPECT_U64(f->narmed, 0);
	EXPECT(!f->drivers.slots);
	ap_core_free(f->core);
	EXPECT_U64(f->allocated, 0);
}

int fake_open(struct fake *f, const struct ap_perf_attr *attr, s32 pid, s32 cpu,
	      struct ap_event **out)
{
	struct ap_open_args args = { .attr = attr, .pid = pid, .cpu = cpu, .group_fd = -1 };

	return ap_core_open(f->core, f->task, &args, out);
}

void fake_enable(struct fake *f, struct ap_event *e, bool on)
{
	struct ap_ioctl_args args = { .cmd = on ? AP_PERF_IOC_ENABLE : AP_PERF_IOC_DISABLE };

	EXPECT_U64(ap_core_ioctl(f->core, f->task, e, &args), 0);
}

u64 fake_read(struct fake *f, struct ap_event *e)
{
	u64 v = ~0ULL;

	EXPECT_U64(ap_core_read(f->core, e, &v, sizeof(v)), sizeof(v));
	return v;
}

void fake_close(struct fake *f, struct ap_event *e)
{
	ap_core_release(f->core, e);
}
