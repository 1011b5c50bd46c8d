/* SPDX-License-Identifier: MIT */
/* FLAGS: -Wall */
/*
 * perfctr's calls of 2004 as include/anyperf/perfctr.h has them: info, counting, reading by the page as
 * its documentation says, an overflow's signal.
 */
#include <anyperf/perfctr.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd;
static volatile unsigned nsignals, nbad;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void say(const char *what, int ret)
{
	printf("%s: %s\n", what, ret < 0 ? strerror(errno) : ret ? "more than 0" : "0");
}

static void work(uint64_t n)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(n) : : "cc");
}

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	nsignals++;
	if (signo != SIGIO || info->si_code != SI_PMC_OVF || si_pmc_ovf_mask_of(info) != 2 ||
	    sys_vperfctr_iresume(fd))
		nbad++;
}

static uint64_t read_ctr(const volatile struct vperfctr_state *kstate, unsigned i)
{
	uint32_t tsc0 = kstate->cpu_state.tsc_start, tsc1, now, start;
	uint64_t sum;

	for (;;) {
		__asm__ volatile("rdpmc" : "=a"(now) : "c"(kstate->cpu_state.pmc[i].map) : "edx");
		start = kstate->cpu_state.pmc[i].start;
		sum = kstate->cpu_state.pmc[i].sum;
		tsc1 = kstate->cpu_state.tsc_start;
		if (tsc1 == tsc0)
			break;
		tsc0 = tsc1;
	}
	return sum + (now - start);
}

static __attribute__((noinline)) uint64_t mapped(const volatile struct vperfctr_state *k,
						 uint64_t n)
{
	uint64_t from = read_ctr(k, 0);

	work(n);
	return read_ctr(k, 0) - from;
}

static void infos(void)
{
	struct {
		struct perfctr_cpu_mask m;
		uint32_t more[7];
	} cpus = { { 0, { 0 } }, { 0 } }, forbidden = { { 8, { 5 } }, { 0 } };
	struct perfctr_info info;

	say("too few words", sys_perfctr_info(NULL, &cpus.m, NULL));
	say("info", sys_perfctr_info(&info, &cpus.m, &forbidden.m));
	say("nothing", sys_perfctr_info(NULL, NULL, NULL));
	printf("type %u, features %u, CPU 0 %s, forbidden %u\n", info.cpu_type, info.cpu_features,
	       cpus.m.mask[0] & 1 ? "is there" : "is not there", forbidden.m.mask[0]);
}

/* All CPUs count instructions; CPU 0 is read as the library of 2.6 does it. */
static void globals(void)
{
	struct gperfctr_cpu_state before = { .cpu = 0 }, after = { .cpu = 0 };
	struct gperfctr_cpu_control c = {
		.cpu_control = { .tsc_on = 1, .nractrs = 1, .evntsel = { 0x4100c0 } }
	};
	struct gperfctr *g = gperfctr_open();
	struct perfctr_info info;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (!g || gperfctr_info(g, &info) || sched_setaffinity(0, sizeof(set), &set))
		fail("gperfctr_open");
	say("global control", gperfctr_control(g, &c));
	say("no global control", gperfctr_control(g, NULL));
	say("start", gperfctr_start(g, 0));
	say("busy", gperfctr_control(g, &c));
	say("read", gperfctr_read(g, &before));
	work(1000000);
	say("read", gperfctr_read(g, &after));
	printf("%s, %s\n",
	       after.sum.pmc[0] - before.sum.pmc[0] >= 2000000 &&
			       after.sum.pmc[0] - before.sum.pmc[0] < 2010000
		       ? "what ran there"
		       : "something else",
	       after.sum.tsc > before.sum.tsc &&
			       !memcmp(&after.cpu_control, &c.cpu_control, sizeof(c.cpu_control))
		       ? "with the clock, and the control"
		       : "and more is wrong");
	say("stop", gperfctr_stop(g));
	gperfctr_close(g);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	const volatile struct vperfctr_state *kstate;
	struct vperfctr_control c = { 0 }, back;
	struct perfctr_sum_ctrs sum;
	uint64_t a, b;

	infos();
	fd = sys_vperfctr_open(0, 1);
	say("open", fd);
	say("again", sys_vperfctr_open(0, 1));
	kstate = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (kstate == MAP_FAILED || sigaction(SIGIO, &sa, NULL))
		fail("mmap");
	c.si_signo = SIGIO;
	c.cpu_control.tsc_on = 1;
	c.cpu_control.nractrs = c.cpu_control.nrictrs = 1;
	c.cpu_control.pmc_map[1] = 1;
	c.cpu_control.evntsel[0] = 0x4100c0;
	c.cpu_control.evntsel[1] = 0x5100c2; /* branches */
	c.cpu_control.ireset[1] = -1000000;
	say("no control", sys_vperfctr_control(fd, NULL));
	say("control", sys_vperfctr_control(fd, &c));
	a = mapped(kstate, 1000);
	a = mapped(kstate, 1000);
	b = mapped(kstate, 101000);
	printf("a hundred thousand more: %llu\n", (unsigned long long)(b - a));
	work(2000000);
	say("read", sys_vperfctr_read(fd, &sum, &back));
	printf("%u signals, %u bad, %s\n", nsignals, nbad,
	       nsignals == sum.pmc[1] / 1000000 ? "as many as periods" : "and not as many");
	printf("control %s\n", memcmp(&c, &back, sizeof(c)) ? "differs" : "comes back");
	say("unlink", sys_vperfctr_unlink(fd));
	say("control", sys_vperfctr_control(fd, &c));
	globals();
	return 0;
}
