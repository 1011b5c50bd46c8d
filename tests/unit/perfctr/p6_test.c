/* SPDX-License-Identifier: MIT */
/*
 * The driver on P6 and on K7 and K8: which controls are taken, in what order registers are touched,
 * and what is counted.  Numbers of registers and bits are written out here: what is in the
 * driver's headers is under test.
 */
#include "abi/errno.h"
#include "rig.h"
#include "tap/tap.h"

#include <string.h>

#define USR_INSTR  0x4100c0 /* enabled, user mode, INST_RETIRED */
#define USR_INSTR1 0x0100c0 /* the same for P6's counter 1 */
#define INT	   0x100000

static void p6_controls(void)
{
	rig_rules_of("p6 pii piii pentium-m");
}

static void k7_controls(void)
{
	rig_rules_of("k7 k8 k8c");
}

static void an_owner_clears_registers_and_opens_the_interrupt(void)
{
	struct rig rig;

	rig_init(&rig, "p6", false);
	EXPECT_STR(ap_x86ctr_reserve(&rig.drv, "other"), "rig");
	ap_x86ctr_release(&rig.drv, "other");
	EXPECT_STR(rig_log(&rig), "");
	rig.m.ncpus = 1;
	ap_x86ctr_release(&rig.drv, "rig");
	EXPECT_STR(rig_log(&rig), "a340=100ee w186=0 w187=0 wc1=0 wc2=0");
	EXPECT(ap_x86ctr_reserve(&rig.drv, "other") == NULL);
	EXPECT_STR(rig_log(&rig), "w186=0 w187=0 wc1=0 wc2=0 a340=ee");
	EXPECT_STR(rig.drv.ctr.name, "Intel Pentium Pro");
	ap_x86ctr_exit(&rig.drv);
	EXPECT_STR(rig_log(&rig), "a340=100ee w186=0 w187=0 wc1=0 wc2=0");
	EXPECT(rig.drv.ctr.name == NULL);
}

static void count_call(void *arg, unsigned long pc)
{
	(void)pc;
	++*(unsigned *)arg;
}

static void a_handler_goes_with_its_owner(void)
{
	unsigned ncalls = 0;
	struct rig rig;

	rig_init(&rig, "p6", false);
	ap_x86ctr_set_ihandler(&rig.drv, count_call, &ncalls);
	ap_x86ctr_interrupt(&rig.drv, 0);
	EXPECT_U64(ncalls, 1);
	ap_x86ctr_release(&rig.drv, "other");
	ap_x86ctr_interrupt(&rig.drv, 0);
	EXPECT_U64(ncalls, 2);
	ap_x86ctr_release(&rig.drv, "rig");
	ap_x86ctr_interrupt(&rig.drv, 0);
	EXPECT_U64(ncalls, 2);
	EXPECT(ap_x86ctr_reserve(&rig.drv, "other") == NULL);
	ap_x86ctr_interrupt(&rig.drv, 0);
	EXPECT_U64(ncalls, 2);
}

/* Resume, sample and suspend of a state of nobody's, which has the clock alone where there is one. */
static void init_makes_each_call_once(void)
{
	static const struct {
		const char *model, *log;
	} rows[] = { { "p5", "t t t" }, { "p6", "t t t" }, { "k8", "t t t" },	  { "p4", "t t t" },
		     { "c3", "t t t" }, { "c6", "" },	   { "generic", "t t t" } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		ap_x86ctr_exit(&rig.drv);
		rig_log(&rig);
		EXPECT(ap_x86ctr_init(&rig.drv, &ap_x86model_ops, &rig.m, rig.caches, RIG_CPUS) ==
		       0);
		if (!EXPECT_STR(rig_log(&rig), rows[i].log))
			tap_note("%s", rows[i].model);
	}
}

static void cpus_are_told_by_cpuid(void)
{
	static const struct {
		const char *model;
		u32 type, features, nrctrs;
	} rows[] = {
		{ "p6", 3, 7, 2 },	   { "pii", 4, 7, 2 }, { "piii", 5, 7, 2 },
		{ "pentium-m", 14, 7, 2 }, { "k7", 9, 7, 4 },  { "k8", 13, 7, 4 },
		{ "k8c", 15, 7, 4 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		if (!EXPECT_U64(rig.drv.ctr.type, rows[i].type))
			tap_note("%s", rows[i].model);
		EXPECT_U64(rig.drv.ctr.features, rows[i].features);
		EXPECT_U64(ap_x86ctr_nrctrs(&rig.drv), rows[i].nrctrs);
	}
}

static const struct ap_x86ctr_control two = {
	.tsc_on = 1, .nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { USR_INSTR, 0x0100c4 }
};
static const struct ap_x86ctr_control one = {
	.tsc_on = 1, .nractrs = 1, .pmc_map = { 0 }, .evntsel = { USR_INSTR }
};

static void accumulating_counters_are_only_read(void)
{
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "p6", false);
	rig_state(&rig, &a, &two);
	rig_state(&rig, &b, &one);
	EXPECT(a.k1.id != b.k1.id);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w186=4100c0 w187=100c4 t r0 r1");
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "t r0 r1");
	ap_x86ctr_resume(&rig.drv, &a); /* the CPU still has its control */
	EXPECT_STR(rig_log(&rig), "t r0 r1");
	ap_x86ctr_sample(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "t r0 r1");
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b); /* EVNTSEL0 has what it wants, 1 is not its own */
	ap_x86ctr_suspend(&rig.drv, &b);
	EXPECT_STR(rig_log(&rig), "t r0 r1 t r0 t r0");
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "t r0 r1");
	rig.m.cpu = 2;
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "2:t 2:r0 2:r1 2:w186=4100c0 2:w187=100c4 2:t 2:r0 2:r1");
}

static void a_tsc_alone_leaves_the_registers_to_whose_they_are(void)
{
	static const struct ap_x86ctr_control tsc = { .tsc_on = 1 };
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "p6", false);
	rig_state(&rig, &a, &one);
	rig_state(&rig, &b, &tsc);
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b);
	ap_x86ctr_suspend(&rig.drv, &b);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w186=4100c0 t r0 t r0 t t t r0");
}

static const struct ap_x86ctr_control mixed = { .tsc_on = 1,
						.nractrs = 1,
						.nrictrs = 1,
						.pmc_map = { 0, 1 },
						.evntsel = { USR_INSTR, USR_INSTR1 | INT },
						.ireset = { 0, -25 } };

static void interrupting_counters_are_stopped_and_not_reloaded(void)
{
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "p6", false);
	rig_state(&rig, &a, &mixed);
	rig_state(&rig, &b, &two);
	ap_x86ctr_resume(&rig.drv,
			 &a); /* 1 is off already: its control is not written to stop it */
	EXPECT_STR(rig_log(&rig), "wc2=ffffffe7 w186=4100c0 w187=1100c0 t r0");
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w187=0 r1 t r0");
	EXPECT_U64(a.k1.isuspend_cpu, 0);
	ap_x86ctr_resume(&rig.drv, &a); /* same CPU, same owner: only what was stopped */
	EXPECT_STR(rig_log(&rig), "w187=1100c0 t r0");
	ap_x86ctr_suspend(&rig.drv, &a);
	rig_log(&rig);
	ap_x86ctr_ireload(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "wc2=ffffffe7 w187=1100c0 t r0");
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b); /* another's control, running, in the way */
	ap_x86ctr_suspend(&rig.drv, &b);
	EXPECT_STR(rig_log(&rig), "w187=0 r1 t r0 w187=100c4 t r0 r1 t r0 r1");
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w187=0 wc2=ffffffe7 w187=1100c0 t r0");
	ap_x86ctr_suspend(&rig.drv, &a);
	rig_log(&rig);
	rig.m.cpu = 1;
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86ctr_suspend(&rig.drv, &a);
	rig_log(&rig);
	rig.m.cpu = 0; /* CPU 0 knows the control, but not how far the counter has come */
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "wc2=ffffffe7 w187=1100c0 t r0");
}

static void a_new_control_is_loaded_anew(void)
{
	struct ap_x86ctr_state a;
	struct rig rig;
	u32 id;

	rig_init(&rig, "k8", false);
	rig_state(&rig, &a, &one);
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86ctr_suspend(&rig.drv, &a);
	id = a.k1.id;
	a.control.evntsel[0] = 0x4100c2;
	EXPECT(ap_x86ctr_update_control(&rig.drv, &a, 0) == 0);
	EXPECT(a.k1.id != id);
	rig_log(&rig);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "wc0010000=4100c2 t r0");
	rig.drv.ctr.last_id = 0xffffffff; /* the next id is one that a CPU may remember */
	rig.caches[0].id = 1;
	a.control.evntsel[0] = USR_INSTR;
	EXPECT(ap_x86ctr_update_control(&rig.drv, &a, 0) == 0);
	EXPECT_U64(a.k1.id, 1);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "wc0010000=4100c0 t r0");
}

static void sums_are_of_what_ran_here(void)
{
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "p6", false);
	rig_state(&rig, &a, &two);
	rig_state(&rig, &b, &one);
	ap_x86ctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 1000, 3);
	rig_run(&rig, AP_KIND_BRANCH, 70, 0);
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b);
	rig_run(&rig, AP_KIND_INSTR, 500, 3);
	rig_run(&rig, AP_KIND_BRANCH, 9, 0);
	ap_x86ctr_suspend(&rig.drv, &b);
	rig.m.cpu = 3;
	ap_x86ctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 11, 3);
	ap_x86ctr_sample(&rig.drv, &a);
	EXPECT_U64(a.pmc[0].sum, 1011);
	rig_run(&rig, AP_KIND_BRANCH, 7, 1);
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.pmc[0].sum, 1011);
	EXPECT_U64(a.pmc[1].sum, 77);
	EXPECT_U64(a.tsc_sum, 3 * 1011 + 7);
	EXPECT_U64(b.pmc[0].sum, 500);
	EXPECT_U64(b.tsc_sum, 1500);
}

/* Only the low halves are read: a wrap of them between two reads is no harm. */
static void sums_are_wider_than_counters(void)
{
	struct ap_x86ctr_state a;
	u64 kinds[AP_KIND_N] = { [AP_KIND_INSTR] = 0xc0000000 };
	struct rig rig;

	rig_init(&rig, "p6", false);
	rig_state(&rig, &a, &one);
	ap_x86ctr_resume(&rig.drv, &a);
	for (int i = 0; i < 400; i++) {
		ap_x86model_count(&rig.m, kinds, 0xf0000000);
		ap_x86ctr_sample(&rig.drv, &a);
		rig_log(&rig);
	}
	EXPECT_U64(a.pmc[0].sum, 400 * 0xc0000000ULL);
	EXPECT_U64(a.tsc_sum, 400 * 0xf0000000ULL);
}

/* --- overflow */

struct taker {
	struct rig *rig;
	struct ap_x86ctr_state *state;
	unsigned nsignals, nentries;
	u32 masks;
};

/* As a high-level driver does: stop, ask who it was, go on from the start. */
static void take(void *arg, unsigned long pc)
{
	struct taker *taker = arg;
	u32 mask;

	EXPECT_U64(pc, 0x1234);
	ap_x86ctr_suspend(&taker->rig->drv, taker->state);
	mask = ap_x86ctr_identify_overflow(&taker->rig->drv, taker->state);
	taker->masks |= mask;
	taker->nsignals += mask != 0;
	ap_x86ctr_ireload(&taker->rig->drv, taker->state);
	ap_x86ctr_resume(&taker->rig->drv, taker->state);
	taker->rig->m.nlogged = 0;
}

static void enter(void *arg)
{
	struct taker *taker = arg;

	taker->nentries++;
	ap_x86ctr_interrupt(&taker->rig->drv, 0x1234);
}

static void count_signals(const char *model, u32 map, u32 evntsel)
{
	struct ap_x86ctr_control control = { .tsc_on = 1,
					     .nractrs = 1,
					     .nrictrs = 1,
					     .pmc_map = { !map, map },
					     .evntsel = { map ? USR_INSTR : USR_INSTR1, evntsel },
					     .ireset = { 0, -25 } };
	struct ap_x86ctr_state a;
	struct rig rig;
	struct taker taker = { .rig = &rig, .state = &a };

	rig_init(&rig, model, false);
	rig_state(&rig, &a, &control);
	ap_x86ctr_set_ihandler(&rig.drv, take, &taker);
	rig.m.interrupt = enter;
	rig.m.interrupt_arg = &taker;
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_U64(ap_x86model_room(&rig.m, AP_KIND_INSTR), 25);
	EXPECT_U64(ap_x86model_room(&rig.m, AP_KIND_BRANCH), ~0ULL);
	for (int i = 0; i < 10; i++) { /* switched out and in: the period goes on */
		rig_run(&rig, AP_KIND_INSTR, 101, 1);
		ap_x86ctr_suspend(&rig.drv, &a);
		rig.m.cpu = (unsigned)i % 3;
		ap_x86ctr_resume(&rig.drv, &a);
	}
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_U64(taker.nsignals, 1010 / 25);
	EXPECT_U64(taker.nentries, 1010 / 25);
	EXPECT_U64(taker.masks, 2);
	EXPECT_U64(a.pmc[1].sum, 1010);
	EXPECT_U64(a.pmc[0].sum, 1010);
	EXPECT_U64(a.tsc_sum, 1010);
	EXPECT_U64(rig.m.nfaults, 0);
}

static void a_period_of_25_interrupts_each_25th(void)
{
	count_signals("p6", 1, USR_INSTR1 | INT);
	count_signals("pentium-m", 1, USR_INSTR1 | INT);
	count_signals("k7", 1, USR_INSTR | INT);
	count_signals("k8", 3, USR_INSTR | INT);
}

static void an_interrupt_is_acknowledged(void)
{
	struct rig rig;

	rig_init(&rig, "p6", false);
	ap_x86ctr_interrupt(&rig.drv, 0); /* nobody to tell */
	EXPECT_STR(rig_log(&rig), "ab0=0");
	rig_init(&rig, "pentium-m", false);
	ap_x86ctr_interrupt(&rig.drv, 0); /* its entry masks itself */
	EXPECT_STR(rig_log(&rig), "ab0=0 a340=ee");
}

static void without_an_apic_nothing_interrupts(void)
{
	struct ap_x86ctr_ops ops = ap_x86model_ops;
	struct ap_x86ctr_state a = { .control = mixed };
	struct rig rig;

	rig_init(&rig, "p6", false);
	ops.apic_write = NULL;
	EXPECT(ap_x86ctr_init(&rig.drv, &ops, &rig.m, rig.caches, RIG_CPUS) == 0);
	EXPECT_U64(rig.drv.ctr.features, 3);
	EXPECT(ap_x86ctr_update_control(&rig.drv, &a, 0) == -AP_EPERM);
	rig.m.ncpus = 1;
	rig_log(&rig);
	EXPECT(ap_x86ctr_reserve(&rig.drv, "x") == NULL);
	EXPECT_STR(rig_log(&rig), "w186=0 w187=0 wc1=0 wc2=0");
}

/* --- the models */

static u64 written(struct rig *rig, u32 msr, u64 val)
{
	ap_x86model_ops.wrmsr(&rig->m, msr, val);
	return ap_x86model_ops.rdmsr(&rig->m, msr);
}

static void p6_registers_are_as_documented(void)
{
	struct rig rig;

	rig_init(&rig, "p6", false);
	EXPECT_U64(written(&rig, 0xc1, 0x7fffffff), 0x7fffffff);
	EXPECT_U64(written(&rig, 0xc1, 0x80000000), 0xff80000000);
	EXPECT_U64(written(&rig, 0xc2, 0x1234500000001), 1); /* the upper half is not taken */
	EXPECT_U64(rig.m.nfaults, 0);
	EXPECT_U64(written(&rig, 0x186, 0x4100c0), 0x4100c0);
	EXPECT_U64(written(&rig, 0x186, 1 << 21), 0x4100c0);
	EXPECT_U64(written(&rig, 0x186, 1ULL << 32), 0x4100c0);
	EXPECT_U64(written(&rig, 0x187, 1 << 22), 0);
	EXPECT_U64(written(&rig, 0x188, 1), 0);
	EXPECT_U64(ap_x86model_ops.rdpmc(&rig.m, 2), 0);
	EXPECT_U64(rig.m.nfaults, 6); /* 0x188 faults twice */
}

static void k7_registers_are_as_documented(void)
{
	struct rig rig;

	rig_init(&rig, "k7", false);
	EXPECT_U64(written(&rig, 0xc0010004, 0x80000000), 0x80000000);
	EXPECT_U64(written(&rig, 0xc0010007, ~0ULL), 0xffffffffffff);
	EXPECT_U64(written(&rig, 0xc0010003, 1 << 22), 1 << 22);
	EXPECT_U64(rig.m.nfaults, 0);
	EXPECT_U64(written(&rig, 0xc0010000, 1 << 21), 0);
	EXPECT_U64(written(&rig, 0x186, 1), 0);
	EXPECT_U64(rig.m.nfaults, 3);
}

static void what_is_not_counted_says_so(void)
{
	static const struct {
		u32 evntsel0, evntsel1;
		u64 kinds;
		const char *why;
	} rows[] = {
		{ 0x4100c0, 0x0100c0, AP_KIND_BIT(AP_KIND_INSTR), NULL },
		{ 0x4300c0, 0x0300c9, AP_KIND_BIT(AP_KIND_TAKEN), NULL },
		{ 0, 0x0100c0, 0, "the counter is not enabled" },
		{ 0x4100c0, 0x0000c0, 0, "the counter is not enabled" },
		{ 0x4100c0, 0x0200c0, 0, "only user mode is counted" },
		{ 0x4100c0, 0x010077, 0, "no count of the engine means this event" },
		{ 0x4100c0, 0x010100c0, 0, "thresholds and edges count cycles" },
		{ 0x4100c0, 0x0100c2, 0, "no model of the pipeline counts operations" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why;
		struct rig rig;

		rig_init(&rig, "p6", false);
		written(&rig, 0x186, rows[i].evntsel0);
		written(&rig, 0x187, rows[i].evntsel1);
		EXPECT_U64(ap_x86model_counts(&rig.m, 1, &why), rows[i].kinds);
		EXPECT((why == NULL) == (rows[i].why == NULL));
		if (why && rows[i].why)
			EXPECT_STR(why, rows[i].why);
	}
}

static void whatever_is_taken_runs_without_a_fault(void)
{
	rig_fuzz("p6", false, 20000);
	rig_fuzz("k8", false, 20000);
}

static void cstatus_packs_what_is_on(void)
{
	u32 c = ap_ctr_mk_cstatus(1, 3, 2);

	EXPECT_U64(c, 0x80020503);
	EXPECT(ap_ctr_cstatus_enabled(c) && ap_ctr_cstatus_has_tsc(c));
	EXPECT(ap_ctr_cstatus_has_ictrs(c));
	EXPECT_U64(ap_ctr_cstatus_nrctrs(c), 5);
	EXPECT_U64(ap_ctr_cstatus_nractrs(c), 3);
	EXPECT_U64(ap_ctr_mk_cstatus(6, 0, 0), 0x80000000);
	EXPECT(!ap_ctr_cstatus_has_ictrs(0x80000000) && !ap_ctr_cstatus_has_tsc(0x00020503));
	EXPECT(!ap_ctr_cstatus_enabled(ap_ctr_mk_cstatus(0, 0, 0)));
}

static void layouts_are_those_of_programs(void)
{
	EXPECT_U64(sizeof(struct ap_x86ctr_sum), 152);
	EXPECT_U64(sizeof(struct ap_x86ctr_control), 324);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, tsc_on), 0);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, nractrs), 4);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, nrictrs), 8);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, pmc_map), 12);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, evntsel), 84);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, p4.escr), 156);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, p4.pebs_enable), 228);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, p4.pebs_matrix_vert), 232);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, ireset), 236);
	EXPECT_U64(offsetof(struct ap_x86ctr_control, reserved), 308);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, k1.id), 4);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, k1.isuspend_cpu), 8);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, tsc_start), 12);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, tsc_sum), 16);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, pmc[0].map), 24);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, pmc[0].start), 28);
	EXPECT_U64(offsetof(struct ap_x86ctr_state, pmc[1].sum), 48);
	/* what programs map ends here */
	EXPECT_U64(offsetof(struct ap_x86ctr_state, pmc) + 18 * sizeof(struct ap_ctr_pmc), 312);
	EXPECT(offsetof(struct ap_x86ctr_state, control) >= 312);
	EXPECT_U64(AP_SI_PMC_OVF, 'P');
	EXPECT_U64(AP_SI_PMC_OVF_KERNEL, 3 << 16 | 'P'); /* __SI_FAULT */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(cstatus_packs_what_is_on),
		TAP(layouts_are_those_of_programs),
		TAP(cpus_are_told_by_cpuid),
		TAP(p6_controls),
		TAP(k7_controls),
		TAP(an_owner_clears_registers_and_opens_the_interrupt),
		TAP(a_handler_goes_with_its_owner),
		TAP(init_makes_each_call_once),
		TAP(accumulating_counters_are_only_read),
		TAP(a_tsc_alone_leaves_the_registers_to_whose_they_are),
		TAP(interrupting_counters_are_stopped_and_not_reloaded),
		TAP(a_new_control_is_loaded_anew),
		TAP(sums_are_of_what_ran_here),
		TAP(sums_are_wider_than_counters),
		TAP(a_period_of_25_interrupts_each_25th),
		TAP(an_interrupt_is_acknowledged),
		TAP(without_an_apic_nothing_interrupts),
		TAP(p6_registers_are_as_documented),
		TAP(k7_registers_are_as_documented),
		TAP(what_is_not_counted_says_so),
		TAP(whatever_is_taken_runs_without_a_fault),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
