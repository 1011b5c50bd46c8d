/* SPDX-License-Identifier: MIT */
/*
 * Liveness of the status flags, to find places where a counter update may clobber them.  Saving
 * flags around each update costs several times what counting does, so this is what makes the
 * engine fast.  Everything over-approximates: unknown is live.
 */
#include "engine/cache/region.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"

#define PEEK_INSNS 8

/* One instruction, scanning forward: returns false when the answer in *live is final. */
static bool scan(const struct ap_insn *i, u16 *live, u16 *open)
{
	*live |= i->fl_read & *open;
	*open &= (u16)~i->fl_write;
	return *open != 0;
}

/* May the instruction fault?  Then a handler would see the flags as they are before it. */
static bool may_fault(const struct ap_insn *i)
{
	if (i->flags & (AP_INSN_MEM_READ | AP_INSN_MEM_WRITE))
		return true;
	if (i->kind == AP_I_INT || i->kind == AP_I_UD)
		return true;
	return i->map == 0 && (i->opcode | 1) == 0xf7 && ((i->modrm >> 3) & 7) >= 6; /* div, idiv */
}

/*
 * A judgement about code elsewhere holds as long as that code does: the block is then dropped with
 * the page too.  False where the page may change unseen, or the block has pages enough.
 */
static bool depend_on(struct ap_sb *sb, u64 pc)
{
	const struct ap_range *r = ap_region_find(pc);
	u64 page = pc & AP_PAGE_MASK;

	for (u32 k = 0; k < sb->npages; k++)
		if (sb->pages[k] == page)
			return true;
	if (!r || r->flags & AP_RANGE_W || sb->npages == AP_BLOCK_PAGES)
		return false;
	sb->pages[sb->npages++] = page;
	return true;
}

u16 ap_live_at(struct ap_sb *sb, u64 pc)
{
	u16 live = 0, open = AP_FL_ALL;

	for (u32 n = 0; n < PEEK_INSNS; n++) {
		struct ap_insn i;
		u8 buf[AP_INSN_LOOK];
		u32 avail;

		if (!depend_on(sb, pc))
			break;
		avail = ap_sb_fetch_near(sb, pc, buf);
		if (avail == 0 || ap_insn_decode_in(&i, buf, avail) != 0)
			break;
		if (!depend_on(sb, pc + i.len - 1) || may_fault(&i))
			break;
		ap_fix_peek(pc, buf, i.len);
		if (!scan(&i, &live, &open))
			return live;
		if (i.kind == AP_I_JMP)
			pc = ap_insn_target(&i, pc);
		else if (i.kind == AP_I_OTHER)
			pc += i.len;
		else
			break;
	}
	return live | open;
}

/*
 * The final exit's counter may be updated anywhere after the last side exit.  First choice: before
 * an instruction there that replaces all flags, with nothing that can fault in between, so that no
 * frame ever shows the clobbered flags.  Second: the end, where the target overwrites them before
 * anything can fault; not where the end is shown to somebody.  Third: where they can be made again.
 * Else the end, flags-free.
 */
void ap_live_place_inc(struct ap_sb *sb)
{
	u32 first = sb->n, last = sb->final_kind == AP_EXIT_IBL ? sb->n - 1 : sb->n;
	u16 live = AP_FL_ALL;

	sb->inc_redo = 0;
	sb->inc_flags_ok = true;
	while (first > 0 && !sb->insns[first - 1].side && !sb->insns[first - 1].guard) {
		const struct ap_insn *i = &sb->insns[--first].i;

		live = may_fault(i) ? AP_FL_ALL : (u16)((live & ~i->fl_write) | i->fl_read);
		if (live == 0) {
			sb->inc_at = first;
			return;
		}
	}
	sb->inc_at = last;
	if (sb->final_kind == AP_EXIT_DIRECT && !sb->probe && !sb->walk &&
	    ap_live_at(sb, sb->final_target) == 0)
		return;
	for (sb->inc_at = first; sb->inc_at <= last; sb->inc_at++) {
		sb->inc_redo = ap_redo_find(sb, sb->inc_at);
		if (sb->inc_redo)
			return;
	}
	sb->inc_at = last;
	sb->inc_flags_ok = false;
}
