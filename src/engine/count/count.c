/* SPDX-License-Identifier: MIT */
/*
 * What translated code counts, and the code that counts it: what an instruction adds to the groups of
 * kinds beside the base one, additions to a thread's counters, the iterations of rep instructions.
 */
#include "abi/raw.h"
#include "engine/count/profile.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"
#include "x86/fp.h"

/* ap_insn_more() */
#define LOAD	    1U
#define STORE	    2U
#define FP_COUNT(m) ((m) >> 2 & 3U)
#define FP_CLASS(m) ((m) >> 4)

_Static_assert(2 * (AP_BLOCK_INSNS + 1) <= AP_VEC_FIELD_MAX, "a block's vectors cannot overflow");
_Static_assert(AP_KIND_FP_512_SINGLE - AP_KIND_FP_SCALAR_DOUBLE == AP_FP_512_SINGLE, "one order");

#define ONE  AP_VEC_ONE
#define COND (ONE(AP_VEC_INSTR) + ONE(AP_VEC_COND) + ONE(AP_VEC_BRANCH))
#define JUMP (ONE(AP_VEC_INSTR) + ONE(AP_VEC_BRANCH) + ONE(AP_VEC_TAKEN))

const u64 ap_rec_vecs[AP_REC_CLASSES] = {
	[AP_REC_PLAIN] = ONE(AP_VEC_INSTR),
	[AP_REC_JCC_NT] = COND,
	[AP_REC_JCC_T] = COND + ONE(AP_VEC_TAKEN),
	[AP_REC_JMP] = JUMP,
	[AP_REC_CALL] = JUMP + ONE(AP_VEC_CALL),
	[AP_REC_FINAL] = ONE(AP_VEC_INSTR),
	[AP_REC_JMP_IND] = JUMP + ONE(AP_VEC_IND),
	[AP_REC_CALL_IND] = JUMP + ONE(AP_VEC_IND) + ONE(AP_VEC_CALL),
};

u64 ap_indirect_vec(const struct ap_insn *i)
{
	if (i->kind == AP_I_RET)
		return JUMP + ONE(AP_VEC_RET);
	return JUMP + ONE(AP_VEC_IND) + (i->kind == AP_I_CALL_IND ? ONE(AP_VEC_CALL) : 0);
}

static u32 access_of(const struct ap_insn *i)
{
	if (i->flags & AP_INSN_NO_ACCESS)
		return 0;
	return (i->flags & AP_INSN_MEM_READ ? LOAD : 0) |
	       (i->flags & AP_INSN_MEM_WRITE ? STORE : 0);
}

u8 ap_insn_more(const struct ap_insn *i, const u8 *code)
{
	u32 more = 0;
	struct ap_fp fp;

	if (ap_proc.kinds & AP_KIND_BIT(AP_KIND_MEM))
		more = access_of(i);
	if (ap_proc.kinds & AP_KINDS_FP) {
		fp = ap_insn_fp(i, code);
		if (fp.count && ap_proc.kinds & AP_KIND_BIT(AP_KIND_FP_SCALAR_DOUBLE + fp.class))
			more |= (u32)fp.count << 2 | (u32)fp.class << 4;
	}
	return (u8)more;
}

void ap_more_add(struct ap_vec *vec, u8 more)
{
	u32 count = FP_COUNT(more), field = FP_CLASS(more);
	u32 group = field < AP_FP_512_DOUBLE ? AP_VEC_FP : AP_VEC_FP512;

	/* loads, stores, either */
	vec->g[AP_VEC_MEM] += (more & LOAD) + (more & STORE ? AP_VEC_ONE(1) : 0) +
			      (more & (LOAD | STORE) ? AP_VEC_ONE(2) : 0);
	if (group == AP_VEC_FP512)
		field -= AP_FP_512_DOUBLE;
	vec->g[group] += count * AP_VEC_ONE(field);
}

void ap_emit_adds_flags(struct ap_emit *e, const struct ap_vec *vec)
{
	struct ap_adds adds;

	ap_shape_adds(vec, &adds);
	for (u32 k = 0; k < adds.n; k++) {
		ap_emit_gs_add_flags(e, adds.add[k].disp, adds.add[k].by);
		ap_fix_counter(e->p, adds.add[k].by);
	}
	if (ap_unlikely(vec->way))
		ap_emit_gs_add_flags(e, ap_profile_way_at(vec->way), 1);
}

void ap_emit_adds_reg(struct ap_emit *e, const struct ap_vec *vec, u8 reg)
{
	struct ap_adds adds;

	ap_shape_adds(vec, &adds);
	for (u32 k = 0; k < adds.n; k++) {
		ap_emit_gs_load(e, reg, adds.add[k].disp);
		ap_fix_counter(e->p, adds.add[k].by);
		ap_emit_lea_add(e, reg, adds.add[k].by);
		ap_emit_gs_store(e, reg, adds.add[k].disp);
		ap_fix_counter(e->p, adds.add[k].by);
	}
	if (ap_likely(!vec->way))
		return;
	ap_emit_gs_load(e, reg, ap_profile_way_at(vec->way));
	ap_emit_lea_add(e, reg, 1);
	ap_emit_gs_store(e, reg, ap_profile_way_at(vec->way));
}

void ap_mangle_rep_begin(struct ap_emit *e)
{
	ap_emit_gs_store(e, AP_RCX, AP_T_REP_RCX);
}

/* Without flags: the difference is taken by adding the complement. */
void ap_mangle_rep_end(struct ap_emit *e, bool is_ecx)
{
	static const u8 not_rcx[3] = { 0x48, 0xf7, 0xd1 };
	static const u8 lea_rdx_rdx_rcx_1[5] = { 0x48, 0x8d, 0x54, 0x0a, 1 };
	static const u8 mov_edx_edx[2] = { 0x89, 0xd2 };
	static const u8 lea_rcx_rcx_rdx[4] = { 0x48, 0x8d, 0x0c, 0x11 };
	const u32 counter = AP_T_SLOT_OFF + offsetof(struct ap_slot, extra) + 8U * AP_KIND_REP_ITER;

	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_A);
	ap_emit_gs_store(e, AP_RCX, AP_T_SPILL_B);
	ap_emit_gs_load(e, AP_RDX, AP_T_REP_RCX);
	ap_emit_bytes(e, not_rcx, sizeof(not_rcx));
	ap_emit_bytes(e, lea_rdx_rdx_rcx_1, sizeof(lea_rdx_rdx_rcx_1));
	if (is_ecx)
		ap_emit_bytes(e, mov_edx_edx, sizeof(mov_edx_edx));
	ap_emit_gs_load(e, AP_RCX, counter);
	ap_emit_bytes(e, lea_rcx_rcx_rdx, sizeof(lea_rcx_rcx_rdx));
	ap_emit_gs_store(e, AP_RCX, counter);
	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_B);
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_A);
}
