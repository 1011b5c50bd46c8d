/* SPDX-License-Identifier: MIT */
/*
 * The driver on Core 2 and Nehalem: fixed counters, their one control register, and what they share with
 * the others.  Numbers of registers and bits are written out here: what is in the driver's headers is
 * under test.
 */
#include "abi/errno.h"
#include "rig.h"
#include "tap/tap.h"

#define INSTR  0x4100c0u /* enabled, user mode, INST_RETIRED */
#define BRANCH 0x4100c4u
#define INT    0x100000u
#define FIXED  0x40000000u

/* clang-format off */
static const struct rule rules[] = {
	RULE("J-024", "core2", 0, .nractrs = 5, .pmc_map = { 0, 1, FIXED, FIXED + 1, FIXED + 2 }, .evntsel = { INSTR, BRANCH, INSTR, INSTR, INSTR }),
	RULE("J-024", "core2", 0, .nractrs = 2, .pmc_map = { FIXED + 2, 1 }, .evntsel = { INSTR, INSTR }),
	RULE("J-024", "core2", -AP_EINVAL, .nractrs = 2, .pmc_map = { FIXED, FIXED }, .evntsel = { INSTR, INSTR }),
	RULE("K-044", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { 2 }, .evntsel = { INSTR }),
	RULE("K-044", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { FIXED + 3 }, .evntsel = { INSTR }),
	RULE("K-044", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { 0x80000000 }, .evntsel = { INSTR }),
	RULE("K-044", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { 0xc0000000 }, .evntsel = { INSTR }),
	RULE("K-065", "core2", -AP_EINVAL, .nractrs = 6, .pmc_map = { 0, 1, FIXED, FIXED + 1, FIXED + 2, 3 }, .evntsel = { INSTR, INSTR, INSTR, INSTR, INSTR, INSTR }),
	RULE("K-061", "core2", 0, .nractrs = 1, .pmc_map = { 1 }, .evntsel = { INSTR }),
	RULE("K-061", "core2", -AP_EINVAL, .nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { INSTR, 0x0100c0 }),
	RULE("K-061", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { FIXED }, .evntsel = { 0x010000 }),
	RULE("K-062", "core2", -AP_EPERM, .nractrs = 1, .evntsel = { INSTR | 1 << 19 }),
	RULE("K-062", "core2", -AP_EPERM, .nractrs = 1, .evntsel = { INSTR | 1 << 21 }),
	RULE("K-062", "core2", -AP_EPERM, .nractrs = 1, .pmc_map = { FIXED }, .evntsel = { INSTR | 1 << 21 }),
	RULE("K-065", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { FIXED }, .evntsel = { 0x400000 }),
	RULE("K-063", "core2", -AP_EINVAL, .nractrs = 1, .pmc_map = { FIXED }, .evntsel = { INSTR | INT }),
	RULE("K-063", "core2", -AP_EINVAL, .nrictrs = 1, .pmc_map = { FIXED }, .evntsel = { INSTR }, .ireset = { -25 }),
	RULE("K-063", "core2", 0, .nrictrs = 1, .pmc_map = { FIXED }, .evntsel = { INSTR | INT }, .ireset = { INT32_MIN }),
	RULE("K-013", "core2", -AP_EINVAL, .nrictrs = 1, .pmc_map = { FIXED }, .evntsel = { INSTR | INT }, .ireset = { 0 }),
	RULE("J-024", "nehalem", 0, .nractrs = 7, .pmc_map = { 3, 2, 1, 0, FIXED, FIXED + 1, FIXED + 2 }, .evntsel = { INSTR, INSTR, INSTR, INSTR, INSTR, INSTR, INSTR }),
	RULE("K-044", "nehalem", -AP_EINVAL, .nractrs = 1, .pmc_map = { 4 }, .evntsel = { INSTR }),
	RULE("K-044", "nehalem", -AP_EINVAL, .nractrs = 1, .pmc_map = { FIXED + 3 }, .evntsel = { INSTR }),
	RULE("J-025", "nehalem", 0, .nractrs = 1, .evntsel = { 0x4101b7 }, .p4.pebs_enable = 0xf7ff),
	RULE("J-025", "nehalem", -AP_EINVAL, .nractrs = 1, .evntsel = { 0x4101b7 }, .p4.pebs_enable = 0x800),
	RULE("J-025", "westmere", -AP_EINVAL, .nractrs = 1, .evntsel = { 0x4101b7 }, .p4.pebs_enable = 0x10000),
	RULE("K-062", "nehalem", -AP_EPERM, .nractrs = 1, .evntsel = { INSTR | 1 << 21 }),
};
/* clang-format on */

static void controls(void)
{
	rig_rules(rules, sizeof(rules) / sizeof(rules[0]));
}

static void cpus_are_told_by_cpuid(void)
{
	static const struct {
		const char *model, *name;
		u32 type, nrctrs;
	} rows[] = {
		{ "core2", "Intel Core 2", 18, 5 },
		{ "nehalem", "Intel Nehalem", 21, 7 },
		{ "westmere", "Intel Westmere", 22, 7 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		EXPECT_STR(rig.drv.ctr.name, rows[i].name);
		EXPECT_U64(rig.drv.ctr.type, rows[i].type);
		EXPECT_U64(rig.drv.ctr.features, 7);
		EXPECT_U64(ap_x86ctr_nrctrs(&rig.drv), rows[i].nrctrs);
	}
}

static void an_owner_clears_registers_and_enables_all(void)
{
	struct rig rig;

	rig_init(&rig, "core2", false);
	rig.m.ncpus = 1;
	ap_x86ctr_release(&rig.drv, "rig");
	EXPECT_STR(rig_log(&rig), "a340=100ee w186=0 w187=0 w38d=0 wc1=0 wc2=0 w309=0 w30a=0 "
				  "w30b=0 w390=700000003 w38f=700000003");
	rig_init(&rig, "nehalem", false);
	rig.m.ncpus = 1;
	ap_x86ctr_release(&rig.drv, "rig");
	EXPECT_STR(rig_log(&rig),
		   "a340=100ee w186=0 w187=0 w188=0 w189=0 w38d=0 wc1=0 wc2=0 wc3=0 "
		   "wc4=0 w309=0 w30a=0 w30b=0 w1a6=0 w390=70000000f w38f=70000000f");
}

static const struct ap_x86ctr_control both = { .tsc_on = 1,
					       .nractrs = 3,
					       .pmc_map = { FIXED, 1, FIXED + 1 },
					       .evntsel = { INSTR, BRANCH, 0x430000 } };

static void accumulating_counters_are_only_read(void)
{
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "core2", false);
	rig_state(&rig, &a, &both);
	rig_state(&rig, &b, &both);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w187=4100c4 w38d=32 t r40000000 r1 r40000001");
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "t r40000000 r1 r40000001");
	ap_x86ctr_resume(&rig.drv, &b); /* the same control under another name: nothing differs */
	EXPECT_STR(rig_log(&rig), "t r40000000 r1 r40000001");
}

static const struct ap_x86ctr_control periods = { .nractrs = 2,
						  .nrictrs = 2,
						  .pmc_map = { 0, FIXED + 1, 1, FIXED },
						  .evntsel = { INSTR, INSTR, BRANCH | INT,
							       INSTR | INT },
						  .ireset = { 0, 0, -3, -25 } };

static void interrupting_counters_are_stopped_and_not_reloaded(void)
{
	struct ap_x86ctr_state a, b;
	struct rig rig;

	rig_init(&rig, "core2", false);
	rig_state(&rig, &a, &periods);
	rig_state(&rig, &b, &both);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig),
		   "wc2=fffffffd w309=ffffffffe7 w390=100000002 w186=4100c0 w187=5100c4 "
		   "w38d=2a r0 r40000001");
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w187=0 w38d=0 r1 r40000000 r0 r40000001");
	ap_x86ctr_resume(&rig.drv, &a); /* only the controls that were stopped */
	EXPECT_STR(rig_log(&rig), "w187=5100c4 w38d=2a r0 r40000001");
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b);
	rig_log(&rig);
	ap_x86ctr_suspend(&rig.drv, &b);
	ap_x86ctr_resume(&rig.drv, &a); /* behind another: stopped, loaded, started */
	EXPECT_STR(rig_log(&rig),
		   "t r40000000 r1 r40000001 w187=0 wc2=fffffffd w38d=0 "
		   "w309=ffffffffe7 w390=100000002 w187=5100c4 w38d=2a r0 r40000001");
}

struct taker {
	struct rig *rig;
	struct ap_x86ctr_state *state;
	unsigned n[4];
};

static void take(void *arg, unsigned long pc)
{
	struct taker *t = arg;
	u32 mask;

	(void)pc;
	ap_x86ctr_suspend(&t->rig->drv, t->state);
	mask = ap_x86ctr_identify_overflow(&t->rig->drv, t->state);
	for (unsigned i = 0; i < 4; i++)
		t->n[i] += mask >> i & 1;
	ap_x86ctr_ireload(&t->rig->drv, t->state);
	ap_x86ctr_resume(&t->rig->drv, t->state);
	t->rig->m.nlogged = 0;
}

static void enter(void *arg)
{
	ap_x86ctr_interrupt(&((struct taker *)arg)->rig->drv, 0);
}

/* Both kinds of counters have their periods, and what accumulates beside loses nothing. */
static void periods_of_both_kinds_are_exact(void)
{
	static const char *const models[] = { "core2", "nehalem", "westmere" };

	for (unsigned m = 0; m < 3; m++) {
		struct ap_x86ctr_state a;
		struct rig rig;
		struct taker t = { .rig = &rig, .state = &a };

		rig_init(&rig, models[m], false);
		rig_state(&rig, &a, &periods);
		ap_x86ctr_set_ihandler(&rig.drv, take, &t);
		rig.m.interrupt = enter;
		rig.m.interrupt_arg = &t;
		ap_x86ctr_resume(&rig.drv, &a);
		EXPECT_U64(ap_x86model_room(&rig.m, AP_KIND_INSTR), 25);
		EXPECT_U64(ap_x86model_room(&rig.m, AP_KIND_BRANCH), 3);
		rig_run(&rig, AP_KIND_BRANCH, 100, 1);
		for (int i = 0; i < 10; i++) {
			rig_run(&rig, AP_KIND_INSTR, 101, 1);
			ap_x86ctr_suspend(&rig.drv, &a);
			rig.m.cpu = (unsigned)i % 3;
			ap_x86ctr_resume(&rig.drv, &a);
		}
		rig_run(&rig, AP_KIND_CYCLES, 77, 1);
		ap_x86ctr_suspend(&rig.drv, &a);
		EXPECT_U64(t.n[2], 100 / 3);
		EXPECT_U64(t.n[3], 1010 / 25);
		EXPECT_U64(a.pmc[0].sum, 1010);
		EXPECT_U64(a.pmc[1].sum, 77);
		EXPECT_U64(a.pmc[2].sum, 100);
		EXPECT_U64(a.pmc[3].sum, 1010);
		EXPECT_U64(rig.m.nfaults, 0);
	}
}

/* --- the models */

static u64 written(struct rig *rig, u32 msr, u64 val)
{
	ap_x86model_ops.wrmsr(&rig->m, msr, val);
	return ap_x86model_ops.rdmsr(&rig->m, msr);
}

static void registers_are_as_documented(void)
{
	struct rig rig;

	rig_init(&rig, "core2", false);
	EXPECT_U64(written(&rig, 0xc1, 0x80000000), 0xff80000000);
	EXPECT_U64(written(&rig, 0x309, 0x8000000000), 0x8000000000);
	EXPECT_U64(written(&rig, 0x309, 0x80000000), 0x80000000); /* not extended */
	EXPECT_U64(ap_x86model_ops.rdpmc(&rig.m, 0x40000000), 0x80000000);
	EXPECT_U64(written(&rig, 0x38d, 0xbbb), 0xbbb);
	EXPECT_U64(written(&rig, 0x187, 1 << 22), 1 << 22);
	EXPECT_U64(rig.m.nfaults, 0);
	EXPECT_U64(written(&rig, 0x30b, 1ULL << 40), 0);
	EXPECT_U64(written(&rig, 0x38d, 4), 0xbbb);
	EXPECT_U64(written(&rig, 0x38f, 4), 0x700000003);
	EXPECT_U64(written(&rig, 0x186, 1 << 21), 0);
	EXPECT_U64(rig.m.nfaults, 4);
	ap_x86model_ops.rdpmc(&rig.m, 2);
	ap_x86model_ops.rdpmc(&rig.m, 0x40000003);
	EXPECT_U64(written(&rig, 0x188, 1), 0);
	EXPECT_U64(rig.m.nfaults, 8);
	rig_init(&rig, "nehalem", false);
	EXPECT_U64(written(&rig, 0x38d, 0xfff), 0xfff);
	EXPECT_U64(written(&rig, 0x1a6, 0xf7ff), 0xf7ff);
	EXPECT_U64(written(&rig, 0x186, 1 << 21), 1 << 21);
	EXPECT_U64(written(&rig, 0x30b, 0xffffffffffff), 0xffffffffffff);
	EXPECT_U64(rig.m.nfaults, 0);
}

/* What wraps is flagged, whether it interrupts or not; only the register for it clears, and only what it is told to. */
static void wraps_are_flagged_until_they_are_acknowledged(void)
{
	static const char *const models[] = { "core2", "nehalem", "westmere" };

	for (unsigned m = 0; m < 3; m++) {
		struct rig rig;

		rig_init(&rig, models[m], false);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 0);
		written(&rig, 0x186, INSTR);
		written(&rig, 0x187, BRANCH | INT);
		written(&rig, 0x38d, 2);
		written(&rig, 0xc1, 0xfffffffe);
		written(&rig, 0xc2, 0xffffffff);
		written(&rig, 0x309, (m ? 0xffffffffffff : 0xffffffffff) - 2);
		rig_run(&rig, AP_KIND_INSTR, 1, 1);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 0);
		rig_run(&rig, AP_KIND_BRANCH, 1, 1);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 2);
		rig_run(&rig, AP_KIND_INSTR, 1, 1);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 3);
		rig_run(&rig, AP_KIND_INSTR, 1, 1);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 0x100000003);
		EXPECT_U64(written(&rig, 0x390, 0x100000001), 0);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 2);
		EXPECT_U64(rig.m.nfaults, 0);
		EXPECT_U64(written(&rig, 0x38e, 0), 2); /* is to be read */
		EXPECT_U64(written(&rig, 0x390, 1ULL << 35 | 2), 0);
		EXPECT_U64(written(&rig, 0x390, 1ULL << (m ? 4 : 2) | 2), 0);
		EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 2);
		EXPECT_U64(rig.m.nfaults, 3);
	}
}

/* Who loads a counter finds its flag cleared, and others' as they were. */
static void loaded_counters_have_no_flag(void)
{
	struct ap_x86ctr_state a;
	struct rig rig;

	rig_init(&rig, "core2", false);
	rig_state(&rig, &a, &periods);
	written(&rig, 0x186, INSTR);
	written(&rig, 0xc1, 0xffffffff);
	written(&rig, 0x187, BRANCH);
	written(&rig, 0xc2, 0xffffffff);
	rig_run(&rig, AP_KIND_INSTR, 1, 1);
	rig_run(&rig, AP_KIND_BRANCH, 1, 1);
	EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 3);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 1);
	rig_run(&rig, AP_KIND_INSTR, 25, 1);
	EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 0x100000001);
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_U64(ap_x86ctr_identify_overflow(&rig.drv, &a), 8);
	ap_x86ctr_ireload(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &a);
	EXPECT_U64(ap_x86model_ops.rdmsr(&rig.m, 0x38e), 1);
	EXPECT_U64(rig.m.nfaults, 0);
}

static void what_is_not_counted_says_so(void)
{
	static const struct {
		u32 msr, val;
		unsigned counter;
		u64 kinds;
		const char *why;
	} rows[] = {
		{ 0x186, INSTR, 0, AP_KIND_BIT(AP_KIND_INSTR), NULL },
		{ 0x187, 0x410cc4, 1, AP_KIND_BIT(AP_KIND_TAKEN), NULL },
		{ 0x186, 0x0100c0, 0, 0, "the counter is not enabled" },
		{ 0x186, 0x4200c0, 0, 0, "only user mode is counted" },
		{ 0x186, 0x414ec0, 0, 0, "no count of the engine means this event" },
		{ 0x186, 0x01410000 | 0xc0, 0, 0, "thresholds and edges count cycles" },
		{ 0x38d, 0, 2, 0, "the counter is not enabled" },
		{ 0x38d, 1, 2, 0, "only user mode is counted" },
		{ 0x38d, 2, 2, AP_KIND_BIT(AP_KIND_INSTR), NULL },
		{ 0x38d, 0x30, 3, AP_KIND_BIT(AP_KIND_CYCLES), NULL },
		{ 0x38d, 0x300, 4, AP_KIND_BIT(AP_KIND_REF_CYCLES), NULL },
		{ 0x38f, 0, 0, 0, "the counter is not enabled" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why;
		struct rig rig;

		rig_init(&rig, "core2", false);
		written(&rig, rows[i].msr, rows[i].val);
		EXPECT_U64(ap_x86model_counts(&rig.m, rows[i].counter, &why), rows[i].kinds);
		EXPECT((why == NULL) == (rows[i].why == NULL));
		if (why && rows[i].why)
			EXPECT_STR(why, rows[i].why);
	}
}

static void whatever_is_taken_runs_without_a_fault(void)
{
	rig_fuzz("core2", false, 20000);
	rig_fuzz("nehalem", false, 20000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(controls),
		TAP(cpus_are_told_by_cpuid),
		TAP(an_owner_clears_registers_and_enables_all),
		TAP(accumulating_counters_are_only_read),
		TAP(interrupting_counters_are_stopped_and_not_reloaded),
		TAP(periods_of_both_kinds_are_exact),
		TAP(registers_are_as_documented),
		TAP(wraps_are_flagged_until_they_are_acknowledged),
		TAP(loaded_counters_have_no_flag),
		TAP(what_is_not_counted_says_so),
		TAP(whatever_is_taken_runs_without_a_fault),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
