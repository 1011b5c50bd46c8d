/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * set_cpus_allowed() runs beside the owner (N-023): one thread here is the owner, which is switched, counts and
 * takes new controls, the other one moves it to forbidden CPUs all the while.  For the thread sanitizer, and for
 * the rule that each SIGILL has a move before it and each stop a SIGILL.
 */
#include "abi/errno.h"
#include "perfctr/virtual.h"
#include "rig.h"
#include "tap/tap.h"

#include <pthread.h>
#include <stdlib.h>

#define ROUNDS 20000

static struct rig rig;
static struct ap_vctr *the_state;
static unsigned nsignals;
static unsigned long nmoves; /* atomic */
static bool ends;	     /* atomic */

static int world_make(void *world, void *thread, struct ap_vctr **v)
{
	(void)world;
	(void)thread;
	*v = calloc(1, sizeof(**v));
	REQUIRE(*v);
	(*v)->drv = &rig.drv;
	return 0;
}

static void world_free(void *world, struct ap_vctr *v)
{
	(void)world;
	free(v);
}

static struct ap_vctr **world_slot(void *world, void *thread)
{
	(void)world;
	(void)thread;
	return &the_state;
}

static int world_may_access(void *world, void *caller, void *owner)
{
	(void)world;
	(void)caller;
	(void)owner;
	return -AP_ESRCH;
}

static void world_signal(void *world, void *owner, s32 signo, u32 mask)
{
	(void)world;
	(void)owner;
	EXPECT_U64((u64)signo, 4);
	EXPECT_U64(mask, 0);
	nsignals++;
}

static int world_forbid(void *world, void *owner, u64 cpus)
{
	(void)world;
	(void)owner;
	EXPECT_U64(cpus, 0xa);
	return 0;
}

static const struct ap_vctr_ops ops = {
	.make = world_make,
	.free = world_free,
	.slot = world_slot,
	.may_access = world_may_access,
	.signal = world_signal,
	.forbid = world_forbid,
	.sample_ticks = 1,
};

static void *move(void *arg)
{
	struct ap_vctr *v = arg;

	while (!__atomic_load_n(&ends, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&nmoves, 1, __ATOMIC_RELEASE);
		ap_vctr_set_cpus_allowed(v, 2);
		ap_vctr_set_cpus_allowed(v, 5); /* which says nothing */
	}
	return NULL;
}

/* Off its CPU and on another one.  True: it was stopped for where it is. */
static bool is_stopped_at(struct ap_vctr *v, unsigned cpu)
{
	bool was_on = v->cpu_state.cstatus != 0;

	ap_vctr_suspend_thread(v);
	rig.m.cpu = cpu;
	ap_vctr_resume_thread(v);
	return was_on && !v->cpu_state.cstatus;
}

static void count_three(struct ap_vctr *v, void *owner, const struct ap_vctr_control *c)
{
	struct ap_x86ctr_sum sum;

	REQUIRE(ap_vctr_control(v, owner, c) == 0);
	rig_run(&rig, AP_KIND_INSTR, 3, 1);
	REQUIRE(ap_vctr_read(v, owner, &sum, NULL) == 0);
	EXPECT_U64(sum.pmc[0], 3);
}

static void an_owner_is_moved_while_it_runs(void)
{
	static const struct ap_vctr_control c = { .cpu_control = {
							  .tsc_on = 1,
							  .nractrs = 1,
							  .pmc_map = { 12 },
							  .evntsel = { 0x00039000 },
							  .p4 = { .escr = { 0x04000204 } } } };
	unsigned nstops = 0;
	struct ap_vctr *v;
	pthread_t mover;
	int owner;

	rig_init(&rig, "p4", true);
	rig.m.log = NULL;
	EXPECT_U64(rig.drv.forbidden, 0xa);
	REQUIRE(ap_vctr_open(&ops, NULL, &owner, &owner, true, &v) == 0);
	REQUIRE(pthread_create(&mover, NULL, move, v) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0)
			count_three(v, &owner, &c);
		nstops += is_stopped_at(v, i % 2 * 2);
		EXPECT_U64(nsignals, nstops);
	}
	__atomic_store_n(&ends, true, __ATOMIC_RELEASE);
	pthread_join(mover, NULL);
	EXPECT(nsignals <= nmoves);
	/* and once more, with nobody beside */
	count_three(v, &owner, &c);
	EXPECT(!is_stopped_at(v, 0));
	ap_vctr_set_cpus_allowed(v, 8);
	EXPECT_U64(nsignals, nstops);
	EXPECT(is_stopped_at(v, 0));
	EXPECT_U64(nsignals, nstops + 1);
	ap_vctr_exit_thread(v);
	ap_vctr_put(v);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(an_owner_is_moved_while_it_runs),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
