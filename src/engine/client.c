/* SPDX-License-Identifier: MIT */
/*
 * The table of clients, and the calls of their hooks.  It has addresses of functions, which the blob cannot have in initialised
 * data: so it is filled in at the start of each image.
 */
#include "engine/client.h"

#include "engine/translate/sb.h"

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

/* A hook that is called of each, and one that is until a client says yes. */
#define TELL(set, hook, params, args)                                                              \
	void ap_clients_##hook params                                                              \
	{                                                                                          \
		const struct ap_client *c;                                                         \
                                                                                                   \
		FOR_EACH(c, set(), hook)                                                           \
		c->hook args;                                                                      \
	}

#define ASK(set, name, hook, params, args)                                                         \
	bool ap_clients_##name params                                                              \
	{                                                                                          \
		const struct ap_client *c;                                                         \
                                                                                                   \
		FOR_EACH(c, set(), hook)                                                           \
		if (c->hook args)                                                                  \
			return true;                                                               \
		return false;                                                                      \
	}

TELL(all, take_over, (void), ())
TELL(all, ask_cpu, (void), ())
TELL(all, text_changed, (const struct ap_call *call, s64 ret), (call, ret))

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

ASK(all, is_unknown_int3, is_unknown_int3, (u64 pc), (pc))
TELL(all, read_int3, (u64 pc, u8 *code), (pc, code))
TELL(those_on, emit_begin, (void), ())
TELL(those_on, emit_before, (struct ap_emit * e, const struct ap_sb_insn *in), (e, in))
TELL(those_on, emit_end, (struct ap_emit * e, const struct ap_unit *u), (e, u))
TELL(those_on, drop, (u64 start, u64 end), (start, end))
TELL(those_on, low_maps_moved, (void), ())

enum ap_visit ap_clients_visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), visit)
	if (c->visit(t, pc, special) == AP_VISIT_RETRY)
		return AP_VISIT_RETRY;
	return AP_VISIT_RUN;
}

TELL(those_on, before_alone, (struct ap_thread * t, u64 pc), (t, pc))
TELL(those_on, after_exit, (struct ap_thread * t, enum ap_left how), (t, how))
TELL(those_on, not_run, (struct ap_thread * t), (t))
ASK(all, is_unreadable, is_unreadable, (u64 pc), (pc))
ASK(all, led_to, led_to, (u64 from, u64 to), (from, to))
TELL(all, trial_done, (struct ap_thread * t), (t))
TELL(those_on, mapped, (const struct ap_call *call, s64 ret), (call, ret))
TELL(those_on, inherit_stack, (struct ap_thread * child, const struct ap_thread *parent),
     (child, parent))
TELL(all, tracepoint, (struct ap_thread * t, enum ap_trace_id id, s64 n), (t, id, n))
TELL(all, call_begins, (struct ap_thread * t, u64 nr), (t, nr))
TELL(all, call_ends, (struct ap_thread * t, u64 nr, u64 ret), (t, nr, ret))
TELL(all, return_ends, (struct ap_thread * t, u64 ret), (t, ret))
TELL(all, call_untouched, (struct ap_thread * t), (t))
TELL(all, asked, (struct ap_thread * t), (t))
TELL(those_on, back, (struct ap_thread * t), (t))
TELL(those_on, left_by, (struct ap_thread * t, const struct ap_way_out *way), (t, way))
ASK(those_on, own_exit, owns_exit, (const struct ap_thread *t, const struct ap_exit *x), (t, x))
TELL(those_on, left_middle, (struct ap_thread * t, const struct ap_exit *x), (t, x))
TELL(those_on, out_of_middle, (struct ap_thread * t, u64 pc), (t, pc))
TELL(those_on, settle, (struct ap_thread * t), (t))

void ap_clients_arrive(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), catch_up)
	c->catch_up(t);
	FOR_EACH(c, those_on(), arrive)
	c->arrive(t);
}

TELL(those_on, left_block, (struct ap_thread * t, bool is_alone), (t, is_alone))

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

TELL(those_on, enter, (struct ap_thread * t, struct ap_block *b), (t, b))
TELL(those_on, arrive_alone, (struct ap_thread * t), (t))

bool ap_clients_before_entry_alone(struct ap_thread *t)
{
	const struct ap_client *c;

	FOR_EACH(c, those_on(), before_entry_alone)
	if (!c->before_entry_alone(t))
		return false;
	return true;
}

TELL(all, kinds_changed, (void), ())
TELL(those_on, follow, (struct ap_thread * t, bool is_data), (t, is_data))

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

TELL(those_on, counted_partly, (struct ap_thread * t, const struct ap_where *w), (t, w))
ASK(those_on, own_code, owns_code, (u64 pc), (pc))
TELL(those_on, stores_into_code, (struct ap_thread * t, const struct ap_where *w), (t, w))

bool ap_clients_are_held_up(struct ap_thread *t, bool is_in_code)
{
	const struct ap_client *c;
	bool any = false;

	FOR_EACH(c, those_on(), is_held_up)
	any |= c->is_held_up(t, is_in_code);
	return any;
}

u32 ap_clients_limit_insns(const struct ap_sb *sb)
{
	const struct ap_client *c;
	u32 n = sb->n, limit;

	FOR_EACH(c, those_on(), limit_insns)
	{
		limit = c->limit_insns(sb);
		n = limit < n ? limit : n;
	}
	return n;
}

TELL(those_on, code_goes, (void), ())
TELL(all, release_code, (void), ())
TELL(all, settle_last, (struct ap_thread * t), (t))
TELL(all, read_last, (struct ap_thread * t), (t))
TELL(all, thread_ends, (struct ap_thread * t), (t))
TELL(all, reserve, (u32 n), (n))
TELL(all, before_fork, (struct ap_thread * t, u64 random), (t, random))
TELL(all, in_child, (struct ap_thread * t), (t))

bool ap_clients_move_shared(void)
{
	const struct ap_client *c;

	FOR_EACH(c, all(), move_shared)
	if (!c->move_shared())
		return false;
	return true;
}

TELL(all, renew_all, (void), ())
TELL(all, each_shared, (void (*fn)(void *at, u64 size)), (fn))
TELL(all, end_tasks, (void), ())
ASK(all, hold_tasks, hold_tasks, (void), ())
TELL(all, let_tasks, (void), ())
ASK(all, make_way, make_way, (void), ())
TELL(all, before_call, (const struct ap_call *call), (call))
TELL(those_on, call_counted, (struct ap_thread * t, u64 pc), (t, pc))
TELL(those_on, after_call, (struct ap_thread * t), (t))
TELL(those_on, enter_handler, (struct ap_thread * t), (t))
ASK(those_on, own_word, owns_word, (const struct ap_thread *t, u64 at), (t, at))
