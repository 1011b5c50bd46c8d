/* SPDX-License-Identifier: MIT */
/*
 * `anyperf list`: every event with its kind, its encoding and its meaning, by sections or by
 * patterns as perf's has them; for people in columns, for scripts with a separator of their choice,
 * or as JSON.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/commands.h"
#include "cli/engine_opts.h"
#include "cli/events.h"
#include "cli/memory.h"
#include "cli/metric.h"
#include "cli/opt_rows.h"
#include "cli/stat.h"
#include "linux/client/client.h"
#include "linux/run/run.h"
#include "print/print.h"

struct list_args {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	const char *separator, *metric_file;
	bool has_machine, raw_dump, is_json, taken;
};

#define OPT_ARGS struct list_args

static int list_machine(void *args, const char *value, char *why)
{
	((struct list_args *)args)->has_machine = true;
	return ap_engine_opt_machine(args, value, why);
}

static const struct ap_opt list_opts[] = {
	GROUP("Output"),
	{ 'x', "field-separator", AP_OPT_STR, offsetof(struct list_args, separator), NULL, "sep",
	  "print fields separated by this: name, other name, kind, encoding, meaning", false },
	{ 'j', "json", AP_OPT_FLAG, offsetof(struct list_args, is_json), NULL, NULL,
	  "print an array of objects, with perf's keys and the kind", false },
	/* perf's; all is told of each event, and none is deprecated */
	{ 0, "raw-dump", AP_OPT_FLAG, offsetof(struct list_args, raw_dump), NULL, NULL,
	  "print names alone, in one line", false },
	GROUP("What is listed"),
	{ 0, "metric-file", AP_OPT_STR, offsetof(struct list_args, metric_file), NULL, "file",
	  "with metrics: also those of this file", false },
	CPU_ID,
	{ 0, "machine", AP_OPT_CALL, 0, list_machine, "name",
	  "print that machine, built in, host or a file, as a file to edit", false },
	TAKEN_FLAG('d', "desc"),
	TAKEN_FLAG('v', "long-desc"),
	TAKEN_FLAG(0, "no-desc"),
	TAKEN_FLAG(0, "details"),
	TAKEN_FLAG(0, "deprecated"),
	TAKEN_FLAG(0, "debug"),
	{ 0 }
};

/* clang-format off */
const struct ap_opt_spec ap_spec_list = {
	"anyperf list", "[options] [hw|sw|cache|raw|tracepoint|breakpoint|metrics|pattern]...", list_opts,
	{ { "cache", "list the events of caches" },
	  { "'syscalls:*open*'", "list the tracepoints that match" } },
};
/* clang-format on */

enum section {
	SECTION_HW,
	SECTION_SW,
	SECTION_CACHE,
	SECTION_RAW,
	SECTION_BREAKPOINT,
	SECTION_TRACEPOINT,
	NSECTIONS
};

/* perf's words for them. */
static const struct {
	const char *word;
	enum section section;
} words[] = {
	{ "hw", SECTION_HW },
	{ "hardware", SECTION_HW },
	{ "sw", SECTION_SW },
	{ "software", SECTION_SW },
	{ "cache", SECTION_CACHE },
	{ "hwcache", SECTION_CACHE },
	{ "raw", SECTION_RAW },
	{ "pmu", SECTION_RAW },
	{ "breakpoint", SECTION_BREAKPOINT },
	{ "hwbp", SECTION_BREAKPOINT },
	{ "tracepoint", SECTION_TRACEPOINT },
};

/* What is being listed. */
struct listing {
	const char *sep;
	bool names_only;
	bool is_json;
	bool has_object;      /* of JSON: one is printed */
	enum section section; /* that is being listed */
	const char *pattern;  /* NULL: all of the section */
	unsigned int n;	      /* printed */
};

/* As perf: a word without wildcards matches anywhere in a name, in any case. */
static bool matches(const char *pattern, const char *name)
{
	char around[256];

	if (!name)
		return false;
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, name, FNM_CASEFOLD);
	snprintf(around, sizeof(around), "*%s*", pattern);
	return !fnmatch(around, name, FNM_CASEFOLD);
}

/* perf's words for an event's type. */
static const char *const types[NSECTIONS] = {
	[SECTION_HW] = "Hardware event",	   [SECTION_SW] = "Software event",
	[SECTION_CACHE] = "Hardware cache event",  [SECTION_RAW] = "Kernel PMU event",
	[SECTION_BREAKPOINT] = "Breakpoint event", [SECTION_TRACEPOINT] = "Tracepoint event",
};

static void begin_object(bool *has_one)
{
	fputs(*has_one ? ",\n{" : "{", stdout);
	*has_one = true;
}

static void print_key(const char *key, const char *value, bool is_last)
{
	ap_print(stdout, "\n\t\"%s\": ", key);
	ap_print_json(stdout, value);
	fputs(is_last ? "\n}" : ",", stdout);
}

static void print_event_json(struct listing *l, const struct ap_event_desc *ev,
			     const char *encoding)
{
	begin_object(&l->has_object);
	print_key("EventName", ev->name, false);
	if (ev->alias[0])
		print_key("EventAlias", ev->alias[0], false);
	print_key("EventType", types[l->section], false);
	print_key("Kind", ap_event_kind_name(ev->kind), false);
	print_key("Encoding", encoding, false);
	print_key("BriefDescription", ev->meaning, true);
}

static void print_event(struct listing *l, const struct ap_event_desc *ev, const char *encoding)
{
	const char *kind = ap_event_kind_name(ev->kind);
	const char *alias = ev->alias[0] ? ev->alias[0] : "", *sep = l->sep;
	enum { WIDTH = 47 };
	char names[2 * AP_CLIENT_NAME_MAX];

	if (l->pattern && !matches(l->pattern, ev->name) && !matches(l->pattern, ev->alias[0]))
		return;
	l->n++;
	if (l->names_only) {
		ap_print(stdout, "%s ", ev->name);
		return;
	}
	if (l->is_json) {
		print_event_json(l, ev, encoding);
		return;
	}
	if (sep) {
		ap_print_fields(stdout, sep, "%s\t%s\t%s\t%s\t%s\n", ev->name, alias, kind,
				encoding, ev->meaning);
		return;
	}
	snprintf(names, sizeof(names), "%s%s%s", ev->name, *alias ? " OR " : "", alias);
	if (strlen(names) > WIDTH) {
		ap_print(stdout, "  %s\n", names);
		*names = '\0';
	}
	ap_print(stdout, "  %-*s %-12s %-22s %s\n", WIDTH, names, kind, encoding, ev->meaning);
}

/* The events that perf has everywhere: those of hardware, or of software. */
static void list_events(struct listing *l, bool of_software)
{
	char encoding[64];

	for (int kind = AP_KIND_EXACT; kind <= AP_KIND_UNSUPPORTED; kind++) {
		for (size_t i = 0; i < ap_nevents; i++) {
			const struct ap_event_desc *ev = &ap_events[i];
			bool is_hardware =
				ev->kind == AP_KIND_MODELLED ||
				(ev->kind == AP_KIND_EXACT && strcmp(ev->name, "dummy") != 0);

			if ((int)ev->kind != kind || is_hardware == of_software)
				continue;
			ap_client_encoding(ev->name, encoding, sizeof(encoding));
			print_event(l, ev, encoding);
		}
	}
}

/* In the table of events, whose rows are listed already. */
static bool is_of_table(const char *name)
{
	const struct ap_event_desc *ev = ap_event_find(name, strlen(name));

	return ev && ev->from != AP_FROM_NOTHING;
}

static void list_names(struct listing *l, enum ap_client_names which)
{
	struct ap_client_name name;
	char encoding[64];

	for (unsigned int i = 0; ap_client_name(which, i, &name); i++) {
		struct ap_event_desc ev = { .name = name.name,
					    .alias = { name.alias },
					    .unit = "",
					    .meaning = name.meaning };

		if (which == AP_NAMES_OWN && is_of_table(name.name))
			continue;
		if (which == AP_NAMES_OWN && name.alias && is_of_table(name.alias))
			ev.alias[0] = NULL;
		ev.kind = !name.is_counted   ? AP_KIND_UNSUPPORTED
			  : name.is_modelled ? AP_KIND_MODELLED
					     : AP_KIND_EXACT;
		ap_client_encoding(name.name, encoding, sizeof(encoding));
		print_event(l, &ev, encoding);
	}
}

static void list_breakpoints(struct listing *l)
{
	static const struct ap_event_desc ev = {
		.name = "mem:<addr>[/len][:access]",
		.unit = "",
		.meaning = "accesses to an address: r w x, or both of rw",
		.kind = AP_KIND_EXACT
	};

	print_event(l, &ev, "type=5");
}

static void list_section(struct listing *l, enum section section)
{
	l->section = section;
	switch (section) {
	case SECTION_HW:
		list_events(l, false);
		list_names(l, AP_NAMES_OWN);
		break;
	case SECTION_SW:
		list_events(l, true);
		break;
	case SECTION_CACHE:
		list_names(l, AP_NAMES_CACHE);
		break;
	case SECTION_RAW:
		list_names(l, AP_NAMES_RAW);
		break;
	case SECTION_BREAKPOINT:
		list_breakpoints(l);
		break;
	case SECTION_TRACEPOINT:
		list_names(l, AP_NAMES_TRACEPOINT);
		break;
	case NSECTIONS:
		break;
	}
}

/* A section by its word, else what matches the pattern. */
static bool list_word(struct listing *l, const char *word)
{
	l->n = 0;
	l->pattern = NULL;
	for (size_t i = 0; i < AP_ARRAY_SIZE(words); i++) {
		if (!strcmp(words[i].word, word)) {
			list_section(l, words[i].section);
			return true;
		}
	}
	l->pattern = word;
	for (int s = 0; s < NSECTIONS; s++)
		list_section(l, (enum section)s);
	return l->n != 0;
}

static void print_metric_json(struct listing *l, const struct ap_metric *m)
{
	begin_object(&l->has_object);
	print_key("MetricName", m->name, false);
	print_key("MetricGroup", m->groups, false);
	print_key("MetricExpr", m->formula, false);
	print_key("ScaleUnit", m->unit, false);
	print_key("BriefDescription", m->text, true);
}

static void print_metric(struct listing *l, const struct ap_metric *m)
{
	const char *sep = l->sep;

	if (l->names_only)
		ap_print(stdout, "%s ", m->name);
	else if (l->is_json)
		print_metric_json(l, m);
	else if (sep)
		ap_print_fields(stdout, sep, "%s\t%s\t%s\t%s\t%s\n", m->name, m->unit, m->groups,
				m->formula, m->text);
	else
		ap_print(stdout, "  %-23s %-7s %-19s %s\n      %s\n", m->name, m->unit, m->groups,
			 m->text, m->formula);
}

static int list_metrics(const struct list_args *args, struct listing *l)
{
	struct ap_metric_table t = { 0 };
	const bool has_text = !l->sep && !l->is_json && !l->names_only;
	const char *path = args->metric_file;
	char why[400];
	int ret = ap_metrics_builtin(&t, why, sizeof(why));

	if (!ret && path)
		ret = ap_metrics_file(&t, path, why, sizeof(why));
	if (ret)
		ap_print(stderr, "anyperf list: %s\n", why);
	else if (has_text)
		puts("\nList of metrics (to be used in stat -M), with unit, groups and formula:\n");
	for (size_t i = 0; !ret && i < t.n; i++)
		print_metric(l, &t.v[i]);
	if (!ret && has_text)
		puts("\n A metric is exact where all of its events are, modelled where one is\n"
		     " ('anyperf list' says which); the unit % is of a fraction; #... is a number of\n"
		     " the machine's file.\n");
	ap_metrics_fini(&t);
	return ret ? AP_EXIT_FAILURE : 0;
}

static void print_machine(const struct ap_run_options *run)
{
	char line[256];

	for (unsigned int n = 0; ap_run_machine_line(run, n, line, sizeof(line)); n++)
		ap_print(stdout, "%s\n", line);
}

static bool is_metrics(const char *word)
{
	return !strcmp(word, "metrics") || !strcmp(word, "metric") ||
	       !strcmp(word, "metricgroup") || !strcmp(word, "metricgroups");
}

static void list_all(struct listing *l)
{
	bool has_text = !l->sep && !l->names_only && !l->is_json;

	if (has_text)
		puts("\nList of events (to be used in -e):\n");
	for (int s = SECTION_HW; s <= SECTION_CACHE; s++)
		list_section(l, (enum section)s);
	if (has_text)
		puts("\n and the CPU's own, by its maker's names:\n");
	list_section(l, SECTION_RAW);
	if (!has_text)
		return;
	puts("");
	list_section(l, SECTION_BREAKPOINT);
	puts("\n exact: retired in user space, each one counted; modelled: what a model of a machine\n"
	     " (--machine) says; kernel: counted by the kernel;\n"
	     " unsupported: known to perf, prints <not supported> (stat -v says why)\n"
	     " 'anyperf list tracepoint' prints tracepoints, 'anyperf list metrics' metrics\n");
}

int ap_cmd_list(int argc, char **argv)
{
	struct list_args args = { 0 };
	struct listing l = { 0 };
	int rest, status;

	if (!ap_opts_begin_mixed(&ap_spec_list, &args, &argc, argv, &rest, &status))
		return status;
	if (args.has_machine) {
		print_machine(&args.run);
		return 0;
	}
	l.sep = args.separator;
	l.names_only = args.raw_dump;
	l.is_json = args.is_json;
	if (l.is_json)
		puts("[");
	if (rest == argc)
		list_all(&l);
	for (status = 0; rest < argc; rest++) {
		if (is_metrics(argv[rest])) {
			status |= list_metrics(&args, &l);
		} else if (!list_word(&l, argv[rest])) {
			ap_print(stderr, "anyperf list: no event's name matches '%s'\n",
				 argv[rest]);
			status = AP_EXIT_FAILURE;
		}
	}
	if (l.is_json)
		puts("\n]");
	else if (l.names_only)
		puts("");
	return status;
}
