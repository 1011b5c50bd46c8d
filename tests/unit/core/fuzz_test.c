/* SPDX-License-Identifier: MIT */
/*
 * Anything that a program can hand to the core, at random: attrs, flags, ids, ioctls with or without
 * memory behind them.  Nothing may crash or leak (sanitizers look on), and what opens must read.
 */
/* LONG: --long */
#include <string.h>

#include "samplers.h"
#include "sampling/record.h"
#include "tap/tap.h"
#include "world.h"

static struct world W;
static struct ap_perf_page pages[NFDS];
static u64 rng;

static u64 rnd64(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng * 0x2545f4914f6cdd1dULL;
}

static u32 rnd(u32 n)
{
	return (u32)(rnd64() >> 33) % n;
}

/* Mostly few bits or small numbers: all bits at random would never pass the first check. */
static u64 value(void)
{
	switch (rnd(6)) {
	case 0:
		return rnd64();
	case 1:
		return 1ULL << rnd(64);
	case 2:
		return 1ULL << rnd(16) | 1ULL << rnd(40);
	default:
		return rnd(12);
	}
}

static void random_attr(struct ap_perf_attr *a)
{
	u64 *words = (u64 *)(void *)a;

	memset(a, 0, sizeof(*a));
	for (u32 n = rnd(4); n; n--)
		words[rnd(sizeof(*a) / 8)] = value();
	if (rnd(8)) {
		a->type = rnd(9);
		a->config = a->type == AP_PERF_TYPE_RAW ? 1 + rnd(0x7fffff) : rnd(10);
	}
	if (rnd(4))
		a->flags |= AP_PERF_EXCLUDE_KERNEL;
	if (a->type == AP_PERF_TYPE_RAW)
		a->config1 = rnd(8);
	if (a->type == AP_PERF_TYPE_BREAKPOINT)
		a->bp_type = 2;
	a->size = sizeof(*a);
	if (rnd(2))
		a->read_format = rnd(32);
}

/* What would be accepted, but for its group. */
static void sane_attr(struct ap_perf_attr *a)
{
	static const u64 flags[] = { 0,
				     AP_PERF_INHERIT,
				     AP_PERF_DISABLED,
				     AP_PERF_PINNED,
				     AP_PERF_EXCLUSIVE,
				     AP_PERF_INHERIT | AP_PERF_REMOVE_ON_EXEC,
				     AP_PERF_INHERIT | AP_PERF_DISABLED | AP_PERF_ENABLE_ON_EXEC };

	*a = rnd(2) ? attr_kind(rnd(20), rnd(2) ? rnd(4) : 0) : attr_task_clock();
	a->flags |= flags[rnd(AP_ARRAY_SIZE(flags))];
	a->read_format = rnd(32);
	if (rnd(2))
		return;
	a->sample_period = 1 + (rnd(4) ? rnd(5000) : value() >> 1);
	a->sample_type = rnd(1 << 10) & ~AP_PERF_SAMPLE_READ;
	a->flags |= rnd(3) ? 0 : AP_PERF_FREQ;
	a->flags |= value() & (AP_PERF_MMAP | AP_PERF_COMM | AP_PERF_TASK | AP_PERF_MMAP2 |
			       AP_PERF_WATERMARK | AP_PERF_SAMPLE_ID_ALL | AP_PERF_INHERIT_STAT |
			       AP_PERF_WRITE_BACKWARD);
	a->wakeup_events = rnd(2000);
}

static int random_fd(void)
{
	return rnd(8) ? (int)rnd(NFDS) : (int)(u32)value();
}

static void random_open(void)
{
	struct ap_perf_attr a;
	struct ap_open_args args = { .attr = &a };
	struct ap_event *e = NULL;
	u32 fd, caller = rnd(4);
	bool sane = rnd(3);
	int r;

	if (sane)
		sane_attr(&a);
	else
		random_attr(&a);
	args.pid = rnd(4) ? (s32)rnd(6) * 20 : rnd(2) ? -1 : (s32)value();
	if (rnd(2))
		args.pid = 100 + (s32)rnd(8);
	args.cpu = rnd(3) ? -1 : (s32)rnd(6) - 1;
	args.group_fd = rnd(2) ? -1 : random_fd();
	args.flags = sane || rnd(3) ? 0 : rnd(20) ? rnd(16) : value();
	if (args.flags & AP_PERF_FLAG_PID_CGROUP)
		args.pid = 500 + (s32)rnd(2);
	if (sane && rnd(4)) {
		args.pid = 100 + (s32)rnd(4);
		args.cpu = rnd(4) ? -1 : (s32)rnd(4);
	} else if (sane && rnd(3)) {
		args.pid = rnd(2) ? -1 : 500;
		args.flags = args.pid == 500 ? AP_PERF_FLAG_PID_CGROUP : 0;
		args.cpu = (s32)rnd(4);
	}
	for (fd = 0; fd < NFDS && W.fds[fd]; fd++)
		;
	if (fd == NFDS)
		return;
	W.allocs_left = rnd(50) ? -1 : (s32)rnd(4);
	r = ap_core_open(W.core, rnd(10) ? world_task(&W, caller) : NULL, &args, &e);
	W.allocs_left = -1;
	EXPECT(r <= 0 && r > -134);
	EXPECT(!r == !!e);
	W.fds[fd] = e;
}

static void random_ioctl(struct ap_event *e)
{
	static const u32 cmds[] = { AP_PERF_IOC_ENABLE,	    AP_PERF_IOC_DISABLE,
				    AP_PERF_IOC_REFRESH,    AP_PERF_IOC_RESET,
				    AP_PERF_IOC_PERIOD,	    AP_PERF_IOC_SET_OUTPUT,
				    AP_PERF_IOC_SET_FILTER, AP_PERF_IOC_ID,
				    AP_PERF_IOC_SET_BPF,    AP_PERF_IOC_PAUSE_OUTPUT,
				    AP_PERF_IOC_QUERY_BPF,  AP_PERF_IOC_MODIFY_ATTRIBUTES };
	struct ap_perf_attr a = { 0 };
	u64 out[2];
	struct ap_ioctl_args args = { .cmd = rnd(20) ? cmds[rnd(12)] : (u32)value(),
				      .arg = rnd(3) ? rnd(NFDS) : value(),
				      .in = rnd(4) ? &a : NULL,
				      .out = rnd(4) ? out : NULL,
				      .out_size = rnd(17) };

	if (args.in) {
		random_attr(&a);
		args.in_size = rnd(3) ? sizeof(a) : rnd(sizeof(a));
	}
	EXPECT(ap_core_ioctl(W.core, W.tasks[rnd(4)].task, e, &args) > -134);
}

static void random_task(void)
{
	u32 n = 4 + rnd(NTASKS - 4);
	s32 cpu = (s32)rnd(NCPUS);

	if (!W.tasks[n].task) {
		/* the world has run out of memory or slots: the fork fails, and the child ends */
		W.tasks[n].cpu = cpu;
		W.tasks[n].cgroup = (int)rnd(2);
		if (ap_core_fork(W.core, world_task(&W, rnd(4)), world_task(&W, n), rnd(2)))
			world_exit(&W, n);
	} else if (rnd(3) == 0) {
		world_exit(&W, n);
	} else if (rnd(3) == 0) {
		ap_core_exec(W.core, W.tasks[n].task);
	} else if (rnd(3) == 0) {
		W.tasks[n].cgroup = (int)rnd(2);
		(void)!ap_core_task_moved_cgroup(W.core, W.tasks[n].task);
	} else {
		world_move(&W, n, cpu);
	}
}

static int ring_at[NFDS]; /* + 1, of what has one */
static u32 mapped[NFDS];

static void random_ring(int fd)
{
	int r;

	if (mapped[fd] || !ring_is_free())
		return;
	r = ring_map(&W, fd, rnd(2));
	if (r < 0)
		return;
	ring_at[fd] = r + 1;
	mapped[fd]++;
}

/* The ring's memory goes with the last mapping of it. */
static void random_unmap(int fd)
{
	ap_core_munmap(W.core, W.fds[fd]);
	if (mapped[fd])
		mapped[fd]--;
	if (mapped[fd] || !ring_at[fd])
		return;
	ring_forget(ring_at[fd] - 1);
	ring_at[fd] = 0;
}

static void random_news(void)
{
	const struct ap_record_mapping m = { .prot = rnd(8), .filename = "x" };
	struct ap_task *task = world_task(&W, rnd(4));
	const struct ap_perf_ns_link links[2] = { { 0, 0 } };

	switch (rnd(5)) {
	case 0:
		ap_core_mapped(W.core, task, &m);
		break;
	case 1:
		ap_core_comm(W.core, task, "comm", rnd(2));
		break;
	case 2:
		ap_core_namespaces(W.core, task, task, links, rnd(3));
		break;
	case 3:
		ap_core_switched(W.core, task,
				 &(struct ap_switch){ .time = rnd(2) * W.clock,
						      .cpu = (s32)rnd(2),
						      .is_out = rnd(2),
						      .is_preempted = rnd(2),
						      .is_told = rnd(2),
						      .is_named = rnd(2) });
		break;
	default:
		ap_core_forked(W.core, task, world_task(&W, rnd(4)));
	}
}

static void step(void)
{
	int fd = (int)rnd(NFDS);
	struct ap_event *e = W.fds[fd];
	u8 buf[2048];

	if (rnd(3) == 0) {
		random_open();
		return;
	}
	if (rnd(4) == 0) {
		random_task();
		return;
	}
	world_run(&W, rnd(8), rnd(MS), rnd(100));
	ap_core_tick(W.core);
	ap_core_rings_woken(W.core);
	if (rnd(20) == 0)
		ap_core_writer_died(W.core, 0, rnd(100));
	if (rnd(5) == 0)
		random_news();
	if (!e)
		return;
	if (rnd(20) == 0)
		ap_core_overflowed(W.core, e);
	switch (rnd(8)) {
	case 0:
		/* a mapping keeps its event alive */
		while (mapped[fd])
			random_unmap(fd);
		world_close(&W, fd);
		break;
	case 1:
		if (rnd(2)) {
			random_ring(fd);
			break;
		}
		if (!ap_core_mmap(W.core, W.tasks[0].task, e, rnd(6), true, &pages[fd]))
			mapped[fd]++;
		break;
	case 2:
		random_unmap(fd);
		break;
	case 3:
		ap_core_prctl(W.core, world_task(&W, rnd(4)), rnd(2));
		break;
	case 4:
	case 5:
		EXPECT(ap_core_read(W.core, e, buf, rnd(2) ? sizeof(buf) : rnd(64)) > -134);
		ap_core_poll(W.core, e);
		break;
	default:
		random_ioctl(e);
	}
}

static void run(u32 counters, u32 steps)
{
	world_init(&W);
	memset(mapped, 0, sizeof(mapped));
	memset(ring_at, 0, sizeof(ring_at));
	W.config.counters = counters;
	W.config.user_only = counters == 3;
	W.may_trace = true;
	world_start(&W);
	for (u32 t = 0; t < 4; t++)
		world_task(&W, t);
	rng = 0x123456789abcdefULL + counters;
	for (u32 i = 0; i < steps; i++)
		step();
	world_end(&W);
}

static void anything_may_be_asked(void)
{
	for (u32 counters = 0; counters < 4; counters++)
		run(counters, tap_option("--long") ? 5000000 : 25000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(anything_may_be_asked), { 0 } };

	return tap_main(tests, argc, argv);
}
