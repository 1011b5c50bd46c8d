/* SPDX-License-Identifier: MIT */
/*
 * What a block is in an exact profile: its instructions, and behind which of them it can be left.  It is made before the block is written,
 * since code that was made before has its numbers again.
 */
#include "engine/translate/ways.h"

#include "base/mem.h"
#include "engine/count/profile.h"
#include "engine/translate/sb.h"

#define WAYS_MAX (2 * (AP_BLOCK_INSNS + 1) + 1)

_Static_assert(AP_BLOCK_INSNS + 1 < AP_PROFILE_OTHER, "a way is a byte");

/* As the table has it; guarded by the process lock. */
static struct {
	struct ap_profile_block head;
	u8 rest[8 * (AP_BLOCK_INSNS + 1) + AP_BLOCK_INSNS + 1 + WAYS_MAX + 8];
} made;

static u32 kind_of(const struct ap_insn *i)
{
	switch (i->kind) {
	case AP_I_JCC:
	case AP_I_JRCXZ:
		return AP_PROFILE_COND;
	case AP_I_JMP:
		return AP_PROFILE_JUMP;
	case AP_I_JMP_IND:
		return AP_PROFILE_JUMP_IND;
	case AP_I_CALL:
		return AP_PROFILE_CALL;
	case AP_I_CALL_IND:
		return AP_PROFILE_CALL_IND;
	case AP_I_RET:
		return AP_PROFILE_RET;
	default:
		return AP_PROFILE_PLAIN;
	}
}

static u8 *put_jumps(const struct ap_sb *sb, u8 *to)
{
	for (u32 k = 0; k < sb->n; k++) {
		if (!ap_rec_jumps(sb->insns[k].cls))
			continue;
		memcpy(to, &sb->insns[k].next, sizeof(u64));
		to += sizeof(u64);
		made.head.njumps++;
	}
	return to;
}

static u8 *put_insns(const struct ap_sb *sb, u8 *to)
{
	for (u32 k = 0; k < sb->n; k++) {
		const struct ap_sb_insn *in = &sb->insns[k];

		*to++ = (u8)(in->i.len | (ap_rec_jumps(in->cls) ? AP_PROFILE_JUMPS : 0) |
			     kind_of(&in->i) << AP_PROFILE_KIND_SHIFT);
	}
	made.head.ninsns = (u16)sb->n;
	return to;
}

static u8 *put_way(u8 *to, u32 n, bool is_other)
{
	made.head.nways++;
	*to = (u8)(n | (is_other ? AP_PROFILE_OTHER : 0));
	return to + 1;
}

static u8 *put_ways(const struct ap_sb *sb, u8 *to, struct ap_ways *ways)
{
	for (u32 k = 0; k < sb->n; k++) {
		if (!sb->insns[k].side)
			continue;
		to = put_way(to, k + 1, !sb->insns[k].pmc);
		ways->nsides++;
	}
	for (u32 k = 0; k < sb->n; k++) {
		if (!sb->insns[k].guard)
			continue;
		to = put_way(to, k + 1, false);
		ways->nguards++;
	}
	return put_way(to, sb->n, false);
}

u32 ap_ways_take(const struct ap_sb *sb, bool is_counted, struct ap_ways *ways)
{
	u8 *end;

	*ways = (struct ap_ways){ 0 };
	if (!ap_profile_is_on() || !is_counted || !sb->n)
		return 0;
	memset(&made, 0, sizeof(made));
	made.head.pc = sb->pc;
	end = put_ways(sb, put_insns(sb, put_jumps(sb, made.rest)), ways);
	made.head.size = (u32)AP_ALIGN_UP((u64)(end - (u8 *)&made), 8);
	if (!ap_profile_number(&made.head))
		return 0;
	ways->first_way = made.head.first_way;
	ways->first_part = made.head.first_part;
	return ap_ways_end(ways);
}
