/* SPDX-License-Identifier: MIT */
/* The rig of the drivers' tests: accesses as text, tables of rules, random controls. */
#include "rig.h"
#include "tap/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void rig_init(struct rig *rig, const char *model, bool has_threads)
{
	const struct ap_x86model_family *family = ap_x86model_find(model);

	REQUIRE(family);
	ap_x86model_init(&rig->m, family, rig->cpus, RIG_CPUS);
	rig->m.has_threads = has_threads;
	REQUIRE(ap_x86ctr_init(&rig->drv, &ap_x86model_ops, &rig->m, rig->caches, RIG_CPUS) == 0);
	REQUIRE(ap_x86ctr_reserve(&rig->drv, "rig") == NULL);
	REQUIRE(rig->m.nfaults == 0);
	rig->m.log = rig->log;
	rig->m.log_size = sizeof(rig->log) / sizeof(rig->log[0]);
	rig->m.nlogged = 0;
}

static int print_access(char *at, size_t room, const struct ap_x86model_access *a)
{
	static const char letters[] = "mwrta";
	char cpu[8] = "";
	const char *fault = a->faulted ? "!" : "";

	if (a->cpu)
		snprintf(cpu, sizeof(cpu), "%u:", (unsigned)a->cpu);
	if (a->op == AP_X86MODEL_WRMSR || a->op == AP_X86MODEL_APIC)
		return snprintf(at, room, "%s%c%x=%llx%s ", cpu, letters[a->op], a->reg,
				(unsigned long long)a->val, fault);
	if (a->op == AP_X86MODEL_RDTSC)
		return snprintf(at, room, "%st%s ", cpu, fault);
	return snprintf(at, room, "%s%c%x%s ", cpu, letters[a->op], a->reg, fault);
}

const char *rig_log(struct rig *rig)
{
	char *at = rig->text, *end = at + sizeof(rig->text);

	REQUIRE(rig->m.nlogged <= rig->m.log_size);
	*at = '\0';
	for (u32 i = 0; i < rig->m.nlogged; i++)
		at += print_access(at, (size_t)(end - at), &rig->log[i]);
	if (at > rig->text)
		at[-1] = '\0';
	rig->m.nlogged = 0;
	return rig->text;
}

void rig_run(struct rig *rig, unsigned kind, u64 n, u64 ticks)
{
	u64 kinds[AP_KIND_N] = { 0 };

	kinds[kind] = 1;
	while (n--)
		ap_x86model_count(&rig->m, kinds, ticks);
}

void rig_state(struct rig *rig, struct ap_x86ctr_state *state,
	       const struct ap_x86ctr_control *control)
{
	memset(state, 0, sizeof(*state));
	state->control = *control;
	REQUIRE(ap_x86ctr_update_control(&rig->drv, state, 0) == 0);
}

static void check_rule(const struct rule *rule)
{
	struct ap_x86ctr_state state = { .cstatus = 0x80000000, .control = rule->control };
	struct rig rig;
	int got;

	rig_init(&rig, rule->model, rule->has_threads);
	got = ap_x86ctr_update_control(&rig.drv, &state, rule->is_global);
	if (!EXPECT(got == rule->want))
		tap_note("%s, line %d, on %s: %d, not %d", rule->id, rule->line, rule->model, got,
			 rule->want);
	EXPECT_STR(rig_log(&rig), "");
	if (got < 0) {
		EXPECT_U64(state.cstatus, 0);
		return;
	}
	ap_x86ctr_resume(&rig.drv, &state);
	ap_x86ctr_sample(&rig.drv, &state);
	ap_x86ctr_suspend(&rig.drv, &state);
	if (!EXPECT(rig.m.nfaults == 0))
		tap_note("%s, line %d, on %s: %s", rule->id, rule->line, rule->model,
			 rig_log(&rig));
}

static const struct rule all_rules[] = {
#include "programs/abi_perfctr.h"
};

void rig_rules_of(const char *models)
{
	for (unsigned i = 0; i < sizeof(all_rules) / sizeof(all_rules[0]); i++) {
		const struct rule *rule = &all_rules[i];
		size_t n = strlen(rule->model);

		for (const char *at = strstr(models, rule->model); at;
		     at = strstr(at + 1, rule->model)) {
			if ((at == models || at[-1] == ' ') && (!at[n] || at[n] == ' ')) {
				check_rule(rule);
				break;
			}
		}
	}
}

void rig_rules(const struct rule *rules, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		check_rule(&rules[i]);
}

/* --- fuzz */

static u32 next(u32 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Mostly sensible: else next to nothing is taken and the rest is not tried. */
static void random_control(struct ap_x86ctr_control *c, u32 *seed, unsigned nrctrs)
{
	static const u32 often[] = { 0x4100c0,	 0x0100c0,   0x5100c0,	 0x410079,
				     0x00000053, 0x00000082, 0x000000c0, 0x00039000,
				     0x0403b000, 0x0003a000, 0x4003d000 };
	u32 first = nrctrs ? next(seed) % nrctrs : 0;

	memset(c, 0, sizeof(*c));
	c->tsc_on = next(seed) % 2;
	c->nractrs = next(seed) % 4;
	c->nrictrs = next(seed) % 3 ? 0 : next(seed) % 3;
	for (u32 i = 0; i < AP_X86CTR_MAX; i++) {
		c->pmc_map[i] = next(seed) % 8 ? (first + i) % (nrctrs ? nrctrs : 1)
					       : (next(seed) & 0x40000000) | next(seed) % 20;
		c->evntsel[i] = often[next(seed) % (sizeof(often) / sizeof(often[0]))];
		if (next(seed) % 4 == 0)
			c->evntsel[i] ^= 1u << next(seed) % 32;
		c->p4.escr[i] = next(seed) % 4 ? 0x0400020c : next(seed);
		c->ireset[i] = next(seed) % 8 ? -25 : (s32)next(seed);
	}
	if (next(seed) % 8 == 0) {
		c->p4.pebs_enable = 1u << 24 | next(seed) % 8;
		c->p4.pebs_matrix_vert = next(seed) % 4;
	}
}

void rig_fuzz(const char *model, bool has_threads, unsigned rounds)
{
	struct ap_x86ctr_state states[3] = { 0 };
	unsigned taken = 0;
	u32 seed = 2463534242u;
	struct rig rig;

	rig_init(&rig, model, has_threads);
	for (unsigned i = 0; i < rounds; i++) {
		struct ap_x86ctr_state *state = &states[next(&seed) % 3];

		if (next(&seed) % 2) {
			random_control(&state->control, &seed, ap_x86ctr_nrctrs(&rig.drv));
			if (ap_x86ctr_update_control(&rig.drv, state, next(&seed) % 2) == 0)
				taken++;
			else
				EXPECT_U64(state->cstatus, 0);
		}
		rig.m.cpu = next(&seed) % RIG_CPUS & ~(u32)has_threads;
		ap_x86ctr_resume(&rig.drv, state);
		rig_run(&rig, AP_KIND_INSTR, next(&seed) % 32, 3);
		ap_x86ctr_sample(&rig.drv, state);
		ap_x86ctr_suspend(&rig.drv, state);
		ap_x86ctr_identify_overflow(&rig.drv, state);
		rig.m.nlogged = 0;
	}
	EXPECT_U64(rig.m.nfaults, 0);
	EXPECT(taken > rounds / 100);
}
