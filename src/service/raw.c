/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint's sample carries as RAW: its fields as the format files of the generated tracefs
 * have them (pmu/tracepoint.c), behind the four that all have in common.  It is also what filters are held
 * against, before anything is counted.
 */
#include "abi/trace.h"
#include "base/mem.h"
#include "service/sample.h"

static void put(struct ap_svc_raw *raw, const void *bytes, u32 n)
{
	memcpy(raw->bytes + raw->size, bytes, n);
	raw->size += n;
}

static void put_u64(struct ap_svc_raw *raw, u64 v)
{
	put(raw, &v, sizeof(v));
}

static const u8 arg_regs[6] = { AP_HOOK_DI,	AP_HOOK_SI, AP_HOOK_DX,
				AP_HOOK_R8 + 2, AP_HOOK_R8, AP_HOOK_R8 + 1 };

/* The number has eight bytes in either: a long, or an int and its padding. */
static void put_enter(struct ap_svc_raw *raw, u64 nr, const u64 *regs, u32 nargs)
{
	put_u64(raw, nr);
	for (u32 i = 0; i < nargs && i < AP_ARRAY_SIZE(arg_regs); i++)
		put_u64(raw, regs[arg_regs[i]]);
}

void ap_svc_raw(const struct ap_service_point *p, const struct ap_slot *slot, const u64 *regs,
		u32 nargs, struct ap_svc_raw *raw)
{
	const u32 which = ap_trace_unfiltered(ap_hook_session(), p->which);
	const struct ap_trace_common head = { .type = (u16)which, .pid = (s32)slot->tid };
	u64 nr = slot->call - 1;

	raw->size = 0;
	put(raw, &head, sizeof(head));
	if (which == AP_TRACE_RAW_SYS_ENTER) {
		put_enter(raw, (u32)p->value, regs, nargs);
	} else if (which == AP_TRACE_RAW_SYS_EXIT) {
		put_u64(raw, nr);
		put_u64(raw, p->value);
	} else if (which >= AP_TRACE_SYSCALL_BASE) {
		nr = (which - AP_TRACE_SYSCALL_BASE) / 2;
		if (which & 1) {
			put_u64(raw, nr);
			put_u64(raw, p->value);
		} else {
			put_enter(raw, nr, regs, nargs);
		}
	}
}

static bool passes(const struct ap_session *s, u32 n, const struct ap_svc_raw *raw)
{
	const struct ap_trace_filter *f = ap_trace_filter_of(s, n);

	return f->n <= AP_TRACE_FILTER_NODES &&
	       ap_trace_expr_match(f->node, f->n, raw->bytes, raw->size);
}

u64 ap_service_filters(u32 id, u64 value)
{
	const struct ap_service_point point = { .which = id, .value = value };
	const struct ap_session *s = ap_hook_session();
	struct ap_hook_place place;
	struct ap_svc_raw raw;
	u64 regs[AP_HOOK_REGS], passed = 0;

	raw.size = 0;
	for (u32 n = 0; n < AP_TRACE_FILTERS; n++) {
		/* pairs with the supervisor's store, behind what the filter is */
		if (__atomic_load_n(&s->trace_filter[n], __ATOMIC_ACQUIRE) != id)
			continue;
		if (!raw.size) {
			ap_hook_place(&place);
			ap_hook_regs(regs);
			ap_svc_raw(&point, place.slot, regs, AP_ARRAY_SIZE(arg_regs), &raw);
		}
		if (passes(s, n, &raw))
			passed |= 1ULL << n;
	}
	return passed;
}
