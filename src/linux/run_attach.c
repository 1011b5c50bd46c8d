/* SPDX-License-Identifier: MIT */
/*
 * A run that brings a running process in, with a command beside it or none.
 */
#include <errno.h>
#include <string.h>

#include "linux/run_internal.h"

int ap_run_attach(struct ap_run_state *run)
{
	pid_t pid = run->opts->attach;
	char why[AP_ATTACH_WHY];

	if (ap_attach(&run->sv, pid, &run->attached, why))
		return ap_run_complain(run, AP_EXIT_OURS, "cannot attach to %d: %s", (int)pid, why);
	ap_tracks_update(&run->sv);
	return 0;
}

static bool has_ended(struct ap_supervisor *sv)
{
	return sv->is_interrupted || !ap_tracks_running(sv);
}

void ap_run_serve_attached(struct ap_run_state *run)
{
	u64 now = ap_now_ns(), ms = run->opts->timeout_ms;

	run->start_ns = now;
	ap_supervisor_serve(&run->sv, has_ended, ms ? now + ms * 1000000ULL : 0);
	run->sv.end_ns = ap_now_ns();
}

void ap_run_detach(struct ap_run_state *run)
{
	struct ap_attached *a = &run->attached;
	int ret;

	if (!a->pid)
		return;
	ret = ap_detach(&run->sv, a);
	if (ret && ret != -ESRCH)
		ap_run_complain(run, 0, "cannot leave process %d, which runs on in the session: %s",
				(int)a->pid, strerror(-ret));
}
