/* SPDX-License-Identifier: MIT */
/*
 * Mappings that go because of a call, for events that record it (AP_PERF_IOC_RECORD_MUNMAP).  What there is only the
 * kernel says, and only while it is there: so the supervisor is asked to look before the call, and is told
 * behind it what has gone.  One request where nothing executable is in the range, else two.
 */
#include "abi/service.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define MREMAP_FIXED	 2
#define MREMAP_DONTUNMAP 4
#define EVERYTHING	 (~0ULL)
#define PAGES(x)	 ((x)&AP_PAGE_MASK)

struct call_part {
	u64 start, end;
};

/* What the call may take away: the first n parts of p. */
struct call_parts {
	struct call_part p[3];
	u32 n;
};

static void add(struct call_parts *to, u64 start, u64 size)
{
	u64 end = start + AP_ALIGN_UP(size, AP_PAGE_SIZE);

	if (!(start & ~AP_PAGE_MASK) && end > start)
		to->p[to->n++] = (struct call_part){ start, end };
}

/* The old mapping's end, where it shrinks, and what is left of it, which may move. */
static struct call_part tail_of(const struct ap_service_call *c)
{
	u64 size = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE), new = AP_ALIGN_UP(c->a[2], AP_PAGE_SIZE);

	return (struct call_part){ c->a[0] + (new < size ? new : size), c->a[0] + size };
}

static struct call_parts parts_of(const struct ap_service_call *c)
{
	struct call_parts all = { .n = 0 };
	struct call_part tail;
	u64 brk;

	switch (c->nr) {
	case AP_NR_munmap:
		add(&all, c->a[0], c->a[1]);
		break;
	case AP_NR_mmap:
		if (c->a[3] & AP_MAP_FIXED && !(c->a[3] & AP_MAP_FIXED_NOREPLACE))
			add(&all, c->a[0], c->a[1]);
		break;
	case AP_NR_brk:
		brk = (u64)ap_hook_break();
		if (!ap_is_err((s64)brk) && c->a[0] && c->a[0] < brk)
			add(&all, AP_ALIGN_UP(c->a[0], AP_PAGE_SIZE),
			    AP_ALIGN_UP(brk, AP_PAGE_SIZE) - AP_ALIGN_UP(c->a[0], AP_PAGE_SIZE));
		break;
	case AP_NR_remap_file_pages:
		add(&all, PAGES(c->a[0]), PAGES(c->a[1]));
		break;
	case AP_NR_mremap:
		tail = tail_of(c);
		if (c->a[3] & MREMAP_FIXED)
			add(&all, c->a[4], c->a[2]);
		add(&all, tail.start, tail.end - tail.start);
		add(&all, c->a[0], tail.start - c->a[0]);
		break;
	}
	return all;
}

static s64 ask(u32 op, u64 start, u64 end, u64 how)
{
	struct ap_request r;

	ap_request_begin_held(&r, op);
	r.svc->arg[0] = start;
	r.svc->arg[1] = end;
	r.svc->arg[2] = how;
	return ap_request_ask(&r);
}

/* Some of it may be the engine's, which is not there for the program.  What one answer has said a later error leaves. */
static s64 look_at(const struct call_part *p, bool *is_more)
{
	u64 lo, hi = p->start;
	s64 n = 0, now;

	while (ap_hook_next_part(hi, p->end, &lo, &hi)) {
		now = ask(AP_SVC_UNMAPPING, lo, hi, *is_more ? AP_SVC_UNMAPPING_MORE : 0);
		n = now > n ? now : n;
		*is_more = true;
	}
	return n;
}

static bool takes_away(u64 nr)
{
	switch (nr) {
	case AP_NR_munmap:
	case AP_NR_mmap:
	case AP_NR_brk:
	case AP_NR_mremap:
	case AP_NR_remap_file_pages:
	case AP_NR_shmdt:
		return true;
	default:
		return false;
	}
}

bool ap_svc_unmaps(const struct ap_service_call *c)
{
	struct ap_hook_place place;
	struct call_parts all;
	bool is_more = false;
	s64 n = 0;

	if (!takes_away(c->nr))
		return false;
	ap_hook_place(&place);
	if (!(__atomic_load_n(&place.slot->orders, __ATOMIC_ACQUIRE) & AP_ORDER_UNMAPPED))
		return false;
	if (c->nr == AP_NR_shmdt) {
		/* how long it is the kernel knows */
		ap_hook_shared_as_is(c->a[0]);
		return ask(AP_SVC_UNMAPPING, c->a[0], EVERYTHING, AP_SVC_UNMAPPING_SEGMENT) > 0;
	}
	all = parts_of(c);
	for (u32 i = 0; i < all.n; i++) {
		s64 now = look_at(&all.p[i], &is_more);

		n = now > n ? now : n;
	}
	return n > 0;
}

static void moved(const struct ap_service_call *c)
{
	bool has_moved = (u64)c->ret != c->a[0] && !(c->a[3] & MREMAP_DONTUNMAP);
	struct call_part tail = tail_of(c);

	if (c->a[3] & MREMAP_FIXED)
		(void)ask(AP_SVC_UNMAPPED, c->a[4], c->a[4] + AP_ALIGN_UP(c->a[2], AP_PAGE_SIZE),
			  AP_SVC_UNMAPPED_MORE);
	(void)ask(AP_SVC_UNMAPPED, tail.start, tail.end, AP_SVC_UNMAPPED_MORE);
	(void)ask(AP_SVC_UNMAPPED, c->a[0], has_moved ? tail.start : c->a[0], 0);
}

void ap_svc_unmapped(const struct ap_service_call *c)
{
	if (ap_is_err(c->ret) || (c->nr == AP_NR_brk && c->ret != (s64)c->a[0]))
		(void)ask(AP_SVC_UNMAPPED, 0, EVERYTHING, AP_SVC_UNMAPPED_FAILED);
	else if (c->nr == AP_NR_mremap)
		moved(c);
	else
		(void)ask(AP_SVC_UNMAPPED, 0, EVERYTHING, 0);
}
