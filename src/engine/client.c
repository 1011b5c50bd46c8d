/* SPDX-License-Identifier: MIT */
/*
 * The table of clients, and the calls of their hooks.  It has addresses of functions, which the blob cannot have in initialised
 * data: so it is filled in at the start of each image.
 */
#include "engine/client.h"

#define CLIENTS_MAX 8

static struct ap_client clients[CLIENTS_MAX];
static u32 nclients;
static u32 on; /* as bits; grows only */

struct ap_client *ap_client_add(void)
{
	return &clients[nclients++];
}

void ap_client_on(const struct ap_client *c)
{
	__atomic_or_fetch(&on, 1U << (c - clients), __ATOMIC_RELEASE);
}

static u32 those_on(void)
{
	return __atomic_load_n(&on, __ATOMIC_ACQUIRE);
}

static u32 all(void)
{
	return (1U << nclients) - 1;
}

/* The next one of *which, in their order; NULL: that was the last. */
static const struct ap_client *next(u32 *which)
{
	u32 k;

	if (ap_likely(!*which))
		return NULL;
	k = (u32)__builtin_ctz(*which);
	*which &= *which - 1;
	return &clients[k];
}

/* For each client of a set that has the hook. */
#define FOR_EACH(c, set, hook)                                                                     \
	for (u32 left_ = (set); ((c) = next(&left_));)                                             \
		if ((c)->hook)

void ap_clients_take_over(void)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), take_over)
	c->take_over();
}

void ap_clients_ask_cpu(void)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), ask_cpu)
	c->ask_cpu();
}

void ap_clients_text_changed(const struct ap_call *call, s64 ret)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), text_changed)
	c->text_changed(call, ret);
}

bool ap_clients_change_code(void)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), plan_insn || c->emit_begin)
	return true;
	return false;
}

enum ap_special ap_clients_plan_insn(struct ap_sb_insn *in)
{
	enum ap_special special = AP_SPECIAL_NONE;
	const struct ap_client *c;

	FOR_EACH(c, those_on(), plan_insn)
	{
		special = c->plan_insn(in);
		if (special != AP_SPECIAL_NONE)
			break;
	}
	return special;
}

bool ap_clients_is_unknown_int3(u64 pc)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), is_unknown_int3)
	if (c->is_unknown_int3(pc))
		return true;
	return false;
}

void ap_clients_read_int3(u64 pc, u8 *code)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), read_int3)
	c->read_int3(pc, code);
}

void ap_clients_emit_begin(void)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), emit_begin)
	c->emit_begin();
}

void ap_clients_emit_before(struct ap_emit *e, const struct ap_sb_insn *in)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), emit_before)
	c->emit_before(e, in);
}

void ap_clients_emit_end(struct ap_emit *e, const struct ap_unit *u)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), emit_end)
	c->emit_end(e, u);
}

void ap_clients_drop(u64 start, u64 end)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), drop)
	c->drop(start, end);
}

void ap_clients_low_maps_moved(void)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), low_maps_moved)
	c->low_maps_moved();
}

enum ap_visit ap_clients_visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), visit)
	if (c->visit(t, pc, special) == AP_VISIT_RETRY)
		return AP_VISIT_RETRY;
	return AP_VISIT_RUN;
}

void ap_clients_before_alone(struct ap_thread *t, u64 pc)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), before_alone)
	c->before_alone(t, pc);
}

void ap_clients_after_exit(struct ap_thread *t, enum ap_left how)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), after_exit)
	c->after_exit(t, how);
}

void ap_clients_not_run(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), not_run)
	c->not_run(t);
}

bool ap_clients_is_unreadable(u64 pc)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), is_unreadable)
	if (c->is_unreadable(pc))
		return true;
	return false;
}

bool ap_clients_led_to(u64 from, u64 to)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), led_to)
	if (c->led_to(from, to))
		return true;
	return false;
}

void ap_clients_trial_done(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), trial_done)
	c->trial_done(t);
}

void ap_clients_mapped(const struct ap_call *call, s64 ret)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), mapped)
	c->mapped(call, ret);
}

void ap_clients_inherit_stack(struct ap_thread *child, const struct ap_thread *parent)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), inherit_stack)
	c->inherit_stack(child, parent);
}

void ap_clients_tracepoint(struct ap_thread *t, enum ap_trace_id id, s64 n)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), tracepoint)
	c->tracepoint(t, id, n);
}

void ap_clients_call_begins(struct ap_thread *t, u64 nr)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), call_begins)
	c->call_begins(t, nr);
}

void ap_clients_call_ends(struct ap_thread *t, u64 nr, u64 ret)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), call_ends)
	c->call_ends(t, nr, ret);
}

void ap_clients_return_ends(struct ap_thread *t, u64 ret)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), return_ends)
	c->return_ends(t, ret);
}

void ap_clients_call_untouched(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), call_untouched)
	c->call_untouched(t);
}

void ap_clients_asked(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), asked)
	c->asked(t);
}

void ap_clients_back(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), back)
	c->back(t);
}

void ap_clients_left_by(struct ap_thread *t, const struct ap_way_out *way)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), left_by)
	c->left_by(t, way);
}

bool ap_clients_own_exit(const struct ap_thread *t, const struct ap_exit *x)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), owns_exit)
	if (c->owns_exit(t, x))
		return true;
	return false;
}

void ap_clients_left_middle(struct ap_thread *t, const struct ap_exit *x)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), left_middle)
	c->left_middle(t, x);
}

void ap_clients_out_of_middle(struct ap_thread *t, u64 pc)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), out_of_middle)
	c->out_of_middle(t, pc);
}

void ap_clients_settle(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), settle)
	c->settle(t);
}

void ap_clients_arrive(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), catch_up)
	c->catch_up(t);
	FOR_EACH(c, those_on(), arrive)
	c->arrive(t);
}

void ap_clients_left_block(struct ap_thread *t, bool is_alone)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), left_block)
	c->left_block(t, is_alone);
}

enum ap_verdict ap_clients_before_entry(struct ap_thread *t, const struct ap_entry *e)
{
	enum ap_verdict verdict = AP_ENTRY_GOES_ON;
	const struct ap_client *c;

	FOR_EACH(c, those_on(), before_entry)
	{
		verdict = c->before_entry(t, e);
		if (verdict != AP_ENTRY_GOES_ON)
			break;
	}
	return verdict;
}

enum ap_verdict ap_clients_choose_block(struct ap_thread *t, const struct ap_entry *e,
					struct ap_block **b)
{
	enum ap_verdict verdict = AP_ENTRY_GOES_ON;
	const struct ap_client *c;

	FOR_EACH(c, those_on(), choose_block)
	{
		verdict = c->choose_block(t, e, b);
		if (verdict != AP_ENTRY_GOES_ON)
			break;
	}
	return verdict;
}

void ap_clients_enter(struct ap_thread *t, struct ap_block *b)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), enter)
	c->enter(t, b);
}

void ap_clients_arrive_alone(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), arrive_alone)
	c->arrive_alone(t);
}

bool ap_clients_before_entry_alone(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), before_entry_alone)
	if (!c->before_entry_alone(t))
		return false;
	return true;
}

void ap_clients_kinds_changed(void)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), kinds_changed)
	c->kinds_changed();
}

void ap_clients_follow(struct ap_thread *t, bool is_data)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), follow)
	c->follow(t, is_data);
}

enum ap_signal_verdict ap_clients_on_signal(struct ap_thread *t, const struct ap_signal_at *at)
{
	enum ap_signal_verdict verdict = AP_SIGNAL_OTHERS;
	const struct ap_client *c;

	FOR_EACH(c, all(), on_signal)
	{
		verdict = c->on_signal(t, at);
		if (verdict != AP_SIGNAL_OTHERS)
			break;
	}
	return verdict;
}

bool ap_clients_own_code(u64 pc)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), owns_code)
	if (c->owns_code(pc))
		return true;
	return false;
}

void ap_clients_stores_into_code(struct ap_thread *t, const struct ap_where *w)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), stores_into_code)
	c->stores_into_code(t, w);
}

bool ap_clients_are_held_up(struct ap_thread *t, bool is_in_code)
{
	const struct ap_client *c;
	bool any = false;

	FOR_EACH(c, those_on(), is_held_up)
	any |= c->is_held_up(t, is_in_code);
	return any;
}
