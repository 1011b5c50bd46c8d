/* SPDX-License-Identifier: MIT */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "abi/errno.h"

const struct ap_core_ops *ap_core_world(struct ap_core *core, void **world)
{
	*world = core;
	return &core->ops;
}

struct ap_core_config *ap_core_config(struct ap_core *core)
{
	return &core->config;
}

int ap_core_register_pmu(struct ap_core *core, struct ap_pmu *pmu)
{
	core->pmu[core->npmu++] = pmu;
	return 0;
}

void *ap_task_host(const struct ap_task *task)
{
	return (void *)task;
}

struct ap_task_id ap_task_id(const struct ap_task *task)
{
	return task->id;
}

static void *fake_alloc(void *world, u64 size)
{
	((struct ap_core *)world)->allocated += size;
	return calloc(1, size);
}

static void fake_free(void *world, void *p, u64 size)
{
	((struct ap_core *)world)->allocated -= size;
	free(p);
}

static u64 fake_clock(void *world)
{
	return ((struct ap_core *)world)->clock;
}

static u64 fake_time(void *world, void *host)
{
	(void)world;
	return ((struct ap_task *)host)->time;
}

static u64 sum(const struct ap_task *t, u64 kinds)
{
	u64 v = 0;
	u32 k;

	for (k = 0; k < AP_KIND_N; k++)
		v += kinds & AP_KIND_BIT(k) ? t->raw[k] : 0;
	return v;
}

static u64 fake_raw(void *world, void *host, u64 kinds)
{
	(void)world;
	return sum(host, kinds);
}

static u64 fake_cpu_raw(void *world, s32 cpu, u64 kinds)
{
	return sum(&((struct ap_core *)world)->on_cpu[cpu], kinds);
}

static int fake_want(void *world, u64 kinds)
{
	struct ap_core *core = world;

	if (kinds & core->refused)
		return -AP_EOPNOTSUPP;
	core->wanted |= kinds;
	return 0;
}

static struct ap_task *whose(struct ap_core *core, void *host, s32 cpu)
{
	return host ? host : &core->on_cpu[cpu];
}

static int fake_counter(void *world, void *host, s32 cpu, enum ap_world_counter which, u64 *v)
{
	struct ap_core *core = world;

	if (core->unknown & 1u << which)
		return -AP_EOPNOTSUPP;
	*v = whose(core, host, cpu)->counter[which];
	return 0;
}

static u32 fake_ncpus(void *world)
{
	(void)world;
	return FAKE_CPUS;
}

static int fake_arm(void *world, void *host, s32 cpu, const struct ap_world_bp *bp, u64 *watch)
{
	struct ap_core *core = world;

	(void)host;
	(void)cpu;
	core->armed = *bp;
	core->hits = 0;
	core->narmed++;
	*watch = 77;
	return 0;
}

static u64 fake_count(void *world, u64 watch)
{
	return watch == 77 ? ((struct ap_core *)world)->hits : ~0ULL;
}

static void fake_disarm(void *world, u64 watch)
{
	((struct ap_core *)world)->narmed -= watch == 77;
}

static int fake_trace(void *world, void *host, s32 cpu, u32 id, u64 *v)
{
	*v = whose(world, host, cpu)->trace[id];
	return 0;
}

void fake_init(struct ap_core *core, enum ap_cpu cpu)
{
	memset(core, 0, sizeof(*core));
	core->ops = (struct ap_core_ops){
		.alloc = fake_alloc,
		.free = fake_free,
		.clock = fake_clock,
		.task_time = fake_time,
		.raw = fake_raw,
		.cpu_raw = fake_cpu_raw,
		.want_kinds = fake_want,
		.world_counter = fake_counter,
		.ncpus = fake_ncpus,
		.bp_arm = fake_arm,
		.bp_count = fake_count,
		.bp_disarm = fake_disarm,
		.trace_count = fake_trace,
	};
	if (ap_pmu_drivers_register(&core->drivers, core, cpu))
		abort();
}

int fake_open(struct ap_core *core, const struct ap_perf_attr *attr, struct ap_task *task, s32 cpu,
	      struct ap_hw_event *hw, struct ap_pmu **pmu)
{
	u32 i;
	int err;

	for (i = 0; i < core->npmu; i++) {
		memset(hw, 0, sizeof(*hw));
		err = core->pmu[i]->event_init(core, core->pmu[i], attr, task, cpu, hw);
		if (err != -AP_ENOENT) {
			*pmu = core->pmu[i];
			return err;
		}
	}
	return -AP_ENOENT;
}
