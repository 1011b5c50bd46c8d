/* SPDX-License-Identifier: MIT */
/*
 * Prompts: what only the kernel sees, or sees best (page faults, that a clock's time has come), it tells
 * the thread by the SIGTRAP of an event that the supervisor has opened on it.  The handler notes where the
 * thread was; the sample is taken by the thread itself, as all others.  docs/design/sampling.md, "Prompts".
 */
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"
#include "engine/signal/signal.h"

bool ap_prompt_is(u32 sig, const struct ap_siginfo *info)
{
	if (ap_likely(sig != AP_SIGTRAP || info->code != AP_PROMPT_CODE))
		return false;
	return ap_sig_perf_data(info) - AP_PROMPT_DATA(0) < AP_PROMPT_N;
}

/* One that finds no room is lost, as those are that the kernel finds one waiting for. */
void ap_prompt_note(struct ap_thread *t, u32 kind, u64 pc, u64 addr)
{
	u32 n = t->nprompts;

	if (n == AP_PROMPTS)
		return;
	ap_sample_on();
	ap_thread_lanes(t)->prompts[n] = (struct ap_prompt){ .pc = pc, .addr = addr, .kind = kind };
	__atomic_store_n(&t->nprompts, n + 1, __ATOMIC_SEQ_CST);
}

static void clock_is_due(struct ap_thread *t, const struct ap_prompt *of)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;

	p->known = true;
	p->has_mem = false;
	p->prompted = true;
	p->pc = of->pc ? of->pc : t->regs.rip;
	ap_lane_call(t, AP_SAMPLE_CLOCK, AP_LANE_MAX);
}

/* Memory of the engine's is touched by code that counts: no fault of the program's. */
static void faulted(struct ap_thread *t, const struct ap_prompt *of)
{
	static const u8 kinds[AP_PROMPT_N] = { [AP_PROMPT_FAULT] = AP_FAULT_ANY,
					       [AP_PROMPT_MIN] = AP_FAULT_MIN,
					       [AP_PROMPT_MAJ] = AP_FAULT_MAJ };
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	struct ap_slot *slot = ap_thread_slot(t);
	u32 kind = kinds[of->kind];

	if (ap_mem_is_ours(of->addr, of->addr + 1))
		return;
	slot->faults[AP_FAULT_ANY]++;
	if (kind != AP_FAULT_ANY)
		slot->faults[kind]++;
	p->known = true;
	p->prompted = true;
	p->pc = of->pc;
	p->has_mem = true;
	p->nmem = 1;
	p->mem[0].addr = of->addr;
	p->mem[0].read = p->mem[0].write = false;
	ap_lane_call(t, AP_SAMPLE_FAULT, AP_FAULT_ANY);
	if (kind != AP_FAULT_ANY)
		ap_lane_call(t, AP_SAMPLE_FAULT, kind);
	p->has_mem = false;
}

/* More may be noted meanwhile. */
void ap_prompts_take(struct ap_thread *t)
{
	for (u32 i = 0; i < __atomic_load_n(&t->nprompts, __ATOMIC_SEQ_CST); i++) {
		const struct ap_prompt of = ap_thread_lanes(t)->prompts[i];

		if (of.kind == AP_PROMPT_CLOCK)
			clock_is_due(t, &of);
		else
			faulted(t, &of);
	}
	__atomic_store_n(&t->nprompts, 0, __ATOMIC_SEQ_CST);
	ap_thread_lanes(t)->point.prompted = false;
}
