/* SPDX-License-Identifier: MIT */
/*
 * Each of the 32 bits of every word of a control, set alone in one that is taken: -EPERM where the documentation
 * reserves it, -EINVAL where it contradicts the rest, and else it is taken.
 */
#include "abi/errno.h"
#include "rig.h"
#include "tap/tap.h"

#include <string.h>

#define INT	   0x00100000u
#define ENABLE	   0x00400000u
#define CCCR_INSTR 0x00039000 /* enabled, any thread, CRU_ESCR0 or 1 */
#define EXTENDED   0x00000800u
#define PMI	   0x04000000u
#define INSTR	   0x04000204

enum word { EVNTSEL, ESCR, PEBS, MATRIX };

struct row {
	const char *id, *model;
	enum word word;
	u32 index;		/* of the counter whose word it is */
	u32 reserved, nonsense; /* the bits that are -EPERM, and -EINVAL */
	struct ap_x86ctr_control control;
	bool has_threads;
	int is_global;
};

#define ONE(map, sel)		.nractrs = 1, .pmc_map = { (map) }, .evntsel = { (sel) }
#define P4(map, cccr, escr_val) ONE(map, cccr), .p4.escr = { (escr_val) }
#define REPLAY			P4(14, 0x3b000, 0x12000204), .p4.pebs_enable = 0x01000001, .p4.pebs_matrix_vert = 1
#define P6_TWO			.nractrs = 2, .pmc_map = { 0, 1 }, .evntsel = { 0x4100c0, 0x0100c0 }

/* clang-format off */
static const struct row rows[] = {
	{ "K-051", "p5", EVNTSEL, 0, 0xfffffe00, 0, { ONE(0, 0x80) }, false, 0 },
	{ "K-051", "p5", EVNTSEL, 0, 0xfffffe00, 0, { ONE(1, 0x40) }, false, 0 },
	{ "K-051", "p5mmx", EVNTSEL, 0, 0xfffffe00, 0, { ONE(0, 0x80) }, false, 0 },
	{ "K-053", "mii", EVNTSEL, 0, 0xfffffa00, 0, { ONE(0, 0x80) }, false, 0 },
	{ "K-054", "c6", EVNTSEL, 0, 0xffffff00, 0, { ONE(0, 0) }, false, 0 },
	{ "K-054", "winchip2", EVNTSEL, 0, 0xffffff00, 0, { ONE(1, 0) }, false, 0 },
	{ "K-062", "p6", EVNTSEL, 0, 0x00280000, INT, { P6_TWO }, false, 0 },
	{ "K-061", "p6", EVNTSEL, 1, 0x00280000 | ENABLE, INT, { P6_TWO }, false, 0 },
	{ "K-062", "pii", EVNTSEL, 0, 0x00280000, INT, { P6_TWO }, false, 1 },
	{ "K-061", "piii", EVNTSEL, 1, 0x00280000 | ENABLE, INT, { P6_TWO }, false, 1 },
	{ "K-061", "pentium-m", EVNTSEL, 1, 0x00280000 | ENABLE, INT, { P6_TWO }, false, 0 },
	{ "K-070", "k7", EVNTSEL, 0, 0x00280000, INT, { ONE(0, 0x4100c0) }, false, 0 },
	{ "K-070", "k7", EVNTSEL, 0, 0x00280000, INT, { ONE(3, 0x4100c0) }, false, 0 },
	{ "K-070", "k8", EVNTSEL, 0, 0x00280000, INT, { ONE(1, 0x4100c0) }, false, 0 },
	{ "K-070", "k8c", EVNTSEL, 0, 0x00280000, INT, { ONE(2, 0x4100c0) }, false, 0 },
	{ "K-076", "c3", EVNTSEL, 0, 0xfffffe00, 0, { ONE(1, 0) }, false, 0 },
	{ "K-083", "p4", EVNTSEL, 0, 0xb80007ff | EXTENDED, PMI, { P4(12, CCCR_INSTR, INSTR) }, false, 0 },
	{ "K-083", "p4m2", EVNTSEL, 0, 0xb80007ff, PMI, { P4(12, CCCR_INSTR, INSTR) }, false, 0 },
	{ "K-083", "p4m3", EVNTSEL, 0, 0xb80007ff | EXTENDED, PMI, { P4(13, CCCR_INSTR, INSTR) }, false, 0 },
	{ "K-083", "p4m2", EVNTSEL, 0, 0xb80007ff, PMI, { P4(12, CCCR_INSTR, INSTR) }, true, 1 },
	{ "K-088a", "p4", ESCR, 0, 0x80000003, 0, { P4(12, CCCR_INSTR, INSTR) }, false, 0 },
	{ "K-088b", "p4m2", ESCR, 0, 0x80000003, 0, { P4(12, CCCR_INSTR, INSTR) }, true, 0 },
	{ "K-088b", "p4m2", ESCR, 0, 0x80000003, 0, { P4(12, CCCR_INSTR, INSTR) }, false, 1 },
	{ "K-088a", "p4m3", ESCR, 0, 0x80000000, 0, { P4(12, CCCR_INSTR, INSTR) }, true, 1 },
	{ "K-089c", "p4", PEBS, 0, (u32)~0x01000607, 0, { REPLAY }, false, 0 },
	{ "K-089d", "p4m2", MATRIX, 0, (u32)~3, 0, { REPLAY }, false, 0 },
};
/* clang-format on */

static u32 *word_of(struct ap_x86ctr_control *control, const struct row *row)
{
	switch (row->word) {
	case EVNTSEL:
		return &control->evntsel[row->index];
	case ESCR:
		return &control->p4.escr[row->index];
	case PEBS:
		return &control->p4.pebs_enable;
	default:
		return &control->p4.pebs_matrix_vert;
	}
}

static void check_bit(struct rig *rig, const struct row *row, u32 bit)
{
	struct ap_x86ctr_state state = { .control = row->control };
	int want = row->reserved & bit ? -AP_EPERM : row->nonsense & bit ? -AP_EINVAL : 0;
	int got;

	*word_of(&state.control, row) |= bit;
	got = ap_x86ctr_update_control(&rig->drv, &state, row->is_global);
	if (!EXPECT(got == want))
		tap_note("%s on %s, bit %x: %d, not %d", row->id, row->model, (unsigned)bit, got,
			 want);
	EXPECT_STR(rig_log(rig), "");
	if (got)
		return;
	ap_x86ctr_resume(&rig->drv, &state);
	ap_x86ctr_suspend(&rig->drv, &state);
	if (!EXPECT_U64(rig->m.nfaults, 0))
		tap_note("%s on %s, bit %x: %s", row->id, row->model, (unsigned)bit, rig_log(rig));
	rig_log(rig);
}

static void each_bit_is_refused_where_it_is_reserved(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		rig_init(&rig, rows[i].model, rows[i].has_threads);
		check_bit(&rig, &rows[i], 0);
		for (u32 bit = 1; bit; bit <<= 1)
			check_bit(&rig, &rows[i], bit);
	}
}

/* K-084: on model 2 and later, of counters 12 and 15 to 17. */
static void extended_cascading_is_for_some_counters(void)
{
	static const struct {
		const char *model;
		u32 takes; /* a bit for each counter */
	} cpus[] = { { "p4", 0 }, { "p4m2", 0x39000 }, { "p4m3", 0x39000 } };

	for (unsigned i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct rig rig;

		rig_init(&rig, cpus[i].model, false);
		for (u32 pmc = 0; pmc < 18; pmc++) {
			struct ap_x86ctr_state plain = { .control = { P4(pmc, 0x33000, INSTR) } };
			struct ap_x86ctr_state extended = { .control = { P4(pmc, 0x33000 | EXTENDED,
									    INSTR) } };
			int want = cpus[i].takes >> pmc & 1 ? 0 : -AP_EPERM;

			EXPECT(ap_x86ctr_update_control(&rig.drv, &plain, 0) == 0);
			if (!EXPECT(ap_x86ctr_update_control(&rig.drv, &extended, 0) == want))
				tap_note("%s, counter %u", cpus[i].model, (unsigned)pmc);
		}
	}
}

/* K-055, K-075, K-078, K-090: who has no entry in the local APIC for counters. */
static void only_some_cpus_interrupt(void)
{
	static const struct {
		const char *model;
		struct ap_x86ctr_control control;
		int want;
	} cpus[] = {
#define INTERRUPTS(map, sel, escr_val)                                                             \
	{ .nrictrs = 1,                                                                            \
	  .pmc_map = { (map) },                                                                    \
	  .evntsel = { (sel) },                                                                    \
	  .p4.escr = { (escr_val) },                                                               \
	  .ireset = { -25 } }
		{ "p5", INTERRUPTS(0, 0x96, 0), -AP_EPERM },
		{ "p5mmx", INTERRUPTS(0, 0x96, 0), -AP_EPERM },
		{ "mii", INTERRUPTS(0, 0x96, 0), -AP_EPERM },
		{ "c6", INTERRUPTS(0, 0x02, 0), -AP_EPERM },
		{ "winchip2", INTERRUPTS(0, 0x02, 0), -AP_EPERM },
		{ "c3", INTERRUPTS(1, 0xc0, 0), -AP_EPERM },
		{ "generic", INTERRUPTS(0, 0, 0), -AP_EPERM },
		{ "p6", INTERRUPTS(0, 0x5100c0, 0), 0 },
		{ "pii", INTERRUPTS(0, 0x5100c0, 0), 0 },
		{ "piii", INTERRUPTS(0, 0x5100c0, 0), 0 },
		{ "pentium-m", INTERRUPTS(0, 0x5100c0, 0), 0 },
		{ "k7", INTERRUPTS(3, 0x5100c0, 0), 0 },
		{ "k8", INTERRUPTS(2, 0x5100c0, 0), 0 },
		{ "k8c", INTERRUPTS(1, 0x5100c0, 0), 0 },
		{ "p4", INTERRUPTS(12, CCCR_INSTR | PMI, INSTR), 0 },
		{ "p4m2", INTERRUPTS(14, CCCR_INSTR | PMI, INSTR), 0 },
		{ "p4m3", INTERRUPTS(17, CCCR_INSTR | PMI, INSTR), 0 },
	};

	for (unsigned i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct ap_x86ctr_state state = { .control = cpus[i].control };
		struct rig rig;

		rig_init(&rig, cpus[i].model, false);
		if (!EXPECT(ap_x86ctr_update_control(&rig.drv, &state, 0) == cpus[i].want))
			tap_note("%s", cpus[i].model);
		EXPECT(!(rig.drv.ctr.features & 4) == (cpus[i].want != 0));
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_bit_is_refused_where_it_is_reserved),
		TAP(extended_cascading_is_for_some_counters),
		TAP(only_some_cpus_interrupt),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
