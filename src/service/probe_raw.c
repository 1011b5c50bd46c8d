/* SPDX-License-Identifier: MIT */
/* What a sample of a probe in text has as RAW: the kernel's fields of a uprobe, then its arguments (abi/probe.h). */
#include "abi/probe.h"
#include "base/mem.h"
#include "service/sample.h"

static void put(struct ap_svc_raw *raw, const void *bytes, u32 n)
{
	if (n > sizeof(raw->bytes) - raw->size)
		return;
	memcpy(raw->bytes + raw->size, bytes, n);
	raw->size += n;
}

/* What cannot be read is 0, as of the kernel's. */
static u64 word_at(u64 addr, u32 size)
{
	u64 v = 0;

	if (size > sizeof(v) || ap_hook_get(&v, addr, size))
		return 0;
	return v;
}

static void take_step(struct ap_svc_raw *raw, u64 step, const u64 *regs, u64 *v)
{
	s64 arg = AP_PROBE_ARG(step);
	u64 at;

	switch (AP_PROBE_OP(step)) {
	case AP_PROBE_REG:
		*v = arg >= 0 && arg < AP_HOOK_REGS ? regs[arg] : 0;
		break;
	case AP_PROBE_STACK:
		*v = word_at(regs[AP_HOOK_SP] + 8 * (u64)arg, 8);
		break;
	case AP_PROBE_IMM:
		*v = (u64)arg;
		break;
	case AP_PROBE_DEREF:
		*v = word_at(*v + (u64)arg, 8);
		break;
	case AP_PROBE_PUT:
		put(raw, v, AP_PROBE_SIZE(step));
		break;
	default:
		at = word_at(*v + (u64)arg, AP_PROBE_SIZE(step));
		put(raw, &at, AP_PROBE_SIZE(step));
	}
}

void ap_svc_probe_raw(const struct ap_service_point *p, u32 form, const struct ap_slot *slot,
		      const u64 *regs, struct ap_svc_raw *raw)
{
	const struct ap_probe_form *f = ap_probe_form_of(ap_hook_session(), form);
	const struct ap_trace_common head = { .type = (u16)f->id, .pid = (s32)slot->tid };
	u64 v = 0;

	raw->size = 0;
	put(raw, &head, sizeof(head));
	if (f->is_return)
		put(raw, &p->value, sizeof(p->value)); /* the function */
	put(raw, &p->pc, sizeof(p->pc));
	for (u32 i = 0; i < AP_PROBE_STEPS && f->step[i] != AP_PROBE_END; i++)
		take_step(raw, f->step[i], regs, &v);
}
