/* SPDX-License-Identifier: MIT */
/*
 * `anyperf script`: every sample of a perf.data as text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/profile.h"
#include "print/print.h"
#include "profile/data/describe.h"
#include "profile/script/script.h"

#define COMMAND "anyperf script"

struct script_args {
	const char *input, *symfs, *kallsyms;
	bool header, header_only, no_demangle, verbose, taken, force;
	struct ap_script_opts script;
	struct ap_sample_filter filter;
};

/* perf's: whose interpreters are not here. */
static int opt_script(void *args, const char *value, char *why)
{
	(void)args;
	(void)value;
	snprintf(why, AP_OPT_WHY,
		 "runs and writes no scripts in Python or Perl; they can read what -F prints");
	return -EINVAL;
}

#define OPT_ARGS  struct script_args
#define AT(field) offsetof(OPT_ARGS, field)
static const struct ap_opt script_opts[] = {
	GROUP("Input"),
	INPUT,
	FORCE,
	{ 0, "symfs", AP_OPT_STR, AT(symfs), NULL, "dir", "look for files below this", false },
	{ 0, "kallsyms", AP_OPT_STR, AT(kallsyms), NULL, "file", "kernel symbols", false },
	GROUP("What is shown"),
	{ 'c', "comms", AP_OPT_STR, AT(filter.comms), NULL, "names",
	  "only samples of these commands", false },
	{ 0, "dsos", AP_OPT_STR, AT(filter.dsos), NULL, "files", "only samples in these files",
	  false },
	{ 'S', "symbols", AP_OPT_STR, AT(filter.symbols), NULL, "names",
	  "only samples in these functions", false },
	FILTER_TASKS,
	FILTER_CPUS('C'),
	FILTER_TIME,
	{ 0, "show-task-events", AP_OPT_FLAG, AT(script.tasks), NULL, NULL,
	  "also show names, forks and ends of tasks", false },
	{ 0, "show-mmap-events", AP_OPT_FLAG, AT(script.mmaps), NULL, NULL, "also show mappings",
	  false },
	FLAG(0, "show-switch-events", script.switches, "also show switches of tasks"),
	FLAG(0, "show-namespace-events", script.namespaces, "also show namespaces"),
	FLAG(0, "show-cgroup-events", script.cgroups, "also show cgroups"),
	FLAG(0, "show-lost-events", script.losses, "also show where records were lost"),
	{ 0, "header", AP_OPT_FLAG, AT(header), NULL, NULL, "show the file's header too", false },
	{ 0, "header-only", AP_OPT_FLAG, AT(header_only), NULL, NULL, "show the file's header only",
	  false },
	GROUP("How it is shown"),
	{ 'F', "fields", AP_OPT_STR, AT(script.fields), NULL, "type:fields",
	  "comm tid pid time cpu event trace ip sym dso addr symoff srcline period uregs iregs "
	  "brstack brstacksym weight ins_lat phys_addr data_page_size code_page_size misc "
	  "data_src; +field, -field change the default",
	  false },
	{ 'G', "hide-call-graph", AP_OPT_FLAG, AT(script.no_chains), NULL, NULL,
	  "leave out callchains", false },
	{ 0, "max-stack", AP_OPT_UINT, AT(script.max_stack), NULL, "n",
	  "only so many frames of each callchain", false },
	{ 0, "inline", AP_OPT_FLAG, AT(script.inlines), NULL, NULL,
	  "show functions that were expanded in others (asks debug information)", false },
	{ 0, "full-source-path", AP_OPT_FLAG, AT(script.full_sources), NULL, NULL,
	  "show whole paths of sources (srcline)", false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL,
	  "show names as the linker knows them", false },
	{ 0, "ns", AP_OPT_FLAG, AT(script.nanoseconds), NULL, NULL, "show nanoseconds", false },
	{ 0, "reltime", AP_OPT_FLAG, AT(script.since_start), NULL, NULL,
	  "show times since the first line", false },
	{ 0, "deltatime", AP_OPT_FLAG, AT(script.since_last), NULL, NULL,
	  "show times since the line before", false },
	{ 'v', "verbose", AP_OPT_FLAG, AT(verbose), NULL, NULL, "names with parameters", false },
	TAKEN,
	TAKEN_FLAG('a', "all-cpus"),
	{ 's', "script", AP_OPT_CALL, 0, opt_script, "file", "refused: says why", true },
	{ 'g', "gen-script", AP_OPT_CALL, 0, opt_script, "language", "refused: says why", true },
	{ 'l', "list", AP_OPT_CALL, 0, opt_script, NULL, "refused: says why", true },
	{ 0 }
};
#undef AT

/* clang-format off */
const struct ap_opt_spec ap_spec_script = {
	COMMAND, "[options]", script_opts,
	{ { "-F comm,time,event,sym", "print these fields of each sample" },
	  { "--header-only", "tell what was recorded, where and how" } },
};
/* clang-format on */

/* Whether fields and filters fit the file, whose events are known now. */
static int check(struct script_args *a, struct ap_data *d, struct ap_script *c)
{
	char why[AP_OPT_WHY];
	bool cpus = false;
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++)
		cpus |= !!(ap_data_event(d, i)->attr.sample_type & AP_PERF_SAMPLE_CPU);
	if (a->filter.cpus && !cpus) {
		ap_print(stderr,
			 COMMAND
			 ": -C: the samples of %s do not say their CPU (record --sample-cpu)\n",
			 ap_profile_path(a->input));
		return AP_EXIT_FAILURE;
	}
	if (!ap_filter_parse(&a->filter, d, why) && !ap_script_check(c, why, sizeof(why)))
		return 0;
	ap_print(stderr, COMMAND ": %s\n", why);
	return AP_EXIT_USAGE;
}

static int print_records(struct script_args *a, struct ap_data *d, struct ap_profile_session *s)
{
	struct ap_script *c = ap_script_new(s, d, &a->script, stdout);
	struct ap_data_rec rec;
	bool checked = false;
	u64 damaged = 0;
	int status = 0;

	while (!status && ap_data_next(d, &rec)) {
		/* a stream tells of its events before the first sample */
		if (rec.h.type < AP_RECORD_HEADER_ATTR && !checked) {
			checked = true;
			status = check(a, d, c);
			if (status)
				break;
		}
		if (rec.h.type != AP_PERF_RECORD_SAMPLE)
			ap_session_record(s, &rec);
		damaged += !ap_script_record(c, &rec);
		if (ferror(stdout))
			break;
	}
	ap_script_free(c);
	if (damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)damaged);
	return status;
}

static int script(struct script_args *a, struct ap_data *d)
{
	struct ap_profile_session *s = ap_profile_calloc(1, sizeof(*s));
	int status;

	ap_session_init(s);
	s->symbols.no_demangle = a->no_demangle;
	s->symbols.params = a->verbose;
	s->symbols.symfs = a->symfs;
	ap_profile_symbols(&s->symbols, a->force);
	s->symbols.kallsyms = a->kallsyms;
	ap_session_build_ids(s, d);
	a->script.filter = &a->filter;
	status = print_records(a, d, s);
	ap_filter_fini(&a->filter);
	ap_session_fini(s);
	free(s);
	return status;
}

int ap_cmd_script(int argc, char **argv)
{
	struct script_args args = { 0 };
	int rest, status = 0, closed;
	struct ap_data *d;

	if (!ap_opts_begin(&ap_spec_script, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_script, "runs no scripts", argv[rest]);
	if (!ap_profile_can_read(COMMAND, "--kallsyms", args.kallsyms))
		return AP_EXIT_FAILURE;
	d = ap_profile_open(COMMAND, args.input, args.force);
	if (!d)
		return AP_EXIT_FAILURE;
	if (args.header || args.header_only)
		ap_data_print_header(d, stdout);
	if (!args.header_only)
		status = script(&args, d);
	closed = ap_profile_close(COMMAND, args.input, d);
	return status ? status : closed;
}
