/* SPDX-License-Identifier: MIT */
/*
 * A block that was just written becomes a record of the store: its code with everything taken out that depends on where it
 * stands and on whose it is, the bytes of the program that it was made of or judged by, and what describes it.
 *
 * Addresses are told from anchors: the block's beginning, and where each guess of an indirect transfer leads, which may
 * be another library.
 */
#include "base/mem.h"
#include "engine/cache/region.h"
#include "engine/cache/store.h"
#include "engine/cache/unit.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/translate/block.h"
#include "engine/translate/kept.h"

#define ANCHORS	   (AP_BLOCK_GUARDS + 1)
#define RANGES_MAX 128
#define VECS_MAX   64
#define LED_BYTES  8 /* looked at where a guess leads, so that it is as good a guess for others */

struct range {
	u64 at;
	u32 len, anchor;
};

/* Of the block in the making. */
static struct {
	u64 anchor[ANCHORS];
	struct ap_record_anchor words[ANCHORS];
	struct range ranges[RANGES_MAX];
	u8 source[AP_RECORD_MAX];
	u64 vecs[VECS_MAX];
	u32 nanchors, nranges, nsource, nvecs;
	bool fails;
} k;

static union {
	struct ap_record r;
	u8 bytes[AP_RECORD_MAX];
} out;

static s32 delta_of(u64 addr, u32 anchor)
{
	s64 delta = (s64)(addr - k.anchor[anchor]);

	k.fails |= anchor >= k.nanchors || !ap_fits_s32(delta);
	return (s32)delta;
}

static struct ap_record_place place_of(u64 addr, u32 anchor)
{
	return (struct ap_record_place){ delta_of(addr, anchor), anchor };
}

/* Behind the last one where it goes on there. */
static void add_source(u64 at, const u8 *bytes, u32 len, u32 anchor)
{
	struct range *last = k.nranges ? &k.ranges[k.nranges - 1] : NULL;

	if (k.nsource + len > sizeof(k.source) || k.nranges == RANGES_MAX) {
		k.fails = true;
		return;
	}
	memcpy(k.source + k.nsource, bytes, len);
	k.nsource += len;
	if (last && last->at + last->len == at && last->anchor == anchor) {
		last->len += len;
		return;
	}
	k.ranges[k.nranges++] = (struct range){ at, len, anchor };
}

/* The code behind a guess is no part of the block where it ends with that. */
static void add_anchor(const struct ap_sb_insn *in)
{
	u64 word = in->pc + in->i.len + (u64)in->i.disp;
	u8 led[16];

	k.words[k.nanchors - 1].word = delta_of(word, k.nanchors - 1);
	k.words[k.nanchors - 1].in_page = (u32)(in->next & ~AP_PAGE_MASK);
	k.anchor[k.nanchors] = in->next;
	if (ap_sb_fetch(in->next, led) >= LED_BYTES)
		add_source(in->next, led, LED_BYTES, k.nanchors++);
	else
		k.fails = true;
}

static void collect_source(const struct ap_sb *sb)
{
	k.anchor[0] = sb->pc;
	k.nanchors = 1;
	k.nranges = k.nsource = k.nvecs = 0;
	k.fails = ap_fixes.refused;
	for (u32 n = 0; n < sb->n && !k.fails; n++) {
		const struct ap_sb_insn *in = &sb->insns[n];

		add_source(in->pc, in->bytes, in->i.len, k.nanchors - 1);
		if (in->guard)
			add_anchor(in);
	}
	for (u32 n = 0; n < ap_fixes.npeeks && !k.fails; n++)
		add_source(ap_fixes.peek[n].pc, ap_fixes.peek[n].bytes, ap_fixes.peek[n].len,
			   ap_fixes.peek[n].anchor);
}

/* Room at the cursor; NULL: there is none. */
static void *room(u8 **at, u64 size)
{
	u8 *p = *at;

	if (k.fails || size > (u64)(out.bytes + sizeof(out) - p)) {
		k.fails = true;
		return NULL;
	}
	*at += size;
	return p;
}

static void put_anchors_and_ranges(u8 **at)
{
	struct ap_record_range *r;
	void *words = room(at, (k.nanchors - 1) * sizeof(k.words[0]));

	if (words)
		memcpy(words, k.words, (k.nanchors - 1) * sizeof(k.words[0]));
	r = room(at, k.nranges * sizeof(*r));
	for (u32 n = 0; n < k.nranges && r; n++)
		r[n] = (struct ap_record_range){ delta_of(k.ranges[n].at, k.ranges[n].anchor),
						 (u16)k.ranges[n].len, (u16)k.ranges[n].anchor };
}

/* In the order of the records that jump. */
static void put_jumps(u8 **at, const struct ap_sb *sb)
{
	u32 anchor = 0, n = 0;
	struct ap_record_place *p = room(at, out.r.njumps * sizeof(*p));

	for (u32 i = 0; i < sb->n && p; i++) {
		const struct ap_sb_insn *in = &sb->insns[i];

		anchor += in->guard;
		if (ap_rec_jumps(in->cls) && n < out.r.njumps)
			p[n++] = place_of(in->next, anchor);
	}
	k.fails |= n != out.r.njumps;
}

/* One of code that was looked at for nothing is left out. */
static void put_pages(u8 **at, const struct ap_block *b)
{
	struct ap_record_place *p = room(at, b->npages * sizeof(*p));

	for (u32 i = 0; i < b->npages && p; i++) {
		u64 page = b->pages[i].addr;
		u32 n = 0;

		while (n < k.nranges &&
		       !ap_overlap(k.ranges[n].at, k.ranges[n].at + k.ranges[n].len, page,
				   page + AP_PAGE_SIZE))
			n++;
		if (n < k.nranges)
			p[out.r.npages++] = place_of(page, k.ranges[n].anchor);
	}
	*at -= (b->npages - out.r.npages) * sizeof(*p);
}

static void put_exit(struct ap_record_exit *e, const struct ap_exit *x, const struct ap_block *b,
		     u32 anchor)
{
	*e = (struct ap_record_exit){ .anchor = (u8)anchor,
				      .kind = x->kind,
				      .special = x->special,
				      .is_there = x->stub != NULL,
				      .site = x->site ? (u16)(x->site - b->code) : 0 };
	if (x->stub)
		e->delta = delta_of(x->target, anchor);
}

/* Side exits are in the order of their instructions; the final one of an indirect transfer is not there. */
static void put_exits(u8 **at, const struct ap_sb *sb, const struct ap_block *b)
{
	struct ap_record_exit *e = room(at, b->nexits * sizeof(*e));
	u32 anchor = 0, n = 0;

	for (u32 i = 0; i < sb->n && e; i++) {
		anchor += sb->insns[i].guard;
		if (sb->insns[i].side && n < b->nexits - 1U) {
			put_exit(&e[n], &b->exits[n], b, anchor);
			n++;
		}
	}
	k.fails |= n != b->nexits - 1U;
	if (!k.fails)
		put_exit(&e[n], &b->exits[n], b, anchor);
}

static u32 vec_of(u64 vec)
{
	u32 n = 0;

	while (n < k.nvecs && k.vecs[n] != vec)
		n++;
	if (n == VECS_MAX)
		k.fails = true;
	else if (n == k.nvecs)
		k.vecs[k.nvecs++] = vec;
	return n;
}

/* What a field becomes; number: which of the notes. */
static u64 value_of(const struct ap_block *b, u32 number, u8 *arg)
{
	const u8 *field = ap_fixes.fix[number].at;
	u32 anchor = ap_fixes.fix[number].arg, v32;
	u64 v64 = 0;
	s64 rel;

	__builtin_memcpy(&v32, field, 4);
	switch (ap_fixes.fix[number].kind) {
	case AP_FIX_REL:
		rel = (s64)(s32)v32 + (s64)((u64)b->code - k.anchor[anchor]);
		k.fails |= !ap_fits_s32(rel);
		return (u64)rel;
	case AP_FIX_ABS32:
		return (u32)delta_of(v32, anchor);
	case AP_FIX_NEG32:
		return (u32)delta_of((u64) - (s64)(s32)v32, anchor);
	case AP_FIX_ABS64:
		__builtin_memcpy(&v64, field, 8);
		return (u64)(s64)delta_of(v64, anchor);
	case AP_FIX_NEG64:
		__builtin_memcpy(&v64, field, 8);
		return (u64)(s64)delta_of(-v64, anchor);
	case AP_FIX_SHAPE:
		v32 = (v32 - (u32)AP_T_COUNTS_OFF) / 8;
		k.fails |= v32 >= ap_proc.seg->nshapes || v32 >= AP_SHAPE_MAX;
		*arg = k.fails ? 0 : (u8)vec_of(ap_proc.shapes[v32]);
		return 0;
	case AP_FIX_BRANCH:
		v32 = (v32 & ((1U << AP_UNIT_OFF_BITS) - 1)) -
		      (u32)(b->code - ap_units[b->unit].base);
		k.fails |= v32 >= b->code_len;
		return v32;
	default:
		return 0;
	}
}

static bool is_wide(u32 kind)
{
	return kind == AP_FIX_ABS64 || kind == AP_FIX_NEG64;
}

/* code: a copy, in which the fields are replaced. */
static void put_fixes(struct ap_record_fix *f, u8 *code, const struct ap_block *b)
{
	for (u32 n = 0; n < ap_fixes.n && !k.fails; n++) {
		u32 kind = ap_fixes.fix[n].kind, size = is_wide(kind) ? 8 : 4;
		u64 at = (u64)(ap_fixes.fix[n].at - b->code), v;

		f[n] = (struct ap_record_fix){ (u16)at, (u8)kind, ap_fixes.fix[n].arg };
		if (at + size > b->code_len) {
			k.fails = true;
			return;
		}
		v = value_of(b, n, &f[n].arg);
		memcpy(code + at, &v, size);
	}
}

/* Fields first: they say which vectors there are. */
static void serialize(const struct ap_sb *sb, const struct ap_block *b)
{
	static struct ap_record_fix fixes[AP_FIX_MAX];
	static u8 code[AP_UNIT_ROOM];
	u8 *at = (u8 *)(&out.r + 1), *p;

	if (b->code_len > sizeof(code)) {
		k.fails = true;
		return;
	}
	memcpy(code, b->code, b->code_len);
	put_fixes(fixes, code, b);
	p = room(&at, k.nvecs * sizeof(u64));
	if (p)
		memcpy(p, k.vecs, k.nvecs * sizeof(u64));
	put_anchors_and_ranges(&at);
	put_jumps(&at, sb);
	put_pages(&at, b);
	put_exits(&at, sb, b);
	p = room(&at, ap_fixes.n * sizeof(fixes[0]) + b->nrecs * sizeof(struct ap_rec) +
			      b->nsites * sizeof(u16) + (b->more ? b->nrecs : 0) + k.nsource +
			      b->code_len);
	if (!p)
		return;
	memcpy(p, fixes, ap_fixes.n * sizeof(fixes[0]));
	p += ap_fixes.n * sizeof(fixes[0]);
	memcpy(p, b->recs, b->nrecs * sizeof(struct ap_rec) + b->nsites * sizeof(u16));
	p += b->nrecs * sizeof(struct ap_rec) + b->nsites * sizeof(u16);
	if (b->more)
		memcpy(p, b->more, b->nrecs);
	p += b->more ? b->nrecs : 0;
	memcpy(p, k.source, k.nsource);
	memcpy(p + k.nsource, code, b->code_len);
	out.r.size = (u32)AP_ALIGN_UP((u64)(at - out.bytes), 8);
	if (out.r.size <= sizeof(out))
		memset(at, 0, out.r.size - (u64)(at - out.bytes));
	else
		k.fails = true;
}

static u32 count_jumps(const struct ap_block *b)
{
	u32 n = 0;

	for (u32 i = 0; i < b->nrecs; i++)
		n += ap_rec_jumps(b->recs[i].app_len_class >> 4);
	return n;
}

/* Code of a file that nobody has stored to: all else is the process' own. */
static bool is_of_file(u64 pc)
{
	const struct ap_range *r = ap_region_find(pc);

	return r && (r->flags & (AP_RANGE_FILE | AP_RANGE_W | AP_RANGE_SHARED)) == AP_RANGE_FILE;
}

void ap_keep(const struct ap_sb *sb, const struct ap_block *b)
{
	struct ap_store_key key;
	u8 bytes[16];

	if (ap_fixes.refused || sb->transient || sb->probe || sb->lazy || !sb->n ||
	    !is_of_file(sb->pc) || ap_sb_fetch(sb->pc, bytes) < 15)
		return;
	collect_source(sb);
	if (k.fails || memcmp(bytes, sb->insns[0].bytes, sb->insns[0].i.len))
		return;
	key = ap_stored_key(sb->pc, bytes);
	memset(&out.r, 0, sizeof(out.r));
	out.r.final_vec = b->final_vec;
	out.r.last_pc = place_of(b->last_pc, k.nanchors - 1 - sb->insns[sb->n - 1].guard);
	out.r.code_len = (u16)b->code_len;
	out.r.nsource = (u16)k.nsource;
	out.r.nfixes = (u16)ap_fixes.n;
	out.r.nrecs = b->nrecs;
	out.r.nanchors = (u8)(k.nanchors - 1);
	out.r.nranges = (u8)k.nranges;
	out.r.njumps = (u8)count_jumps(b);
	out.r.nexits = b->nexits;
	out.r.nsites = b->nsites;
	out.r.small = b->small;
	out.r.has_more = b->more != NULL;
	out.r.phase = (u8)((u64)b->code & 7);
	serialize(sb, b);
	out.r.nvecs = (u8)k.nvecs;
	if (!k.fails)
		ap_store_put(&out.r, &key);
}
