/* SPDX-License-Identifier: MIT */
/*
 * Intel P5 and P5MMX, and their clones from Cyrix (6x86MX, MII, III) and Centaur (WinChip C6, 2, 3):
 * two counters, and one register, CESR, with 16 bits of control for each.  None can interrupt.
 * A plain P5 has no RDPMC.  Centaur's have no privilege levels to choose and a TSC that is broken.
 * Sources: Intel SDM volume 3, "Performance Monitoring (Pentium Processors)"; data books of the MII and
 * of the WinChip C6.
 */
#include "perfctr/x86_family.h"

static int p5_check(const struct ap_x86ctr *drv, struct ap_x86ctr_state *state, int is_global)
{
	(void)drv;
	(void)state;
	(void)is_global;
	return 0;
}

static void p5_write_control(const struct ap_x86ctr *drv, struct ap_x86ctr_cache *cache,
			     const struct ap_x86ctr_state *state)
{
	u32 cesr = 0;

	for (u32 i = 0; i < ap_ctr_cstatus_nrctrs(state->cstatus); i++)
		cesr |= state->control.evntsel[i] << 16 * state->pmc[i].map;
	ap_x86ctr_load(drv, &cache->ctl[0], AP_MSR_P5_CESR, cesr);
}

static u64 p5_read(const struct ap_x86ctr *drv, u32 map)
{
	return drv->ops->rdmsr(drv->host, AP_MSR_P5_CTR0 + map);
}

static void p5_clear(const struct ap_x86ctr *drv)
{
	ap_x86ctr_clear_msrs(drv, AP_MSR_P5_CESR, 3);
}

#define P5_LIKE(reader, bits, levels, tsc_is_broken)                                               \
	{                                                                                          \
		.nrctrs = 2, .no_tsc = (tsc_is_broken), .reserved = 0xffff0000u | (bits),          \
		.cpl = (levels), .check = p5_check, .write_control = p5_write_control,             \
		.read = (reader), .clear = p5_clear                                                \
	}

const struct ap_x86ctr_family ap_x86ctr_p5 = P5_LIKE(p5_read, 0xfe00, 0x00c0, false);
const struct ap_x86ctr_family ap_x86ctr_p5mmx = P5_LIKE(ap_x86ctr_rdpmc, 0xfe00, 0x00c0, false);
const struct ap_x86ctr_family ap_x86ctr_cyrix = P5_LIKE(ap_x86ctr_rdpmc, 0xfa00, 0x00c0, false);
const struct ap_x86ctr_family ap_x86ctr_centaur = P5_LIKE(ap_x86ctr_rdpmc, 0xff00, 0, true);
