/* SPDX-License-Identifier: MIT */
/*
 * Where a thread lands that the signal handler has sent out of what it was in: in engine context, on an empty engine stack, all
 * signals blocked.  Here locks may be taken again.
 */
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/signal/signal.h"

/*
 * A store into a page that the engine may have protected.
 * Where another thread was faster the page is writable by now.
 */
void ap_sig_resume_smc(struct ap_thread *t)
{
	u64 addr = ((struct ap_siginfo *)t->pend_info)->addr;
	bool ours;

	ap_lock_take(&ap_proc.lock);
	ours = ap_smc_write_fault(addr);
	ap_lock_drop(&ap_proc.lock);
	if (ours) {
		ap_thread_slot(t)->own_faults++; /* it was taken for the program's */
		ap_sig_set_mask(t->pend_mask);
		ap_dispatch_one_shot(t);
	}
	__atomic_store_n(&t->pending, 1, __ATOMIC_SEQ_CST);
	ap_redispatch(t);
}

void ap_sig_resume_bug(struct ap_thread *t)
{
	if (t->in_handler_depth == 1)
		ap_report_fault(t);
	ap_go_native(t, "fault in the engine");
}

void ap_sig_resume_trial(struct ap_thread *t)
{
	if (t->on_trial == AP_TRIAL_FETCH && ap_clients_led_to(t->native_pc, t->regs.rip)) {
		t->on_trial = AP_TRIAL_NONE;
		t->native_pc = 0;
		ap_redispatch(t);
	}
	if (t->on_trial == AP_TRIAL_FETCH) {
		t->on_trial = AP_TRIAL_NONE;
		ap_go_native(t, "code that can be executed and not read");
	}
	if (t->on_trial == AP_TRIAL_PROBED) {
		ap_clients_trial_done(t);
		t->on_trial = AP_TRIAL_NONE;
		t->native_pc = 0;
		ap_redispatch(t);
	}
	t->on_trial = AP_TRIAL_NONE;
	ap_go_native(t, "unknown instruction");
}
