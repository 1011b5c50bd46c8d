/* SPDX-License-Identifier: MIT */
/*
 * `anyperf report`: where the samples of a perf.data were, as a table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/profile.h"
#include "profile/describe.h"
#include "profile/hist.h"
#include "profile/hist_opts.h"

#define COMMAND "anyperf report"

struct report_args {
	const char *input, *sort, *fields, *separator, *symfs, *kallsyms;
	bool stdio, children, no_children, quiet, verbose, samples, period, header, header_only;
	bool no_demangle, inlines, utilization;
	unsigned int max_stack;
	struct ap_hist_opts hist;
	bool order_set;
};

static int opt_graph(void *args, const char *value, char *why)
{
	struct report_args *a = args;

	return value ? ap_hist_opts_graph(&a->hist, &a->order_set, value, why, AP_OPT_WHY) : 0;
}

static int opt_percent_limit(void *args, const char *value, char *why)
{
	struct report_args *a = args;
	char *end;

	errno = 0;
	a->hist.percent_limit = strtod(value, &end);
	if (errno || end == value || *end || !(a->hist.percent_limit >= 0)) {
		snprintf(why, AP_OPT_WHY, "needs a number of percent");
		return -EINVAL;
	}
	a->hist.chain_percent = a->hist.percent_limit;
	return 0;
}

#define AT(field) offsetof(struct report_args, field)
static const struct ap_opt report_opts[] = {
	{ 'i', "input", AP_OPT_STR, AT(input), NULL, "file",
	  "what to read (perf.data; - is standard input)", false },
	{ 0, "stdio", AP_OPT_FLAG, AT(stdio), NULL, NULL, "print to standard output", false },
	{ 's', "sort", AP_OPT_STR, AT(sort), NULL, "keys",
	  "tell entries apart by these: comm dso symbol pid cpu srcline srcfile", false },
	{ 'F', "fields", AP_OPT_STR, AT(fields), NULL, "columns",
	  "show these: overhead overhead_children overhead_us overhead_sys sample period, keys",
	  false },
	{ 0, "children", AP_OPT_FLAG, AT(children), NULL, NULL,
	  "also add what a function calls to it (where there are callchains)", false },
	{ 0, "no-children", AP_OPT_FLAG, AT(no_children), NULL, NULL,
	  "count where samples were alone", false },
	{ 'g', "call-graph", AP_OPT_NEXT, 0, opt_graph, "how",
	  "call trees: graph|fractal|none, least percent, branches, caller|callee, percent|period|count",
	  false },
	{ 0, "percent-limit", AP_OPT_CALL, 0, opt_percent_limit, "percent",
	  "leave out entries below", false },
	{ 'n', "show-nr-samples", AP_OPT_FLAG, AT(samples), NULL, NULL, "show how many samples",
	  false },
	{ 0, "show-total-period", AP_OPT_FLAG, AT(period), NULL, NULL, "show the sum of periods",
	  false },
	{ 0, "showcpuutilization", AP_OPT_FLAG, AT(utilization), NULL, NULL,
	  "split overhead into system and user", false },
	{ 't', "field-separator", AP_OPT_STR, AT(separator), NULL, "sep",
	  "between columns, without padding", false },
	{ 0, "header", AP_OPT_FLAG, AT(header), NULL, NULL, "show the file's header too", false },
	{ 0, "header-only", AP_OPT_FLAG, AT(header_only), NULL, NULL, "show the file's header only",
	  false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL,
	  "show names as the linker knows them", false },
	{ 0, "inline", AP_OPT_FLAG, AT(inlines), NULL, NULL,
	  "show functions that were expanded in others (asks debug information)", false },
	{ 0, "symfs", AP_OPT_STR, AT(symfs), NULL, "dir", "look for files below this", false },
	{ 0, "kallsyms", AP_OPT_STR, AT(kallsyms), NULL, "file", "kernel symbols", false },
	{ 'q', "quiet", AP_OPT_FLAG, AT(quiet), NULL, NULL, "leave out comments and headings",
	  false },
	{ 'v', "verbose", AP_OPT_FLAG, AT(verbose), NULL, NULL, "show whole paths", false },
	{ 0 }
};
#undef AT

static const struct ap_opt_spec report_spec = { COMMAND, "[options]", report_opts };

/* Columns and order of lines: needs to know whether there are callchains. */
static int choose_columns(struct report_args *a, bool chains)
{
	struct ap_hist_opts *h = &a->hist;
	char why[AP_OPT_WHY];

	h->children = chains && !a->no_children;
	if (!chains)
		h->chain = AP_CHAIN_NONE;
	if (h->children && !a->order_set)
		h->order = AP_CALLER;
	h->full_paths = a->verbose;
	h->no_header = a->quiet;
	h->separator = a->separator;
	h->inlines = a->inlines;
	if (ap_hist_opts_columns(h, a->sort, a->fields,
				 (a->samples ? AP_WANT_SAMPLES : 0) |
					 (a->period ? AP_WANT_PERIOD : 0) |
					 (a->utilization ? AP_WANT_MODES : 0),
				 why, sizeof(why))) {
		fprintf(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_USAGE;
	}
	return 0;
}

static bool has_chains(const struct ap_data *d)
{
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++) {
		if (ap_data_event(d, i)->attr.sample_type & AP_PERF_SAMPLE_CALLCHAIN)
			return true;
	}
	return false;
}

static void print_event(const struct report_args *a, const struct ap_data_event *ev,
			const struct ap_hist *h)
{
	u64 n = ap_hist_samples(h);
	char unit = ' ';

	if (n > 1000) {
		n /= 1000;
		unit = 'K';
	}
	if (n > 1000) {
		n /= 1000;
		unit = 'M';
	}
	if (!a->quiet) {
		printf("# Samples: %llu%c of event '%s'\n", (unsigned long long)n, unit, ev->name);
		printf("# Event count (approx.): %llu\n#\n", (unsigned long long)ap_hist_total(h));
	}
	ap_hist_print(h, stdout);
	fputs("\n\n", stdout);
}

static int print_all(const struct report_args *a, const struct ap_data *d,
		     const struct ap_session *s, const struct ap_fold *f)
{
	bool any = false;
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++)
		any |= ap_fold_hist(f, i) != NULL;
	if (!any) {
		fprintf(stderr, COMMAND ": %s has no samples\n", ap_profile_path(a->input));
		return 0;
	}
	if (!a->quiet)
		printf("#\n# Total Lost Samples: %llu\n#\n", (unsigned long long)s->lost_samples);
	for (i = 0; i < ap_data_nevents(d); i++) {
		if (ap_fold_hist(f, i))
			print_event(a, ap_data_event(d, i), ap_fold_hist(f, i));
	}
	return 0;
}

/* Records of a stream tell of events before the first sample comes. */
static int read_all(struct report_args *a, struct ap_data *d, struct ap_session *s,
		    struct ap_fold **fold)
{
	struct ap_data_rec rec;
	u64 damaged = 0;
	int status;

	*fold = NULL;
	while (ap_data_next(d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(s, &rec);
			continue;
		}
		if (!*fold) {
			status = choose_columns(a, has_chains(d));
			if (status)
				return status;
			*fold = ap_fold_new(s, &a->hist);
		}
		if (!ap_fold_sample(*fold, &rec))
			damaged++;
	}
	if (damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)damaged);
	if (!*fold)
		*fold = ap_fold_new(s, &a->hist);
	ap_fold_finish(*fold);
	return 0;
}

static int report(struct report_args *a, struct ap_data *d)
{
	struct ap_session *s = ap_profile_calloc(1, sizeof(*s));
	struct ap_fold *f;
	int status;

	ap_session_init(s);
	s->symbols.no_demangle = a->no_demangle;
	s->symbols.params = a->verbose;
	s->symbols.symfs = a->symfs;
	s->symbols.kallsyms = a->kallsyms;
	ap_session_build_ids(s, d);
	status = read_all(a, d, s, &f);
	if (!status)
		status = print_all(a, d, s, f);
	if (f)
		ap_fold_free(f);
	ap_session_fini(s);
	free(s);
	return status;
}

int ap_cmd_report(int argc, char **argv)
{
	struct report_args args = { 0 };
	struct ap_data *d;
	int rest, status = 0, closed;

	ap_hist_opts_init(&args.hist);
	if (!ap_opts_begin(&report_spec, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&report_spec, "takes no argument", argv[rest]);
	status = choose_columns(&args, true);
	if (status)
		return status;
	d = ap_profile_open(COMMAND, args.input);
	if (!d)
		return AP_EXIT_FAILURE;
	if (args.header || args.header_only)
		ap_data_print_header(d, stdout);
	else if (!args.quiet)
		fputs("# To display the perf.data header info, please use --header/--header-only "
		      "options.\n#\n",
		      stdout);
	if (!args.header_only)
		status = report(&args, d);
	closed = ap_profile_close(COMMAND, args.input, d);
	return status ? status : closed;
}
