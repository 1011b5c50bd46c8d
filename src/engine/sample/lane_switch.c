/* SPDX-License-Identifier: MIT */
/*
 * --stress sample: an overflow at each multiple of a number, without anybody who wants samples.  What
 * the thread is at goes to the log, behind its tid, for a comparison with the single-stepping oracle, and what
 * the budget says is compared with what the counters say.
 */
#include "abi/switches.h"
#include "base/str.h"
#include "engine/emit/emit.h"
#include "engine/sample/lane.h"
#include "sys/nr.h"

static void append(struct ap_thread *t, const char *what, u64 at, u64 bp)
{
	struct ap_hook_branch b[AP_HOOK_BRANCHES];
	u32 n = ap_hook_branches(b, AP_HOOK_BRANCHES);
	char line[2048];
	struct ap_str s;

	if (!ap_proc.session->switches.has_log)
		return; /* to see what it costs */
	ap_str_init(&s, line, sizeof(line));
	ap_str_u64(&s, t->tid);
	ap_str_add(&s, " ");
	ap_str_add(&s, what);
	ap_str_hex(&s, at, 0);
	if (ap_is_stressed(ap_proc.session, AP_STRESS_FRAMES)) {
		ap_str_add(&s, " ");
		ap_str_hex(&s, bp, 0);
	}
	for (u32 k = 0; k < n; k++) {
		ap_str_add(&s, " ");
		ap_str_hex(&s, b[k].from, 0);
		ap_str_add(&s, ">");
		ap_str_hex(&s, b[k].to, 0);
	}
	ap_str_add(&s, "\n");
	(void)ap_sys3(AP_NR_write, ap_proc.session->switches.log, (u64)line, s.len);
}

/* The next multiple from raw on. */
static void arm(u64 raw, u64 from)
{
	u64 period = ap_proc.session->switches.period;

	ap_hook_lane_arm(0, (from / period + 1) * period - raw,
			 ap_is_stressed(ap_proc.session, AP_STRESS_BEHIND) ? AP_HOOK_BEHIND : 0);
}

void ap_lane_stress_arm(struct ap_thread *t)
{
	u64 raw = ap_hook_lane_raw(0);

	(void)t;
	arm(raw, raw);
}

/* All that were passed since the last call, which was at the multiple before mark. */
static void append_passed(struct ap_thread *t, u64 mark, u64 raw)
{
	for (; (s64)(raw - mark) >= 0; mark += ap_proc.session->switches.period) {
		struct ap_hook_passed at = { 0 };
		bool is_known = ap_hook_passed(raw - mark, &at);

		append(t, is_known ? "" : "unknown ", at.pc, at.bp);
	}
}

void ap_lane_stress_overflow(struct ap_thread *t, const struct ap_service_point *p, u64 raw)
{
	u64 period = ap_proc.session->switches.period, mark = raw - raw % period;

	if (ap_proc.session->switches.has_log && raw != ap_lane_sum(t, ap_proc.lanes[0]))
		append(t, "budget and counters differ at ", p->pc, 0);
	if (p->is_behind)
		append_passed(t, ap_thread_lanes(t)->lane[0].mark, raw);
	else
		append(t, p->known ? "" : "unknown ", p->pc, t->regs.gpr[AP_RBP]);
	arm(raw, mark);
}
