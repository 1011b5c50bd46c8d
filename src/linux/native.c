/* SPDX-License-Identifier: MIT */
/*
 * A command without an engine of ours: software counters and its end are all there is to see.
 */
#include <errno.h>
#include <string.h>

#include "linux/run_internal.h"

int ap_run_native(struct ap_run_state *run, u32 nested_root)
{
	int ret;

	run->sv.ses.fd = -1;
	ap_signals_take(&run->signals);
	ret = ap_supervisor_init(&run->sv);
	if (ret) {
		ap_signals_give_back(&run->signals);
		return ap_run_complain(run, AP_EXIT_OURS, "cannot wait for events: %s",
				       strerror(-ret));
	}
	ret = ap_run_fork(run, -1, nested_root);
	if (!ret) {
		ap_run_let_go(run, true);
		ret = ap_run_explain_failure(run);
		ap_supervisor_serve(&run->sv, ap_run_command_has_ended, 0);
		ap_launch_fini(&run->launch);
		ap_run_take_times(run);
		ap_counters_close(&run->counters);
	}
	ap_supervisor_fini(&run->sv);
	ap_signals_give_back(&run->signals);
	return ret;
}
