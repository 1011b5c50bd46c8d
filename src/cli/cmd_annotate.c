/* SPDX-License-Identifier: MIT */
/*
 * `anyperf annotate`: functions instruction by instruction, with how often each was sampled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/profile.h"
#include "cli/show.h"
#include "print/print.h"
#include "profile/hist/annotate.h"
#include "profile/symbols/disasm.h"
#include "tui/term.h"

#define COMMAND "anyperf annotate"

struct annotate_args {
	const char *input, *symbol, *dso, *symfs, *style, *objdump;
	struct ap_show show;
	bool no_demangle, taken, force;
	const char *taken_word;
	struct ap_annotate_opts print;
	struct ap_sample_filter filter;
};

static int opt_percent_type(void *args, const char *value, char *why)
{
	struct annotate_args *a = args;
	const char *dash = strchr(value, '-');

	a->print.global = !strncmp(value, "global", 6);
	a->print.hits = dash && !strcmp(dash, "-hits");
	if (dash && (a->print.hits || !strcmp(dash, "-period")) &&
	    dash - value == (a->print.global ? 6 : 5) &&
	    (a->print.global || !strncmp(value, "local", 5)))
		return 0;
	snprintf(why, AP_OPT_WHY, "is local-period, global-period, local-hits or global-hits");
	return -EINVAL;
}

static int opt_percent_limit(void *args, const char *value, char *why)
{
	struct annotate_args *a = args;
	char *end;

	a->print.percent_limit = strtod(value, &end);
	if (end != value && !*end && a->print.percent_limit >= 0)
		return 0;
	snprintf(why, AP_OPT_WHY, "needs a number of percent");
	return -EINVAL;
}

static int opt_tui(void *args, const char *value, char *why)
{
	return ap_show_opt_tui(&((struct annotate_args *)args)->show, value, why);
}

#define OPT_ARGS  struct annotate_args
#define AT(field) offsetof(OPT_ARGS, field)
static const struct ap_opt annotate_opts[] = {
	GROUP("Input"),
	INPUT,
	FORCE,
	{ 0, "symfs", AP_OPT_STR, AT(symfs), NULL, "dir", "look for files below this", false },
	OBJDUMP,
	GROUP("What is shown"),
	{ 's', "symbol", AP_OPT_STR, AT(symbol), NULL, "name", "only this function", false },
	{ 'd', "dsos", AP_OPT_STR, AT(dso), NULL, "file", "only functions of this file", false },
	FILTER_CPUS('C'),
	{ 0, "percent-limit", AP_OPT_CALL, 0, opt_percent_limit, "percent",
	  "leave out functions that weigh less of their event", false },
	{ 0, "no-source", AP_OPT_FLAG, AT(print.no_source), NULL, NULL, "leave out source lines",
	  false },
	GROUP("How it is shown"),
	{ 'n', "show-nr-samples", AP_OPT_FLAG, AT(print.samples), NULL, NULL,
	  "show how many samples instead of percent", false },
	{ 0, "show-total-period", AP_OPT_FLAG, AT(print.periods), NULL, NULL,
	  "show sums of periods instead of percent", false },
	{ 0, "percent-type", AP_OPT_CALL, 0, opt_percent_type, "type",
	  "of the function or of all, of periods or of samples: local-period (default), global-period, "
	  "local-hits, global-hits",
	  false },
	{ 'l', "print-line", AP_OPT_FLAG, AT(print.lines), NULL, NULL,
	  "show what source lines weigh, before each function", false },
	{ 'P', "full-paths", AP_OPT_FLAG, AT(print.full_paths), NULL, NULL, "show whole paths",
	  false },
	{ 'M', "disassembler-style", AP_OPT_STR, AT(style), NULL, "style", "att or intel", false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL,
	  "show names as the linker knows them", false },
	{ 0, "stdio", AP_OPT_FLAG, AT(show.stdio), NULL, NULL, "print to standard output", false },
	{ 0, "tui", AP_OPT_MAYBE, 0, opt_tui, "yes|no",
	  "show on the screen (default where standard output is a terminal)", false },
	TAKEN,
	TAKEN_CODE,
	TAKEN_FLAG('q', "quiet"),
	TAKEN_FLAG('v', "verbose"),
	TAKEN_FLAG(0, "skip-missing"),
	{ 0 }
};
#undef AT

/* clang-format off */
const struct ap_opt_spec ap_spec_annotate = {
	COMMAND, "[options] [function]", annotate_opts,
	{ { "main", "show main with the weight of each instruction" },
	  { "-l --stdio", "print all functions, with sums by source lines" } },
};
/* clang-format on */

static bool wanted(const struct annotate_args *a, const struct ap_notes *n)
{
	return (!a->symbol || !strcmp(a->symbol, n->sym->name)) &&
	       (!a->dso || !strcmp(a->dso, n->dso->name) || !strcmp(a->dso, n->dso->path)) &&
	       (a->symbol ||
		(double)n->period * 100 >= a->print.percent_limit * (double)n->all_period);
}

static int print_all(const struct annotate_args *a, struct ap_data *d, struct ap_annotate *notes,
		     struct ap_disasm *dis)
{
	u32 i, n = ap_annotate_finish(notes), found = 0, shown = 0;

	for (i = 0; i < n; i++) {
		const struct ap_notes *f = ap_annotate_get(notes, i);

		if (!wanted(a, f))
			continue;
		found++;
		shown += ap_annotate_print(f, ap_data_event(d, f->event)->name, dis, &a->print,
					   stdout);
	}
	if (shown || (!found && !a->symbol && !a->dso))
		return 0;
	if (found)
		ap_print(stderr, COMMAND ": the code of %s cannot be read\n",
			 a->symbol ? a->symbol : "these functions");
	else
		ap_print(stderr, COMMAND ": no sample was in %s\n", a->symbol ? a->symbol : a->dso);
	return AP_EXIT_FAILURE;
}

/* The heaviest of the functions that are wanted; from there one goes on to others. */
static int show_all(const struct annotate_args *a, struct ap_data *d, struct ap_annotate *notes,
		    struct ap_disasm *dis)
{
	struct ap_tui_profile p = { .notes = notes,
				    .full_paths = a->print.full_paths,
				    .no_source = a->print.no_source,
				    .with_samples = a->print.samples,
				    .disasm = dis };
	u32 i, n = ap_annotate_finish(notes);
	struct ap_tui tui = { 0 };
	struct ap_screen *screen;
	char why[AP_OPT_WHY];

	p.nevents = ap_data_nevents(d);
	p.event = ap_profile_calloc(p.nevents, sizeof(*p.event));
	for (i = 0; i < p.nevents; i++)
		p.event[i] = (struct ap_tui_event){ .name = ap_data_event(d, i)->name, .index = i };
	for (i = 0; i < n && !tui.view; i++) {
		const struct ap_notes *f = ap_annotate_get(notes, i);

		if (wanted(a, f))
			ap_tui_show_function(&tui, &p, f->event, f->dso, f->sym);
	}
	/* what there is to be said is said by the code that prints */
	if (!tui.view || ap_term_open(&screen, why, sizeof(why))) {
		ap_tui_fini(&tui);
		free(p.event);
		return print_all(a, d, notes, dis);
	}
	ap_term_run(&tui, screen);
	ap_tui_fini(&tui);
	free(p.event);
	ap_term_raise();
	return 0;
}

/* What is asked of samples can be asked of these, or a line says why not. */
static int check_filter(struct annotate_args *a, struct ap_data *d)
{
	char why[AP_FILTER_WHY];
	u64 all = ~0ULL;

	if (ap_filter_parse(&a->filter, d, why)) {
		ap_print(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_USAGE;
	}
	for (u32 i = 0; i < ap_data_nevents(d); i++)
		all &= ap_data_event(d, i)->attr.sample_type;
	if (!a->filter.cpus || all & AP_PERF_SAMPLE_CPU)
		return 0;
	ap_print(stderr,
		 COMMAND ": -C: the samples of %s do not say their CPU (record --sample-cpu)\n",
		 ap_profile_path(a->input));
	return AP_EXIT_FAILURE;
}

static int annotate(struct annotate_args *a, struct ap_data *d, struct ap_disasm *dis)
{
	struct ap_profile_session *s = ap_profile_calloc(1, sizeof(*s));
	struct ap_annotate *notes = ap_annotate_new(s);
	bool is_checked = false;
	struct ap_data_rec rec;
	u64 damaged = 0;
	int status = 0;

	ap_annotate_filter(notes, &a->filter);
	ap_session_init(s);
	s->symbols.no_demangle = a->no_demangle;
	s->symbols.symfs = a->symfs;
	ap_profile_symbols(&s->symbols, a->force);
	ap_session_build_ids(s, d);
	while (!status && ap_data_next(d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(s, &rec);
			continue;
		}
		/* records of a stream tell of events before its first sample */
		status = is_checked ? 0 : check_filter(a, d);
		is_checked = true;
		damaged += !status && !ap_annotate_sample(notes, &rec);
	}
	if (damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)damaged);
	ap_profile_tell_lost(COMMAND, a->input, s->lost + s->lost_samples);
	if (!status)
		status = ap_show_on_screen(&a->show, COMMAND) ? show_all(a, d, notes, dis)
							      : print_all(a, d, notes, dis);
	ap_filter_fini(&a->filter);
	ap_annotate_free(notes);
	ap_session_fini(s);
	free(s);
	return status;
}

static int run(struct annotate_args *a)
{
	struct ap_disasm_opts opts;
	struct ap_disasm *dis;
	struct ap_data *d;
	char why[AP_OPT_WHY];
	int status, closed;

	opts = (struct ap_disasm_opts){ a->style && !strcmp(a->style, "intel"), a->objdump };
	dis = ap_disasm_new(&opts, why, sizeof(why));
	if (!dis) {
		ap_print(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_FAILURE;
	}
	d = ap_profile_open(COMMAND, a->input, a->force);
	if (!d) {
		ap_disasm_free(dis);
		return AP_EXIT_FAILURE;
	}
	status = annotate(a, d, dis);
	closed = ap_profile_close(COMMAND, a->input, d);
	ap_disasm_free(dis);
	return status ? status : closed;
}

int ap_cmd_annotate(int argc, char **argv)
{
	struct annotate_args args = { 0 };
	int rest, status;

	if (!ap_opts_begin(&ap_spec_annotate, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc && !args.symbol) {
		/* options may follow the function, as with perf */
		args.symbol = argv[rest];
		argc -= rest;
		argv += rest;
		if (!ap_opts_begin(&ap_spec_annotate, &args, argc, argv, &rest, &status))
			return status;
	}
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_annotate, "takes one function", argv[rest]);
	if (args.style && strcmp(args.style, "att") && strcmp(args.style, "intel"))
		return ap_opts_wrong(&ap_spec_annotate, "a style is att or intel", args.style);
	return run(&args);
}
