/* SPDX-License-Identifier: MIT */
/*
 * Which accesses of a way are one look: made when the way is described.
 */
#include "model/feed.h"

/*
 * Bytes from the first to the last of a cluster that is more than one access.  The farther apart,
 * the more often they are in two lines, and then the way is run access by access: more than 8 costs
 * more than it saves.
 */
#define SPAN 8

static bool fits(const struct ap_feed_op *op, u32 line)
{
	return op->what <= AP_FEED_UPDATE && !(op->flags & AP_FEED_ADDR32) && op->size &&
	       op->size <= line;
}

struct ap_feed_cluster ap_feed_cluster_of(const struct ap_feed_way *way,
					  const struct ap_feed_op *op, u32 id)
{
	struct ap_feed_cluster g = { .disp = (u64)op->disp,
				     .span = (u8)(op->size - 1),
				     .seg = op->flags & (AP_FEED_FS | AP_FEED_GS),
				     .loads = op->what != AP_FEED_STORE,
				     .stores = op->what != AP_FEED_LOAD };

	if (op->base != AP_FEED_NO_WORD) {
		g.base = 1 + op->base;
		g.disp += (u64)(s64)way->delta[op->base];
	} else {
		g.disp -= id;
	}
	if (op->index != AP_FEED_NO_WORD) {
		g.index = 1 + op->index;
		g.scale = op->scale;
		g.disp += (u64)(s64)way->delta[op->index] << op->scale;
	}
	g.is_more = g.index || g.seg;
	return g;
}

/* Both in one: true, and *b has it. */
static bool join(const struct ap_feed_cluster *a, struct ap_feed_cluster *b)
{
	s64 ahead = (s64)(a->disp - b->disp), last, other;

	if (a->base != b->base || a->index != b->index || a->scale != b->scale || a->seg != b->seg)
		return false;
	if (ahead < -SPAN || ahead > SPAN)
		return false;
	last = b->span;
	other = ahead + a->span;
	if (other > last)
		last = other;
	if (ahead < 0)
		last -= ahead;
	if (last >= SPAN && last > a->span && last > b->span)
		return false;
	b->span = (u8)last;
	b->disp = ahead < 0 ? a->disp : b->disp;
	b->loads |= a->loads;
	b->stores |= a->stores;
	return true;
}

u32 ap_feed_clusters(struct ap_feed_way *way, u32 id, u32 line, struct ap_feed_cluster *clusters)
{
	u32 n = 0;

	way->nloads = way->nstores = 0;
	for (u32 k = 0; k < way->nops; k++) {
		const struct ap_feed_op *op = &way->ops[k];
		struct ap_feed_cluster g;
		u32 i;

		if (!fits(op, line))
			return 0;
		g = ap_feed_cluster_of(way, op, id);
		way->nloads += g.loads;
		way->nstores += g.stores;
		for (i = 0; i < n && !join(&clusters[i], &g); i++)
			;
		if (i < n) /* it is the one last used now */
			n--;
		for (; i < n; i++)
			clusters[i] = clusters[i + 1];
		if (n == AP_FEED_CLUSTERS)
			return 0;
		clusters[n++] = g;
	}
	return n;
}
