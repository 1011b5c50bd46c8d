/* SPDX-License-Identifier: MIT */
/*
 * A run without an engine of ours: a command, or processes that run already, and what the kernel
 * (or the session around us) counts of them.
 */
#include <errno.h>
#include <string.h>

#include "linux/run/run_internal.h"

static int run_command(struct ap_run_state *run, u32 nested_root)
{
	int ret = ap_run_fork(run, -1, nested_root);

	if (ret)
		return ret;
	ret = ap_run_beside(run);
	ap_launch_fini(&run->launch);
	if (!ret)
		ap_run_take_times(run);
	return ret;
}

static int run_targets(struct ap_run_state *run)
{
	int ret = ap_run_watch_targets(run);

	if (!ret && run->opts->argv)
		return run_command(run, 0);
	if (!ret)
		ret = ap_run_client_start(run);
	if (!ret) {
		ap_run_serve_attached(run);
		ap_run_take_times(run);
	}
	return ret;
}

int ap_run_native(struct ap_run_state *run, u32 nested_root)
{
	int ret;

	run->sv.ses.fd = -1;
	ap_signals_take(run);
	ret = ap_supervisor_init(&run->sv);
	if (!ret) {
		ret = ap_run_client_new(run);
		if (ret)
			ap_supervisor_fini(&run->sv);
	}
	if (ret) {
		ap_signals_give_back(run);
		return ap_run_complain(run, AP_EXIT_OURS, "cannot wait for events: %s",
				       strerror(-ret));
	}
	ret = run->opts->ntargets ? run_targets(run) : run_command(run, nested_root);
	if (!ret && run->nested)
		ap_nested_settle(run);
	if (!ret)
		ap_run_client_end(run);
	ap_run_client_free(run);
	ap_run_detach(run);
	ap_supervisor_fini(&run->sv);
	ap_signals_give_back(run);
	return ret;
}
