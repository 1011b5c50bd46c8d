/* SPDX-License-Identifier: MIT */
/*
 * Calls that name memory and change none of what we keep of the program's: on memory of ours they say what they say of a
 * hole.  The kernel says it itself, asked for a page that nothing can ever be mapped at, so that its version, the
 * call's other arguments and a filter have the same part in the answer.  mmap and its kind are sys_mem.c's.
 */
#include "engine/transparency/transparency.h"

#define HOLE		AP_TASK_SIZE /* the kernel maps nothing at its last page */
#define IOV_MAX		1024
#define MADV_WILLNEED	3
#define MADV_COLD	20
#define MADV_PAGEOUT	21
#define MADV_COLLAPSE	25
#define UFFDIO_REGISTER 0xc020aa00U
#define UFFDIO_MOVE	0xc028aa05U

bool ap_call_is_on_ours(u64 start, u64 len)
{
	u64 from = start & AP_PAGE_MASK, end = AP_ALIGN_UP(start + len, AP_PAGE_SIZE);

	return end > from && ap_mem_is_ours(from, end);
}

s64 ap_call_on_hole(const struct ap_call *c)
{
	return ap_rawsys(c->nr, HOLE | (c->a[0] & ~AP_PAGE_MASK), AP_PAGE_SIZE, c->a[2], c->a[3],
			 c->a[4], c->a[5]);
}

/* mbind, set_mempolicy_home_node, mseal */
s64 ap_call_range(struct ap_thread *t, struct ap_call *c)
{
	return ap_call_is_on_ours(c->a[0], c->a[1]) ? ap_call_on_hole(c) : ap_call_pass(t, c);
}

static bool may_be_of_others(u64 advice)
{
	return advice == MADV_WILLNEED || advice == MADV_COLD || advice == MADV_PAGEOUT ||
	       advice == MADV_COLLAPSE;
}

/* How many of its parts come before the first one on memory of ours. */
static u64 parts_before(const struct ap_call *c)
{
	u64 part[2], k;

	for (k = 0; k < c->a[2] && k < IOV_MAX; k++)
		if (ap_safe_copy(part, (const void *)(c->a[1] + k * sizeof(part)), sizeof(part)) ||
		    ap_call_is_on_ours(part[0], part[1]))
			return k;
	return c->a[2];
}

/*
 * What a process may advise of others' memory is harmless, and whose the addresses are we do not know.  The rest is of
 * its own alone.  The kernel stops at the first part that fails, and says so only where it is the first of all.
 */
s64 ap_call_advise_parts(struct ap_thread *t, struct ap_call *c)
{
	u64 n = c->a[2], first[2];
	s64 ret;

	if (may_be_of_others(c->a[3]) || n > IOV_MAX)
		return ap_call_pass(t, c);
	c->a[2] = parts_before(c);
	if (!c->a[2] && n && ap_safe_copy(first, (const void *)c->a[1], sizeof(first)))
		c->a[2] = n;
	ret = ap_call_pass(t, c); /* of none it says whether it takes the other arguments */
	if (!ret && !c->a[2] && n)
		ret = -AP_ENOMEM;
	c->a[2] = n;
	return ret;
}

/* struct uffdio_register begins with the range, uffdio_move has its source second and the length third. */
s64 ap_call_uffd(struct ap_thread *t, struct ap_call *c)
{
	bool moves = (u32)c->a[1] == UFFDIO_MOVE;
	u64 at = c->a[2], arg[5], size = moves ? 40 : 32;
	u64 *start = moves ? &arg[1] : &arg[0];
	s64 ret;

	if (((u32)c->a[1] != UFFDIO_REGISTER && !moves) ||
	    ap_safe_copy(arg, (const void *)at, size) ||
	    !ap_call_is_on_ours(*start, moves ? arg[2] : arg[1]))
		return ap_call_pass(t, c);
	*start = HOLE;
	c->a[2] = (u64)arg;
	ret = ap_call_pass(t, c);
	c->a[2] = at;
	return ret;
}

struct gap {
	u64 pos, end;  /* looked at */
	u64 ours_end;  /* end of the mapping of ours that pos lies in, 0 none */
	u64 next_ours; /* start of the next one */
};

static void look_at_range(u64 start, u64 end, void *arg)
{
	struct gap *g = arg;

	if (start <= g->pos && end > g->pos)
		g->ours_end = end;
	else if (start > g->pos && start < g->next_ours)
		g->next_ours = start;
}

bool ap_gap_next(u64 pos, u64 end, u64 *lo, u64 *hi)
{
	struct gap g = { .pos = pos };

	for (;;) {
		if (g.pos >= end)
			return false;
		g.ours_end = 0;
		g.next_ours = end;
		ap_mem_for_each(look_at_range, &g);
		if (!g.ours_end)
			break;
		g.pos = g.ours_end;
	}
	*lo = g.pos;
	*hi = g.next_ours;
	return true;
}
