/* SPDX-License-Identifier: MIT */
/*
 * The client's part of a run: which tasks it may open events on, when it begins, and its last
 * readings.
 */
#include <errno.h>
#include <string.h>

#include "linux/client/client_internal.h"
#include "linux/run/run_internal.h"
#include "linux/task/now.h"

int ap_run_client_new(struct ap_run_state *run)
{
	if (!run->opts->client)
		return 0;
	run->sv.client = ap_client_new(&run->sv, run->opts->client);
	if (!run->sv.client)
		return -ENOMEM;
	run->sv.client->is_around = run->is_served_around;
	return 0;
}

static int add_tasks(struct ap_run_state *run)
{
	const struct ap_run_options *opts = run->opts;
	struct ap_event_client *c = run->sv.client;
	int ret;

	for (u32 i = 0; i < opts->ntargets; i++) {
		const struct ap_run_target *t = &opts->targets[i];

		ret = ap_client_add_threads(c, ap_run_target_process(t), t->tid);
		if (ret)
			return ap_run_complain(run, AP_EXIT_OURS, "cannot count %d: %s",
					       (int)(t->tid ? t->tid : t->pid), strerror(-ret));
	}
	if (opts->ntargets)
		return 0;
	ret = ap_client_add_command(c, run->launch.pid);
	return ret ? ap_run_complain(run, AP_EXIT_OURS, "cannot count: %s", strerror(-ret)) : 0;
}

int ap_run_client_start(struct ap_run_state *run)
{
	const struct ap_run_client *client = run->opts->client;
	int ret;

	if (!run->sv.client)
		return 0;
	ret = add_tasks(run);
	if (ret)
		return ret;
	ap_client_moment(run->sv.client);
	run->sv.client->is_starting = true;
	ret = client->start(client->arg, run->sv.client);
	run->sv.client->is_starting = false;
	return ret;
}

void ap_run_client_begin(struct ap_run_state *run)
{
	const struct ap_run_client *client = run->opts->client;

	run->start_ns = ap_now_ns();
	if (run->sv.client && client->begin)
		client->begin(client->arg, run->start_ns);
}

void ap_run_client_end(struct ap_run_state *run)
{
	const struct ap_run_client *client = run->opts->client;

	if (!run->sv.client)
		return;
	if (client->end)
		client->end(client->arg, run->sv.end_ns);
	ap_run_client_free(run);
}

void ap_run_client_free(struct ap_run_state *run)
{
	ap_client_free(run->sv.client);
	run->sv.client = NULL;
}
