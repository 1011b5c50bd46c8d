/* SPDX-License-Identifier: MIT */
/*
 * What the core has to know of tasks that it watches: before a child is made, at a task's end.  Tasks
 * that nobody watches cost a load.
 */
#include "abi/errno.h"
#include "abi/service.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/service.h"

static bool is_watched(const struct ap_slot *slot)
{
	return __atomic_load_n(&slot->orders, __ATOMIC_ACQUIRE) & AP_ORDER_WATCHED;
}

static bool self_is_watched(void)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	return is_watched(p.slot);
}

/*
 * What a stopped supervisor is not told it finds out for itself when it goes on: new tasks by their
 * segments, ends of processes by their pidfds (host_adopt.c).  An end of a thread waits: its slot is
 * another's afterwards.
 */
static void tell(u32 op, u64 a, u64 b, u64 c)
{
	struct ap_request r;

	ap_request_begin_held(&r, op);
	r.svc->arg[0] = a;
	r.svc->arg[1] = b;
	r.svc->arg[2] = c;
	if (op == AP_SVC_EXIT)
		ap_request_ask(&r);
	else if (ap_request_ask_briefly(&r) == -AP_EAGAIN)
		__atomic_fetch_add(&ap_board_of(ap_hook_session())->untold, 1, __ATOMIC_RELEASE);
}

bool ap_service_forks(u32 seg, u32 slot, bool is_thread)
{
	if (!is_thread)
		ap_svc_moves_before_fork();
	if (!self_is_watched())
		return false;
	tell(AP_SVC_FORK, seg, slot, is_thread);
	return true;
}

void ap_service_fork_failed(u32 seg, u32 slot, bool is_thread)
{
	tell(AP_SVC_FORK_FAILED, seg, slot, is_thread);
}

void ap_service_exits(bool whole_process)
{
	if (self_is_watched())
		tell(whole_process ? AP_SVC_EXIT_GROUP : AP_SVC_EXIT, 0, 0, 0);
}

void ap_service_buries(const struct ap_slot *other, u32 seg, u32 slot)
{
	if (is_watched(other))
		tell(AP_SVC_EXIT, 1, seg, slot);
}

void ap_service_traced_exec(u32 pid, u32 seg, u32 former)
{
	tell(AP_SVC_TRACED_EXEC, pid, seg, former);
}

void ap_service_quiet(void)
{
	struct ap_request r;

	if (!__atomic_load_n(&ap_hook_session()->prompts, __ATOMIC_ACQUIRE))
		return;
	ap_request_begin_held(&r, AP_SVC_QUIET);
	(void)ap_request_ask_briefly(&r);
}
