/* SPDX-License-Identifier: MIT */
/*
 * The CPU of a perfctr state: a model of one CPU that its task has for itself, wherever the kernel
 * runs it.  Nobody hears of context switches, and none is needed: the task's raw counts stand still
 * while it does.  So the state stays on, and what the task has counted is fed into the model before
 * anybody looks at it.
 *
 * The core is told by events of our own (pmu/kinds.c): one that has the kinds counted, and one for
 * each counter that interrupts, whose period ends where the counter passes zero.  The thread stops
 * there and asks; its counts are exact then, and so is the period.
 */
#include <errno.h>
#include <string.h>

#include "linux/host/host_perfctr.h"

#define CHUNK	    (1ULL << 31) /* of events or ticks, within the 32 bits that drivers read */
#define MARK_EVENTS (1ULL << 28) /* instructions until a reader of a mapped page needs a new one */
#define DEFAULT_CPU "k8"

/*
 * No counter does so many between two looks, not in a week; what a damaged slot says beyond holds
 * up the session for a second at most, and is wrong anyway.
 */
#define MOST_EVENTS  (1ULL << 51)
#define KINDS_OF_ONE 4 /* of one event, about */

_Static_assert(AP_RAW_N == AP_KIND_N, "a model's kinds are raw counts");

const struct ap_x86model_family *ap_host_vctr_family(const struct ap_host *host)
{
	return ap_x86model_find(host->config.perfctr_cpu ? host->config.perfctr_cpu : DEFAULT_CPU);
}

/* Where the clock's rate cannot be known a tick is a nanosecond. */
u32 ap_host_vctr_khz(struct ap_host *host)
{
	ap_host_now_use(host);
	return host->clock_mult ? (u32)((1000000ULL << host->clock_shift) / host->clock_mult)
				: 1000000;
}

int ap_host_vctr_cpu_init(struct ap_host *host, struct ap_x86ctr *drv,
			  struct ap_x86ctr_cache *caches, struct ap_x86model *model,
			  struct ap_x86model_cpu *cpus, u32 ncpus)
{
	int ret;

	ap_x86model_init(model, ap_host_vctr_family(host), cpus, ncpus);
	ret = ap_x86ctr_init(drv, &ap_x86model_ops, model, caches, ncpus);
	if (!ret && ap_x86ctr_reserve(drv, "anyperf"))
		ret = -EBUSY;
	return ret;
}

/* --- feeding */

static u64 ticks_of(struct ap_host_vctr *p, struct ap_host_task *t)
{
	return (u64)((unsigned __int128)ap_host_task_time(p->host, t) * ap_host_vctr_khz(p->host) /
		     1000000);
}

void ap_host_vctr_start(struct ap_host_vctr *p, struct ap_host_task *t)
{
	memcpy(p->fed, ap_host_task_raw(p->host, t), sizeof(p->fed));
	p->fed_ticks = ticks_of(p, t);
}

static u64 part(u64 all, u64 i, u64 n)
{
	return (u64)((unsigned __int128)all * (i + 1) / n - (unsigned __int128)all * i / n);
}

void ap_host_vctr_step_most(struct ap_host_vctr_step *s, u64 delta)
{
	/* a sum of a few kinds stays within the 32 bits as well */
	u64 n = delta > MOST_EVENTS / KINDS_OF_ONE ? MOST_EVENTS : delta * KINDS_OF_ONE;

	if (n > s->most)
		s->most = n;
}

void ap_host_vctr_step(struct ap_host_vctr_step *s)
{
	u64 n = (s->most < MOST_EVENTS ? s->most : MOST_EVENTS) / CHUNK + 1,
	    kinds[AP_KIND_N] = { 0 };

	for (u64 i = 0; i < n; i++) {
		for (u32 k = 0; k < AP_KIND_N; k++)
			if (s->delta[k])
				kinds[k] = part(s->delta[k], i, n);
		ap_x86model_count(s->model, kinds, part(s->ticks, i, n));
		if (s->state && ap_ctr_cstatus_enabled(s->state->cstatus))
			ap_x86ctr_sample(s->drv, s->state);
	}
}

void ap_host_vctr_feed(struct ap_host_vctr *p)
{
	struct ap_host_task *t = ap_host_vctr_task(p);
	struct ap_host_vctr_step s = { .model = &p->model, .drv = &p->drv };
	const u64 *raw;
	u64 ticks;

	if (!t)
		return;
	raw = ap_host_task_raw(p->host, t);
	ticks = ticks_of(p, t);
	if (ticks < p->fed_ticks)
		ticks = p->fed_ticks; /* a clock that was read in another way */
	s.ticks = s.most = ticks - p->fed_ticks;
	for (u32 k = 0; k < AP_KIND_N; k++) {
		s.delta[k] = raw[k] - p->fed[k];
		if (p->keep_kinds >> k & 1)
			ap_host_vctr_step_most(&s, s.delta[k]);
	}
	memcpy(p->fed, raw, sizeof(p->fed));
	p->fed_ticks = ticks;
	s.state = p->v.is_on ? &p->v.cpu_state : NULL;
	ap_host_vctr_step(&s);
}

/* --- the core's part */

static int open_event(struct ap_host_vctr *p, u64 kinds, u64 period, struct ap_event **out)
{
	struct ap_host *host = p->host;
	struct ap_perf_attr attr = { .type = AP_PMU_KINDS,
				     .size = sizeof(attr),
				     .config = kinds,
				     .sample_period = period,
				     .flags = period ? AP_PERF_DISABLED : 0 };
	struct ap_open_args args = {
		.attr = &attr, .pid = ap_host_vctr_task(p)->tid, .cpu = -1, .group_fd = -1
	};
	struct ap_ioctl_args once = { .cmd = AP_PERF_IOC_REFRESH, .arg = 1 };
	int ret;

	host->drivers.host_opens = true;
	ret = ap_core_open(host->core, NULL, &args, out);
	host->drivers.host_opens = false;
	if (!ret && period)
		ret = (int)ap_core_ioctl(host->core, NULL, *out, &once);
	return ret;
}

static void close_marks(struct ap_host_vctr *p)
{
	while (p->nmarks)
		ap_core_release(p->host->core, p->marks[--p->nmarks]);
}

static int keep(struct ap_host_vctr *p, u64 kinds)
{
	struct ap_event *event;
	int ret;

	if (kinds == p->keep_kinds)
		return 0;
	ret = open_event(p, kinds, 0, &event);
	if (ret)
		return ret;
	if (p->keep)
		ap_core_release(p->host->core, p->keep);
	p->keep = event;
	p->keep_kinds = kinds;
	return 0;
}

static int mark(struct ap_host_vctr *p, u64 kinds, u64 period)
{
	int ret;

	for (u32 i = 0; i < p->nmarks; i++)
		if (p->mark_kinds[i] == kinds)
			return 0;
	ret = open_event(p, kinds, period, &p->marks[p->nmarks]);
	if (!ret)
		p->mark_kinds[p->nmarks++] = kinds;
	return ret;
}

/*
 * What counter i of the CPU counts for the state.  Registers that no control has can count as well,
 * on CPUs whose counters never stand still; nobody reads those, and nothing is to be counted for
 * them.
 */
static u64 counts(const struct ap_host_vctr *p, u32 i)
{
	const struct ap_x86ctr_state *s = &p->v.cpu_state;
	const char *why;

	for (u32 k = 0; k < ap_ctr_cstatus_nrctrs(s->cstatus); k++)
		if (ap_x86model_number(&p->model, s->pmc[k].map) == i)
			return ap_x86model_counts(&p->model, i, &why);
	return 0;
}

/*
 * Under a filter of system calls there is no new code, so what is not counted down already never
 * overflows.
 */
static int may_mark(struct ap_host_vctr *p, u64 kinds)
{
	const struct ap_host_seg *seg = ap_host_vctr_task(p)->seg;
	bool is_there;
	u32 lane;
	int ret;

	if (kinds & AP_KINDS_MODEL || !seg || !__atomic_load_n(&seg->head->mute, __ATOMIC_ACQUIRE))
		return 0;
	ret = ap_host_want_lane(p->host, kinds, &lane);
	if (ret)
		return ret;
	is_there = lane < __atomic_load_n(&seg->head->lanes_ack, __ATOMIC_ACQUIRE) &&
		   seg->head->lane_gen_ack == p->host->ses->head->lane_gen;
	ap_host_put_lane(p->host, lane);
	return is_there ? 0 : -EPERM;
}

/* The next overflow of a counter that interrupts; of those that share a kind the nearest. */
static int mark_counter(struct ap_host_vctr *p, u32 i)
{
	u64 kinds = counts(p, i), room;
	int ret;

	if (!kinds)
		return 0;
	room = ap_x86model_room(&p->model, (unsigned)__builtin_ctzll(kinds));
	if (room == ~0ULL)
		return 0;
	ret = may_mark(p, kinds);
	return ret ? ret : mark(p, kinds, room);
}

/*
 * A page has its mark while nothing counts as well: a control behind a filter of system calls finds
 * its lane in the code then.
 */
static int arm_marks(struct ap_host_vctr *p)
{
	u32 n = ap_x86ctr_nrctrs(&p->drv);
	int ret = 0;

	if (ap_ctr_cstatus_has_ictrs(p->v.cpu_state.cstatus))
		for (u32 i = 0; !ret && i < n; i++)
			ret = mark_counter(p, i);
	if (!ret && p->is_mapped)
		ret = mark(p, AP_KIND_BIT(AP_KIND_INSTR), MARK_EVENTS);
	return ret;
}

int ap_host_vctr_arm(struct ap_host_vctr *p)
{
	u64 kinds = AP_KIND_BIT(AP_KIND_INSTR);
	u32 n = ap_x86ctr_nrctrs(&p->drv);
	int ret;

	close_marks(p);
	for (u32 i = 0; i < n; i++)
		kinds |= counts(p, i);
	ret = keep(p, kinds);
	if (!ret)
		ret = arm_marks(p);
	ap_host_task_order(ap_host_vctr_task(p));
	ap_host_spread_kinds(p->host, p->host->asker ? p->host->asker->seg->index : UINT32_MAX);
	return ret;
}

void ap_host_vctr_disarm(struct ap_host_vctr *p)
{
	close_marks(p);
	if (p->keep)
		ap_core_release(p->host->core, p->keep);
	p->keep = NULL;
	p->keep_kinds = 0;
}

/* --- what programs read themselves */

/*
 * The page as perfctr's programs know it.  Its clock starts now: they add the CPU's own time
 * stamps.  A CPU without rdpmc must not say that there is a clock: 64-bit libraries take that for
 * leave to use it.
 */
static void write_page(const struct ap_host_vctr *p)
{
	struct ap_x86ctr_state *page = (struct ap_x86ctr_state *)(p->host->pages.area + p->page_at);
	struct ap_x86ctr_state s = p->v.cpu_state;

	if (ap_ctr_cstatus_has_tsc(s.cstatus))
		s.tsc_start = (u32)__builtin_ia32_rdtsc();
	if (!(p->drv.ctr.features & AP_CTR_FEATURE_RDPMC))
		s.cstatus &= 0x7fffffff;
	memcpy(page, &s, offsetof(struct ap_x86ctr_state, control));
}

static void fill_pmcs(const struct ap_host_vctr *p, struct ap_pmcs *to)
{
	const struct ap_host_task *t = ap_host_vctr_task(p);
	u32 n = ap_x86ctr_nrctrs(&p->drv);

	ap_x86model_pmc_shape(&p->model, to);
	for (u32 i = 0; i < n && i < AP_PMCS_MAX; i++) {
		u64 kinds = counts(p, i);

		to->of[i].kinds = kinds;
		to->of[i].base = ap_x86model_counter(&p->model, i);
		for (u32 k = 0; k < AP_KIND_N; k++)
			if (kinds >> k & 1)
				to->of[i].base += t->carried[k] - p->fed[k];
	}
}

static void write_pmcs(const struct ap_host_vctr *p)
{
	const struct ap_host_task *t = ap_host_vctr_task(p);
	struct ap_pmcs now, *at;

	if (!t || !ap_host_task_is_in_slot(t))
		return;
	at = &ap_host_slot(t->seg, t->slot)->pmcs;
	memset(&now, 0, sizeof(now));
	if (p->drv.ctr.features & AP_CTR_FEATURE_RDPMC)
		fill_pmcs(p, &now);
	now.seq = (at->seq | 1) + 1;
	__atomic_store_n(&at->seq, at->seq | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(&at->n, &now.n, sizeof(now) - offsetof(struct ap_pmcs, n));
	__atomic_store_n(&at->seq, now.seq, __ATOMIC_RELEASE);
}

void ap_host_vctr_publish(struct ap_host_vctr *p)
{
	write_page(p);
	write_pmcs(p);
}
