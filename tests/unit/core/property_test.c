/* SPDX-License-Identifier: MIT */
/*
 * Random opens, closes, switches, forks, execs, exits, moves, runs, ticks and reads, against a model
 * that knows nothing of contexts: whenever a task runs, an event that ought to count gets what was
 * counted, if it is on its PMU.  Where counters are short the model does not say who is on, so
 * there bounds are held instead: counts only grow, running <= enabled, and a group's members agree.
 */
/* LONG: --long */
#include <string.h>

#include "tap/tap.h"
#include "world.h"

#define EVENTS 24

struct model_clone {
	bool used, enabled;
	u32 task;
};

struct model_event {
	int fd; /* 0 none */
	u32 kind, task;
	int leader; /* index of its leader, -1: itself */
	bool inherit, ended, enabled;
	struct model_clone clones[NTASKS];
	u64 count, time;		      /* what it must read: everything fits */
	u64 seen, seen_enabled, seen_running; /* by the last read */
};

static struct world W;
static struct model_event M[EVENTS];
static bool alive[NTASKS];
static u64 rng;

static u32 rnd(u32 n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (u32)(rng >> 20) % n;
}

static struct model_event *leader_of(struct model_event *m)
{
	return m->leader < 0 ? m : &M[m->leader];
}

static u32 some_task(void)
{
	u32 n;

	do
		n = rnd(NTASKS);
	while (!alive[n]);
	return n;
}

/* --- steps; each does the same to the core and to the model */

static void step_open(void)
{
	struct ap_perf_attr a;
	struct model_event *m;
	int i = 0, l = -1, fd;
	u32 task = some_task();
	u64 fits;

	while (i < EVENTS && M[i].fd)
		i++;
	if (i == EVENTS)
		return;
	m = &M[i];
	memset(m, 0, sizeof(*m));
	m->kind = rnd(4);
	fits = rnd(3) ? 0 : 1 + rnd(7);
	a = attr_kind(m->kind, fits);
	m->inherit = rnd(2);
	if (rnd(2)) {
		l = rnd(EVENTS);
		if (!M[l].fd || M[l].leader >= 0 || M[l].ended || M[l].inherit != m->inherit)
			l = -1;
		else
			task = M[l].task;
		/* clones of the leader that are there would not fit its group any more */
		for (u32 t = 0; l >= 0 && t < NTASKS; t++)
			if (M[l].clones[t].used)
				l = -1;
	}
	m->leader = l;
	m->task = task;
	m->enabled = rnd(2);
	a.read_format = 3;
	a.flags |= (m->inherit ? AP_PERF_INHERIT : 0) | (m->enabled ? 0 : AP_PERF_DISABLED);
	fd = open_as(&W, task, &a, 0, -1, l < 0 ? -1 : M[l].fd - 1, 0);
	if (fd < 0) {
		EXPECT_U64(fd, -AP_EINVAL); /* a group that cannot fit */
		EXPECT(W.config.counters);
		return;
	}
	m->fd = fd + 1;
}

static struct model_event *some_event(void)
{
	for (u32 tries = 0; tries < 8; tries++) {
		u32 i = rnd(EVENTS);

		if (M[i].fd)
			return &M[i];
	}
	return NULL;
}

static void step_close(void)
{
	struct model_event *m = some_event();

	if (!m)
		return;
	world_close(&W, m->fd - 1);
	for (u32 i = 0; i < EVENTS; i++)
		if (M[i].fd && M[i].leader == m - M)
			M[i].leader = -1;
	m->fd = 0;
}

static void step_switch(void)
{
	struct model_event *m = some_event();
	bool on = rnd(2), group = rnd(4) == 0;

	if (!m)
		return;
	EXPECT_U64(world_ioctl(&W, m->fd - 1, on ? AP_PERF_IOC_ENABLE : AP_PERF_IOC_DISABLE, group),
		   0);
	for (u32 i = 0; i < EVENTS; i++) {
		struct model_event *e = &M[i];

		if (!e->fd || !(e == m || (group && leader_of(e) == leader_of(m))))
			continue;
		e->enabled = on;
		for (u32 t = 0; t < NTASKS; t++)
			e->clones[t].enabled = on;
	}
}

static void step_fork(void)
{
	u32 parent = some_task(), child, n = 0;

	for (u32 t = 0; t < NTASKS; t++)
		n += alive[t];
	if (n > 12)
		return;
	child = world_fork(&W, parent, rnd(2));
	alive[child] = true;
	for (u32 i = 0; i < EVENTS; i++) {
		struct model_event *m = &M[i];
		bool of_parent = m->task == parent && !m->ended;

		if (!m->fd)
			continue;
		m->clones[child].used = false;
		if (!m->inherit || !(of_parent || m->clones[parent].used))
			continue;
		m->clones[child].used = true;
		m->clones[child].enabled = of_parent ? m->enabled : m->clones[parent].enabled;
	}
}

static void step_exit(void)
{
	u32 task = some_task();

	if (!task)
		return; /* it is who calls */
	world_exit(&W, task);
	alive[task] = false;
	for (u32 i = 0; i < EVENTS; i++) {
		M[i].clones[task].used = false;
		if (M[i].fd && M[i].task == task && !M[i].ended)
			M[i].ended = true;
	}
}

static bool counts_in(struct model_event *m, u32 task)
{
	struct model_event *l = leader_of(m);

	if (m->task == task && !m->ended)
		return m->enabled && l->enabled;
	return m->clones[task].used && m->clones[task].enabled && l->clones[task].enabled;
}

static void run_task(u32 task)
{
	u32 n = rnd(1000);
	u64 ns = rnd(3 * MS);

	world_run(&W, task, ns, n);
	for (u32 i = 0; i < EVENTS; i++) {
		if (!M[i].fd || !counts_in(&M[i], task))
			continue;
		M[i].count += n * (M[i].kind + 1);
		M[i].time += ns;
	}
}

static void step_run(void)
{
	run_task(some_task());
}

static bool has_members(const struct model_event *m)
{
	for (u32 i = 0; i < EVENTS; i++)
		if (M[i].fd && M[i].leader == m - M)
			return true;
	return false;
}

/* The core is told later what the task itself has done, some of it twice. */
static void step_replay(void)
{
	static const u32 cmds[] = { AP_PERF_IOC_ENABLE, AP_PERF_IOC_DISABLE, AP_PERF_IOC_RESET };
	struct model_event *m = some_event();
	u32 n = 1 + rnd(5), cmd[5];
	u64 raw[5], now[5];

	if (!m || m->leader >= 0 || m->inherit || m->ended || has_members(m) || W.config.counters)
		return;
	for (u32 i = 0; i < n; i++) {
		cmd[i] = cmds[rnd(3)];
		raw[i] = W.tasks[m->task].raw[m->kind];
		now[i] = W.tasks[m->task].time;
		if (cmd[i] == AP_PERF_IOC_RESET)
			m->count = m->seen = 0;
		else
			m->enabled = cmd[i] == AP_PERF_IOC_ENABLE;
		run_task(m->task);
	}
	for (u32 i = 0; i < n; i++)
		ap_core_replay(W.core, W.fds[m->fd - 1], cmd[i], raw[i], now[i]);
}

static void step_reset(void)
{
	struct model_event *m = some_event();

	if (!m)
		return;
	world_ioctl(&W, m->fd - 1, AP_PERF_IOC_RESET, 0);
	m->count = m->seen = 0;
}

static void check(struct model_event *m)
{
	u64 v[3];

	REQUIRE(read_words(&W, m->fd - 1, v, 3) == 24);
	EXPECT_U64(v[1], m->time);
	EXPECT(v[2] <= v[1]);
	EXPECT(v[0] >= m->seen && v[1] >= m->seen_enabled && v[2] >= m->seen_running);
	if (!W.config.counters) {
		EXPECT_U64(v[0], m->count);
		EXPECT_U64(v[2], v[1]);
	} else {
		EXPECT(v[0] <= m->count);
	}
	m->seen = v[0];
	m->seen_enabled = v[1];
	m->seen_running = v[2];
}

static void step(void)
{
	struct model_event *m;

	switch (rnd(20)) {
	case 0:
	case 1:
		step_open();
		break;
	case 2:
		step_close();
		break;
	case 3:
	case 4:
		step_switch();
		break;
	case 5:
		step_fork();
		break;
	case 6:
		step_exit();
		break;
	case 7:
		step_reset();
		break;
	case 8:
		ap_core_exec(W.core, W.tasks[some_task()].task);
		break;
	case 9:
		world_move(&W, some_task(), rnd(NCPUS));
		break;
	case 14:
		step_replay();
		break;
	case 10:
	case 11:
		m = some_event();
		if (m)
			check(m);
		break;
	case 12:
	case 13:
		ap_core_tick(W.core);
		break;
	default:
		step_run();
	}
}

static void run_with(u32 counters, u64 seed, u32 steps)
{
	u64 words[3];
	int witness[4];
	struct ap_perf_attr a;

	world_init(&W);
	W.config.counters = counters;
	world_start(&W);
	memset(M, 0, sizeof(M));
	memset(alive, 0, sizeof(alive));
	world_task(&W, 0);
	alive[0] = true;
	rng = seed;
	/* all that is counted on the CPUs together is what all tasks have counted */
	for (s32 cpu = 0; cpu < NCPUS; cpu++) {
		a = attr_kind(0, 0);
		witness[cpu] = world_open(&W, &a, -1, cpu, -1, 0);
		REQUIRE(witness[cpu] >= 0);
	}
	for (u32 i = 0; i < steps; i++)
		step();
	for (u32 i = 0; i < EVENTS; i++)
		if (M[i].fd)
			check(&M[i]);
	words[0] = words[1] = 0;
	for (s32 cpu = 0; cpu < NCPUS; cpu++) {
		words[0] += read_count(&W, witness[cpu]);
		words[1] += W.cpu_raw[cpu][0];
	}
	EXPECT_U64(words[0], words[1]);
	for (u32 t = 0; t < NTASKS; t++)
		if (alive[t])
			world_exit(&W, t);
	for (u32 i = 0; i < EVENTS; i++)
		if (M[i].fd)
			check(&M[i]);
	world_end(&W);
}

static u32 steps(void)
{
	return tap_option("--long") ? 3000000 : 100000;
}

static void sums_of_parts_are_totals(void)
{
	for (u64 seed = 1; seed <= 4; seed++)
		run_with(0, seed * 0x9e3779b97f4a7c15ULL, steps() / 4);
}

static void short_counters_keep_their_bounds(void)
{
	for (u32 counters = 1; counters <= 4; counters++)
		run_with(counters, counters * 0xbf58476d1ce4e5b9ULL, steps() / 4);
}

/* Two groups share one counter for long: estimates by time come close to the truth. */
static void scaled_estimates_are_close(void)
{
	struct ap_perf_attr a;
	int fd[40];
	u64 v[3], n = 0;

	world_init(&W);
	W.config.counters = 4;
	world_start(&W);
	for (u32 i = 0; i < 40; i++) {
		a = attr_kind(0, 0);
		a.read_format = 3;
		fd[i] = open_on(&W, &a, -1);
	}
	for (u32 i = 0; i < 4000; i++) {
		world_run(&W, 0, MS, 1000);
		n += 1000;
		ap_core_tick(W.core);
	}
	for (u32 i = 0; i < 40; i++) {
		EXPECT_U64(read_words(&W, fd[i], v, 3), 24);
		EXPECT_U64(v[1], 4000 * MS);
		EXPECT(v[2] >= 380 * MS && v[2] <= 420 * MS); /* a tenth of the time each */
		EXPECT_U64(v[0] * MS, v[2] * 1000);
	}
	EXPECT(n == 4000000);
	world_end(&W);
}

/* Many events: no call looks at all of them.  Counted in reads of raw counters, not in time. */
static void ten_thousand_events_do_not_slow_one(void)
{
	static struct ap_event *events[10000];
	struct ap_perf_attr a = attr_kind(0, 0);
	struct ap_open_args args = { &a, 0, -1, -1, 0 };
	struct ap_ioctl_args disable = { .cmd = AP_PERF_IOC_DISABLE };
	struct ap_ioctl_args enable = { .cmd = AP_PERF_IOC_ENABLE };
	u64 v;

	for (u32 counters = 0; counters <= 4; counters += 4) {
		world_init(&W);
		W.config.counters = counters;
		world_start(&W);
		world_task(&W, 0);
		for (u32 i = 0; i < 10000; i++)
			REQUIRE(!ap_core_open(W.core, W.tasks[0].task, &args, &events[i]));
		EXPECT(W.bytes <= 10000 * 2048);
		world_run(&W, 0, MS, 1);
		W.nr_raw_reads = W.nr_published = 0;
		for (u32 i = 0; i < 10000; i += 100) {
			EXPECT_U64(ap_core_read(W.core, events[i], &v, 8), 8);
			EXPECT_U64(v, i < 4 || !counters ? 1 : 0);
			ap_core_ioctl(W.core, W.tasks[0].task, events[i], &disable);
			ap_core_ioctl(W.core, W.tasks[0].task, events[i], &enable);
			ap_core_tick(W.core);
		}
		EXPECT(W.nr_raw_reads <= 1000);
		EXPECT(W.nr_published <= 2000);
		for (u32 i = 0; i < 10000; i++)
			ap_core_release(W.core, events[i]);
		world_end(&W);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(sums_of_parts_are_totals),
						 TAP(short_counters_keep_their_bounds),
						 TAP(scaled_estimates_are_close),
						 TAP(ten_thousand_events_do_not_slow_one),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
