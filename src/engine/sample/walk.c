/* SPDX-License-Identifier: MIT */
/*
 * Walking to a mark: blocks that are linked to nothing, test no budget, and end behind the first
 * instruction that could reach the mark of a lane, or before it where its memory operands are to be
 * noted.  What they count is what any block counts.
 *
 * They are kept by pc, and one that ends by itself before any mark serves all that have more left.  Where
 * instructions alone are near it serves the others as well, as it can be stopped (stop.c), once; else there is one
 * for each number that may be left.  What is asked for the first time runs once: samples fall into the same
 * code again and again, but where they do not, keeping would fill the cache.
 */
#include "engine/sample/lane.h"
#include "engine/translate/sb.h"
#include "x86/access.h"

#define BITS	   13
#define ENTRIES	   (1U << BITS)
#define FAR	   0xff /* of .left: not near */
#define NOTES	   0x80 /* stops before the instruction */
#define ASKED_MOST 7U
#define COPY_AFTER 6 /* times that a stop was written */

_Static_assert(AP_LANE_MAX == 8, "what is left of all lanes is one word");
_Static_assert(AP_BLOCK_INSNS + AP_KIND_CYCLES < NOTES, "margins fit beside the bit");

/* A cache line: samples are far apart, so every one that is looked at is missed. */
struct entry {
	u64 pc;
	u64 left; /* a byte per lane: at most so much, and ended by it; all FAR: by itself */
	u64 most; /* likewise: what the way that counts most counts */
	u64 last_pc;
	struct ap_block *b;
	struct ap_stop *stop; /* NULL: it runs as it is */
	u32 gen, n;	      /* instructions */
	bool copied;	      /* there may be others of this pc */
};
_Static_assert(sizeof(struct entry) == 64, "a cache line");

static struct entry *kept; /* ENTRIES, then as many bytes: what was asked for once */
static u8 *asked;
static u32 gen;
static struct ap_sb sb;

#define ALL_FAR (~0ULL)

void ap_walk_forget(void)
{
	gen++;
}

static u32 left_of(u64 left, u32 lane)
{
	return (u32)(left >> lane * 8) & 0xff;
}

static u64 with_left(u64 left, u32 lane, u32 n)
{
	return (left & ~(0xffULL << lane * 8)) | (u64)n << lane * 8;
}

/* What is left until the mark, of lanes of which a block may reach it. */
static u64 what_is_left(struct ap_thread *t)
{
	u64 left = ALL_FAR;

	for (u32 k = 0; k < t->nlanes; k++) {
		s64 n = ap_lane_budget(t, k) + ap_thread_lanes(t)->lane[k].margin;

		if (n >= ap_proc.lane_margin[k])
			continue;
		n = n > 0 ? n : 1; /* passed: whoever looks next will see it */
		left = with_left(left, k, (u32)n | (ap_thread_lanes(t)->lane[k].notes ? NOTES : 0));
	}
	return left;
}

static u32 hash(u64 pc, u64 left)
{
	return (u32)(((pc * 0x9e3779b97f4a7c15ULL) ^ left) * 0xd6e8feb86659fd93ULL >> (64 - BITS));
}

static bool is_kept(const struct entry *e, u64 pc, u64 left)
{
	return e->b && e->gen == gen && e->pc == pc && e->left == left;
}

/* At its place, or beside it. */
static struct entry *find(u64 pc, u64 left)
{
	u32 h = hash(pc, left);

	if (is_kept(&kept[h], pc, left))
		return &kept[h];
	return is_kept(&kept[h ^ 1], pc, left) ? &kept[h ^ 1] : NULL;
}

/* b has been translated just now. */
static struct entry *keep(u64 pc, u64 left, u64 most, struct ap_block *b)
{
	u32 h = hash(pc, left);
	struct entry *e = &kept[h], *whole;

	if (e->b && e->gen == gen && !(kept[h ^ 1].b && kept[h ^ 1].gen == gen))
		e = &kept[h ^ 1];
	*e = (struct entry){ pc, left, most, b->last_pc, b, NULL, gen, sb.n, true };
	whole = left == ALL_FAR ? NULL : find(pc, ALL_FAR);
	if (whole)
		whole->copied = true;
	return e;
}

/* How often it was asked for before, up to ASKED_MOST; once more from now on. */
static u32 times_asked(u64 pc, u64 left)
{
	u8 *at = &asked[hash(pc, left)], mark = (u8)((pc ^ pc >> 8 ^ left) & ~ASKED_MOST);
	u32 n = (*at & ~ASKED_MOST) == mark ? *at & ASKED_MOST : 0;

	*at = (u8)(mark | (n < ASKED_MOST ? n + 1 : n));
	return n;
}

static bool was_asked(u64 pc, u64 left)
{
	return times_asked(pc, left) > 0;
}

static bool make_table(void)
{
	if (!kept)
		kept = ap_mem_map(0, ENTRIES * (sizeof(*kept) + 1));
	asked = (u8 *)(kept + ENTRIES);
	return kept != NULL;
}

void ap_walk_reserve(void)
{
	(void)make_table();
}

/* --- where a block has to end */

struct cut {
	u32 n;	  /* instructions up to the one that reaches a mark; all where none does */
	bool hit; /* one does */
	bool notes;
	u64 most; /* counts of the ways through that are not cut off */
};

/* What the instruction adds where the block goes on, and at most. */
static void vec_of(const struct ap_sb *s, u32 k, struct ap_vec *on, struct ap_vec *most)
{
	const struct ap_sb_insn *in = &s->insns[k];
	bool is_ibl = k == s->n - 1 && s->final_kind == AP_EXIT_IBL;

	*on = (struct ap_vec){ .g = { [AP_VEC_BASE] = is_ibl ? ap_indirect_vec(&in->i)
							     : ap_rec_vec(in->cls) } };
	if (ap_proc.lanes_more)
		ap_more_add(on, ap_insn_more(&in->i, in->bytes));
	*most = *on;
	if (in->side && in->cls == AP_REC_JCC_NT)
		most->g[AP_VEC_BASE] += AP_VEC_ONE(AP_VEC_TAKEN);
}

/* limit: by lane; a count that reaches it ends the block. */
static struct cut find_cut(const struct ap_sb *s, const u32 limit[AP_LANE_MAX])
{
	struct cut c = { .n = s->n };
	u32 sum[AP_LANE_MAX] = { 0 }, top[AP_LANE_MAX] = { 0 };

	for (u32 k = 0; k < s->n && !c.hit; k++) {
		struct ap_vec on, most;

		vec_of(s, k, &on, &most);
		for (u32 lane = 0; lane < ap_proc.nlanes; lane++) {
			u32 n = sum[lane] + ap_lane_count(&most, ap_proc.lanes[lane]);

			if (n > top[lane])
				top[lane] = n;
			sum[lane] += ap_lane_count(&on, ap_proc.lanes[lane]);
			if (n < limit[lane])
				continue;
			c.hit = true;
			c.n = k + 1;
		}
	}
	for (u32 lane = 0; lane < ap_proc.nlanes; lane++)
		c.most = with_left(c.most, lane, top[lane] < FAR ? top[lane] : FAR);
	return c;
}

u32 ap_lane_shorten(const struct ap_sb *s)
{
	u32 limit[AP_LANE_MAX] = { 0 };
	bool any = false;

	for (u32 lane = 0; lane < ap_proc.nlanes; lane++) {
		limit[lane] = ap_lane_cap(ap_proc.lanes[lane]);
		any |= ap_proc.lanes[lane] != AP_KIND_BIT(AP_KIND_INSTR);
	}
	return any ? find_cut(s, limit).n : s->n; /* of instructions there are not more */
}

/* Does a block that counts so much reach none of the marks? */
static bool passes_none(u64 most, u64 left)
{
	for (u32 k = 0; k < AP_LANE_MAX; k++) {
		u32 n = left_of(left, k);

		if (n != FAR && left_of(most, k) >= (n & ~NOTES))
			return false;
	}
	return true;
}

/* Marks that are far away are as near as any block may go. */
static struct cut cut_for(const struct ap_sb *s, u64 left)
{
	u32 limit[AP_LANE_MAX] = { 0 };
	bool notes = false;
	struct cut c;

	for (u32 lane = 0; lane < ap_proc.nlanes; lane++) {
		u32 n = left_of(left, lane), cap = ap_lane_cap(ap_proc.lanes[lane]);

		limit[lane] = n == FAR || (n & ~NOTES) > cap ? cap : n & ~NOTES;
		notes |= n != FAR && (n & NOTES);
	}
	c = find_cut(s, limit);
	c.hit = !passes_none(c.most, left);
	c.notes = notes && c.hit;
	return c;
}

/* --- making and choosing */

/* The source may be longer than fits a unit's rest: then less of it. */
static struct ap_block *translate(u64 pc, u32 max)
{
	struct ap_block *b = ap_translate(&sb, false);

	while (!b && max > 1) {
		max = (max + 3) / 4;
		ap_sb_build_walk(&sb, pc, max);
		b = ap_translate(&sb, false);
	}
	if (b)
		b->dead = 1; /* never linked to, never found */
	return b;
}

/* A block of more instructions is cut anyway. */
static u32 most_insns(u64 left)
{
	u32 most = AP_BLOCK_INSNS;

	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		u32 n = left_of(left, k);

		if (ap_proc.lanes[k] & AP_KIND_BIT(AP_KIND_INSTR) && n != FAR &&
		    (n & ~NOTES) < most)
			most = n & ~NOTES;
	}
	return most;
}

/* Of instructions alone something is near: after how many a block has to stop; else 0. */
static u32 stop_for(u64 left)
{
	u32 n = 0;

	if (ap_feed_is_on() || ap_proc.data)
		return 0;
	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		if (left_of(left, k) == FAR)
			continue;
		if (ap_proc.lanes[k] != AP_KIND_BIT(AP_KIND_INSTR))
			return 0;
		n = left_of(left, k) & ~NOTES;
		if (left_of(left, k) & NOTES && n > 1)
			n--;
	}
	return n;
}

static struct ap_block *make(struct ap_thread *t, u64 pc, u64 left, bool again)
{
	struct ap_block *b;
	struct cut c;
	u32 n;

	ap_sb_build_walk(&sb, pc, most_insns(left));
	c = cut_for(&sb, left);
	n = c.notes && c.n > 1 ? c.n - 1 : c.n;
	if (n && n < sb.n)
		ap_sb_build_walk(&sb, pc, n);
	n = sb.n;
	b = translate(pc, n);
	if (!b) {
		ap_cache_flush();
		ap_sb_build_walk(&sb, pc, 1);
		b = translate(pc, 1);
	}
	if (!b || sb.transient || sb.probe)
		return b;
	if (!c.hit && !stop_for(left)) {
		left = ALL_FAR;
		again = was_asked(pc, left);
	}
	if (n == sb.n && again)
		keep(pc, left, c.most, b);
	else
		t->alone = b;
	return b;
}

/* One for all that may be left, if pc is asked for again. */
static const struct entry *make_whole(u64 pc)
{
	struct ap_block *b;
	struct entry *e;
	struct cut c;
	u32 n;

	if (!was_asked(pc, ALL_FAR))
		return NULL;
	ap_sb_build_walk(&sb, pc, AP_BLOCK_INSNS);
	c = cut_for(&sb, ALL_FAR);
	if (c.n < sb.n)
		ap_sb_build_walk(&sb, pc, c.n);
	n = sb.n;
	b = n ? translate(pc, n) : NULL;
	if (!b || sb.transient || sb.probe || n != sb.n) {
		if (b)
			ap_cache_drop_probe(b);
		return NULL;
	}
	e = keep(pc, ALL_FAR, c.most, b);
	e->stop = n > 1 ? ap_stop_new(b) : NULL;
	e->copied = false;
	return e;
}

/*
 * The kept block that serves all that may be left; NULL where there is none (e), or it would have to stop where that
 * is not asked for, or others stop in it elsewhere.
 */
static struct ap_block *use_whole(struct ap_thread *t, const struct entry *e, u64 left, u32 stop,
				  u64 *last_pc)
{
	if (!e)
		return NULL;
	if (passes_none(e->most, left) || stop >= e->n)
		stop = 0;
	else if (!stop || !e->stop)
		return NULL;
	*last_pc = e->last_pc;
	return !e->stop || ap_stop_begin(t, e->stop, stop, last_pc) ? e->b : NULL;
}

/*
 * The instruction at pc is the next to run, and may reach a mark.  What it accesses where vector
 * registers say is not computed.
 */
static void note_operands(struct ap_thread *t, u64 pc)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	const u64 seg_base[3] = { 0, ap_thread_fs_base(t), t->app_gs_base };
	struct ap_access access[AP_ACCESS_MAX];
	struct ap_insn i;
	u32 avail = ap_sb_fetch(pc, p->code), n;

	if (!avail || ap_insn_decode(&i, p->code, avail))
		return;
	p->has_mem = true;
	p->len = i.len;
	p->nmem = 0;
	n = ap_insn_accesses(&i, p->code, access);
	for (u32 k = 0; k < n && p->nmem < AP_ARRAY_SIZE(p->mem); k++) {
		if (access[k].flags & AP_ACCESS_VSIB)
			continue;
		p->mem[p->nmem].addr =
			ap_access_address(&access[k], t->regs.gpr, pc + i.len, seg_base);
		p->mem[p->nmem].size = access[k].size;
		p->mem[p->nmem].read = access[k].flags & AP_ACCESS_READ;
		p->mem[p->nmem++].write = access[k].flags & AP_ACCESS_WRITE;
	}
}

static bool any_notes(u64 left)
{
	for (u32 k = 0; k < AP_LANE_MAX; k++)
		if (left_of(left, k) != FAR && left_of(left, k) & NOTES)
			return true;
	return false;
}

void ap_walk_alone(struct ap_thread *t, u64 pc)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;

	p->known = true;
	p->pc = pc;
	p->has_mem = false;
	if (any_notes(what_is_left(t)))
		note_operands(t, pc);
}

/* None is kept for what is left. */
static struct ap_block *get_new(struct ap_thread *t, u64 pc, u64 left, const struct entry *whole,
				u64 *last_pc)
{
	u32 stop = stop_for(left), asked_for = times_asked(pc, left);
	bool again = asked_for >= (stop ? COPY_AFTER : 1);
	/* what is wanted often gets a copy: to write into code takes as long as hundreds of instructions */
	struct ap_block *b = NULL;

	if (stop && !again)
		b = use_whole(t, whole ? whole : make_whole(pc), left, stop, last_pc);
	if (b)
		return b;
	b = make(t, pc, left, again);
	*last_pc = b ? b->last_pc : pc;
	return b;
}

struct ap_block *ap_walk_get(struct ap_thread *t, u64 pc)
{
	u64 left = what_is_left(t), last_pc;
	const struct entry *whole, *e = NULL;
	struct ap_block *b;

	if (!make_table())
		return NULL;
	whole = find(pc, ALL_FAR);
	b = use_whole(t, whole, left, 0, &last_pc);
	if (!b && left != ALL_FAR && (!whole || whole->copied))
		e = find(pc, left);
	if (e) {
		b = e->b;
		last_pc = e->last_pc;
	} else if (!b) {
		b = get_new(t, pc, left, whole, &last_pc);
	}
	if (b && last_pc == pc)
		ap_walk_alone(t, pc);
	else if (b) {
		ap_thread_lanes(t)->point.known = true;
		ap_thread_lanes(t)->point.has_mem = false;
		ap_thread_lanes(t)->point.pc = last_pc;
	}
	return b;
}
