/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "samplers.h"
#include "tap/tap.h"

static struct world *world_of(void *p)
{
	return p;
}

static void *w_alloc(void *p, u64 size)
{
	struct world *w = world_of(p);

	if (!w->allocs_left)
		return NULL;
	if (w->allocs_left > 0)
		w->allocs_left--;
	w->nr_allocs++;
	w->bytes += size;
	return calloc(1, size);
}

static void w_free(void *p, void *mem, u64 size)
{
	world_of(p)->nr_allocs--;
	world_of(p)->bytes -= size;
	free(mem);
}

static u64 w_clock(void *p)
{
	return world_of(p)->clock;
}

static u64 w_task_time(void *p, void *host)
{
	(void)p;
	return ((struct fake_task *)host)->time;
}

static u64 sum(const u64 *raw, u64 kinds)
{
	u64 total = 0;

	for (u32 k = 0; k < NKINDS; k++)
		if (kinds & AP_KIND_BIT(k))
			total += raw[k];
	return total;
}

static u64 w_raw(void *p, void *host, u64 kinds)
{
	world_of(p)->nr_raw_reads++;
	REQUIRE(!(kinds & ~world_of(p)->kinds));
	return sum(((struct fake_task *)host)->raw, kinds);
}

static u64 w_cpu_raw(void *p, s32 cpu, u64 kinds)
{
	if (world_of(p)->on_cpu_raw)
		world_of(p)->on_cpu_raw(world_of(p));
	return sum(world_of(p)->cpu_raw[cpu], kinds);
}

static int w_want_kinds(void *p, u64 kinds)
{
	if (kinds & AP_KIND_BIT(31))
		return -AP_ENODEV;
	world_of(p)->kinds = kinds;
	return 0;
}

static u32 w_ncpus(void *p)
{
	(void)p;
	return NCPUS;
}

static int w_find_task(void *p, struct ap_task *caller, s32 pid, struct ap_task **out)
{
	struct world *w = world_of(p);

	(void)caller;
	if (pid < 100 || pid >= 100 + NTASKS || !w->tasks[pid - 100].task)
		return -AP_ESRCH;
	*out = w->tasks[pid - 100].task;
	return 0;
}

static struct ap_event *w_event_of_fd(void *p, struct ap_task *caller, s32 fd)
{
	(void)caller;
	return fd < NFDS ? world_of(p)->fds[fd] : NULL;
}

static bool w_may_trace(void *p, struct ap_task *caller, struct ap_task *target)
{
	(void)caller;
	(void)target;
	return world_of(p)->may_trace;
}

static bool w_is_privileged(void *p, struct ap_task *caller)
{
	(void)caller;
	world_of(p)->nr_asked_who++;
	return world_of(p)->privileged;
}

/* Descriptors 500.. are cgroups 0.. */
static int w_cgroup_of_fd(void *p, struct ap_task *caller, s32 fd, struct ap_cgroup **out)
{
	(void)p;
	(void)caller;
	if (fd < 500)
		return -AP_EBADF;
	*out = (struct ap_cgroup *)(uintptr_t)(fd - 500 + 1);
	return 0;
}

static bool w_cgroup_has(void *p, struct ap_cgroup *cg, void *host)
{
	(void)p;
	return ((struct fake_task *)host)->cgroup + 1 == (int)(uintptr_t)cg;
}

static void w_publish(void *p, struct ap_event *event)
{
	struct ap_event_public pub;

	world_of(p)->nr_published++;
	ap_event_public(event, &pub);
	REQUIRE(pub.id == ap_event_id(event));
}

/* --- drivers */

static int cpu_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		    struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	(void)core;
	(void)pmu;
	(void)task;
	(void)cpu;
	if (attr->type == AP_PERF_TYPE_RAW) {
		if (!attr->config)
			return -AP_EINVAL;
		hw->kinds = attr->config & 0xffffffff;
		hw->constraint = attr->config1 ? attr->config1 : ~0ULL;
		return 0;
	}
	if (attr->type != AP_PERF_TYPE_HARDWARE || attr->config >> 32)
		return -AP_ENOENT;
	if (attr->config == AP_PERF_COUNT_HW_INSTRUCTIONS)
		hw->kinds = AP_KIND_BIT(AP_KIND_INSTR);
	else if (attr->config == AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
		hw->kinds = AP_KIND_BIT(AP_KIND_BRANCH);
	else
		return -AP_ENOENT;
	return 0;
}

static u32 cpu_counters(struct ap_core *core, struct ap_pmu *pmu)
{
	(void)pmu;
	return ap_core_config(core)->counters;
}

static int sw_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		   struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	(void)core;
	(void)pmu;
	(void)task;
	(void)cpu;
	if (attr->type != AP_PERF_TYPE_SOFTWARE ||
	    (attr->config != AP_PERF_COUNT_SW_TASK_CLOCK && attr->config != AP_PERF_COUNT_SW_DUMMY))
		return -AP_ENOENT;
	if (attr->sample_type & AP_PERF_SAMPLE_BRANCH_STACK)
		return -AP_EOPNOTSUPP;
	hw->which = attr->config;
	hw->sample_source = attr->config == AP_PERF_COUNT_SW_TASK_CLOCK ? (u32)AP_SAMPLE_CLOCK : 0;
	hw->never_overflows = attr->config == AP_PERF_COUNT_SW_DUMMY;
	return 0;
}

static u64 sw_now(struct ap_core *core, struct ap_task *task)
{
	void *world;
	const struct ap_core_ops *ops = ap_core_world(core, &world);

	return task ? ops->task_time(world, ap_task_host(task)) : ops->clock(world);
}

static int sw_start(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	void *world;

	(void)cpu;
	ap_core_world(core, &world);
	if (world_of(world)->refuse_start)
		return -AP_EAGAIN;
	if (world_of(world)->on_start)
		world_of(world)->on_start(world_of(world));
	hw->time_start = sw_now(core, task);
	return 0;
}

static u64 sw_read(struct ap_core *core, struct ap_hw_event *hw, struct ap_task *task, s32 cpu)
{
	(void)cpu;
	if (hw->which != AP_PERF_COUNT_SW_TASK_CLOCK)
		return 0;
	return sw_now(core, task) - hw->time_start;
}

static int bp_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		   struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	struct world *w = pmu->priv;

	(void)core;
	(void)task;
	(void)cpu;
	if (attr->type != AP_PERF_TYPE_BREAKPOINT)
		return -AP_ENOENT;
	if (attr->bp_type != AP_HW_BREAKPOINT_W)
		return -AP_EINVAL;
	if (w->bp_used == BP_SLOTS)
		return -AP_ENOSPC;
	w->bp_used++;
	hw->which = attr->config1;
	return 0;
}

static void bp_fini(struct ap_core *core, struct ap_hw_event *hw)
{
	void *world;

	(void)hw;
	ap_core_world(core, &world);
	REQUIRE(world_of(world)->bp_used);
	world_of(world)->bp_used--;
}

static int any_init(struct ap_core *core, struct ap_pmu *pmu, const struct ap_perf_attr *attr,
		    struct ap_task *task, s32 cpu, struct ap_hw_event *hw)
{
	(void)core;
	(void)task;
	(void)cpu;
	if (attr->type != pmu->type)
		return -AP_ENOENT;
	if (!(pmu->flags & AP_PMU_SOFTWARE))
		hw->kinds = AP_KIND_BIT(AP_KIND_RET);
	return 0;
}

static int dyn_filter(struct ap_core *core, struct ap_hw_event *hw, const char *filter)
{
	(void)core;
	hw->which = strlen(filter);
	return strcmp(filter, "bad") ? 0 : -AP_EINVAL;
}

static u32 other_counters(struct ap_core *core, struct ap_pmu *pmu)
{
	(void)core;
	(void)pmu;
	return 1;
}

/* --- life */

void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->privileged = true;
	w->allocs_left = -1;
	w->clock = 5000 * MS;
	w->kinds = AP_KINDS_BASE;
	w->ops = (struct ap_core_ops){
		.alloc = w_alloc,
		.free = w_free,
		.clock = w_clock,
		.task_time = w_task_time,
		.raw = w_raw,
		.cpu_raw = w_cpu_raw,
		.want_kinds = w_want_kinds,
		.ncpus = w_ncpus,
		.find_task = w_find_task,
		.event_of_fd = w_event_of_fd,
		.may_trace = w_may_trace,
		.is_privileged = w_is_privileged,
		.cgroup_of_fd = w_cgroup_of_fd,
		.cgroup_has = w_cgroup_has,
		.publish = w_publish,
	};
	samplers_init(w);
	w->config = (struct ap_core_config){
		.paranoid = 2,
		.max_sample_rate = 100000,
		.max_stack = 127,
		.regs = AP_PERF_REGS_X86_64,
		.has_user_stack = true,
	};
	w->sw = (struct ap_pmu){ .name = "software",
				 .type = AP_PERF_TYPE_SOFTWARE,
				 .flags = AP_PMU_SOFTWARE | AP_PMU_ANY_CLOCK,
				 .event_init = sw_init,
				 .start = sw_start,
				 .read = sw_read };
	w->cpu = (struct ap_pmu){ .name = "cpu",
				  .type = AP_PERF_TYPE_RAW,
				  .event_init = cpu_init,
				  .counters = cpu_counters };
	w->bp = (struct ap_pmu){ .name = "breakpoint",
				 .type = AP_PERF_TYPE_BREAKPOINT,
				 .flags = AP_PMU_SOFTWARE,
				 .event_init = bp_init,
				 .event_fini = bp_fini,
				 .priv = w };
	w->dyn = (struct ap_pmu){ .name = "dyn",
				  .flags = AP_PMU_SOFTWARE | AP_PMU_NO_EXCLUDE | AP_PMU_NO_SAMPLING,
				  .event_init = any_init,
				  .set_filter = dyn_filter };
	w->other = (struct ap_pmu){ .name = "other",
				    .event_init = any_init,
				    .counters = other_counters };
}

void world_start(struct world *w)
{
	struct ap_pmu *pmus[] = { &w->sw, &w->cpu, &w->bp, &w->dyn, &w->other };

	REQUIRE(!ap_core_new(&w->core, &w->ops, w, &w->config));
	for (u32 i = 0; i < AP_ARRAY_SIZE(pmus); i++)
		REQUIRE(!ap_core_register_pmu(w->core, pmus[i]));
}

void world_begin(struct world *w, u32 counters)
{
	world_init(w);
	w->config.counters = counters;
	world_start(w);
	world_task(w, 0);
}

void world_end(struct world *w)
{
	for (int fd = 0; fd < NFDS; fd++)
		if (w->fds[fd])
			world_close(w, fd);
	EXPECT_U64(w->bp_used, 0);
	EXPECT_U64(w->kinds, AP_KINDS_BASE);
	ap_core_free(w->core);
	samplers_end(w);
	EXPECT_U64(w->nr_allocs, 0);
	EXPECT_U64(w->bytes, 0);
}

struct ap_task *world_task(struct world *w, u32 n)
{
	struct fake_task *t = &w->tasks[n];
	struct ap_task_id id = { n + 100, n + 100 };

	if (!t->task) {
		REQUIRE(!ap_core_task_new(w->core, &id, t, &t->task));
		ap_core_task_on_cpu(w->core, t->task, t->cpu);
	}
	return t->task;
}

void world_run(struct world *w, u32 task, u64 ns, u64 n)
{
	struct fake_task *t = &w->tasks[task];

	w->clock += ns;
	t->time += ns;
	for (u32 k = 0; k < NKINDS; k++) {
		t->raw[k] += n * (k + 1);
		w->cpu_raw[t->cpu][k] += n * (k + 1);
	}
	samplers_run(w, t);
}

void world_exit(struct world *w, u32 task)
{
	ap_core_exit(w->core, w->tasks[task].task);
	w->tasks[task].task = NULL;
}

u32 world_fork(struct world *w, u32 parent, bool is_thread)
{
	u32 n = 1;

	while (n < NTASKS && w->tasks[n].task)
		n++;
	REQUIRE(n < NTASKS);
	/* its own clock and counters start somewhere else */
	memset(&w->tasks[n], 0, sizeof(w->tasks[n]));
	w->tasks[n].time = n * 1000;
	w->tasks[n].raw[0] = n * 77;
	w->tasks[n].cpu = w->tasks[parent].cpu;
	w->tasks[n].cgroup = w->tasks[parent].cgroup;
	REQUIRE(!ap_core_fork(w->core, world_task(w, parent), world_task(w, n), is_thread));
	return n;
}

void world_move(struct world *w, u32 task, s32 cpu)
{
	w->tasks[task].cpu = cpu;
	if (w->tasks[task].task)
		ap_core_task_on_cpu(w->core, w->tasks[task].task, cpu);
}

/* --- calls */

struct ap_perf_attr attr_kind(u32 kind, u64 counters)
{
	return (struct ap_perf_attr){ .type = AP_PERF_TYPE_RAW,
				      .size = sizeof(struct ap_perf_attr),
				      .config = AP_KIND_BIT(kind),
				      .config1 = counters,
				      .flags = AP_PERF_EXCLUDE_KERNEL };
}

struct ap_perf_attr attr_instr(void)
{
	return (struct ap_perf_attr){ .type = AP_PERF_TYPE_HARDWARE,
				      .size = sizeof(struct ap_perf_attr),
				      .config = AP_PERF_COUNT_HW_INSTRUCTIONS,
				      .flags = AP_PERF_EXCLUDE_KERNEL };
}

struct ap_perf_attr attr_task_clock(void)
{
	return (struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
				      .size = sizeof(struct ap_perf_attr),
				      .config = AP_PERF_COUNT_SW_TASK_CLOCK,
				      .flags = AP_PERF_EXCLUDE_KERNEL };
}

int open_as(struct world *w, u32 caller, const struct ap_perf_attr *attr, s32 pid, s32 cpu,
	    s32 group_fd, u64 flags)
{
	struct ap_open_args args = { attr, pid, cpu, group_fd, flags };
	int fd = 0, r;

	while (fd < NFDS && w->fds[fd])
		fd++;
	REQUIRE(fd < NFDS);
	r = ap_core_open(w->core, world_task(w, caller), &args, &w->fds[fd]);
	return r ? r : fd;
}

int world_open(struct world *w, const struct ap_perf_attr *attr, s32 pid, s32 cpu, s32 group_fd,
	       u64 flags)
{
	return open_as(w, 0, attr, pid, cpu, group_fd, flags);
}

int open_on(struct world *w, const struct ap_perf_attr *attr, s32 group_fd)
{
	int fd = world_open(w, attr, 0, -1, group_fd, 0);

	REQUIRE(fd >= 0);
	return fd;
}

int open_for(struct world *w, struct ap_perf_attr attr, s32 pid, s32 cpu)
{
	int fd = world_open(w, &attr, pid, cpu, -1, 0);

	REQUIRE(fd >= 0);
	return fd;
}

void world_close(struct world *w, int fd)
{
	ap_core_release(w->core, w->fds[fd]);
	w->fds[fd] = NULL;
}

s64 world_ioctl(struct world *w, int fd, u32 cmd, u64 arg)
{
	struct ap_ioctl_args args = { .cmd = cmd, .arg = arg };

	return ap_core_ioctl(w->core, w->tasks[0].task, w->fds[fd], &args);
}

s64 read_words(struct world *w, int fd, u64 *words, u32 n)
{
	return ap_core_read(w->core, w->fds[fd], words, n * 8);
}

u64 read_count(struct world *w, int fd)
{
	u64 words[4];

	REQUIRE(read_words(w, fd, words, 4) >= 8);
	return words[0];
}

void expect_reads(struct world *w, int line, int fd, u64 value, u64 enabled, u64 running)
{
	u64 got[3] = { 0 }, want[3] = { value, enabled, running };

	if (EXPECT_U64(read_words(w, fd, got, 3), 24) && EXPECT_MEM(got, want, sizeof(want)))
		return;
	tap_note("line %d: read %llu, %llu, %llu; want %llu, %llu, %llu", line,
		 (unsigned long long)got[0], (unsigned long long)got[1], (unsigned long long)got[2],
		 (unsigned long long)value, (unsigned long long)enabled,
		 (unsigned long long)running);
}
