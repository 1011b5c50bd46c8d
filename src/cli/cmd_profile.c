/* SPDX-License-Identifier: MIT */
/*
 * `anyperf profile`: how often each instruction of a command was executed, into a perf.data.  It is a recording without samplers
 * (record.h), whose samples are made at its end (record_profile.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/record.h"
#include "print/print.h"

#define EVENT "instructions:u"

#define OPT_ARGS struct record_opts

/* clang-format off */
static const struct ap_opt profile_table[] = {
	FLAG('i', "no-inherit", no_inherit, "the first process only, not its children"),
	STR('o', "output", output, "file", "write this file (default perf.data); -: a stream to standard output"),
	FLAG('q', "quiet", quiet, "print nothing at the end but what is missing"),
	CALL(0, "cache-limit", ap_engine_opt_cache_limit, "size", "translated code per process (default 64M)"),
	DETERMINISTIC,
	CALL(0, "env", ap_engine_opt_env, "name=value", "set this in the command's environment, not in ours"),
	AP_TEST_OPTIONS
	CALL(0, "timeout", ap_engine_opt_timeout, "ms", "end the command after so many milliseconds (>= 10)"),
	FLAG(0, "wait-all", run.wait_all, "wait for every descendant, not only for the command"),
	{ 0 }
};
const struct ap_opt_spec ap_spec_profile = {
	"anyperf profile", "[options] [--] command [args]", profile_table,
	{ { "-- ./program", "count each instruction into perf.data; 'anyperf report' shows functions" },
	  { "--deterministic -o exact.data -- ./bench", "the same, and the same numbers each time" } },
};
/* clang-format on */

static void choose(struct record_opts *o, char **command)
{
	char why[AP_OPT_WHY];

	if (ap_evlist_parse(&o->events, EVENT, why, sizeof(why)))
		ap_die("%s", why);
	o->run.argv = command;
	o->run.profiles = true;
	o->run.no_inherit = o->no_inherit;
	o->no_samples = true;
}

int ap_cmd_profile(int argc, char **argv)
{
	struct record_opts o = { .run.err = stderr };
	char name[] = "anyperf";
	int status, rest;

	o.argv = ap_xgrow(NULL, (size_t)argc + 2, sizeof(*o.argv));
	o.argv[0] = name;
	for (int i = 0; i <= argc; i++)
		o.argv[i + 1] = argv[i];
	if (!ap_opts_begin(&ap_spec_profile, &o, argc, argv, &rest, &status)) {
		(void)0;
	} else if (rest >= argc) {
		status = ap_opts_wrong(&ap_spec_profile, "no command to profile", NULL);
	} else {
		choose(&o, argv + rest);
		status = record_run(&o);
	}
	ap_evlist_fini(&o.events);
	free(o.argv);
	return status;
}
