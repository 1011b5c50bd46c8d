/* SPDX-License-Identifier: MIT */
/*
 * Intel P4: 18 counters, each with a CCCR that says whether it counts and which ESCR tells it what.
 * An ESCR serves several counters, so what it has must be what all of them want; a control that
 * asks one for two things is refused.  With two threads per core both share all registers.
 * Source: Intel SDM volume 3, "Performance Monitoring (Processors Based on Intel NetBurst
 * Microarchitecture)", the table of counters, CCCRs and ESCRs.
 */
#include "abi/errno.h"
#include "perfctr/x86_family.h"

#define CCCR_EXTENDED	   (1u << 11)
#define CCCR_ENABLE	   (1u << 12)
#define CCCR_SELECT(cccr)  ((cccr) >> 13 & 7)
#define CCCR_ACTIVE_THREAD (3u << 16)
#define CCCR_FORCE_OVF	   (1u << 25)
#define CCCR_OVF_PMI_T0	   (1u << 26)
#define CCCR_CASCADE	   (1u << 30)

#define ESCR_RESERVED 0x80000000u
#define ESCR_CPL_T1   0x00000003u

#define PEBS_UOP_TAG (1u << 24)
#define PEBS_REPLAY  0x607u /* bits 0, 1, 2, 9, 10 */
#define PEBS_PMV     3u

/* First ESCR by what a CCCR selects; its twin, for the second half of a group, is the next MSR. */
static const u16 escrs[4][8] = {
	/* BPU */ { 0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2, 0x3a0 },
	/* MS */ { 0x3c0, 0x3c4, 0x3c2 },
	/* FLAME */ { 0x3a6, 0x3a4, 0x3ae, 0x3b0, 0, 0x3a8 },
	/* IQ */ { 0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0 },
};

/* 0: there is none. */
static u32 escr_msr(const struct ap_x86ctr *drv, u32 pmc, u32 select)
{
	u32 group = pmc < 16 ? pmc / 4 : 3;
	u32 second = pmc < 16 ? pmc / 2 % 2 : pmc - 16;
	u32 msr = escrs[group][select];

	if (msr == 0x3be && second) /* SSU has one */
		return 0;
	if (msr == 0x3ba && drv->model > 2) /* IQ_ESCR0 and 1 are gone */
		return 0;
	return msr ? msr + second : 0;
}

static int check_cccr(const struct ap_x86ctr *drv, const struct ap_x86ctr_control *control, u32 i)
{
	u32 cccr = control->evntsel[i], pmc = ap_x86ctr_pmc(drv, control->pmc_map[i]);
	bool is_imode = i >= control->nractrs;

	if (cccr & CCCR_EXTENDED && (drv->model < 2 || (pmc != 12 && pmc < 15)))
		return -AP_EPERM;
	if (!drv->is_ht && (cccr & CCCR_ACTIVE_THREAD) != CCCR_ACTIVE_THREAD)
		return -AP_EINVAL;
	if (!(cccr & (CCCR_ENABLE | CCCR_CASCADE | CCCR_EXTENDED)))
		return -AP_EINVAL;
	if (!(cccr & CCCR_OVF_PMI_T0) == is_imode)
		return -AP_EINVAL;
	/* Interrupts at each event: no start but the last before zero makes sense. */
	if (is_imode && cccr & CCCR_FORCE_OVF && control->ireset[i] != -1)
		return -AP_EINVAL;
	return 0;
}

static int check_escr(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, u32 i,
		      int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;
	u32 escr = control->p4.escr[i];
	u32 msr = escr_msr(drv, ap_x86ctr_pmc(drv, control->pmc_map[i]),
			   CCCR_SELECT(control->evntsel[i]));

	if (escr & ESCR_RESERVED)
		return -AP_EPERM;
	if (escr & ESCR_CPL_T1 && !(drv->is_ht && is_global))
		return -AP_EPERM;
	if (!msr)
		return -AP_EINVAL;
	for (u32 j = 0; j < i; j++) {
		if (state->p4_escr_map[j] == msr && control->p4.escr[j] != escr)
			return -AP_EINVAL;
	}
	state->p4_escr_map[i] = msr;
	return 0;
}

static int check_replay(const struct ap_x86ctr_control *control)
{
	u32 enable = control->p4.pebs_enable, pmv = control->p4.pebs_matrix_vert;

	if (!enable)
		return pmv ? -AP_EPERM : 0;
	if (enable & ~(PEBS_UOP_TAG | PEBS_REPLAY) || pmv & ~PEBS_PMV)
		return -AP_EPERM;
	return enable & PEBS_UOP_TAG && enable & PEBS_REPLAY && pmv ? 0 : -AP_EINVAL;
}

static int p4_check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	const struct ap_x86ctr_control *control = &state->control;

	for (u32 i = 0; i < control->nractrs + control->nrictrs; i++) {
		int err = check_cccr(drv, control, i);

		if (!err)
			err = check_escr(drv, state, i, is_global);
		if (err)
			return err;
	}
	return check_replay(control);
}

/* CCCRs last: what they turn on then has its event. */
static void p4_write_control(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			     const struct ap_x86ctr_state *state)
{
	const struct ap_x86ctr_control *control = &state->control;

	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++) {
		u32 msr = state->p4_escr_map[i];

		ap_x86ctr_load(drv, &cache->escr[msr - AP_MSR_P4_ESCR0], msr, control->p4.escr[i]);
	}
	ap_x86ctr_load(drv, &cache->pebs_enable, AP_MSR_P4_PEBS, control->p4.pebs_enable);
	ap_x86ctr_load(drv, &cache->pebs_matrix_vert, AP_MSR_P4_PEBS_PMV,
		       control->p4.pebs_matrix_vert);
	ap_x86ctr_write_evntsels(drv, cache, state);
}

static void p4_clear(const struct ap_x86ctr *drv)
{
	ap_x86ctr_clear_msrs(drv, AP_MSR_P4_CCCR0, 18);
	ap_x86ctr_clear_msrs(drv, AP_MSR_P4_CTR0, 18);
	ap_x86ctr_clear_msrs(drv, 0x3a0, 0x3ba - 0x3a0);
	if (drv->model <= 2)
		ap_x86ctr_clear_msrs(drv, 0x3ba, 2);
	ap_x86ctr_clear_msrs(drv, 0x3bc, 3);
	ap_x86ctr_clear_msrs(drv, 0x3c0, 6);
	ap_x86ctr_clear_msrs(drv, 0x3c8, 6);
	ap_x86ctr_clear_msrs(drv, 0x3e0, 2);
	ap_x86ctr_clear_msrs(drv, AP_MSR_P4_PEBS, 2);
}

const struct ap_x86ctr_family ap_x86ctr_p4 = {
	.nrctrs = 18,
	.pmc_flags = AP_P4_FAST_RDPMC,
	.ctl0 = AP_MSR_P4_CCCR0,
	.ctr0 = AP_MSR_P4_CTR0,
	.write_mask = 0xffffffffff,
	.has_lvtpc = true,
	.reserved = 0xb80007ff, /* OVF, OVF_PMI_T1 and what the CPU has no use for */
	.check = p4_check,
	.write_control = p4_write_control,
	.read = ap_x86ctr_rdpmc,
	.clear = p4_clear,
};
