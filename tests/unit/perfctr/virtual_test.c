/* SPDX-License-Identifier: MIT */
/*
 * Virtual counters in a world of threads and CPUs that is made here: threads are moved between model
 * CPUs, traced, killed; every count is known, since the test says what happens.
 */
#include "abi/errno.h"
#include "perfctr/virtual.h"
#include "rig.h"
#include "tap/tap.h"

#include <stdlib.h>
#include <string.h>

#define USR_INSTR 0x4100c0
#define INT	  0x100000
#define SIGIO	  29
#define THREADS	  8

struct thread {
	struct ap_vctr *v;
	struct thread *tracer; /* and it is stopped */
	int cpu;	       /* -1: on none */
	u64 allowed;
	s32 signo; /* the last signal */
	u32 mask;
	u32 nsignals;
};

static struct {
	struct rig rig;
	struct thread threads[THREADS];
	u32 nstates, npublished;
} w;

static int world_make(void *world, void *thread, struct ap_vctr **v)
{
	(void)world;
	(void)thread;
	*v = calloc(1, sizeof(**v));
	REQUIRE(*v);
	(*v)->drv = &w.rig.drv;
	w.nstates++;
	return 0;
}

static void world_free(void *world, struct ap_vctr *v)
{
	(void)world;
	w.nstates--;
	free(v);
}

static struct ap_vctr **world_slot(void *world, void *thread)
{
	(void)world;
	return &((struct thread *)thread)->v;
}

static int world_may_access(void *world, void *caller, void *owner)
{
	(void)world;
	return ((struct thread *)owner)->tracer == caller ? 0 : -AP_ESRCH;
}

static void world_signal(void *world, void *owner, s32 signo, u32 mask)
{
	struct thread *t = owner;

	(void)world;
	t->signo = signo;
	t->mask = mask;
	t->nsignals++;
}

static int world_forbid(void *world, void *owner, u64 cpus)
{
	struct thread *t = owner;

	(void)world;
	if (!(t->allowed & ~cpus))
		return -AP_EINVAL;
	t->allowed &= ~cpus;
	return 0;
}

static void world_publish(void *world, struct ap_vctr *v)
{
	(void)world;
	(void)v;
	w.npublished++;
}

static const struct ap_vctr_ops ops = {
	.make = world_make,
	.free = world_free,
	.slot = world_slot,
	.may_access = world_may_access,
	.signal = world_signal,
	.forbid = world_forbid,
	.publish = world_publish,
	.sample_ticks = 3,
};

static struct thread *on_cpu[RIG_CPUS];

/* The CPU's interrupt is the thread's that runs there. */
static void interrupted(void *arg, unsigned long pc)
{
	(void)arg;
	(void)pc;
	if (on_cpu[w.rig.m.cpu] && on_cpu[w.rig.m.cpu]->v)
		ap_vctr_interrupt(on_cpu[w.rig.m.cpu]->v);
}

static void vector(void *arg)
{
	ap_x86ctr_interrupt(arg, 0);
}

static void begin(const char *model, bool has_threads)
{
	memset(&w, 0, sizeof(w));
	memset(on_cpu, 0, sizeof(on_cpu));
	rig_init(&w.rig, model, has_threads);
	w.rig.m.log = NULL;
	w.rig.m.interrupt = vector;
	w.rig.m.interrupt_arg = &w.rig.drv;
	ap_x86ctr_set_ihandler(&w.rig.drv, interrupted, NULL);
	for (u32 i = 0; i < THREADS; i++) {
		w.threads[i].cpu = -1;
		w.threads[i].allowed = 15;
	}
}

static void leave(struct thread *t)
{
	if (t->cpu < 0)
		return;
	w.rig.m.cpu = (unsigned)t->cpu;
	if (t->v)
		ap_vctr_suspend_thread(t->v);
	on_cpu[t->cpu] = NULL;
	t->cpu = -1;
}

static void enter(struct thread *t, int cpu)
{
	leave(t);
	if (on_cpu[cpu])
		leave(on_cpu[cpu]);
	t->cpu = cpu;
	on_cpu[cpu] = t;
	w.rig.m.cpu = (unsigned)cpu;
	if (t->v)
		ap_vctr_resume_thread(t->v);
}

/* n instructions of a thread that is on a CPU, with 3 ticks each. */
static void run(struct thread *t, u64 n)
{
	w.rig.m.cpu = (unsigned)t->cpu;
	rig_run(&w.rig, AP_KIND_INSTR, n, 3);
}

static struct ap_vctr *creat(struct thread *t)
{
	struct ap_vctr *v;

	w.rig.m.cpu = (unsigned)t->cpu;
	REQUIRE(ap_vctr_open(&ops, NULL, t, t, true, &v) == 0);
	REQUIRE(v == t->v);
	return v;
}

static const struct ap_vctr_control one_actr = {
	.cpu_control = { .tsc_on = 1, .nractrs = 1, .evntsel = { USR_INSTR } }
};
static const struct ap_vctr_control one_ictr = { .si_signo = SIGIO,
						 .cpu_control = { .tsc_on = 1,
								  .nrictrs = 1,
								  .evntsel = { USR_INSTR | INT },
								  .ireset = { -25 } } };

/* The first thread is on CPU 0, with a state under the control. */
static struct ap_vctr *begin_counting(const char *model, const struct ap_vctr_control *c)
{
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	begin(model, false);
	enter(t, 0);
	v = creat(t);
	REQUIRE(ap_vctr_control(v, t, c) == 0);
	return v;
}

static u64 pmc_of(struct ap_vctr *v, struct thread *caller, u32 i)
{
	struct ap_x86ctr_sum sum;

	if (caller && caller->cpu >= 0)
		w.rig.m.cpu = (unsigned)caller->cpu;
	REQUIRE(ap_vctr_read(v, caller, &sum, NULL) == 0);
	return sum.pmc[i];
}

static u64 tsc_of(struct ap_vctr *v, struct thread *caller)
{
	struct ap_x86ctr_sum sum;

	REQUIRE(ap_vctr_read(v, caller, &sum, NULL) == 0);
	return sum.tsc;
}

static void a_new_state_is_off_and_zero(void)
{
	struct thread *t = &w.threads[0];
	struct ap_x86ctr_sum sum, zero = { 0 };
	struct ap_vctr_control control, off = { 0 };
	struct ap_vctr *v, *again;

	begin("k8", false);
	enter(t, 1);
	EXPECT(ap_vctr_open(&ops, NULL, t, t, false, &v) == 0);
	EXPECT(v == NULL); /* a handle on a thread without a state: */
	EXPECT(ap_vctr_read(v, t, &sum, NULL) == -AP_EINVAL);
	EXPECT(ap_vctr_control(v, t, &one_actr) == -AP_EINVAL);
	EXPECT(ap_vctr_unlink(v, t) == -AP_EINVAL);
	EXPECT(ap_vctr_iresume(v, t) == -AP_EINVAL);
	v = creat(t);
	EXPECT_U64(v->cpu_state.cstatus, 0);
	REQUIRE(ap_vctr_read(v, t, &sum, &control) == 0);
	EXPECT(memcmp(&sum, &zero, sizeof(sum)) == 0);
	EXPECT(memcmp(&control, &off, sizeof(off)) == 0);
	EXPECT(ap_vctr_open(&ops, NULL, t, t, true, &again) == -AP_EEXIST);
	EXPECT(ap_vctr_open(&ops, NULL, t, t, false, &again) == 0);
	EXPECT(again == v);
	EXPECT_U64(v->nrefs, 3);
	EXPECT(ap_vctr_open(&ops, NULL, t, NULL, true, &again) == -AP_ESRCH);
}

static void it_counts_while_its_thread_runs(void)
{
	struct thread *a = &w.threads[0], *b = &w.threads[1];
	struct ap_vctr *va, *vb;

	begin("k8", false);
	enter(a, 0);
	va = creat(a);
	EXPECT(ap_vctr_control(va, a, &one_actr) == 0);
	run(a, 10);
	enter(b, 0); /* a is off */
	vb = creat(b);
	run(b, 1000);
	EXPECT(ap_vctr_control(vb, b, &one_actr) == 0);
	run(b, 7);
	enter(a, 3);
	run(a, 5);
	EXPECT_U64(pmc_of(va, a, 0), 15);
	EXPECT_U64(tsc_of(va, a), 45);
	enter(b, 3);
	run(b, 1);
	EXPECT_U64(pmc_of(vb, b, 0), 8);
	EXPECT_U64(tsc_of(vb, b), 24);
	EXPECT_U64(w.rig.m.nfaults, 0);
}

static void sums_are_kept_where_control_says_so(void)
{
	struct ap_vctr_control c = one_actr, off = { 0 };
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	begin("k8", false);
	enter(t, 0);
	v = creat(t);
	c.cpu_control.nractrs = 2;
	c.cpu_control.pmc_map[1] = 1;
	c.cpu_control.evntsel[1] = USR_INSTR;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	run(t, 10);
	c.preserve = 2;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	run(t, 1);
	EXPECT_U64(pmc_of(v, t, 0), 1);
	EXPECT_U64(pmc_of(v, t, 1), 11);
	EXPECT_U64(tsc_of(v, t), 33); /* it was on before and after */
	/* off: nothing restarts, so nothing is zeroed */
	REQUIRE(ap_vctr_control(v, t, &off) == 0);
	EXPECT_U64(v->cpu_state.cstatus, 0);
	run(t, 100);
	EXPECT_U64(pmc_of(v, t, 1), 11);
	EXPECT_U64(tsc_of(v, t), 33);
	c.preserve = 0;
	c.cpu_control.tsc_on = 0;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	run(t, 2);
	EXPECT_U64(pmc_of(v, t, 1), 2);
	EXPECT_U64(tsc_of(v, t), 0);
}

static void a_refused_control_stops_and_keeps_sums(void)
{
	struct ap_vctr_control bad = one_actr, seen;
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	v = begin_counting("k8", &one_actr);
	run(t, 10);
	bad.cpu_control.evntsel[0] |= 1u << 21;
	EXPECT(ap_vctr_control(v, t, &bad) == -AP_EPERM);
	run(t, 10);
	EXPECT_U64(pmc_of(v, t, 0), 10);
	EXPECT_U64(v->cpu_state.cstatus, 0);
	REQUIRE(ap_vctr_read(v, t, NULL, &seen) == 0);
	EXPECT(memcmp(&seen, &bad, sizeof(bad)) == 0);
	EXPECT(ap_vctr_read(v, t, NULL, NULL) == 0);
}

static void others_need_to_have_stopped_the_owner(void)
{
	struct thread *t = &w.threads[0], *monitor = &w.threads[1];
	struct ap_vctr *v, *v2;

	begin("k8", false);
	enter(t, 0);
	enter(monitor, 1);
	v = creat(t);
	REQUIRE(ap_vctr_control(v, t, &one_actr) == 0);
	run(t, 4);
	EXPECT(ap_vctr_open(&ops, NULL, monitor, t, false, &v2) == -AP_ESRCH);
	EXPECT(ap_vctr_open(&ops, NULL, monitor, t, true, &v2) == -AP_ESRCH);
	EXPECT(ap_vctr_control(v, monitor, &one_actr) == -AP_ESRCH);
	EXPECT(ap_vctr_read(v, monitor, NULL, NULL) == -AP_ESRCH);
	EXPECT(ap_vctr_unlink(v, monitor) == -AP_ESRCH);
	EXPECT(ap_vctr_iresume(v, monitor) == -AP_ESRCH);
	leave(t);
	t->tracer = monitor;
	EXPECT(ap_vctr_open(&ops, NULL, monitor, t, true, &v2) == -AP_EEXIST);
	REQUIRE(ap_vctr_open(&ops, NULL, monitor, t, false, &v2) == 0);
	EXPECT(v2 == v);
	EXPECT_U64(pmc_of(v, monitor, 0), 4);
	EXPECT(ap_vctr_control(v, monitor, &one_actr) == 0);
	EXPECT(!v->is_on);
	run(monitor, 100);
	t->tracer = NULL;
	enter(t, 2);
	run(t, 6);
	EXPECT_U64(pmc_of(v, t, 0), 6);
	leave(t);
	t->tracer = monitor;
	EXPECT(ap_vctr_iresume(v, monitor) == -AP_EPERM);
	EXPECT(ap_vctr_unlink(v, monitor) == 0);
	EXPECT(t->v == NULL);
	/* a monitor makes one for a thread that never asked */
	REQUIRE(ap_vctr_open(&ops, NULL, monitor, t, true, &v2) == 0);
	EXPECT(v2 != v && t->v == v2 && !v2->is_on);
	REQUIRE(ap_vctr_control(v2, monitor, &one_actr) == 0);
	enter(t, 0);
	run(t, 9);
	EXPECT_U64(pmc_of(v2, t, 0), 9);
}

static void a_state_outlives_its_thread(void)
{
	struct thread *t = &w.threads[0], *other = &w.threads[1];
	struct ap_vctr *v;

	begin("p6", false);
	enter(t, 0);
	v = creat(t);
	ap_vctr_get(v); /* a second descriptor */
	REQUIRE(ap_vctr_control(v, t, &one_actr) == 0);
	run(t, 12);
	ap_vctr_exit_thread(t->v);
	EXPECT(t->v == NULL);
	on_cpu[0] = NULL;
	t->cpu = -1;
	enter(other, 0);
	run(other, 100);
	EXPECT_U64(pmc_of(v, other, 0), 12);
	EXPECT_U64(tsc_of(v, other), 36);
	EXPECT(ap_vctr_control(v, other, &one_actr) == -AP_ESRCH);
	EXPECT(ap_vctr_iresume(v, other) == -AP_ESRCH);
	EXPECT(ap_vctr_unlink(v, other) == 0);
	ap_vctr_put(v);
	EXPECT_U64(w.nstates, 1);
	ap_vctr_put(v);
	EXPECT_U64(w.nstates, 0);
}

static void a_state_without_descriptors_lives_with_its_thread(void)
{
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	v = begin_counting("k8", &one_actr);
	ap_vctr_put(v);
	EXPECT_U64(w.nstates, 1);
	run(t, 5);
	REQUIRE(ap_vctr_open(&ops, NULL, t, t, false, &v) == 0);
	EXPECT_U64(pmc_of(v, t, 0), 5);
	ap_vctr_put(v);
	ap_vctr_exit_thread(t->v);
	EXPECT_U64(w.nstates, 0);
}

static void an_exec_keeps_it_unless_told(void)
{
	struct ap_vctr_control c = one_actr;
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	v = begin_counting("k8", &c);
	run(t, 3);
	ap_vctr_exec_thread(t->v);
	EXPECT(t->v == v);
	run(t, 4);
	EXPECT_U64(pmc_of(v, t, 0), 7);
	c.flags = AP_VCTR_FROM_EXEC;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	run(t, 5);
	EXPECT_U64(pmc_of(v, t, 0), 5);
	ap_vctr_exec_thread(t->v);
	EXPECT_U64(pmc_of(v, t, 0), 0);
	run(t, 4);
	ap_vctr_exec_thread(t->v); /* the next one alone */
	run(t, 3);
	EXPECT_U64(pmc_of(v, t, 0), 7);
	c.flags = AP_VCTR_CLOEXEC;
	c.preserve = 1;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	run(t, 2);
	ap_vctr_exec_thread(t->v);
	EXPECT(t->v == NULL);
	run(t, 100);
	EXPECT_U64(pmc_of(v, t, 0), 9);
	EXPECT(ap_vctr_copy_thread() == NULL);
}

static void unlink_samples_and_detaches(void)
{
	struct thread *t = &w.threads[0];
	struct ap_vctr *v, *fresh;

	v = begin_counting("k8", &one_actr);
	run(t, 3);
	EXPECT(ap_vctr_unlink(v, t) == 0);
	run(t, 100);
	EXPECT_U64(pmc_of(v, t, 0), 3);
	EXPECT(ap_vctr_control(v, t, &one_actr) == -AP_ESRCH);
	EXPECT(ap_vctr_unlink(v, t) == 0);
	fresh = creat(t);
	EXPECT(fresh != v);
	EXPECT_U64(pmc_of(fresh, t, 0), 0);
}

static void overflows_signal_and_suspend(void)
{
	struct ap_vctr_control c = one_ictr;
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	begin("k8", false);
	enter(t, 0);
	v = creat(t);
	c.cpu_control.nractrs = 1;
	c.cpu_control.evntsel[0] = USR_INSTR;
	c.cpu_control.pmc_map[1] = 1;
	c.cpu_control.evntsel[1] = USR_INSTR | INT;
	c.cpu_control.ireset[1] = -25;
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	EXPECT(ap_vctr_iresume(v, t) == -AP_EPERM);
	run(t, 24);
	EXPECT_U64(t->nsignals, 0);
	run(t, 1);
	EXPECT_U64(t->nsignals, 1);
	EXPECT_U64(t->signo, SIGIO);
	EXPECT_U64(t->mask, 2);
	EXPECT_U64(v->cpu_state.cstatus, 0x80000000); /* the clock goes on */
	run(t, 100);
	EXPECT_U64(t->nsignals, 1);
	EXPECT_U64(pmc_of(v, t, 0), 25);
	EXPECT_U64(pmc_of(v, t, 1), 25);
	EXPECT_U64(tsc_of(v, t), 375);
	EXPECT(ap_vctr_iresume(v, t) == 0);
	EXPECT(ap_vctr_iresume(v, t) == -AP_EPERM);
	run(t, 24);
	/* elsewhere, and back */
	enter(t, 2);
	EXPECT_U64(t->nsignals, 1);
	enter(t, 0);
	run(t, 1);
	EXPECT_U64(t->nsignals, 2);
	EXPECT_U64(pmc_of(v, t, 1), 50);
	/* a control instead of iresume */
	REQUIRE(ap_vctr_control(v, t, &c) == 0);
	EXPECT(ap_vctr_iresume(v, t) == -AP_EPERM);
	run(t, 25);
	EXPECT_U64(t->nsignals, 3);
	EXPECT_U64(pmc_of(v, t, 1), 25);
}

static void signals_are_count_over_period(void)
{
	static const char *const models[] = { "p6", "k7", "k8", "pentium-m" };

	for (u32 m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		struct thread *t = &w.threads[0];
		struct ap_vctr *v;
		u32 seen = 0;

		begin(models[m], false);
		enter(t, 0);
		v = creat(t);
		REQUIRE(ap_vctr_control(v, t, &one_ictr) == 0);
		for (u32 i = 0; i < 1013; i++) {
			if (i % 17 == 0)
				enter(t, (int)(i / 17 % RIG_CPUS));
			run(t, 1);
			if (t->nsignals == seen)
				continue;
			seen = t->nsignals;
			REQUIRE(ap_vctr_iresume(v, t) == 0);
		}
		EXPECT_U64(seen, 1013 / 25);
		EXPECT_U64(pmc_of(v, t, 0), 1013);
		ap_vctr_exit_thread(t->v);
		ap_vctr_put(v);
	}
}

static void an_interrupt_of_who_ran_before_is_nobodys(void)
{
	struct thread *a = &w.threads[0], *b = &w.threads[1];
	struct ap_vctr *va, *vb;

	va = begin_counting("p6", &one_ictr);
	run(a, 20);
	enter(b, 0);
	vb = creat(b);
	ap_vctr_interrupt(vb); /* off */
	REQUIRE(ap_vctr_control(vb, b, &one_ictr) == 0);
	run(b, 3);
	ap_vctr_interrupt(vb); /* nothing has overflowed */
	EXPECT_U64(b->nsignals, 0);
	run(b, 21);
	EXPECT_U64(b->nsignals, 0);
	run(b, 1);
	EXPECT_U64(b->nsignals, 1);
	EXPECT_U64(a->nsignals, 0);
	enter(a, 0);
	run(a, 5);
	EXPECT_U64(a->nsignals, 1);
	EXPECT_U64(pmc_of(va, a, 0), 25);
}

static void counters_are_sampled_in_time(void)
{
	struct thread *t = &w.threads[0];
	u64 kinds[AP_KIND_N] = { [AP_KIND_INSTR] = 3000000000ULL };
	struct ap_vctr *v;

	v = begin_counting("k8", &one_actr);
	for (u32 i = 0; i < 6; i++) {
		if (i % 3 == 0)
			ap_x86model_count(&w.rig.m, kinds, 4000000000ULL);
		ap_vctr_sample_thread(v);
		/* each third time */
		EXPECT_U64(v->cpu_state.pmc[0].sum, (i + 1) / 3 * 3000000000ULL);
	}
	EXPECT_U64(pmc_of(v, t, 0), 6000000000ULL);
	EXPECT_U64(tsc_of(v, t), 8000000000ULL);
	leave(t);
	ap_vctr_sample_thread(v); /* nobody runs there */
	EXPECT_U64(v->cpu_state.pmc[0].sum, 6000000000ULL);
}

static void forbidden_cpus_are_kept_from(void)
{
	struct ap_vctr_control c = { .cpu_control = { .tsc_on = 1,
						      .nractrs = 1,
						      .pmc_map = { 12 },
						      .evntsel = { 0x00039000 },
						      .p4 = { .escr = { 0x04000204 } } } };
	const struct ap_vctr_control tsc = { .cpu_control = { .tsc_on = 1 } };
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;

	begin("p4", true);
	EXPECT_U64(w.rig.drv.forbidden, 0xa);
	enter(t, 0);
	v = creat(t);
	/* the clock alone may run anywhere */
	REQUIRE(ap_vctr_control(v, t, &tsc) == 0);
	EXPECT_U64(t->allowed, 15);
	ap_vctr_set_cpus_allowed(v, 2);
	enter(t, 1);
	EXPECT_U64(t->nsignals, 0);
	t->allowed = 2;
	EXPECT(ap_vctr_control(v, t, &c) == -AP_EINVAL);
	EXPECT_U64(v->cpu_state.cstatus, 0);
	t->allowed = 15;
	enter(t, 0);
	if (!EXPECT_U64((u64)-ap_vctr_control(v, t, &c), 0))
		return;
	EXPECT_U64(t->allowed, 5);
	ap_vctr_set_cpus_allowed(v, 4);
	enter(t, 2);
	EXPECT_U64(t->nsignals, 0);
	ap_vctr_set_cpus_allowed(v, 2);
	EXPECT_U64(t->nsignals, 0); /* when it is there */
	enter(t, 1);
	EXPECT_U64(t->nsignals, 1);
	EXPECT_U64(t->signo, 4);
	EXPECT_U64(v->cpu_state.cstatus, 0);
	enter(t, 0);
	EXPECT_U64(t->nsignals, 1);
	EXPECT_U64(w.rig.m.nfaults, 0);
}

static void what_programs_map_follows(void)
{
	struct thread *t = &w.threads[0];
	struct ap_vctr *v;
	u32 seen;

	v = begin_counting("k8", &one_actr);
	seen = w.npublished;
	leave(t);
	EXPECT(w.npublished > seen);
	seen = w.npublished;
	enter(t, 1);
	EXPECT(w.npublished > seen);
	/* sum + (now - start), in 32 bits */
	run(t, 11);
	EXPECT_U64(v->cpu_state.pmc[0].sum +
			   (u32)(ap_x86model_ops.rdpmc(&w.rig.m, 0) - v->cpu_state.pmc[0].start),
		   11);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_new_state_is_off_and_zero),
		TAP(it_counts_while_its_thread_runs),
		TAP(sums_are_kept_where_control_says_so),
		TAP(a_refused_control_stops_and_keeps_sums),
		TAP(others_need_to_have_stopped_the_owner),
		TAP(a_state_outlives_its_thread),
		TAP(a_state_without_descriptors_lives_with_its_thread),
		TAP(an_exec_keeps_it_unless_told),
		TAP(unlink_samples_and_detaches),
		TAP(overflows_signal_and_suspend),
		TAP(signals_are_count_over_period),
		TAP(an_interrupt_of_who_ran_before_is_nobodys),
		TAP(counters_are_sampled_in_time),
		TAP(forbidden_cpus_are_kept_from),
		TAP(what_programs_map_follows),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
