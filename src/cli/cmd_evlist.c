/* SPDX-License-Identifier: MIT */
/*
 * `anyperf evlist`: the events of a perf.data.
 */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/profile.h"
#include "print/print.h"
#include "profile/data/describe.h"

#define COMMAND "anyperf evlist"

struct evlist_args {
	const char *input;
	bool frequency, verbose, groups, force;
};

static const struct ap_opt evlist_opts[] = {
	GROUP("Input"),
	{ 'i', "input", AP_OPT_STR, offsetof(struct evlist_args, input), NULL, "file",
	  "what to read (perf.data; - is standard input)", false },
	{ 'f', "force", AP_OPT_FLAG, offsetof(struct evlist_args, force), NULL, NULL,
	  "read another user's file, a FIFO or a device, too", false },
	GROUP("How it is shown"),
	{ 'F', "freq", AP_OPT_FLAG, offsetof(struct evlist_args, frequency), NULL, NULL,
	  "show how often was sampled", false },
	{ 'g', "group", AP_OPT_FLAG, offsetof(struct evlist_args, groups), NULL, NULL,
	  "show groups as one, in braces", false },
	{ 'v', "verbose", AP_OPT_FLAG, offsetof(struct evlist_args, verbose), NULL, NULL,
	  "show the whole attr", false },
	{ 0 }
};

/* clang-format off */
const struct ap_opt_spec ap_spec_evlist = {
	COMMAND, "[options]", evlist_opts,
	{ { "", "list the events of perf.data" },
	  { "-v -i other.data", "the same of another file, with all of each attr" } },
};
/* clang-format on */

static void print_event(const struct evlist_args *a, const struct ap_data_event *ev)
{
	ap_print_str(stdout, ev->name);
	if (a->verbose) {
		fputs(": ", stdout);
		ap_attr_print_first(&ev->attr, ": ", stdout);
	} else if (a->frequency) {
		ap_print(stdout, ": sample_%s=%llu",
			 ev->attr.flags & AP_PERF_FREQ ? "freq" : "period",
			 (unsigned long long)ev->attr.sample_period);
	}
	putchar('\n');
}

static void print_all(const struct evlist_args *a, const struct ap_data *d)
{
	u32 i, k, n;

	for (i = 0; i < ap_data_nevents(d); i += n) {
		const struct ap_data_event *ev = ap_data_event(d, i);

		n = a->groups ? ev->group_size : 1;
		if (n < 2) {
			print_event(a, ev);
			continue;
		}
		ap_print(stdout, "%s{", ev->group ? ev->group : "");
		for (k = 0; k < n; k++)
			ap_print(stdout, "%s%s", k ? "," : "", ap_data_event(d, i + k)->name);
		puts("}");
	}
}

int ap_cmd_evlist(int argc, char **argv)
{
	struct evlist_args args = { 0 };
	struct ap_data_rec rec;
	struct ap_data *d;
	int rest, status;

	if (!ap_opts_begin(&ap_spec_evlist, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_evlist, "takes no argument", argv[rest]);
	d = ap_profile_open(COMMAND, args.input, args.force);
	if (!d)
		return AP_EXIT_FAILURE;
	/* a stream tells in its first records */
	ap_data_unordered(d);
	while (ap_data_is_pipe(d) && ap_data_next(d, &rec) && rec.h.type >= AP_RECORD_HEADER_ATTR)
		;
	print_all(&args, d);
	return ap_profile_close(COMMAND, args.input, d);
}
