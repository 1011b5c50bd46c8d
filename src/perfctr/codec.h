/* SPDX-License-Identifier: MIT */
/*
 * How perfctr's structures travel between programs and the service: each field that is not 0 as a word
 * tag << 16 | index << 1 | is64, then its value in one word or two.  Both ends agree about tags
 * and not about layouts, which may grow.
 */
#ifndef AP_PERFCTR_CODEC_H
#define AP_PERFCTR_CODEC_H

#include "perfctr/virtual.h"

struct ap_ctr_info {
	u32 abi_version;
	char driver_version[32];
	u32 cpu_type;
	u32 cpu_features;
	u32 cpu_khz;
	u32 tsc_to_cpu_mult;
	u32 reserved[3];
};
_Static_assert(sizeof(struct ap_ctr_info) == 64, "the layout that programs know");

/* Of one CPU: its control, and what it has counted. */
struct ap_gctr_control {
	u32 cpu;
	struct ap_x86ctr_control cpu_control;
	u32 reserved[4];
};
_Static_assert(sizeof(struct ap_gctr_control) == 344, "the layout that programs know");

struct ap_gctr_state {
	u32 cpu;
	struct ap_x86ctr_control cpu_control;
	struct ap_x86ctr_sum sum;
	u32 reserved[4];
};
_Static_assert(sizeof(struct ap_gctr_state) == 496 && offsetof(struct ap_gctr_state, sum) == 328,
	       "the layout that programs know");

struct ap_ctr_layout;
extern const struct ap_ctr_layout ap_ctr_layout_info, ap_ctr_layout_control, ap_ctr_layout_sum,
	ap_ctr_layout_gcontrol, ap_ctr_layout_gstate,
	ap_ctr_layout_gcpu; /* of a state its CPU, by which it is asked for */

/* Words written to out, which has room for cap; -EOVERFLOW: more are needed. */
AP_MUST_CHECK s32 ap_ctr_encode(const struct ap_ctr_layout *layout, const void *obj, u32 *out,
				u32 cap);
/* Fills obj, with 0 where nothing is said.  -EPROTO: something that the layout does not have. */
AP_MUST_CHECK int ap_ctr_decode(const struct ap_ctr_layout *layout, const u32 *in, u32 n,
				void *obj);

#endif
