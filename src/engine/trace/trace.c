/* SPDX-License-Identifier: MIT */
/*
 * A thread's own words, so plain adds; the supervisor reads them at any time.
 *
 * slot->call says to the supervisor in which call a thread was that is killed: the kernel passes
 * sys_exit then as well.  It also remembers whether the entry was counted: tracing may be switched
 * on while a call is under way, which has its exit counted only.
 */
#include "engine/client.h"
#include "engine/sample/lane.h"
#include "service/service.h"

static void count(struct ap_thread *t, u32 id, s64 n)
{
	u64 *word = &ap_thread_trace(t)[ap_trace_index(id)];

	__atomic_store_n(word, *word + (u64)n, __ATOMIC_RELAXED);
	if (n <= 0)
		return;
	/* a call may have enabled what its own exit is sampled by */
	if (ap_unlikely(__atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_RELAXED) !=
			t->sampler_gen))
		ap_lanes_arm(t);
	if (ap_unlikely(t->sources & 1U << AP_SAMPLE_TRACE))
		ap_lanes_counted(t, AP_SAMPLE_TRACE, id, t->regs.rip);
}

/* What has filters counts by those that it passes as well; which these were. */
static u64 count_filtered(struct ap_thread *t, u32 id, u64 value)
{
	u64 passed;

	if (ap_likely(!__atomic_load_n(&ap_proc.session->trace_filters, __ATOMIC_ACQUIRE)))
		return 0;
	passed = ap_service_filters(id, value);
	for (u64 left = passed; left; left &= left - 1)
		count(t, AP_TRACE_FILTERED + (u32)__builtin_ctzll(left), 1);
	return passed;
}

/* The kernel takes numbers for an int. */
static bool has_point(u64 nr)
{
	return (u32)nr < AP_TRACE_NR_MAX;
}

static void set_call(struct ap_thread *t, u64 call)
{
	__atomic_store_n(&ap_thread_slot(t)->call, call, __ATOMIC_RELAXED);
}

static void call_begins(struct ap_thread *t, u64 nr)
{
	u64 passed;

	t->call_value = nr;
	count(t, AP_TRACE_RAW_SYS_ENTER, 1);
	passed = count_filtered(t, AP_TRACE_RAW_SYS_ENTER, nr);
	if (has_point(nr)) {
		count(t, ap_trace_sys_enter((u32)nr), 1);
		passed |= count_filtered(t, ap_trace_sys_enter((u32)nr), nr);
	}
	t->call_passed = passed; /* from here on in the value's place */
	set_call(t, (u64)(u32)nr + 1);
}

static void exit_raw(struct ap_thread *t)
{
	count(t, AP_TRACE_RAW_SYS_EXIT, 1);
	(void)count_filtered(t, AP_TRACE_RAW_SYS_EXIT, t->call_value);
	set_call(t, 0);
}

static void call_ends(struct ap_thread *t, u64 nr, u64 ret)
{
	t->call_value = ret;
	set_call(t, (u64)(u32)nr + 1); /* a child has not entered it */
	if (has_point(nr)) {
		count(t, ap_trace_sys_exit((u32)nr), 1);
		(void)count_filtered(t, ap_trace_sys_exit((u32)nr), t->call_value);
	}
	exit_raw(t);
}

static void return_ends(struct ap_thread *t, u64 ret)
{
	t->call_value = ret;
	set_call(t, 0);
	exit_raw(t);
}

static void call_untouched(struct ap_thread *t)
{
	u64 call = ap_thread_slot(t)->call;

	if (!call)
		return;
	count(t, AP_TRACE_RAW_SYS_ENTER, -1);
	if (has_point(call - 1))
		count(t, ap_trace_sys_enter((u32)(call - 1)), -1);
	for (u64 left = t->call_passed; left; left &= left - 1)
		count(t, AP_TRACE_FILTERED + (u32)__builtin_ctzll(left), -1);
	t->call_passed = 0;
	set_call(t, 0);
}

static void tracepoint(struct ap_thread *t, enum ap_trace_id id, s64 n)
{
	count(t, id, n);
}

AP_CLIENT(ap_trace_client)
{
	c->tracepoint = tracepoint;
	c->call_begins = call_begins;
	c->call_ends = call_ends;
	c->return_ends = return_ends;
	c->call_untouched = call_untouched;
}
