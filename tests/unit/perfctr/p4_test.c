/* SPDX-License-Identifier: MIT */
/* The driver on P4: ESCRs, CCCRs, replay tags, cascading, two threads per core. */
#include "abi/errno.h"
#include "rig.h"
#include "tap/tap.h"

#define FAST	    0x80000000u
#define CCCR_INSTR  0x00039000 /* enabled, any thread, CRU_ESCR0 or 1 */
#define CCCR_BRANCH 0x0003b000 /* CRU_ESCR2 or 3 */
#define PMI	    0x04000000
#define FORCE	    0x02000000
#define INSTR	    0x04000204 /* instr_retired, not tagged, user mode */
#define BRANCH	    0x0c001e04

#define A(map, cccr, escr_val)                                                                     \
	.nractrs = 1, .pmc_map = { (map) }, .evntsel = { (cccr) }, .p4.escr = { (escr_val) }
#define I(map, cccr, escr_val, start)                                                              \
	.nrictrs = 1, .pmc_map = { (map) }, .evntsel = { (cccr) }, .p4.escr = { (escr_val) },      \
	.ireset = { (start) }
#define REPLAY(enable, pmv)                                                                        \
	A(14, CCCR_BRANCH, 0x12000204), .p4.pebs_enable = (enable), .p4.pebs_matrix_vert = (pmv)

/* clang-format off */
/* On two threads per core, for one process and for all. */
static const struct rule thread_rules[] = {
	{ "K-085", __LINE__, "p4m2", 0, { A(12, 0x19000, INSTR) }, true, 0 },
	{ "K-085", __LINE__, "p4m2", 0, { A(12, 0x09000, INSTR) }, true, 0 },
	{ "K-088b", __LINE__, "p4m2", -AP_EPERM, { A(12, CCCR_INSTR, INSTR | 1) }, true, 0 },
	{ "K-040", __LINE__, "p4m2", 0, { A(12, CCCR_INSTR, INSTR | 1) }, true, 1 },
	{ "K-040", __LINE__, "p4m3", 0, { A(12, CCCR_INSTR, INSTR | 3) }, true, 1 },
	{ "K-040", __LINE__, "p4m2", -AP_EPERM, { A(12, CCCR_INSTR, INSTR | 1) }, false, 1 },
	{ "K-083", __LINE__, "p4m2", -AP_EPERM, { A(12, CCCR_INSTR | 0x08000000, INSTR) }, true, 1 },
};

/* Counters, what their CCCR selects, and the ESCR: the SDM's table, line by line. */
static const struct {
	u8 first, last, select;
	u16 escr;
} mapping[] = {
	{ 0, 1, 7, 0x3a0 }, { 0, 1, 6, 0x3a2 }, { 0, 1, 2, 0x3aa }, { 0, 1, 4, 0x3ac },
	{ 0, 1, 0, 0x3b2 }, { 0, 1, 1, 0x3b4 }, { 0, 1, 3, 0x3b6 }, { 0, 1, 5, 0x3c8 },
	{ 2, 3, 7, 0x3a1 }, { 2, 3, 6, 0x3a3 }, { 2, 3, 2, 0x3ab }, { 2, 3, 4, 0x3ad },
	{ 2, 3, 0, 0x3b3 }, { 2, 3, 1, 0x3b5 }, { 2, 3, 3, 0x3b7 }, { 2, 3, 5, 0x3c9 },
	{ 4, 5, 0, 0x3c0 }, { 4, 5, 2, 0x3c2 }, { 4, 5, 1, 0x3c4 },
	{ 6, 7, 0, 0x3c1 }, { 6, 7, 2, 0x3c3 }, { 6, 7, 1, 0x3c5 },
	{ 8, 9, 1, 0x3a4 }, { 8, 9, 0, 0x3a6 }, { 8, 9, 5, 0x3a8 }, { 8, 9, 2, 0x3ae }, { 8, 9, 3, 0x3b0 },
	{ 10, 11, 1, 0x3a5 }, { 10, 11, 0, 0x3a7 }, { 10, 11, 5, 0x3a9 }, { 10, 11, 2, 0x3af }, { 10, 11, 3, 0x3b1 },
	{ 12, 13, 4, 0x3b8 }, { 12, 13, 5, 0x3cc }, { 12, 13, 6, 0x3e0 }, { 12, 13, 0, 0x3ba },
	{ 12, 13, 2, 0x3bc }, { 12, 13, 3, 0x3be }, { 12, 13, 1, 0x3ca },
	{ 16, 16, 4, 0x3b8 }, { 16, 16, 5, 0x3cc }, { 16, 16, 6, 0x3e0 }, { 16, 16, 0, 0x3ba },
	{ 16, 16, 2, 0x3bc }, { 16, 16, 3, 0x3be }, { 16, 16, 1, 0x3ca },
	{ 14, 15, 4, 0x3b9 }, { 14, 15, 5, 0x3cd }, { 14, 15, 6, 0x3e1 }, { 14, 15, 0, 0x3bb },
	{ 14, 15, 2, 0x3bd }, { 14, 15, 1, 0x3cb },
	{ 17, 17, 4, 0x3b9 }, { 17, 17, 5, 0x3cd }, { 17, 17, 6, 0x3e1 }, { 17, 17, 0, 0x3bb },
	{ 17, 17, 2, 0x3bd }, { 17, 17, 1, 0x3cb },
};
/* clang-format on */

static void p4_controls(void)
{
	rig_rules_of("p4 p4m2 p4m3");
	rig_rules(thread_rules, sizeof(thread_rules) / sizeof(thread_rules[0]));
}

static u32 wanted_escr(u32 pmc, u32 select)
{
	for (unsigned i = 0; i < sizeof(mapping) / sizeof(mapping[0]); i++) {
		if (pmc >= mapping[i].first && pmc <= mapping[i].last &&
		    mapping[i].select == select)
			return mapping[i].escr;
	}
	return 0;
}

static void escrs_are_those_of_the_manual(void)
{
	struct rig rig;

	rig_init(&rig, "p4", false);
	for (u32 pmc = 0; pmc < 18; pmc++) {
		for (u32 select = 0; select < 8; select++) {
			struct ap_x86ctr_state a = { .control = { A(pmc, 0x31000 | select << 13,
								    INSTR) } };
			u32 want = wanted_escr(pmc, select);
			int err = ap_x86ctr_update_control(&rig.drv, &a, 0);

			EXPECT(err == (want ? 0 : -AP_EINVAL));
			if (!err)
				EXPECT_U64(a.p4_escr_map[0], want);
		}
	}
}

static const struct ap_x86ctr_control mixed = { .tsc_on = 1,
						.nractrs = 1,
						.nrictrs = 1,
						.pmc_map = { FAST | 12, FAST | 14 },
						.evntsel = { CCCR_INSTR, CCCR_INSTR | PMI },
						.p4.escr = { INSTR, INSTR },
						.ireset = { 0, -25 } };

static void registers_are_written_where_they_differ(void)
{
	static const struct ap_x86ctr_control replay = { REPLAY(0x01000001, 1) };
	static const struct ap_x86ctr_control instr = { A(12, CCCR_INSTR, INSTR) };
	struct ap_x86ctr_state a, b, c;
	struct rig rig;

	rig_init(&rig, "p4", false);
	rig_state(&rig, &a, &mixed);
	rig_state(&rig, &b, &replay);
	rig_state(&rig, &c, &instr);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w30e=ffffffffe7 w3b8=4000204 w3b9=4000204 w36c=39000 "
				  "w36e=4039000 t r8000000c");
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w36e=0 r8000000e t r8000000c");
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w36e=4039000 t r8000000c");
	ap_x86ctr_suspend(&rig.drv, &a);
	rig_log(&rig);
	ap_x86ctr_resume(&rig.drv, &b);
	EXPECT_STR(rig_log(&rig), "w3cd=12000204 w3f1=1000001 w3f2=1 w36e=3b000 re");
	ap_x86ctr_suspend(&rig.drv, &b);
	ap_x86ctr_resume(&rig.drv, &c); /* tags are for who asked for them */
	EXPECT_STR(rig_log(&rig), "re w3f1=0 w3f2=0 rc");
	ap_x86ctr_suspend(&rig.drv, &c);
	rig_log(&rig);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w36e=0 w30e=ffffffffe7 w36e=4039000 t r8000000c");
	EXPECT_U64(rig.m.nfaults, 0);
}

static void second_threads_are_forbidden(void)
{
	struct rig rig;

	rig_init(&rig, "p4m2", false);
	EXPECT_U64(rig.drv.forbidden, 0);
	EXPECT(!rig.drv.is_ht);
	rig_init(&rig, "p4m2", true);
	EXPECT_U64(rig.drv.forbidden, 0xa);
	EXPECT(rig.drv.is_ht);
	EXPECT_U64(rig.drv.ctr.type, 12);
	EXPECT_STR(rig.drv.ctr.name, "Intel Pentium 4 Model 2");
	ap_x86ctr_release(&rig.drv, "rig");
	for (u32 i = 0; i < rig.m.nlogged; i++) /* who is forbidden writes no MSR */
		EXPECT(rig.log[i].op != AP_X86MODEL_WRMSR || rig.log[i].cpu % 2 == 0);
	EXPECT(rig.m.nlogged > 100);
	rig_init(&rig, "p6", true); /* only P4s share */
	EXPECT_U64(rig.drv.forbidden, 0);
}

/* --- counting */

static u64 count_on(const char *model, const struct ap_x86ctr_control *control, unsigned kind)
{
	struct ap_x86ctr_state a;
	struct rig rig;

	rig_init(&rig, model, false);
	rig_state(&rig, &a, control);
	ap_x86ctr_resume(&rig.drv, &a);
	rig_run(&rig, kind, 777, 1);
	ap_x86ctr_suspend(&rig.drv, &a);
	return a.pmc[0].sum;
}

static void events_are_counted(void)
{
	static const struct ap_x86ctr_control instr = { A(FAST | 17, CCCR_INSTR, INSTR) };
	static const struct ap_x86ctr_control branch = { A(16, CCCR_BRANCH, BRANCH) };
	static const struct ap_x86ctr_control taken = { A(14, CCCR_BRANCH, 0x0c001804) };
	static const struct ap_x86ctr_control cycles = { A(0, 0x3d000, 0x26000204) };
	static const struct ap_x86ctr_control l2 = { REPLAY(0x01000002, 1) };
	static const struct ap_x86ctr_control kernel = { A(12, CCCR_INSTR, 0x04000208) };

	EXPECT_U64(count_on("p4", &instr, AP_KIND_INSTR), 777);
	EXPECT_U64(count_on("p4m3", &instr, AP_KIND_INSTR), 777);
	EXPECT_U64(count_on("p4", &instr, AP_KIND_BRANCH), 0);
	EXPECT_U64(count_on("p4", &branch, AP_KIND_BRANCH), 777);
	EXPECT_U64(count_on("p4m2", &taken, AP_KIND_TAKEN), 777);
	EXPECT_U64(count_on("p4", &cycles, AP_KIND_CYCLES), 777);
	EXPECT_U64(count_on("p4", &l2, AP_KIND_LOAD_LLC_MISS), 777);
	EXPECT_U64(count_on("p4", &l2, AP_KIND_LOAD_L2_HIT), 0);
	EXPECT_U64(count_on("p4", &kernel, AP_KIND_INSTR), 0);
}

static void what_is_not_counted_says_so(void)
{
	static const struct {
		struct ap_x86ctr_control control;
		const char *why;
	} rows[] = {
		{ { A(12, CCCR_INSTR, 0x04000208) }, "only user mode is counted" },
		{ { A(12, 0x40038000, INSTR) }, "the counter is not enabled" },
		{ { A(12, CCCR_INSTR | 0x800, INSTR) }, "extended cascading is not modelled" },
		{ { A(12, CCCR_INSTR | 0x40000, INSTR) }, "thresholds and edges count cycles" },
		{ { A(12, CCCR_INSTR, INSTR | 0x10) },
		  "tags of single operations are not modelled" },
		{ { A(12, CCCR_INSTR, 0x02000204) }, "no model of the pipeline counts operations" },
		{ { A(12, CCCR_INSTR, 0x7e000204) }, "no count of the engine means this event" },
		{ { REPLAY(0, 0) }, "no count of the engine means this event" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ap_x86ctr_state a;
		const char *why = NULL;
		struct rig rig;

		rig_init(&rig, "p4m2", false);
		rig_state(&rig, &a, &rows[i].control);
		ap_x86ctr_resume(&rig.drv, &a);
		EXPECT_U64(ap_x86model_counts(&rig.m, a.pmc[0].map, &why), 0);
		REQUIRE(why);
		EXPECT_STR(why, rows[i].why);
	}
}

struct taker {
	struct rig *rig;
	struct ap_x86ctr_state *state;
	unsigned nsignals;
};

static void take(void *arg, unsigned long pc)
{
	struct taker *taker = arg;

	(void)pc;
	ap_x86ctr_suspend(&taker->rig->drv, taker->state);
	taker->nsignals += ap_x86ctr_identify_overflow(&taker->rig->drv, taker->state) == 2;
	ap_x86ctr_ireload(&taker->rig->drv, taker->state);
	ap_x86ctr_resume(&taker->rig->drv, taker->state);
	taker->rig->m.nlogged = 0;
}

static void enter(void *arg)
{
	struct taker *taker = arg;

	ap_x86ctr_interrupt(&taker->rig->drv, 0);
}

static unsigned count_signals(const struct ap_x86ctr_control *control, bool has_threads)
{
	struct ap_x86ctr_state a;
	struct rig rig;
	struct taker taker = { .rig = &rig, .state = &a };

	rig_init(&rig, "p4m2", has_threads);
	rig_state(&rig, &a, control);
	ap_x86ctr_set_ihandler(&rig.drv, take, &taker);
	rig.m.interrupt = enter;
	rig.m.interrupt_arg = &taker;
	ap_x86ctr_resume(&rig.drv, &a);
	for (unsigned i = 0; i < 10; i++) {
		rig_run(&rig, AP_KIND_INSTR, 101, 1);
		ap_x86ctr_suspend(&rig.drv, &a);
		rig.m.cpu = i % 2 * 2;
		ap_x86ctr_resume(&rig.drv, &a);
	}
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.pmc[0].sum, 1010);
	EXPECT_U64(a.pmc[1].sum, 1010);
	EXPECT_U64(rig.m.nfaults, 0);
	return taker.nsignals;
}

static void a_period_of_25_interrupts_each_25th(void)
{
	struct ap_x86ctr_control each = mixed;

	EXPECT_U64(count_signals(&mixed, false), 1010 / 25);
	EXPECT_U64(count_signals(&mixed, true), 1010 / 25);
	each.evntsel[1] |= FORCE;
	each.ireset[1] = -1;
	EXPECT_U64(count_signals(&each, false), 1010);
}

/* Counter 14 counts from the overflow of 12 on. */
static void a_counter_cascades_into_its_partner(void)
{
	struct ap_x86ctr_control control = { .nractrs = 2,
					     .pmc_map = { 12, 14 },
					     .evntsel = { CCCR_INSTR, 0x40038000 },
					     .p4.escr = { INSTR, INSTR } };
	struct ap_x86ctr_state a;
	struct rig rig;

	rig_init(&rig, "p4", false);
	rig_state(&rig, &a, &control);
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86model_ops.wrmsr(&rig.m, 0x30c, 0xffffffff9c); /* -100 */
	rig_run(&rig, AP_KIND_INSTR, 150, 1);
	EXPECT_U64(ap_x86model_ops.rdpmc(&rig.m, 12), 50);
	EXPECT_U64(ap_x86model_ops.rdpmc(&rig.m, 14), 50);
	EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x36c), 0x80000000u | CCCR_INSTR);
	ap_x86model_ops.wrmsr(&rig.m, 0x36e, 0x40038000);
	rig_run(&rig, AP_KIND_INSTR, 10, 1);
	EXPECT_U64(ap_x86model_ops.rdpmc(&rig.m, 14), 50);
	EXPECT_U64(rig.m.nfaults, 0);
}

static void registers_are_as_documented(void)
{
	static const struct {
		const char *model;
		u32 msr;
		u64 val;
		bool faults;
	} rows[] = {
		{ "p4", 0x360, 0xc7fff000, false },
		{ "p4", 0x360, 0x400, true },
		{ "p4", 0x360, 0x800, true },
		{ "p4m2", 0x360, 0x800, false },
		{ "p4", 0x371, 0x10000000, true },
		{ "p4m2", 0x371, 0x08000000, false },
		{ "p4", 0x372, 0, true },
		{ "p4", 0x3a0, 0x7ffffffc, false },
		{ "p4", 0x3a0, 1, true },
		{ "p4m2", 0x3a0, 0x7fffffff, false },
		{ "p4m3", 0x3e1, 0x80000000, true },
		{ "p4m2", 0x3ba, 4, false },
		{ "p4m3", 0x3ba, 4, true },
		{ "p4m3", 0x3bb, 4, true },
		{ "p4m3", 0x3bc, 4, false },
		{ "p4", 0x3bf, 0, true },
		{ "p4", 0x3c6, 0, true },
		{ "p4", 0x3ce, 0, true },
		{ "p4", 0x311, 0xffffffffff, false },
		{ "p4", 0x311, 1ULL << 40, true },
		{ "p4", 0x3f1, 0x01000607, false },
		{ "p4", 0x3f2, 0x80000000, true },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		ap_x86model_ops.wrmsr(&rig.m, rows[i].msr, rows[i].val);
		if (!EXPECT_U64(rig.m.nfaults, rows[i].faults))
			tap_note("%s: %x", rows[i].model, rows[i].msr);
		if (!rows[i].faults)
			EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, rows[i].msr), rows[i].val);
	}
}

static void whatever_is_taken_runs_without_a_fault(void)
{
	rig_fuzz("p4", false, 20000);
	rig_fuzz("p4m2", true, 20000);
	rig_fuzz("p4m3", false, 20000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(p4_controls),
		TAP(escrs_are_those_of_the_manual),
		TAP(registers_are_written_where_they_differ),
		TAP(second_threads_are_forbidden),
		TAP(events_are_counted),
		TAP(what_is_not_counted_says_so),
		TAP(a_period_of_25_interrupts_each_25th),
		TAP(a_counter_cascades_into_its_partner),
		TAP(registers_are_as_documented),
		TAP(whatever_is_taken_runs_without_a_fault),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
