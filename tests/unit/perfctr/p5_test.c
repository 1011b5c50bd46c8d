/* SPDX-License-Identifier: MIT */
/* The driver on P5, its clones, VIA's C3 and an x86 that has only a TSC. */
#include "abi/errno.h"
#include "rig.h"
#include "tap/tap.h"

#define USR_INSTR    0x96 /* user mode, INSTRUCTIONS_EXECUTED */
#define USR_BRANCHES 0x92

/* An empty control stops a state before a driver sees it: the driver's answer is for itself alone. */
static const struct rule empty[] = { RULE("K-078", "generic", -AP_EINVAL, .tsc_on = 0) };

static void p5_like_controls(void)
{
	rig_rules(empty, 1);
	rig_rules_of("p5 p5mmx mii c6 winchip2 c3 generic");
}

static void cpus_are_told_by_cpuid(void)
{
	static const struct {
		const char *model, *name;
		u32 type, features;
	} rows[] = {
		{ "p5", "Intel Pentium", 1, 2 },
		{ "p5mmx", "Intel Pentium MMX", 2, 3 },
		{ "mii", "Cyrix 6x86MX/MII/III", 6, 3 },
		{ "c6", "WinChip C6", 7, 1 },
		{ "winchip2", "WinChip 2/3", 8, 1 },
		{ "c3", "VIA C3", 10, 3 },
		{ "generic", "Generic x86 with TSC", 0, 2 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		EXPECT_STR(rig.drv.ctr.name, rows[i].name);
		EXPECT_U64(rig.drv.ctr.type, rows[i].type);
		EXPECT_U64(rig.drv.ctr.features, rows[i].features);
	}
}

/* Of a CPU whose makers and features nobody knows. */
static void cpuid_of_nothing(void *host, u32 leaf, u32 regs[4])
{
	(void)host;
	regs[0] = leaf ? 0x0400 : 1;
	regs[1] = regs[2] = regs[3] = 0;
}

static void a_cpu_without_tsc_and_counters_is_none(void)
{
	struct ap_x86ctr_ops ops = ap_x86model_ops;
	struct rig rig;

	rig_init(&rig, "generic", false);
	EXPECT(ap_x86ctr_init(&rig.drv, &ops, &rig.m, rig.caches, 0) == -AP_EINVAL);
	EXPECT(ap_x86ctr_init(&rig.drv, &ops, &rig.m, rig.caches, 65) == -AP_EINVAL);
	ops.cpuid = cpuid_of_nothing;
	EXPECT(ap_x86ctr_init(&rig.drv, &ops, &rig.m, rig.caches, RIG_CPUS) == -AP_ENODEV);
	EXPECT(rig.drv.ctr.name == NULL);
	EXPECT_STR(rig_log(&rig), "");
}

/* Accesses of resume, suspend, resume under one control, then under another. */
static const char *accesses(const char *model, const struct ap_x86ctr_control *first,
			    const struct ap_x86ctr_control *second)
{
	static struct rig rig;
	struct ap_x86ctr_state a, b;

	rig_init(&rig, model, false);
	rig_state(&rig, &a, first);
	rig_state(&rig, &b, second);
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &a);
	ap_x86ctr_suspend(&rig.drv, &a);
	ap_x86ctr_resume(&rig.drv, &b);
	EXPECT_U64(rig.m.nfaults, 0);
	return rig_log(&rig);
}

static void both_controls_are_one_register(void)
{
	static const struct ap_x86ctr_control both = { .tsc_on = 1,
						       .nractrs = 2,
						       .pmc_map = { 1, 0 },
						       .evntsel = { USR_INSTR, USR_BRANCHES } };
	static const struct ap_x86ctr_control one = { .nractrs = 1,
						      .pmc_map = { 1 },
						      .evntsel = { USR_INSTR } };

	EXPECT_STR(accesses("p5", &both, &one),
		   "w11=960092 t m13 m12 t m13 m12 t m13 m12 t m13 m12 w11=960000 m13");
	EXPECT_STR(accesses("p5", &one, &one), "w11=960000 m13 m13 m13 m13 m13");
	EXPECT_STR(accesses("p5mmx", &both, &one),
		   "w11=960092 t r1 r0 t r1 r0 t r1 r0 t r1 r0 w11=960000 r1");
	EXPECT_STR(accesses("mii", &one, &both), "w11=960000 r1 r1 r1 r1 w11=960092 t r1 r0");
}

static void a_c3_has_one_register(void)
{
	static const struct ap_x86ctr_control instr = {
		.tsc_on = 1, .nractrs = 1, .pmc_map = { 1 }, .evntsel = { 0xc0 }
	};
	static const struct ap_x86ctr_control clocks = { .nractrs = 1,
							 .pmc_map = { 1 },
							 .evntsel = { 0x79 } };

	EXPECT_STR(accesses("c3", &instr, &clocks), "w187=c0 t r1 t r1 t r1 t r1 w187=79 r1");
}

static void owners_clear_what_there_is(void)
{
	static const struct {
		const char *model, *log;
	} rows[] = {
		{ "p5", "w11=0 w12=0 w13=0" },
		{ "mii", "w11=0 w12=0 w13=0" },
		{ "c6", "w11=0 w12=0 w13=0" },
		{ "c3", "w187=0 wc2=0" },
		{ "generic", "" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		rig.m.ncpus = 1;
		ap_x86ctr_release(&rig.drv, "rig");
		EXPECT_STR(rig_log(&rig), rows[i].log);
	}
}

static void sums_are_of_what_ran_here(void)
{
	static const struct {
		const char *model;
		struct ap_x86ctr_control control;
	} rows[] = {
		{ "p5", { .nractrs = 1, .pmc_map = { 1 }, .evntsel = { USR_INSTR } } },
		{ "p5mmx", { .nractrs = 1, .pmc_map = { 0 }, .evntsel = { 0xd6 } } },
		{ "mii", { .nractrs = 1, .pmc_map = { 1 }, .evntsel = { USR_INSTR } } },
		{ "c6", { .nractrs = 1, .pmc_map = { 1 }, .evntsel = { 2 } } },
		{ "winchip2", { .nractrs = 1, .pmc_map = { 0 }, .evntsel = { 2 } } },
		{ "c3", { .nractrs = 1, .pmc_map = { 1 }, .evntsel = { 0xc0 } } },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ap_x86ctr_state a;
		struct rig rig;

		rig_init(&rig, rows[i].model, false);
		rig_state(&rig, &a, &rows[i].control);
		rig_run(&rig, AP_KIND_INSTR, 5, 1);
		for (int turn = 0; turn < 3; turn++) {
			rig.m.cpu = (unsigned)turn;
			ap_x86ctr_resume(&rig.drv, &a);
			rig_run(&rig, AP_KIND_INSTR, 1000, 1);
			ap_x86ctr_suspend(&rig.drv, &a);
			rig_run(&rig, AP_KIND_INSTR, 100, 1);
		}
		if (!EXPECT_U64(a.pmc[0].sum, 3000))
			tap_note("%s", rows[i].model);
		EXPECT_U64(a.tsc_sum, 0);
	}
}

static void generic_counts_its_tsc(void)
{
	static const struct ap_x86ctr_control tsc = { .tsc_on = 1 };
	struct ap_x86ctr_state a;
	const char *why;
	struct rig rig;

	rig_init(&rig, "generic", false);
	rig_state(&rig, &a, &tsc);
	ap_x86ctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 10, 7);
	ap_x86ctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.tsc_sum, 70);
	EXPECT_U64(ap_x86ctr_nrctrs(&rig.drv), 0);
	EXPECT_U64(ap_x86model_counts(&rig.m, 0, &why), 0);
	EXPECT_STR(why, "the CPU has no such counter");
	ap_x86ctr_interrupt(&rig.drv, 0);
	EXPECT_STR(rig_log(&rig), "t t");
}

static u64 written(struct rig *rig, u32 msr, u64 val)
{
	ap_x86model_ops.wrmsr(&rig->m, msr, val);
	return ap_x86model_ops.rdmsr(&rig->m, msr);
}

static void registers_are_as_documented(void)
{
	static const struct {
		const char *model;
		u32 msr;
		u64 takes, keeps, faults_at;
	} rows[] = {
		{ "p5", 0x11, 0x03ff03ff, 0x03ff03ff, 0x0400 },
		{ "p5", 0x12, 0xffffffffff, 0xffffffffff, 1ULL << 40 },
		{ "mii", 0x11, 0x07ff07ff, 0x07ff07ff, 0x0800 },
		{ "mii", 0x13, 0xffffffffffff, 0xffffffffffff, 1ULL << 48 },
		{ "c6", 0x11, 0x00ff00ff, 0x00ff00ff, 0x0100 },
		{ "c3", 0x187, 0x1ff, 0x1ff, 0x200 },
		{ "c3", 0xc2, 0xffffffff, 0xffffffff, 1ULL << 32 },
	};
	struct rig rig;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_init(&rig, rows[i].model, false);
		EXPECT_U64(written(&rig, rows[i].msr, rows[i].takes), rows[i].keeps);
		EXPECT_U64(rig.m.nfaults, 0);
		EXPECT_U64(written(&rig, rows[i].msr, rows[i].faults_at), rows[i].keeps);
		EXPECT_U64(rig.m.nfaults, 1);
	}
	rig_init(&rig, "p5", false);
	ap_x86model_ops.rdpmc(&rig.m, 0);
	EXPECT_STR(rig_log(&rig), "r0!");
	rig_init(&rig, "c6", false);
	ap_x86model_ops.rdtsc(&rig.m);
	ap_x86model_ops.apic_write(&rig.m, 0x340, 0xee);
	EXPECT_STR(rig_log(&rig), "t! a340=ee!");
}

static void whatever_is_taken_runs_without_a_fault(void)
{
	rig_fuzz("p5", false, 20000);
	rig_fuzz("mii", false, 20000);
	rig_fuzz("c6", false, 20000);
	rig_fuzz("c3", false, 20000);
	rig_fuzz("generic", false, 20000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(p5_like_controls),
		TAP(cpus_are_told_by_cpuid),
		TAP(a_cpu_without_tsc_and_counters_is_none),
		TAP(both_controls_are_one_register),
		TAP(a_c3_has_one_register),
		TAP(owners_clear_what_there_is),
		TAP(sums_are_of_what_ran_here),
		TAP(generic_counts_its_tsc),
		TAP(registers_are_as_documented),
		TAP(whatever_is_taken_runs_without_a_fault),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
