/* SPDX-License-Identifier: MIT */
/*
 * `anyperf diff`: two profiles beside each other.
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
#include "profile/hist/diff.h"
#include "profile/hist/hist_opts.h"

#define COMMAND "anyperf diff"

struct diff_args {
	const char *sort, *symfs;
	bool no_demangle, quiet, taken, force;
	struct ap_diff_opts diff;
	struct ap_sample_filter filter; /* as given: each file has its own of it */
};

static int opt_compute(void *args, const char *value, char *why)
{
	struct diff_args *a = args;
	long long before, after;
	int end = 0;

	if (!strcmp(value, "delta-abs"))
		a->diff.how = AP_DIFF_DELTA_ABS;
	else if (!strcmp(value, "delta"))
		a->diff.how = AP_DIFF_DELTA;
	else if (!strcmp(value, "ratio"))
		a->diff.how = AP_DIFF_RATIO;
	else if (sscanf(value, "wdiff:%lld,%lld%n", &before, &after, &end) == 2 && !value[end]) {
		a->diff.how = AP_DIFF_WEIGHTED;
		a->diff.weight[0] = before;
		a->diff.weight[1] = after;
	} else
		return snprintf(why, AP_OPT_WHY, "is one of delta-abs, delta, ratio, wdiff:W1,W2"),
		       -EINVAL;
	return 0;
}

#define OPT_ARGS  struct diff_args
#define AT(field) offsetof(OPT_ARGS, field)
static const struct ap_opt diff_opts[] = {
	GROUP("Input"),
	FORCE,
	{ 0, "symfs", AP_OPT_STR, AT(symfs), NULL, "dir", "look for files below this", false },
	GROUP("What is compared"),
	{ 'C', "comms", AP_OPT_STR, AT(filter.comms), NULL, "names", "only these commands", false },
	{ 'd', "dsos", AP_OPT_STR, AT(filter.dsos), NULL, "files", "only code of these files",
	  false },
	{ 'S', "symbols", AP_OPT_STR, AT(filter.symbols), NULL, "names", "only these functions",
	  false },
	FILTER_TASKS,
	FILTER_CPUS(0),
	{ 0, "time", AP_OPT_STR, AT(filter.time), NULL, "span",
	  "only from start,stop in seconds, 10%-20% or 10%/2 of each file", false },
	{ 'b', "baseline-only", AP_OPT_FLAG, AT(diff.baseline_only), NULL, NULL,
	  "leave out what is in one file only", false },
	{ 's', "sort", AP_OPT_STR, AT(sort), NULL, "keys",
	  "tell entries apart by these: comm dso symbol (dso,symbol)", false },
	{ 0, "no-demangle", AP_OPT_FLAG, AT(no_demangle), NULL, NULL,
	  "show names as the linker knows them", false },
	GROUP("How it is shown"),
	{ 'c', "compute", AP_OPT_CALL, 0, opt_compute, "how",
	  "delta-abs, delta, ratio, or wdiff:W1,W2 (periods times these weights)", false },
	{ 'p', "period", AP_OPT_FLAG, AT(diff.periods), NULL, NULL, "show periods too", false },
	{ 'F', "formula", AP_OPT_FLAG, AT(diff.formula), NULL, NULL,
	  "show how changes were computed", false },
	{ 'q', "quiet", AP_OPT_FLAG, AT(quiet), NULL, NULL, "leave out event names and headings",
	  false },
	TAKEN,
	{ 0 }
};
#undef AT

/* clang-format off */
const struct ap_opt_spec ap_spec_diff = {
	COMMAND, "[options] [before] [after]", diff_opts,
	{ { "perf.data.old perf.data", "show what became more and what less" },
	  { "-c ratio -s symbol", "as ratios, by functions (perf.data.old, perf.data)" } },
};
/* clang-format on */

/* One file, read whole. */
struct diff_side {
	const char *path;
	struct ap_data *d;
	struct ap_profile_session *s;
	struct ap_fold *f;
	struct ap_sample_filter filter;
};

static int read_side(const struct diff_args *a, const struct ap_hist_opts *keys,
		     struct diff_side *side)
{
	struct ap_hist_opts own = *keys;
	char why[AP_FILTER_WHY];
	struct ap_data_rec rec;

	side->d = ap_profile_open(COMMAND, side->path, a->force);
	if (!side->d)
		return AP_EXIT_FAILURE;
	side->filter = a->filter;
	own.filter = &side->filter;
	if (ap_filter_parse(&side->filter, side->d, why)) {
		ap_print(stderr, COMMAND ": %s: %s\n", side->path, why);
		return AP_EXIT_USAGE;
	}
	side->s = ap_profile_calloc(1, sizeof(*side->s));
	ap_session_init(side->s);
	side->s->symbols.no_demangle = a->no_demangle;
	side->s->symbols.symfs = a->symfs;
	ap_profile_symbols(&side->s->symbols, a->force);
	ap_session_build_ids(side->s, side->d);
	side->f = ap_fold_new(side->s, &own);
	while (ap_data_next(side->d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE)
			ap_session_record(side->s, &rec);
		else
			ap_fold_sample(side->f, &rec);
	}
	ap_fold_finish(side->f);
	return 0;
}

static int free_side(struct diff_side *side)
{
	int status = 0;

	if (side->f)
		ap_fold_free(side->f);
	if (side->s)
		ap_session_fini(side->s);
	free(side->s);
	ap_filter_fini(&side->filter);
	if (side->d)
		status = ap_profile_close(COMMAND, side->path, side->d);
	return status;
}

/* The table of the event of this name. */
static const struct ap_hist *hist_named(const struct diff_side *side, const char *name, bool *has)
{
	u32 i;

	*has = false;
	for (i = 0; i < ap_data_nevents(side->d); i++) {
		if (!strcmp(ap_data_event(side->d, i)->name, name)) {
			*has = true;
			return ap_fold_hist(side->f, i);
		}
	}
	return NULL;
}

static int print_all(const struct diff_args *a, const struct ap_hist_opts *keys,
		     const struct diff_side *before, const struct diff_side *after)
{
	u32 i, common = 0;
	bool has;

	for (i = 0; i < ap_data_nevents(before->d); i++) {
		hist_named(after, ap_data_event(before->d, i)->name, &has);
		common += has;
	}
	if (!common) {
		ap_print(stderr, COMMAND ": %s and %s have no event in common\n", before->path,
			 after->path);
		return AP_EXIT_FAILURE;
	}
	for (i = 0; i < ap_data_nevents(before->d); i++) {
		const char *name = ap_data_event(before->d, i)->name;
		const struct ap_hist *h = hist_named(after, name, &has);

		if (!a->quiet)
			ap_print(stdout, i ? "\n# Event '%s'\n#\n" : "# Event '%s'\n#\n", name);
		ap_diff_print(ap_fold_hist(before->f, i), h, keys, &a->diff, stdout);
	}
	return 0;
}

static int diff(const struct diff_args *a, const char *before_path, const char *after_path)
{
	struct diff_side before = { .path = before_path }, after = { .path = after_path };
	struct ap_hist_opts keys;
	char why[AP_OPT_WHY];
	int status, closed;
	u32 i;

	ap_hist_opts_init(&keys);
	keys.chain = AP_CHAIN_NONE;
	keys.no_header = a->quiet;
	keys.filter = &a->filter;
	status = ap_hist_opts_columns(&keys, NULL, a->sort ? a->sort : "dso,symbol", 0, why,
				      sizeof(why));
	for (i = 0; !status && i < keys.nsort; i++) {
		if (keys.sort[i] > AP_KEY_SYM) {
			snprintf(why, sizeof(why), "compares by comm, dso and symbol only");
			status = -EINVAL;
		}
	}
	if (status) {
		ap_print(stderr, COMMAND ": %s\n", why);
		return AP_EXIT_USAGE;
	}
	status = read_side(a, &keys, &before);
	if (!status)
		status = read_side(a, &keys, &after);
	if (!status)
		status = print_all(a, &keys, &before, &after);
	closed = free_side(&before) | free_side(&after);
	return status ? status : closed;
}

int ap_cmd_diff(int argc, char **argv)
{
	const char *path[2] = { "perf.data.old", "perf.data" };
	struct diff_args args = { 0 };
	int rest, status, n;

	if (!ap_opts_begin_mixed(&ap_spec_diff, &args, &argc, argv, &rest, &status))
		return status;
	n = argc - rest;
	if (n > 2)
		return ap_opts_wrong(&ap_spec_diff, "compares two files", argv[rest + 2]);
	/* one file is the later one */
	if (n >= 1)
		path[n == 1] = argv[rest];
	if (n == 2)
		path[1] = argv[rest + 1];
	return diff(&args, path[0], path[1]);
}
