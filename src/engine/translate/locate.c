/* SPDX-License-Identifier: MIT */
/*
 * From a pc in the cache to the program's state there: which instruction, what has been counted,
 * which registers are spilled.  Async-safe: reads published tables only; the caller's thread being
 * inside the cache keeps them alive.
 */
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/count/lane.h"
#include "engine/count/profile.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"

bool ap_cache_contains(u64 pc)
{
	return ap_unit_of(pc) != NULL;
}

static struct ap_block *block_at(u64 pc)
{
	struct ap_unit *u = ap_unit_of(pc);
	struct ap_block **blocks;
	u32 lo = 0, hi;

	if (!u)
		return NULL;
	hi = __atomic_load_n(&u->nblocks, __ATOMIC_ACQUIRE);
	blocks = __atomic_load_n(&u->blocks, __ATOMIC_ACQUIRE);
	while (lo < hi) { /* last block that starts at or before pc */
		u32 mid = (lo + hi) / 2;

		if ((u64)blocks[mid]->code <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || pc >= (u64)blocks[lo - 1]->code + blocks[lo - 1]->code_len)
		return NULL;
	return blocks[lo - 1];
}

static bool is_rep(u8 cls)
{
	return cls == AP_REC_REP || cls == AP_REC_REP_ECX;
}

/* Walks the records of w->block to the one that holds the cache offset. */
static void walk_records(struct ap_where *w, u32 offset)
{
	const struct ap_block *b = w->block;
	bool after_inc = false;
	struct ap_rec_at i;

	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		w->app_pc = i.pc;
		if (offset < i.at + i.size) {
			w->offset = offset - i.at;
			w->code = b->code + i.at;
			w->app_len = i.app_len;
			w->clean = w->offset == 0 && !after_inc && i.cls != AP_REC_REP_DONE;
			return;
		}
		after_inc = i.cls == AP_REC_INC;
		w->inc_done |= after_inc;
		w->rep = is_rep(i.cls) ? i.cls : 0;
		w->prefix.g[AP_VEC_BASE] += ap_rec_vec(i.cls);
		w->nprefix += ap_rec_vec(i.cls) != 0;
		if (b->more)
			ap_more_add(&w->prefix, b->more[i.rec - b->recs]);
	}
	w->app_pc = i.pc;
	w->in_stub = true;
}

void ap_block_locate(struct ap_block *b, u32 offset, struct ap_where *w)
{
	memset(w, 0, sizeof(*w));
	w->block = b;
	w->app_pc = b->pc;
	walk_records(w, offset);
}

bool ap_cache_locate(u64 pc, struct ap_where *w)
{
	struct ap_block *b = block_at(pc);

	if (b)
		ap_block_locate(b, (u32)(pc - (u64)b->code), w);
	else
		memset(w, 0, sizeof(*w));
	return b;
}

void ap_count_extra(struct ap_thread *t, const struct ap_vec *vec, u64 times)
{
	u64 *extra = (u64 *)ap_thread_slot(t)->extra;

	for (u32 group = 0; group < AP_VEC_GROUPS; group++) {
		u64 v = vec->g[group];

		if (group == AP_VEC_BASE && ap_lanes_carry(t))
			v &= ~AP_VEC_FIELD_MASK(AP_VEC_INSTR);
		if (v)
			ap_shape_add(v | (u64)group << AP_VEC_TAG_SHIFT, times, extra);
	}
	if (ap_unlikely(t->nlanes))
		ap_lanes_add(t, vec, times);
}

/* Of leaving by the final exit. */
static struct ap_vec final_vec(const struct ap_block *b)
{
	struct ap_vec vec = { .g = { [AP_VEC_BASE] = ap_block_vec(b, b->final_vec) } };

	for (u32 k = 0; b->more && k < b->nrecs; k++)
		ap_more_add(&vec, b->more[k]);
	return vec;
}

/* Of a rep instruction those that are done, of a count that its class says the width of. */
static void count_iterations(struct ap_thread *t, u8 cls)
{
	u64 done = t->rep_rcx - t->regs.gpr[AP_RCX];

	ap_thread_slot(t)->extra[AP_KIND_REP_ITER] +=
		(s64)(cls == AP_REC_REP_ECX ? (u32)done : done);
}

static u32 insns_of(const struct ap_block *b)
{
	u32 n = 0;

	for (u32 k = 0; k < b->nrecs; k++)
		n += ap_rec_vec(b->recs[k].app_len_class >> 4) != 0;
	return n;
}

/* So many times the prefix, and less the final exit's where that has been counted. */
static void count_prefix(struct ap_thread *t, const struct ap_where *w, u64 times)
{
	struct ap_vec undo, prefix = w->prefix;

	prefix.g[AP_VEC_BASE] = ap_block_vec(w->block, prefix.g[AP_VEC_BASE]);
	ap_count_extra(t, &prefix, times);
	ap_profile_add_part(w->block->first_part, w->nprefix, times);
	if (!w->inc_done)
		return;
	ap_profile_add_part(w->block->first_part, insns_of(w->block), -times);
	undo = final_vec(w->block);
	ap_count_extra(t, &undo, -times);
}

void ap_cache_count_partial(struct ap_thread *t, const struct ap_where *w)
{
	if (!(ap_proc.flags & AP_F_COUNT))
		return;
	count_prefix(t, w, 1);
	if (w->rep)
		count_iterations(t, w->rep);
	ap_clients_counted_partly(t, w);
}

u64 ap_cache_leave_middle(struct ap_thread *t, const struct ap_exit *x)
{
	struct ap_where w;

	ap_block_locate(x->from, x->at, &w);
	ap_cache_count_partial(t, &w);
	return w.app_pc;
}

void ap_cache_take_back_partial(struct ap_thread *t, const struct ap_where *w)
{
	count_prefix(t, w, (u64)-1);
}

/* A move between a register below r8 and gs:disp, as ap_emit_gs writes it. */
static bool is_gs_move(const u8 *p, u8 op, u32 disp)
{
	const u8 want[] = { 0x65, 0x48, op, 0x04, 0x25, (u8)disp, (u8)(disp >> 8), 0, 0 };

	for (u32 k = 0; k < sizeof(want); k++)
		if ((k == 3 ? p[k] & 0xc7 : p[k]) != want[k])
			return false;
	return true;
}

/*
 * Which register holds something else at the sequence's access is read off what mangle.c wrote: the
 * source may be gone or another by now, and a handler must not touch what can fault.
 */
void ap_cache_fix_regs(struct ap_thread *t, const struct ap_where *w, u64 gpr[16])
{
	const u8 *p = w->code;

	if (w->offset == 0 || w->in_stub)
		return;
	if (is_gs_move(p, 0x89, AP_T_SPILL_RCX)) { /* an indirect transfer */
		gpr[AP_RCX] = t->spill_rcx;
	} else if (is_gs_move(p, 0x89, AP_T_SPILL_A)) {
		gpr[p[3] >> 3 & 7] = t->spill_a;
		/* lea addr, [addr + base]: a string instruction with the base of %gs added */
		if (is_gs_move(p + 9, 0x8b, AP_T_APP_GS))
			gpr[p[20] >> 3 & 7] -= t->app_gs_base;
	}
}
