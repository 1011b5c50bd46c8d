/* SPDX-License-Identifier: MIT */
/*
 * `anyperf list`: every event with its kind and its meaning, for people in columns, for scripts
 * with a separator of their choice.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/events.h"
#include "cli/memory.h"
#include "cli/metric.h"
#include "cli/options.h"
#include "linux/client.h"

struct list_args {
	const char *separator, *metric_file;
};

static const struct ap_opt list_opts[] = {
	{ 'x', "field-separator", AP_OPT_STR, offsetof(struct list_args, separator), NULL, "sep",
	  "print fields separated by this: name, aliases, kind, meaning", false },
	{ 0, "metric-file", AP_OPT_STR, offsetof(struct list_args, metric_file), NULL, "file",
	  "with metrics: also those of this file", false },
	{ 0 }
};

static const struct ap_opt_spec list_spec = { "anyperf list", "[options] [metrics]", list_opts };

static void print_event(const struct ap_event_desc *ev, const char *sep, FILE *out)
{
	const char *kind = ap_event_kind_name(ev->kind);
	char names[80];

	if (sep) {
		fprintf(out, "%s%s%s%s%s%s%s\n", ev->name, sep, ev->alias[0] ? ev->alias[0] : "",
			sep, kind, sep, ev->meaning);
		return;
	}
	snprintf(names, sizeof(names), "%s%s%s", ev->name, ev->alias[0] ? " OR " : "",
		 ev->alias[0] ? ev->alias[0] : "");
	fprintf(out, "  %-47s %-12s %s\n", names, kind, ev->meaning);
}

static void print_kinds(const char *sep, enum ap_event_kind kind, FILE *out)
{
	size_t i;

	for (i = 0; i < ap_nevents; i++) {
		if (ap_events[i].kind == kind)
			print_event(&ap_events[i], sep, out);
	}
}

static void print_cache_events(const char *sep, FILE *out)
{
	struct ap_client_cache cache;

	for (unsigned int i = 0; ap_client_cache_event(i, &cache); i++) {
		struct ap_event_desc ev = { .name = cache.name,
					    .unit = "",
					    .meaning = cache.meaning };

		ev.kind = cache.is_modelled ? AP_KIND_MODELLED : AP_KIND_EXACT;
		print_event(&ev, sep, out);
	}
}

static void print_metric(const struct ap_metric *m, const char *sep, FILE *out)
{
	if (sep)
		fprintf(out, "%s%s%s%s%s%s%s%s%s\n", m->name, sep, m->unit, sep, m->groups, sep,
			m->formula, sep, m->text);
	else
		fprintf(out, "  %-23s %-7s %-19s %s\n      %s\n", m->name, m->unit, m->groups,
			m->text, m->formula);
}

static int list_metrics(const struct list_args *args)
{
	struct ap_metric_table t = { 0 };
	const char *path = args->metric_file;
	char why[400];
	int ret = ap_metrics_builtin(&t, why, sizeof(why));

	if (!ret && path)
		ret = ap_metrics_file(&t, path, why, sizeof(why));
	if (ret)
		fprintf(stderr, "anyperf list: %s\n", why);
	else if (!args->separator)
		puts("\nList of metrics (to be used in stat -M), with unit, groups and formula:\n");
	for (size_t i = 0; !ret && i < t.n; i++)
		print_metric(&t.v[i], args->separator, stdout);
	if (!ret && !args->separator)
		puts("\n A metric is exact where all of its events are, modelled where one is\n"
		     " ('anyperf list' says which); the unit % is of a fraction; #... is a number of\n"
		     " the machine's file.\n");
	ap_metrics_fini(&t);
	return ret ? AP_EXIT_FAILURE : 0;
}

int ap_cmd_list(int argc, char **argv)
{
	struct list_args args = { 0 };
	const char *sep;
	int rest, status, kind;

	if (!ap_opts_begin(&list_spec, &args, argc, argv, &rest, &status))
		return status;
	if (rest + 1 == argc && !strcmp(argv[rest], "metrics"))
		return list_metrics(&args);
	if (rest < argc)
		return ap_opts_wrong(&list_spec, "takes no argument but metrics", argv[rest]);
	sep = args.separator;
	if (!sep)
		puts("\nList of events (to be used in -e):\n");
	for (kind = AP_KIND_EXACT; kind <= AP_KIND_UNSUPPORTED; kind++)
		print_kinds(sep, (enum ap_event_kind)kind, stdout);
	print_cache_events(sep, stdout);
	if (!sep)
		puts("\n exact: retired in user space, each one counted; modelled: what a model of a machine\n"
		     " (--machine) says; kernel: counted by the kernel;\n"
		     " unsupported: known to perf, prints <not supported> (stat -v says why)\n");
	return 0;
}
