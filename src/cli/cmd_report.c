/* SPDX-License-Identifier: MIT */
/*
 * `anyperf report`: where the samples of a perf.data were, as a table, on the screen or printed.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "cli/profile.h"
#include "cli/samples_text.h"
#include "cli/show.h"
#include "print/print.h"
#include "profile/data/describe.h"
#include "profile/data/dump.h"
#include "profile/data/thread_counts.h"
#include "profile/hist/annotate.h"
#include "profile/hist/hist.h"
#include "profile/hist/hist_opts.h"
#include "profile/hist/inventory.h"
#include "tui/term.h"

#define COMMAND "anyperf report"

struct report_args {
	const char *input, *sort, *fields, *separator, *symfs, *kallsyms, *objdump;
	struct ap_show show;
	bool on_screen, children, no_children, quiet, verbose, samples, period, header, header_only;
	bool no_demangle, inlines, utilization;
	bool group, no_group, branches, no_branches, callees, known_only;
	bool stats, tasks, mmaps, dump, threads, memory, taken, force;
	struct ap_thread_counts counts;
	const char *taken_word;
	struct ap_hist_opts hist;
	struct ap_sample_filter filter;
	bool order_set;
	struct ap_topology topology;
	const char *message; /* on the screen, first */
	char *next;	     /* the file to be shown then */
	bool was_shown;
};

static int opt_tui(void *args, const char *value, char *why)
{
	return ap_show_opt_tui(&((struct report_args *)args)->show, value, why);
}

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

static int opt_parent(void *args, const char *value, char *why)
{
	struct report_args *a = args;
	regex_t re;

	if (regcomp(&re, value, REG_EXTENDED | REG_NOSUB)) {
		snprintf(why, AP_OPT_WHY, "is no regular expression: %s", value);
		return -EINVAL;
	}
	regfree(&re);
	a->hist.parent = value;
	return 0;
}

static int opt_percentage(void *args, const char *value, char *why)
{
	struct report_args *a = args;

	a->hist.relative = !strcmp(value, "relative");
	if (a->hist.relative || !strcmp(value, "absolute"))
		return 0;
	snprintf(why, AP_OPT_WHY, "is relative or absolute");
	return -EINVAL;
}

static int opt_widths(void *args, const char *value, char *why)
{
	struct report_args *a = args;

	if (!ap_hist_opts_widths(&a->hist, value))
		return 0;
	snprintf(why, AP_OPT_WHY, "needs widths of columns like 8,20,40");
	return -EINVAL;
}

static int opt_quantum(void *args, const char *value, char *why)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	struct report_args *a = args;
	char *end;
	double v = strtod(value, &end);
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(units); i++) {
		if (end != value && !strcmp(end, units[i].unit) && v * units[i].ns >= 1 &&
		    v * units[i].ns < 1e18) {
			a->hist.quantum = (u64)(v * units[i].ns);
			return 0;
		}
	}
	snprintf(why, AP_OPT_WHY, "needs a time like 100ms");
	return -EINVAL;
}

#define OPT_ARGS  struct report_args
#define AT(field) offsetof(OPT_ARGS, field)
static const struct ap_opt report_opts[] = {
	GROUP("Input"),
	INPUT,
	FORCE,
	{ 0, "symfs", AP_OPT_STR, AT(symfs), NULL, "dir", "look for files below this", false },
	{ 0, "kallsyms", AP_OPT_STR, AT(kallsyms), NULL, "file", "kernel symbols", false },
	OBJDUMP,
	GROUP("What is shown"),
	{ 'c', "comms", AP_OPT_STR, AT(filter.comms), NULL, "names", "only these commands", false },
	{ 'd', "dsos", AP_OPT_STR, AT(filter.dsos), NULL, "files", "only code of these files",
	  false },
	{ 'S', "symbols", AP_OPT_STR, AT(filter.symbols), NULL, "names", "only these functions",
	  false },
	{ 0, "symbol-filter", AP_OPT_STR, AT(filter.symbol_part), NULL, "text",
	  "only functions with this in their name", false },
	FILTER_TASKS,
	FILTER_CPUS('C'),
	FILTER_TIME,
	{ 'U', "hide-unresolved", AP_OPT_FLAG, AT(known_only), NULL, NULL,
	  "leave out addresses without a symbol", false },
	{ 'p', "parent", AP_OPT_CALL, 0, opt_parent, "regex",
	  "the functions that the key 'parent' looks for in callchains", false },
	{ 'x', "exclude-other", AP_OPT_FLAG, AT(hist.parents_only), NULL, NULL,
	  "leave out what has no such parent", false },
	{ 0, "percent-limit", AP_OPT_CALL, 0, opt_percent_limit, "percent",
	  "leave out entries below", false },
	GROUP("How entries are told apart"),
	{ 's', "sort", AP_OPT_STR, AT(sort), NULL, "keys",
	  "tell entries apart by these: comm dso symbol pid cpu srcline srcfile time trace addr weight "
	  "local_weight symbol_size dso_size cgroup cgroup_id parent socket transaction code_page_size; of branches dso_from dso_to symbol_from symbol_to addr_from "
	  "addr_to srcline_from srcline_to mispredict in_tx abort cycles; of references (--mem-mode) mem "
	  "symbol_daddr dso_daddr dcacheline phys_daddr data_page_size symbol_iaddr snoop tlb locked blocked "
	  "local_ins_lat; +key adds",
	  false },
	{ 0, "time-quantum", AP_OPT_CALL, 0, opt_quantum, "time",
	  "how far times as keys (-s time) are rounded down (100ms)", false },
	{ 0, "group", AP_OPT_FLAG, AT(group), NULL, NULL,
	  "all events side by side (groups of the file are, in any case)", false },
	{ 0, "no-group", AP_OPT_FLAG, AT(no_group), NULL, NULL, "each event of a group by itself",
	  false },
	{ 'b', "branch-stack", AP_OPT_FLAG, AT(branches), NULL, NULL,
	  "count branches, not samples (so it is where samples have branches)", false },
	{ 0, "no-branch-stack", AP_OPT_FLAG, AT(no_branches), NULL, NULL,
	  "count samples, also where they have branches", false },
	FLAG(0, "mem-mode", memory,
	     "weigh references to memory by what they took (anyperf mem report)"),
	{ 0, "inline", AP_OPT_FLAG, AT(inlines), NULL, NULL,
	  "show functions that were expanded in others (asks debug information)", false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL,
	  "show names as the linker knows them", false },
	GROUP("Call trees"),
	{ 'g', "call-graph", AP_OPT_NEXT, 0, opt_graph, "how",
	  "call trees: graph|fractal|flat|folded|none, least percent, branches, caller|callee, percent|period|count",
	  false },
	{ 'G', "inverted", AP_OPT_FLAG, AT(callees), NULL, NULL, "call trees from the caller down",
	  false },
	{ 0, "children", AP_OPT_FLAG, AT(children), NULL, NULL,
	  "also add what a function calls to it (where there are callchains)", false },
	{ 0, "no-children", AP_OPT_FLAG, AT(no_children), NULL, NULL,
	  "count where samples were alone", false },
	{ 0, "max-stack", AP_OPT_UINT, AT(hist.max_stack), NULL, "n",
	  "only so many frames of each callchain", false },
	GROUP("Columns"),
	{ 'F', "fields", AP_OPT_STR, AT(fields), NULL, "columns",
	  "show these: overhead overhead_children overhead_us overhead_sys sample period, keys",
	  false },
	{ 'n', "show-nr-samples", AP_OPT_FLAG, AT(samples), NULL, NULL, "show how many samples",
	  false },
	{ 0, "show-total-period", AP_OPT_FLAG, AT(period), NULL, NULL, "show the sum of periods",
	  false },
	{ 0, "showcpuutilization", AP_OPT_FLAG, AT(utilization), NULL, NULL,
	  "split overhead into system and user", false },
	{ 0, "percentage", AP_OPT_CALL, 0, opt_percentage, "how",
	  "of what filters show (relative) or of all (absolute, the default)", false },
	{ 'w', "column-widths", AP_OPT_CALL, 0, opt_widths, "widths",
	  "these widths of columns, from the left (8,20,40)", false },
	{ 't', "field-separator", AP_OPT_STR, AT(separator), NULL, "sep",
	  "between columns, without padding", false },
	GROUP("In place of the table, or beside it"),
	{ 0, "header", AP_OPT_FLAG, AT(header), NULL, NULL, "show the file's header too", false },
	{ 0, "header-only", AP_OPT_FLAG, AT(header_only), NULL, NULL, "show the file's header only",
	  false },
	{ 0, "stats", AP_OPT_FLAG, AT(stats), NULL, NULL, "only how many records of each kind",
	  false },
	{ 0, "tasks", AP_OPT_FLAG, AT(tasks), NULL, NULL, "only which tasks there were", false },
	{ 0, "mmaps", AP_OPT_FLAG, AT(mmaps), NULL, NULL, "only tasks and what they had mapped",
	  false },
	FLAG('T', "threads", threads, "also what each thread counted in all (record -s)"),
	{ 'D', "dump-raw-trace", AP_OPT_FLAG, AT(dump), NULL, NULL,
	  "only the bytes of all records, as they stand in the file", false },
	GROUP("Output"),
	{ 0, "stdio", AP_OPT_FLAG, AT(show.stdio), NULL, NULL, "print to standard output", false },
	{ 0, "tui", AP_OPT_MAYBE, 0, opt_tui, "yes|no",
	  "show on the screen (default where standard output is a terminal)", false },
	{ 'q', "quiet", AP_OPT_FLAG, AT(quiet), NULL, NULL, "leave out comments and headings",
	  false },
	{ 'v', "verbose", AP_OPT_FLAG, AT(verbose), NULL, NULL, "show whole paths", false },
	TAKEN,
	TAKEN_CODE,
	TAKEN_FLAG(0, "skip-empty"),
	{ 0, "show-cpu-utilization", AP_OPT_FLAG, AT(utilization), NULL, NULL,
	  "as --showcpuutilization", true },
	{ 0 }
};
#undef AT

/* clang-format off */
const struct ap_opt_spec ap_spec_report = {
	COMMAND, "[options]", report_opts,
	{ { "", "show where the samples of perf.data are" },
	  { "--stdio --no-children -s comm,dso", "print a table by commands and files" } },
};
/* clang-format on */

/* Columns and order of lines: needs to know whether there are callchains and branches. */
static int choose_columns(struct report_args *a, bool chains, bool branches)
{
	struct ap_hist_opts *h = &a->hist;
	char why[AP_OPT_WHY];

	h->memory = a->memory;
	h->branches = branches && !a->no_branches && !a->memory;
	chains &= !h->branches;
	h->filter = &a->filter;
	h->known_only = a->known_only;
	h->children = chains && !a->no_children;
	if (a->callees) {
		h->order = AP_CALLER;
		a->order_set = true;
	}
	if (!chains)
		h->chain = AP_CHAIN_NONE;
	if (h->children && !a->order_set)
		h->order = AP_CALLER;
	h->full_paths = a->verbose && !a->quiet;
	h->no_header = a->quiet;
	h->separator = a->separator;
	h->inlines = a->inlines;
	if (ap_hist_opts_columns(h, a->sort, a->fields,
				 (a->samples ? AP_WANT_SAMPLES : 0) |
					 (a->period ? AP_WANT_PERIOD : 0) |
					 (a->utilization ? AP_WANT_MODES : 0),
				 why, sizeof(why))) {
		ap_print(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_USAGE;
	}
	return 0;
}

/* Of such a file perf shows what they recorded, and not where. */
static bool all_tracepoints(const struct ap_data *d)
{
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++) {
		if (ap_data_event(d, i)->attr.type != AP_PERF_TYPE_TRACEPOINT)
			return false;
	}
	return ap_data_nevents(d);
}

static bool any_has(const struct ap_data *d, u64 sample_type)
{
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++) {
		if (ap_data_event(d, i)->attr.sample_type & sample_type)
			return true;
	}
	return false;
}

static bool any_has_branches(const struct ap_data *d)
{
	for (u32 i = 0; i < ap_data_nevents(d); i++)
		if (ap_attr_has_branches(&ap_data_event(d, i)->attr))
			return true;
	return false;
}

/* How many events from this one on are a group that is shown as one. */
static u32 group_size(const struct report_args *a, const struct ap_data *d, u32 i)
{
	u32 n = ap_data_nevents(d);

	if (a->no_group)
		return 1;
	if (a->group && !ap_data_has_groups(d))
		return i ? 1 : n;
	return ap_data_event(d, i)->group_size;
}

static void print_name(const struct report_args *a, const struct ap_data *d, u32 i, u32 n)
{
	const struct ap_data_event *ev = ap_data_event(d, i);
	bool group = ev->group_size > 1;
	u32 k;

	ap_print(stdout, " of event%s '", n > 1 || group ? "s" : "");
	if (n > 1 && group)
		ap_print(stdout, "%s { ", ev->group ? ev->group : "anon group");
	for (k = 0; k < n; k++)
		ap_print(stdout, "%s%s", k ? ", " : "", ap_data_event(d, i + k)->name);
	fputs(n > 1 && group ? " }'" : "'", stdout);
	if (a->filter.time)
		ap_print(stdout, " (time slices: %s)", a->filter.time);
	fputc('\n', stdout);
}

static void print_event(const struct report_args *a, const struct ap_data *d,
			const struct ap_fold *f, u32 at, u32 members)
{
	const struct ap_hist *h = ap_fold_hist(f, at);
	u64 n = 0, sum = 0;
	char unit;
	u32 i;

	for (i = at; i < at + members; i++) {
		n += ap_fold_hist(f, i) ? ap_hist_samples(ap_fold_hist(f, i)) : 0;
		sum += ap_fold_hist(f, i) ? ap_hist_total(ap_fold_hist(f, i)) : 0;
	}
	n = ap_hist_short(n, &unit);
	if (!a->quiet) {
		printf("# Samples: %llu%c", (unsigned long long)n, unit);
		print_name(a, d, at, members);
		if (a->memory)
			ap_print(stdout, "# Total weight : %llu\n# Sort order   : %s\n#\n",
				 (unsigned long long)sum,
				 a->sort ? a->sort : ap_hist_opts_usual(&a->hist));
		else
			printf("# Event count (approx.): %llu\n#\n", (unsigned long long)sum);
	}
	ap_hist_print(h, stdout);
	fputs("\n\n", stdout);
}

/* What the filter leaves one of has no column but a line. */
static void print_single(const struct report_args *a)
{
	static const struct {
		enum ap_hist_key key;
		const char *name;
	} keys[] = { { AP_KEY_COMM, "comm" }, { AP_KEY_DSO, "dso" }, { AP_KEY_SYM, "symbol" } };
	const char *value[] = { a->filter.comms, a->filter.dsos, a->filter.symbols };
	const struct ap_hist_opts *h = &a->hist;
	u32 i, k;

	for (i = 0; i < h->ncolumn; i++) {
		for (k = 0; k < AP_ARRAY_SIZE(keys); k++) {
			if (h->column[i] == keys[k].key && ap_filter_single(value[k]))
				ap_print(stdout, "# %s: %s\n", keys[k].name, value[k]);
		}
	}
}

static int print_all(const struct report_args *a, const struct ap_data *d,
		     const struct ap_profile_session *s, const struct ap_fold *f)
{
	u32 i, n;

	ap_profile_tell_lost(COMMAND, a->input, s->lost + s->lost_samples);
	print_single(a);
	if (!a->quiet)
		printf("#\n# Total Lost Samples: %llu\n#\n", (unsigned long long)s->lost_samples);
	for (i = 0; i < ap_data_nevents(d); i += n) {
		n = group_size(a, d, i);
		if (ap_fold_hist(f, i))
			print_event(a, d, f, i, n);
	}
	if (a->threads)
		ap_thread_counts_print(&a->counts, d, stdout);
	return 0;
}

static void put_header(void *arg, FILE *out)
{
	ap_data_print_header(arg, out);
}

/* A table for the screen: a group's, under all of its names. */
static void put_event(const struct ap_data *d, const struct ap_fold *f, u32 at, u32 members,
		      struct ap_tui_event *out)
{
	char *name = NULL;
	size_t size;
	FILE *text = open_memstream(&name, &size);
	u32 i;

	if (!text)
		ap_die("out of memory");
	*out = (struct ap_tui_event){ .hist = ap_fold_hist(f, at),
				      .index = at,
				      .leader = ap_data_event(d, at)->name };
	for (i = at; i < at + members; i++) {
		ap_print(text, "%s%s", i > at ? ", " : "", ap_data_event(d, i)->name);
		if (!ap_fold_hist(f, i))
			continue;
		out->samples += ap_hist_samples(ap_fold_hist(f, i));
		out->total += ap_hist_total(ap_fold_hist(f, i));
	}
	fclose(text);
	out->name = name;
}

static bool put_samples(void *arg, const char *comm, const char *symbol, FILE *out)
{
	return ap_samples_text(ap_profile_path(arg), comm, symbol, out);
}

static int show_all(struct report_args *a, struct ap_data *d, const struct ap_profile_session *s,
		    const struct ap_fold *f, struct ap_annotate *notes)
{
	struct ap_tui_profile p = { .notes = notes,
				    .lost = s->lost_samples,
				    .full_paths = a->verbose && !a->quiet,
				    .objdump = a->objdump,
				    .header = put_header,
				    .header_arg = d,
				    .message = a->message };
	u32 i, n;
	int ret;

	/* a stream is gone once it was read */
	if (!ap_data_is_pipe(d) && strcmp(ap_profile_path(a->input), "-") != 0) {
		p.file = ap_profile_path(a->input);
		p.samples = put_samples;
		p.samples_arg = (void *)a->input;
	}
	p.event = ap_profile_calloc(ap_data_nevents(d), sizeof(*p.event));
	for (i = 0; i < ap_data_nevents(d); i += n) {
		n = group_size(a, d, i);
		put_event(d, f, i, n, &p.event[p.nevents++]);
	}
	a->was_shown = true;
	ret = ap_show_profile(&p, COMMAND, &a->next);
	for (i = 0; i < p.nevents; i++)
		free((char *)p.event[i].name);
	free(p.event);
	return ret ? print_all(a, d, s, f) : 0;
}

static bool has_samples(const struct ap_data *d, const struct ap_fold *f)
{
	u32 i;

	for (i = 0; i < ap_data_nevents(d); i++) {
		if (ap_fold_hist(f, i))
			return true;
	}
	return false;
}

static void join_groups(const struct report_args *a, const struct ap_data *d, struct ap_fold *f)
{
	bool any;
	u32 i, k, n;

	for (i = 0; i < ap_data_nevents(d); i += n) {
		n = group_size(a, d, i);
		for (k = 0, any = false; k < n; k++)
			any |= ap_fold_hist(f, i + k) != NULL;
		if (n > 1 && any)
			ap_fold_join(f, i, n);
	}
}

static int begin(struct report_args *a, struct ap_data *d, struct ap_profile_session *s,
		 struct ap_annotate *notes, struct ap_fold **fold)
{
	char why[AP_FILTER_WHY];
	int status;

	if (a->filter.cpus && !any_has(d, AP_PERF_SAMPLE_CPU)) {
		ap_print(stderr,
			 COMMAND ": -C: the samples of %s do not say their CPU (record "
				 "--sample-cpu)\n",
			 ap_profile_path(a->input));
		return AP_EXIT_FAILURE;
	}
	if (a->memory && !any_has(d, AP_PERF_SAMPLE_DATA_SRC)) {
		ap_print(stderr,
			 COMMAND ": --mem-mode: the samples of %s do not say where data came from "
				 "(anyperf mem record)\n",
			 ap_profile_path(a->input));
		return AP_EXIT_FAILURE;
	}
	if (ap_filter_parse(&a->filter, d, why)) {
		ap_print(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_USAGE;
	}
	if (!a->sort && !a->fields && all_tracepoints(d))
		a->sort = "trace";
	a->hist.tracing = ap_tracing_read(d);
	ap_topology_read(&a->topology, d);
	a->hist.topology = &a->topology;
	status = choose_columns(a, any_has(d, AP_PERF_SAMPLE_CALLCHAIN), any_has_branches(d));
	if (status)
		return status;
	*fold = ap_fold_new(s, &a->hist);
	ap_fold_annotate(*fold, notes);
	return 0;
}

/* Records of a stream tell of events before the first sample comes. */
static int read_all(struct report_args *a, struct ap_data *d, struct ap_profile_session *s,
		    struct ap_annotate *notes, struct ap_fold **fold)
{
	struct ap_data_rec rec;
	u64 damaged = 0;
	int status;

	*fold = NULL;
	while (ap_data_next(d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(s, &rec);
			ap_thread_counts_add(&a->counts, &rec);
			continue;
		}
		if (!*fold) {
			status = begin(a, d, s, notes, fold);
			if (status)
				return status;
		}
		if (!ap_fold_sample(*fold, &rec))
			damaged++;
	}
	if (damaged)
		fprintf(stderr, COMMAND ": %llu samples are damaged and were left out\n",
			(unsigned long long)damaged);
	if (!*fold) {
		status = begin(a, d, s, notes, fold);
		if (status)
			return status;
	}
	ap_fold_end(*fold);
	join_groups(a, d, *fold);
	ap_fold_finish(*fold);
	return 0;
}

static int report(struct report_args *a, struct ap_data *d)
{
	struct ap_profile_session *s = ap_profile_calloc(1, sizeof(*s));
	struct ap_annotate *notes = a->on_screen ? ap_annotate_new(s) : NULL;
	struct ap_fold *f = NULL;
	int status = 0;

	ap_session_init(s);
	s->symbols.no_demangle = a->no_demangle;
	s->symbols.params = a->verbose;
	s->symbols.symfs = a->symfs;
	ap_profile_symbols(&s->symbols, a->force);
	s->symbols.kallsyms = a->kallsyms;
	ap_session_build_ids(s, d);
	if (a->dump) {
		ap_dump_print(d, ap_profile_path(a->input), stdout);
	} else if (a->stats || a->tasks || a->mmaps) {
		ap_inventory_print(s, d,
				   (a->stats ? AP_INVENTORY_STATS : 0) |
					   (a->tasks ? AP_INVENTORY_TASKS : 0) |
					   (a->mmaps ? AP_INVENTORY_MAPS : 0),
				   stdout);
	} else {
		status = read_all(a, d, s, notes, &f);
		if (!status && !has_samples(d, f))
			ap_print(stderr, COMMAND ": %s has no samples\n",
				 ap_profile_path(a->input));
		else if (!status)
			status = a->on_screen ? show_all(a, d, s, f, notes) : print_all(a, d, s, f);
	}
	if (f)
		ap_fold_free(f);
	if (notes)
		ap_annotate_free(notes);
	ap_thread_counts_fini(&a->counts);
	ap_filter_fini(&a->filter);
	ap_tracing_free(a->hist.tracing);
	ap_topology_fini(&a->topology);
	ap_session_fini(s);
	free(s);
	return status;
}

/* Only what is not a profile: for other programs to read, or about records. */
static bool is_plain(const struct report_args *a)
{
	return a->stats || a->tasks || a->mmaps || a->dump;
}

/* One file, with a copy of the options: some of them are settled by what is in it. */
static int report_file(struct report_args *a)
{
	const char *command = a->memory ? "anyperf mem report" : COMMAND;
	struct ap_data *d = ap_profile_open(command, a->input, a->force);
	int status = 0, closed;

	if (!d)
		return AP_EXIT_FAILURE;
	if (a->header_only || (a->header && !a->on_screen))
		ap_data_print_header(d, stdout);
	else if (!a->quiet && !is_plain(a) && !a->on_screen)
		fputs("# To display the perf.data header info, please use --header/--header-only "
		      "options.\n#\n",
		      stdout);
	if (!a->header_only)
		status = report(a, d);
	closed = ap_profile_close(COMMAND, a->input, d);
	return status ? status : closed;
}

/* From the screen one goes on to other files; one that cannot be shown leads back to the first. */
static int report_files(const struct report_args *args)
{
	const char *input = args->input;
	char *now = NULL, message[200] = "";
	struct report_args a;
	int status;

	for (;;) {
		a = *args;
		a.input = now ? now : input;
		a.message = message[0] ? message : NULL;
		status = report_file(&a);
		message[0] = 0;
		if (a.next) {
			if (now)
				free(now);
			now = a.next;
		} else if (now && !a.was_shown) {
			snprintf(message, sizeof(message), "%s cannot be shown", now);
			free(now);
			now = NULL;
		} else {
			break;
		}
	}
	free(now);
	return status;
}

int ap_cmd_report(int argc, char **argv)
{
	struct report_args args = { 0 }, trial;
	int rest, status = 0;

	ap_hist_opts_init(&args.hist);
	if (!ap_opts_begin_mixed(&ap_spec_report, &args, &argc, argv, &rest, &status))
		return status;
	if (rest < argc &&
	    (rest + 1 < argc || args.filter.symbol_part || !access(argv[rest], F_OK)))
		return ap_opts_wrong(&ap_spec_report,
				     "reads the file of -i, and takes a part of symbols' names",
				     argv[rest]);
	if (rest < argc)
		args.filter.symbol_part = argv[rest];
	/* what can be known to be wrong before the file is opened */
	if (!ap_profile_can_read(COMMAND, "--kallsyms", args.kallsyms))
		return AP_EXIT_FAILURE;
	trial = args;
	trial.hist.any_field = true;
	status = choose_columns(&trial, true, !args.no_branches);
	if (status)
		return status;
	/* what is for other programs to read is printed */
	args.on_screen = !args.header_only && !args.separator && !is_plain(&args) &&
			 ap_show_on_screen(&args.show, COMMAND);
	/* and the screen has one form of trees */
	if (args.on_screen && args.hist.chain >= AP_CHAIN_FLAT)
		args.hist.chain = AP_CHAIN_GRAPH;
	return report_files(&args);
}
