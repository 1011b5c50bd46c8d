/* SPDX-License-Identifier: MIT */
/*
 * A block from the store in place of a translation: the record is looked for by what is at pc, used if all bytes of the program
 * that it was made of are there, and written as translate.c would have written it for this place and this process.
 * Where anything does not fit the code is translated.
 */
#include "abi/switches.h"
#include "base/mem.h"
#include "engine/cache/lookup.h"
#include "engine/cache/region.h"
#include "engine/cache/store.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/translate/block.h"
#include "engine/translate/kept.h"

#define ANCHORS (AP_BLOCK_GUARDS + 1)

/* The record that was found last. */
static struct {
	const struct ap_record *r;
	struct ap_record_parts p;
	u64 anchor[ANCHORS];
	u32 counter[256]; /* of its vectors */
} cur;

/* What was looked for last, in vain; pc 0: it was found, or could not be asked for. */
static struct {
	u64 pc;
	struct ap_store_key key;
} missed;

bool ap_stored_may_be(void)
{
	const struct ap_session *s = ap_proc.session;

	return !ap_proc.nlanes && !ap_proc.direct && !ap_proc.carry && !ap_proc.native &&
	       ap_proc.flags & AP_F_COUNT && !(s->flags & AP_F_FIXED_TSC) &&
	       !ap_clients_change_code();
}

/* What code depends on beside the bytes of the program. */
static u64 how(void)
{
	u64 kinds = ap_proc.kinds;

	return (kinds ^ kinds << 32) * 4 + (ap_ibl_is_large() ? 2 : 0) + ap_proc.cpuid_faults;
}

struct ap_store_key ap_stored_key(u64 pc, const u8 bytes[16])
{
	const struct ap_range *r = ap_region_find(pc);

	return ap_store_key(pc, r ? (pc - r->start) / AP_PAGE_SIZE : 0, bytes, how());
}

/* Executable code of a file that does not change but by a system call. */
static bool is_steady(u64 at, u64 len)
{
	const struct ap_range *r = ap_region_find(at);

	return r && at + len <= r->end &&
	       (r->flags & (AP_RANGE_FILE | AP_RANGE_W | AP_RANGE_SHARED)) == AP_RANGE_FILE;
}

/* Where a guess leads here, and in a page as it did there: blocks are cut by pages. */
static bool find_anchors(u64 pc)
{
	const struct ap_record *r = cur.r;

	cur.anchor[0] = pc;
	if (r->nanchors >= ANCHORS)
		return false;
	for (u32 k = 0; k < r->nanchors; k++) {
		u64 *to = &cur.anchor[k + 1];

		if (ap_resident_copy(to, cur.anchor[k] + (u64)cur.p.anchors[k].word, 8) ||
		    (*to & ~AP_PAGE_MASK) != cur.p.anchors[k].in_page)
			return false;
	}
	return true;
}

static bool has_bytes(void)
{
	const u8 *want = cur.p.source, *end = want + cur.r->nsource;
	u8 is[AP_PAGE_SIZE / 4];

	for (u32 k = 0; k < cur.r->nranges; k++) {
		const struct ap_record_range *g = &cur.p.ranges[k];
		u64 at;

		if (g->anchor > cur.r->nanchors || g->len > sizeof(is) || g->len > end - want)
			return false;
		at = cur.anchor[g->anchor] + (u64)(s64)g->delta;
		if (!is_steady(at, g->len) || ap_resident_copy(is, at, g->len) ||
		    memcmp(is, want, g->len))
			return false;
		want += g->len;
	}
	return want == end;
}

static bool is_it(u64 pc)
{
	return ap_record_parts(cur.r, &cur.p) && cur.r->nexits && cur.r->nsites <= AP_IBL_SITES &&
	       cur.r->npages <= AP_BLOCK_PAGES && find_anchors(pc) && has_bytes();
}

bool ap_stored_find(struct ap_sb *sb, u64 pc)
{
	struct ap_store_key key;
	u8 bytes[16];

	missed.pc = 0;
	if (!is_steady(pc, 15) || ap_sb_fetch(pc, bytes) < 15)
		return false;
	key = ap_stored_key(pc, bytes);
	do
		cur.r = ap_store_next(&key);
	while (cur.r && !is_it(pc));
	if (!cur.r) {
		missed.pc = pc;
		missed.key = key;
		return false;
	}
	sb->pc = pc;
	sb->walk = sb->transient = sb->probe = false;
	sb->lazy = 0;
	sb->is_stored = true;
	return true;
}

bool ap_stored_is_wanted(u64 pc)
{
	return missed.pc == pc &&
	       (missed.key.is_marked || (ap_is_stressed(ap_proc.session, AP_STRESS_STORE)));
}

void ap_stored_note_made(const struct ap_sb *sb)
{
	if (missed.pc == sb->pc && !sb->transient && !sb->probe && !sb->lazy)
		ap_store_mark(&missed.key);
}

static u64 address_of(u32 anchor, s32 delta)
{
	return cur.anchor[anchor <= cur.r->nanchors ? anchor : 0] + (u64)(s64)delta;
}

static bool write32(u8 *field, u64 v, bool fits)
{
	__builtin_memcpy(field, &v, 4);
	return fits;
}

/* The counters of the vectors, as in this process; false: one has no number. */
static bool find_counters(void)
{
	for (u32 k = 0; k < cur.r->nvecs; k++) {
		u64 v = cur.p.vecs[k], group = v >> AP_VEC_TAG_SHIFT;
		struct ap_vec vec = { 0 };
		struct ap_adds adds;

		if (group >= AP_VEC_GROUPS)
			return false;
		vec.g[group] = v & ((1ULL << AP_VEC_TAG_SHIFT) - 1);
		ap_shape_adds(&vec, &adds);
		if (adds.n != 1 || adds.add[0].by != 1)
			return false;
		cur.counter[k] = adds.add[0].disp;
	}
	return true;
}

/* One field; code: of the block, in u. */
static bool fix(const struct ap_record_fix *f, u8 *code, const struct ap_unit *u,
		const struct ap_exit *exits)
{
	u8 *field = code + f->at;
	u64 v, v64;
	s64 rel;
	s32 v32;

	__builtin_memcpy(&v32, field, 4);
	v = address_of(f->arg, v32);
	switch (f->kind) {
	case AP_FIX_REL:
		rel = v32 - (s64)((u64)code - address_of(f->arg, 0));
		return write32(field, (u64)rel, ap_fits_s32(rel));
	case AP_FIX_ABS32:
		return write32(field, v, v <= 0x7fffffff);
	case AP_FIX_NEG32:
		return write32(field, -v, v <= 0x7fffffff);
	case AP_FIX_ABS64:
	case AP_FIX_NEG64:
		if (f->at + 8U > cur.r->code_len)
			return false;
		v64 = f->kind == AP_FIX_NEG64 ? -v : v;
		__builtin_memcpy(field, &v64, 8);
		return true;
	case AP_FIX_SHAPE:
		return write32(field, cur.counter[f->arg], f->arg < cur.r->nvecs);
	case AP_FIX_BRANCH:
		return write32(field,
			       ((u64)(u - ap_units) << AP_UNIT_OFF_BITS) + (u64)(code - u->base) +
				       (u32)v32,
			       true);
	case AP_FIX_TABLE:
		v = ap_ibl_table();
		return write32(field, v, ap_fits_s32((s64)v));
	case AP_FIX_STUB:
		if (f->arg >= cur.r->nexits)
			return false;
		ap_patch_rel32(field, exits[f->arg].stub);
		return true;
	default:
		return false;
	}
}

static bool fix_all(u8 *code, const struct ap_unit *u, const struct ap_exit *exits)
{
	for (u32 k = 0; k < cur.r->nfixes; k++)
		if (cur.p.fixes[k].at + 4U > cur.r->code_len ||
		    !fix(&cur.p.fixes[k], code, u, exits))
			return false;
	return true;
}

/* Their stubs from the unit's cold end down.  Returns where that is now. */
static u32 write_exits(struct ap_exit *exits, u8 *code, const struct ap_unit *u)
{
	u32 cold = u->cold;

	for (u32 k = 0; k < cur.r->nexits; k++) {
		const struct ap_record_exit *e = &cur.p.exits[k];
		struct ap_exit *x = &exits[k];

		*x = (struct ap_exit){ .kind = e->kind,
				       .special = e->special,
				       .site = e->site ? code + e->site : NULL };
		if (!e->is_there)
			continue;
		x->target = address_of(e->anchor, e->delta);
		cold += AP_STUB_SIZE;
		x->stub = u->base + u->size - cold;
		ap_stub_write(u, x);
	}
	return cold;
}

static struct ap_block *describe_block(u8 *code, struct ap_exit *exits)
{
	const struct ap_record *r = cur.r;
	u64 pages[AP_BLOCK_PAGES], jumps[255];
	const struct ap_block_parts parts = {
		.pages = pages,
		.jumps = jumps,
		.recs = cur.p.recs,
		.more = r->has_more ? cur.p.more : NULL,
		.npages = r->npages,
		.njumps = r->njumps,
		.nrecs = r->nrecs,
		.nsites = r->nsites,
	};
	struct ap_block *b;

	for (u32 k = 0; k < r->npages; k++)
		pages[k] = address_of(cur.p.pages[k].anchor, cur.p.pages[k].delta);
	for (u32 k = 0; k < r->njumps; k++)
		jumps[k] = address_of(cur.p.jumps[k].anchor, cur.p.jumps[k].delta);
	b = ap_block_new(&parts, exits, r->nexits);
	if (!b)
		return NULL;
	memcpy(ap_block_sites(b), cur.p.sites, r->nsites * sizeof(u16));
	for (u32 k = 0; k < r->nexits; k++)
		exits[k].from = b;
	b->pc = cur.anchor[0];
	b->code = code;
	b->final_vec = r->final_vec;
	b->small = r->small;
	b->last_pc = address_of(r->last_pc.anchor, r->last_pc.delta);
	return b;
}

/* In u behind its blocks, with all that depends on the place.  False: it does not fit. */
static bool write_code(struct ap_emit *e, const struct ap_unit *u, struct ap_exit *exits, u32 *cold)
{
	u8 *code = e->p;

	ap_emit_bytes(e, cur.p.code, cur.r->code_len);
	if (e->full)
		return false;
	*cold = write_exits(exits, code, u);
	return find_counters() && fix_all(code, u, exits);
}

struct ap_block *ap_stored_write(const struct ap_sb *sb, bool with_pad)
{
	const struct ap_record *r = cur.r;
	struct ap_unit *u = ap_unit_for(sb->pc); /* may flush: before anything is allocated */
	void *mark = ap_heap_mark();
	struct ap_exit *exits = u ? ap_heap_alloc(r->nexits * sizeof(*exits)) : NULL;
	struct ap_block *b = NULL;
	struct ap_emit e;
	u8 *pad = NULL;
	u32 cold, start;

	if (!exits)
		return NULL;
	e = (struct ap_emit){ u->base + u->used,
			      u->base + u->size - u->cold - r->nexits * AP_STUB_SIZE, false };
	ap_ibl_choose(false);
	if (with_pad)
		pad = ap_ibl_emit_pad(&e, sb->pc);
	else
		ap_emit_align(&e, 16);
	ap_emit_nops(&e, (u32)(r->phase - (u64)e.p) & 7);
	start = (u32)(e.p - u->base);
	if (write_code(&e, u, exits, &cold))
		b = describe_block(u->base + start, exits);
	if (!b) {
		ap_heap_rewind(mark);
		return NULL;
	}
	b->pad = pad;
	ap_block_place(b, u, e.p, cold, mark);
	return b;
}

struct ap_block *ap_stored_swap(struct ap_sb *sb, struct ap_block *b, bool with_pad)
{
	bool is_plain = !sb->transient && !sb->probe;

	if (!(ap_is_stressed(ap_proc.session, AP_STRESS_STORE)) || !is_plain ||
	    !ap_stored_find(sb, b->pc))
		return b;
	ap_block_undo(b);
	return ap_stored_write(sb, with_pad);
}
