/* SPDX-License-Identifier: MIT */
/*
 * `anyperf evlist`: the events of a perf.data.
 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/profile.h"
#include "profile/describe.h"

#define COMMAND "anyperf evlist"

struct evlist_args {
	const char *input;
	bool frequency, verbose;
};

static const struct ap_opt evlist_opts[] = {
	{ 'i', "input", AP_OPT_STR, offsetof(struct evlist_args, input), NULL, "file",
	  "what to read (perf.data; - is standard input)", false },
	{ 'F', "freq", AP_OPT_FLAG, offsetof(struct evlist_args, frequency), NULL, NULL,
	  "show how often was sampled", false },
	{ 'v', "verbose", AP_OPT_FLAG, offsetof(struct evlist_args, verbose), NULL, NULL,
	  "show the whole attr", false },
	{ 0 }
};

static const struct ap_opt_spec evlist_spec = { COMMAND, "[options]", evlist_opts };

static void print_event(const struct evlist_args *a, const struct ap_data_event *ev)
{
	fputs(ev->name, stdout);
	if (a->verbose) {
		fputs(": ", stdout);
		ap_attr_print_first(&ev->attr, ": ", stdout);
	} else if (a->frequency) {
		printf(": sample_%s=%llu", ev->attr.flags & AP_PERF_FREQ ? "freq" : "period",
		       (unsigned long long)ev->attr.sample_period);
	}
	putchar('\n');
}

int ap_cmd_evlist(int argc, char **argv)
{
	struct evlist_args args = { 0 };
	struct ap_data_rec rec;
	struct ap_data *d;
	int rest, status;
	u32 i;

	if (!ap_opts_begin(&evlist_spec, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&evlist_spec, "takes no argument", argv[rest]);
	d = ap_profile_open(COMMAND, args.input);
	if (!d)
		return AP_EXIT_FAILURE;
	/* a stream tells in its first records */
	ap_data_unordered(d);
	while (ap_data_is_pipe(d) && ap_data_next(d, &rec) && rec.h.type >= AP_RECORD_HEADER_ATTR)
		;
	for (i = 0; i < ap_data_nevents(d); i++)
		print_event(&args, ap_data_event(d, i));
	return ap_profile_close(COMMAND, args.input, d);
}
