/* SPDX-License-Identifier: MIT */
/* The driver for 32-bit PowerPC on models of its CPUs.  Registers are written by their numbers. */
#include "abi/errno.h"
#include "perfctr/model/ppc.h"
#include "tap/tap.h"

#include <stdio.h>
#include <string.h>

#define CPUS 3

struct rig {
	struct ap_ppcmodel m;
	struct ap_ppcmodel_cpu cpus[CPUS];
	struct ap_ppcctr drv;
	struct ap_ppcctr_cache caches[CPUS];
	struct ap_ppcmodel_access log[128];
	char text[4096];
};

static void rig_init(struct rig *rig, const char *model)
{
	const struct ap_ppcmodel_family *family = ap_ppcmodel_find(model);

	REQUIRE(family);
	ap_ppcmodel_init(&rig->m, family, rig->cpus, CPUS);
	REQUIRE(ap_ppcctr_init(&rig->drv, &ap_ppcmodel_ops, &rig->m, rig->caches, CPUS) == 0);
	REQUIRE(ap_ppcctr_reserve(&rig->drv, "rig") == NULL);
	REQUIRE(rig->m.nfaults == 0);
	rig->m.log = rig->log;
	rig->m.log_size = sizeof(rig->log) / sizeof(rig->log[0]);
	rig->m.nlogged = 0;
}

/* "w952=80" writes, "953" reads; "2:" is CPU 2, "!" a fault; t the timebase. */
static const char *rig_log(struct rig *rig)
{
	size_t at = 0;

	REQUIRE(rig->m.nlogged <= rig->m.log_size);
	rig->text[0] = '\0';
	for (u32 i = 0; i < rig->m.nlogged; i++) {
		const struct ap_ppcmodel_access *a = &rig->log[i];
		char *to = rig->text + at;
		size_t room = sizeof(rig->text) - at;

		if (a->cpu)
			at += (size_t)snprintf(to, room, "%u:", (unsigned)a->cpu);
		to = rig->text + at;
		room = sizeof(rig->text) - at;
		if (a->is_write)
			at += (size_t)snprintf(to, room, "w%u=%x%s ", a->spr, a->val,
					       a->faulted ? "!" : "");
		else if (a->spr == 268)
			at += (size_t)snprintf(to, room, "t ");
		else
			at += (size_t)snprintf(to, room, "%u%s ", a->spr, a->faulted ? "!" : "");
	}
	if (at)
		rig->text[at - 1] = '\0';
	rig->m.nlogged = 0;
	return rig->text;
}

static void rig_run(struct rig *rig, unsigned kind, u64 n)
{
	u64 kinds[AP_KIND_N] = { 0 };

	kinds[kind] = 1;
	while (n--)
		ap_ppcmodel_count(&rig->m, kinds, 1);
}

static void rig_state(struct rig *rig, struct ap_ppcctr_state *state,
		      const struct ap_ppcctr_control *control)
{
	memset(state, 0, sizeof(*state));
	state->control = *control;
	REQUIRE(ap_ppcctr_update_control(&rig->drv, state, 0) == 0);
}

struct rule {
	const char *id;
	int line;
	const char *model;
	int want;
	struct ap_ppcctr_control control;
};

#define RULE(rule_id, cpu, answer, ...)                                                            \
	{                                                                                          \
		.id = (rule_id), .line = __LINE__, .model = (cpu), .want = (answer), .control = {  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* clang-format off */
static const struct rule rules[] = {
	RULE("L-043", "604", 0, .nractrs = 2, .pmc_map = { 1, 0 }, .evntsel = { 2, 1 }),
	RULE("L-043", "604", -AP_EINVAL, .nractrs = 3, .pmc_map = { 0, 1, 2 }),
	RULE("L-043", "604", -AP_EINVAL, .nractrs = 1, .pmc_map = { 2 }),
	RULE("L-043", "604e", 0, .nractrs = 4, .pmc_map = { 0, 1, 2, 3 }, .evntsel = { 1, 2, 1, 2 }),
	RULE("L-043", "604e", -AP_EINVAL, .nractrs = 1, .pmc_map = { 4 }),
	RULE("L-043", "604ev", 0, .nractrs = 1, .pmc_map = { 3 }),
	RULE("L-043", "750", 0, .nractrs = 1, .pmc_map = { 3 }),
	RULE("L-043", "750fx", -AP_EINVAL, .nractrs = 1, .pmc_map = { 4 }),
	RULE("L-043", "750gx", 0, .nractrs = 1, .pmc_map = { 3 }),
	RULE("L-043", "7400", -AP_EINVAL, .nractrs = 1, .pmc_map = { 4 }),
	RULE("L-043", "7410", 0, .nractrs = 1, .pmc_map = { 3 }),
	RULE("L-043", "7450", 0, .nractrs = 6, .pmc_map = { 5, 4, 3, 2, 1, 0 }, .evntsel = { 63, 31, 31, 31, 63, 127 }),
	RULE("L-043", "7455", 0, .nractrs = 1, .pmc_map = { 5 }),
	RULE("L-043", "7457", -AP_EINVAL, .nractrs = 7, .pmc_map = { 0, 1, 2, 3, 4, 5, 6 }),
	RULE("L-040", "7450", -AP_EINVAL, .nractrs = 1, .pmc_map = { 953 }),
	RULE("L-040", "750", -AP_EINVAL, .nractrs = 0xffffffff),
	RULE("J-024", "750", -AP_EINVAL, .nractrs = 2, .pmc_map = { 3, 3 }),
	RULE("L-050", "750", 0, .nractrs = 1, .pmc_map = { 0 }, .evntsel = { 127 }),
	RULE("L-050", "750", -AP_EINVAL, .nractrs = 1, .pmc_map = { 0 }, .evntsel = { 128 }),
	RULE("L-050", "750", -AP_EINVAL, .nractrs = 1, .pmc_map = { 1 }, .evntsel = { 64 }),
	RULE("L-050", "750", -AP_EINVAL, .nractrs = 1, .pmc_map = { 2 }, .evntsel = { 32 }),
	RULE("L-050", "750", -AP_EINVAL, .nractrs = 1, .pmc_map = { 3 }, .evntsel = { 32 }),
	RULE("L-050", "7450", -AP_EINVAL, .nractrs = 1, .pmc_map = { 4 }, .evntsel = { 32 }),
	RULE("L-050", "7450", -AP_EINVAL, .nractrs = 1, .pmc_map = { 5 }, .evntsel = { 64 }),
	RULE("L-045", "750", 0, .nractrs = 1, .ppc.mmcr0 = 0xfbffe000),
	RULE("L-045", "750", -AP_EPERM, .nractrs = 1, .ppc.mmcr0 = 0x00001000),
	RULE("L-045", "750", -AP_EPERM, .nractrs = 1, .ppc.mmcr0 = 0x00000001),
	RULE("L-045", "7450", -AP_EPERM, .nractrs = 1, .ppc.mmcr0 = 0x04000000),
	RULE("L-047", "7400", 0, .nractrs = 1, .ppc.mmcr2 = 0x80000000),
	RULE("L-047", "7450", 0, .nractrs = 1, .ppc.mmcr2 = 0x80000000),
	RULE("L-047", "7450", -AP_EPERM, .nractrs = 1, .ppc.mmcr2 = 0x40000000),
	RULE("L-047", "750", -AP_EPERM, .nractrs = 1, .ppc.mmcr2 = 0x80000000),
	RULE("L-047", "604e", -AP_EPERM, .nractrs = 1, .ppc.mmcr2 = 0x80000000),
	RULE("L-033", "750", -AP_EPERM, .nrictrs = 1, .ireset = { 25 }),
	RULE("L-033", "7450", -AP_EPERM, .nractrs = 1, .nrictrs = 1, .pmc_map = { 0, 1 }),
	RULE("L-013", "7450", -AP_EPERM, .nrictrs = 1, .ireset = { -25 }),
	RULE("L-049", "ppc", 0, .tsc_on = 1),
	RULE("L-049", "ppc", -AP_EINVAL, .tsc_on = 0),
	RULE("L-049", "ppc", -AP_EINVAL, .tsc_on = 2),
	RULE("L-049", "ppc", -AP_EINVAL, .tsc_on = 1, .nractrs = 1),
	RULE("L-049", "ppc", -AP_EPERM, .tsc_on = 1, .nrictrs = 1),
	RULE("J-007", "750", 0, .tsc_on = 1),
};
/* clang-format on */

static void check_rule(const struct rule *rule, int is_global)
{
	struct ap_ppcctr_state state = { .cstatus = 1, .control = rule->control };
	struct rig rig;
	int got;

	rig_init(&rig, rule->model);
	got = ap_ppcctr_update_control(&rig.drv, &state, is_global);
	if (!EXPECT(got == rule->want))
		tap_note("%s, line %d, on %s: %d, not %d", rule->id, rule->line, rule->model, got,
			 rule->want);
	EXPECT_STR(rig_log(&rig), "");
	if (got < 0)
		EXPECT_U64(state.cstatus, 0);
	ap_ppcctr_resume(&rig.drv, &state);
	ap_ppcctr_sample(&rig.drv, &state);
	ap_ppcctr_suspend(&rig.drv, &state);
	if (!EXPECT(rig.m.nfaults == 0))
		tap_note("%s, line %d, on %s: %s", rule->id, rule->line, rule->model,
			 rig_log(&rig));
	if (got < 0)
		EXPECT_STR(rig_log(&rig), "");
}

static void ppc_controls(void)
{
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		check_rule(&rules[i], 0);
		check_rule(&rules[i], 1); /* L-031 */
	}
}

/* L-045, L-047: each bit of the two words, alone. */
static void each_bit_is_refused_where_it_is_reserved(void)
{
	static const struct {
		const char *model;
		u32 mmcr0, mmcr2;
	} rows[] = {
		{ "604", 0x04001fff, 0xffffffff },   { "604e", 0x04001fff, 0xffffffff },
		{ "604ev", 0x04001fff, 0xffffffff }, { "750", 0x04001fff, 0xffffffff },
		{ "750fx", 0x04001fff, 0xffffffff }, { "750gx", 0x04001fff, 0xffffffff },
		{ "7400", 0x04001fff, 0x7fffffff },  { "7410", 0x04001fff, 0x7fffffff },
		{ "7450", 0x04001fff, 0x7fffffff },  { "7455", 0x04001fff, 0x7fffffff },
		{ "7457", 0x04001fff, 0x7fffffff },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model);
		for (u32 n = 0; n < 64; n++) {
			u32 bit = 1u << n % 32, reserved = n < 32 ? rows[i].mmcr0 : rows[i].mmcr2;
			struct ap_ppcctr_state a = { .control.nractrs = 1 };
			int want = reserved & bit ? -AP_EPERM : 0;

			*(n < 32 ? &a.control.ppc.mmcr0 : &a.control.ppc.mmcr2) = bit;
			if (!EXPECT(ap_ppcctr_update_control(&rig.drv, &a, 0) == want))
				tap_note("%s: bit %x of MMCR%d", rows[i].model, (unsigned)bit,
					 n < 32 ? 0 : 2);
			ap_ppcctr_resume(&rig.drv, &a);
			ap_ppcctr_suspend(&rig.drv, &a);
			EXPECT_U64(rig.m.nfaults, 0);
			rig_log(&rig);
		}
	}
}

static void layouts_are_those_of_programs(void)
{
	EXPECT_U64(sizeof(struct ap_ppcctr_sum), 72);
	EXPECT_U64(sizeof(struct ap_ppcctr_control), 132);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, pmc_map), 12);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, evntsel), 44);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, ireset), 76);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, ppc.mmcr0), 108);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, ppc.mmcr2), 112);
	EXPECT_U64(offsetof(struct ap_ppcctr_control, reserved), 116);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, k1.id), 4);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, k1.isuspend_cpu), 8);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, tsc_start), 12);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, tsc_sum), 16);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, pmc), 24);
	EXPECT_U64(offsetof(struct ap_ppcctr_state, ppc_mmcr), 152);
}

static void cpus_are_told_by_pvr(void)
{
	static const struct {
		const char *model, *name;
		u32 type, nrctrs, features;
	} rows[] = {
		{ "604", "PowerPC 604", 1, 2, 2 },
		{ "604e", "PowerPC 604e", 2, 4, 2 },
		{ "604ev", "PowerPC 604ev", 2, 4, 2 },
		{ "750", "PowerPC 750/740/750CX", 3, 4, 3 },
		{ "750fx", "PowerPC 750FX", 3, 4, 3 },
		{ "750gx", "PowerPC 750GX", 3, 4, 3 },
		{ "7400", "PowerPC 7400", 4, 4, 3 },
		{ "7410", "PowerPC 7410", 4, 4, 3 },
		{ "7450", "PowerPC 7451/7441", 5, 6, 3 },
		{ "7455", "PowerPC 7455/7445", 5, 6, 3 },
		{ "7457", "PowerPC 7457/7447", 5, 6, 3 },
		{ "ppc", "Generic PowerPC with timebase", 0, 0, 2 },
	};
	struct rig rig;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_init(&rig, rows[i].model);
		EXPECT_STR(rig.drv.ctr.name, rows[i].name);
		EXPECT_U64(rig.drv.ctr.type, rows[i].type);
		EXPECT_U64(ap_ppcctr_nrctrs(&rig.drv), rows[i].nrctrs);
		EXPECT_U64(rig.drv.ctr.features, rows[i].features);
		EXPECT_U64(rig.drv.timebase_hz, 25000000);
	}
	rig.m.timebase_hz = 0;
	EXPECT(ap_ppcctr_init(&rig.drv, &ap_ppcmodel_ops, &rig.m, rig.caches, CPUS) == -AP_ENODEV);
	EXPECT(rig.drv.ctr.name == NULL);
}

static void owners_clear_what_there_is(void)
{
	static const struct {
		const char *model, *log;
	} rows[] = {
		{ "604", "w952=0 w953=0 w954=0" },
		{ "750", "w952=0 w956=0 w953=0 w954=0 w957=0 w958=0" },
		{ "7400", "w952=0 w956=0 w944=0 w953=0 w954=0 w957=0 w958=0 w951=0" },
		{ "7450", "w952=0 w956=0 w944=0 w953=0 w954=0 w957=0 w958=0 w945=0 w946=0 w951=0" },
		{ "ppc", "" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model);
		rig.m.ncpus = 1;
		rig.cpus[0].bamr = 0xffffffff;
		ap_ppcctr_release(&rig.drv, "other");
		EXPECT_STR(rig_log(&rig), "");
		ap_ppcctr_release(&rig.drv, "rig");
		EXPECT_STR(rig_log(&rig), rows[i].log);
		EXPECT(ap_ppcctr_reserve(&rig.drv, "other") == NULL);
		EXPECT_STR(ap_ppcctr_reserve(&rig.drv, "rig"), "other");
		EXPECT_STR(rig_log(&rig), rows[i].log);
	}
}

static const struct ap_ppcctr_control six = { .tsc_on = 1,
					      .nractrs = 6,
					      .pmc_map = { 0, 1, 2, 3, 4, 5 },
					      .evntsel = { 127, 2, 1, 2, 31, 63 },
					      .ppc = { .mmcr0 = 0x40000000, .mmcr2 = 0x80000000 } };

static void selectors_go_where_the_manual_says(void)
{
	static const struct {
		u32 pmc, mmcr0, mmcr1;
	} rows[] = {
		{ 0, 0x55 << 6, 0 },  { 1, 0x15, 0 },	    { 2, 0, 0x15u << 27 },
		{ 3, 0, 0x15 << 22 }, { 4, 0, 0x15 << 17 }, { 5, 0, 0x15 << 11 },
	};
	struct ap_ppcctr_state a;
	struct rig rig;

	rig_init(&rig, "7450");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ap_ppcctr_control control = { .nractrs = 1,
						     .pmc_map = { rows[i].pmc },
						     .evntsel = { i ? 0x15 : 0x55 },
						     .ppc.mmcr0 = 0x00010000 };

		rig_state(&rig, &a, &control);
		EXPECT_U64(a.ppc_mmcr[0], rows[i].mmcr0 | 0x00010000);
		EXPECT_U64(a.ppc_mmcr[1], rows[i].mmcr1);
		EXPECT_U64(a.ppc_mmcr[2], 0);
	}
}

static void registers_are_written_where_they_differ(void)
{
	static const struct ap_ppcctr_control one = { .nractrs = 1,
						      .pmc_map = { 1 },
						      .evntsel = { 2 } };
	struct ap_ppcctr_state a, b;
	struct rig rig;

	rig_init(&rig, "7450");
	rig_state(&rig, &a, &six);
	rig_state(&rig, &b, &one);
	ap_ppcctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig),
		   "w944=80000000 w956=8bff800 w952=40001fc2 t 953 954 957 958 945 946");
	ap_ppcctr_suspend(&rig.drv, &a);
	ap_ppcctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "t 953 954 957 958 945 946 t 953 954 957 958 945 946");
	ap_ppcctr_suspend(&rig.drv, &a);
	rig_log(&rig);
	ap_ppcctr_resume(&rig.drv, &b);
	EXPECT_STR(rig_log(&rig), "w944=0 w956=0 w952=2 954");
	rig.m.cpu = 2;
	ap_ppcctr_suspend(&rig.drv, &b);
	ap_ppcctr_resume(&rig.drv, &b);
	EXPECT_STR(rig_log(&rig), "2:954 2:w952=2 2:954");
	ap_ppcctr_ireload(&rig.drv, &b);
	EXPECT_U64(ap_ppcctr_identify_overflow(&rig.drv, &b), 0);
	EXPECT_STR(rig_log(&rig), "");
}

static void sums_are_of_what_ran_here(void)
{
	static const char *const models[] = { "604", "604e", "750", "7400", "7450" };
	static const struct ap_ppcctr_control control = {
		.tsc_on = 1, .nractrs = 2, .pmc_map = { 1, 0 }, .evntsel = { 2, 1 }
	};

	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		struct ap_ppcctr_state a;
		struct rig rig;

		rig_init(&rig, models[i]);
		rig_state(&rig, &a, &control);
		rig.cpus[1].pmc[1] = 0xfffffff0; /* wraps */
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			rig.m.cpu = cpu;
			ap_ppcctr_resume(&rig.drv, &a);
			rig_run(&rig, AP_KIND_INSTR, 1000);
			rig_run(&rig, AP_KIND_CYCLES, 30);
			ap_ppcctr_suspend(&rig.drv, &a);
			rig_run(&rig, AP_KIND_INSTR, 100);
		}
		EXPECT_U64(a.pmc[0].sum, 3000);
		EXPECT_U64(a.pmc[1].sum, 90);
		EXPECT_U64(a.tsc_sum, 3090);
	}
}

/* PMC1 at 2^31 - 10 turns negative after ten; the condition freezes all, and stays away with the state. */
static void a_frozen_state_stays_frozen(void)
{
	static const struct ap_ppcctr_control control = {
		.nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { 2, 2 }, .ppc.mmcr0 = 0x02008000
	};
	static const struct ap_ppcctr_control other = { .nractrs = 1,
							.pmc_map = { 1 },
							.evntsel = { 2 } };
	struct ap_ppcctr_state a, b;
	struct rig rig;

	rig_init(&rig, "7400");
	rig_state(&rig, &a, &control);
	rig_state(&rig, &b, &other);
	ap_ppcctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 5);
	rig_log(&rig);
	ap_ppcctr_suspend(&rig.drv, &a); /* read back and frozen */
	EXPECT_STR(rig_log(&rig), "952 w952=82008082 953 954");
	ap_ppcctr_resume(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "w952=2008082 953 954");
	rig.cpus[0].pmc[0] = 0x7ffffff6;
	a.pmc[0].start = 0x7ffffff6;
	rig_run(&rig, AP_KIND_INSTR, 50);
	ap_ppcctr_suspend(&rig.drv, &a); /* it froze by itself */
	EXPECT_STR(rig_log(&rig), "952 953 954");
	EXPECT_U64(a.pmc[0].sum, 15);
	EXPECT_U64(a.pmc[1].sum, 15);
	ap_ppcctr_resume(&rig.drv, &b);
	rig_run(&rig, AP_KIND_INSTR, 7);
	ap_ppcctr_suspend(&rig.drv, &b);
	EXPECT_U64(b.pmc[0].sum, 7);
	ap_ppcctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 9);
	ap_ppcctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.pmc[1].sum, 15);
	EXPECT_U64(rig.m.nfaults, 0);
}

static void a_trigger_that_has_fired_is_not_set_again(void)
{
	static const struct ap_ppcctr_control control = {
		.nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { 2, 2 }, .ppc.mmcr0 = 0x0000a000
	};
	struct ap_ppcctr_state a;
	struct rig rig;

	rig_init(&rig, "7450");
	rig_state(&rig, &a, &control);
	rig.cpus[0].pmc[0] = 0x7ffffff6;
	ap_ppcctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 30);
	ap_ppcctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.pmc[0].sum, 30);
	EXPECT_U64(a.pmc[1].sum, 20);
	rig.m.cpu = 1;
	ap_ppcctr_resume(&rig.drv, &a);
	rig_run(&rig, AP_KIND_INSTR, 3);
	ap_ppcctr_suspend(&rig.drv, &a);
	EXPECT_U64(a.pmc[1].sum, 23);
	/* A 750 is not asked: nothing changes there that this driver knows of. */
	rig_init(&rig, "750");
	rig_state(&rig, &a, &control);
	ap_ppcctr_resume(&rig.drv, &a);
	rig_log(&rig);
	ap_ppcctr_suspend(&rig.drv, &a);
	EXPECT_STR(rig_log(&rig), "953 954");
}

static void registers_are_as_documented(void)
{
	static const struct {
		const char *model;
		u32 spr, val;
		bool faults;
	} rows[] = {
		{ "604", 952, 0xffffffff, false },
		{ "604", 956, 0, true },
		{ "604", 957, 0, true },
		{ "604e", 956, 0xffc00000, false },
		{ "604e", 956, 0x00200000, true },
		{ "750", 944, 0, true },
		{ "750", 945, 0, true },
		{ "750", 951, 0, true },
		{ "7400", 944, 0x80000000, false },
		{ "7400", 944, 1, true },
		{ "7400", 951, 5, false },
		{ "7400", 946, 0, true },
		{ "7450", 946, 0xffffffff, false },
		{ "7450", 956, 0xfffff800, false },
		{ "7450", 956, 0x400, true },
		{ "7450", 955, 0, true },
		{ "ppc", 952, 0, true },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model);
		ap_ppcmodel_ops.mtspr(&rig.m, rows[i].spr, rows[i].val);
		if (!EXPECT_U64(rig.m.nfaults, rows[i].faults))
			tap_note("%s: %u", rows[i].model, rows[i].spr);
		if (!rows[i].faults)
			EXPECT_U64(ap_ppcmodel_ops.mfspr(&rig.m, rows[i].spr), rows[i].val);
	}
}

static void what_is_not_counted_says_so(void)
{
	static const struct {
		struct ap_ppcctr_control control;
		const char *why;
	} rows[] = {
		{ { .nractrs = 1, .evntsel = { 2 }, .ppc.mmcr0 = 0x80000000 },
		  "the counters are frozen" },
		{ { .nractrs = 1, .evntsel = { 2 }, .ppc.mmcr0 = 0x20000000 },
		  "only user mode is counted, of processes without a mark" },
		{ { .nractrs = 1, .evntsel = { 2 }, .ppc.mmcr0 = 0x08000000 },
		  "only user mode is counted, of processes without a mark" },
		{ { .nractrs = 1, .pmc_map = { 2 }, .evntsel = { 2 }, .ppc.mmcr0 = 0x2000 },
		  "PMC1 has not triggered" },
		{ { .nractrs = 1 }, "no event is selected" },
		{ { .nractrs = 1, .evntsel = { 9 } }, "no count of the engine means this event" },
		{ { .nractrs = 1, .pmc_map = { 5 }, .evntsel = { 2 } },
		  "no count of the engine means this event" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ap_ppcctr_state a;
		const char *why = NULL;
		struct rig rig;

		rig_init(&rig, "7450");
		rig_state(&rig, &a, &rows[i].control);
		ap_ppcctr_resume(&rig.drv, &a);
		EXPECT_U64(ap_ppcmodel_counts(&rig.m, a.pmc[0].map, &why), 0);
		REQUIRE(why);
		EXPECT_STR(why, rows[i].why);
	}
}

/* Codes of the manuals, each on a counter that has it and on one that has not. */
static void events_are_those_of_the_manuals(void)
{
	static const struct {
		const char *model;
		u32 pmc, event;
		u64 kinds;
	} rows[] = {
		{ "604", 0, 1, AP_KIND_BIT(AP_KIND_CYCLES) },
		{ "604e", 3, 2, AP_KIND_BIT(AP_KIND_INSTR) },
		{ "7400", 2, 2, AP_KIND_BIT(AP_KIND_INSTR) },
		{ "750", 1, 0x0b, AP_KIND_BIT(AP_KIND_MEM) },
		{ "750", 2, 0x0b, 0 }, /* FPU instructions */
		{ "750fx", 3, 8,
		  AP_KIND_BIT(AP_KIND_COND_MISS) | AP_KIND_BIT(AP_KIND_INDIRECT_MISS) |
			  AP_KIND_BIT(AP_KIND_RETURN_MISS) },
		{ "7400", 1, 0x0b, AP_KIND_BIT(AP_KIND_LOAD) }, /* a 750 counts stores as well */
		{ "7410", 2, 5, AP_KIND_BIT(AP_KIND_TAKEN) },
		{ "7400", 0, 6, 0 },
		{ "604", 1, 8, AP_KIND_BIT(AP_KIND_BRANCH) },
		{ "604", 0, 8, 0 },
		{ "604e", 1, 18, AP_KIND_BIT(AP_KIND_LOAD) },
		{ "604e", 2, 11, AP_KIND_BIT(AP_KIND_SYSCALL) },
		{ "7450", 0, 0x22, AP_KIND_BIT(AP_KIND_BRANCH) },
		{ "7450", 1, 0x22, 0 },
		{ "7450", 1, 0x1a, AP_KIND_BIT(AP_KIND_LOAD) },
		{ "7450", 0, 0x14, AP_KIND_BIT(AP_KIND_STORE) },
		{ "7450", 1, 0x14, AP_KIND_BIT(AP_KIND_STORE) },
		{ "7450", 2, 0x14, 0 },
		{ "7455", 1, 0x19, AP_KIND_BIT(AP_KIND_MEM) },
		{ "7457", 0, 0x25, AP_KIND_BIT(AP_KIND_SYSCALL) },
		{ "7457", 1, 0x25, AP_KIND_BIT(AP_KIND_L1D_LOAD_MISS) },
		{ "7450", 3, 0x1c,
		  AP_KIND_BIT(AP_KIND_COND_MISS) | AP_KIND_BIT(AP_KIND_INDIRECT_MISS) |
			  AP_KIND_BIT(AP_KIND_RETURN_MISS) },
		{ "7450", 5, 5, AP_KIND_BIT(AP_KIND_LLC_CODE_MISS) },
		{ "7450", 3, 5, 0 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ap_ppcctr_control control = { .nractrs = 1,
							   .pmc_map = { rows[i].pmc },
							   .evntsel = { rows[i].event } };
		struct ap_ppcctr_state a;
		const char *why;
		struct rig rig;

		rig_init(&rig, rows[i].model);
		rig_state(&rig, &a, &control);
		ap_ppcctr_resume(&rig.drv, &a);
		if (!EXPECT_U64(ap_ppcmodel_counts(&rig.m, rows[i].pmc, &why), rows[i].kinds))
			tap_note("%s: %u@%u", rows[i].model, rows[i].event, rows[i].pmc);
	}
}

static u32 next(u32 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void random_control(struct ap_ppcctr_control *c, u32 *seed, u32 nrctrs)
{
	memset(c, 0, sizeof(*c));
	c->tsc_on = next(seed) % 2;
	c->nractrs = next(seed) % 4;
	c->nrictrs = next(seed) % 8 == 0;
	for (u32 i = 0; i < AP_PPCCTR_MAX; i++) {
		c->pmc_map[i] =
			next(seed) % 8 ? (i + next(seed) % 2) % (nrctrs ? nrctrs : 1) : next(seed);
		c->evntsel[i] = next(seed) % 4 ? 2 : next(seed) % 140;
	}
	c->ppc.mmcr0 = next(seed) % 4 ? next(seed) & 0x0200e000 : next(seed);
	c->ppc.mmcr2 = next(seed) % 4 ? 0 : next(seed) & 0xc0000000;
}

static void whatever_is_taken_runs_without_a_fault(void)
{
	static const char *const models[] = { "604", "604e", "750", "7400", "7450", "ppc" };

	for (unsigned m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		struct ap_ppcctr_state states[3] = { 0 };
		u32 seed = 88172645 + m, taken = 0;
		struct rig rig;

		rig_init(&rig, models[m]);
		for (unsigned i = 0; i < 20000; i++) {
			struct ap_ppcctr_state *state = &states[next(&seed) % 3];

			if (next(&seed) % 2) {
				random_control(&state->control, &seed, ap_ppcctr_nrctrs(&rig.drv));
				taken += ap_ppcctr_update_control(&rig.drv, state, 0) == 0;
			}
			rig.m.cpu = next(&seed) % CPUS;
			ap_ppcctr_resume(&rig.drv, state);
			rig_run(&rig, AP_KIND_INSTR, next(&seed) % 8);
			ap_ppcctr_suspend(&rig.drv, state);
		}
		EXPECT_U64(rig.m.nfaults, 0);
		EXPECT(taken > 200);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(layouts_are_those_of_programs),
		TAP(cpus_are_told_by_pvr),
		TAP(ppc_controls),
		TAP(each_bit_is_refused_where_it_is_reserved),
		TAP(owners_clear_what_there_is),
		TAP(selectors_go_where_the_manual_says),
		TAP(registers_are_written_where_they_differ),
		TAP(sums_are_of_what_ran_here),
		TAP(a_frozen_state_stays_frozen),
		TAP(a_trigger_that_has_fired_is_not_set_again),
		TAP(registers_are_as_documented),
		TAP(what_is_not_counted_says_so),
		TAP(events_are_those_of_the_manuals),
		TAP(whatever_is_taken_runs_without_a_fault),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
