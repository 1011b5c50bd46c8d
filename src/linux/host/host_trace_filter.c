/* SPDX-License-Identifier: MIT */
/*
 * Filters of tracepoints, in the session's head, where every thread finds them: events with the
 * same one share it.  Places are taken in turns, so that a thread that still looks at one which was
 * given back does not find another's there.
 */
#include <errno.h>
#include <string.h>

#include "linux/host/host_internal.h"

static bool is_same(const struct ap_trace_filter *a, const struct ap_trace_filter *b)
{
	return a->id == b->id && a->n == b->n &&
	       !memcmp(a->node, b->node, a->n * sizeof(a->node[0]));
}

static struct ap_trace_filter *find(struct ap_session *head, const struct ap_trace_filter *f,
				    u32 *n)
{
	for (*n = 0; *n < AP_TRACE_FILTERS; (*n)++) {
		struct ap_trace_filter *of = ap_trace_filter_of(head, *n);

		if (head->trace_filter[*n] && is_same(of, f))
			return of;
	}
	return NULL;
}

static bool find_place(struct ap_host *host, u32 *n)
{
	for (u32 i = 0; i < AP_TRACE_FILTERS; i++) {
		*n = host->next_filter++ % AP_TRACE_FILTERS;
		if (!host->ses->head->trace_filter[*n])
			return true;
	}
	return false;
}

int ap_host_trace_filter(void *world, const struct ap_trace_filter *filter, u32 *id)
{
	struct ap_host *host = world;
	struct ap_session *head = host->ses->head;
	struct ap_trace_filter *f;
	u32 n;

	f = find(head, filter, &n);
	if (!f) {
		if (!find_place(host, &n))
			return -ENOSPC;
		f = ap_trace_filter_of(head, n);
		*f = *filter;
		f->users = 0;
		__atomic_store_n(&head->trace_filter[n], filter->id, __ATOMIC_RELEASE);
		__atomic_store_n(&head->trace_filters, head->trace_filters + 1, __ATOMIC_RELEASE);
	}
	f->users++;
	*id = AP_TRACE_FILTERED + n;
	return 0;
}

void ap_host_trace_unfilter(void *world, u32 id)
{
	struct ap_host *host = world;
	struct ap_session *head = host->ses->head;
	u64 n = ap_trace_filter_number(id);

	if (n >= AP_TRACE_FILTERS || --ap_trace_filter_of(head, n)->users)
		return;
	__atomic_store_n(&head->trace_filter[n], 0, __ATOMIC_RELEASE);
	__atomic_store_n(&head->trace_filters, head->trace_filters - 1, __ATOMIC_RELEASE);
}

/*
 * The kernel ends a call in a task's place: what its exits record is all that filters can ask for
 * here.
 */
u64 ap_host_trace_passed(const struct ap_session *head, u32 tid, u64 nr, s64 ret)
{
	const struct {
		u16 type;
		u8 flags, preempt_count;
		s32 pid;
		u64 nr;
		s64 ret;
	} raw = { .pid = (s32)tid, .nr = nr, .ret = ret };
	u64 passed = 0;

	for (u32 n = 0; n < AP_TRACE_FILTERS; n++) {
		const struct ap_trace_filter *f = ap_trace_filter_of(head, n);
		u32 id = head->trace_filter[n];

		if (id && (id == AP_TRACE_RAW_SYS_EXIT || id == ap_trace_sys_exit((u32)nr)) &&
		    ap_trace_expr_match(f->node, f->n, (const u8 *)&raw, sizeof(raw)))
			passed |= 1ULL << n;
	}
	return passed;
}
