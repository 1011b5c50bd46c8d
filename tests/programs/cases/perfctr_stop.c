/* SPDX-License-Identifier: MIT */
/*
 * perfctr's documentation (virtual.txt): "Stopping the counters is done by invoking the control operation with a control
 * object that activates neither the TSC nor any PMCs", on each CPU, also where the TSC must be on.  What it calls things
 * (low-level-api.txt) is in the header: struct perfctr_cpu_state, perfctr_cstatus_*(), si_pmc_ovf_mask.
 */
/* CASE: session --cpu generic -- */
/* CASE: session --cpu p5 -- */
/* CASE: session --cpu p6 -- */
/* CASE: session --cpu k8 -- */
/* CASE: session --cpu p4 -- */
/* CASE: session --cpu c3 -- */
/* CASE: session --cpu core2 -- */
#include "check.h"
#include <anyperf/perfctr.h>

static void overflow_mask(void)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_pmc_ovf_mask = 5;
	CHECK(si_pmc_ovf_mask_of(&info) == 5, "si_pmc_ovf_mask is the word that the handler finds");
}

static void status_words(void)
{
	unsigned int none = perfctr_mk_cstatus(0, 0, 0), some = perfctr_mk_cstatus(1, 3, 2);

	CHECK(!none && !perfctr_cstatus_enabled(none), "a control of nothing");
	CHECK(perfctr_cstatus_enabled(some) && perfctr_cstatus_has_tsc(some) &&
		      perfctr_cstatus_nrctrs(some) == 5 && perfctr_cstatus_nractrs(some) == 3 &&
		      perfctr_cstatus_has_ictrs(some),
	      "a control of the clock and 3 + 2 counters: %#x", some);
	CHECK(!perfctr_cstatus_has_tsc(perfctr_mk_cstatus(0, 1, 0)) &&
		      !perfctr_cstatus_has_ictrs(perfctr_mk_cstatus(0, 1, 0)),
	      "of one counter");
}

/* Through the page, as a program does that has no call to spare. */
static void thread_counters(void)
{
	int fd = sys_vperfctr_open(0, 1);
	struct vperfctr_control c = { .cpu_control.tsc_on = 1 };
	struct perfctr_sum_ctrs sum[2];
	struct perfctr_info info;
	const volatile struct perfctr_cpu_state *state;
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(!sys_perfctr_info(&info, NULL, NULL), "the CPU");
	CHECK(fd >= 0 && page != MAP_FAILED, "a state and its page");
	if (page == MAP_FAILED)
		return;
	state = &((const struct vperfctr_state *)page)->cpu_state;
	for (int i = 0; i < 2; i++) {
		memset(&c, 0, sizeof(c));
		c.cpu_control.tsc_on = 1;
		CHECK(!sys_vperfctr_control(fd, &c), "start");
		/* where there is no rdpmc the page says that nothing is to be read there */
		CHECK(!(info.cpu_features & PERFCTR_FEATURE_RDPMC) ||
			      perfctr_cstatus_enabled(state->cstatus),
		      "it is on");
		memset(&c, 0, sizeof(c));
		CHECK(!sys_vperfctr_control(fd, &c), "stop by an empty control: %s",
		      strerror(errno));
		CHECK(!perfctr_cstatus_enabled(state->cstatus), "it is off");
		CHECK(!sys_vperfctr_read(fd, &sum[0], NULL) &&
			      !sys_vperfctr_read(fd, &sum[1], NULL) && sum[0].tsc &&
			      sum[0].tsc == sum[1].tsc,
		      "the clock's sum stays and stands");
	}
	CHECK(!sys_vperfctr_unlink(fd), "unlink");
}

static void global_counters(void)
{
	struct gperfctr_cpu_control c = { .cpu_control.tsc_on = 1 };
	struct gperfctr *g = gperfctr_open();

	CHECK(g != NULL, "the global counters");
	if (!g)
		return;
	CHECK(gperfctr_control(g, &c) == 1, "one CPU's clock");
	memset(&c, 0, sizeof(c));
	CHECK(gperfctr_control(g, &c) == 0, "and none: %s", strerror(errno));
	gperfctr_close(g);
}

int main(void)
{
	overflow_mask();
	status_words();
	thread_counters();
	global_counters();
	return done();
}
