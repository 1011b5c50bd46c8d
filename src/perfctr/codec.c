/* SPDX-License-Identifier: MIT */
/* See codec.h.  A layout is rows of fields; what a row says both directions follow. */
#include "perfctr/codec.h"
#include "abi/errno.h"
#include "base/mem.h"

struct codec_field {
	u16 tag, offset, n;
	bool is64;
};

struct ap_ctr_layout {
	u32 size;
	u32 nfields;
	const struct codec_field *fields;
};

#define LAYOUT(name, type)                                                                         \
	const struct ap_ctr_layout ap_ctr_layout_##name = { sizeof(type),                          \
							    AP_ARRAY_SIZE(name##_fields),          \
							    name##_fields }

/* clang-format off */
#define CONTROL(at)                                                                                \
	{ 32, (at), 1, false }, { 33, (at) + 4, 1, false }, { 34, (at) + 8, 1, false },            \
	{ 35, (at) + 12, 18, false }, { 36, (at) + 84, 18, false }, { 37, (at) + 236, 18, false }, \
	{ 38, (at) + 156, 18, false }, { 39, (at) + 228, 1, false }, { 40, (at) + 232, 1, false }, \
	{ 41, (at) + 308, 1, false }, { 42, (at) + 312, 1, false }, { 43, (at) + 316, 1, false },  \
	{ 44, (at) + 320, 1, false }

static const struct codec_field info_fields[] = {
	{ 0, 0, 1, false }, { 1, 4, 8, false }, { 2, 36, 1, false }, { 3, 40, 1, false },
	{ 4, 44, 1, false }, { 5, 48, 1, false }, { 6, 52, 1, false }, { 7, 56, 1, false },
	{ 8, 60, 1, false },
};
static const struct codec_field control_fields[] = {
	{ 9, 0, 1, false }, CONTROL(4), { 10, 328, 1, false }, { 11, 332, 1, false },
	{ 12, 336, 1, false }, { 13, 340, 1, false }, { 14, 344, 1, false },
};
static const struct codec_field gcontrol_fields[] = {
	{ 15, 0, 1, false }, CONTROL(4), { 16, 328, 1, false }, { 17, 332, 1, false },
	{ 18, 336, 1, false }, { 19, 340, 1, false },
};
static const struct codec_field sum_fields[] = {
	{ 48, 0, 1, true }, { 49, 8, 18, true },
};
static const struct codec_field gstate_fields[] = {
	{ 20, 0, 1, false }, CONTROL(4), { 48, 328, 1, true }, { 49, 336, 18, true },
	{ 21, 480, 1, false }, { 22, 484, 1, false }, { 23, 488, 1, false }, { 24, 492, 1, false },
};
static const struct codec_field gcpu_fields[] = {
	{ 20, 0, 1, false },
};
/* clang-format on */

LAYOUT(info, struct ap_ctr_info);
LAYOUT(control, struct ap_vctr_control);
LAYOUT(gcontrol, struct ap_gctr_control);
LAYOUT(sum, struct ap_x86ctr_sum);
LAYOUT(gstate, struct ap_gctr_state);
LAYOUT(gcpu, struct ap_gctr_state);

static u32 size_of(const struct codec_field *f)
{
	return f->is64 ? 8 : 4;
}

/* Two words of a field: the low one first, whatever the machine's order. */
static void split(const struct codec_field *f, const u8 *from, u32 val[2])
{
	u64 whole;

	val[1] = 0;
	memcpy(val, from, 4);
	if (!f->is64)
		return;
	memcpy(&whole, from, 8);
	val[0] = (u32)whole;
	val[1] = (u32)(whole >> 32);
}

static void join(const struct codec_field *f, const u32 *val, u8 *to)
{
	u64 whole;

	if (!f->is64) {
		memcpy(to, val, 4);
		return;
	}
	whole = val[0] | (u64)val[1] << 32;
	memcpy(to, &whole, 8);
}

static bool put(const struct codec_field *f, u32 i, const u8 *from, u32 *out, u32 cap, u32 *n)
{
	u32 val[2];

	split(f, from, val);
	if (!val[0] && !val[1])
		return true;
	if (cap - *n < 2U + f->is64)
		return false;
	out[(*n)++] = (u32)f->tag << 16 | i << 1 | f->is64;
	out[(*n)++] = val[0];
	if (f->is64)
		out[(*n)++] = val[1];
	return true;
}

s32 ap_ctr_encode(const struct ap_ctr_layout *layout, const void *obj, u32 *out, u32 cap)
{
	u32 n = 0;

	for (u32 k = 0; k < layout->nfields; k++) {
		const struct codec_field *f = &layout->fields[k];

		for (u32 i = 0; i < f->n; i++)
			if (!put(f, i, (const u8 *)obj + f->offset + i * size_of(f), out, cap, &n))
				return -AP_EOVERFLOW;
	}
	return (s32)n;
}

static const struct codec_field *find(const struct ap_ctr_layout *layout, u32 tag)
{
	for (u32 k = 0; k < layout->nfields; k++)
		if (layout->fields[k].tag == tag)
			return &layout->fields[k];
	return NULL;
}

int ap_ctr_decode(const struct ap_ctr_layout *layout, const u32 *in, u32 n, void *obj)
{
	memset(obj, 0, layout->size);
	for (u32 at = 0; at < n;) {
		u32 head = in[at++], i = head >> 1 & 0x7fff;
		const struct codec_field *f = find(layout, head >> 16);

		if (!f || i >= f->n || (head & 1) != f->is64 || n - at < 1U + f->is64)
			return -AP_EPROTO;
		join(f, &in[at], (u8 *)obj + f->offset + i * size_of(f));
		at += 1U + f->is64;
	}
	return 0;
}
