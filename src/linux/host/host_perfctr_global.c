/* SPDX-License-Identifier: MIT */
/*
 * perfctr's global counters: those of CPUs, whoever runs there.  There is one set of them in a
 * session, with a model and a driver of as many CPUs as the machine has; states of threads have
 * CPUs of their own, and neither disturbs the other.  What a CPU has counted is host_cpu.c's
 * answer, so that the sum over CPUs is the session's total.
 *
 * CONTROL says what a CPU is to count, START begins with all that have something, and STOP ends it:
 * then controls are gone, and sums can be read until the next CONTROL.  docs/design/perfctr.md,
 * "Global counters".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/proc.h"
#include "linux/host/host_perfctr.h"
#include "linux/task/now.h"

#define LEAST_USEC 10000 /* between two samples; 0: none, but when somebody reads */

struct cpu {
	struct ap_x86ctr_state state;
	struct ap_event *keep; /* has the core count the state's kinds on it */
	u64 kinds;
	u64 fed[AP_RAW_N]; /* of the CPU's raw counts, so much is in the registers */
};

struct ap_host_gctr {
	struct ap_x86ctr drv;
	struct ap_x86model model;
	struct ap_x86ctr_cache *caches;
	struct ap_x86model_cpu *cpus;
	struct cpu *of;
	u32 ncpus;
	bool is_on;
	u64 fed_ns; /* the clock in the registers */
};

static void give_back(struct ap_host_gctr *g)
{
	free(g->caches);
	free(g->cpus);
	free(g->of);
	free(g);
}

static int use(struct ap_host *host, struct ap_host_gctr **out)
{
	struct ap_host_gctr *g = host->gctr;
	int ret;

	*out = g;
	if (g)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->ncpus = ap_host_count_cpus();
	g->caches = calloc(g->ncpus, sizeof(*g->caches));
	g->cpus = calloc(g->ncpus, sizeof(*g->cpus));
	g->of = calloc(g->ncpus, sizeof(*g->of));
	ret = g->caches && g->cpus && g->of ? 0 : -ENOMEM;
	if (!ret) {
		ap_x86model_init(&g->model, ap_host_vctr_family(host), g->cpus, g->ncpus);
		ret = ap_x86ctr_init(&g->drv, &ap_x86model_ops, &g->model, g->caches, g->ncpus);
	}
	if (ret) {
		give_back(g);
		return ret;
	}
	*out = host->gctr = g;
	return 0;
}

static bool is_enabled(const struct cpu *c)
{
	return ap_ctr_cstatus_enabled(c->state.cstatus);
}

static u32 active(const struct ap_host_gctr *g)
{
	u32 n = 0;

	for (u32 i = 0; i < g->ncpus; i++)
		n += is_enabled(&g->of[i]);
	return n;
}

/* --- counting */

static u64 raw_of(struct ap_host *host, u32 cpu, u32 kind)
{
	return ap_host_cpu_raw(host, (s32)cpu, AP_KIND_BIT(kind));
}

static void feed_cpu(struct ap_host *host, u32 i, u64 ticks)
{
	struct ap_host_gctr *g = host->gctr;
	struct cpu *c = &g->of[i];
	struct ap_host_vctr_step step = { .model = &g->model,
					  .drv = &g->drv,
					  .state = &c->state,
					  .ticks = ticks,
					  .most = ticks };

	g->model.cpu = i;
	for (u32 k = 0; k < AP_RAW_N; k++) {
		u64 raw;

		if (!(c->kinds >> k & 1))
			continue;
		raw = raw_of(host, i, k);
		if (raw < c->fed[k])
			continue; /* was seen elsewhere meanwhile; it comes back */
		step.delta[k] = raw - c->fed[k];
		c->fed[k] = raw;
		ap_host_vctr_step_most(&step, step.delta[k]);
	}
	ap_host_vctr_step(&step);
}

static void feed(struct ap_host *host)
{
	struct ap_host_gctr *g = host->gctr;
	u64 now = ap_now_ns(), ns = now - g->fed_ns;
	u64 ticks = (u64)((unsigned __int128)ns * ap_host_vctr_khz(host) / 1000000);

	g->fed_ns = now;
	for (u32 i = 0; i < g->ncpus; i++)
		if (is_enabled(&g->of[i]))
			feed_cpu(host, i, ticks);
}

static u64 kinds_of(const struct ap_host_gctr *g, const struct cpu *c)
{
	u64 kinds = AP_KIND_BIT(AP_KIND_INSTR);
	const char *why;

	for (u32 k = 0; k < ap_ctr_cstatus_nrctrs(c->state.cstatus); k++)
		kinds |= ap_x86model_counts(
			&g->model, ap_x86model_number(&g->model, c->state.pmc[k].map), &why);
	return kinds;
}

/*
 * As an event of the CPU that the caller opens: a caller that may not have that may not have this.
 */
static int keep(struct ap_host *host, struct ap_host_task *caller, u32 i)
{
	struct cpu *c = &host->gctr->of[i];
	struct ap_perf_attr attr = { .type = AP_PMU_KINDS,
				     .size = sizeof(attr),
				     .config = c->kinds };
	struct ap_open_args args = { .attr = &attr, .pid = -1, .cpu = (s32)i, .group_fd = -1 };
	int ret;

	host->drivers.host_opens = true;
	ret = ap_core_open(host->core, caller->core, &args, &c->keep);
	host->drivers.host_opens = false;
	return ret == -EACCES ? -EPERM : ret;
}

static void stop(struct ap_host *host)
{
	struct ap_host_gctr *g = host->gctr;

	for (u32 i = 0; i < g->ncpus; i++) {
		struct cpu *c = &g->of[i];

		g->model.cpu = i;
		if (g->is_on && is_enabled(c))
			ap_x86ctr_suspend(&g->drv, &c->state);
		c->state.cstatus = 0;
		if (c->keep)
			ap_core_release(host->core, c->keep);
		c->keep = NULL;
	}
	g->is_on = false;
	ap_x86ctr_release(&g->drv, "global");
	if (!--host->ncpu_files)
		ap_host_cpus_fini(host);
}

static int start_cpu(struct ap_host *host, struct ap_host_task *caller, u32 i)
{
	struct ap_host_gctr *g = host->gctr;
	struct cpu *c = &g->of[i];

	g->model.cpu = i;
	ap_x86ctr_resume(&g->drv, &c->state);
	c->kinds = kinds_of(g, c);
	return keep(host, caller, i);
}

/* What was counted by now is of the time before; CPUs begin when all is ready. */
static int start(struct ap_host *host, struct ap_host_task *caller)
{
	struct ap_host_gctr *g = host->gctr;
	int ret = ap_host_cpus_use(host, ap_host_count_cpus());

	if (ret)
		return ret;
	host->ncpu_files++;
	(void)!ap_x86ctr_reserve(&g->drv, "global");
	g->is_on = true;
	for (u32 i = 0; !ret && i < g->ncpus; i++)
		if (is_enabled(&g->of[i]))
			ret = start_cpu(host, caller, i);
	if (ret) {
		stop(host);
		return ret;
	}
	ap_host_know_all(host);
	ap_host_spread_kinds(host, caller->seg ? caller->seg->index : UINT32_MAX);
	for (u32 i = 0; i < g->ncpus; i++)
		for (u32 k = 0; k < AP_RAW_N; k++)
			if (g->of[i].kinds >> k & 1)
				g->of[i].fed[k] = raw_of(host, i, k);
	g->fed_ns = ap_now_ns();
	return 0;
}

/* --- the ioctls */

static s64 control(struct ap_host *host, const struct ap_svc *svc)
{
	struct ap_host_gctr *g;
	struct ap_gctr_control c;
	struct ap_x86ctr_state *state;
	int ret = ap_ctr_decode(&ap_ctr_layout_gcontrol, (const u32 *)svc->data, svc->in_size / 4,
				&c);

	if (!ret)
		ret = use(host, &g);
	if (ret)
		return ret;
	if (c.cpu >= g->ncpus)
		return -EINVAL;
	if (c.cpu_control.nrictrs)
		return -EPERM;
	if (g->is_on)
		return -EBUSY;
	state = &g->of[c.cpu].state;
	memset(state, 0, sizeof(*state));
	state->control = c.cpu_control;
	if (!c.cpu_control.tsc_on && !c.cpu_control.nractrs)
		return (s64)active(g); /* nothing there any more */
	ret = ap_x86ctr_update_control(&g->drv, state, 1);
	return ret ? ret : (s64)active(g);
}

static s64 begin(struct ap_host *host, struct ap_host_task *caller, u32 usec)
{
	struct ap_host_gctr *g;
	int ret;

	if (usec && usec < LEAST_USEC)
		return -EINVAL;
	ret = use(host, &g);
	if (!ret && !g->is_on && active(g))
		ret = start(host, caller);
	return ret ? ret : (s64)active(g);
}

static s64 end(struct ap_host *host)
{
	struct ap_host_gctr *g = host->gctr;

	if (!g)
		return 0;
	if (g->is_on) {
		feed(host);
		stop(host);
		return 0;
	}
	for (u32 i = 0; i < g->ncpus; i++)
		g->of[i].state.cstatus = 0;
	return 0;
}

static s64 read_cpu(struct ap_host *host, struct ap_svc *svc)
{
	const struct ap_x86ctr_state *state;
	struct ap_host_gctr *g;
	struct ap_gctr_state out;
	u32 words = svc->arg[3] < AP_SVC_DATA_MAX / 4 ? (u32)svc->arg[3] : AP_SVC_DATA_MAX / 4;
	s32 n = ap_ctr_decode(&ap_ctr_layout_gcpu, (const u32 *)svc->data, svc->in_size / 4, &out);

	if (!n)
		n = use(host, &g);
	if (n)
		return n;
	if (out.cpu >= g->ncpus)
		return -EINVAL;
	if (g->is_on)
		feed(host);
	state = &g->of[out.cpu].state;
	out.cpu_control = state->control;
	out.sum.tsc = state->tsc_sum;
	for (u32 i = 0; i < AP_X86CTR_MAX; i++)
		out.sum.pmc[i] = state->pmc[i].sum;
	n = ap_ctr_encode(&ap_ctr_layout_gstate, &out, (u32 *)svc->data, words);
	if (n < 0)
		return n;
	svc->out_size = (u32)n * 4;
	return 0;
}

s64 ap_host_gctr_serve(struct ap_host *host, struct ap_host_task *caller, struct ap_svc *svc)
{
	switch ((u32)svc->arg[1]) {
	case AP_GPERFCTR_CONTROL:
		return control(host, svc);
	case AP_GPERFCTR_READ:
		return read_cpu(host, svc);
	case AP_GPERFCTR_START:
		return begin(host, caller, (u32)svc->arg[2]);
	case AP_GPERFCTR_STOP:
		return end(host);
	default:
		return -EINVAL;
	}
}

void ap_host_gctr_fini(struct ap_host *host)
{
	if (!host->gctr)
		return;
	if (host->gctr->is_on)
		stop(host);
	give_back(host->gctr);
	host->gctr = NULL;
}
